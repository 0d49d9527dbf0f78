//! What a comparison knows so far, element by element.

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, Dtype, Expr, Op};
use rustc_hash::FxBuildHasher;

use crate::error::Error;
use crate::memory::Layout;
use crate::validate::chosen::OnDemand;
use crate::validate::doubt::Doubt;
use crate::validate::{Difference, Outcome, Unreached};

/// How far an element is known to be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) is_exact: bool,
    pub(super) is_real: bool,
    pub(super) is_in_floats: bool,
    /// In floats on data without zeros, where little is equal by chance.
    pub(super) is_telling: bool,
}

impl Known {
    pub(super) fn is_compared(self) -> bool {
        self.is_exact || self.is_real || self.is_in_floats
    }

    /// Whether no further data are needed to compare it.
    pub(super) fn is_settled(self) -> bool {
        self.is_exact || self.is_real || self.is_telling
    }
}

/// An element of an output: the first program's array, the second's, and the flat position.
pub(super) type Place = (ArrayId, ArrayId, usize);

/// What is known so far.
pub(super) struct Tally<'c> {
    /// The elements that the first program writes.
    pub(super) elements: IndexMap<(ArrayId, usize), Known, FxBuildHasher>,
    pub(super) n_data: usize,
    pub(super) largest_error: f64,
    /// Why an element had no value.
    pub(super) gap: Option<Error>,
    /// Whether some elements were left out.
    pub(super) is_chosen: bool,
    /// Whether programs are run whole.
    pub(super) is_whole: bool,
    pub(super) on_demand: Option<OnDemand<'c>>,
    /// Whether all elements were compared at least once.
    pub(super) was_whole: bool,
    /// Whether rounds look only at elements that had no value yet.
    pub(super) seeks_values: bool,
    /// Steps on demand of the program that took more.
    pub(super) n_steps: u64,
    /// Steps on demand of the first program for the first element of a round, at most.
    pub(super) n_steps_first: u64,
    /// Steps of the last run of all, of the program that took more.
    pub(super) n_steps_whole: u64,
    /// Differences of a round, if they may be doubted; otherwise the first one ends it.
    pub(super) doubts: Option<Vec<Doubt>>,
}

