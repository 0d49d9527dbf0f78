//! Reductions become instructions: initialise, then accumulate in loops of their own.
//!
//! # Input
//! A linearized kernel; expressions may hold `reduce`.
//! # Output
//! A linearized kernel with the same meaning up to the rounding of sums, in which `reduce` is left only
//! where a loop cannot take its place: in a branch of a selection or behind `and`/`or` (which it would leave), in a
//! predicate or an index, where loops would nest beyond half of what readers take, as a `min` or `max` of nothing else, for which the format has no value to begin with, and where
//! it is made of float literals alone in a kernel with `float32`: it takes the type that it meets, which a temporary could not.
//! # Method
//! `x = r_1 + … + reduce(sum, q, e)` is `x = r_1 + …; for q: x = x + e`: joining is by the reduction itself, which saves an
//! operation; `x = x + reduce(sum, q, e)` needs no initialisation. That is legal if `e` has the dtype of `x` and does not read it; isl tells other elements of the
//! same array from it. All other reductions (factors, arguments, reductions in reductions, reductions that several
//! instructions at one place, under the same predicates, use) go to a temporary first. If nothing but one sum uses such a reduction, the whole sum goes there. The
//! temporary has one dimension for each loop around that has a bounded iname from 0 up: contraction takes away what is not needed, and the scheduler may move what carries nothing.
//! The new instructions are treated again until nothing is left.
//! # Complexity
//! Linear in the sum of the sizes of the instructions with reductions, times the depth to which reductions nest.
//! # Not done
//! Does not decide where a value is computed: every loop opens where its instruction ran.

mod extents;
mod place;
mod target;
mod terms;

use nestegg_ir::kernel::LinearizedKernel;
use nestegg_ir::linearization::MAX_NESTING;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Exprs, InameId, InsnId, Instruction, InstructionKind,
    Item, Licence, Op, ReduceOp,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::ScheduleError;
use crate::names::Names;
use crate::replace::replace;
use extents::Extents;
use nestegg_ir::walk::{below, each_with, reads};
use place::SharedReductions;
use target::Targets;
use terms::Term;

/// Replaces reductions by initialisations and accumulations.
///
/// # Errors
/// If the linearization is not well nested, or isl fails on a domain.
pub fn realize_reductions(linearized: LinearizedKernel) -> Result<LinearizedKernel, ScheduleError> {
    realize_reductions_under(linearized, Licence::default())
}

/// Replaces reductions by initialisations and accumulations. Under a strict licence a reduction of floats begins with its neutral
/// value, whatever it is joined to.
///
/// # Errors
/// If the linearization is not well nested, or isl fails on a domain.
pub fn realize_reductions_under(
    linearized: LinearizedKernel,
    licence: Licence,
) -> Result<LinearizedKernel, ScheduleError> {
    nestegg_ir::linearization::to_tree(&linearized.linearization)?;
    let LinearizedKernel { kernel, linearization } = linearized;
    let has_reduction = each_with(&kernel.exprs, |expr| matches!(expr, Expr::Reduce { .. }));
    if !kernel.instructions.iter().flat_map(Instruction::expressions).any(|expr| has_reduction[expr.index()]) {
        return Ok(LinearizedKernel { kernel, linearization });
    }
    let mut pass = Realize {
        names: Names::of(&kernel),
        types: Types::infer(&kernel),
        extents: Extents::new(&kernel)?,
        shared: SharedReductions::count(&kernel, &linearization, &has_reduction),
        has_reduction,
        licence,
        has_single: kernel.has_single(),
        targets: Targets::new(&kernel),
        kernel,
        open: Vec::new(),
        realized: Vec::new(),
    };
    let linearization = pass.run(linearization);
    Ok(LinearizedKernel { kernel: pass.kernel, linearization })
}

struct Realize {
    kernel: nestegg_ir::Kernel,
    targets: Targets,
    names: Names,
    types: Types,
    extents: Extents,
    shared: SharedReductions,
    licence: Licence,
    /// Whether floats of literals alone may be meant in single precision.
    has_single: bool,
    /// For each expression whether a reduction is in it.
    has_reduction: Vec<bool>,
    /// Open loops, outermost first.
    open: Vec<InameId>,
    /// For each open loop or condition, and outside of all: temporaries that hold a reduction at this place.
    realized: Vec<Realized>,
}

