//! What a result states in its `meta`: where it does not equal its input exactly.
//!
//! `{"nestegg": {"tables": {"changed": 12, "largest_change": 3e-16, "error": 1e-14}, "constants": {"rounded": 2,
//! "unrolled": ["insn0"]}}}`: computing with tables changed or rounded numbers, and constants were computed as C does, those of `insn0` once its loops were unrolled. A result that says nothing
//! equals its input exactly.
//!
//! # Input
//! The `meta` of a kernel, which is free: everything else in it belongs to the user.
//! # Output
//! The statement; or the `meta` with a statement, and nothing else changed. A `meta` that is not an object becomes the
//! field `"meta"` of one.
//! # Not done
//! Validation does not trust a statement: it allows no more than the documented tolerance, whatever is stated.

use std::sync::Arc;

use indexmap::IndexMap;
use nestegg_forms::Tolerance;
use nestegg_ir::Kernel;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::search::Fold;
use crate::unrolled::Names;

/// The key of all that nestegg states.
const KEY: &str = "nestegg";

/// In how far a result is not equal to its input exactly.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stated {
    /// Numbers of tables that are not what the input says, if tables were computed.
    pub(crate) tables: Option<Tables>,
    /// Constants that were computed as C does, if any were.
    pub(crate) constants: Option<Constants>,
}

/// Numbers of tables were changed, within the tolerance for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tables {
    /// How many.
    changed: u64,
    /// By how much at most, as a fraction of the largest number of its column; at least as much as rounding does.
    pub(crate) largest_change: f64,
    /// By how much elements were found to be off at most, relative to their condition, as a power of ten; nothing where none were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<f64>,
}

/// Constants were computed in floats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Constants {
    /// In how many passes.
    rounded: u64,
    /// The instructions that were unrolled before the last of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unrolled: Vec<String>,
}

impl Stated {
    /// What is to be said of a result, whose elements were found to be off by so much.
    pub(crate) fn of_steps(folds: &[Fold], tolerance: Option<Tolerance>, error: Option<f64>) -> Self {
        let unrolled = folds.iter().flat_map(|fold| fold.unrolled.iter().cloned()).collect();
        Self {
            tables: tolerance.map(|tolerance| Tables {
                changed: tolerance.n_changed as u64,
                largest_change: tolerance.largest_change.max(f64::EPSILON),
                error: error.map(power_of_ten),
            }),
            constants: (!folds.is_empty()).then_some(Constants { rounded: folds.len() as u64, unrolled }),
        }
    }

    /// What a kernel says of itself. What cannot be read is not said.
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let mut ours = kernel.meta.as_deref().map(fields).unwrap_or_default();
        let ours = ours.swap_remove(KEY).map(|ours| fields(ours.get())).unwrap_or_default();
        Self {
            tables: ours.get("tables").and_then(|text| serde_json::from_str(text.get()).ok()),
            constants: ours.get("constants").and_then(|text| serde_json::from_str(text.get()).ok()),
        }
    }

    /// In how many passes more than in another kernel constants were computed, if in any, and what was unrolled before the last of them.
    pub(crate) fn folds_since(&self, other: &Self) -> Option<(usize, Names)> {
        let own = self.constants.as_ref()?;
        let (rounded, unrolled) = match &other.constants {
            Some(other) => (other.rounded, other.unrolled.as_slice()),
            None => (0, [].as_slice()),
        };
        let n_folds = own.rounded.checked_sub(rounded).filter(|&n_folds| n_folds > 0)?;
        let unrolled = own.unrolled.strip_prefix(unrolled)?;
        Some((usize::try_from(n_folds).ok()?, unrolled.iter().cloned().collect()))
    }

    /// Whether nothing is said.
    pub(crate) fn is_exact(&self) -> bool {
        *self == Self::default()
    }

    /// What is said of what was made in two steps. A number may move in both.
    fn and(self, other: Self) -> Self {
        let tables = |a: Tables, b: Tables| Tables {
            changed: a.changed.saturating_add(b.changed),
            largest_change: a.largest_change + b.largest_change,
            error: a.error.zip(b.error).map(|(a, b)| power_of_ten(a + b)),
        };
        let constants = |a: Constants, b: Constants| Constants {
            rounded: a.rounded.saturating_add(b.rounded),
            unrolled: [a.unrolled, b.unrolled].concat(),
        };
        Self {
            tables: both(self.tables, other.tables, tables),
            constants: both(self.constants, other.constants, constants),
        }
    }

    /// Says it of a kernel, together with what its `meta` says already.
    pub(crate) fn add_to(self, kernel: &mut Kernel) {
        if self.is_exact() {
            return;
        }
        let all = Self::of(kernel).and(self);
        let meta = kernel.meta.as_deref().unwrap_or("{}");
        let mut ours = fields(meta).swap_remove(KEY).map_or("{}".to_owned(), |ours| ours.get().to_owned());
        if let Some(tables) = &all.tables {
            ours = with_field(&ours, "tables", &json(tables));
        }
        if let Some(constants) = &all.constants {
            ours = with_field(&ours, "constants", &json(constants));
        }
        kernel.meta = Some(Arc::from(with_field(meta, KEY, &ours)));
    }
}

