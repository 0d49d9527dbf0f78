//! Expressions with parts of inames in the place of inames, and without what is zero because a table is.
//!
//! # Method
//! Bottom-up, once for each expression and for what is substituted in it. A zero that comes from a table is not an
//! expression but [`Value::Zero`], so that a literal zero of the input is left as it is; where nothing is known to
//! vanish with it, it becomes the literal.

use indexmap::IndexSet;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ArrayId, Expr, ExprId, Float, InameId, Kernel, Number, Op, ReduceOp};
use nestegg_isl as isl;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::split_at_zeros::boxes::{Boxes, Interval};
use crate::split_at_zeros::facts::Facts;
use crate::split_at_zeros::tables::{Content, Tables};
use nestegg_ir::sets::SetId;

/// What stands in the place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Zero, because a table is.
    Zero,
    /// An expression.
    Expr(ExprId),
}

/// What inames are replaced by, sorted by iname.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SubstitutionId(u32);

/// Whether reductions are cut on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reductions {
    Keep,
    Cut,
}

/// A kernel whose expressions are rewritten.
#[derive(Debug)]
pub(crate) struct Rewriter {
    pub(crate) kernel: Kernel,
    pub(crate) domains: Domains,
    pub(crate) boxes: Boxes,
    pub(crate) tables: Tables,
    pub(crate) facts: Facts,
    pub(crate) max_pieces: usize,
    max_exprs: usize,
    is_exceeded: bool,
    has_cut: bool,
    substitutions: IndexSet<Box<[(InameId, ExprId)]>, FxBuildHasher>,
    restricted: FxHashMap<(SubstitutionId, SetId), SubstitutionId>,
    done: FxHashMap<(ExprId, SubstitutionId, Reductions), Value>,
}

impl Rewriter {
    /// A rewriter for a kernel.
    pub(crate) fn new(kernel: Kernel, max_pieces: usize, max_exprs: usize) -> Result<Self, DomainError> {
        let context = isl::Context::new();
        let domains = Domains::new(&context, &kernel)?;
        let mut res = Self {
            boxes: Boxes::new(&kernel, &domains)?,
            tables: Tables::new(&kernel),
            facts: Facts::new(),
            domains,
            kernel,
            max_pieces,
            max_exprs,
            is_exceeded: false,
            has_cut: false,
            substitutions: IndexSet::default(),
            restricted: FxHashMap::default(),
            done: FxHashMap::default(),
        };
        res.facts.extend(&res.kernel, &res.tables);
        Ok(res)
    }

