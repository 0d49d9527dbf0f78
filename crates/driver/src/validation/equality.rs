//! The one notion of equality: how two programs must be equal, by what they state of themselves.

use nestegg_interp::{Agreement, ValidateOptions};
use nestegg_ir::{Kernel, Licence};

use crate::stated::Stated;

/// The tolerance for tables that is documented (`docs/forms.md`): a result may state no larger change, and none of its elements may be further off,
/// relative to their condition.
const TABLE_TOLERANCE: f64 = 1e-10;

/// How two programs must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equality {
    /// Exactly, in the prime field; and in floats.
    Full,
    /// In floats, as close as the tolerance for tables allows; what is single is taken for double.
    Tables,
    /// In floats, as close as rounding after every operation and the tolerance for tables allow.
    Floats,
    /// In floats, to the bit.
    Bits,
}

impl Equality {
    /// What two programs state: they are equal exactly, unless they state different changes, within the tolerance.
    pub(super) fn stated(first: &Kernel, second: &Kernel) -> Self {
        let (first, second) = (Stated::of(first), Stated::of(second));
        match first.constants == second.constants {
            true => Self::of_tables(first, second),
            false if is_within(first) && is_within(second) => Self::Floats,
            false => Self::Full,
        }
    }

    /// The same, constants aside.
    pub(super) fn of_tables(first: Stated, second: Stated) -> Self {
        if first.tables == second.tables || !is_within(first) || !is_within(second) {
            return Self::Full;
        }
        Self::Tables
    }

    /// Under a strict licence floats are equal to the bit.
    pub(super) fn options(self, licence: Licence) -> ValidateOptions {
        let agreement = if licence == Licence::Strict { Agreement::Bits } else { Agreement::Close };
        let full = ValidateOptions { agreement, ..ValidateOptions::default() };
        match self {
            Self::Full => full,
            Self::Tables | Self::Floats => ValidateOptions { seeds: Vec::new(), tolerance: TABLE_TOLERANCE, ..full },
            Self::Bits => ValidateOptions { seeds: Vec::new(), tolerance: 0.0, tolerance_single: 0.0, ..full },
        }
    }
}

/// Whether what is stated is within the tolerance for tables.
fn is_within(stated: Stated) -> bool {
    stated.tables.is_none_or(|tables| (0.0..=TABLE_TOLERANCE).contains(&tables.largest_change))
}
