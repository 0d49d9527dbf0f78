//! A kernel as the compiler of the machine wants it: substitution rules inlined, index expressions as affine forms.
//!
//! Inlining shares: a rule applied to the same arguments is one expression. What a rule's body does not say of its formal
//! parameters is not copied. Linear in the size of the result, which [`MAX_EXPRS`] bounds.

use nestegg_ir::{ArrayId, Expr, ExprId, Exprs, InameId, Instruction, Kernel, Number, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;

/// Inlined expressions of a kernel may be this many.
const MAX_EXPRS: usize = 50_000_000;

/// An integer `constant + Σ coefficient·iname`, terms sorted by iname, no coefficient zero; parameters have their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    pub(crate) constant: i64,
    pub(crate) terms: Vec<(InameId, i64)>,
}

impl Form {
    fn scale(&self, factor: i64) -> Option<Self> {
        if factor == 0 {
            return Some(Self::default());
        }
        let mut res = self.clone();
        res.constant = res.constant.checked_mul(factor)?;
        for term in &mut res.terms {
            term.1 = term.1.checked_mul(factor)?;
        }
        Some(res)
    }

    /// `self + factor·(constant + Σ terms)`.
    pub(crate) fn plus(&self, factor: i64, constant: i64, terms: &[(InameId, i64)]) -> Option<Self> {
        self.add(&Self { constant, terms: terms.to_vec() }.scale(factor)?)
    }

    fn add(&self, other: &Self) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant)?;
        let mut terms: Vec<(InameId, i64)> = Vec::with_capacity(self.terms.len() + other.terms.len());
        let mut all: Vec<_> = self.terms.iter().chain(&other.terms).copied().collect();
        all.sort_by_key(|term| term.0);
        for (iname, coefficient) in all {
            match terms.last_mut() {
                Some(last) if last.0 == iname => last.1 = last.1.checked_add(coefficient)?,
                _ => terms.push((iname, coefficient)),
            }
        }
        terms.retain(|term| term.1 != 0);
        Some(Self { constant, terms })
    }
}

/// An inlined kernel.
pub(crate) struct Source {
    /// All expressions, and accesses for what instructions write.
    pub(crate) exprs: Exprs,
    /// The instructions on them.
    pub(crate) instructions: Vec<Instruction>,
    /// What each expression of the kernel became.
    pub(crate) inlined: Vec<ExprId>,
    /// The affine form of each expression, if it has one.
    pub(crate) forms: Vec<Option<Form>>,
    /// What each instruction reads: array and the access expression.
    pub(crate) reads: Vec<Vec<(ArrayId, ExprId)>>,
    /// What each instruction writes, as access expressions.
    pub(crate) writes: Vec<Vec<(ArrayId, ExprId)>>,
    /// The arrays that some instruction writes.
    pub(crate) written: Vec<bool>,
    /// The values of the kernel's own expressions that hold only integers and parameters.
    constants: Vec<Option<i64>>,
}

impl Source {
    pub(crate) fn new(kernel: &Kernel, parameters: &[i64]) -> Result<Self, Error> {
        let (mut exprs, inlined) = inline(kernel)?;
        let mut instructions = kernel.instructions.clone();
        for instruction in &mut instructions {
            instruction.map_expressions(|id| inlined[id.index()]);
        }
        let mut writes = Vec::new();
        let mut written = vec![false; kernel.arrays.len()];
        for instruction in &instructions {
            instruction.written_arrays().iter().for_each(|array| written[array.index()] = true);
            let accesses = instruction.assignees().iter();
            writes.push(accesses.map(|it| (it.array, exprs.access(it.array, it.indices.clone()))).collect());
        }
        let mut seen = vec![0; exprs.len()];
        let reads = instructions.iter().zip(1..).map(|(it, number)| reads(&exprs, it, (&mut seen, number))).collect();
        let forms = forms(&exprs, parameters);
        Ok(Self {
            exprs,
            instructions,
            inlined,
            forms,
            reads,
            writes,
            written,
            constants: constants(kernel, parameters),
        })
    }

