//! What is known of the terms that e-classes were made with.
//!
//! Every id of an e-graph has the e-node that it was made for, whose children have smaller ids: a term, which no union changes.
//! Its value is what the e-class is said to have, and the values of two terms are the evidence for or against their union.

use std::collections::BTreeMap;

use egg::{Id, Language};
use nestegg_ir::sets::{EMPTY, SetId, SetPool};
use nestegg_ir::{ArrayId, InameId, Op};

use super::data::Palette;
use crate::analysis::Graph;
use crate::context::{Access, Index, Stamp};
use crate::language::Node;

/// Facts on terms, by id.
#[derive(Debug, Default)]
pub(super) struct Terms {
    inames: SetPool<InameId>,
    /// The inames that are free in each term.
    free: Vec<SetId>,
    /// Constants that terms decide on.
    pub(super) palette: Palette,
    /// Arrays whose elements are compared with those of another one, which stands for them.
    compared: BTreeMap<ArrayId, ArrayId>,
}

impl Terms {
    /// Takes terms in that are new; answers whether they decide on constants, or compare arrays, that are new too.
    pub(super) fn extend(&mut self, graph: &Graph) -> bool {
        let mut is_another = false;
        for node in &graph.nodes()[self.free.len()..] {
            let free = self.free_in(graph, node);
            self.free.push(free);
            if let Node::Op(op, operands) | Node::Rounded(op, operands) = node
                && (op.is_comparison() || matches!(op, Op::Min | Op::Max | Op::FloorDiv | Op::Mod))
            {
                for &operand in operands {
                    is_another |= self.note_constants(graph, operand);
                }
                is_another |= self.note_arrays(graph, operands);
            }
        }
        is_another
    }

    /// The inames that are free in a term.
    pub(super) fn free(&self, id: Id) -> SetId {
        self.free[usize::from(id)]
    }

    /// The members of a set of inames.
    pub(super) fn members(&self, set: SetId) -> &[InameId] {
        self.inames.get(set)
    }

    /// The array that stands for one where arrays that are compared hold the same.
    pub(super) fn stand_in(&self, array: ArrayId) -> ArrayId {
        self.compared.get(&array).copied().unwrap_or(array)
    }

    /// Takes in which arrays are compared element by element.
    fn note_arrays(&mut self, graph: &Graph, operands: &[Id]) -> bool {
        let array = |&id: &Id| match graph.id_to_node(id) {
            Node::Access(access, _) => Some((graph.analysis.context.access(*access).array, graph[id].data.dtype)),
            _ => None,
        };
        let mut arrays = operands.iter().filter_map(array);
        let Some((first, ty)) = arrays.next() else { return false };
        let mut is_new = false;
        for (other, _) in arrays.filter(|(_, other)| *other == ty) {
            let (kept, left) = (self.stand_in(first), self.stand_in(other));
            if kept != left {
                is_new = true;
                self.compared.values_mut().filter(|known| **known == left).for_each(|known| *known = kept);
                self.compared.insert(left, kept);
            }
        }
        is_new
    }

    /// Takes in the constant that an operand is, or has as a term or factor.
    fn note_constants(&mut self, graph: &Graph, operand: Id) -> bool {
        let node = graph.id_to_node(operand);
        let inner: &[Id] = match node {
            Node::Sum { children, .. } | Node::Product { children, .. } => children,
            Node::Cast(_, child) => child,
            _ => &[],
        };
        let mut is_new = false;
        for &id in inner.iter().chain([&operand]) {
            if let Some(constant) = &graph[id].data.constant {
                is_new |= self.palette.insert(constant);
            }
        }
        if let Node::Sum { coefficients, .. } = node {
            for coefficient in coefficients.iter().filter(|coefficient| !coefficient.is_unit()) {
                is_new |= self.palette.insert(coefficient);
            }
        }
        is_new
    }

    fn free_in(&mut self, graph: &Graph, node: &Node) -> SetId {
        let context = &graph.analysis.context;
        let mut all = EMPTY;
        for &child in node.children() {
            all = self.inames.union(all, self.free[usize::from(child)]);
        }
        match node {
            Node::Iname(iname) => self.inames.intern(vec![*iname]),
            Node::Access(access, _) => {
                let own = self.inames.intern(read_at(context.access(*access)));
                self.inames.union(all, own)
            }
            Node::Reduce(reduction, _) => {
                let bound = &context.reduction(*reduction).inames;
                let body: Vec<InameId> =
                    self.inames.get(all).iter().copied().filter(|iname| !bound.contains(iname)).collect();
                let around = context.around_reduction(*reduction);
                let (body, around) = (self.inames.intern(body), self.inames.intern(around.iter().collect()));
                self.inames.union(body, around)
            }
            _ => all,
        }
    }
}

/// The inames that say which element an access reads, beside those in its children.
pub(super) fn read_at(access: &Access) -> Vec<InameId> {
    let mut res: Vec<InameId> = access.indices.iter().flat_map(Index::inames).collect();
    if access.stamp != Stamp::Constant {
        res.extend(access.pinned.iter());
    }
    res
}
