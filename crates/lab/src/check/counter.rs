//! A counter-example: a kernel that runs, in which both sides of a rule are stored beside each other.
//!
//! # Method
//! The data on which the two sides differ become tables of the kernel, so that it needs no arguments: `nestegg run` shows both
//! values. Where the data that were found do not show it in floats, others are tried; if none do, the kernel keeps its arguments, and the
//! values are those of the arithmetic that told them apart.

use std::collections::BTreeMap;
use std::fmt::Write;

use nestegg_egraph::judge::{Equation, Meaning, Wrong};
use nestegg_interp::{Inputs, Output, RunOptions, Values, run};
use nestegg_rules::Rule;
use nestegg_testgen::{Choices, Seeded};
use serde::Serialize;

use super::FLOATS;
use super::evidence::{self, Found};
use super::setting::{Array, Element, Setting, loop_of};

/// How many data are tried.
const N_DATA: u64 = 32;
/// How many data exact rules are tried on.
const N_EXACT: u64 = 24;
/// Floats that differ by more than this part of them are different.
const DIFFERENT: f64 = 1e-7;
/// The same of single ones.
const DIFFERENT_SINGLE: f64 = 1e-3;

/// An instance on which a rule is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct CounterExample {
    /// The left side of the rule there.
    pub left: String,
    /// The right side there.
    pub right: String,
    /// Where they differ: values of inames.
    pub at: String,
    /// The value of the left side.
    pub left_value: String,
    /// The value of the right side, or why it has none.
    pub right_value: String,
    /// The arithmetic in which these values are.
    pub arithmetic: &'static str,
    /// What the variables of the rule stand for.
    pub variables: Vec<(String, String)>,
    /// The text of the kernel.
    pub kernel: String,
}

