//! From the expressions of a kernel to values modulo renaming, shift and scale.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{ArgumentAccess, ArrayKind, Expr, ExprId, InameId, InsnId, InstructionKind, Number, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::shift::scale::{Atom, Scale};
use crate::shift::values::{NO_VERSION, Operation, Term, Values, bound};
use crate::workspace::Workspace;

/// The largest exponent that is taken as repeated multiplication.
const MAX_EXPONENT: i64 = 64;

/// A value that an instruction stores, or that a reduction in it goes over.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) insn: InsnId,
    /// The reduction; `None` for what is stored.
    pub(crate) reduction: Option<ExprId>,
    /// Position of its tree among the trees of the program.
    pub(crate) position: usize,
    pub(crate) value: Term,
}

/// What the trees of a program write.
#[derive(Debug)]
pub(crate) struct Writes {
    /// For each array the trees that write it.
    pub(crate) by_array: Vec<Vec<usize>>,
}

impl Writes {
    /// The state of an array's memory that a tree reads.
    fn version(&self, array: usize, position: usize) -> u32 {
        let writers = &self.by_array[array];
        if writers.contains(&position) {
            return NO_VERSION;
        }
        writers.iter().filter(|&&writer| writer < position).count() as u32
    }
}

/// What is known of the kernel around an expression.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) writes: &'a Writes,
    /// Scalars that the kernel divides by.
    pub(crate) divisors: &'a FxHashSet<ExprId>,
    /// For each iname whether reductions bind it, and nothing else has to do with it.
    pub(crate) is_bound: &'a [bool],
}

/// What the expressions of the instructions at one position are.
pub(crate) type Known = FxHashMap<ExprId, Option<Term>>;

/// The value that an instruction stores, then those that reductions in it go over which are no values themselves, inner ones after outer ones; `known` are the values
/// before it at its position. None if it stores no float, or zero.
pub(crate) fn translate(
    workspace: &Workspace,
    values: &mut Values,
    context: Context<'_>,
    insn: InsnId,
    position: usize,
    known: &mut Known,
) -> Vec<Root> {
    let kernel = &workspace.kernel;
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return Vec::new() };
    if !kernel[assignee.array].dtype.is_float() || !workspace.facts.ty(*expression).is_float() {
        return Vec::new();
    }
    let Some(value) = value_of(workspace, values, context, *expression, position, known) else { return Vec::new() };
    let mut res = vec![Root { insn, reduction: None, position, value }];
    let (mut pending, mut seen) = (vec![*expression], FxHashSet::default());
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &kernel.exprs[id] {
            expr if is_opened(workspace, context, id) => pending.extend(expr.children().iter().rev()),
            Expr::Reduce { body, .. } if workspace.facts.ty(*body).is_float() => {
                let value = value_of(workspace, values, context, *body, position, known);
                res.extend(value.map(|value| Root { insn, reduction: Some(id), position, value }));
                pending.push(*body);
            }
            _ => {}
        }
    }
    res
}

/// The value of an expression; `None` for zero.
fn value_of(
    workspace: &Workspace,
    values: &mut Values,
    context: Context<'_>,
    root: ExprId,
    position: usize,
    known: &mut Known,
) -> Option<Term> {
    let mut walk = OperandsFirst::new(root);
    while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
        let is_opened = is_opened(workspace, context, id);
        let operands = workspace.kernel.exprs[id].children().iter().copied();
        if is_opened && walk.waits_for(operands, |child| known.contains_key(child)) {
            continue;
        }
        let term = if is_opened {
            operation(workspace, values, known, id)
        } else {
            Some(atom(workspace, values, context, position, id))
        };
        known.insert(id, term);
    }
    known.get(&root).cloned().flatten()
}

/// Whether an expression is taken apart.
fn is_opened(workspace: &Workspace, context: Context<'_>, id: ExprId) -> bool {
    let kernel = &workspace.kernel;
    let is_number = |id: ExprId| matches!(kernel.exprs[id], Expr::Number(_));
    let is_known = |id: &ExprId| workspace.facts.ty(*id).is_float() || is_number(*id);
    match &kernel.exprs[id] {
        Expr::Op { op, operands } if op.is_comparison() => operands.iter().all(is_known),
        Expr::Op { op, .. } if op.is_logic() => true,
        Expr::Op { op, operands } if workspace.facts.ty(id).is_float() => match op {
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div | Op::Pow | Op::Min | Op::Max => {
                operands.iter().all(is_known)
            }
            Op::If => operands[1..].iter().all(is_known),
            _ => false,
        },
        Expr::Call { arguments, .. } => workspace.facts.ty(id).is_float() && arguments.iter().all(is_known),
        Expr::Reduce { inames, body, .. } => {
            is_known(body) && inames.iter().all(|iname| context.is_bound.get(iname.index()) == Some(&true))
        }
        _ => false,
    }
}

