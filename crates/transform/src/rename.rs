//! Substitution of inames in expressions, without capture.
//!
//! # Input
//! An expression; values for free inames; names that reductions in the result must not bind.
//! # Output
//! The expression at those values, as an expression of the same kernel. A reduction that binds a name which must not be
//! bound or occurs in one of the values, or that ranges over values which depend on a replaced iname, gets a new iname,
//! called `q_1`, `q_2`, ….
//! # Method
//! No expression here holds a name both free and bound, nor a reduction inside one over the same iname, so one map from
//! inames to expressions serves for both. Results are kept for each (map, expression).
//! # Complexity
//! Linear in the part of the DAG in which an iname of the map occurs.

use indexmap::IndexSet;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{Expr, ExprId, InameId, InameSet, ReduceOp, affine};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::alias::Copied;
use crate::workspace::Workspace;

/// Which expression stands for which iname; sorted.
type Map = Vec<(InameId, ExprId)>;

/// The results so far.
#[derive(Debug, Default)]
pub(crate) struct Renamings {
    maps: IndexSet<Map, FxBuildHasher>,
    done: FxHashMap<(usize, ExprId), ExprId>,
}

impl Workspace {
    /// `expr` with `values` for free inames, binding none of `forbidden`. `None` if that needs a domain that
    /// cannot be made.
    pub(crate) fn instantiate(
        &mut self,
        expr: ExprId,
        values: &[(InameId, ExprId)],
        forbidden: &InameSet,
    ) -> Option<ExprId> {
        let mut map: Map = values
            .iter()
            .copied()
            .filter(|&(iname, value)| self.is_free(expr, iname) && self.kernel.exprs[value] != Expr::Iname(iname))
            .collect();
        let mut rename = self.to_rename(expr, &map, forbidden);
        if !rename.is_empty() {
            let mut taken: InameSet = forbidden.clone();
            taken.extend(self.facts.free(expr).iter().chain(self.facts.bound(expr)).copied());
            for &(_, value) in &map {
                taken.extend(self.facts.free(value).iter().chain(self.facts.bound(value)).copied());
            }
            while !rename.is_empty() {
                self.rename_group(&mut rename, &mut map, &mut taken)?;
            }
        }
        map.sort_unstable();
        Some(self.substitute(expr, map))
    }

    /// A reduction that means the same wherever it stands, given that it stands inside loops over `open` now: where the range of
    /// an iname is bounded by another that is not open, it is made the projection; and where it depends on an iname that was made
    /// another, it is made to depend on that one. `None` if isl cannot.
    pub(crate) fn closed_reduction(
        &mut self,
        op: ReduceOp,
        inames: &[InameId],
        body: ExprId,
        open: &InameSet,
    ) -> Option<ExprId> {
        let mut now = inames.to_vec();
        let mut settled = open.clone();
        settled.extend(inames.iter().copied());
        let mut taken = settled.clone();
        taken.extend(self.facts.free(body).iter().chain(self.facts.bound(body)).copied());
        // What stands for the inames that the reduction is no longer over.
        let mut gone: Map = Map::new();
        while let Some(iname) = now.iter().copied().find(|&iname| {
            let depends = |&(old, _): &(InameId, ExprId)| self.ranges.dependencies(iname).contains(old);
            let is_bounded = |by: &InameSet| !by.is_subset(&settled);
            is_bounded(self.ranges.component(iname))
                || is_bounded(self.ranges.dependencies(iname))
                || gone.iter().any(depends)
        }) {
            let component = self.ranges.component(iname);
            let group: Vec<InameId> = component.iter().filter(|member| now.contains(member)).collect();
            let outer: InameSet =
                group.iter().flat_map(|&member| self.ranges.dependencies(member).iter().collect::<Vec<_>>()).collect();
            let projected = component.union(&outer).difference(&settled);
            let mut replaced = Vec::new();
            for &(old, value) in gone.iter().filter(|(old, _)| outer.contains(*old)) {
                replaced.push((old, affine::of(&self.kernel.exprs, value)?));
            }
            let copied = Copied { group: group.clone(), replaced, projected };
            let copy = self.alias_group(copied, &taken)?;
            settled.extend(copy.iter().copied());
            taken.extend(copy.iter().copied());
            for (&old, alias) in group.iter().zip(copy) {
                now.iter_mut().filter(|other| **other == old).for_each(|other| *other = alias);
                let value = self.intern(Expr::Iname(alias));
                gone.push((old, value));
            }
        }
        let values: Map = inames
            .iter()
            .zip(&now)
            .filter(|(old, new)| old != new)
            .map(|(&old, &new)| (old, self.intern(Expr::Iname(new))))
            .collect();
        let body = self.instantiate(body, &values, &settled)?;
        Some(self.intern(Expr::Reduce { op, inames: now.into(), body }))
    }

    /// The bound inames that must have other names, or ranges with other inames in them.
    fn to_rename(&self, expr: ExprId, map: &Map, forbidden: &InameSet) -> InameSet {
        let bound = self.facts.bound(expr);
        let is_taken = |iname: InameId| {
            forbidden.contains(iname)
                || map.iter().any(|&(_, value)| self.is_free(value, iname) || self.is_bound(value, iname))
        };
        let mut res: InameSet = bound.iter().copied().filter(|&iname| is_taken(iname)).collect();
        loop {
            let is_touched = |iname: InameId| {
                let mut outer = self.ranges.dependencies(iname).iter();
                outer.any(|outer| res.contains(outer) || map.iter().any(|&(replaced, _)| replaced == outer))
            };
            let touched: Vec<InameId> =
                bound.iter().copied().filter(|&iname| !res.contains(iname) && is_touched(iname)).collect();
            if touched.is_empty() {
                return res;
            }
            res.extend(touched);
        }
    }

