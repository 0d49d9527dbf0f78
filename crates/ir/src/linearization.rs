//! The order of a kernel's instructions: loops, conditions and runs, as a flat list and as a tree.

use crate::ids::{ArrayId, ExprId, InameId, InsnId};

/// How deep loops and conditions may nest in a linearization; readers refuse more.
pub const MAX_NESTING: usize = 200;

/// One item of a linearization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// `["for", iname]`: runs up to the matching end for each value of the iname, in increasing order.
    For(InameId),
    /// `["end", iname]`.
    End(InameId),
    /// `["if", condition]`: runs up to the matching end if the condition holds.
    If(ExprId),
    /// `["endif"]`.
    EndIf,
    /// `["run", instruction]`.
    Run(InsnId),
}

/// The flat list of loops, conditions and runs.
pub type Linearization = Vec<Item>;

/// The same as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopTree {
    /// A loop over an iname.
    Loop {
        /// The iname.
        iname: InameId,
        /// What runs for each of its values.
        body: Vec<LoopTree>,
    },
    /// A condition.
    Branch {
        /// The condition.
        condition: ExprId,
        /// What runs if it holds.
        body: Vec<LoopTree>,
    },
    /// An instruction.
    Run(InsnId),
}

/// A loop whose iterations have nothing in common but scalars that they add to, if any, so that it may run in vector lanes with a sum in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummingLoop {
    /// The iname.
    pub iname: InameId,
    /// An instruction in the loop, to tell it from other loops over the iname.
    pub insn: InsnId,
    /// The scalars that it adds to.
    pub sums: Vec<ArrayId>,
    /// Temporaries that each lane needs for itself.
    pub private: Vec<ArrayId>,
}

impl SummingLoop {
    /// With fewer iterations, adding up the lanes costs more than they save, and compilers unroll the loop.
    pub const MIN_TRIPS: i64 = 8;
}

/// Why a list is not a tree, and at which item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestingError {
    /// An end without its beginning, or with another's.
    #[error("this end does not close the innermost open loop or condition")]
    Unmatched {
        /// Position in the list.
        item_idx: usize,
    },
    /// A beginning without its end.
    #[error("this loop or condition is never closed")]
    Unclosed {
        /// Position in the list.
        item_idx: usize,
    },
    /// A loop inside a loop over the same iname.
    #[error("this loop is inside a loop over the same iname")]
    Reopened {
        /// Position in the list.
        item_idx: usize,
    },
    /// More than [`MAX_NESTING`] levels.
    #[error("loops and conditions nest more than {MAX_NESTING} deep")]
    TooDeep {
        /// Position in the list.
        item_idx: usize,
    },
}

/// The tree of a list.
///
/// # Errors
/// If loops and conditions do not nest properly.
pub fn to_tree(items: &[Item]) -> Result<Vec<LoopTree>, NestingError> {
    let mut open: Vec<(usize, Vec<LoopTree>)> = Vec::new();
    let mut level = Vec::new();
    for (item_idx, item) in items.iter().enumerate() {
        match item {
            Item::For(_) | Item::If(_) => {
                if open.len() == MAX_NESTING {
                    return Err(NestingError::TooDeep { item_idx });
                }
                if matches!(item, Item::For(_)) && open.iter().any(|(start, _)| items[*start] == *item) {
                    return Err(NestingError::Reopened { item_idx });
                }
                open.push((item_idx, std::mem::take(&mut level)));
            }
            Item::End(_) | Item::EndIf => {
                let Some((start, outer)) = open.pop() else {
                    return Err(NestingError::Unmatched { item_idx });
                };
                let body = std::mem::replace(&mut level, outer);
                level.push(match (items[start], item) {
                    (Item::For(iname), Item::End(end)) if iname == *end => LoopTree::Loop { iname, body },
                    (Item::If(condition), Item::EndIf) => LoopTree::Branch { condition, body },
                    _ => return Err(NestingError::Unmatched { item_idx }),
                });
            }
            Item::Run(insn) => level.push(LoopTree::Run(*insn)),
        }
    }
    match open.last() {
        Some((start, _)) => Err(NestingError::Unclosed { item_idx: *start }),
        None => Ok(level),
    }
}

