//! Non-zero regions: for which values of its inames a value can be other than zero.
//!
//! # Lattice
//! A region says for some inames which of their values may give a non-zero result; other inames are unrestricted. It is a
//! product of one set per iname, an upper bound of the true set. Order: larger is less known; join of two equal values:
//! intersection.
//! # Method
//! A table is zero where a slice of it is; a product is non-zero only where all its factors are (intersection), a sum
//! only where some term is (union); a reduction forgets what it binds.
//! # Source
//! `DESIGN.md`, "The e-graph"; block-sparse tables in reference 001 and COFFEE's zero removal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use egg::{DidMerge, Id};
use nestegg_ir::{InameId, InameSet, Kernel, Number};

use crate::analysis::Graph;
use crate::context::Index;
use crate::language::Node;

/// Values of inames at which a value can be other than zero. Without entries it can be everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region(Option<Arc<BTreeMap<InameId, BTreeSet<i64>>>>);

impl Region {
    /// The values of `iname` at which it can be other than zero; `None` if nothing is known.
    #[must_use]
    pub fn of(&self, iname: InameId) -> Option<&BTreeSet<i64>> {
        self.0.as_ref()?.get(&iname)
    }

    /// Whether the value is zero everywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().flat_map(|sets| sets.values()).any(BTreeSet::is_empty)
    }

    fn from_sets(sets: BTreeMap<InameId, BTreeSet<i64>>) -> Self {
        Self((!sets.is_empty()).then(|| Arc::new(sets)))
    }

    fn sets(&self) -> impl Iterator<Item = (&InameId, &BTreeSet<i64>)> {
        self.0.iter().flat_map(|sets| sets.iter())
    }

    /// Where both can be other than zero.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        if other.0.is_none() || self == other {
            return self.clone();
        }
        let mut sets: BTreeMap<InameId, BTreeSet<i64>> = self.sets().map(|(i, set)| (*i, set.clone())).collect();
        for (iname, set) in other.sets() {
            sets.entry(*iname).and_modify(|own| own.retain(|value| set.contains(value))).or_insert_with(|| set.clone());
        }
        Self::from_sets(sets)
    }

    /// Where either can be other than zero.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let common = self.sets().filter_map(|(iname, set)| Some((*iname, set | other.of(*iname)?)));
        Self::from_sets(common.collect())
    }

    fn without(&self, inames: &InameSet) -> Self {
        if !self.sets().any(|(iname, _)| inames.contains(*iname)) {
            return self.clone();
        }
        Self::from_sets(
            self.sets().filter(|(iname, _)| !inames.contains(**iname)).map(|(i, set)| (*i, set.clone())).collect(),
        )
    }

    /// Keeps what both say of one value.
    pub(crate) fn merge(&mut self, other: Self) -> DidMerge {
        if *self == other {
            return DidMerge(false, false);
        }
        let both = self.intersection(&other);
        let res = DidMerge(both != *self, both != other);
        *self = both;
        res
    }
}

/// For each table and dimension the indices at which the table is not zero throughout, where that is not all.
#[derive(Clone, Debug, Default)]
pub struct Supports(Vec<Vec<Option<BTreeSet<i64>>>>);

impl Supports {
    /// The supports of a kernel's tables.
    #[must_use]
    pub fn new(kernel: &Kernel) -> Self {
        Self(
            kernel
                .arrays
                .iter()
                .map(|array| array.table().map_or(Vec::new(), |t| supports(kernel, array, t)))
                .collect(),
        )
    }
}

fn supports(kernel: &Kernel, array: &nestegg_ir::Array, table: &[Number]) -> Vec<Option<BTreeSet<i64>>> {
    let size = |&size| nestegg_ir::affine::of(&kernel.exprs, size).and_then(|size| size.as_constant());
    let Some(shape) = array.shape.iter().map(size).collect::<Option<Vec<i64>>>() else { return Vec::new() };
    let mut res: Vec<BTreeSet<i64>> = vec![BTreeSet::new(); shape.len()];
    for (position, value) in table.iter().enumerate() {
        if value.to_f64() == 0.0 {
            continue;
        }
        let mut rest = position as i64;
        for (dim, &size) in shape.iter().enumerate().rev() {
            res[dim].insert(rest % size.max(1));
            rest /= size.max(1);
        }
    }
    res.into_iter().zip(&shape).map(|(set, &size)| (set.len() as i64 != size).then_some(set)).collect()
}

/// The region of an e-node.
#[must_use]
pub(crate) fn region(graph: &Graph, node: &Node) -> Region {
    let context = &graph.analysis.context;
    let of = |id: Id| &graph[id].data.region;
    match node {
        Node::Access(access, _) => {
            let access = context.access(*access);
            let Some(supports) = context.supports.0.get(access.array.index()) else { return Region::default() };
            let mut res = Region::default();
            for (index, support) in access.indices.iter().zip(supports) {
                let (Index::Affine(affine), Some(support)) = (index, support) else { continue };
                let mut shifted = affine.clone();
                shifted.constant = 0;
                if let Some(iname) = shifted.as_iname() {
                    let values = support.iter().map(|index| index - affine.constant).collect();
                    res = res.intersection(&Region::from_sets([(iname, values)].into()));
                }
            }
            res
        }
        Node::Sum { children, .. } => {
            children.iter().map(|&child| of(child).clone()).reduce(|a, b| a.union(&b)).unwrap_or_default()
        }
        Node::Product { exponents, children } => exponents
            .iter()
            .zip(children.iter())
            .filter(|(exponent, _)| **exponent > 0)
            .fold(Region::default(), |all, (_, &child)| all.intersection(of(child))),
        Node::Reduce(reduction, [body]) => {
            let reduction = context.reduction(*reduction);
            match reduction.op {
                nestegg_ir::ReduceOp::Sum => of(*body).without(&reduction.inames.iter().copied().collect()),
                _ => Region::default(),
            }
        }
        Node::Cast(_, [operand]) => of(*operand).clone(),
        _ => Region::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(sets: &[(usize, &[i64])]) -> Region {
        Region::from_sets(sets.iter().map(|(i, set)| (InameId::new(*i), set.iter().copied().collect())).collect())
    }

    #[test]
    fn products_meet_and_sums_join() {
        let (a, b) = (region(&[(0, &[0, 1])]), region(&[(0, &[1, 2]), (1, &[5])]));
        assert_eq!(a.intersection(&b), region(&[(0, &[1]), (1, &[5])]));
        assert_eq!(a.union(&b), region(&[(0, &[0, 1, 2])]));
        assert!(a.intersection(&region(&[(0, &[7])])).is_empty());
    }

    #[test]
    fn merging_is_idempotent_and_honest() {
        let (mut a, b) = (region(&[(0, &[0, 1])]), region(&[(0, &[1, 2])]));
        assert!({
            let DidMerge(x, y) = a.merge(b.clone());
            x && y
        });
        assert!({
            let DidMerge(x, y) = a.clone().merge(a.clone());
            !x && !y
        });
        assert!({
            let DidMerge(x, y) = a.merge(b);
            !x && y
        });
    }
}
