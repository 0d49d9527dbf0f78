//! Which stores are cut, and along which of their loops.
//!
//! # Method
//! A store whose iname is cut is taken out of the loop over it. That is allowed if no other instruction in that loop minds whether it comes before or
//! after, and the store's own instances may run in any order: they write distinct elements, or add to them, and read
//! of the array that they write no other element than their own.

use nestegg_ir::affine;
use nestegg_ir::domains::DomainError;
use nestegg_ir::{Assignee, ExprId, InameId, InameSet, InsnId, Instruction, InstructionKind, Item};
use nestegg_isl as isl;

use crate::memory::Memory;
use crate::nest::{Nest, NodeId, NodeKind};
use crate::split_at_zeros::SplitOptions;
use crate::split_at_zeros::boxes::Interval;
use crate::split_at_zeros::rewrite::Rewriter;
use crate::split_at_zeros::touches::{Store, Touches};

/// A store that is cut.
#[derive(Clone, Debug)]
pub(crate) struct CutStore {
    pub(crate) insn: InsnId,
    /// Position of the loop out of which it is taken.
    pub(crate) position: usize,
    /// That loop, and the loops and conditions in it around the store, outermost first.
    pub(crate) path: Vec<Item>,
    /// The inames that are cut, in the order of the loops, and how.
    pub(crate) cuts: Vec<(InameId, Vec<Interval>)>,
}

/// How many isl steps the question of injectivity may take.
const MAX_ISL_OPERATIONS: u64 = 1_000_000;

/// The stores that are cut, in list order; nothing if there would be too many instructions.
pub(crate) fn plan_stores(
    rewriter: &mut Rewriter,
    nest: &Nest,
    options: &SplitOptions,
) -> Result<Option<Vec<CutStore>>, DomainError> {
    let mut res = Vec::new();
    let mut n_instructions = rewriter.kernel.instructions.len();
    let memory = Memory::new(&rewriter.kernel);
    let touches = Touches::new(rewriter, nest, &memory);
    for insn in rewriter.kernel.insn_ids() {
        let InstructionKind::Assignment { expression, .. } = rewriter.kernel[insn].kind else { continue };
        let mut nodes: Vec<NodeId> = nest.below(nest.home(insn), NodeId::ROOT).collect();
        nodes.reverse();
        let mut candidates: Vec<(usize, InameId, Vec<Interval>)> = Vec::new();
        for (idx, &node) in nodes.iter().enumerate() {
            if let NodeKind::Loop(iname) = nest[node].kind
                && let Some(segments) = rewriter.segments(iname, expression)
            {
                candidates.push((idx, iname, segments));
            }
        }
        if candidates.is_empty() {
            continue;
        }
        let legality = Legality { rewriter, nest, memory: &memory, touches: &touches, insn };
        let mut first = None;
        for (at, &(idx, ..)) in candidates.iter().enumerate() {
            if legality.allows(&nodes[idx..])? {
                first = Some((at, idx));
                break;
            }
        }
        let Some((at, idx)) = first else { continue };
        let cuts: Vec<(InameId, Vec<Interval>)> =
            candidates.into_iter().skip(at).map(|(_, iname, segments)| (iname, segments)).collect();
        let n_clones = cuts.iter().fold(1usize, |n, (_, segments)| n.saturating_mul(segments.len()));
        n_instructions = n_instructions.saturating_add(n_clones - 1);
        if n_instructions > options.max_instructions {
            return Ok(None);
        }
        let item = |node: &NodeId| match nest[*node].kind {
            NodeKind::Root => None,
            NodeKind::Loop(iname) => Some(Item::For(iname)),
            NodeKind::Branch(condition) => Some(Item::If(condition)),
        };
        let path = nodes[idx..].iter().filter_map(item).collect();
        res.push(CutStore { insn, position: nest[nodes[idx]].start, path, cuts });
    }
    Ok(Some(res))
}

/// The question whether a store may be taken out of its loops.
pub(crate) struct Legality<'a> {
    pub(crate) rewriter: &'a Rewriter,
    pub(crate) nest: &'a Nest,
    pub(crate) memory: &'a Memory,
    pub(crate) touches: &'a Touches,
    pub(crate) insn: InsnId,
}

impl Legality<'_> {
    /// Whether the store may be taken out of the first of `nodes`, which are around it, outermost first.
    pub(crate) fn allows(&self, nodes: &[NodeId]) -> Result<bool, DomainError> {
        let kernel = &self.rewriter.kernel;
        let is_sequential =
            |node: &NodeId| matches!(self.nest[*node].kind, NodeKind::Loop(iname) if kernel.is_sequential(iname));
        if nodes.iter().any(is_sequential) {
            return Ok(false);
        }
        let store = &kernel[self.insn];
        let InstructionKind::Assignment { assignee, .. } = &store.kind else { return Ok(false) };
        let conditions: Vec<ExprId> = nodes.iter().filter_map(|&node| self.condition(node)).collect();
        let Some(Store { is_accumulation, reads_only_itself: true, .. }) = self.touches.store(self.insn) else {
            return Ok(false);
        };
        let mut reads = self.memory.read_by(kernel, self.insn);
        reads.extend(conditions.iter().flat_map(|&condition| self.memory.of(condition)));
        reads.retain(|&array| array != assignee.array);
        let (positions, own) = (self.nest[nodes[0]].start..self.nest[nodes[0]].end, self.nest.position(self.insn));
        if reads.iter().any(|&array| self.touches.is_written(array, &positions, own))
            || self.touches.is_tested(assignee.array, &positions)
            || !self.touches.commutes(self.insn, &positions)
        {
            return Ok(false);
        }
        Ok(*is_accumulation || self.is_injective(nodes, store, assignee)?)
    }

    fn condition(&self, node: NodeId) -> Option<ExprId> {
        match self.nest[node].kind {
            NodeKind::Branch(condition) => Some(condition),
            _ => None,
        }
    }

    /// Whether distinct instances at the same values of the loops outside of `nodes` write distinct elements.
    fn is_injective(&self, nodes: &[NodeId], store: &Instruction, assignee: &Assignee) -> Result<bool, DomainError> {
        let kernel = &self.rewriter.kernel;
        let inner: InameSet = nodes
            .iter()
            .filter_map(|&node| match self.nest[node].kind {
                NodeKind::Loop(iname) => Some(iname),
                _ => None,
            })
            .collect();
        let within = store.within_set();
        let domains = &self.rewriter.domains;
        let outer = within.difference(&inner);
        let mut outputs: Vec<isl::Affine> = outer.iter().map(|iname| isl::Affine::var(&kernel[iname].name)).collect();
        for &index in &assignee.indices {
            let Some(index) = affine::of(&kernel.exprs, index) else { return Ok(false) };
            outputs.push(domains.affine(&index)?);
        }
        let domain = domains.of(&within)?;
        domains.context().set_max_operations(Some(MAX_ISL_OPERATIONS));
        // Where isl gives up, nothing is known.
        let res = isl::Map::from_affine(&domain, None, &outputs).and_then(|map| map.is_injective()).unwrap_or(false);
        domains.context().set_max_operations(None);
        Ok(res)
    }
}
