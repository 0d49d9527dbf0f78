//! One property trial for each pattern rule in `rules/`: both sides have the same value wherever the condition holds.
//!
//! # Method
//! Points are given by a seed: numbers for the variables (0, 1, −1, negatives, fractions, large and small ones), lists
//! of them for rest variables, and for each variable what the e-graph might know of it. Both sides are evaluated in
//! float64 by the small evaluator below, which shares nothing with the project's other ones. Values are functions of inames; those
//! that a reduction binds have a few values each, or none, and reductions go through all of them. What stands outside a reduction may depend on an
//! iname of the same name as one that it binds. The tags of a rule say
//! what is compared: values of an exact rule are equal (zeros of both signs are: not even C says which of them `min`
//! and `max` answer); those of one that reassociates are equal but for rounding, relative to the size of the terms; one that is
//! for finite values only is compared where everything is finite. A value on one side and none on the other is a failure.
//!
//! That the trials can fail is a trial too: rules that are wrong, most of them for want of their condition.

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_egraph::{builtin, vocabulary::vocabulary};
use nestegg_rules::{
    Argument, Condition, InameVariable, Pattern, PatternId, PatternNode, Rule, RuleBook, RuleKind, Test,
};
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
const UNSOUND: [(&str, &str); 28] = [
    ("(rule div-self (/ ?x ?x) 1 :tag reassociate)", "lacks `:when (nonzero ?x)`"),
    ("(rule root-of-square (sqrt (* ?x ?x)) ?x :tag reassociate)", "lacks `:when (nonnegative ?x)`"),
    ("(rule square-of-root (* (sqrt ?x) (sqrt ?x)) ?x :tag reassociate)", "lacks `:when (nonnegative ?x)`"),
    ("(rule abs (fabs ?x) ?x :tag exact)", "lacks `:when (nonnegative ?x)`"),
    ("(rule distribute (* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)) :tag exact)", "has the wrong tag"),
    ("(rule drop-rest (+ ?x ?y ?_rest...) (+ ?x ?y) :tag reassociate)", "forgets terms"),
    ("(rule floor (// ?x 2) (/ ?x 2) :tag reassociate)", "takes one operator for another"),
    ("(rule negate (not (< ?x ?y)) (> ?x ?y) :tag exact)", "forgets equality"),
    ("(rule captured (* ?a (sum (?q...) ?b)) (sum (?q...) (* ?a ?b)) :tag reassociate)", "captures inames of `?a`"),
    ("(rule escaped (sum (?q...) (* ?a ?b)) (* ?a (sum (?q...) ?b)) :tag reassociate)", "lets `?a` out"),
    (
        "(rule half-free (sum (?q ?r...) (* (?a... free-of ?q) ?b...)) (* ?a... (sum (?q ?r...) (* ?b...))) :tag reassociate)",
        "asks for one iname only",
    ),
    (
        "(rule wrong-part (sum (?q ?r...) (* (?a... free-of ?q) ?b...)) (sum (?q) (* ?a... (sum (?r...) (* ?b...)))) :when (some ?a...) :tag reassociate)",
        "takes the inames the wrong way round",
    ),
    (
        "(rule size-lost (sum (?q ?r...) ?a) (sum (?r...) ?a) :when (free-of ?a ?q) :tag reassociate)",
        "forgets the number of points",
    ),
    (
        "(rule size-of-all (sum (?q ?r...) ?a) (* (size ?q ?r...) (sum (?r...) ?a)) :when (free-of ?a ?q) :tag reassociate)",
        "takes the wrong size",
    ),
    (
        "(rule size-of-rest (sum (?q ?r...) ?a) (* (size ?r...) (sum (?r...) ?a)) :when (free-of ?a ?q) :tag reassociate)",
        "takes the size of the others",
    ),
    (
        "(rule not-invariant (sum (?q ?r...) ?a) (* (size ?q) (sum (?r...) ?a)) :tag reassociate)",
        "lacks `:when (free-of ?a ?q)`",
    ),
    (
        "(rule split-product (sum (?q...) (* ?a ?b)) (* (sum (?q...) ?a) (sum (?q...) ?b)) :tag reassociate)",
        "splits over a product",
    ),
    ("(rule split-and-lose (sum (?q...) (+ ?a ?_b...)) (sum (?q...) ?a) :tag reassociate)", "forgets terms"),
    (
        "(rule product-of-sums (product (?q...) (+ ?a ?b)) (+ (product (?q...) ?a) (product (?q...) ?b)) :tag reassociate)",
        "takes one reduction for another",
    ),
    (
        "(rule factor-once (product (?q...) (* (?a... free-of ?q...) ?b...)) (* ?a... (product (?q...) (* ?b...))) :when (some ?a...) :tag reassociate)",
        "takes a factor once",
    ),
    (
        "(rule term-of-sum (sum (?q...) (+ (?a... free-of ?q...) ?b...)) (+ ?a... (sum (?q...) (+ ?b...))) :when (some ?a...) :tag reassociate)",
        "takes a term once",
    ),
    (
        "(rule scale-any (min (?q...) (* (?a... free-of ?q...) ?b...)) (* ?a... (min (?q...) (* ?b...))) :when (and (some ?a...) (some ?b...)) :tag reassociate)",
        "forgets signs",
    ),
    (
        "(rule minimum-of-sum (min (?q...) (+ ?a ?b)) (+ (min (?q...) ?a) (min (?q...) ?b)) :tag reassociate)",
        "splits a minimum",
    ),
    ("(rule minimum-of-nothing (min (?q...) ?a) ?a :when (free-of ?a ?q...) :tag exact)", "forgets empty domains"),
    (
        "(rule minimum-is-maximum (min (?q...) (- ?a)) (- (min (?q...) ?a)) :tag reassociate)",
        "forgets to turn the extremum",
    ),
    (
        "(rule merge-others (sum (?q...) (product (?r...) ?a)) (sum (?q... ?r...) ?a) :tag reassociate)",
        "merges different reductions",
    ),
    ("(rule square-of-sum (sum (?q...) (* ?a ?a)) (** (sum (?q...) ?a) 2) :tag reassociate)", "squares a sum"),
    ("(rule total-of-any (sum (?q) ?_t) 1 :tag reassociate)", "lacks its table"),
];

