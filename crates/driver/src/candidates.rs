//! Results compete, each is judged, and the best that hold are taken.
//!
//! # Input
//! Candidates, the best first, each made only on demand; and a judge.
//! # Output
//! The first candidates that hold, as many as asked for, with the evidence; and the other candidates before the last of these, with what is wrong with each.
//! # Method
//! A candidate that is the same program as one that failed is not judged again.
//! # Complexity
//! One judgement for each that is wanted, where nothing fails.
//! # Not done
//! Nothing here knows how candidates are made or judged.

use indexmap::IndexMap;
use nestegg_forms::Tolerance;
use nestegg_interp::Difference;
use nestegg_ir::{LinearizedKernel, Program};

use crate::accuracy::Accuracy;
use crate::count::operations;
use crate::error::Error;
use crate::lineage::Lineages;
use crate::report::{FailureKind, Gap, LimitHit, Operations, Unjudged, Validated};
use crate::same::is_same;
use crate::seeds::Fired;
use crate::stated::Stated;
use crate::time::Nanoseconds;
use crate::unrolled::Names;

/// A result that may be taken.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The result.
    pub(crate) program: LinearizedKernel,
    /// Its operations.
    pub(crate) cost: u128,
    /// The same by kind, where they were counted.
    pub(crate) counted: Option<Operations>,
    /// Its estimated time; used only with `--cost time`.
    pub(crate) time: Nanoseconds,
    /// The seed that it was made of.
    pub(crate) seed: String,
    /// Whether it was made of the value form, in which constants may be folded.
    pub(crate) is_of_form: bool,
    /// That seed and what was done to its numbers, if it is not equal to the input exactly.
    pub(crate) approximated: Option<(LinearizedKernel, Tolerance)>,
    /// The instructions that were unrolled, and constants in them folded.
    pub(crate) unrolled: Names,
    /// How often its coefficients were fitted to the input.
    pub(crate) n_fits: u8,
    /// Rules that found something, with how often.
    pub(crate) rules: Fired,
    /// Limits that were hit.
    pub(crate) limits: Vec<LimitHit>,
    /// Equations of rules that could not be judged.
    pub(crate) unjudged: Vec<Unjudged>,
    /// How far the choice can be from the best one.
    pub(crate) gap: Gap,
    /// Operations that each temporary saves, by its name.
    pub(crate) saved: IndexMap<String, u128>,
    /// What it was made of, where that is remembered.
    pub(crate) from: Lineages,
}

impl Candidate {
    /// A program that no rule had a part in.
    pub(crate) fn untouched(program: LinearizedKernel, seed: &str, values: &[(String, i64)]) -> Result<Self, Error> {
        let counted = operations(&Program::Linearized(program.clone()), values)?;
        Ok(Self {
            program,
            cost: counted.total,
            counted: Some(counted),
            time: Nanoseconds::default(),
            seed: seed.to_owned(),
            is_of_form: false,
            approximated: None,
            unrolled: Names::new(),
            n_fits: 0,
            rules: Fired::default(),
            limits: Vec::new(),
            unjudged: Vec::new(),
            gap: Gap::NotProved,
            saved: IndexMap::new(),
            from: Lineages::new(),
        })
    }

    /// The order of candidates: where time is made small, less time first; fewer operations, of equals what is equal to the input exactly.
    pub(crate) fn rank(&self) -> (Nanoseconds, u128, bool, bool) {
        (self.time, self.cost, self.approximated.is_some(), !self.unrolled.is_empty())
    }
}

/// Why a candidate is not the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// An element differs from the input's.
    NotEqual(Box<Difference>),
    /// It could not be compared with the input, and why.
    NotCompared(String),
    /// Its rounding errors are beyond what is allowed.
    Inaccurate {
        /// How many times as large as is allowed.
        excess: f64,
        /// In words.
        reason: String,
    },
    /// A pass made an ill-formed kernel; this is what [`nestegg_ir::verify`] found.
    Broken(String),
}

impl Refusal {
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::NotEqual(_) => FailureKind::NotEqual,
            Self::NotCompared(_) => FailureKind::NotCompared,
            Self::Inaccurate { .. } => FailureKind::Inaccurate,
            Self::Broken(_) => FailureKind::Broken,
        }
    }

    /// In words, after "because".
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotEqual(difference) => format!("it is not equal to the input: {difference}"),
            Self::NotCompared(reason) => format!("it could not be compared with the input: {reason}"),
            Self::Inaccurate { reason, .. } => reason.clone(),
            Self::Broken(violations) => format!("it is not well-formed: {violations}"),
        }
    }
}