/// The least power of ten that is not less than an error; at most one.
fn power_of_ten(error: f64) -> f64 {
    let exponent = error.clamp(f64::EPSILON, 1.0).log10().ceil();
    format!("1e{exponent:.0}").parse().expect("a power of ten is a number")
}

/// Both, joined, or the one that there is.
fn both<T>(first: Option<T>, second: Option<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    match (first, second) {
        (Some(first), Some(second)) => Some(join(first, second)),
        (first, second) => first.or(second),
    }
}

/// The fields of an object, as they are written; of anything else none.
fn fields(object: &str) -> IndexMap<String, Box<RawValue>> {
    serde_json::from_str(object).unwrap_or_default()
}

/// An object with one field set anew; all others are kept as they are written. What is no object becomes the field `meta` of one.
fn with_field(object: &str, name: &str, value: &str) -> String {
    let text = object.trim();
    let Some(inside) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return format!("{{\"meta\":{text},\"{name}\":{value}}}");
    };
    let known = fields(text);
    if !known.contains_key(name) {
        let comma = if inside.trim().is_empty() { "" } else { "," };
        return format!("{{{}{comma}\"{name}\":{value}}}", inside.trim_end());
    }
    let fields = known.iter().map(|(key, old)| {
        let value = if key == name { value } else { old.get() };
        format!("{}:{value}", json(key))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data of finite numbers is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: Stated =
        Stated { tables: Some(Tables { changed: 3, largest_change: 3e-16, error: Some(1e-15) }), constants: None };

    /// The `meta` after a statement, and whether that is read back.
    fn check(meta: Option<&str>, stated: Stated, expected: &str) {
        let mut kernel = Kernel { meta: meta.map(Arc::from), ..Kernel::default() };
        let before = Stated::of(&kernel);
        stated.clone().add_to(&mut kernel);
        assert_eq!(kernel.meta.as_deref(), Some(expected));
        assert_eq!(Stated::of(&kernel), before.and(stated));
    }

    #[test]
    fn what_the_user_says_is_kept_to_the_letter() {
        let ours = r#""nestegg":{"tables":{"changed":3,"largest_change":3e-16,"error":1e-15}}"#;
        check(None, TABLES, &format!("{{{ours}}}"));
        check(Some("{ }"), TABLES, &format!("{{{ours}}}"));
        check(
            Some(r#"{"a":1e400,"b":[1.50,{"x":null}],"a":2}"#),
            TABLES,
            &format!(r#"{{"a":1e400,"b":[1.50,{{"x":null}}],"a":2,{ours}}}"#),
        );
        check(Some("[1, 2]"), TABLES, &format!("{{\"meta\":[1, 2],{ours}}}"));
        check(Some("\"{}\""), TABLES, &format!("{{\"meta\":\"{{}}\",{ours}}}"));
    }

    #[test]
    fn statements_add_up() {
        let first = r#"{"a":1e400,"nestegg":{"tables":{"changed":3,"largest_change":1e-16,"error":1e-14},"more":[1.50]},"b":"ü"}"#;
        let sum = r#"{"a":1e400,"nestegg":{"tables":{"changed":6,"largest_change":4e-16,"error":1e-13},"more":[1.50],"constants":{"rounded":2,"unrolled":["A"]}},"b":"ü"}"#;
        let constants = Constants { rounded: 2, unrolled: vec!["A".to_owned()] };
        check(Some(first), Stated { constants: Some(constants), ..TABLES }, sum);
    }

    #[test]
    fn errors_that_are_none_are_no_reason_to_panic() {
        for error in ["0.0", "-1.0", "1e308"] {
            let text = format!(r#"{{"nestegg":{{"tables":{{"changed":1,"largest_change":0.0,"error":{error}}}}}}}"#);
            let mut kernel = Kernel { meta: Some(Arc::from(text)), ..Kernel::default() };
            for _ in 0..3 {
                TABLES.add_to(&mut kernel);
            }
            let found = Stated::of(&kernel).tables.unwrap();
            assert!(found.error.is_some_and(|error| (1e-15..=1.0).contains(&error)), "{error}: {found:?}");
        }
    }

    #[test]
    fn what_is_exact_says_nothing() {
        let mut kernel = Kernel::default();
        Stated::of_steps(&[], None, None).add_to(&mut kernel);
        assert_eq!(kernel.meta, None);
        assert!(Stated::of(&kernel).is_exact());
        kernel.meta = Some(Arc::from(r#"{"nestegg":{"tables":{"changed":"many"}}}"#));
        assert!(Stated::of(&kernel).is_exact());
    }
}
