//! Constant folding: what is constant is computed now, and conditions that are decided go.
//!
//! # Input
//! A kernel in value form, that is without substitution rules.
//! # Output
//! The same kernel: constant expressions are literals, with a cast where a literal would be of another type; elements of
//! tables at constant indices are literals; sums and products over nothing are 0 and 1; selections and logic of known conditions are what they choose; instructions and
//! branches whose conditions never hold are gone, and conditions that always hold. Results are those of C, to the bit.
//! # Method
//! One pass over the DAG, operands first. Integers are computed in the width of their type, floats are rounded as their type
//! is after each operation. What would trap, overflow or be no finite number is left as it is; so is what C libraries may compute in different ways.
//! # Complexity
//! Linear in the DAG, and at most [`reduction::MAX_STEPS`] steps in reductions of constants.
//! # Not done
//! Identities that need no constant result (`x*0`): those are the e-graph's.

mod evaluate;
mod function;
mod operation;
mod reduction;
mod value;

use nestegg_ir::domains::Domains;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::{
    Expr, ExprId, Float, InameSet, InstructionKind, Item, Kernel, Linearization, LinearizedKernel, Number, Op,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::dead::without_empty;
use crate::eliminate_dead;
use crate::empty::is_empty;
use evaluate::evaluate;
use value::{Known, Value, neutral};

/// A folded kernel.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The kernel.
    pub linearized: LinearizedKernel,
    /// How many expressions were replaced.
    pub n_folded: usize,
    /// How many of them are equal in C only, not in exact arithmetic: something was rounded, or a comparison or function of
    /// floats decided.
    pub n_rounded: usize,
    /// Whether elements or conditions became constant, so that more reads may be resolved.
    pub decides: bool,
}

/// Folds constants; `None` if there is nothing to fold.
#[must_use]
pub fn fold_constants(linearized: &LinearizedKernel) -> Option<Folded> {
    let mut folder = Folder::new(linearized)?;
    folder.run();
    let Folder { kernel, new, known, n_folded, n_rounded, decides, .. } = folder;
    if n_folded == 0 {
        return None;
    }
    let res = LinearizedKernel { kernel, linearization: linearized.linearization.clone() };
    let linearized = eliminate_dead(decided(res, &new, &known));
    Some(Folded { linearized, n_folded, n_rounded, decides })
}

struct Folder {
    kernel: Kernel,
    /// The expressions that are evaluated, operands first.
    order: Vec<ExprId>,
    types: Types,
    domains: Option<Domains>,
    /// Whether sets of reduction inames have no values.
    is_empty: FxHashMap<InameSet, bool>,
    /// Whether float32 occurs, so that literals must keep their types.
    has_single: bool,
    /// For each old expression what it is now.
    new: Vec<Option<ExprId>>,
    /// For each old expression its value, if that is known.
    known: Vec<Option<Known>>,
    /// For each old expression whether it reads no memory and no parameter.
    closed: Vec<bool>,
    budget: u64,
    n_folded: usize,
    n_rounded: usize,
    decides: bool,
}

