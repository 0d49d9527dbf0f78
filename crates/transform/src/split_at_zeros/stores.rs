//! Which stores are cut, and along which of their loops.
//!
//! # Method
//! A store whose iname is cut is taken out of the loop over it. That is allowed if no other instruction in that loop minds whether it comes before or
//! after, and the store's own instances may run in any order: they write distinct elements, or add to them, and read
//! of the array that they write no other element than their own.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::DomainError;
use nestegg_ir::{
    ArrayId, Assignee, Expr, ExprId, Exprs, InameId, InameSet, InsnId, Instruction, InstructionKind, Item, Op,
};
use nestegg_isl as isl;

use crate::memory::Memory;
use crate::nest::{Entry, Nest, NodeId, NodeKind};
use crate::split_at_zeros::SplitOptions;
use crate::split_at_zeros::boxes::Interval;
use crate::split_at_zeros::rewrite::Rewriter;

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
        let legality = Legality { rewriter, nest, memory: &memory, insn };
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
        if conditions.iter().any(|&condition| self.reads(condition, assignee.array)) {
            return Ok(false);
        }
        if !self.reads_only_itself(store, assignee) {
            return Ok(false);
        }
        let mut reads = self.memory.read_by(kernel, self.insn);
        reads.extend(conditions.iter().flat_map(|&condition| self.memory.of(condition)));
        reads.retain(|&array| array != assignee.array);
        let is_accumulation = self.is_accumulation(store);
        let (start, end) = (self.nest[nodes[0]].start, self.nest[nodes[0]].end);
        for (_, entry) in self.nest.entries().filter(|&(position, _)| start <= position && position < end) {
            let is_free = match entry {
                Entry::Run(insn) if insn == self.insn => true,
                Entry::Run(insn) => {
                    let other = &kernel[insn];
                    let writes = other.written_arrays();
                    !writes.iter().any(|array| reads.contains(array))
                        && self.commutes(assignee, is_accumulation, insn, other, &writes)
                }
                Entry::Begin(node) => {
                    self.condition(node).is_none_or(|condition| !self.reads(condition, assignee.array))
                }
            };
            if !is_free {
                return Ok(false);
            }
        }
        Ok(is_accumulation || self.is_injective(nodes, store, assignee)?)
    }

    fn condition(&self, node: NodeId) -> Option<ExprId> {
        match self.nest[node].kind {
            NodeKind::Branch(condition) => Some(condition),
            _ => None,
        }
    }

    fn reads(&self, expr: ExprId, array: ArrayId) -> bool {
        self.memory.of(expr).binary_search(&array).is_ok()
    }

    /// Whether the order of the store and another instruction does not matter as far as the stored array goes.
    fn commutes(
        &self,
        assignee: &Assignee,
        is_accumulation: bool,
        insn: InsnId,
        other: &Instruction,
        writes: &[ArrayId],
    ) -> bool {
        let reads = self.memory.read_by(&self.rewriter.kernel, insn).contains(&assignee.array);
        if !reads && !writes.contains(&assignee.array) {
            return true;
        }
        let InstructionKind::Assignment { assignee: written, .. } = &other.kind else { return false };
        if written.array != assignee.array {
            return false;
        }
        is_accumulation && self.is_accumulation(other)
            || self.reads_only_itself(other, written) && self.is_disjoint(assignee, written)
    }

    /// Whether a store reads of its array no more than the element that it writes, and only in what it stores.
    fn reads_only_itself(&self, store: &Instruction, assignee: &Assignee) -> bool {
        let InstructionKind::Assignment { expression, .. } = store.kind else { return false };
        let others = assignee.indices.iter().chain(&store.predicates);
        if others.into_iter().any(|&expr| self.reads(expr, assignee.array)) {
            return false;
        }
        let exprs = &self.rewriter.kernel.exprs;
        let mut seen = rustc_hash::FxHashSet::default();
        let mut pending = vec![expression];
        while let Some(id) = pending.pop() {
            if !self.reads(id, assignee.array) || !seen.insert(id) {
                continue;
            }
            if matches!(&exprs[id], Expr::Access { array, .. } if *array == assignee.array) {
                if !is_element(exprs, id, assignee) {
                    return false;
                }
                continue;
            }
            pending.extend(exprs[id].children());
        }
        true
    }

    /// Whether a store adds to its element what does not read the array.
    fn is_accumulation(&self, store: &Instruction) -> bool {
        let InstructionKind::Assignment { assignee, expression } = &store.kind else { return false };
        let exprs = &self.rewriter.kernel.exprs;
        if assignee.indices.iter().chain(&store.predicates).any(|&expr| self.reads(expr, assignee.array)) {
            return false;
        }
        let mut spine = *expression;
        while !is_element(exprs, spine, assignee) {
            let Expr::Op { op: op @ (Op::Add | Op::Sub), operands } = &exprs[spine] else { return false };
            let mut reading = operands.iter().enumerate().filter(|(_, operand)| self.reads(**operand, assignee.array));
            match (op, reading.next(), reading.next()) {
                (Op::Add, Some((_, &operand)), None) | (Op::Sub, Some((0, &operand)), None) => spine = operand,
                _ => return false,
            }
        }
        spine != *expression
    }

    /// Whether two stores to an array surely write different elements.
    fn is_disjoint(&self, a: &Assignee, b: &Assignee) -> bool {
        let exprs = &self.rewriter.kernel.exprs;
        a.indices.iter().zip(&b.indices).any(|(&a, &b)| {
            let (Some(a), Some(b)) = (affine::of(exprs, a), affine::of(exprs, b)) else { return false };
            self.are_apart(&a, &b) || are_incongruent(&a, &b)
        })
    }

    fn are_apart(&self, a: &Affine, b: &Affine) -> bool {
        let intervals = (self.rewriter.boxes.interval(a), self.rewriter.boxes.interval(b));
        matches!(intervals, (Some(a), Some(b)) if a.1 <= b.0 || b.1 <= a.0)
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

/// Whether an expression is the element that an assignee is.
pub(crate) fn is_element(exprs: &Exprs, expr: ExprId, assignee: &Assignee) -> bool {
    let is_same = |a: ExprId, b: ExprId| {
        a == b || affine::of(exprs, a).is_some_and(|affine| affine::of(exprs, b) == Some(affine))
    };
    match &exprs[expr] {
        Expr::Access { array, indices } => {
            *array == assignee.array && indices.iter().zip(&assignee.indices).all(|(&a, &b)| is_same(a, b))
        }
        _ => false,
    }
}

/// Whether two affine functions differ whatever their variables are, each's own.
fn are_incongruent(a: &Affine, b: &Affine) -> bool {
    let coefficients = a.terms.iter().chain(&b.terms).map(|term| term.1.unsigned_abs());
    let divisor = coefficients.fold(0, |mut divisor: u64, mut rest| {
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        divisor
    });
    let difference = a.constant.abs_diff(b.constant);
    !difference.is_multiple_of(divisor)
}