    /// Whether there are more expressions than allowed; results are of no use then.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Whether an iname was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.has_cut
    }

    /// The kernel, its boxes separated where inames were cut.
    pub(crate) fn into_kernel(mut self) -> Kernel {
        self.boxes.separate(&mut self.kernel);
        self.kernel
    }

    /// The expression that is the value of `iname` in a part of its values: the one value, or a new iname.
    pub(crate) fn part(&mut self, iname: InameId, interval: Interval) -> ExprId {
        self.has_cut = true;
        let expr = if interval.1 - interval.0 == 1 {
            Expr::Number(Number::Int(interval.0))
        } else {
            Expr::Iname(self.boxes.part(&mut self.kernel, iname, interval))
        };
        self.intern(expr)
    }

    /// The substitution of parts for inames.
    pub(crate) fn substitution(&mut self, mut parts: Vec<(InameId, ExprId)>) -> SubstitutionId {
        parts.sort_unstable();
        let (idx, _) = self.substitutions.insert_full(parts.into());
        SubstitutionId(u32::try_from(idx).expect("there are fewer substitutions than expressions"))
    }

    /// What the substitution makes of an expression.
    pub(crate) fn substitute(&mut self, root: ExprId, substitution: SubstitutionId) -> ExprId {
        let value = self.rewrite(root, substitution, Reductions::Keep);
        self.materialised(value)
    }

    /// The expression with its reductions cut.
    pub(crate) fn cut_reductions(&mut self, root: ExprId) -> ExprId {
        let nothing = self.substitution(Vec::new());
        let value = self.rewrite(root, nothing, Reductions::Cut);
        self.materialised(value)
    }

    fn intern(&mut self, expr: Expr) -> ExprId {
        let id = self.kernel.exprs.intern(expr);
        self.facts.extend(&self.kernel, &self.tables);
        self.is_exceeded |= self.kernel.exprs.len() > self.max_exprs;
        id
    }

    fn materialised(&mut self, value: Value) -> ExprId {
        match value {
            Value::Expr(id) => id,
            Value::Zero => self.intern(Expr::Number(Number::Float(Float::new(0.0).expect("zero is finite")))),
        }
    }

    /// The part of a substitution that matters to an expression.
    fn restrict(&mut self, substitution: SubstitutionId, id: ExprId) -> SubstitutionId {
        let free = self.facts.free_set(id);
        if let Some(&known) = self.restricted.get(&(substitution, free)) {
            return known;
        }
        let all = &self.substitutions[substitution.0 as usize];
        let members = self.facts.members(free);
        let parts = all.iter().copied().filter(|(iname, _)| members.binary_search(iname).is_ok()).collect();
        let res = self.substitution(parts);
        self.restricted.insert((substitution, free), res);
        res
    }

    fn rewrite(&mut self, root: ExprId, substitution: SubstitutionId, reductions: Reductions) -> Value {
        let mut pending = vec![root];
        while let Some(&id) = pending.last() {
            if self.is_exceeded {
                return Value::Expr(root);
            }
            let own = self.restrict(substitution, id);
            if self.done.contains_key(&(id, own, reductions)) {
                pending.pop();
                continue;
            }
            let expr = self.kernel.exprs[id].clone();
            let n_pending = pending.len();
            let mut children = Vec::with_capacity(expr.children().len());
            for &child in expr.children() {
                let restricted = self.restrict(substitution, child);
                match self.done.get(&(child, restricted, reductions)) {
                    Some(&value) => children.push(value),
                    None => pending.push(child),
                }
            }
            if pending.len() > n_pending {
                continue;
            }
            pending.pop();
            let res = self.rebuild(expr, &children, own, reductions);
            self.done.insert((id, own, reductions), res);
        }
        let own = self.restrict(substitution, root);
        self.done[&(root, own, reductions)]
    }

    /// The expression on what its operands became.
    fn rebuild(&mut self, expr: Expr, values: &[Value], own: SubstitutionId, reductions: Reductions) -> Value {
        match expr {
            Expr::Iname(iname) => {
                let part = self.substitutions[own.0 as usize].iter().find(|part| part.0 == iname);
                match part {
                    Some(&(_, part)) => Value::Expr(part),
                    None => Value::Expr(self.intern(expr)),
                }
            }
            Expr::Op { op, operands } => self.rebuild_op(op, &operands, values),
            Expr::Reduce { op: ReduceOp::Sum, inames, .. } => match values[0] {
                Value::Zero => Value::Zero,
                Value::Expr(body) if reductions == Reductions::Cut => self.cut_reduction(&inames, body),
                Value::Expr(body) => Value::Expr(self.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body })),
            },
            Expr::Cast { dtype, .. } if dtype.is_float() && values[0] == Value::Zero => Value::Zero,
            mut expr => {
                for (child, &value) in expr.children_mut().iter_mut().zip(values) {
                    *child = self.materialised(value);
                }
                match &expr {
                    Expr::Access { array, indices } if self.tables.shape(*array).is_some() => {
                        match self.content(*array, indices) {
                            Content::Zero => Value::Zero,
                            Content::Value(value) => Value::Expr(self.intern(Expr::Number(Number::Float(value)))),
                            Content::Mixed => Value::Expr(self.intern(expr)),
                        }
                    }
                    _ => Value::Expr(self.intern(expr)),
                }
            }
        }
    }

    /// What a table holds wherever an access may read it.
    fn content(&self, array: ArrayId, indices: &[ExprId]) -> Content {
        let Some(shape) = self.tables.shape(array) else { return Content::Mixed };
        let part: Vec<Interval> =
            indices.iter().zip(shape).map(|(&index, &size)| self.index_interval(index, size)).collect();
        self.tables.content(array, &part)
    }

    fn rebuild_op(&mut self, op: Op, operands: &[ExprId], values: &[Value]) -> Value {
        let is_zero = |idx: usize| values[idx] == Value::Zero;
        if values.contains(&Value::Zero) {
            match op {
                Op::Mul | Op::Neg => return Value::Zero,
                Op::Add | Op::Sub => return self.sum_without_zeros(op, values),
                Op::Div if is_zero(0) && !is_zero(1) => return Value::Zero,
                Op::Pow
                    if is_zero(0)
                        && matches!(self.kernel.exprs[operands[1]], Expr::Number(power) if power.to_f64() > 0.0) =>
                {
                    return Value::Zero;
                }
                Op::If if is_zero(1) && is_zero(2) => return Value::Zero,
                Op::Min | Op::Max if values.iter().all(|&value| value == Value::Zero) => return Value::Zero,
                _ => {}
            }
        }
        let new: Vec<ExprId> = values.iter().map(|&value| self.materialised(value)).collect();
        if new != operands
            && let Some(folded) = self.folded_integers(op, &new)
        {
            return Value::Expr(folded);
        }
        Value::Expr(self.intern(Expr::Op { op, operands: new.into() }))
    }

    /// A sum or difference with operands that are zero.
    fn sum_without_zeros(&mut self, op: Op, values: &[Value]) -> Value {
        let rest: Vec<ExprId> = values
            .iter()
            .filter_map(|value| match value {
                Value::Expr(id) => Some(*id),
                Value::Zero => None,
            })
            .collect();
        let Some(&first) = rest.first() else { return Value::Zero };
        if !rest.iter().any(|&id| self.facts.is_float(id)) {
            // Without the zero the sum would be one of integers.
            let operands: Vec<ExprId> = values.iter().map(|&value| self.materialised(value)).collect();
            return Value::Expr(self.intern(Expr::Op { op, operands: operands.into() }));
        }
        let res = match op {
            Op::Sub if values[0] == Value::Zero => Expr::Op { op: Op::Neg, operands: [first].into() },
            _ if rest.len() == 1 => return Value::Expr(first),
            _ => Expr::Op { op, operands: rest.into() },
        };
        Value::Expr(self.intern(res))
    }

    /// What integer literals make of an operation that was given them: `2*1 + j` is `2 + j`.
    fn folded_integers(&mut self, op: Op, operands: &[ExprId]) -> Option<ExprId> {
        let literal = |id: &ExprId| match self.kernel.exprs[*id] {
            Expr::Number(Number::Int(value)) => Some(value),
            _ => None,
        };
        let literals: Vec<Option<i64>> = operands.iter().map(literal).collect();
        let all: Option<Vec<i64>> = literals.iter().copied().collect();
        let neutral = i64::from(op == Op::Mul);
        let folded = match (op, all) {
            (Op::Add, Some(all)) => all.iter().try_fold(0i64, |sum, &value| sum.checked_add(value))?,
            (Op::Mul, Some(all)) => all.iter().try_fold(1i64, |product, &value| product.checked_mul(value))?,
            (Op::Sub, Some(all)) => all[0].checked_sub(all[1])?,
            (Op::Neg, Some(all)) => all[0].checked_neg()?,
            (Op::Add | Op::Mul, None) if literals.contains(&Some(neutral)) => {
                let rest: Vec<ExprId> = operands
                    .iter()
                    .zip(&literals)
                    .filter(|(_, value)| **value != Some(neutral))
                    .map(|(&id, _)| id)
                    .collect();
                return Some(match rest.as_slice() {
                    [single] => *single,
                    _ => self.intern(Expr::Op { op, operands: rest.into() }),
                });
            }
            _ => return None,
        };
        // Larger ones would be 64 bits wide.
        i32::try_from(folded).ok()?;
        Some(self.intern(Expr::Number(Number::Int(folded))))
    }

    /// The sum over `inames`, cut where tables in its body change their non-zero entries.
    fn cut_reduction(&mut self, inames: &[InameId], body: ExprId) -> Value {
        let cuts: Vec<(InameId, Vec<Interval>)> =
            inames.iter().filter_map(|&iname| Some((iname, self.segments(iname, body)?))).collect();
        let mut terms = Vec::new();
        for parts in combinations(&cuts) {
            let parts: Vec<(InameId, ExprId)> =
                parts.into_iter().map(|(iname, interval)| (iname, self.part(iname, interval))).collect();
            let mut over: Vec<InameId> = Vec::with_capacity(inames.len());
            for &iname in inames {
                match parts.iter().find(|part| part.0 == iname).map(|part| &self.kernel.exprs[part.1]) {
                    None => over.push(iname),
                    Some(Expr::Iname(part)) => over.push(*part),
                    Some(_) => {}
                }
            }
            let substitution = self.substitution(parts);
            match self.rewrite(body, substitution, Reductions::Keep) {
                Value::Zero => {}
                Value::Expr(value) if over.is_empty() => terms.push(value),
                Value::Expr(body) => {
                    terms.push(self.intern(Expr::Reduce { op: ReduceOp::Sum, inames: over.into(), body }));
                }
            }
            if self.is_exceeded {
                break;
            }
        }
        match terms.as_slice() {
            [] => Value::Zero,
            [single] => Value::Expr(*single),
            _ => Value::Expr(self.intern(Expr::Op { op: Op::Add, operands: terms.into() })),
        }
    }
}

/// Every choice of one interval for each iname, the last iname's changing first.
pub(crate) fn combinations(
    cuts: &[(InameId, Vec<Interval>)],
) -> impl Iterator<Item = Vec<(InameId, Interval)>> + use<> {
    let cuts = cuts.to_vec();
    let n_choices: usize = cuts.iter().map(|(_, segments)| segments.len()).product();
    (0..n_choices).map(move |choice| {
        let mut rest = choice;
        let mut res: Vec<(InameId, Interval)> = Vec::with_capacity(cuts.len());
        for (iname, segments) in cuts.iter().rev() {
            res.push((*iname, segments[rest % segments.len()]));
            rest /= segments.len();
        }
        res.reverse();
        res
    })
}