    /// Renames the inames of one component whose range depends on no other that is still to be renamed.
    fn rename_group(&mut self, rename: &mut InameSet, map: &mut Map, taken: &mut InameSet) -> Option<()> {
        let (group, outer) = rename.iter().find_map(|iname| {
            let group: Vec<InameId> =
                self.ranges.component(iname).iter().filter(|&other| rename.contains(other)).collect();
            let outer = group.iter().flat_map(|&member| self.ranges.dependencies(member).iter());
            let outer: InameSet = outer.filter(|other| !group.contains(other)).collect();
            outer.is_disjoint(rename).then_some((group, outer))
        })?;
        let mut replaced = Vec::new();
        for &(iname, value) in map.iter().filter(|(iname, _)| outer.contains(*iname)) {
            replaced.push((iname, affine::of(&self.kernel.exprs, value)?));
        }
        let copied = Copied { group: group.clone(), replaced, projected: InameSet::new() };
        let copy = self.alias_group(copied, taken)?;
        for (iname, alias) in group.into_iter().zip(copy) {
            rename.remove(iname);
            taken.insert(alias);
            let alias = self.intern(Expr::Iname(alias));
            map.push((iname, alias));
        }
        Some(())
    }

    /// `expr` with the inames of the map replaced, bound ones too.
    fn substitute(&mut self, root: ExprId, map: Map) -> ExprId {
        if map.is_empty() {
            return root;
        }
        let (map_idx, _) = self.renamings.maps.insert_full(map.clone());
        let is_plain = map.iter().all(|&(_, value)| matches!(self.kernel.exprs[value], Expr::Iname(_)));
        let value_of = |iname: InameId| map.binary_search_by_key(&iname, |entry| entry.0).ok().map(|idx| map[idx].1);
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|&id| self.renamings.done.contains_key(&(map_idx, id))) {
            let mut names = self.facts.free(id).iter().chain(self.facts.bound(id));
            if !names.any(|&iname| value_of(iname).is_some()) {
                self.renamings.done.insert((map_idx, id), id);
                continue;
            }
            let mut expr = self.kernel.exprs[id].clone();
            let done = &self.renamings.done;
            if walk.waits_for(expr.children().iter().copied(), |&child| done.contains_key(&(map_idx, child))) {
                continue;
            }
            for child in expr.children_mut() {
                *child = self.renamings.done[&(map_idx, *child)];
            }
            let res = match expr {
                Expr::Iname(iname) => value_of(iname).unwrap_or(id),
                Expr::Reduce { op, mut inames, body } => {
                    for iname in &mut inames {
                        if let Some(Expr::Iname(alias)) = value_of(*iname).map(|value| &self.kernel.exprs[value]) {
                            *iname = *alias;
                        }
                    }
                    self.intern(Expr::Reduce { op, inames, body })
                }
                // `x + 8` at `x = y - 1` is spelled `y + 7`, as it would be elsewhere.
                Expr::Access { array, indices } if !is_plain => {
                    let indices = indices.iter().map(|&index| self.canonical_index(index)).collect();
                    self.intern(Expr::Access { array, indices })
                }
                expr => self.intern(expr),
            };
            self.renamings.done.insert((map_idx, id), res);
        }
        self.renamings.done[&(map_idx, root)]
    }

    /// An index in the spelling that equal affine functions share, with divisions or without; itself if it is neither.
    pub(crate) fn canonical_index(&mut self, index: ExprId) -> ExprId {
        match self.kernel.exprs[index] {
            Expr::Iname(_) | Expr::Number(_) | Expr::Parameter(_) => index,
            _ => match affine::of(&self.kernel.exprs, index) {
                Some(affine) => self.affine(&affine),
                None => match self.quasi_affine(index) {
                    Some(affine) => self.quasi_expr(&affine).unwrap_or(index),
                    None => index,
                },
            },
        }
    }

    /// `root` without reductions over `names`: each such reduction is over other inames instead, none of `forbidden`.
    /// `None` if that needs a domain that cannot be made.
    pub(crate) fn unbind(&mut self, root: ExprId, names: &[InameId], forbidden: &InameSet) -> Option<ExprId> {
        let mut forbidden = forbidden.clone();
        forbidden.extend(names.iter().copied());
        let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| done.contains_key(id)) {
            if !names.iter().any(|&iname| self.is_bound(id, iname)) {
                done.insert(id, id);
                continue;
            }
            let mut expr = self.kernel.exprs[id].clone();
            if matches!(&expr, Expr::Reduce { inames, .. } if inames.iter().any(|iname| names.contains(iname))) {
                let res = self.instantiate(id, &[], &forbidden)?;
                done.insert(id, res);
                continue;
            }
            if walk.waits_for(expr.children().iter().copied(), |child| done.contains_key(child)) {
                continue;
            }
            for child in expr.children_mut() {
                *child = done[child];
            }
            let res = self.intern(expr);
            done.insert(id, res);
        }
        Some(done[&root])
    }
}
