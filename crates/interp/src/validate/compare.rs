//! The rounds of a comparison: which data, in which arithmetic, and when it is enough.

use std::sync::Arc;

use nestegg_ir::{ArrayId, Dtype, Kernel};

use crate::conditioned::Scaled;
use crate::data::{DataSet, Plan, Profile};
use crate::error::Error;
use crate::exact::Exact;
use crate::float::Floats;
use crate::run::Compiled;
use crate::validate::tally::{EXACT, Known, Place, Sameness, Stop, Tally};
use crate::validate::{Agreement, Evidence, ValidateOptions, Verdict};

/// Further profiles for programs that decide on data, in turn.
const DECIDING: [Profile; 7] = [
    Profile::Palette,
    Profile::Whole,
    Profile::Wide,
    Profile::Palette,
    Profile::Positive,
    Profile::Whole,
    Profile::Daring(0),
];

/// So many of them are used in any case: one each of three kinds. The others repeat these, or add little where one element is already a long run.
const MIN_DECIDING: usize = 3;

/// They are gone through as long as decisions went one way only, until so many times in a row, and as often as before, no decision has gone a new way,
const PATIENCE: usize = 6;

/// and no longer than for so many steps of one program; short programs are gone through [`MIN_CYCLES`] times, and until they have taken [`MIN_STEPS`], and patience
/// begins to wear after [`MIN_STEPS_OF_PATIENCE`].
const MAX_STEPS_OF_CYCLES: u64 = 200_000;
const MIN_CYCLES: usize = 3;
const MIN_STEPS: u64 = 4_000;
const MIN_STEPS_OF_PATIENCE: u64 = 20_000;

/// So often each argument of indices dares, for the condition that guards it holds on some data, until programs took so many steps of all rounds.
const MIN_DARING: usize = 4;
const MAX_STEPS_OF_DARING: u64 = 100_000;

/// Programs that take no more steps are run whole too, the first time: what no output needs must not fail either.
const MAX_STEPS_BESIDE: u64 = 50_000;

/// Programs with more instructions are run whole, and their decisions are not watched, if that takes no more steps than this.
const MAX_INSTRUCTIONS: usize = 1_000;
const MAX_STEPS_WHOLE: u64 = 200_000;

/// Further profiles for elements that had no value yet.
pub(super) const DEFINING: [Profile; 12] = [
    Profile::Positive,
    Profile::Signed,
    Profile::Wide,
    Profile::Positive,
    Profile::Scaled(0),
    Profile::Scaled(1),
    Profile::Scaled(2),
    Profile::Scaled(3),
    Profile::Scaled(4),
    Profile::Scaled(5),
    Profile::Scaled(6),
    Profile::Scaled(7),
];

/// How often each is tried as long as it gives values to further elements.
const MAX_DEFINING: usize = 8;

/// Programs that compute no more values are run one after the other.
const MAX_VALUES_OF_SHORT: u64 = 4_000;

/// Programs that read more elements of arguments than this together are not run whole,
const MAX_READ: usize = 1 << 21;

/// nor those whose arrays have more elements than this together.
const MAX_HELD: usize = 1 << 24;

/// What a round in floats is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FloatRound {
    /// Data of moderate size, on which all that are asked are compared.
    Base,
    /// Bold data for programs that decide.
    Deciding,
    /// Data for elements that had no value yet.
    Defining,
    /// What has no finite value on any data.
    Last,
}

/// Two programs with the same arguments.
pub(super) struct Comparison<'a> {
    pub(super) first: Arc<Compiled>,
    pub(super) second: Arc<Compiled>,
    pub(super) plan: &'a Plan,
    pub(super) options: &'a ValidateOptions,
    /// Whether one of them computes anything in float32, which may reach any output.
    pub(super) has_single: bool,
    /// Whether running both takes no longer than waking a thread does.
    pub(super) is_short: bool,
}

impl<'a> Comparison<'a> {
    pub(super) fn new([first, second]: [Arc<Compiled>; 2], plan: &'a Plan, options: &'a ValidateOptions) -> Self {
        let has_single = first.kernel().has_single() || second.kernel().has_single();
        let is_short = [&first, &second].iter().all(|compiled| compiled.code.n_values() <= MAX_VALUES_OF_SHORT);
        Self { first, second, plan, options, has_single, is_short }
    }
}

