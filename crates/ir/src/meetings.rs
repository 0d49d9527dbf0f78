//! In which iterations two accesses touch one element, as isl decides it.
//!
//! # Input
//! The loops around each access, and its indices; loops around both, whose values are the same for both.
//! # Output
//! Whether they meet only as a dependence, or the lack of one, asks for.
//! # Complexity
//! One question to isl, which may be as hard as integer programming: callers bound its operations.
//! # Not done
//! Conditions and predicates around an access are left out: it is taken to happen.

use nestegg_isl as isl;

use crate::affine::{self, Affine};
use crate::domains::{DomainError, Domains};
use crate::expr::Exprs;
use crate::ids::{ExprId, InameId, InameSet};

/// An element that is accessed in each iteration of loops.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// The loops around the access; more may be left out than given, for then it is taken to happen more often.
    pub loops: &'a [InameId],
    /// Functions of these loops' inames; indices that are none are left out.
    pub indices: &'a [&'a Affine],
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
        let inames = |indices: &[Affine]| indices.iter().flat_map(Affine::inames).collect::<Vec<InameId>>();
        let (of_one, of_other) = (inames(&one), inames(&other));
        let one = Element { loops: &of_one, indices: &one.iter().collect::<Vec<_>>() };
        let other = Element { loops: &of_other, indices: &other.iter().collect::<Vec<_>>() };
        self.meet_only(one, other, outer, (&[], Distance::Zero)).unwrap_or(false)
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
        let inames = |of: Element<'_>| of.loops.iter().copied().chain(kept.iter()).collect::<InameSet>();
        let relation = |of: Element<'_>| -> Result<isl::Map, DomainError> {
            let indices = of.indices.iter().map(|affine| self.affine(affine)).collect::<Result<Vec<_>, _>>()?;
            Ok(isl::Map::from_affine(&self.of(&inames(of))?, Some("element"), &indices)?)
        };
        let mut pairs = relation(one)?.apply_range(&relation(other)?.reverse()?)?;
        for (side, of) in [(isl::Dim::In, one), (isl::Dim::Out, other)] {
            for (at, iname) in inames(of).iter().enumerate().collect::<Vec<_>>().into_iter().rev() {
                if !kept.contains(iname) {
                    pairs = pairs.project_out(side, at, 1)?;
                }
            }
            pairs = pairs.set_tuple_name(side, None)?;
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
