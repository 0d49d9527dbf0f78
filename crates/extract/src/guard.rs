//! When a value is needed: the conditions around its uses, how often they hold, and which of them its definition is put under.
//!
//! # Notation
//! A *literal* is a condition or its negation, a *conjunction* literals that all hold, a [`Need`] conjunctions of which one holds.
//! # Method
//! What an instruction evaluates is needed where its predicates hold; an operand of a selection's branch also where the selection
//! takes that branch. A need that grows beyond [`CONJUNCTIONS_LIMIT`] is `Always`, which is always sound. How often a need holds
//! is counted by isl where conditions are affine; other conditions are taken to be independent, each with its stated probability.
//! # Source
//! Rompf, "Lightweight Modular Staging and Embedded Compilers", section 9.3, whose hot and cold references these are with numbers.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ExprId, InameSet, Kernel};
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use crate::product::Vertex;

/// The probability of a condition of which nothing is stated.
pub const DEFAULT_PROBABILITY: f64 = 0.5;

/// How many different reasons to compute a value are told apart.
pub const CONJUNCTIONS_LIMIT: usize = 4;

/// A condition, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// The condition's value.
    pub condition: Vertex,
    /// Whether it must hold or must not.
    pub holds: bool,
}

/// Literals that all hold, in the order in which they are tested.
pub type Conjunction = Vec<Literal>;

/// When a value is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// At every point.
    Always,
    /// Where one of these holds; none is part of another. Nowhere if there is none.
    AnyOf(Vec<Conjunction>),
}

impl Need {
    /// Nowhere.
    pub const NEVER: Self = Self::AnyOf(Vec::new());

    /// Adds a reason.
    pub fn add(&mut self, reason: Conjunction) {
        let Self::AnyOf(all) = self else { return };
        let mut reason = reason;
        loop {
            if reason.is_empty() {
                *self = Self::Always;
                return;
            }
            if all.iter().any(|known| is_part(known, &reason)) {
                return;
            }
            all.retain(|known| !is_part(&reason, known));
            // `c and k or not c and k` is `k`.
            let Some((idx, merged)) =
                all.iter().enumerate().find_map(|(idx, known)| Some((idx, merged(known, &reason)?)))
            else {
                break;
            };
            all.remove(idx);
            reason = merged;
        }
        all.push(reason);
        if all.len() > CONJUNCTIONS_LIMIT {
            *self = Self::Always;
        }
    }

    /// Adds all reasons of another need, each where a literal holds too.
    pub fn add_all(&mut self, other: &Self, literals: &[Literal]) {
        match other {
            Self::Always => self.add(literals.to_vec()),
            Self::AnyOf(reasons) => {
                for reason in reasons {
                    let mut reason = reason.clone();
                    for literal in literals {
                        if !reason.contains(literal) {
                            reason.push(*literal);
                        }
                    }
                    if !reason.iter().any(|literal| reason.contains(&negated(*literal))) {
                        self.add(reason);
                    }
                }
            }
        }
    }

    /// The need with only the literals that `is_known`: it holds at least where this one does.
    #[must_use]
    pub fn weakened(&self, is_known: impl Fn(Literal) -> bool) -> Self {
        let Self::AnyOf(reasons) = self else { return Self::Always };
        let mut res = Self::NEVER;
        for reason in reasons {
            res.add(reason.iter().copied().filter(|&literal| is_known(literal)).collect());
        }
        res
    }
}

fn negated(literal: Literal) -> Literal {
    Literal { holds: !literal.holds, ..literal }
}

/// Whether all literals of one conjunction are in the other.
fn is_part(part: &[Literal], whole: &[Literal]) -> bool {
    part.iter().all(|literal| whole.contains(literal))
}

/// What two conjunctions have in common if they differ in the sign of one literal only.
fn merged(a: &[Literal], b: &[Literal]) -> Option<Conjunction> {
    let mut differing = a.iter().filter(|literal| !b.contains(literal));
    let literal = *differing.next()?;
    let is_single = differing.next().is_none() && a.len() == b.len() && b.contains(&negated(literal));
    is_single.then(|| a.iter().copied().filter(|other| *other != literal).collect())
}

/// How often conditions hold.
pub(crate) struct Frequencies<'a> {
    pub kernel: &'a Kernel,
    pub domains: &'a Domains,
    /// For the values of conditions an expression each.
    pub exprs: FxHashMap<Vertex, ExprId>,
    /// Stated probabilities.
    pub stated: FxHashMap<Vertex, f64>,
    known: FxHashMap<(InameSet, Conjunction), f64>,
}