impl Comparison<'_> {
    pub(super) fn verdict(&self) -> Result<Verdict, Error> {
        let mut tally = Tally::new(self.may_be_held());
        match self.all_rounds(&mut tally) {
            Ok(()) => {}
            Err(Stop::Different(difference, _)) => return Ok(Verdict::Different(*difference)),
            Err(Stop::Failed(error)) => return Err(error),
        }
        let count = |which: fn(Known) -> bool| tally.elements.values().filter(|&&known| which(known)).count();
        let (n_elements, n_compared) = (tally.elements.len(), count(Known::is_compared));
        if let (0, 1.., Some(gap)) = (n_compared, n_elements, &tally.gap) {
            return Err(gap.clone());
        }
        Ok(Verdict::Equal(Evidence {
            n_elements,
            is_chosen: tally.is_chosen,
            n_exact: count(|known| known.is_exact && !known.is_real),
            n_real: count(|known| known.is_real),
            n_floats: count(|known| known.is_in_floats && !known.is_exact && !known.is_real),
            n_data: tally.n_data,
            largest_error: tally.largest_error,
            unreached: tally.unreached(),
            not_compared: tally.gap.filter(|_| n_compared < n_elements),
        }))
    }

    /// Whether the arrays of both programs are few enough to run them whole.
    pub(super) fn may_be_held(&self) -> bool {
        let len = |compiled: &Compiled| {
            compiled.code.layouts.iter().fold(0_usize, |sum, layout| sum.saturating_add(layout.len))
        };
        self.plan.len() <= MAX_READ && len(&self.first).max(len(&self.second)) <= MAX_HELD
    }

    fn all_rounds<'c>(&'c self, tally: &mut Tally<'c>) -> Result<(), Stop> {
        self.exactly(tally)?;
        let is_bits = self.options.agreement == Agreement::Bits;
        if is_bits || tally.is_open() || self.options.seeds.is_empty() { self.in_floats(tally) } else { Ok(()) }
    }

    /// In floats, with tolerance or to the bit: all elements, or those that have no value in exact arithmetic. What is not finite in the first
    /// program is tried on other data; where it is finite on none, infinities must be the same.
    fn in_floats<'c>(&'c self, tally: &mut Tally<'c>) -> Result<(), Stop> {
        let is_bits = self.options.agreement == Agreement::Bits;
        let is_alone = self.options.seeds.is_empty();
        self.unless_too_long(tally, self.max_steps_in_floats());
        let mut n_rounds = 0;
        let mut round = |profile, from_zero, kind, tally: &mut Tally<'c>| {
            let data = self.float_data(n_rounds, profile, from_zero);
            n_rounds += 1;
            self.float_round(data, kind, tally)
        };
        for from_zero in [false, true] {
            round(Profile::Signed, from_zero, FloatRound::Base, tally)?;
        }
        if is_alone {
            for number in 0..self.plan.n_selections() {
                round(Profile::Selecting(number), false, FloatRound::Base, tally)?;
            }
            self.until_decided(tally, |profile, _, tally| {
                unless_failed(round(profile, false, FloatRound::Deciding, tally))
            })?;
        }
        if is_bits {
            return Ok(());
        }
        self.until_defined(tally, |profile, tally| unless_failed(round(profile, false, FloatRound::Defining, tally)))?;
        if tally.is_empty() || tally.is_open() {
            unless_failed(round(Profile::Signed, false, FloatRound::Last, tally))?;
        }
        Ok(())
    }

    /// The data of a round in floats.
    fn float_data(&self, n_rounds: u64, profile: Profile, from_zero: bool) -> DataSet<'_> {
        let seed = self.options.seeds.first().copied().unwrap_or(1);
        self.plan.data(seed.wrapping_add(n_rounds * 0x1000_0001), profile, from_zero)
    }

    /// Both programs on one choice of data, in floats.
    fn float_round<'c>(&'c self, data: DataSet<'_>, kind: FloatRound, tally: &mut Tally<'c>) -> Result<(), Stop> {
        let is_bits = self.options.agreement == Agreement::Bits;
        let is_alone = self.options.seeds.is_empty();
        let compare = |known: &mut Known, a: &Scaled, b: &f64, dtype, largest| {
            let is_asked = match kind {
                FloatRound::Base => is_bits || is_alone || known.is_in_floats,
                FloatRound::Deciding => true,
                FloatRound::Defining | FloatRound::Last => false,
            };
            let is_settled = known.is_settled() && !is_asked;
            let is_finite = a.value.is_finite() && a.magnitude.is_finite();
            if is_settled || (!is_finite && !is_bits && kind != FloatRound::Last) {
                return Sameness::Open;
            }
            match self.approximately(a, b, dtype, largest) {
                Ok(error) => {
                    known.is_in_floats = true;
                    known.is_telling |= data.profile != Profile::Whole;
                    Sameness::Equal(error)
                }
                Err((first, second)) => Sameness::Different { world: "floating point", first, second },
            }
        };
        let run = |tally: &mut Tally<'c>| {
            if tally.is_whole {
                match self.whole_in_floats(data, tally, compare) {
                    Err(Stop::Failed(Error::StepLimit { .. })) if self.prepare(tally).is_ok() => {
                        tally.is_whole = false;
                    }
                    other => return other,
                }
            }
            self.chosen_in_floats(data, tally, compare)
        };
        let is_doubted = self.plan.decides && !data.profile.is_tame();
        Self::with_doubts(tally, is_doubted, run, |tally, doubts| {
            let firm = self.firm(data, tally, doubts);
            if tally.is_whole { firm.map_err(|stop| self.explain(stop, &Floats, &data.inputs())) } else { firm }
        })?;
        tally.n_data += usize::from(is_alone);
        Ok(())
    }

    /// Turns to evaluation on demand, where it is possible and it is plain that the first program, run whole, will be stopped.
    fn unless_too_long<'c>(&'c self, tally: &mut Tally<'c>, max_steps: u64) {
        if tally.is_whole && self.first.code.n_points() > max_steps {
            tally.is_whole = self.prepare(tally).is_err();
        }
    }

    /// Whether two rounds say little: which data a value comes from depends on other data.
    fn needs_many_data(&self) -> bool {
        self.plan.decides || self.plan.reads_integers
    }

    /// Whether a program has so many instructions that running it whole is cheaper than asking for its elements.
    fn is_long(&self) -> bool {
        let n_instructions = |compiled: &Compiled| compiled.kernel().instructions.len();
        n_instructions(&self.first).max(n_instructions(&self.second)) > MAX_INSTRUCTIONS
    }

    /// Turns to evaluation on demand, where it is possible and pays: there decisions are watched, and an element that fails is no
    /// failure of all.
    fn watch_decisions<'c>(&'c self, tally: &mut Tally<'c>) {
        tally.was_whole = tally.is_whole;
        if !self.is_long() || tally.n_steps_whole > MAX_STEPS_WHOLE {
            tally.is_whole &= self.prepare(tally).is_err();
        }
    }

    /// Rounds on bold data until every decision went both ways, or more of them say nothing new; where programs decide on points alone, any data do.
    /// `round` takes a profile, and whether a short program is to be run whole beside.
    fn until_decided<'c>(
        &'c self,
        tally: &mut Tally<'c>,
        mut round: impl FnMut(Profile, bool, &mut Tally<'c>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if !self.needs_many_data() {
            if self.plan.decides_on_points {
                self.watch_decisions(tally);
                round(Profile::Signed, false, tally)?;
            }
            return Ok(());
        }
        self.watch_decisions(tally);
        let (mut n_unreached, mut last_news) = (usize::MAX, 0);
        for cycle in 0..self.options.max_cycles {
            let is_enough =
                (cycle >= MIN_CYCLES && tally.n_steps > MIN_STEPS) || tally.n_steps > MAX_STEPS_OF_CYCLES / 4;
            let is_impatient = tally.n_steps > MIN_STEPS_OF_PATIENCE;
            let is_hopeless = (is_impatient && cycle > 2 * last_news + PATIENCE) || tally.n_steps > MAX_STEPS_OF_CYCLES;
            if cycle > 0 && (is_hopeless || (is_enough && n_unreached == 0)) {
                break;
            }
            let is_beside = cycle == 0 && tally.was_whole && tally.n_steps_whole <= MAX_STEPS_BESIDE;
            for (n_rounds, profile) in DECIDING.into_iter().enumerate() {
                let profile = if let Profile::Daring(_) = profile { Profile::Daring(cycle) } else { profile };
                let is_long = n_rounds >= MIN_DECIDING && tally.n_steps > MAX_STEPS_OF_CYCLES / 2;
                if is_long && tally.unreached().is_none_or(|unreached| unreached.is_empty()) {
                    break;
                }
                round(profile, is_beside, tally)?;
                if tally.is_whole {
                    tally.n_steps += tally.n_steps_whole;
                }
            }
            let now = tally.unreached().map_or(0, |unreached| unreached.len());
            if now < n_unreached {
                (n_unreached, last_news) = (now, cycle);
            }
        }
        let n_daring = if self.plan.decides { MIN_DARING * self.plan.n_daring() } else { 0 };
        for number in 0..n_daring {
            if tally.n_steps > MAX_STEPS_OF_DARING {
                break;
            }
            round(Profile::Daring(number), false, tally)?;
            if tally.is_whole {
                tally.n_steps += tally.n_steps_whole;
            }
        }
        Ok(())
    }

    /// Rounds on data that may give values to elements that have none; a profile that does is tried again, up to [`MAX_DEFINING`] times, for a round
    /// looks at few elements of a long program.
    fn until_defined<'c>(
        &'c self,
        tally: &mut Tally<'c>,
        mut round: impl FnMut(Profile, &mut Tally<'c>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        for profile in DEFINING {
            for _ in 0..MAX_DEFINING {
                let n_open = tally.n_open();
                if !tally.is_empty() && n_open == 0 {
                    return Ok(());
                }
                tally.seeks_values = true;
                let found = round(profile, tally);
                tally.seeks_values = false;
                found?;
                if tally.n_open() >= n_open {
                    break;
                }
            }
        }
        Ok(())
    }

    /// All rounds in exact arithmetic.
    fn exactly<'c>(&'c self, tally: &mut Tally<'c>) -> Result<(), Stop> {
        let Some(&seed) = self.options.seeds.first() else { return Ok(()) };
        self.unless_too_long(tally, self.max_steps());
        for (idx, &seed) in self.options.seeds.iter().enumerate() {
            self.round(self.plan.data(seed, Profile::Signed, idx == 1), tally)?;
        }
        for number in 0..self.plan.n_selections() {
            self.round(self.plan.data(seed, Profile::Selecting(number), false), tally)?;
        }
        let mut n_further = 0_u64;
        // Bold data may lead outside of what the first program is made for: such a round says nothing.
        let mut bold = |profile, is_beside: bool, tally: &mut Tally<'c>| {
            n_further += 1;
            let seed = seed.wrapping_add(n_further.wrapping_mul(0x1000_0001));
            let data = self.plan.data(seed, profile, false);
            if is_beside && !tally.is_whole {
                let whole = |tally: &mut Tally<'c>| self.whole(data, tally, &mut Vec::new());
                let settle = |tally: &mut Tally<'c>, doubts| {
                    self.confirmed(data, tally, doubts).map_err(|stop| self.explain_exactly(stop, data))
                };
                unless_failed(Self::with_doubts(tally, self.plan.decides, whole, settle))?;
            }
            unless_failed(self.round(data, tally))
        };
        self.until_decided(tally, &mut bold)?;
        self.until_defined(tally, |profile, tally| bold(profile, false, tally))
    }

    /// Both programs on one choice of data, in exact arithmetic.
    fn round<'c>(&'c self, data: DataSet<'_>, tally: &mut Tally<'c>) -> Result<(), Stop> {
        let mut by_identity = Vec::new();
        let run = |tally: &mut Tally<'c>| self.in_exact(data, tally, &mut by_identity);
        Self::with_doubts(tally, self.plan.decides, run, |tally, doubts| {
            let confirmed = self.confirmed(data, tally, doubts);
            if tally.is_whole { confirmed.map_err(|stop| self.explain_exactly(stop, data)) } else { confirmed }
        })?;
        tally.n_data += 1;
        if by_identity.is_empty() { Ok(()) } else { self.in_reals(data, tally, &by_identity) }
    }

    /// All elements or chosen ones in exact arithmetic.
    fn in_exact<'c>(
        &'c self,
        data: DataSet<'_>,
        tally: &mut Tally<'c>,
        by_identity: &mut Vec<Place>,
    ) -> Result<(), Stop> {
        if tally.is_whole {
            match self.whole(data, tally, by_identity) {
                Err(Stop::Failed(Error::StepLimit { .. })) if self.prepare(tally).is_ok() => tally.is_whole = false,
                other => return other,
            }
        }
        self.chosen(data, tally, by_identity)
    }

    /// Whether two values in exact arithmetic are equal.
    pub(super) fn sameness(&self, first: &Exact, second: &Exact, dtype: Dtype, profile: Profile) -> Sameness {
        let is_tame = profile.is_tame();
        let is_same = first.element == second.element;
        if !is_same && !first.is_transcendental && !second.is_transcendental {
            // Bold data have neighbours among floats: which of these an extremum takes, rounding decides.
            if !is_tame && self.plan.decides && self.is_next(&first.float, second.float.value) {
                return Sameness::Open;
            }
            return Sameness::Different {
                world: EXACT,
                first: format!("{:e}", first.float.value),
                second: exactly(first.float.value, second.float.value),
            };
        }
        let close = self.approximately(&first.float, &second.float.value, dtype, 0.0);
        let is_finite = first.float.value.is_finite() && first.float.magnitude.is_finite();
        match (is_same, close) {
            (true, Ok(error)) => Sameness::Equal(error),
            // Exact arithmetic knows no infinities: floats that are none have nothing to say.
            (true, Err(_)) if !is_finite || (!is_tame && !second.float.value.is_finite()) => Sameness::Equal(0.0),
            (false, _) if !is_finite => Sameness::Open,
            (false, Ok(_)) => Sameness::ByIdentity,
            (_, Err((first, second))) => Sameness::Different { world: "floating point", first, second },
        }
    }

    /// Whether two numbers are equal but for what a few operations round.
    fn is_next(&self, first: &Scaled, second: f64) -> bool {
        let epsilon = if self.has_single { f32::EPSILON.into() } else { f64::EPSILON };
        (first.value - second).abs() <= 8.0 * epsilon * first.magnitude
    }

    /// The error relative to the condition, or both values if that is too large; what is noise beside the largest condition of the output is no error.
    pub(super) fn approximately(
        &self,
        first: &Scaled,
        second: &f64,
        dtype: Dtype,
        largest: f64,
    ) -> Result<f64, (String, String)> {
        let is_single = dtype == Dtype::Float32 || self.has_single;
        let tolerance = if is_single { self.options.tolerance_single } else { self.options.tolerance };
        let (a, b) = (first.value, *second);
        if self.options.agreement == Agreement::Bits && a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()) {
            return Err((format!("{a:e}"), format!("{b:e}")));
        }
        if a == b || (a.is_nan() && b.is_nan()) {
            return Ok(0.0);
        }
        let scale = first.magnitude.max(a.abs()).max(b.abs());
        let error = (a - b).abs();
        match scale.is_finite() {
            true if error <= tolerance * scale => Ok(error / scale),
            true if error <= self.options.noise * largest => Ok(0.0),
            _ => Err((format!("{a:e}"), format!("{b:e}"))),
        }
    }
}

/// A difference, but not a failure of the first program.
fn unless_failed(found: Result<(), Stop>) -> Result<(), Stop> {
    match found {
        Err(Stop::Failed(_)) => Ok(()),
        other => other,
    }
}

/// The second of two numbers that are not equal, though they may look alike.
fn exactly(first: f64, second: f64) -> String {
    if first == second { format!("{second:e} but for what a float64 does not show") } else { format!("{second:e}") }
}

/// The writable arguments of both kernels, in pairs.
pub(super) fn outputs(first: &Kernel, second: &Kernel) -> Vec<(ArrayId, ArrayId)> {
    first.arguments().zip(second.arguments()).filter(|(array, _)| first[*array].is_writable()).collect()
}
