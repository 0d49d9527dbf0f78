//! What units need so that points at which they do not run can be left out.
//!
//! # Input
//! A block, complete but for [`Skip`].
//! # Output
//! For each unit the groups of other, masked units that it reads: the machine completes these before it runs the unit. And for each masked unit
//! the sets whose points can be cut to a range of its own.
//! # Correctness
//! A unit evaluated on a range of its points reads other nodes there only. Where a node that cannot be cut reads one that can, or where what `and` and `or`
//! meet may depend on traps elsewhere, the unit is evaluated at all points or none.
//! # Complexity
//! Linear in the nodes for each unit.

use std::collections::BTreeSet;

use crate::node::{Action, Binary, Block, Group, GroupAt, NodeId, Op, Skip, Unit};

/// Fills in what units need.
pub(super) fn complete(block: &mut Block) {
    if block.units.iter().all(|unit| unit.mask.is_none()) {
        return;
    }
    let mut owners: Vec<Option<GroupAt>> = vec![None; block.nodes.len()];
    for (at, unit) in block.units.iter().enumerate().filter(|(_, unit)| unit.mask.is_some()) {
        for (position, group) in unit.groups.iter().enumerate() {
            group.nodes.iter().for_each(|node| owners[node.index()] = Some((at, position)));
        }
    }
    for at in 0..block.units.len() {
        let unit = &block.units[at];
        let before_mask = needed(block, &owners, at, &unit.mask_groups, unit.mask.into_iter().collect());
        let before = needed(block, &owners, at, &unit.groups, roots(block, unit));
        let follows = if unit.mask.is_some() { follows(block, unit) } else { Vec::new() };
        for &(owner, position) in before_mask.iter().chain(&before) {
            block.units[owner].skip.is_shared[position] = true;
        }
        let is_shared = vec![false; block.units[at].groups.len()];
        block.units[at].skip = Skip { before_mask, before, is_shared, follows };
    }
}

/// What a unit reads beside its groups.
fn roots(block: &Block, unit: &Unit) -> Vec<NodeId> {
    match &unit.action {
        Action::Values(nodes) => nodes.clone(),
        Action::Store { address, value, chain, .. } => {
            let mut res = vec![*value];
            address.for_each_operand(|operand| res.push(operand));
            for &node in chain {
                block.nodes[node.index()].op.for_each_operand(|operand| res.push(operand));
            }
            res
        }
    }
}

/// The groups of other units with masks that some groups and nodes read, and what these read in turn.
fn needed(
    block: &Block,
    owners: &[Option<GroupAt>],
    at: usize,
    groups: &[Group],
    mut open: Vec<NodeId>,
) -> Vec<GroupAt> {
    for &node in groups.iter().flat_map(|group| &group.nodes) {
        block.nodes[node.index()].op.for_each_operand(|operand| open.push(operand));
    }
    let mut res: BTreeSet<GroupAt> = BTreeSet::new();
    while let Some(node) = open.pop() {
        let Some(owner) = owners[node.index()].filter(|owner| owner.0 != at) else { continue };
        if res.insert(owner) {
            for &other in &block.units[owner.0].groups[owner.1].nodes {
                block.nodes[other.index()].op.for_each_operand(|operand| open.push(operand));
            }
        }
    }
    res.into_iter().collect()
}

/// For each set whether its inames begin with those of the unit's; nothing if the unit cannot be cut.
fn follows(block: &Block, unit: &Unit) -> Vec<bool> {
    let own = &block.sets[unit.set.index()].inames;
    let res: Vec<bool> = block.sets.iter().map(|set| set.inames.starts_with(own)).collect();
    let can_be_cut = unit.groups.iter().flat_map(|group| &group.nodes).all(|node| {
        let node = &block.nodes[node.index()];
        let mut reads_cut = false;
        node.op.for_each_operand(|operand| reads_cut |= res[block.nodes[operand.index()].set.index()]);
        let is_truth = matches!(node.op, Op::Binary(Binary::And | Binary::Or, ..));
        !is_truth && (res[node.set.index()] || !reads_cut)
    });
    if can_be_cut && !own.is_empty() { res } else { Vec::new() }
}
