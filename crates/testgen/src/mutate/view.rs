//! A kernel as families look at it: every expression with the place that it stands in.

use std::collections::BTreeSet;

use nestegg_ir::types::Types;
use nestegg_ir::walk::below;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Item, Kernel, LinearizedKernel, Op,
};

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In what an instruction computes.
    Value(InsnId),
    /// In the indices of what an instruction writes.
    Target(InsnId),
    /// In a predicate, by position.
    Predicate(InsnId, usize),
    /// In the condition at this item of the linearization.
    Condition(usize),
}

impl Place {
    /// The expressions that stand there.
    fn roots(self, linearized: &LinearizedKernel) -> Vec<ExprId> {
        match self {
            Self::Value(insn) => match &linearized.kernel[insn].kind {
                InstructionKind::Assignment { expression, .. } => vec![*expression],
                InstructionKind::Call { arguments, .. } => arguments.clone(),
                InstructionKind::Opaque { .. } => Vec::new(),
            },
            Self::Target(insn) => {
                let assignees = linearized.kernel[insn].assignees();
                assignees.iter().flat_map(|assignee| assignee.indices.iter().copied()).collect()
            }
            Self::Predicate(insn, at) => vec![linearized.kernel[insn].predicates[at]],
            Self::Condition(item_idx) => match linearized.linearization[item_idx] {
                Item::If(condition) => vec![condition],
                _ => Vec::new(),
            },
        }
    }

    /// Puts `new` in the place of `old`, wherever it stands there.
    pub(super) fn replace(self, linearized: &mut LinearizedKernel, old: ExprId, new: ExprId) {
        let roots = self.roots(linearized);
        let rewrite =
            |exprs: &mut nestegg_ir::Exprs, id: ExprId, expr: Expr| if id == old { new } else { exprs.intern(expr) };
        let rewritten = linearized.kernel.exprs.rewrite(roots, rewrite);
        let map = |id: &mut ExprId| *id = rewritten.get(*id);
        match self {
            Self::Value(insn) => match &mut linearized.kernel[insn].kind {
                InstructionKind::Assignment { expression, .. } => map(expression),
                InstructionKind::Call { arguments, .. } => arguments.iter_mut().for_each(map),
                InstructionKind::Opaque { .. } => {}
            },
            Self::Target(insn) => match &mut linearized.kernel[insn].kind {
                InstructionKind::Assignment { assignee, .. } => assignee.indices.iter_mut().for_each(map),
                InstructionKind::Call { assignees, .. } => {
                    assignees.iter_mut().flat_map(|assignee| &mut assignee.indices).for_each(map);
                }
                InstructionKind::Opaque { .. } => {}
            },
            Self::Predicate(insn, at) => map(&mut linearized.kernel[insn].predicates[at]),
            Self::Condition(item_idx) => {
                if let Item::If(condition) = &mut linearized.linearization[item_idx] {
                    map(condition);
                }
            }
        }
    }

    pub(super) fn describe(self, kernel: &Kernel) -> String {
        match self {
            Self::Value(insn) => format!("in the value of `{}`", kernel[insn].id),
            Self::Target(insn) => format!("in what `{}` writes", kernel[insn].id),
            Self::Predicate(insn, _) => format!("in a predicate of `{}`", kernel[insn].id),
            Self::Condition(item_idx) => format!("in the condition at item {item_idx}"),
        }
    }
}

/// An expression in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) id: ExprId,
    /// It stands in an index.
    pub(super) is_index: bool,
    /// It stands in a comparison, outside of the indices there.
    pub(super) is_compared: bool,
    /// It is an operand of an extremum.
    pub(super) is_extremal: bool,
}

/// A kernel and its expressions, each once for every place.
pub(super) struct View<'a> {
    pub(super) linearized: &'a LinearizedKernel,
    pub(super) types: Types,
    pub(super) nodes: Vec<Node>,
}

impl<'a> View<'a> {
    pub(super) fn new(linearized: &'a LinearizedKernel) -> Self {
        let kernel = &linearized.kernel;
        let mut places = Vec::new();
        for insn in kernel.insn_ids() {
            places.extend([Place::Value(insn), Place::Target(insn)]);
            places.extend((0..kernel[insn].predicates.len()).map(|at| Place::Predicate(insn, at)));
        }
        let items = linearized.linearization.iter().enumerate();
        places.extend(items.filter(|(_, item)| matches!(item, Item::If(_))).map(|(at, _)| Place::Condition(at)));
        let nodes = places.into_iter().flat_map(|place| nodes_in(linearized, place)).collect();
        Self { linearized, types: Types::infer(kernel), nodes }
    }