impl<'a> Frequencies<'a> {
    pub(crate) fn new(kernel: &'a Kernel, domains: &'a Domains) -> Self {
        Self { kernel, domains, exprs: FxHashMap::default(), stated: FxHashMap::default(), known: FxHashMap::default() }
    }

    /// The part of the points of some inames at which a need holds, by inclusion and exclusion.
    pub(crate) fn of(&mut self, inames: &InameSet, need: &Need) -> Result<f64, DomainError> {
        let Need::AnyOf(reasons) = need else { return Ok(1.0) };
        let mut res = 0.0;
        for subset in 1_usize..(1 << reasons.len()) {
            let mut all = Conjunction::new();
            for (idx, reason) in reasons.iter().enumerate() {
                if subset >> idx & 1 == 1 {
                    all.extend(reason.iter().filter(|literal| !all.contains(literal)).copied().collect::<Vec<_>>());
                }
            }
            let sign = if subset.count_ones() % 2 == 1 { 1.0 } else { -1.0 };
            res += sign * self.of_all(inames, all)?;
        }
        Ok(res.clamp(0.0, 1.0))
    }

    /// The part at which all literals hold.
    pub(crate) fn of_all(&mut self, inames: &InameSet, mut literals: Conjunction) -> Result<f64, DomainError> {
        literals.sort_unstable();
        if literals.iter().any(|literal| literals.contains(&negated(*literal))) {
            return Ok(0.0);
        }
        if literals.is_empty() {
            return Ok(1.0);
        }
        let key = (inames.clone(), literals);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let mut set = self.domains.of(inames)?;
        let mut res = 1.0;
        let mut is_restricted = false;
        for literal in &key.1 {
            let part = match self.exprs.get(&literal.condition) {
                Some(&condition) => self.domains.restrict(&set, self.kernel, condition)?,
                None => None,
            };
            match part {
                Some(part) if literal.holds => (set, is_restricted) = (part, true),
                Some(part) => (set, is_restricted) = (set.subtract(&part)?, true),
                None => {
                    let stated = self.stated.get(&literal.condition).copied().unwrap_or(DEFAULT_PROBABILITY);
                    res *= if literal.holds { stated } else { 1.0 - stated };
                }
            }
        }
        if is_restricted {
            let part = self.domains.count_set(&set)?.to_f64().unwrap_or(f64::MAX);
            let whole = self.domains.count(inames)?.to_f64().unwrap_or(f64::MAX);
            res *= if whole > 0.0 { part / whole } else { 1.0 };
        }
        self.known.insert(key, res);
        Ok(res)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(condition: Vertex, holds: bool) -> Literal {
        Literal { condition, holds }
    }

    #[test]
    fn a_reason_absorbs_narrower_ones() {
        let mut need = Need::NEVER;
        need.add(vec![literal(1, true), literal(2, true)]);
        need.add(vec![literal(1, true)]);
        need.add(vec![literal(1, true), literal(3, false)]);
        assert_eq!(need, Need::AnyOf(vec![vec![literal(1, true)]]));
    }

    #[test]
    fn both_branches_are_always() {
        let mut need = Need::NEVER;
        need.add(vec![literal(2, true), literal(1, true)]);
        need.add(vec![literal(1, false), literal(2, true)]);
        assert_eq!(need, Need::AnyOf(vec![vec![literal(2, true)]]));
        need.add(vec![literal(2, false)]);
        assert_eq!(need, Need::Always);
    }

    #[test]
    fn too_many_reasons_are_always() {
        let mut need = Need::NEVER;
        for condition in 0..=CONJUNCTIONS_LIMIT {
            assert_ne!(need, Need::Always);
            need.add(vec![literal(condition, true)]);
        }
        assert_eq!(need, Need::Always);
    }

    #[test]
    fn weakening_drops_literals() {
        let mut need = Need::NEVER;
        need.add(vec![literal(1, true), literal(2, true)]);
        assert_eq!(need.weakened(|literal| literal.condition == 1), Need::AnyOf(vec![vec![literal(1, true)]]));
        assert_eq!(need.weakened(|_| false), Need::Always);
        assert_eq!(Need::NEVER.weakened(|_| false), Need::NEVER);
    }
}