/// What is not taken apart.
fn atom(workspace: &Workspace, values: &mut Values, context: Context<'_>, position: usize, id: ExprId) -> Term {
    let kernel = &workspace.kernel;
    // What is no element of its array on some data, or at some sizes, is read only where the kernel reads it.
    let is_element = |(&index, &size): (&ExprId, &ExprId)| match (&kernel.exprs[index], &kernel.exprs[size]) {
        (Expr::Number(Number::Int(index)), Expr::Number(Number::Int(size))) => (0..*size).contains(index),
        _ => false,
    };
    let is_scalar = || match &kernel.exprs[id] {
        Expr::Access { array, indices } => {
            workspace.facts.ty(id).is_float()
                && workspace.facts.memory(id).is_empty()
                && indices.iter().zip(&kernel[*array].shape).all(is_element)
        }
        _ => false,
    };
    match &kernel.exprs[id] {
        Expr::Number(number) => match Scale::number(number.to_f64()) {
            Some(scale) => Values::number(scale),
            None => values.exact(id),
        },
        Expr::Access { array, indices } if !is_scalar() && workspace.facts.ty(id).is_float() => {
            let affine: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect();
            // What is not written is only promised to be there where the kernel reads it.
            let is_whole = match kernel[*array].kind {
                ArrayKind::Argument(access) => access != ArgumentAccess::Write,
                ArrayKind::Table(_) => true,
                ArrayKind::Temporary => false,
            };
            let version = if is_whole { context.writes.version(array.index(), position) } else { NO_VERSION };
            match affine {
                Some(affine) => {
                    let mut term = values.leaf(*array, &affine, version);
                    for (var, _) in &mut term.of.at {
                        if context.is_bound.get(*var as usize) == Some(&true) {
                            *var = bound(InameId::new(*var as usize));
                        }
                    }
                    term
                }
                None => values.exact(id),
            }
        }
        Expr::Access { .. } if is_scalar() => {
            let atom = if context.divisors.contains(&id) { Atom::Divisor(id) } else { Atom::Invariant(id) };
            Values::number(Scale::scalar(atom))
        }
        _ => values.exact(id),
    }
}

/// An operation on what is known.
fn operation(
    workspace: &Workspace,
    values: &mut Values,
    known: &FxHashMap<ExprId, Option<Term>>,
    id: ExprId,
) -> Option<Term> {
    let kernel = &workspace.kernel;
    let of = |id: ExprId| known[&id].clone();
    let negated = |term: Term| Term { scale: term.scale.times(&Scale::minus_one()), of: term.of };
    match &kernel.exprs[id] {
        Expr::Op { op: Op::Add, operands } => {
            let terms = operands.iter().filter_map(|&operand| of(operand)).collect();
            values.sum(terms)
        }
        Expr::Op { op: Op::Sub, operands } => {
            let terms = of(operands[0]).into_iter().chain(of(operands[1]).map(negated)).collect();
            values.sum(terms)
        }
        Expr::Op { op: Op::Neg, operands } => of(operands[0]).map(negated),
        Expr::Op { op: Op::Mul, operands } => {
            let factors: Option<Vec<(Term, i32)>> = operands.iter().map(|&operand| Some((of(operand)?, 1))).collect();
            Some(values.product(factors?))
        }
        Expr::Op { op: Op::Div, operands } => {
            let Some(divisor) = of(operands[1]) else { return Some(values.exact(id)) };
            Some(values.product([(of(operands[0])?, 1), (divisor, -1)]))
        }
        Expr::Op { op: Op::Pow, operands } => {
            let exponent = match kernel.exprs[operands[1]] {
                Expr::Number(Number::Int(n)) if n != 0 && n.abs() <= MAX_EXPONENT => i32::try_from(n).ok(),
                _ => None,
            };
            match (of(operands[0]), exponent, &kernel.exprs[operands[1]]) {
                (Some(base), Some(exponent), _) => Some(values.product([(base, exponent)])),
                (Some(base), None, Expr::Number(Number::Float(_))) => match of(operands[1]) {
                    Some(power) => Some(values.apply(Operation::Op(Op::Pow), &[base, power])),
                    None => Some(values.exact(id)),
                },
                _ => Some(values.exact(id)),
            }
        }
        Expr::Op { op, operands } => {
            let operands: Option<Vec<Term>> = operands.iter().map(|&operand| of(operand)).collect();
            Some(match operands {
                Some(operands) => values.apply(Operation::Op(*op), &operands),
                None => values.exact(id),
            })
        }
        Expr::Call { function, arguments } => {
            let arguments: Option<Vec<Term>> = arguments.iter().map(|&argument| of(argument)).collect();
            Some(match arguments {
                Some(arguments) => values.apply(Operation::Call(*function), &arguments),
                None => values.exact(id),
            })
        }
        Expr::Reduce { op, inames, body } => Some(match of(*body) {
            Some(body) => values.reduce(*op, inames, &body),
            None => values.exact(id),
        }),
        _ => Some(values.exact(id)),
    }
}