    /// The value of an expression of the kernel that holds only integers and parameters.
    pub(crate) fn constant(&self, expr: ExprId) -> Option<i64> {
        self.constants[expr.index()]
    }
}

/// What an instruction reads; `seen` holds for each expression the number of the instruction that it was last seen in.
fn reads(exprs: &Exprs, instruction: &Instruction, (seen, number): (&mut [u32], u32)) -> Vec<(ArrayId, ExprId)> {
    let mut pending: Vec<ExprId> = instruction.expressions().collect();
    let mut res = Vec::new();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], number) != number {
            if let Expr::Access { array, .. } = &exprs[id] {
                res.push((*array, id));
            }
            pending.extend(exprs[id].children());
        }
    }
    res.sort_unstable();
    res
}

/// Integer arithmetic on literals and parameters, as sizes are made of; division and extrema too.
fn constants(kernel: &Kernel, parameters: &[i64]) -> Vec<Option<i64>> {
    let mut known: Vec<Option<i64>> = Vec::with_capacity(kernel.exprs.len());
    for (_, expr) in kernel.exprs.iter() {
        let of = |id: ExprId| known[id.index()];
        let fold = |operands: &[ExprId], join: fn(i64, i64) -> Option<i64>| {
            let mut values = operands.iter().map(|&operand| of(operand));
            let first = values.next()??;
            values.try_fold(first, |a, b| join(a, b?))
        };
        known.push(match expr {
            Expr::Number(Number::Int(value)) => Some(*value),
            Expr::Parameter(parameter) => Some(parameters[parameter.index()]),
            Expr::Op { op, operands } => match op {
                Op::Add => fold(operands, i64::checked_add),
                Op::Sub => fold(operands, i64::checked_sub),
                Op::Mul => fold(operands, i64::checked_mul),
                Op::Min => fold(operands, |a, b| Some(a.min(b))),
                Op::Max => fold(operands, |a, b| Some(a.max(b))),
                Op::FloorDiv => fold(operands, floor_div),
                Op::Mod => fold(operands, |a, b| a.checked_sub(floor_div(a, b)?.checked_mul(b)?)),
                Op::Neg => of(operands[0]).and_then(i64::checked_neg),
                _ => None,
            },
            _ => None,
        });
    }
    known
}

/// Division rounded towards minus infinity; `None` by zero, or beyond 64 bits.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn forms(exprs: &Exprs, parameters: &[i64]) -> Vec<Option<Form>> {
    let mut forms: Vec<Option<Form>> = Vec::with_capacity(exprs.len());
    for (_, expr) in exprs.iter() {
        let of = |id: ExprId| forms[id.index()].as_ref();
        let form = match expr {
            Expr::Number(Number::Int(value)) => Some(Form { constant: *value, terms: Vec::new() }),
            Expr::Parameter(parameter) => Some(Form { constant: parameters[parameter.index()], terms: Vec::new() }),
            Expr::Iname(iname) => Some(Form { constant: 0, terms: vec![(*iname, 1)] }),
            Expr::Op { op: Op::Neg, operands } => of(operands[0]).and_then(|a| a.scale(-1)),
            Expr::Op { op: Op::Add, operands } => {
                operands.iter().try_fold(Form::default(), |sum, &operand| sum.add(of(operand)?))
            }
            Expr::Op { op: Op::Sub, operands } => {
                of(operands[0]).zip(of(operands[1])).and_then(|(a, b)| a.add(&b.scale(-1)?))
            }
            Expr::Op { op: Op::Mul, operands } => {
                let one = Form { constant: 1, terms: Vec::new() };
                operands.iter().try_fold(one, |product, &operand| {
                    let factor = of(operand)?;
                    if factor.terms.is_empty() {
                        product.scale(factor.constant)
                    } else if product.terms.is_empty() {
                        factor.scale(product.constant)
                    } else {
                        None
                    }
                })
            }
            _ => None,
        };
        forms.push(form);
    }
    forms
}

