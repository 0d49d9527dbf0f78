//! What a single atom of a rule file is: a variable, a key, a number or a word.

use nestegg_span::Span;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use crate::error::RuleError;
use crate::name::Name;

/// An atom, classified by how it is spelled.
pub(crate) enum Atom {
    /// `?x`; the name has no question mark.
    Variable(Name),
    /// `?xs...`; the name has neither the question mark nor the dots.
    Rest(Name),
    /// `:when`; the name has no colon.
    Key(Name),
    /// `3`, `-0.25`, `1/3`.
    Number(BigRational),
    /// Anything else.
    Word(Name),
}

/// Classifies the atom `text`, which is not empty.
pub(crate) fn classify(text: &str, at: Span) -> Result<Atom, RuleError> {
    if let Some(variable) = text.strip_prefix('?') {
        let (name, rest) = match variable.strip_suffix("...") {
            Some(name) => (name, true),
            None => (variable, false),
        };
        // `?_c` says that nothing is made of what it stands for.
        return match (Name::is_valid(name.strip_prefix('_').unwrap_or(name)), rest) {
            (true, true) => Ok(Atom::Rest(name.into())),
            (true, false) => Ok(Atom::Variable(name.into())),
            (false, _) => Err(RuleError::BadVariable { text: text.into(), at }),
        };
    }
    if let Some(key) = text.strip_prefix(':') {
        return Ok(Atom::Key(key.into()));
    }
    if looks_like_number(text) {
        return number(text).map(Atom::Number).ok_or_else(|| RuleError::BadNumber { text: text.into(), at });
    }
    Ok(Atom::Word(text.into()))
}

/// Whether a reader would take `text` for a number, well formed or not.
fn looks_like_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.strip_prefix('.').unwrap_or(unsigned);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// The exact value of an integer, a decimal fraction or a ratio of integers.
fn number(text: &str) -> Option<BigRational> {
    let (unsigned, negative) = match text.strip_prefix('-') {
        Some(unsigned) => (unsigned, true),
        None => (text, false),
    };
    let value = if let Some((above, below)) = unsigned.split_once('/') {
        let below = natural(below)?;
        if below.is_zero() {
            return None;
        }
        BigRational::new(natural(above)?, below)
    } else if let Some((whole, fraction)) = unsigned.split_once('.') {
        natural(whole)?;
        natural(fraction)?;
        let scale = BigInt::from(10).pow(u32::try_from(fraction.len()).ok()?);
        BigRational::new(natural(&[whole, fraction].concat())?, scale)
    } else {
        BigRational::from_integer(natural(unsigned)?)
    };
    Some(if negative { -value } else { value })
}

/// A natural number in decimal digits, at least one.
fn natural(digits: &str) -> Option<BigInt> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(number(text).map(|value| value.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn numbers_are_exact() {
        check("12", Some("12"));
        check("-7", Some("-7"));
        check("0.50", Some("1/2"));
        check("-0.1", Some("-1/10"));
        check("2/6", Some("1/3"));
        check("-0", Some("0"));
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in ["1/0", "+1", "1.", ".5", "1e3", "1/2/3", "1.5/2", "1x", "0x10"] {
            assert!(looks_like_number(text), "{text}");
            check(text, None);
        }
    }

    #[test]
    fn operators_are_words() {
        for text in ["+", "-", "**", "//", "...", "-x", "=="] {
            assert!(matches!(classify(text, Span::point(0)), Ok(Atom::Word(_))), "{text}");
        }
    }
}
