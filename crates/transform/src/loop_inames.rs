//! Loops that run over the iname of another loop instead of their own.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{conditions_mut, from_tree, loops_in, runs_in};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, ExprId, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree};
use nestegg_isl as isl;

use crate::ranges::Ranges;
use crate::substitute::with_inames;

/// A kernel some of whose loops get other inames.
pub(crate) struct LoopInames {
    pub(crate) kernel: Kernel,
    pub(crate) ranges: Ranges,
    is_changed: bool,
}

impl LoopInames {
    /// For the loops of a kernel; `None` if isl cannot read its domains.
    pub(crate) fn new(kernel: &Kernel) -> Option<Self> {
        let context = isl::Context::new();
        let ranges = Ranges::new(kernel, &Domains::new(&context, kernel).ok()?).ok()?;
        Some(Self { kernel: kernel.clone(), ranges, is_changed: false })
    }

    /// The kernel with these loops, without what nothing uses now; `None` if no loop got another iname.
    pub(crate) fn finish(self, tree: &[LoopTree]) -> Option<LinearizedKernel> {
        let res = LinearizedKernel { kernel: self.kernel, linearization: from_tree(tree) };
        self.is_changed.then(|| crate::eliminate_dead(res))
    }

    /// Whether a loop can run over another iname: no range has to do with its own, and nothing in it speaks of the other, or is made for its own.
    pub(crate) fn can_rename(&self, old: InameId, new: InameId, body: &[LoopTree]) -> bool {
        let kernel = &self.kernel;
        let is_opaque = |insn: &InsnId| matches!(kernel[*insn].kind, InstructionKind::Opaque { .. });
        let runs = runs_in(body);
        let speaks = |id: ExprId| match &kernel.exprs[id] {
            Expr::Iname(iname) => *iname == new,
            Expr::Reduce { inames, .. } => inames.contains(&new),
            _ => false,
        };
        let mut items = from_tree(body);
        let conditions: Vec<ExprId> = conditions_mut(&mut items).into_iter().map(|condition| *condition).collect();
        let roots = runs.iter().flat_map(|&insn| kernel[insn].expressions()).chain(conditions);
        old != new
            && self.ranges.is_alone(new)
            && self.ranges.is_independent(old)
            && kernel[old].tags == kernel[new].tags
            && !runs.iter().any(is_opaque)
            && !runs.iter().any(|&insn| kernel[insn].within.contains(&new))
            && !loops_in(body).contains(&new)
            && !below(&kernel.exprs, roots).into_iter().any(speaks)
    }

    /// Lets a loop over `iname` run over `new` instead, whose values are by `distance` less.
    pub(crate) fn rename(&mut self, iname: &mut InameId, (new, distance): (InameId, i64), body: &mut [LoopTree]) {
        let old = std::mem::replace(iname, new);
        let value = Affine { constant: distance, ..Affine::var(Var::Iname(new)) };
        self.rename_in(old, (new, &value), body);
        self.is_changed = true;
    }

    fn rename_in(&mut self, old: InameId, (new, value): (InameId, &Affine), body: &mut [LoopTree]) {
        let image = |iname| (iname == old).then(|| value.clone());
        for node in body {
            match node {
                LoopTree::Loop { body, .. } => self.rename_in(old, (new, value), body),
                LoopTree::Branch { condition, body } => {
                    *condition = with_inames(&mut self.kernel.exprs, [*condition], image).get(*condition);
                    self.rename_in(old, (new, value), body);
                }
                LoopTree::Run(insn) => {
                    let roots: Vec<ExprId> = self.kernel[*insn].expressions().collect();
                    let rewritten = with_inames(&mut self.kernel.exprs, roots, image);
                    let instruction = &mut self.kernel.instructions[insn.index()];
                    instruction.map_expressions(|id| rewritten.get(id));
                    for iname in &mut instruction.within {
                        *iname = if *iname == old { new } else { *iname };
                    }
                }
            }
        }
    }
}