/// Reductions whose values are in temporaries.
#[derive(Default)]
struct Realized {
    /// Each with the element that holds it, an access, where the predicates hold.
    element: FxHashMap<Guarded, ExprId>,
    /// For each array what reads it.
    readers: FxHashMap<ArrayId, Vec<Guarded>>,
}

/// A reduction, and the predicates of the instruction that needs it.
type Guarded = (ExprId, Vec<ExprId>);

impl Realized {
    fn insert(&mut self, exprs: &Exprs, reduction: ExprId, predicates: &[ExprId], element: ExprId) {
        let guarded = (reduction, predicates.to_vec());
        for id in below(exprs, predicates.iter().copied().chain([reduction])) {
            if let Expr::Access { array, .. } = &exprs[id] {
                self.readers.entry(*array).or_default().push(guarded.clone());
            }
        }
        self.element.insert(guarded, element);
    }

    /// The element that holds a reduction, by itself or under these predicates.
    fn element(&self, reduction: ExprId, predicates: &[ExprId]) -> Option<ExprId> {
        let anywhere = self.element.get(&(reduction, Vec::new()));
        anywhere.or_else(|| self.element.get(&(reduction, predicates.to_vec()))).copied()
    }

    /// Forgets what reads an array that was written.
    fn forget(&mut self, array: ArrayId) {
        for reduction in self.readers.remove(&array).into_iter().flatten() {
            self.element.remove(&reduction);
        }
    }
}

/// What an instruction becomes: items that are not treated yet, in order.
type Replacement = Vec<Item>;

impl Realize {
    fn run(&mut self, items: Vec<Item>) -> Vec<Item> {
        let mut res = Vec::with_capacity(items.len());
        let mut pending: Vec<Item> = items.into_iter().rev().collect();
        self.realized.push(Realized::default());
        while let Some(item) = pending.pop() {
            match item {
                Item::For(iname) => self.open.push(iname),
                Item::End(_) => {
                    self.open.pop();
                }
                Item::If(_) | Item::EndIf | Item::Run(_) => {}
            }
            match item {
                Item::For(_) | Item::If(_) => self.realized.push(Realized::default()),
                Item::End(_) | Item::EndIf => {
                    self.realized.pop();
                }
                Item::Run(insn) => {
                    if let Some(replacement) = self.expand(insn) {
                        pending.extend(replacement.into_iter().rev());
                        continue;
                    }
                    for array in self.kernel[insn].written_arrays() {
                        self.realized.iter_mut().for_each(|realized| realized.forget(array));
                    }
                }
            }
            res.push(item);
        }
        res
    }

    /// What `insn` becomes, `None` if it stays.
    fn expand(&mut self, insn: InsnId) -> Option<Replacement> {
        match &self.kernel[insn].kind {
            InstructionKind::Assignment { expression, .. } if self.has_reduction(*expression) => {
                self.expand_assignment(insn)
            }
            InstructionKind::Call { arguments, .. } => {
                let arguments = arguments.clone();
                if !arguments.iter().any(|&argument| self.has_reduction(argument)) {
                    return None;
                }
                let mut items = Vec::new();
                let replacements = self.realize_nested(insn, &arguments, &mut items)?;
                let exprs = &mut self.kernel.exprs;
                let new = arguments.iter().map(|&argument| replace(exprs, argument, &replacements)).collect();
                if let InstructionKind::Call { arguments, .. } = &mut self.kernel[insn].kind {
                    *arguments = new;
                }
                self.update();
                Some(self.under_predicates(insn, items))
            }
            _ => None,
        }
    }

