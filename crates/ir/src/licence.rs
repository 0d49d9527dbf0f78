//! What an optimization may do to floating-point numbers, and to values that may trap.
//!
//! | licence | numbers are | so that |
//! | --- | --- | --- |
//! | `strict` | IEEE floats | results are equal to the bit: only code motion, sharing, dead code, and folding that is exact |
//! | `reassociate` | real numbers | sums and products may be reordered, distributed, factored and cancelled; terms with a zero coefficient go |
//! | `fast` | real numbers, nowhere infinite or undefined on the way | beside that, quotients may be products with reciprocals |
//!
//! The rules of rule files say by their tags what they need; a licence [grants](Licence::grants) tags.

/// What may be done to floating-point numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Licence {
    /// Nothing that changes a bit of a result; a NaN is as good as another.
    Strict,
    /// What holds for real numbers.
    #[default]
    Reassociate,
    /// What holds for real numbers unless an operand is infinite, not a number, or a zero divisor.
    Fast,
}

impl Licence {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Reassociate, Self::Fast];

    /// Its name in flags and strategies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Reassociate => "reassociate",
            Self::Fast => "fast",
        }
    }

    /// The licence of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|licence| licence.name() == name)
    }

    /// The tag of rules that this licence grants and the narrower ones do not.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Strict => "exact",
            Self::Reassociate => "reassociate",
            Self::Fast => "finite-only",
        }
    }

    /// Whether a rule with this tag may run. What is no licence's tag needs none.
    #[must_use]
    pub fn grants(self, tag: &str) -> bool {
        Self::ALL.into_iter().find(|licence| licence.tag() == tag).is_none_or(|needed| needed <= self)
    }

    /// The narrowest licence that grants all of these tags.
    #[must_use]
    pub fn needed<'a>(tags: impl IntoIterator<Item = &'a str>) -> Self {
        let of_tag = |tag: &str| Self::ALL.into_iter().find(|licence| licence.tag() == tag);
        tags.into_iter().filter_map(of_tag).max().unwrap_or(Self::Strict)
    }
}

/// Whether operations of floats may be run where the input does not run them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Traps {
    /// A quotient of floats or a call of a function does no harm wherever it is evaluated.
    #[default]
    Ignore,
    /// They may raise what somebody looks at: they stay under their conditions and in loops that may be empty.
    Keep,
}

/// What an optimization must keep of the meaning of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Semantics {
    /// What may be done to floating-point numbers.
    pub licence: Licence,
    /// Whether quotients and calls of floats may trap.
    pub traps: Traps,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_licences_grant_more() {
        let granted = |licence: Licence| {
            ["exact", "reassociate", "finite-only"].into_iter().filter(|tag| licence.grants(tag)).count()
        };
        assert_eq!(Licence::ALL.map(granted), [1, 2, 3]);
        assert_eq!(Licence::needed(["exact", "finite-only", "reassociate"]), Licence::Fast);
        assert_eq!(Licence::needed([]), Licence::Strict);
    }
}