/// What was found of a candidate that holds.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// The evidence.
    pub(crate) validated: Validated,
    /// What the result must state, for it may not be equal to the input exactly.
    pub(crate) stated: Stated,
    /// Its rounding errors, if they were measured.
    pub(crate) accuracy: Option<Accuracy>,
}

/// What became of the candidates.
#[derive(Debug)]
pub(crate) struct Trials {
    /// The candidates that hold, as many as were asked for, and what was said of them, the best first.
    pub(crate) held: Vec<(Candidate, Accepted)>,
    /// Those among them that do not, the best first.
    pub(crate) refused: Vec<(Candidate, Refusal)>,
}

/// Takes the first so many candidates that the judge finds nothing wrong with; of equal programs the first.
///
/// # Errors
/// Those of making candidates and of judging them; they end the search.
pub(crate) fn first_that_hold(
    n: usize,
    mut next: impl FnMut() -> Result<Option<Candidate>, Error>,
    mut judge: impl FnMut(&Candidate) -> Result<Result<Accepted, Refusal>, Error>,
) -> Result<Trials, Error> {
    let mut held: Vec<(Candidate, Accepted)> = Vec::new();
    let mut refused: Vec<(Candidate, Refusal)> = Vec::new();
    while held.len() < n
        && let Some(candidate) = next()?
    {
        let mut known = refused.iter().map(|(known, _)| known).chain(held.iter().map(|(known, _)| known));
        if known.any(|known| is_same(&known.program, &candidate.program)) {
            continue;
        }
        match judge(&candidate)? {
            Ok(judged) => held.push((candidate, judged)),
            Err(refusal) => refused.push((candidate, refusal)),
        }
    }
    Ok(Trials { held, refused })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use nestegg_span::Source;

    use super::*;

    fn candidate(factor: &str, seed: &str) -> Candidate {
        let text = format!(
            "kernel k\ndomain {{ [i] : 0 <= i < 4 }}\narg x : float64[4] read\narg y : float64[4] write\nfor i\n  y[i] = {factor}*x[i]\nend\n"
        );
        let program = crate::read(&Source::new("k.knl", text)).unwrap().program.into_linearized().unwrap();
        Candidate::untouched(program, seed, &[]).unwrap()
    }

    /// Judges candidates `(factor, seed)`; those of the factor 2 hold. Answers who was judged, and the trials.
    fn check(n: usize, candidates: &[(&str, &str)]) -> (Vec<String>, Trials) {
        let mut left: VecDeque<Candidate> = candidates.iter().map(|(factor, seed)| candidate(factor, seed)).collect();
        let mut judged = Vec::new();
        let right = candidate("2.0", "").program;
        let judge = |candidate: &Candidate| {
            judged.push(candidate.seed.clone());
            Ok(if is_same(&candidate.program, &right) {
                let validated = Validated::Equal { evidence: "as is known".to_owned() };
                Ok(Accepted { validated, stated: Stated::default(), accuracy: None })
            } else {
                Err(Refusal::NotCompared("nobody knows".to_owned()))
            })
        };
        let trials = first_that_hold(n, || Ok(left.pop_front()), judge).unwrap();
        (judged, trials)
    }

    #[test]
    fn the_next_best_is_taken_and_no_more_are_made() {
        let (judged, trials) = check(1, &[("3.0", "a"), ("4.0", "b"), ("2.0", "c"), ("2.0", "d")]);
        assert_eq!(judged, ["a", "b", "c"]);
        assert_eq!(seeds(&trials.held), ["c"]);
        assert_eq!(seeds(&trials.refused), ["a", "b"]);
    }

    #[test]
    fn several_are_taken_once_each() {
        let (judged, trials) = check(2, &[("2.0", "a"), ("2.0", "the same"), ("4.0", "b")]);
        assert_eq!(judged, ["a", "b"]);
        assert_eq!(seeds(&trials.held), ["a"]);
        assert_eq!(seeds(&trials.refused), ["b"]);
    }

    fn seeds<T>(candidates: &[(Candidate, T)]) -> Vec<&str> {
        candidates.iter().map(|(candidate, _)| candidate.seed.as_str()).collect()
    }

    #[test]
    fn what_failed_is_not_judged_twice() {
        let (judged, trials) = check(1, &[("3.0", "a"), ("3.0", "the same"), ("4.0", "b")]);
        assert_eq!(judged, ["a", "b"]);
        assert!(trials.held.is_empty());
    }

    #[test]
    fn errors_end_the_search() {
        let mut left = VecDeque::from([candidate("3.0", "a"), candidate("2.0", "b")]);
        let judge = |_: &Candidate| Err(Error::NoStrategy { file: "an error".to_owned() });
        assert!(first_that_hold(1, || Ok(left.pop_front()), judge).is_err());
        assert_eq!(left.len(), 1);
    }
}
