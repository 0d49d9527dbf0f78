//! Takes stores out of loops that they share.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which each store that may be taken out of the loops that it shares with others has loops of its own.
//! # Method
//! The same question of legality as for cutting, `stores`, and the same way of moving, `clones`, without cuts.

use nestegg_ir::{InstructionKind, Item, LinearizedKernel};

use super::SplitError;
use super::clones::clone_stores;
use super::rewrite::Rewriter;
use super::stores::{CutStore, Legality};
use super::touches::Touches;
use crate::depends::in_order;
use crate::memory::Memory;
use crate::nest::{Entry, Nest, NodeId, NodeKind};

/// Takes stores out of loops that they share with other instructions, where that is lawful.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn isolate_stores(linearized: LinearizedKernel) -> Result<LinearizedKernel, SplitError> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let nest = Nest::new(&kernel, &linearization)?;
    let mut rewriter = Rewriter::new(kernel, 1, usize::MAX)?;
    let memory = Memory::new(&rewriter.kernel);
    let touches = Touches::new(&rewriter, &nest, &memory);
    let mut stores = Vec::new();
    for insn in rewriter.kernel.insn_ids() {
        if !matches!(rewriter.kernel[insn].kind, InstructionKind::Assignment { .. }) {
            continue;
        }
        let mut nodes: Vec<NodeId> = nest.below(nest.home(insn), NodeId::ROOT).collect();
        nodes.reverse();
        let legality = Legality { rewriter: &rewriter, nest: &nest, memory: &memory, touches: &touches, insn };
        for (idx, &node) in nodes.iter().enumerate() {
            let is_loop = matches!(nest[node].kind, NodeKind::Loop(_));
            let entries = nest.entries_in(nest[node].start..nest[node].end);
            let is_shared = entries.filter(|(_, entry)| matches!(entry, Entry::Run(_))).nth(1).is_some();
            if !is_shared {
                break;
            }
            if is_loop && legality.allows(&nodes[idx..])? {
                let item = |node: &NodeId| match nest[*node].kind {
                    NodeKind::Root => None,
                    NodeKind::Loop(iname) => Some(Item::For(iname)),
                    NodeKind::Branch(condition) => Some(Item::If(condition)),
                };
                let path = nodes[idx..].iter().filter_map(item).collect();
                stores.push(CutStore { insn, position: nest[node].start, path, cuts: Vec::new() });
                break;
            }
        }
    }
    if stores.is_empty() {
        return Ok(LinearizedKernel { kernel: rewriter.kernel, linearization });
    }
    let (linearization, _) = clone_stores(&mut rewriter, &linearization, &stores);
    Ok(in_order(rewriter.into_kernel(), linearization))
}
