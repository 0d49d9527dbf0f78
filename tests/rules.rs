//! One property trial for each pattern rule in `rules/`: both sides have the same value wherever the condition holds.
//!
//! # Method
//! Points are given by a seed: numbers for the variables (0, 1, −1, negatives, fractions, large and small ones), lists
//! of them for rest variables, and for each variable what the e-graph might know of it. Both sides are evaluated in
//! float64 by the small evaluator below, which shares nothing with the project's other ones. The tags of a rule say
//! what is compared: values of an exact rule are equal (zeros of both signs are: not even C says which of them `min`
//! and `max` answer); those of one that reassociates are equal but for rounding, relative to the size of the terms; one that is
//! for finite values only is compared where everything is finite. A value on one side and none on the other is a failure.
//!
//! That the trials can fail is a trial too: rules that are wrong, most of them for want of their condition.

use std::collections::BTreeMap;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_egraph::{builtin, vocabulary::vocabulary};
use nestegg_rules::{Argument, Pattern, PatternNode, Rule, RuleBook, RuleKind, Test};
use nestegg_span::Source;
use nestegg_testgen::{Choices, Seeded};
use num_traits::ToPrimitive;

/// Points tried for each rule.
const N_POINTS: u64 = 4000;
/// A trial in which fewer points satisfy the condition proves nothing.
const MIN_POINTS: usize = 50;
/// Rounding of rules that reassociate, relative to the size of the terms.
const TOLERANCE: f64 = 1e-9;
/// Numbers at which rules break.
const SPECIAL: [f64; 14] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 10.0, -0.0, 1.5, 1e-3, -7.25];

/// Rules that are wrong, as `(rule …)` without documentation, and what is wrong with each.
const UNSOUND: [(&str, &str); 8] = [
    ("(rule div-self (/ ?x ?x) 1 :tag reassociate)", "lacks `:when (nonzero ?x)`"),
    ("(rule root-of-square (sqrt (* ?x ?x)) ?x :tag reassociate)", "lacks `:when (nonnegative ?x)`"),
    ("(rule square-of-root (* (sqrt ?x) (sqrt ?x)) ?x :tag reassociate)", "lacks `:when (nonnegative ?x)`"),
    ("(rule abs (fabs ?x) ?x :tag exact)", "lacks `:when (nonnegative ?x)`"),
    ("(rule distribute (* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)) :tag exact)", "has the wrong tag"),
    ("(rule drop-rest (+ ?x ?y ?rest...) (+ ?x ?y) :tag reassociate)", "forgets terms"),
    ("(rule floor (// ?x 2) (/ ?x 2) :tag reassociate)", "takes one operator for another"),
    ("(rule negate (not (< ?x ?y)) (> ?x ?y) :tag exact)", "forgets equality"),
];

