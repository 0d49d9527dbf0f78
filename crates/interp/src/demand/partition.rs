//! Which node is a unit of its own, and which is code in the one region that uses it; by the rules of [`unit`](crate::demand::unit).

use rustc_hash::FxHashMap;

use crate::demand::lower::Lowering;
use crate::demand::node::{NodeId, Op};

/// Regions nest at most so deep; what is deeper is a unit.
const MAX_DEPTH: u32 = 40;

pub(super) type RegionId = u32;

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Nowhere,
    In(RegionId),
    Apart,
}

pub(super) struct Partition {
    /// The root of the unit to which a region belongs is a node with that region as its own.
    pub(super) own_region: FxHashMap<NodeId, RegionId>,
    /// The regions of operands that may not be needed, by node and position of the operand.
    pub(super) sub_region: FxHashMap<(NodeId, usize), RegionId>,
    /// The nodes that are code in a region, in order.
    pub(super) members: Vec<Vec<NodeId>>,
}

pub(super) fn partition(lowering: &Lowering<'_, '_>, roots: &[(NodeId, usize)]) -> Partition {
    let n = lowering.nodes.len();
    let mut uses = vec![Use::Nowhere; n];
    let mut is_root = vec![false; n];
    for (root, _) in roots {
        uses[root.index()] = Use::Apart;
        is_root[root.index()] = true;
    }
    let mut res = Partition { own_region: FxHashMap::default(), sub_region: FxHashMap::default(), members: Vec::new() };
    // For each region its context, a node with the inames that matter there, and its depth.
    let mut regions: Vec<(NodeId, u32)> = Vec::new();
    for idx in (0..n).rev() {
        let node = NodeId::new(idx);
        let facts = &lowering.facts[idx];
        let region = match uses[idx] {
            Use::Nowhere => continue,
            _ if facts.is_cheap && !is_root[idx] => continue,
            Use::In(region)
                if lowering.facts[regions[region as usize].0.index()].deps == facts.deps
                    && regions[region as usize].1 < MAX_DEPTH =>
            {
                region
            }
            _ => {
                regions.push((node, 0));
                res.members.push(Vec::new());
                let region = regions.len() as RegionId - 1;
                res.own_region.insert(node, region);
                region
            }
        };
        res.members[region as usize].push(node);
        let (context, depth) = regions[region as usize];
        let mut note = |operand: NodeId, region: RegionId| {
            let of_operand = &mut uses[operand.index()];
            *of_operand = match *of_operand {
                Use::Nowhere => Use::In(region),
                Use::In(other) if other == region => Use::In(region),
                _ => Use::Apart,
            };
        };
        let mut lazy = |res: &mut Partition, position: usize, context: NodeId| {
            regions.push((context, depth + 1));
            res.members.push(Vec::new());
            let sub = regions.len() as RegionId - 1;
            res.sub_region.insert((node, position), sub);
            sub
        };
        match &lowering.nodes[idx].op {
            Op::Select(condition, a, b) => {
                note(*condition, region);
                for (position, operand) in [(1, *a), (2, *b)] {
                    let sub = lazy(&mut res, position, context);
                    note(operand, sub);
                }
            }
            Op::Logic { operands, .. } => {
                let may_gap = operands.iter().any(|operand| lowering.facts[operand.index()].may_gap);
                for (position, &operand) in operands.iter().enumerate() {
                    if may_gap {
                        // Tried one by one.
                        note(operand, region);
                        note(operand, RegionId::MAX);
                    } else if position == 0 {
                        note(operand, region);
                    } else {
                        let sub = lazy(&mut res, position, context);
                        note(operand, sub);
                    }
                }
            }
            Op::Reduce { body, .. } => {
                let sub = lazy(&mut res, 0, *body);
                note(*body, sub);
            }
            op => op.for_each_operand(|operand| note(operand, region)),
        }
    }
    res.members.iter_mut().for_each(|members| members.reverse());
    res
}