/// Rules that are right with what the others lack.
const SOUND: [&str; 13] = [
    "(rule div-self (/ ?x ?x) 1 :when (nonzero ?x) :tag reassociate)",
    "(rule div-self-finite (/ ?x ?x) 1 :tag finite-only)",
    "(rule root-of-square (sqrt (* ?x ?x)) ?x :when (nonnegative ?x) :tag reassociate)",
    "(rule distribute (* ?a (+ ?b ?c)) (+ (* ?a ?b) (* ?a ?c)) :tag reassociate)",
    "(rule keep-rest (+ ?x ?y ?rest...) (+ (+ ?x ?y) ?rest...) :tag reassociate)",
    "(rule negate (not (< ?x ?y)) (<= ?y ?x) :tag exact)",
    "(rule push-in (* ?a (sum (?q...) ?b)) (sum (?q...) (* ?a ?b)) :when (free-of ?a ?q...) :tag reassociate)",
    "(rule pull-out (sum (?q...) (* ?a ?b)) (* ?a (sum (?q...) ?b)) :when (free-of ?a ?q...) :tag reassociate)",
    "(rule sized (sum (?q ?r...) ?a) (* (size ?q) (sum (?r...) ?a)) :when (free-of ?a ?q) :tag reassociate)",
    "(rule split-sum (sum (?q...) (+ ?a ?b)) <-> (+ (sum (?q...) ?a) (sum (?q...) ?b)) :tag reassociate)",
    "(rule split-each (sum (?q...) (+ ?a...)) (+ (each ?a... (sum (?q...) ?a))) :tag reassociate)",
    "(rule interchange (sum (?r ?q...) ?a) (sum (?q...) (sum (?r) ?a)) :tag reassociate)",
    "(rule term-many-times (sum (?q...) (+ (?a... free-of ?q...) ?b...)) (+ (* (size ?q...) (+ ?a...)) (sum (?q...) (+ ?b...))) :when (some ?a...) :tag reassociate)",
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
    let RuleKind::Pattern { lhs, rhs, when, .. } = &rule.kind else { return Ok(()) };
    let has = |tag: &str| rule.tags.iter().any(|own| own.as_str() == tag);
    let (is_rounded, is_finite_only) = (has("reassociate"), has("finite-only"));
    let sorts = sorts(&[lhs, rhs])?;
    let mut n_points = 0;
    for seed in 0..N_POINTS {
        let point = Point::new(seed, &sorts, lhs, when.as_ref())?;
        let mut unknown = None;
        let holds = when.as_ref().is_none_or(|when| {
            when.holds(|test| {
                point.satisfies(test, None).unwrap_or_else(|error| {
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

/// The sort of each variable for values, by where it stands; a rest variable's of each of its members.
fn sorts(patterns: &[&Pattern]) -> Result<BTreeMap<(String, bool), Sort>, String> {
    let mut sorts = BTreeMap::new();
    let elements: Vec<&str> = patterns
        .iter()
        .flat_map(|pattern| pattern.nodes())
        .filter_map(|(_, node)| match node {
            PatternNode::Each { rest, .. } => Some(rest.as_str()),
            _ => None,
        })
        .collect();
    for pattern in patterns {
        let mut note = |child: PatternId, sort: Sort| {
            let key = match pattern.node(child) {
                PatternNode::Variable(name) if elements.contains(&name.as_str()) => return Ok(()),
                PatternNode::Variable(name) => (name.to_string(), false),
                PatternNode::Rest(name) | PatternNode::Filtered { rest: name, .. } => (name.to_string(), true),
                _ => return Ok(()),
            };
            match *sorts.entry(key.clone()).or_insert(sort) == sort {
                true => Ok(()),
                false => Err(format!("`?{}` stands for a number and for a condition", key.0)),
            }
        };
        for (_, node) in pattern.nodes() {
            match node {
                PatternNode::Apply { operator, children } => {
                    for (idx, &child) in children.iter().enumerate() {
                        let sort = match operator.as_str() {
                            "and" | "or" | "not" => Sort::Condition,
                            "if" if idx == 0 => Sort::Condition,
                            _ => Sort::Number,
                        };
                        note(child, sort)?;
                    }
                }
                PatternNode::Reduce { body, .. } => note(*body, Sort::Number)?,
                _ => {}
            }
        }
    }
    Ok(sorts)
}

/// The number of inames that nothing binds.
const N_FREE: usize = 3;

/// What may be known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Any,
    Nonzero,
    Positive,
    Nonnegative,
    Constant,
    Zero,
}

/// A function of inames, with what may be known of it.
#[derive(Clone, Debug)]
struct Known {
    seed: u64,
    sort: Sort,
    class: Class,
    is_integer: bool,
    /// The inames that it depends on.
    inames: Vec<usize>,
    /// Not zero at even values of the first iname only, or at odd ones.
    parity: Option<usize>,
    /// As a factor: its exponent.
    exponent: i32,
    /// What it adds up to over all values of an iname.
    total: Option<(usize, f64)>,
    /// The operands of which it is a sum or product, for the operator.
    inner: Option<(String, Box<[Self; 2]>)>,
}

/// Values for all variables: one, a list for a rest variable, inames for those that reductions bind.
struct Point {
    values: BTreeMap<(String, bool), Vec<Known>>,
    bound: BTreeMap<String, Vec<usize>>,
    /// How many values each iname has.
    sizes: Vec<usize>,
    /// The values of inames outside reductions.
    env: Vec<usize>,
}

impl Point {
    fn new(
        seed: u64,
        sorts: &BTreeMap<(String, bool), Sort>,
        lhs: &Pattern,
        when: Option<&Condition>,
    ) -> Result<Self, String> {
        let mut choices = Seeded::new(seed);
        let mut res = Self { values: BTreeMap::new(), bound: BTreeMap::new(), sizes: vec![3; N_FREE], env: Vec::new() };
        for (_, node) in lhs.nodes() {
            let PatternNode::Reduce { inames, .. } = node else { continue };
            for iname in inames {
                let n = match iname {
                    InameVariable::One(_) => 1,
                    InameVariable::Rest(_) if inames.len() == 1 => 1 + choices.below(2),
                    InameVariable::Rest(_) => choices.below(3),
                };
                if res.bound.contains_key(iname.name().as_str()) {
                    continue;
                }
                let own = (0..n).map(|idx| res.sizes.len() + idx as usize).collect();
                res.sizes.extend((0..n).map(|_| [1, 2, 3, 2, 3, 0][choices.below(6) as usize]));
                res.bound.insert(iname.name().to_string(), own);
            }
        }
        res.env = res.sizes.iter().map(|&size| choices.below(size.max(1) as u64) as usize).collect();
        for (key, &sort) in sorts {
            let n = if key.1 { choices.below(4) } else { 1 };
            let values = (0..n).map(|_| res.known(&mut choices, sort)).collect();
            res.values.insert(key.clone(), values);
        }
        for test in when.into_iter().flat_map(Condition::tests).filter(|test| test.name.as_str() == "total") {
            if let [Argument::Variable(table), Argument::Variable(iname), Argument::Number(total)] = &test.arguments[..]
            {
                let own = res.bound[iname.as_str()][0];
                let total = total.to_f64().unwrap_or(f64::NAN);
                let table = res.values.get_mut(&(table.to_string(), false)).expect("it is bound");
                table[0].inames.push(own);
                table[0] =
                    Known { sort: Sort::Number, class: Class::Any, total: Some((own, total)), ..table[0].clone() };
            }
        }
        for (_, node) in lhs.nodes() {
            let PatternNode::Apply { operator, children } = node else { continue };
            // A child belongs to the first rest variable whose test it passes.
            let mut earlier: Vec<&Test> = Vec::new();
            let filtered = children.iter().filter_map(|&child| match lhs.node(child) {
                PatternNode::Filtered { rest, test } => Some((rest, Some(test))),
                _ => None,
            });
            let plain = children.iter().filter_map(|&child| match lhs.node(child) {
                PatternNode::Rest(rest) => Some((rest, None)),
                _ => None,
            });
            for (rest, test) in filtered.chain(plain) {
                let n = choices.below(3);
                let mut own = Vec::new();
                for _ in 0..n {
                    for _ in 0..20 {
                        let mut known = res.known(&mut choices, Sort::Number);
                        if test.is_some_and(|test| test.name.as_str() == "divisor") {
                            known = Known { class: Class::Nonzero, exponent: -1 - choices.below(2) as i32, ..known };
                        }
                        if test.is_some_and(|test| test.name.as_str() == "opens") {
                            let both = [res.known(&mut choices, Sort::Number), res.known(&mut choices, Sort::Number)];
                            known.inner = Some((operator.to_string(), Box::new(both)));
                        }
                        let passes = |test: &Test| res.satisfies(test, Some(&known));
                        let mut is_own = match test {
                            Some(test) => passes(test)?,
                            None => true,
                        };
                        for test in &earlier {
                            is_own &= !passes(test)?;
                        }
                        if is_own {
                            own.push(known);
                            break;
                        }
                    }
                }
                earlier.extend(test);
                let is_condition = sorts.get(&(rest.to_string(), true)) == Some(&Sort::Condition);
                if !is_condition {
                    res.values.insert((rest.to_string(), true), own);
                }
            }
        }
        Ok(res)
    }

    fn known(&self, choices: &mut Seeded, sort: Sort) -> Known {
        let class =
            [Class::Any, Class::Any, Class::Positive, Class::Nonnegative, Class::Constant, Class::Nonzero, Class::Zero]
                [choices.below(7) as usize];
        // Zero everywhere is rare, and may be part of the time.
        let class = if class == Class::Zero && choices.below(3) > 0 { Class::Any } else { class };
        let parity = (choices.below(6) == 0 && class == Class::Any).then(|| choices.below(2) as usize);
        let density = 1 + choices.below(4);
        let mut inames: Vec<usize> = (0..self.sizes.len()).filter(|_| choices.below(4) < density).collect();
        if class == Class::Constant || class == Class::Zero {
            inames.clear();
        }
        if parity.is_some() && !inames.contains(&0) {
            inames.push(0);
        }
        let (seed, is_integer) = (choices.below(u64::MAX), choices.below(3) == 0);
        Known { seed, sort, class, is_integer, inames, parity, exponent: 1, total: None, inner: None }
    }

    /// The value of a function of inames.
    fn at(&self, known: &Known, env: &[usize]) -> f64 {
        if let Some((operator, both)) = &known.inner {
            let [a, b] = &**both;
            let (a, b) = (self.at(a, env), self.at(b, env));
            return if operator == "+" { a + b } else { a * b };
        }
        if let Some((iname, total)) = known.total {
            let plain = Known { total: None, ..known.clone() };
            let last = self.sizes[iname].saturating_sub(1);
            let mut env = env.to_vec();
            if env[iname] < last {
                return self.at(&plain, &env);
            }
            let others = (0..last).map(|value| {
                env[iname] = value;
                self.at(&plain, &env)
            });
            return total - others.sum::<f64>();
        }
        if known.parity.is_some_and(|parity| env[0] % 2 != parity) {
            return 0.0;
        }
        let hash = known.inames.iter().fold(known.seed, |hash, &iname| {
            (hash ^ (iname * 8 + env[iname] + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let mut choices = Seeded::new(hash);
        if known.sort == Sort::Condition {
            return choices.below(2) as f64;
        }
        let value = match choices.below(2) {
            0 => SPECIAL[choices.below(SPECIAL.len() as u64) as usize],
            _ => {
                (choices.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0) * [1.0, 8.0, 0.1][choices.below(3) as usize]
            }
        };
        // An integer has no negative zero.
        let value = if known.is_integer { value.round() + 0.0 } else { value };
        let value = match known.class {
            Class::Any | Class::Constant => value,
            Class::Nonzero => {
                if value == 0.0 {
                    2.0
                } else {
                    value
                }
            }
            Class::Positive => {
                if value == 0.0 {
                    2.0
                } else {
                    value.abs()
                }
            }
            Class::Nonnegative => value.abs(),
            Class::Zero => 0.0,
        };
        value.powi(known.exponent)
    }

    /// Whether a test holds; of a child, which is asked about first, if there is one.
    fn satisfies(&self, test: &Test, child: Option<&Known>) -> Result<bool, String> {
        let mut arguments: Vec<Vec<&Known>> = child.into_iter().map(|known| vec![known]).collect();
        let mut inames: Vec<Vec<usize>> = child.into_iter().map(|known| known.inames.clone()).collect();
        let mut bounds: Vec<Option<(f64, f64)>> = child.into_iter().map(|known| Some(self.bounds(known))).collect();
        let mut number = None;
        for argument in &test.arguments {
            let (name, is_rest) = match argument {
                Argument::Variable(name) => (name.as_str(), false),
                Argument::Rest(name) => (name.as_str(), true),
                Argument::Number(value) => {
                    number = value.to_f64();
                    bounds.push(number.map(|value| (value, value)));
                    continue;
                }
                Argument::Size(sizes) => {
                    let size = self.size(sizes) as f64;
                    bounds.push(Some((size, size)));
                    continue;
                }
                Argument::Word(_) => continue,
            };
            if let Some(bound) = self.bound.get(name) {
                inames.push(bound.clone());
                arguments.push(Vec::new());
                bounds.push(None);
                continue;
            }
            let own: Vec<&Known> = self.values.get(&(name.to_owned(), is_rest)).into_iter().flatten().collect();
            inames.push(own.iter().flat_map(|known| known.inames.clone()).collect());
            bounds.push(own.first().filter(|_| own.len() == 1).map(|known| self.bounds(known)));
            arguments.push(own);
        }
        let all = |holds: &dyn Fn(&Known) -> bool| arguments.iter().flatten().all(|known| holds(known));
        let others = || inames[1..].iter().flatten().copied().collect::<BTreeSet<usize>>();
        let first = || inames[0].iter().copied().collect::<BTreeSet<usize>>();
        let count = || arguments[0].len().max(if arguments[0].is_empty() { inames[0].len() } else { 0 });
        let pair = || match bounds[..] {
            [Some(a), Some(b)] => Ok((a, b)),
            _ => Err(format!("the trial cannot compare in `{test}`")),
        };
        Ok(match test.name.as_str() {
            "constant" => all(&|known| known.class == Class::Constant),
            "nonzero" => all(&|known| self.is_nonzero(known)),
            "nonnegative" => all(&|known| self.bounds(known).0 >= 0.0),
            "float" => all(&|known| !known.is_integer),
            "integer" => all(&|known| known.is_integer),
            "invariant" => all(&|known| known.inames.is_empty()),
            "free-of" | "has-factor-free-of" => first().is_disjoint(&others()),
            "within" => first().is_subset(&others()),
            "fewer-inames" => first().is_subset(&others()) && first() != others(),
            "same-inames" => first() == others(),
            "some" => count() >= 1,
            "several" => count() >= 2,
            "sized" | "used-once" => true,
            "divisor" => child.is_some_and(|known| known.exponent < 0),
            "opens" => child.is_some_and(|known| known.inner.is_some()),
            "zero" => {
                let parities: BTreeSet<usize> = arguments.iter().flatten().filter_map(|known| known.parity).collect();
                parities.len() == 2 || arguments.iter().flatten().any(|known| known.class == Class::Zero)
            }
            "total" => arguments[0].iter().all(|known| {
                known.total.is_some_and(|(iname, total)| {
                    Some(total) == number && inames[1] == [iname] && self.sizes[iname] > 0
                })
            }),
            "<" => pair().map(|(a, b)| a.1 < b.0)?,
            "<=" => pair().map(|(a, b)| a.1 <= b.0)?,
            ">" => pair().map(|(a, b)| b.1 < a.0)?,
            ">=" => pair().map(|(a, b)| b.1 <= a.0)?,
            "==" => pair().map(|(a, b)| a.0 == a.1 && a == b)?,
            "!=" => pair().map(|(a, b)| a.1 < b.0 || b.1 < a.0)?,
            name => return Err(format!("the trial does not know what `{name}` means: teach it in tests/rules.rs")),
        })
    }

    /// Between which numbers a value is known to lie.
    fn bounds(&self, known: &Known) -> (f64, f64) {
        match known.class {
            _ if known.inner.is_some() || known.total.is_some() || known.sort == Sort::Condition => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            Class::Any | Class::Nonzero => (f64::NEG_INFINITY, f64::INFINITY),
            Class::Positive | Class::Nonnegative => (0.0, f64::INFINITY),
            Class::Constant => {
                let value = self.at(known, &self.env);
                (value, value)
            }
            Class::Zero => (0.0, 0.0),
        }
    }

    fn is_nonzero(&self, known: &Known) -> bool {
        match known.class {
            _ if known.inner.is_some() || known.total.is_some() => false,
            Class::Nonzero | Class::Positive => known.parity.is_none(),
            Class::Constant => self.at(known, &self.env) != 0.0,
            Class::Any | Class::Nonnegative | Class::Zero => false,
        }
    }

    fn size(&self, inames: &[InameVariable]) -> usize {
        inames.iter().flat_map(|iname| &self.bound[iname.name().as_str()]).map(|&iname| self.sizes[iname]).product()
    }

    /// The values of inames at all points of some of them.
    fn points(&self, inames: &[InameVariable], env: &[usize]) -> Vec<Vec<usize>> {
        let mut res = vec![env.to_vec()];
        for &iname in inames.iter().flat_map(|iname| &self.bound[iname.name().as_str()]) {
            let at = |env: &Vec<usize>, value: usize| {
                let mut env = env.clone();
                env[iname] = value;
                env
            };
            res = res.iter().flat_map(|env| (0..self.sizes[iname]).map(move |value| at(env, value))).collect();
        }
        res
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for ((name, is_rest), values) in &self.values {
            let of = |known: &Known| format!("{:?} of {:?}", self.at(known, &self.env), known.inames);
            let values: Vec<String> = values.iter().map(of).collect();
            write!(f, "?{name}{} = {}, ", if *is_rest { "..." } else { "" }, values.join(" "))?;
        }
        self.bound.iter().try_for_each(|(name, inames)| write!(f, "?{name} binds {inames:?}, "))?;
        write!(f, "sizes are {:?}", self.sizes)
    }
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

/// What evaluation knows at a place of a pattern.
struct Scope<'a> {
    pattern: &'a Pattern,
    point: &'a Point,
    /// What `each` goes through.
    elements: Vec<(String, Known)>,
}

fn evaluate(pattern: &Pattern, point: &Point) -> Result<Evaluated, String> {
    let mut scope = Scope { pattern, point, elements: Vec::new() };
    let all = scope.values(pattern.root(), &point.env)?;
    all.first().copied().ok_or_else(|| "an empty pattern".to_owned())
}

impl Scope<'_> {
    /// The values that stand for a pattern among the children of an operator: one, but for rest variables and what is made of them.
    fn values(&mut self, id: PatternId, env: &[usize]) -> Result<Vec<Evaluated>, String> {
        let leaf = |value: f64| Evaluated { value, size: value.abs(), is_finite: value.is_finite() };
        let point = self.point;
        let of = |known: &Known| leaf(point.at(known, env));
        let rest = |name: &str| point.values[&(name.to_owned(), true)].clone();
        Ok(match self.pattern.node(id) {
            PatternNode::Variable(name) => {
                let element = self.elements.iter().rev().find(|(known, _)| known == name.as_str());
                match element {
                    Some((_, known)) => vec![of(known)],
                    None => point.values[&(name.to_string(), false)].iter().map(of).collect(),
                }
            }
            PatternNode::Rest(name) | PatternNode::Filtered { rest: name, .. } => rest(name).iter().map(of).collect(),
            PatternNode::Number(number) => vec![leaf(number.to_f64().unwrap_or(f64::NAN))],
            PatternNode::Size(inames) => vec![leaf(point.size(inames) as f64)],
            PatternNode::Each { rest: name, body } => {
                let mut all = Vec::new();
                for known in rest(name) {
                    self.elements.push((name.to_string(), known));
                    all.extend(self.values(*body, env)?);
                    self.elements.pop();
                }
                all
            }
            PatternNode::Spread { function, rest: name } => {
                let all = rest(name);
                let inverse = |known: &Known| leaf(1.0 / point.at(known, env));
                match function.as_str() {
                    "open" => all
                        .iter()
                        .flat_map(|known| match &known.inner {
                            Some((_, both)) => both.iter().map(of).collect(),
                            None => vec![of(known)],
                        })
                        .collect(),
                    "inverse" => all.iter().map(inverse).collect(),
                    // (1/y)**n for y**-n.
                    "reciprocals" => all
                        .iter()
                        .map(|known| {
                            let base = Known { exponent: 1, ..known.clone() };
                            leaf((1.0 / point.at(&base, env)).powi(-known.exponent))
                        })
                        .collect(),
                    name => return Err(format!("the trial does not know `{name}`: teach it in tests/rules.rs")),
                }
            }
            PatternNode::Reduce { operator, inames, body } => {
                let mut operands = Vec::new();
                for env in point.points(inames, env) {
                    operands.extend(self.values(*body, &env)?);
                }
                let operator = match operator.as_str() {
                    "sum" => "+",
                    "product" => "*",
                    other => other,
                };
                vec![apply(operator, &operands)?]
            }
            PatternNode::Apply { operator, children } => {
                let mut operands = Vec::new();
                for &child in children {
                    operands.extend(self.values(child, env)?);
                }
                vec![apply(operator.as_str(), &operands)?]
            }
        })
    }
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
        ("floor", [a]) => a.floor(),
        ("ceil", [a]) => a.ceil(),
        ("atan", [a]) => a.atan(),
        ("asin", [a]) => a.asin(),
        ("acos", [a]) => a.acos(),
        ("fmin", [a, b]) => a.min(*b),
        ("fmax", [a, b]) => a.max(*b),
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