impl Folder {
    /// `None` where substitution rules are in the way.
    fn new(linearized: &LinearizedKernel) -> Option<Self> {
        let kernel = linearized.kernel.clone();
        if !kernel.substitutions.is_empty() {
            return None;
        }
        let conditions = linearized.linearization.iter().filter_map(|item| match item {
            Item::If(condition) => Some(*condition),
            _ => None,
        });
        let roots = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).chain(conditions);
        let order = kernel.exprs.reachable(roots);
        let n = kernel.exprs.len();
        Some(Self {
            types: Types::infer(&kernel),
            domains: None,
            is_empty: FxHashMap::default(),
            has_single: kernel.has_single(),
            order,
            new: vec![None; n],
            known: vec![None; n],
            closed: vec![false; n],
            budget: reduction::MAX_STEPS,
            n_folded: 0,
            n_rounded: 0,
            decides: false,
            kernel,
        })
    }

    fn run(&mut self) {
        for id in std::mem::take(&mut self.order) {
            let idx = id.index();
            let expr = self.kernel.exprs[id].clone();
            let is_leaf_closed = match &expr {
                Expr::Access { array, .. } => self.kernel[*array].table().is_some(),
                Expr::Parameter(_) | Expr::Formal(_) | Expr::Substitution { .. } => false,
                _ => true,
            };
            self.closed[idx] = is_leaf_closed && expr.children().iter().all(|child| self.closed[child.index()]);
            self.known[idx] = self.value(id, &expr);
            let res = self.rebuilt(id, expr);
            self.new[idx] = Some(res);
        }
    }

    fn value(&mut self, id: ExprId, expr: &Expr) -> Option<Known> {
        if let Expr::Reduce { op, inames, .. } = expr {
            if self.domains.is_none() {
                self.domains = Domains::new(&isl::Context::new(), &self.kernel).ok();
            }
            let domains = self.domains.as_ref()?;
            let inames: InameSet = inames.iter().copied().collect();
            if *self.is_empty.entry(inames).or_insert_with_key(|inames| is_empty(domains, inames)) {
                return neutral(*op, self.types.of(id));
            }
            if !self.closed[id.index()] {
                return None;
            }
            return reduction::reduction(&self.kernel, &self.types, domains, id, &self.known, &mut self.budget);
        }
        evaluate(&self.kernel, &self.types, id, |child| self.known[child.index()], |_| None)
    }

    /// What stands in the place of an expression.
    fn rebuilt(&mut self, id: ExprId, mut expr: Expr) -> ExprId {
        if let Some(known) = self.known[id.index()].filter(|_| !self.is_literal(&expr))
            && let Some(literal) = self.literal(known.value, self.types.of(id))
            && literal != id
        {
            self.note(known.is_exact);
            return literal;
        }
        let mut has_decided = false;
        if let Expr::Access { array, indices } = &mut expr {
            for index in indices.iter_mut() {
                let before = *index;
                *index = self.index(before);
                has_decided |= *index != before;
            }
            self.decides |= has_decided && self.kernel[*array].is_temporary();
            return self.kernel.exprs.intern(expr);
        }
        if let Some(chosen) = self.chosen(id, &expr) {
            return chosen;
        }
        let bare = self.bare_operands(&expr);
        for (child, bare) in expr.children_mut().iter_mut().zip(bare) {
            *child = bare;
        }
        self.kernel.exprs.intern(expr)
    }

    /// Whether an expression is as literal as it can be: a float32 keeps the digits that it was written with.
    fn is_literal(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Number(_) => true,
            Expr::Cast { dtype, operand } => {
                dtype.is_float() && matches!(self.kernel.exprs[*operand], Expr::Number(Number::Float(_)))
            }
            _ => false,
        }
    }

    /// The new operands; literals without their casts where another operand, which is no such literal, is of the type that they are cast to.
    fn bare_operands(&self, expr: &Expr) -> Vec<ExprId> {
        let new = |id: &ExprId| self.new[id.index()].expect("operands come before operations");
        let bare = |id: &ExprId| match self.kernel.exprs[new(id)] {
            Expr::Cast { operand, .. } if self.known[id.index()].is_some() && new(id) != *id => Some(operand),
            _ => None,
        };
        let is_joint = match expr {
            Expr::Op { op, .. } => {
                op.is_comparison() || matches!(op, Op::Add | Op::Mul | Op::Sub | Op::Div | Op::Min | Op::Max)
            }
            _ => false,
        };
        let ty = |id: &ExprId| self.types.of(*id);
        let joined = expr.children().iter().map(ty).reduce(Type::join);
        let is_held = is_joint && expr.children().iter().any(|id| bare(id).is_none() && Some(ty(id)) == joined);
        let of = |id: &ExprId| bare(id).filter(|_| is_held && ty(id).is_float()).unwrap_or_else(|| new(id));
        expr.children().iter().map(of).collect()
    }

    fn note(&mut self, is_exact: bool) {
        self.n_folded += 1;
        self.n_rounded += usize::from(!is_exact);
    }

    /// An index; a constant one needs no type.
    fn index(&mut self, id: ExprId) -> ExprId {
        match self.known[id.index()].map(|known| known.value) {
            Some(Value::Int(value)) => self.kernel.exprs.int(value),
            _ => self.new[id.index()].expect("operands come before operations"),
        }
    }

    /// What a selection, `and` or `or` is, some of whose conditions are known.
    fn chosen(&mut self, id: ExprId, expr: &Expr) -> Option<ExprId> {
        let new = |folder: &Self, id: ExprId| folder.new[id.index()].expect("operands come before operations");
        let Expr::Op { op, operands } = expr else { return None };
        match op {
            Op::If => {
                let condition = self.known[operands[0].index()]?;
                let chosen = if condition.truth()? { operands[1] } else { operands[2] };
                let (ty, own) = (self.types.of(id), self.types.of(chosen));
                let is_weak = matches!(ty, Type::WeakInt | Type::WeakFloat);
                let branch = new(self, chosen);
                let res = match own == ty {
                    true => branch,
                    false if is_weak => return None,
                    false => self.kernel.exprs.intern(Expr::Cast { dtype: ty.dtype(), operand: branch }),
                };
                self.note(condition.is_exact);
                self.decides = true;
                Some(res)
            }
            Op::And | Op::Or => {
                // `and` is decided by what is false, `or` by what is true; the rest of what is known has no effect.
                let deciding = *op == Op::Or;
                let truth =
                    |id: &ExprId| self.known[id.index()].and_then(|known| Some((known.truth()?, known.is_exact)));
                let all: Vec<Option<(bool, bool)>> = operands.iter().map(truth).collect();
                let is_exact = all.iter().flatten().all(|(_, is_exact)| *is_exact);
                if all.iter().all(Option::is_none) {
                    return None;
                }
                let is_decided = all.iter().flatten().any(|(truth, _)| *truth == deciding);
                let open: Vec<ExprId> = operands
                    .iter()
                    .zip(&all)
                    .filter(|(_, known)| known.is_none())
                    .map(|(&id, _)| new(self, id))
                    .collect();
                let res = match open.as_slice() {
                    _ if is_decided => {
                        self.known[id.index()] = Some(Known { value: Value::Bool(deciding), is_exact });
                        self.literal(Value::Bool(deciding), Type::Bool)?
                    }
                    [single] => *single,
                    _ => self.kernel.exprs.op(*op, open),
                };
                self.note(is_exact);
                self.decides = true;
                Some(res)
            }
            _ => None,
        }
    }

    /// A constant of a type: a literal, in a cast where the literal alone would be of another type and that could matter.
    fn literal(&mut self, value: Value, ty: Type) -> Option<ExprId> {
        let exprs = &mut self.kernel.exprs;
        let (literal, own) = match value {
            Value::Bool(truth) => (exprs.int(i64::from(truth)), Type::WeakInt),
            Value::Int(value) => {
                let own = if i32::try_from(value).is_ok() { Type::WeakInt } else { Type::Int64 };
                (exprs.int(value), own)
            }
            Value::Float(value) => (exprs.intern(Expr::Number(Number::Float(Float::new(value)?))), Type::WeakFloat),
        };
        let is_same = match (own, ty) {
            _ if own == ty => true,
            // Among floats of one size, and integers that meet no float32, the weak types are as good.
            (Type::WeakFloat, Type::Float64) | (Type::WeakInt, Type::Int32) => !self.has_single,
            _ => false,
        };
        match ty {
            _ if is_same => Some(literal),
            Type::WeakInt | Type::WeakFloat => None,
            _ => Some(exprs.intern(Expr::Cast { dtype: ty.dtype(), operand: literal })),
        }
    }
}