    fn expand_assignment(&mut self, insn: InsnId) -> Option<Replacement> {
        let InstructionKind::Assignment { assignee, expression } = self.kernel[insn].kind.clone() else {
            return None;
        };
        let (op, mut direct, mut rest) = self.split(insn, &assignee, expression);
        if rest.is_empty() && neutral_is_missing(op) {
            rest.append(&mut direct);
        }
        // If nothing can accumulate into the target, the whole may have a temporary to accumulate into.
        let rest_exprs: Vec<ExprId> =
            if direct.is_empty() { vec![expression] } else { rest.iter().map(|term| term.expr).collect() };
        let mut items = Vec::new();
        // A `min` or `max` of nothing else cannot begin: it stays an expression.
        let replacements = self.realize_nested(insn, &rest_exprs, &mut items);
        if direct.is_empty() && replacements.is_none() {
            return None;
        }
        let replacements = replacements.unwrap_or_default();
        if direct.is_empty() {
            let value = replace(&mut self.kernel.exprs, expression, &replacements);
            self.set_value(insn, value);
            items.push(Item::Run(insn));
            self.update();
            return Some(self.under_predicates(insn, items));
        }
        for term in &mut rest {
            term.expr = replace(&mut self.kernel.exprs, term.expr, &replacements);
        }
        let dtype = self.kernel[assignee.array].dtype;
        let target = self.kernel.exprs.access(assignee.array, assignee.indices.clone());
        let is_target = |term: &Term| !term.negated && term.expr == target;
        if !(op == ReduceOp::Sum && rest.len() == 1 && is_target(&rest[0])) {
            let value = match terms::join(&mut self.kernel.exprs, op, &rest) {
                Some(value) => value,
                None => terms::neutral(&mut self.kernel, op, dtype)?,
            };
            let begin = self.add_instruction(insn, "init", assignee.clone(), value);
            items.push(Item::Run(begin));
        }
        let last = direct.len() - 1;
        for (idx, term) in direct.into_iter().enumerate() {
            let Expr::Reduce { inames, body, .. } = self.kernel.exprs[term.expr].clone() else {
                continue;
            };
            let operator = if term.negated { Op::Sub } else { op.operator() };
            let (condition, body) = self.guarded(op, body);
            let value = self.kernel.exprs.op(operator, [target, body]);
            // The last accumulation keeps the name: who waits for the instruction waits for all of it.
            let accumulate = if idx == last {
                self.set_value(insn, value);
                insn
            } else {
                self.add_instruction(insn, "part", assignee.clone(), value)
            };
            let inames = self.kernel.enclosing_first(&inames);
            self.kernel[accumulate].within.extend(&inames);
            items.extend(inames.iter().map(|&iname| Item::For(iname)));
            items.extend(condition.map(Item::If));
            items.push(Item::Run(accumulate));
            items.extend(condition.map(|_| Item::EndIf));
            items.extend(inames.iter().rev().map(|&iname| Item::End(iname)));
        }
        self.update();
        Some(self.under_predicates(insn, items))
    }

    /// What a reduction goes over as what is accumulated, and the condition under which that changes anything.
    fn guarded(&mut self, op: ReduceOp, body: ExprId) -> (Option<ExprId>, ExprId) {
        let Expr::Op { op: Op::If, operands } = &self.kernel.exprs[body] else { return (None, body) };
        let (condition, chosen, other) = (operands[0], operands[1], operands[2]);
        let is_neutral =
            |id: ExprId| matches!(self.kernel.exprs[id], Expr::Number(number) if terms::is_neutral(op, number));
        // A sum of floats that begins with -0 is another one after 0 was added.
        if self.licence == Licence::Strict || self.has_reduction(condition) {
            (None, body)
        } else if is_neutral(other) {
            (Some(condition), chosen)
        } else if is_neutral(chosen) {
            (Some(self.kernel.exprs.op(Op::Not, [condition])), other)
        } else {
            (None, body)
        }
    }

    /// The operation that joins the value's terms, those that can accumulate into the target, and the others.
    fn split(&self, insn: InsnId, target: &Assignee, value: ExprId) -> (ReduceOp, Vec<Term>, Vec<Term>) {
        let exprs = &self.kernel.exprs;
        let Some(op) = terms::joining(exprs, value) else {
            return (ReduceOp::Sum, Vec::new(), vec![Term { negated: false, expr: value }]);
        };
        let is_strict = self.licence == Licence::Strict && self.types.of(value).is_float();
        let whole = vec![Term { negated: false, expr: value }];
        let terms = if is_strict { whole } else { terms::terms(exprs, op, value) };
        let n_uses = uses(exprs, &terms);
        // An element that is looked up by a reduction, or in the array itself, may not be looked up at every step.
        let is_fixed = !target.indices.iter().any(|&index| self.has_reduction(index))
            && !reads(exprs, target.indices.iter().copied(), target.array);
        let (direct, rest): (Vec<Term>, Vec<Term>) = terms.iter().partition(|term| {
            is_fixed
                && n_uses[&term.expr] == 1
                && !self.shared.contains(insn, term.expr)
                && self.can_open(term.expr, Some(op))
                && self.has_dtype(term.expr, self.kernel[target.array].dtype)
                // Sums on the way need not fit a narrow type.
                && self.kernel[target.array].stored.is_none()
                && !self.targets.may_be_read(&self.kernel, &self.open, target, term.expr)
        });
        (op, direct, rest)
    }