/// Rules that are right with what the others lack.
const SOUND: [&str; 6] = [
    "(rule div-self (/ ?x ?x) 1 :when (nonzero ?x) :tag reassociate)",
    "(rule div-self-finite (/ ?x ?x) 1 :tag finite-only)",
    "(rule root-of-square (sqrt (* ?x ?x)) ?x :when (nonnegative ?x) :tag reassociate)",
    "(rule distribute (* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)) :tag reassociate)",
    "(rule keep-rest (+ ?x ?y ?rest...) (+ (+ ?x ?y) ?rest...) :tag reassociate)",
    "(rule negate (not (< ?x ?y)) (<= ?y ?x) :tag exact)",
];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let book = builtin::rule_book(&[]).unwrap_or_else(|errors| panic!("the built-in rules: {errors:?}"));
    for rule in book.rules.values().filter(|rule| matches!(rule.kind, RuleKind::Pattern { .. })) {
        let rule = rule.clone();
        trials.push(Trial::test(format!("sound/{}", rule.name), move || check(&rule).map_err(Failed::from)));
    }
    for text in SOUND {
        let rule = parse(text);
        trials.push(Trial::test(format!("accepts/{}", rule.name), move || check(&rule).map_err(Failed::from)));
    }
    for (text, what) in UNSOUND {
        let rule = parse(text);
        trials.push(Trial::test(format!("rejects/{}", rule.name), move || match check(&rule) {
            Ok(()) => Err(Failed::from(format!("{text} {what}, but no point shows it"))),
            Err(_) => Ok(()),
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn parse(text: &str) -> Rule {
    let source = Source::new("trial.rules", format!(";; Rules of a trial.\n\n;; A rule.\n{text}\n"));
    let book = RuleBook::parse(&[source], &vocabulary()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    book.rules.values().next().expect("the text is one rule").clone()
}

/// Both sides of a rule at many points.
fn check(rule: &Rule) -> Result<(), String> {
    let RuleKind::Pattern { lhs, rhs, when } = &rule.kind else { return Ok(()) };
    let has = |tag: &str| rule.tags.iter().any(|own| own.as_str() == tag);
    let (is_rounded, is_finite_only) = (has("reassociate"), has("finite-only"));
    let sorts = sorts(&[lhs, rhs])?;
    let mut n_points = 0;
    for seed in 0..N_POINTS {
        let point = Point::new(seed, &sorts);
        let mut unknown = None;
        let holds = when.as_ref().is_none_or(|when| {
            when.holds(|test| {
                point.satisfies(test).unwrap_or_else(|error| {
                    unknown = Some(error);
                    false
                })
            })
        });
        if let Some(error) = unknown {
            return Err(error);
        }
        if !holds {
            continue;
        }
        let (left, right) = (evaluate(lhs, &point)?, evaluate(rhs, &point)?);
        if is_finite_only && !(left.is_finite && right.is_finite) {
            continue;
        }
        n_points += 1;
        let same = match (left.value, right.value) {
            (a, b) if a == b || (a.is_nan() && b.is_nan()) => true,
            (a, b) if is_rounded || is_finite_only => {
                (a - b).abs() <= TOLERANCE * left.size.max(right.size).max(1e-300)
            }
            _ => false,
        };
        if !same {
            return Err(format!("{lhs} is {:e} but {rhs} is {:e} where {point}", left.value, right.value));
        }
    }
    match n_points {
        MIN_POINTS.. => Ok(()),
        _ => Err(format!("the condition holds at {n_points} of {N_POINTS} points only: nothing is shown")),
    }
}

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Number,
    Condition,
}

/// The sort of each variable, by where it stands; a rest variable's of each of its members.
fn sorts(patterns: &[&Pattern]) -> Result<BTreeMap<(String, bool), Sort>, String> {
    let mut sorts = BTreeMap::new();
    for pattern in patterns {
        for (_, node) in pattern.nodes() {
            let PatternNode::Apply { operator, children } = node else { continue };
            for (idx, &child) in children.iter().enumerate() {
                let sort = match operator.as_str() {
                    "and" | "or" | "not" => Sort::Condition,
                    "if" if idx == 0 => Sort::Condition,
                    _ => Sort::Number,
                };
                let key = match pattern.node(child) {
                    PatternNode::Variable(name) => (name.to_string(), false),
                    PatternNode::Rest(name) => (name.to_string(), true),
                    PatternNode::Number(_) | PatternNode::Apply { .. } => continue,
                };
                if *sorts.entry(key.clone()).or_insert(sort) != sort {
                    return Err(format!("`?{}` stands for a number and for a condition", key.0));
                }
            }
        }
    }
    Ok(sorts)
}

/// A value of a variable, with what may be known of it.
#[derive(Clone, Copy, Debug)]
struct Known {
    value: f64,
    is_constant: bool,
    is_integer: bool,
    /// A set of inames.
    inames: u64,
}

/// Values for all variables; a variable has one, a rest variable a list.
struct Point(BTreeMap<(String, bool), Vec<Known>>);

impl Point {
    fn new(seed: u64, sorts: &BTreeMap<(String, bool), Sort>) -> Self {
        let mut choices = Seeded::new(seed);
        let mut values = BTreeMap::new();
        for (key, &sort) in sorts {
            let n = if key.1 { choices.below(4) } else { 1 };
            values.insert(key.clone(), (0..n).map(|_| known(&mut choices, sort)).collect());
        }
        Self(values)
    }

    fn satisfies(&self, test: &Test) -> Result<bool, String> {
        let arguments: Vec<&[Known]> = test
            .arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Variable(name) => self.0.get(&(name.to_string(), false)),
                Argument::Rest(name) => self.0.get(&(name.to_string(), true)),
                Argument::Number(_) | Argument::Word(_) => None,
            })
            .map(Vec::as_slice)
            .collect();
        let all = |holds: fn(&Known) -> bool| arguments.iter().all(|list| list.iter().all(holds));
        let inames = |idx: usize| arguments[idx].iter().fold(0, |set, known| set | known.inames);
        Ok(match test.name.as_str() {
            "constant" => all(|known| known.is_constant),
            "nonzero" => all(|known| known.value != 0.0),
            "nonnegative" => all(|known| known.value >= 0.0),
            "float" => all(|known| !known.is_integer),
            "integer" => all(|known| known.is_integer),
            "invariant" => all(|known| known.inames == 0),
            "fewer-inames" => inames(0) & !inames(1) == 0 && inames(0) != inames(1),
            "same-inames" => inames(0) == inames(1),
            name => return Err(format!("the trial does not know what `{name}` means: teach it in tests/rules.rs")),
        })
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (idx, ((name, is_rest), values)) in self.0.iter().enumerate() {
            let values: Vec<String> = values.iter().map(|known| format!("{:?}", known.value)).collect();
            let (before, after) = if *is_rest { ("...", values.join(" ")) } else { ("", values.join("")) };
            write!(f, "{}?{name}{before} = {after}", if idx > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

fn known(choices: &mut Seeded, sort: Sort) -> Known {
    let is_integer = choices.below(3) == 0;
    let value = match (sort, choices.below(2)) {
        (Sort::Condition, coin) => coin as f64,
        (Sort::Number, 0) => SPECIAL[choices.below(SPECIAL.len() as u64) as usize],
        (Sort::Number, _) => {
            (choices.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0) * [1.0, 8.0, 0.1][choices.below(3) as usize]
        }
    };
    // An integer has no negative zero.
    let value = if is_integer && sort == Sort::Number { value.round() + 0.0 } else { value };
    Known { value, is_constant: choices.below(2) == 0, is_integer, inames: choices.below(8) }
}

/// A value; conditions are 0 and 1.
#[derive(Clone, Copy, Debug)]
struct Evaluated {
    value: f64,
    /// What rounding is relative to: the value with all terms taken as positive.
    size: f64,
    /// Whether everything that it is made of is finite, divisors not zero.
    is_finite: bool,
}

fn evaluate(pattern: &Pattern, point: &Point) -> Result<Evaluated, String> {
    // A rest variable is several values; all else is one.
    let mut done: Vec<Vec<Evaluated>> = Vec::with_capacity(pattern.n_nodes());
    let leaf = |value: f64| Evaluated { value, size: value.abs(), is_finite: value.is_finite() };
    for (_, node) in pattern.nodes() {
        let values = match node {
            PatternNode::Variable(name) => {
                point.0[&(name.to_string(), false)].iter().map(|known| leaf(known.value)).collect()
            }
            PatternNode::Rest(name) => {
                point.0[&(name.to_string(), true)].iter().map(|known| leaf(known.value)).collect()
            }
            PatternNode::Number(number) => vec![leaf(number.to_f64().unwrap_or(f64::NAN))],
            PatternNode::Apply { operator, children } => {
                let operands: Vec<Evaluated> = children.iter().flat_map(|child| done[child.index()].clone()).collect();
                vec![apply(operator.as_str(), &operands)?]
            }
        };
        done.push(values);
    }
    done.pop().and_then(|root| root.first().copied()).ok_or_else(|| "an empty pattern".to_owned())
}

fn apply(operator: &str, operands: &[Evaluated]) -> Result<Evaluated, String> {
    let values: Vec<f64> = operands.iter().map(|operand| operand.value).collect();
    let truth = |holds: bool| f64::from(u8::from(holds));
    let fold = |start: f64, join: fn(f64, f64) -> f64| values.iter().copied().fold(start, join);
    let value = match (operator, values.as_slice()) {
        ("+", _) => values.iter().sum::<f64>() + 0.0,
        ("*", _) => fold(1.0, |a, b| a * b),
        ("-", [a]) => -a,
        ("-", [a, b]) => a - b,
        ("/", [a, b]) => a / b,
        ("**" | "pow", [a, b]) => a.powf(*b),
        ("//", [a, b]) => (a / b).floor(),
        ("%", [a, b]) => a - b * (a / b).floor(),
        ("min", _) => fold(f64::INFINITY, f64::min),
        ("max", _) => fold(f64::NEG_INFINITY, f64::max),
        ("if", [c, a, b]) => {
            if *c != 0.0 {
                *a
            } else {
                *b
            }
        }
        ("<", [a, b]) => truth(a < b),
        ("<=", [a, b]) => truth(a <= b),
        (">", [a, b]) => truth(a > b),
        (">=", [a, b]) => truth(a >= b),
        ("==", [a, b]) => truth(a == b),
        ("!=", [a, b]) => truth(a != b),
        ("and", _) => truth(values.iter().all(|&value| value != 0.0)),
        ("or", _) => truth(values.iter().any(|&value| value != 0.0)),
        ("not", [a]) => truth(*a == 0.0),
        ("fabs", [a]) => a.abs(),
        ("sqrt", [a]) => a.sqrt(),
        ("cbrt", [a]) => a.cbrt(),
        ("exp", [a]) => a.exp(),
        ("exp2", [a]) => a.exp2(),
        ("expm1", [a]) => a.exp_m1(),
        ("log", [a]) => a.ln(),
        ("log2", [a]) => a.log2(),
        ("log10", [a]) => a.log10(),
        ("log1p", [a]) => a.ln_1p(),
        ("sin", [a]) => a.sin(),
        ("cos", [a]) => a.cos(),
        ("tan", [a]) => a.tan(),
        ("sinh", [a]) => a.sinh(),
        ("cosh", [a]) => a.cosh(),
        ("tanh", [a]) => a.tanh(),
        ("atan2", [a, b]) => a.atan2(*b),
        ("hypot", [a, b]) => a.hypot(*b),
        ("copysign", [a, b]) => a.copysign(*b),
        _ => {
            let n = operands.len();
            return Err(format!("the trial does not know `{operator}` of {n} operands: teach it in tests/rules.rs"));
        }
    };
    let sizes = operands.iter().map(|operand| operand.size);
    let size = match operator {
        "+" | "-" => sizes.sum(),
        "*" => sizes.product(),
        "/" => operands[0].size / values[1].abs().min(1.0),
        _ => sizes.fold(value.abs(), f64::max),
    };
    let has_finite_operands = operands.iter().all(|operand| operand.is_finite);
    Ok(Evaluated { value, size: size.max(value.abs()), is_finite: has_finite_operands && value.is_finite() })
}
