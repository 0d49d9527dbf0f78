//! In which iterations two accesses touch one element.
//!
//! # Input
//! The indices of each access; the loops around both, whose values are the same for both.
//! # Output
//! Whether they touch one element only in iterations that are as far apart as the caller allows; or how far apart they are, where the indices alone tell.
//! # Method
//! isl composes the relations from iterations to elements, and compares the pairs of iterations with those that are allowed. Indices that are left out, because
//! nobody knows them, only add pairs.
//! # Complexity
//! One question to isl, which may be as hard as integer programming: callers [bound](Domains::bounded) its operations.
//! # Not done
//! Conditions and predicates around an access are left out: it is taken to happen.

use nestegg_isl as isl;

use crate::affine::{self, Affine, Var};
use crate::domains::{DomainError, Domains};
use crate::expr::{Expr, Exprs};
use crate::ids::{ExprId, InameId, InameSet};
use crate::kernel::Assignee;

/// What was stored more iterations ago than this has arrived.
const RECENT: i64 = 4;

/// An element that is accessed in each iteration of loops.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Loops around the access whose inames are not in its indices. They may be left out: then it is taken to happen even where these loops are empty.
    pub loops: &'a [InameId],
    /// The indices that are affine.
    pub indices: &'a [&'a Affine],
}

impl<'a> Element<'a> {
    /// With these indices, in the loops that they name.
    #[must_use]
    pub fn at(indices: &'a [&'a Affine]) -> Self {
        Self { loops: &[], indices }
    }
}

/// How many iterations of the innermost loop ago a store wrote the element that its value reads; `None` if it never did, or so long ago that no iteration waits for it.
#[must_use]
pub fn stored_before(exprs: &Exprs, store: &Assignee, read: ExprId, iname: InameId) -> Option<i64> {
    let Expr::Access { array, indices } = &exprs[read] else { return None };
    if *array != store.array {
        return None;
    }
    let mut found: Option<i64> = None;
    for (&written, &read) in store.indices.iter().zip(indices) {
        let written = affine::of(exprs, written)?;
        let difference = written.plus(&affine::of(exprs, read)?, -1)?.as_constant()?;
        match written.coefficient(Var::Iname(iname)) {
            0 if difference == 0 => {}
            0 => return None,
            step => {
                let distance = difference.checked_div(step)?;
                let is_it = distance.checked_mul(step)? == difference && found.is_none_or(|known| known == distance);
                found = Some(distance).filter(|_| is_it);
                found?;
            }
        }
    }
    found.filter(|distance| (1..=RECENT).contains(distance))
}

/// Iterations of common loops in which a second access may follow a first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// The same iteration.
    Zero,
    /// The same iteration or, in each loop, a later one.
    ZeroOrMore,
}

impl Domains {
    /// Whether two elements of one array, given by their indices, are never the same in the same iterations of the loops `outer`. No if an index is not affine, or
    /// isl does not know.
    #[must_use]
    pub fn are_different(&self, exprs: &Exprs, one: &[ExprId], other: &[ExprId], outer: &[InameId]) -> bool {
        let affine_of = |indices: &[ExprId]| -> Option<Vec<Affine>> {
            indices.iter().map(|&index| affine::of(exprs, index)).collect()
        };
        let (Some(one), Some(other)) = (affine_of(one), affine_of(other)) else { return false };
        let (one, other): (Vec<&Affine>, Vec<&Affine>) = (one.iter().collect(), other.iter().collect());
        self.meet_only(Element::at(&one), Element::at(&other), outer, (&[], Distance::Zero)).unwrap_or(false)
    }

    /// The pairs of iterations, each given by the values of its inames in increasing order, in which two accesses to one array touch one element.
    ///
    /// # Errors
    /// If isl fails, or has too much to do.
    pub fn pairs(&self, one: (&[&Affine], &InameSet), other: (&[&Affine], &InameSet)) -> Result<isl::Map, DomainError> {
        let relation = |(indices, inames): (&[&Affine], &InameSet)| -> Result<isl::Map, DomainError> {
            let indices = indices.iter().map(|affine| self.affine(affine)).collect::<Result<Vec<_>, _>>()?;
            Ok(isl::Map::from_affine(&self.of(inames)?, Some("element"), &indices)?)
        };
        let pairs = relation(one)?.apply_range(&relation(other)?.reverse()?)?;
        Ok(pairs.set_tuple_name(isl::Dim::In, None)?.set_tuple_name(isl::Dim::Out, None)?)
    }

    /// Whether two accesses to one array, inside the same iterations of the loops `outer`, touch one element only in iterations of the loops `common` that are
    /// this far apart; without such loops, whether they never do.
    ///
    /// # Errors
    /// If isl fails, or has too much to do.
    pub fn meet_only(
        &self,
        one: Element<'_>,
        other: Element<'_>,
        outer: &[InameId],
        (common, distance): (&[InameId], Distance),
    ) -> Result<bool, DomainError> {
        let kept: InameSet = outer.iter().chain(common).copied().collect();
        let inames = |of: Element<'_>| {
            let of_indices = of.indices.iter().flat_map(|index| index.inames());
            of.loops.iter().copied().chain(of_indices).chain(kept.iter()).collect::<InameSet>()
        };
        let mut pairs = self.pairs((one.indices, &inames(one)), (other.indices, &inames(other)))?;
        for (side, of) in [(isl::Dim::In, one), (isl::Dim::Out, other)] {
            for (at, iname) in inames(of).iter().enumerate().collect::<Vec<_>>().into_iter().rev() {
                if !kept.contains(iname) {
                    pairs = pairs.project_out(side, at, 1)?;
                }
            }
        }
        let names = |letter: char| (0..kept.len()).map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ");
        let relates = |relation: &str, of: &[InameId], with: &str| {
            let at = kept.iter().enumerate().filter(|(_, iname)| of.contains(iname)).map(|(at, _)| at);
            at.map(|at| format!("a{at} {relation} b{at}")).collect::<Vec<_>>().join(with)
        };
        let are_in_order = relates(if distance == Distance::Zero { "=" } else { "<=" }, common, " and ");
        let are_elsewhere = relates("!=", outer, " or ");
        let conditions = [are_elsewhere, are_in_order].into_iter().filter(|text| !text.is_empty());
        let conditions = conditions.map(|text| format!("({text})")).collect::<Vec<_>>().join(" or ");
        let conditions = if conditions.is_empty() { "false" } else { &conditions };
        let text = format!("{{ [{}] -> [{}] : {conditions} }}", names('a'), names('b'));
        Ok(pairs.is_subset(&isl::Map::parse(self.context(), &text)?)?)
    }
}