/// All expressions without substitutions, and what each old one became. Bodies of rules map to themselves.
fn inline(kernel: &Kernel) -> Result<(Exprs, Vec<ExprId>), Error> {
    if kernel.substitutions.is_empty() {
        return Ok((kernel.exprs.clone(), kernel.exprs.iter().map(|(id, _)| id).collect()));
    }
    let mut exprs = Exprs::new();
    let mut map: Vec<Option<ExprId>> = vec![None; kernel.exprs.len()];
    let mut templates: Vec<Option<Template>> = kernel.substitution_ids().map(|_| None).collect();
    let mut is_open = vec![false; kernel.substitutions.len()];
    // A stack of expressions to map; a rule's body is mapped before the first use of the rule.
    for root in 0..kernel.exprs.len() {
        let mut stack = vec![ExprId::new(root)];
        while let Some(&id) = stack.last() {
            if map[id.index()].is_some() {
                stack.pop();
                continue;
            }
            let mut expr = kernel.exprs[id].clone();
            let n_pending = stack.len();
            stack.extend(expr.children().iter().filter(|child| map[child.index()].is_none()));
            if let Expr::Substitution { rule, .. } = &expr {
                let body = kernel[*rule].expression;
                if map[body.index()].is_none() {
                    if std::mem::replace(&mut is_open[rule.index()], true) {
                        return Err(Error::Substitution { name: kernel[*rule].name.clone(), reason: "uses itself" });
                    }
                    stack.push(body);
                }
            }
            if stack.len() > n_pending {
                continue;
            }
            stack.pop();
            for child in expr.children_mut() {
                *child = map[child.index()].expect("children are mapped before their parents");
            }
            let new = match expr {
                Expr::Substitution { rule, arguments } => {
                    let template = templates[rule.index()].get_or_insert_with(|| {
                        let body =
                            map[kernel[rule].expression.index()].expect("a rule's body is mapped before its use");
                        Template::new(&exprs, body)
                    });
                    template.apply(&mut exprs, &arguments)
                }
                other => exprs.intern(other),
            };
            if exprs.len() > MAX_EXPRS {
                let name = kernel.substitutions[0].name.clone();
                return Err(Error::Substitution { name, reason: "expands beyond the limit" });
            }
            map[id.index()] = Some(new);
        }
    }
    let inlined = map.into_iter().map(|new| new.expect("every expression was a root")).collect();
    Ok((exprs, inlined))
}

/// The part of a rule's body that depends on its formal parameters, operands first.
struct Template {
    body: ExprId,
    dependent: Vec<ExprId>,
}

impl Template {
    fn new(exprs: &Exprs, body: ExprId) -> Self {
        let mut is_dependent: FxHashSet<ExprId> = FxHashSet::default();
        let mut dependent = Vec::new();
        for id in exprs.reachable([body]) {
            let expr = &exprs[id];
            if matches!(expr, Expr::Formal(_)) || expr.children().iter().any(|child| is_dependent.contains(child)) {
                is_dependent.insert(id);
                dependent.push(id);
            }
        }
        Self { body, dependent }
    }

    fn apply(&self, exprs: &mut Exprs, arguments: &[ExprId]) -> ExprId {
        let mut map: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for &id in &self.dependent {
            let mut expr = exprs[id].clone();
            for child in expr.children_mut() {
                *child = map.get(child).copied().unwrap_or(*child);
            }
            let new = match expr {
                Expr::Formal(position) => arguments[position as usize],
                other => exprs.intern(other),
            };
            map.insert(id, new);
        }
        map.get(&self.body).copied().unwrap_or(self.body)
    }
}