    /// Puts the outermost reductions below `roots`, or the sums that they are terms of, into temporaries; `None` if there is none that can be.
    fn realize_nested(
        &mut self,
        insn: InsnId,
        roots: &[ExprId],
        items: &mut Vec<Item>,
    ) -> Option<FxHashMap<ExprId, ExprId>> {
        let mut replacements = FxHashMap::default();
        self.share_repeated(insn, roots);
        for value in self.always_evaluated(insn, roots) {
            let predicates = &self.kernel[insn].predicates;
            let known = self.realized.last().and_then(|realized| realized.element(value, predicates));
            let element = match known {
                Some(element) => element,
                None => self.realize_in_temporary(insn, value, items),
            };
            replacements.insert(value, element);
        }
        (!replacements.is_empty()).then_some(replacements)
    }

    fn realize_in_temporary(&mut self, insn: InsnId, value: ExprId, items: &mut Vec<Item>) -> ExprId {
        let dtype = self.types.of(value).dtype();
        let (shape, indices): (Vec<ExprId>, Vec<ExprId>) = self
            .open
            .clone()
            .into_iter()
            .filter_map(|iname| {
                let extent = self.extents.of(&mut self.kernel, iname)?;
                Some((extent, self.kernel.exprs.iname(iname)))
            })
            .unzip();
        let array = ArrayId::new(self.kernel.arrays.len());
        let name = self.names.entity("red");
        self.kernel.arrays.push(Array { name, dtype, stored: None, shape, kind: ArrayKind::Temporary });
        let element = self.kernel.exprs.access(array, indices.clone());
        let assignee = Assignee { array, indices: indices.into() };
        let new = self.add_instruction(insn, "red", assignee, value);
        self.shared.take_out(value, insn, new);
        items.push(Item::Run(new));
        if let Some(realized) = self.realized.last_mut() {
            realized.insert(&self.kernel.exprs, value, &self.kernel[insn].predicates, element);
        }
        element
    }

    /// Marks as shared the reductions in what occurs several times below the roots of an instruction.
    fn share_repeated(&mut self, insn: InsnId, roots: &[ExprId]) {
        let exprs = &self.kernel.exprs;
        let terms: Vec<Term> = roots.iter().map(|&expr| Term { negated: false, expr }).collect();
        let repeated = uses(exprs, &terms).into_iter().filter(|(id, n)| *n > 1 && self.has_reduction(*id));
        let in_repeated = below(exprs, repeated.map(|(id, _)| id));
        let is_reduction = |id: &ExprId| matches!(exprs[*id], Expr::Reduce { .. });
        self.shared.add(insn, in_repeated.into_iter().filter(is_reduction));
    }

    /// The outermost reductions below `roots` that are evaluated whenever the roots are and can be loops. If nothing but one sum uses such a reduction, the sum stands
    /// in its place: it begins with its other terms, and adds the reduction to them.
    fn always_evaluated(&self, insn: InsnId, roots: &[ExprId]) -> Vec<ExprId> {
        let mut seen = FxHashSet::default();
        let mut pending: Vec<ExprId> = roots.to_vec();
        let mut res = Vec::new();
        while let Some(id) = pending.pop() {
            if !self.has_reduction(id) || !seen.insert(id) {
                continue;
            }
            match &self.kernel.exprs[id] {
                Expr::Reduce { .. } if self.can_be_loops(id) => res.push(id),
                Expr::Reduce { .. } | Expr::Substitution { .. } => {}
                Expr::Op { op: Op::If | Op::And | Op::Or, operands } => pending.push(operands[0]),
                Expr::Op { op: Op::Add | Op::Sub, operands }
                    if operands.iter().any(|&term| !self.shared.contains(insn, term) && self.may_begin(id, term)) =>
                {
                    res.push(id);
                }
                expr => pending.extend(expr.children()),
            }
        }
        res.sort_unstable();
        res
    }

    /// Whether a reduction can become loops that fill a temporary.
    fn can_be_loops(&self, id: ExprId) -> bool {
        let Expr::Reduce { op, .. } = &self.kernel.exprs[id] else { return false };
        let ty = self.types.of(id);
        let begins = !neutral_is_missing(*op) && (ty.dtype().is_float() || ty.dtype().is_integer());
        begins && (!self.has_single || ty != Type::WeakFloat) && self.can_open(id, None)
    }