/// A value of an output.
pub(super) enum Slot<'v, F> {
    /// None: the kernel does not write it.
    Unwritten,
    /// The world has none.
    Gap(&'v Error),
    Float(&'v F),
    Int(i64),
}

/// A round with more doubts than this ends.
const MAX_DOUBTS: usize = 4096;

/// The arithmetic of differences that rounding may have made.
pub(super) const EXACT: &str = "exact arithmetic";

/// What one element of one data set says.
pub(super) enum Sameness {
    /// Equal, with an error of the floats.
    Equal(f64),
    /// The first program has no finite value here: other data must tell.
    Open,
    /// Equal at most by identities of functions.
    ByIdentity,
    Different {
        world: &'static str,
        first: String,
        second: String,
    },
}

impl Sameness {
    fn exactly_different(first: String, second: String) -> Self {
        Self::Different { world: EXACT, first, second }
    }
}

/// Why a round ended early.
pub(super) enum Stop {
    /// A difference, with its place in the second program.
    Different(Box<Difference>, Option<(ArrayId, usize)>),
    /// The first program fails.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// The second program fails where the first does not.
    pub(super) fn second_fails(error: Error) -> Self {
        Self::Different(Box::new(Difference::Trap { program: "the second", error }), None)
    }
}

impl<'c> Tally<'c> {
    pub(super) fn new(is_whole: bool) -> Self {
        Self {
            elements: IndexMap::default(),
            n_data: 0,
            largest_error: 0.0,
            gap: None,
            is_chosen: false,
            is_whole,
            on_demand: None,
            was_whole: false,
            seeks_values: false,
            n_steps: 0,
            n_steps_first: 0,
            n_steps_whole: 0,
            doubts: None,
        }
    }

    /// Whether nothing is written.
    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// How many elements were not compared yet, or only on data with zeros.
    pub(super) fn n_open(&self) -> usize {
        self.elements.values().filter(|known| !known.is_settled()).count()
    }

    /// Whether an element was not compared yet.
    pub(super) fn is_open(&self) -> bool {
        self.elements.values().any(|known| !known.is_compared())
    }

    /// Notes that these elements are equal in floats.
    pub(super) fn are_in_floats(&mut self, places: &[Place]) {
        for &(array, _, position) in places {
            if let Some(known) = self.elements.get_mut(&(array, position)) {
                (known.is_in_floats, known.is_telling) = (true, true);
            }
        }
    }

    /// Enters both programs' values of an element; `compare` is asked where both are floats.
    pub(super) fn enter<A, B>(
        &mut self,
        (array, other, position): Place,
        layout: &Layout,
        first: Slot<'_, A>,
        second: Slot<'_, B>,
        compare: impl FnOnce(&mut Known, &A, &B, Dtype) -> Sameness,
    ) -> Result<(), Stop> {
        if matches!(first, Slot::Unwritten) {
            // What the first program leaves open the second may write or not.
            return Ok(());
        }
        let known = self.elements.entry((array, position)).or_default();
        let sameness = match (first, second) {
            (Slot::Gap(error), _) => {
                self.gap.get_or_insert_with(|| error.clone());
                Sameness::Open
            }
            (_, Slot::Gap(error)) => return Err(Stop::second_fails(error.clone())),
            (_, Slot::Unwritten) => Sameness::exactly_different("a value".to_owned(), "not written".to_owned()),
            (Slot::Float(first), Slot::Float(second)) => compare(known, first, second, layout.dtype),
            (Slot::Int(first), Slot::Int(second)) if first == second => {
                known.is_exact = true;
                Sameness::Equal(0.0)
            }
            (Slot::Int(first), Slot::Int(second)) => Sameness::exactly_different(first.to_string(), second.to_string()),
            _ => Sameness::exactly_different("of one type".to_owned(), "of another".to_owned()),
        };
        match sameness {
            Sameness::Equal(error) => self.largest_error = self.largest_error.max(error),
            Sameness::Open | Sameness::ByIdentity => {}
            Sameness::Different { world, first, second } => {
                let place = (array, other, position);
                let difference = Box::new(Difference::Value {
                    argument: layout.name.clone(),
                    index: layout.index(position),
                    world,
                    first,
                    second,
                    instruction: None,
                });
                let doubt = Doubt { place, difference };
                match &mut self.doubts {
                    Some(doubts) if doubts.len() < MAX_DOUBTS => doubts.push(doubt),
                    _ => return Err(doubt.stop()),
                }
            }
        }
        Ok(())
    }

    /// The decisions of both programs that went one way only so far.
    pub(super) fn unreached(&self) -> Option<Vec<Unreached>> {
        let Some(OnDemand { first, second, seen: Some(seen), .. }) = &self.on_demand else { return None };
        let mut res = Vec::new();
        for (is_first, plan, seen) in [(true, first, &seen[0]), (false, second, &seen[1])] {
            for (expr, outcomes) in seen.by_expression(plan) {
                let decided = &plan.kernel.exprs[expr];
                let is_extremum = matches!(decided, Expr::Op { op: Op::Min | Op::Max, .. } | Expr::Call { .. })
                    && decided.children().len() == outcomes.n_outcomes as usize;
                let missing: Vec<u32> = (0..outcomes.n_outcomes).filter(|&outcome| outcomes.lacks(outcome)).collect();
                let never = |never| Unreached { is_first, expr, never };
                if missing.len() == outcomes.n_outcomes as usize {
                    res.push(never(Outcome::Any));
                    continue;
                }
                res.extend(missing.into_iter().map(|outcome| match outcome {
                    operand if is_extremum => never(Outcome::Operand(operand as usize)),
                    0 => never(Outcome::False),
                    _ => never(Outcome::True),
                }));
            }
        }
        Some(res)
    }
}
