//! What forms add to a kernel: inames, stores and loops.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{
    Assignee, Domain, DomainId, Expr, ExprId, Exprs, Iname, InameId, InsnId, Instruction, InstructionKind, Kernel, Op,
};
use rustc_hash::FxHashMap;

use crate::names::Names;
use crate::stores::Store;

/// New inames in one domain, named after others; `condition` is the condition of the domain for their names.
pub(crate) fn add_inames(
    kernel: &mut Kernel,
    names: &mut Names,
    after: &[InameId],
    condition: impl Fn(&[String]) -> String,
) -> Vec<InameId> {
    let new: Vec<String> = after.iter().map(|&iname| names.new_name(&kernel[iname].name)).collect();
    let domain = DomainId::new(kernel.domains.len());
    let inames: Vec<InameId> = (0..new.len()).map(|idx| InameId::new(kernel.inames.len() + idx)).collect();
    let text = format!("{{ [{}] : {} }}", new.join(", "), condition(&new));
    kernel.domains.push(Domain { text, inames: inames.clone(), enclosing: Vec::new(), parameters: Vec::new() });
    kernel.inames.extend(new.into_iter().map(|name| Iname { name, tags: Vec::new(), domain }));
    inames
}

/// A new iname from zero to before `extent`, named after another.
pub(crate) fn add_iname(kernel: &mut Kernel, names: &mut Names, after: InameId, extent: usize) -> InameId {
    add_inames(kernel, names, &[after], |names| format!("0 <= {} < {extent}", names[0]))[0]
}

/// A new store of a value to an element of the array that a store writes, within `within`: added to the element by `op` if the store
/// accumulates. `None` if the store is none.
pub(crate) fn add_store(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    indices: Vec<ExprId>,
    (op, value): (Op, ExprId),
    within: Vec<InameId>,
) -> Option<InsnId> {
    let original = &kernel[store.insn];
    let InstructionKind::Assignment { assignee: Assignee { array, .. }, .. } = original.kind else { return None };
    let (id, depends_on) = (names.new_name(&original.id), original.depends_on.clone());
    let mut expression = value;
    if store.is_accumulation {
        let element = kernel.exprs.access(array, indices.clone());
        expression = kernel.exprs.op(op, [element, value]);
    }
    let insn = InsnId::new(kernel.instructions.len());
    let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: indices.into() }, expression };
    kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates: Vec::new() });
    Some(insn)
}

/// A body in loops, outermost first.
pub(crate) fn in_loops(mut body: Vec<LoopTree>, loops: &[InameId]) -> Vec<LoopTree> {
    for &iname in loops.iter().rev() {
        body = vec![LoopTree::Loop { iname, body }];
    }
    body
}

/// A program with other trees in the place of those at some positions.
pub(crate) fn with_replaced(trees: Vec<LoopTree>, mut replaced: FxHashMap<usize, Vec<LoopTree>>) -> Vec<LoopTree> {
    let trees = trees.into_iter().enumerate();
    trees.flat_map(|(position, tree)| replaced.remove(&position).unwrap_or_else(|| vec![tree])).collect()
}

/// An expression with inames renamed, all at once.
pub(crate) fn renamed(exprs: &mut Exprs, root: ExprId, mapping: &[(InameId, InameId)]) -> ExprId {
    let rewritten = exprs.rewrite([root], |exprs, _, expr| match expr {
        Expr::Iname(iname) => {
            let to = mapping.iter().find(|pair| pair.0 == iname).map_or(iname, |pair| pair.1);
            exprs.iname(to)
        }
        expr => exprs.intern(expr),
    });
    rewritten.get(root)
}