    /// Whether a sum may begin with its other terms and add up a reduction that is one of them.
    fn may_begin(&self, sum: ExprId, term: ExprId) -> bool {
        let is_strict = self.licence == Licence::Strict && self.types.of(sum).is_float();
        !is_strict
            && self.can_be_loops(term)
            && self.can_open(term, Some(ReduceOp::Sum))
            && self.has_dtype(term, self.types.of(sum).dtype())
    }

    /// Whether the expression is a reduction (by `op`, if given) whose inames can be loops here.
    fn can_open(&self, id: ExprId, op: Option<ReduceOp>) -> bool {
        let Expr::Reduce { op: own, inames, body } = &self.kernel.exprs[id] else {
            return false;
        };
        let distinct = inames.iter().enumerate().all(|(idx, iname)| !inames[..idx].contains(iname));
        let is_free = |iname: &InameId| !self.open.contains(iname);
        let rebinds = || {
            below(&self.kernel.exprs, [*body]).into_iter().any(|id| {
                matches!(&self.kernel.exprs[id], Expr::Reduce { inames: inner, .. } if inner.iter().any(|i| inames.contains(i)))
            })
        };
        op.is_none_or(|op| *own == op)
            && distinct
            && self.realized.len() + inames.len() < MAX_NESTING / 2
            && inames.iter().all(is_free)
            && !(self.has_reduction(*body) && rebinds())
    }

    /// Whether a reduction may be accumulated in an array of that dtype. What is made of literals alone is meant in the widest type.
    fn has_dtype(&self, id: ExprId, dtype: Dtype) -> bool {
        let is_wide = self.licence != Licence::Strict || dtype == Dtype::Float64;
        match self.types.of(id) {
            Type::WeakInt => dtype.is_integer() || (dtype.is_float() && is_wide),
            Type::WeakFloat => dtype.is_float() && is_wide,
            ty => ty == Type::from(dtype),
        }
    }

    /// The items under the predicates of `insn` as conditions, if they are more than its own run: the predicates are
    /// evaluated before any of them.
    fn under_predicates(&mut self, insn: InsnId, mut items: Replacement) -> Replacement {
        if !items.contains(&Item::Run(insn)) {
            items.push(Item::Run(insn));
        }
        if items.len() == 1 || self.kernel[insn].predicates.is_empty() {
            return items;
        }
        let predicates = std::mem::take(&mut self.kernel[insn].predicates);
        for item in &items {
            if let Item::Run(part) = item {
                self.kernel[*part].predicates.clear();
            }
        }
        let n = predicates.len();
        predicates.into_iter().map(Item::If).chain(items).chain(std::iter::repeat_n(Item::EndIf, n)).collect()
    }

    fn add_instruction(&mut self, like: InsnId, suffix: &str, assignee: Assignee, expression: ExprId) -> InsnId {
        let original = &self.kernel[like];
        let new = Instruction {
            id: self.names.instruction(&format!("{}_{suffix}", original.id)),
            kind: InstructionKind::Assignment { assignee, expression },
            within: self.open.clone(),
            depends_on: original.depends_on.clone(),
            predicates: original.predicates.clone(),
        };
        let id = InsnId::new(self.kernel.instructions.len());
        self.kernel.instructions.push(new);
        if !self.kernel[like].depends_on.contains(&id) {
            self.kernel[like].depends_on.push(id);
        }
        id
    }

    fn set_value(&mut self, insn: InsnId, value: ExprId) {
        if let InstructionKind::Assignment { expression, .. } = &mut self.kernel[insn].kind {
            *expression = value;
        }
    }

    fn has_reduction(&self, id: ExprId) -> bool {
        self.has_reduction[id.index()]
    }

    /// Facts about expressions that were added.
    fn update(&mut self) {
        self.types.extend(&self.kernel);
        for (_, expr) in self.kernel.exprs.iter().skip(self.has_reduction.len()) {
            let has = matches!(expr, Expr::Reduce { .. })
                || expr.children().iter().any(|child| self.has_reduction[child.index()]);
            self.has_reduction.push(has);
        }
    }
}

fn neutral_is_missing(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::Min | ReduceOp::Max)
}

/// How often each expression is an operand below the terms, or a term.
fn uses(exprs: &Exprs, terms: &[Term]) -> FxHashMap<ExprId, usize> {
    let mut res: FxHashMap<ExprId, usize> = FxHashMap::default();
    for term in terms {
        *res.entry(term.expr).or_default() += 1;
    }
    for id in below(exprs, terms.iter().map(|term| term.expr)) {
        for child in exprs[id].children() {
            *res.entry(*child).or_default() += 1;
        }
    }
    res
}