    pub(super) fn kernel(&self) -> &'a Kernel {
        &self.linearized.kernel
    }

    pub(super) fn expr(&self, id: ExprId) -> &'a Expr {
        &self.linearized.kernel.exprs[id]
    }

    /// The operations, with their places.
    pub(super) fn operations(&self) -> impl Iterator<Item = (&Node, Op, &'a [ExprId])> {
        self.nodes.iter().filter_map(|node| match self.expr(node.id) {
            Expr::Op { op, operands } => Some((node, *op, &**operands)),
            _ => None,
        })
    }

    /// The values of a float type outside of indices.
    pub(super) fn is_float(&self, node: &Node) -> bool {
        !node.is_index && self.types.of(node.id).is_float()
    }

    /// The arrays that an instruction reads or writes.
    pub(super) fn touched(&self, insn: InsnId) -> BTreeSet<ArrayId> {
        let instruction = &self.kernel()[insn];
        let mut res = nestegg_ir::walk::arrays_below(&self.kernel().exprs, instruction.expressions());
        res.extend(instruction.written_arrays());
        if let InstructionKind::Opaque { reads, .. } = &instruction.kind {
            res.extend(reads);
        }
        res
    }

    /// Whether the order of two groups of instructions may matter: one writes what the other touches.
    pub(super) fn conflict(&self, a: &[InsnId], b: &[InsnId]) -> bool {
        let written = |group: &[InsnId]| -> BTreeSet<ArrayId> {
            group.iter().flat_map(|&insn| self.kernel()[insn].written_arrays()).collect()
        };
        let touched =
            |group: &[InsnId]| -> BTreeSet<ArrayId> { group.iter().flat_map(|&insn| self.touched(insn)).collect() };
        !written(a).is_disjoint(&touched(b)) || !written(b).is_disjoint(&touched(a))
    }
}

/// The expressions in a place, operands first.
fn nodes_in(linearized: &LinearizedKernel, place: Place) -> Vec<Node> {
    let exprs = &linearized.kernel.exprs;
    let roots = place.roots(linearized);
    let ids = below(exprs, roots.iter().copied());
    let new = |&id: &ExprId| Node { place, id, is_index: false, is_compared: false, is_extremal: false };
    let mut nodes: Vec<Node> = ids.iter().map(new).collect();
    let at = |id: ExprId| ids.binary_search(&id).expect("operands of what is below a root are below it");
    if let Place::Target(_) = place {
        roots.iter().for_each(|&root| nodes[at(root)].is_index = true);
    }
    for idx in (0..nodes.len()).rev() {
        let node = nodes[idx];
        let expr = &exprs[node.id];
        let (is_access, is_comparison) = match expr {
            Expr::Access { .. } => (true, false),
            Expr::Op { op, .. } => (false, op.is_comparison()),
            _ => (false, false),
        };
        let is_extremum = matches!(expr, Expr::Op { op: Op::Min | Op::Max, .. });
        for &child in expr.children() {
            let child = &mut nodes[at(child)];
            child.is_index |= node.is_index || is_access;
            child.is_compared |= (node.is_compared || is_comparison) && !is_access;
            child.is_extremal |= is_extremum;
        }
    }
    nodes
}

/// The item that closes the loop or condition at `start`.
pub(super) fn end_of(items: &[Item], start: usize) -> usize {
    let mut depth = 0_usize;
    for (idx, item) in items.iter().enumerate().skip(start) {
        match item {
            Item::For(_) | Item::If(_) => depth += 1,
            Item::End(_) | Item::EndIf => depth -= 1,
            Item::Run(_) => {}
        }
        if depth == 0 {
            return idx;
        }
    }
    items.len() - 1
}

/// The instructions that a part of a linearization runs.
pub(super) fn runs(items: &[Item]) -> Vec<InsnId> {
    let run = |item: &Item| match item {
        Item::Run(insn) => Some(*insn),
        _ => None,
    };
    items.iter().filter_map(run).collect()
}

/// What an instruction adds to the element that it writes: the operation, the position of the old value, and all operands.
pub(super) fn accumulation<'a>(kernel: &'a Kernel, instruction: &Instruction) -> Option<(Op, usize, &'a [ExprId])> {
    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
    let Expr::Op { op: op @ (Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max), operands } = &kernel.exprs[*expression]
    else {
        return None;
    };
    let at = operands.iter().position(|&id| assignee.is_read_by(&kernel.exprs, id))?;
    (*op != Op::Sub || at == 0).then_some((*op, at, operands))
}

/// Whether an iname stands below one of these.
pub(super) fn mentions(kernel: &Kernel, roots: impl IntoIterator<Item = ExprId>, iname: InameId) -> bool {
    below(&kernel.exprs, roots).into_iter().any(|id| kernel.exprs[id] == Expr::Iname(iname))
}

/// The operands but one, as an operation on the rest; the rest itself if only one is left.
pub(super) fn without(kernel: &mut Kernel, op: Op, operands: &[ExprId], at: usize) -> ExprId {
    let rest: Vec<ExprId> = operands.iter().enumerate().filter(|(idx, _)| *idx != at).map(|(_, &id)| id).collect();
    match rest.as_slice() {
        [single] => *single,
        _ => kernel.exprs.op(op, rest),
    }
}
