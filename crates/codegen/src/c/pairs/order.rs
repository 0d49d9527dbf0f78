//! Which instructions of a block may change places.
//!
//! A place is a block, that is the body of a loop or condition, and the position in it. Two instructions may change places if no element that one
//! writes is touched by the other: accesses to one array are apart if an index is another number, or differs by a constant where both run at
//! the same values of all inames.

use nestegg_ir::linearization::runs_in;
use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Expr, ExprId, InsnId, Kernel, LoopTree, affine};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most instructions and loops of a block in which pairs are looked for.
pub(crate) const MAX_BLOCK: usize = 400;

/// An access: the array and its indices.
type Access<'a> = (ArrayId, &'a [ExprId]);

/// What one instruction or loop of a block touches.
#[derive(Debug, Default)]
struct Item<'a> {
    reads: Vec<Access<'a>>,
    writes: Vec<Access<'a>>,
    /// Whether it is one instruction.
    is_run: bool,
}

/// Where an instruction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The block.
    pub(crate) block: usize,
    /// The position.
    pub(crate) at: usize,
}

/// The blocks of a tree.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    kernel: &'a Kernel,
    blocks: Vec<Vec<Item<'a>>>,
    /// The block around each, and the position in it; the outermost is in none.
    around: Vec<Option<Spot>>,
    spots: FxHashMap<InsnId, Spot>,
    /// Where instructions were moved to, by block.
    moved: FxHashMap<usize, FxHashMap<usize, usize>>,
    written: FxHashSet<ArrayId>,
}

impl<'a> Order<'a> {
    /// The order of a tree.
    pub(crate) fn of(kernel: &'a Kernel, tree: &'a [LoopTree]) -> Self {
        let written = kernel.instructions.iter().flat_map(|instruction| instruction.written_arrays()).collect();
        let mut order = Self {
            kernel,
            blocks: Vec::new(),
            around: Vec::new(),
            spots: FxHashMap::default(),
            moved: FxHashMap::default(),
            written,
        };
        // Blocks that are still to be read.
        let mut pending = vec![(tree, None)];
        while let Some((tree, around)) = pending.pop() {
            let block = order.blocks.len();
            let items = tree.iter().map(|node| order.item(node)).collect();
            order.blocks.push(items);
            order.around.push(around);
            for (at, node) in tree.iter().enumerate() {
                match node {
                    LoopTree::Loop { body, .. } | LoopTree::Branch { body, .. } => {
                        pending.push((body.as_slice(), Some(Spot { block, at })));
                    }
                    LoopTree::Run(insn) => {
                        order.spots.insert(*insn, Spot { block, at });
                    }
                }
            }
        }
        order
    }

    /// Where an instruction stands.
    pub(crate) fn spot(&self, insn: InsnId) -> Option<Spot> {
        self.spots.get(&insn).copied().filter(|spot| self.blocks[spot.block].len() <= MAX_BLOCK)
    }

    /// Whether an instruction runs in the block of a spot, or in what is inside of it, and after the spot.
    pub(crate) fn is_after(&self, spot: Spot, insn: InsnId) -> bool {
        let mut at = self.spots.get(&insn).copied();
        while let Some(found) = at {
            if found.block == spot.block {
                return found.at > spot.at;
            }
            at = self.around[found.block];
        }
        false
    }

    /// The later one of two instructions of a block if the other may join it there, else the earlier one if the later may; then it is moved.
    pub(crate) fn join(&mut self, a: InsnId, b: InsnId) -> Option<InsnId> {
        let (first, second) = (self.spot(a)?, self.spot(b)?);
        if first.block != second.block || first == second {
            return None;
        }
        let (early, late) = if first.at < second.at { (a, b) } else { (b, a) };
        let (from, to) = (first.at.min(second.at), first.at.max(second.at));
        let is_moved = |at: usize| self.moved.get(&first.block).is_some_and(|moved| moved.contains_key(&at));
        if is_moved(from) || is_moved(to) || self.conflict(first.block, from, to) {
            return None;
        }
        let (lead, from, to) = if self.may_move(first.block, from, to) {
            (late, from, to)
        } else if self.may_move(first.block, to, from) {
            (early, to, from)
        } else {
            return None;
        };
        let moved = self.moved.entry(first.block).or_default();
        moved.insert(from, to);
        moved.insert(to, to);
        Some(lead)
    }

    /// Takes back what joined two instructions.
    pub(crate) fn part(&mut self, insns: [InsnId; 2]) {
        for insn in insns {
            if let Some(spot) = self.spots.get(&insn)
                && let Some(moved) = self.moved.get_mut(&spot.block)
            {
                moved.remove(&spot.at);
            }
        }
    }

    /// Whether what stands at one position may stand at another, given what was moved before.
    fn may_move(&self, block: usize, from: usize, to: usize) -> bool {
        let moved = self.moved.get(&block);
        (0..self.blocks[block].len()).filter(|&other| other != from && other != to).all(|other| {
            let now = moved.and_then(|moved| moved.get(&other)).copied().unwrap_or(other);
            // Of what is at the same place nothing is before or after.
            let is_kept = (from < other) == (to < now) && to != now;
            is_kept || !self.conflict(block, from, other)
        })
    }

    /// Whether one of two writes what the other touches.
    fn conflict(&self, block: usize, a: usize, b: usize) -> bool {
        let (a, b) = (&self.blocks[block][a], &self.blocks[block][b]);
        let is_run = a.is_run && b.is_run;
        let meet = |x: &[Access<'_>], y: &[Access<'_>]| {
            x.iter().any(|&x| y.iter().any(|&y| x.0 == y.0 && !self.are_apart(x.1, y.1, is_run)))
        };
        meet(&a.writes, &b.writes) || meet(&a.writes, &b.reads) || meet(&a.reads, &b.writes)
    }

    fn are_apart(&self, a: &[ExprId], b: &[ExprId], is_run: bool) -> bool {
        let exprs = &self.kernel.exprs;
        a.iter().zip(b).any(|(&a, &b)| {
            let (Some(a), Some(b)) = (affine::of(exprs, a), affine::of(exprs, b)) else { return false };
            match (a.as_constant(), b.as_constant()) {
                (Some(a), Some(b)) => a != b,
                _ if is_run => {
                    a.plus(&b, -1).and_then(|difference| difference.as_constant()).is_some_and(|constant| constant != 0)
                }
                _ => false,
            }
        })
    }

    fn item(&self, node: &'a LoopTree) -> Item<'a> {
        let mut item = Item { is_run: matches!(node, LoopTree::Run(_)), ..Item::default() };
        let mut roots = conditions_in(node);
        for insn in runs_in(std::slice::from_ref(node)) {
            let instruction = &self.kernel[insn];
            roots.extend(instruction.expressions());
            item.writes.extend(instruction.assignees().iter().map(|assignee| (assignee.array, &*assignee.indices)));
        }
        for id in below(&self.kernel.exprs, roots) {
            if let Expr::Access { array, indices } = &self.kernel.exprs[id]
                && self.written.contains(array)
            {
                item.reads.push((*array, indices));
            }
        }
        item
    }
}

/// The conditions at and below a node.
pub(crate) fn conditions_in(node: &LoopTree) -> Vec<ExprId> {
    let mut res = Vec::new();
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        match node {
            LoopTree::Loop { body, .. } => pending.extend(body),
            LoopTree::Branch { condition, body } => {
                res.push(*condition);
                pending.extend(body);
            }
            LoopTree::Run(_) => {}
        }
    }
    res
}
