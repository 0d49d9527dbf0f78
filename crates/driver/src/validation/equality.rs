//! The one notion of equality: how two programs must be equal, by what they state of themselves.

use nestegg_interp::{Agreement, ValidateOptions};
use nestegg_ir::{Kernel, Licence};

use crate::stated::Stated;

/// The tolerance for tables that is documented (`docs/forms.md`): a result may state no larger change, and none of its elements may be further off,
/// relative to their condition.
const TABLE_TOLERANCE: f64 = 1e-10;

/// The same where something is computed in float32: numbers that were computed are rounded to it once. Rounding after every operation would hide more.
const TABLE_TOLERANCE_SINGLE: f64 = 2.0 * f32::EPSILON as f64;

/// Elements may be off by so many times what the result states that they, or its tables, are, for other sizes may add more rounding errors,
const MARGIN: f64 = 10.0;

/// and by this in any case.
const LEAST_TOLERANCE: f64 = 1e-13;

/// How two programs must be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Equality {
    /// Exactly, in the prime field; and in floats.
    Full,
    /// In floats, about as close as elements are known to be, and within the tolerance for tables; what is single is taken for double.
    Tables {
        /// By how much elements are off, relative to their condition; infinite if that is not known.
        error: f64,
        /// By how much numbers of tables are off, relative to the largest of their column.
        change: f64,
    },
    /// In floats, as close as rounding after every operation and the tolerance for tables allow; tables may be off, too.
    Floats {
        /// As in [`Self::Tables`].
        change: f64,
    },
    /// In floats, to the bit.
    Bits,
}

impl Equality {
    /// What two programs state: they are equal exactly, unless they state different changes, within the tolerance.
    pub(super) fn stated(first: &Kernel, second: &Kernel) -> Self {
        let (first, second) = (Stated::of(first), Stated::of(second));
        match first.constants == second.constants {
            true => Self::of_tables(&first, &second),
            false if is_within(&first) && is_within(&second) => {
                Self::Floats { change: change(&first) + change(&second) }
            }
            false => Self::Full,
        }
    }

    /// The same, constants aside.
    pub(super) fn of_tables(first: &Stated, second: &Stated) -> Self {
        if first.tables == second.tables || !is_within(first) || !is_within(second) {
            return Self::Full;
        }
        let error = |stated: &Stated| stated.tables.map_or(0.0, |tables| tables.error.unwrap_or(f64::INFINITY));
        Self::Tables { error: error(first) + error(second), change: change(first) + change(second) }
    }

    /// Under a strict licence floats are equal to the bit. Where something is computed in float32, tables are rounded to it.
    pub(super) fn options(self, licence: Licence, has_single: bool) -> ValidateOptions {
        let agreement = if licence == Licence::Strict { Agreement::Bits } else { Agreement::Close };
        let full = ValidateOptions { agreement, ..ValidateOptions::default() };
        let unit = if has_single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let noise = |change: f64| MARGIN * change.max(unit);
        match self {
            Self::Full => full,
            Self::Tables { error, change } => {
                let largest = if has_single { TABLE_TOLERANCE_SINGLE } else { TABLE_TOLERANCE };
                let tolerance = (MARGIN * error).clamp(LEAST_TOLERANCE, largest);
                ValidateOptions { seeds: Vec::new(), tolerance, noise: noise(change), ..full }
            }
            Self::Floats { change } => {
                ValidateOptions { seeds: Vec::new(), tolerance: TABLE_TOLERANCE, noise: noise(change), ..full }
            }
            Self::Bits => ValidateOptions { seeds: Vec::new(), tolerance: 0.0, tolerance_single: 0.0, ..full },
        }
    }
}

/// The change of tables that is stated.
fn change(stated: &Stated) -> f64 {
    stated.tables.map_or(0.0, |tables| tables.largest_change)
}

/// Whether what is stated is within the tolerance for tables.
fn is_within(stated: &Stated) -> bool {
    stated.tables.is_none_or(|tables| (0.0..=TABLE_TOLERANCE).contains(&tables.largest_change))
}