/// The kernel with its new expressions, without what never runs and without conditions that always hold.
fn decided(linearized: LinearizedKernel, new: &[Option<ExprId>], known: &[Option<Known>]) -> LinearizedKernel {
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let exprs = &kernel.exprs;
    let truth = |id: ExprId| known[id.index()].and_then(Known::truth);
    let renewed = |id: ExprId| new[id.index()].unwrap_or(id);
    // What is stored, and an index, is converted anyway.
    let bare = |id: ExprId| match (&exprs[renewed(id)], known[id.index()]) {
        (Expr::Cast { operand, .. }, Some(Known { value: Value::Int(_) | Value::Float(_), .. }))
            if renewed(id) != id =>
        {
            *operand
        }
        _ => renewed(id),
    };
    let mut never = vec![false; kernel.instructions.len()];
    for (instruction, never) in kernel.instructions.iter_mut().zip(&mut never) {
        *never = instruction.predicates.iter().any(|&predicate| truth(predicate) == Some(false));
        instruction.predicates.retain(|&predicate| truth(predicate) != Some(true));
        match instruction.kind {
            InstructionKind::Assignment { .. } => instruction.map_expressions(bare),
            _ => instruction.map_expressions(renewed),
        }
    }
    let mut res = Linearization::with_capacity(linearization.len());
    // The open conditions, and whether each is still there.
    let mut open: Vec<bool> = Vec::new();
    let mut n_never = 0;
    for item in linearization {
        match item {
            Item::If(condition) => {
                let truth = truth(condition);
                open.push(truth.is_none());
                if truth == Some(false) || n_never > 0 {
                    n_never += 1;
                } else if truth.is_none() {
                    res.push(Item::If(renewed(condition)));
                }
            }
            Item::EndIf => {
                let is_there = open.pop().unwrap_or(true);
                if n_never > 0 {
                    n_never -= 1;
                } else if is_there {
                    res.push(item);
                }
            }
            _ if n_never > 0 => {}
            Item::Run(insn) if never[insn.index()] => {}
            _ => res.push(item),
        }
    }
    LinearizedKernel { kernel, linearization: without_empty(res) }
}
