//! Both sides of an equation in the interpreter, as two kernels.
//!
//! # Output
//! Whether they agree at several sizes, none and one among them, over all points of their loops: in a prime field or in real arithmetic, and in
//! floats. Floats of an exact rule agree to the bit, those of others within the rounding of their operations; a rule for finite values is
//! not held to what is not finite.

use indexmap::IndexMap;
use nestegg_interp::{Agreement, Difference, RunOptions, ValidateOptions, Verdict, validate};
use nestegg_ir::Program;
use nestegg_rules::Rule;
use nestegg_span::Source;

use super::setting::Setting;
use super::{FLOATS, counter};

/// Sizes to compare at, beside that of the setting.
const SIZES: [i64; 3] = [0, 1, 3];
/// Where a run is stopped: instances are small.
const MAX_STEPS: u64 = 2_000_000;
/// How often all kinds of data are gone through for decisions that have gone one way only.
const MAX_CYCLES: usize = 2;

/// What the interpreter says of two sides.
pub(super) enum Compared {
    /// Nothing: one of them cannot be run.
    Nothing,
    /// They are equal.
    Equal {
        /// The largest difference of floats relative to the condition, in roundoffs of the type.
        rounding: f64,
    },
    /// They are not.
    Different(Found),
}

/// Where two sides differ.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The value of `n`.
    pub(super) n: i64,
    /// The point.
    pub(super) index: Vec<i64>,
    pub(super) left: String,
    pub(super) right: String,
    /// `exact arithmetic`, `real arithmetic` or `floating point`.
    pub(super) arithmetic: &'static str,
}

/// Compares two sides in loops over `free`.
pub(super) fn compare(rule: &Rule, setting: &Setting, free: &[&'static str], sides: &[String; 2]) -> Compared {
    let mut setting = Setting { outer: free.to_vec(), ..setting.clone() };
    let mut sizes = vec![setting.n];
    if setting.has_parameter() {
        let may_be_empty = !sides.iter().any(|side| may_have_no_value(side));
        sizes.extend(SIZES.into_iter().filter(|size| *size != setting.n && (*size > 0 || may_be_empty)));
    }
    let mut res = Compared::Nothing;
    for n in sizes {
        setting.n = n;
        let programs = sides.each_ref().map(|side| read(&setting.kernel("side", &[("out", side)])));
        let [Some(left), Some(right)] = programs else { return Compared::Nothing };
        let options = ValidateOptions {
            parameters: [("n".to_owned(), n)]
                .into_iter()
                .filter(|_| setting.has_parameter())
                .collect::<IndexMap<_, _>>(),
            agreement: if is_exact(rule) { Agreement::Bits } else { Agreement::Close },
            max_cycles: MAX_CYCLES,
            run: RunOptions { max_steps: MAX_STEPS },
            max_steps_of_element: MAX_STEPS,
            ..ValidateOptions::default()
        };
        match validate(&left, &right, &options) {
            Err(_) => {}
            Ok(Verdict::Equal(evidence)) => {
                let so_far = if let Compared::Equal { rounding } = res { rounding } else { 0.0 };
                let roundoff = if left.kernel().has_single() { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
                if evidence.n_elements > 0 {
                    res = Compared::Equal { rounding: so_far.max(evidence.largest_error / roundoff) };
                }
            }
            Ok(Verdict::Different(Difference::Value { index, world, first, second, .. })) => {
                if is_for_finite_values(rule) && [&first, &second].into_iter().any(|value| !is_finite(value)) {
                    continue;
                }
                // Where the left side has no value, the rule claims nothing.
                if first.starts_with("NaN") || first.starts_with("-NaN") {
                    continue;
                }
                // The extremum of nothing is infinite, and a number more is too; the field does not know.
                if ["inf", "-inf"]
                    .into_iter()
                    .any(|infinite| first.starts_with(infinite) && second.starts_with(infinite))
                {
                    continue;
                }
                let arithmetic = world;
                return Compared::Different(Found { n, index, left: first, right: second, arithmetic });
            }
            Ok(Verdict::Different(Difference::Trap { program: "the second", error })) => {
                let is_expected = is_for_finite_values(rule) || sides.iter().any(|side| may_have_no_value(side));
                if !is_expected {
                    let (left, right) = ("a value".to_owned(), format!("none: {error}"));
                    let index = Vec::new();
                    return Compared::Different(Found { n, index, left, right, arithmetic: FLOATS });
                }
            }
            // What the left side does not say, the rule does not claim.
            Ok(Verdict::Different(_)) => {}
        }
    }
    if is_exact(rule)
        && let Some((at, left, right)) = counter::differ(&Setting { n: 2, ..setting.clone() }, sides)
    {
        return Compared::Different(Found {
            n: 2,
            index: Vec::new(),
            left,
            right: format!("{right} where {}", setting.point(at)),
            arithmetic: FLOATS,
        });
    }
    res
}

/// Reads a kernel; `None` if the text is none.
pub(super) fn read(text: &str) -> Option<Program> {
    nestegg_dump::read_text(&Source::new("side.knl", text)).ok().map(|read| read.program)
}

/// Whether an expression may have no value somewhere. Such values may be evaluated where the kernel does not (`--traps ignore`), so that no
/// rule is held to what they are under a loop without points.
pub(super) fn may_have_no_value(expression: &str) -> bool {
    ["/", "%", "pow(", "log", "sqrt(", "tan(", "acos(", "asin(", "atanh(", "acosh(", "**-", "** -", "**("]
        .into_iter()
        .any(|partial| expression.contains(partial))
}

/// Whether a rule claims equality to the bit.
pub(super) fn is_exact(rule: &Rule) -> bool {
    rule.tags.iter().all(|tag| tag.as_str() == "exact")
}

fn is_for_finite_values(rule: &Rule) -> bool {
    rule.tags.iter().any(|tag| tag.as_str() == "finite-only")
}

fn is_finite(value: &str) -> bool {
    value.trim().parse::<f64>().map_or(true, f64::is_finite)
}