impl CounterExample {
    /// What the judge found.
    pub(super) fn of_judge(
        rule: &Rule,
        setting: &Setting,
        (free, sides): (&[&'static str], &[String; 2]),
        wrong: &Wrong,
        variables: Vec<(String, String)>,
    ) -> Self {
        let finding = &wrong.finding;
        let n = finding.place.iter().find(|(name, _)| name == "n").map_or(setting.n, |(_, value)| *value);
        let mut free = free.to_vec();
        for known in finding.place.iter().filter_map(|(name, _)| loop_of(name)) {
            if !free.contains(&known.name) {
                free.push(known.name);
            }
        }
        let place: Vec<String> = finding.place.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let right_value = match (&finding.right_value, finding.difference) {
            (Ok(value), None) => value.to_string(),
            (Ok(value), Some(difference)) => format!("{value}, off by {difference:e}"),
            (Err(gap), _) => format!("none: {gap}"),
        };
        let found = Self {
            left: sides[0].clone(),
            right: sides[1].clone(),
            at: place.join(", "),
            left_value: finding.left_value.to_string(),
            right_value,
            arithmetic: "real arithmetic",
            variables,
            kernel: String::new(),
        };
        let elements = finding.elements.iter().cloned().collect();
        found.shown(rule, (setting, &free), Some(elements), n)
    }

    /// What the interpreter found.
    pub(super) fn of_interpreter(
        rule: &Rule,
        setting: &Setting,
        (free, sides): (&[&'static str], &[String; 2]),
        difference: Found,
        variables: Vec<(String, String)>,
    ) -> Self {
        let place = free.iter().zip(&difference.index).map(|(name, value)| format!("{name} = {value}"));
        let found = Self {
            left: sides[0].clone(),
            right: sides[1].clone(),
            at: place.collect::<Vec<_>>().join(", "),
            left_value: difference.left,
            right_value: difference.right,
            arithmetic: difference.arithmetic,
            variables,
            kernel: String::new(),
        };
        found.shown(rule, (setting, free), None, difference.n)
    }

    /// The same with a kernel that shows it, as far as floats do.
    fn shown(
        mut self,
        rule: &Rule,
        (setting, free): (&Setting, &[&'static str]),
        elements: Option<BTreeMap<String, f64>>,
        n: i64,
    ) -> Self {
        let setting = Setting { outer: free.to_vec(), n, ..setting.clone() };
        let name = rule.name.as_str().replace('-', "_");
        let stores = [("left", self.left.as_str()), ("right", self.right.as_str())];
        let is_exact = evidence::is_exact(rule);
        // A loop without points shows nothing where the values are stored in it.
        let sizes = if n == 0 { vec![0, 2] } else { vec![n] };
        for (n, seed) in sizes.iter().flat_map(|&n| (0..N_DATA).map(move |seed| (n, seed))) {
            let setting = Setting { n, ..setting.clone() };
            let given = elements.as_ref().filter(|_| seed == 0);
            let data = |name: &str, array: &Array| Some(data(&setting, (name, array), given, seed));
            let text = setting.kernel_with(&name, &stores, data);
            if let Some((at, left, right)) = first_difference(&text, is_exact) {
                self.at = setting.point(at);
                (self.left_value, self.right_value) = (left, right);
                self.arithmetic = FLOATS;
                self.kernel = text;
                break;
            }
        }
        if self.kernel.is_empty() {
            self.kernel = setting.kernel(&name, &stores);
        }
        self.kernel = format!("{}{}", self.comment(rule), self.kernel);
        self
    }

    fn comment(&self, rule: &Rule) -> String {
        let mut text =
            format!("# `left` and `right` are the two sides of the rule `{}`, which says they are equal:\n", rule.name);
        let at = if self.at.is_empty() { String::new() } else { format!(" where {}", self.at) };
        let _ =
            writeln!(text, "# left is {}, right is {}, in {}{at}.", self.left_value, self.right_value, self.arithmetic);
        text
    }
}

/// Where floats of two sides are not the same to the bit, on one of several data: the position of an element, and both values.
pub(super) fn differ(setting: &Setting, sides: &[String; 2]) -> Option<(usize, String, String)> {
    let stores = [("left", sides[0].as_str()), ("right", sides[1].as_str())];
    (0..N_EXACT).find_map(|seed| {
        let data = |name: &str, array: &Array| Some(data(setting, (name, array), None, seed));
        first_difference(&setting.kernel_with("trial", &stores, data), true)
    })
}

/// What the variables of a rule stand for.
pub(super) fn variables(
    equation: &Equation,
    spell: impl Fn(egg::Id) -> String,
    iname: impl Fn(nestegg_ir::InameId) -> String,
) -> Vec<(String, String)> {
    let text = |meaning: &Meaning| match meaning {
        Meaning::Values(ids) => ids.iter().map(|&id| spell(id)).collect::<Vec<_>>().join(", "),
        Meaning::Inames(inames) => inames.iter().map(&iname).collect::<Vec<_>>().join(", "),
    };
    equation.bindings.iter().map(|(name, meaning)| (name.clone(), text(meaning))).collect()
}

/// The elements of an array: given ones where they are, others drawn.
fn data(
    setting: &Setting,
    (name, array): (&str, &Array),
    given: Option<&BTreeMap<String, f64>>,
    seed: u64,
) -> Vec<String> {
    let sizes = setting.sizes(array);
    let n_elements: usize = sizes.iter().product();
    let mut hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        hash = hash.wrapping_mul(31).wrapping_add(u64::from(byte));
    }
    let mut choices = Seeded::new(hash);
    let is_float = array.element.is_float();
    let text = |value: f64| if is_float { format!("{value:?}") } else { format!("{value:.0}") };
    let element = |flat: usize| {
        let few = choices.below(24) as f64;
        let many = (choices.below(1 << 53) as f64 / (1_u64 << 52) as f64 - 1.0) * 2.0;
        let drawn = match seed % 6 {
            _ if !is_float => (few - 11.5).round() % 9.0 + 0.0,
            0 => (few - 11.5) / 4.0,
            1 => [-1.0, 0.0, -0.0, 1.0, 2.0, 0.0][choices.below(6) as usize],
            2 => (few + 1.0) / 8.0,
            3 => many,
            4 => many * [1e-200, 1e-3, 1.0, 1e3, 1e200][choices.below(5) as usize],
            _ => [-0.0, 0.0, many, many][choices.below(4) as usize],
        };
        let mut rest = flat;
        let mut index: Vec<String> = Vec::new();
        for &size in sizes.iter().rev() {
            index.insert(0, (rest % size.max(1)).to_string());
            rest /= size.max(1);
        }
        let place = if index.is_empty() { name.to_owned() } else { format!("{name}[{}]", index.join(", ")) };
        text(given.and_then(|given| given.get(&place)).copied().unwrap_or(drawn))
    };
    let values: Vec<String> = (0..n_elements).map(element).collect();
    if array.element == Element::Float32 {
        // Literals are single numbers, and finite ones.
        let single = |value: &String| value.parse::<f64>().ok().map(|value| (value as f32).clamp(f32::MIN, f32::MAX));
        return values.iter().map(|value| single(value).map_or(value.clone(), |value| format!("{value:?}"))).collect();
    }
    values
}

/// The position of the first element of `left` that is not that of `right`, with both values.
fn first_difference(text: &str, is_exact: bool) -> Option<(usize, String, String)> {
    let program = evidence::read(text)?;
    let inputs = Inputs::random(program.kernel(), &indexmap::IndexMap::new(), 0).ok()?;
    let outputs = run(&program, &inputs, &RunOptions { max_steps: 1_000_000 }).ok()?;
    let (left, right) = (outputs.arrays.get("left")?, outputs.arrays.get("right")?);
    let limit = if program.kernel().has_single() { DIFFERENT_SINGLE } else { DIFFERENT };
    for idx in 0..left.values.len() {
        if let (Some(a), Some(b)) = (element(left, idx), element(right, idx))
            && is_different(a, b, limit, is_exact)
        {
            return Some((idx, format!("{a:?}"), format!("{b:?}")));
        }
    }
    None
}

fn element(output: &Output<Values>, idx: usize) -> Option<f64> {
    if output.is_set.as_ref().is_some_and(|is_set| !is_set[idx]) {
        return None;
    }
    Some(match &output.values {
        Values::Floats(values) => values[idx],
        Values::Ints(values) => values[idx] as f64,
    })
}

fn is_different(a: f64, b: f64, limit: f64, is_exact: bool) -> bool {
    match (a.is_nan(), b.is_nan()) {
        // Where the left side has no value the rule claims nothing.
        (true, _) => false,
        (false, true) => true,
        _ if is_exact => a.to_bits() != b.to_bits(),
        _ if a == b => false,
        _ if a.is_infinite() || b.is_infinite() => true,
        _ => (a - b).abs() > limit * a.abs().max(b.abs()),
    }
}
