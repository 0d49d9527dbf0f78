//! A quick look at every output element, to find those that validation should check first.
//!
//! # Input
//! A form of the first program that runs fast, the second program, and the options of the comparison.
//! # Output
//! A [`Survey`]: the elements at which form and second program differ in floats. These are only suspects.
//! [`validate`](crate::validate()) evaluates [them](ValidateOptions::suspects) before all others, in the first program itself,
//! so a wrong form cannot condemn a right program.
//! # Complexity
//! One run of both.

use nestegg_ir::Dtype;

use crate::conditioned::{Conditioned, Scaled};
use crate::data::Profile;
use crate::error::{Error, Trap};
use crate::float::Floats;
use crate::memory::{Data, Storage};
use crate::validate::compare::{Comparison, DEFINING, outputs};
use crate::validate::tally::Stop;
use crate::validate::whole::{Pair, largest};
use crate::validate::{Difference, Runnable, ValidateOptions, arguments_differ, compiled};

/// Where a run is stopped.
const MAX_STEPS: u64 = 40_000_000;

/// Of programs that must be equal exactly, elements that differ by more, relative to their condition, are suspects: to look at them is cheap.
const SUSPICIOUS: f64 = 1e-13;
const SUSPICIOUS_SINGLE: f64 = 1e-6;

/// So many suspects are named, those that differ most.
const MAX_SUSPECTS: usize = 8;

/// An element of an output: the argument and the index.
pub type Element = (String, Vec<i64>);

/// What all elements look like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// Elements that were looked at.
    pub n_elements: usize,
    /// Those that differ, the most suspicious first; not all of them.
    pub suspects: Vec<Element>,
    /// Why the second program fails, though the form does not: it reads or writes outside an array, or what has no value.
    pub failure: Option<Error>,
}

/// Looks at all elements; `None` if there are too many, the arguments differ, one of the programs runs too long, or the data have no meaning for the form.
///
/// # Errors
/// If the form cannot be compiled.
pub fn survey(form: &Runnable<'_>, second: &Runnable<'_>, options: &ValidateOptions) -> Result<Option<Survey>, Error> {
    if arguments_differ(form.kernel(), second.kernel()).is_some() {
        return Ok(None);
    }
    let Ok((plan, programs)) = compiled(form, second, options)? else { return Ok(None) };
    let options = match options.seeds.is_empty() {
        true => options.clone(),
        false => ValidateOptions {
            tolerance: options.tolerance.min(SUSPICIOUS),
            tolerance_single: options.tolerance_single.min(SUSPICIOUS_SINGLE),
            ..options.clone()
        },
    };
    let comparison = Comparison::new(programs, &plan, &options);
    Ok(if comparison.may_be_held() { comparison.survey() } else { None })
}

impl Comparison<'_> {
    /// On the first data on which all elements have finite values; `None` if there are none.
    fn survey(&self) -> Option<Survey> {
        std::iter::once(Profile::Signed).chain(DEFINING).find_map(|profile| self.survey_on(profile)).flatten()
    }

    /// On data of a profile; nothing in it if they do not tell. `None` if some elements have no finite value there.
    fn survey_on(&self, profile: Profile) -> Option<Option<Survey>> {
        let data = self.plan.data(self.options.seeds.first().copied().unwrap_or(1), profile, false);
        let (first, second) = match self.run(&Conditioned, &Floats, &data.inputs(), MAX_STEPS) {
            Ok(Pair::Memories(first, second, _)) => (first, second),
            Err(Stop::Different(difference, _)) => {
                let Difference::Trap { error, .. } = *difference else { return Some(None) };
                let is_plain = |error: &Error| match error {
                    Error::Trap { trap, .. } => matches!(trap, Trap::Uninitialised { .. } | Trap::OutOfBounds { .. }),
                    _ => false,
                };
                return Some(is_plain(&error).then(|| Survey { failure: Some(error), ..Survey::default() }));
            }
            Ok(Pair::NoMeaning(_)) | Err(_) => return Some(None),
        };
        let (mut n_elements, mut found) = (0, Vec::new());
        for (array, other) in outputs(self.first.kernel(), self.second.kernel()) {
            let layout = &self.first.code.layouts[array.index()];
            let (left, right) = (&first[array.index()], &second[other.index()]);
            let largest = largest(left);
            for position in (0..layout.len).filter(|&position| left.has_value(position)) {
                if let Data::Floats(values) = &left.data
                    && !values[position].value.is_finite()
                {
                    return None;
                }
                n_elements += 1;
                let by = self.suspicion((left, right), position, layout.dtype, largest);
                if by > 0.0 {
                    found.push((by, array, position));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let suspects = found.into_iter().take(MAX_SUSPECTS).map(|(_, array, position)| {
            let layout = &self.first.code.layouts[array.index()];
            (layout.name.clone(), layout.index(position))
        });
        Some(Some(Survey { n_elements, suspects: suspects.collect(), failure: None }))
    }

    /// By how much an element differs, relative to its condition; zero where it is as close as it must be, or the form has no finite value.
    fn suspicion(
        &self,
        (first, second): (&Storage<Scaled>, &Storage<f64>),
        position: usize,
        dtype: Dtype,
        largest: f64,
    ) -> f64 {
        if !second.has_value(position) {
            return f64::INFINITY;
        }
        match (&first.data, &second.data) {
            (Data::Floats(a), Data::Floats(b)) => {
                let (a, b) = (&a[position], b[position]);
                let is_finite = a.value.is_finite() && a.magnitude.is_finite();
                if !is_finite || self.approximately(a, &b, dtype, largest).is_ok() {
                    return 0.0;
                }
                let by = (a.value - b).abs() / a.magnitude.max(f64::MIN_POSITIVE);
                if by.is_finite() { by } else { f64::INFINITY }
            }
            (Data::Ints(a), Data::Ints(b)) if a[position] == b[position] => 0.0,
            _ => f64::INFINITY,
        }
    }
}