/// The list of a tree.
#[must_use]
pub fn from_tree(tree: &[LoopTree]) -> Linearization {
    fn push(node: &LoopTree, items: &mut Linearization) {
        match node {
            LoopTree::Loop { iname, body } => {
                items.push(Item::For(*iname));
                body.iter().for_each(|child| push(child, items));
                items.push(Item::End(*iname));
            }
            LoopTree::Branch { condition, body } => {
                items.push(Item::If(*condition));
                body.iter().for_each(|child| push(child, items));
                items.push(Item::EndIf);
            }
            LoopTree::Run(insn) => items.push(Item::Run(*insn)),
        }
    }
    let mut items = Vec::new();
    tree.iter().for_each(|node| push(node, &mut items));
    items
}

/// The conditions of a linearization, in its order.
pub fn conditions_mut(items: &mut [Item]) -> Vec<&mut ExprId> {
    let conditions = items.iter_mut().filter_map(|item| match item {
        Item::If(condition) => Some(condition),
        _ => None,
    });
    conditions.collect()
}

/// The one instruction that a tree runs, in loops that nest perfectly, with these, outermost first; `None` of any other tree.
#[must_use]
pub fn only_run(tree: &LoopTree) -> Option<(Vec<InameId>, InsnId)> {
    let (mut loops, mut at) = (Vec::new(), tree);
    loop {
        match at {
            LoopTree::Loop { iname, body } if body.len() == 1 => {
                loops.push(*iname);
                at = &body[0];
            }
            LoopTree::Run(insn) => return Some((loops, *insn)),
            _ => return None,
        }
    }
}

/// The instructions that are run in a sequence, in order.
#[must_use]
pub fn runs_in(nodes: &[LoopTree]) -> Vec<InsnId> {
    let mut res = Vec::new();
    let mut pending: Vec<&LoopTree> = nodes.iter().rev().collect();
    while let Some(node) = pending.pop() {
        match node {
            LoopTree::Run(insn) => res.push(*insn),
            LoopTree::Loop { body, .. } | LoopTree::Branch { body, .. } => pending.extend(body.iter().rev()),
        }
    }
    res
}

/// The instructions of a sequence that no loop or condition in it surrounds, in order.
#[must_use]
pub fn direct_runs(nodes: &[LoopTree]) -> Vec<InsnId> {
    let run = |node: &LoopTree| match node {
        LoopTree::Run(insn) => Some(*insn),
        _ => None,
    };
    nodes.iter().filter_map(run).collect()
}

/// The inames of the loops in a sequence, at any depth.
#[must_use]
pub fn loops_in(nodes: &[LoopTree]) -> Vec<InameId> {
    let iname = |item| match item {
        Item::For(iname) => Some(iname),
        _ => None,
    };
    from_tree(nodes).into_iter().filter_map(iname).collect()
}

/// The conditions of branches in a sequence, at any depth.
#[must_use]
pub fn conditions_in(nodes: &[LoopTree]) -> Vec<ExprId> {
    let condition = |item| match item {
        Item::If(condition) => Some(condition),
        _ => None,
    };
    from_tree(nodes).into_iter().filter_map(condition).collect()
}

/// The loops and conditions around one run, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Open loops, outermost first.
    pub loops: Vec<InameId>,
    /// Open conditions, outermost first.
    pub conditions: Vec<ExprId>,
}

/// Calls `visit` for every run of a well-nested list, in order, with what surrounds it.
pub fn for_each_run(items: &[Item], mut visit: impl FnMut(InsnId, &Surroundings)) {
    let mut around = Surroundings::default();
    for item in items {
        match item {
            Item::For(iname) => around.loops.push(*iname),
            Item::End(_) => {
                around.loops.pop();
            }
            Item::If(condition) => around.conditions.push(*condition),
            Item::EndIf => {
                around.conditions.pop();
            }
            Item::Run(insn) => visit(*insn, &around),
        }
    }
}
