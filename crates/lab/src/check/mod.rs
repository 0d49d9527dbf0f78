//! Whether rules are sound: each is tried on small kernels before anybody relies on it.
//!
//! # Input
//! Rules.
//! # Output
//! A [`Verdict`] on each: how often it was tried, and how large rounding errors were; or a [counter-example](CounterExample), a kernel
//! that runs; or why it could not be tried at all, which is no verdict on the rule.
//! # Method
//! A rule is run where it runs in earnest: [instances](instance) of its left side become kernels, kernels become e-graphs, and the
//! rule is applied to these, so conditions are read from the same analysis, at the same edges. A guided rule has no left side; its
//! instances come from [shapes](SHAPES) of sums, products and reductions. Each equation is judged twice, by means that share nothing:
//!
//! - by the [judge](nestegg_egraph::judge), in real numbers, at the places and on the data that it chooses;
//! - by [the interpreter](evidence), which runs both sides as kernels over all points of their loops: in a prime field, and in floats within
//!   what the rule's tags allow; to the bit, if it is exact.
//! # Complexity
//! [`N_FIRED`] kernels for each direction of a rule, looked for among at most [`MAX_TRIED`].
//! # Not done
//! Instances are small and few: a rule that is wrong on rare kernels only may pass. [`mutate`](crate::mutate) measures how many do.

mod counter;
mod evidence;
pub(crate) mod instance;
mod scope;
pub(crate) mod setting;
pub(crate) mod values;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use nestegg_egraph::encode;
use nestegg_egraph::judge::{Equation, Judge, Judged, spelled};
use nestegg_egraph::pattern::{Functions, functions};
use nestegg_egraph::saturate::equations;
use nestegg_ir::domains::Domains;
use nestegg_ir::types::Type;
use nestegg_ir::{Kernel, Semantics};
use nestegg_rules::{Pattern, Rule, RuleBook, RuleKind, Vocabulary};
use nestegg_span::Source;
use rayon::prelude::*;
use serde::Serialize;

pub use counter::CounterExample;
use evidence::Compared;
use instance::Instance;
use setting::Setting;
use values::Hints;

/// How many kernels on which a rule fires are enough, for each side that it matches.
pub const N_FIRED: usize = 120;
/// How many kernels are made in the hope of these.
pub const MAX_TRIED: u64 = 3000;
/// How many kernels are made in the hope of a smaller counter-example.
const N_SMALLER: u64 = 60;
/// The arithmetic of counter-examples that the kernel itself shows.
const FLOATS: &str = "floating point";
/// How many equations of one kernel the interpreter looks at.
const MAX_COMPARED: usize = 3;
/// How many e-nodes a rule may add to one kernel.
const MAX_NODES: usize = 2000;

/// What guided rules look for, as left sides.
const SHAPES: &str = "
;; Shapes for guided rules.

;; Products with a common factor.
(rule shape-common (+ (* ?a ?x) (* ?b ?x) ?rest...) 0)
;; Multiples.
(rule shape-multiples (+ (* 2 ?a) (* 2 ?b) ?rest...) 0)
;; Multiples of products with a common factor.
(rule shape-shared (+ (* 3 ?a ?x) (* 3 ?a ?y) ?rest...) 0)
;; Quotients.
(rule shape-quotients (+ (/ ?a ?x) (/ ?b ?x) ?rest...) 0)
;; A sum.
(rule shape-sum (+ ?a ?b ?c ?rest...) 0)
;; A product.
(rule shape-product (* ?a ?b ?c ?rest...) 0)
;; A reduction of a product.
(rule shape-reduction (sum (?q...) (* ?a ?b ?rest...)) 0)
;; A reduction of a product of sums.
(rule shape-nested (sum (?q...) (* (+ (* ?a ?b) (* ?c ?d) ?u...) ?e ?v...)) 0)
;; A reduction in a reduction.
(rule shape-reductions (sum (?q...) (* ?a (sum (?r...) (* ?b ?c ?u...)) ?v...)) 0)
";

/// What became of a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The rule.
    pub rule: String,
    /// Its tags; none for one that is exact.
    pub tags: Vec<String>,
    /// What was found.
    pub verdict: Verdict,
}

/// What was found of a rule.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing against it.
    Sound(Trials),
    /// An instance on which it is wrong.
    Unsound(Box<CounterExample>),
    /// It never fired, or nothing could be said where it did.
    NotChecked {
        /// In words.
        reason: String,
    },
}

/// How a rule was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trials {
    /// Kernels on which it fired.
    pub kernels: usize,
    /// Equations that were judged.
    pub equations: usize,
    /// Of these, the ones that the interpreter compared too.
    pub compared: usize,
    /// Equations of which the judge could say nothing.
    pub unjudged: usize,
    /// The largest difference of floats, relative to the condition of the value, in roundoffs of the type.
    pub rounding: f64,
}

/// Checks rules, in parallel; the verdicts are in the order of the rules, whatever the number of threads.
#[must_use]
pub fn check_all(rules: &[&Rule], done: impl Fn(&Checked) + Sync) -> Vec<Checked> {
    let one = |rule: &&Rule| {
        let checked = check(rule);
        done(&checked);
        checked
    };
    rules.par_iter().map(one).collect()
}

/// Checks a rule.
#[must_use]
pub fn check(rule: &Rule) -> Checked {
    checked(rule, N_SMALLER)
}

/// Checks a rule; the counter-example is the smallest of those on so many kernels after the first.
pub(crate) fn checked(rule: &Rule, n_smaller: u64) -> Checked {
    let tags = rule.tags.iter().map(ToString::to_string).collect();
    let verdict = match &rule.kind {
        RuleKind::Pattern { lhs, rhs, when, is_two_way } => {
            let sides = if *is_two_way { vec![lhs, rhs] } else { vec![lhs] };
            let sides: Vec<(&Pattern, Hints)> =
                sides.into_iter().map(|side| (side, Hints::new(side, when.as_ref()))).collect();
            verdict(rule, &sides, n_smaller)
        }
        RuleKind::Guided { .. } => {
            let shapes = shapes();
            let lefts = shapes.rules.values().filter_map(|shape| match &shape.kind {
                RuleKind::Pattern { lhs, .. } => Some((lhs, Hints::new(lhs, None))),
                RuleKind::Guided { .. } => None,
            });
            let sides: Vec<(&Pattern, Hints)> = lefts.collect();
            verdict(rule, &sides, n_smaller)
        }
    };
    Checked { rule: rule.name.to_string(), tags, verdict }
}

fn shapes() -> RuleBook {
    let vocabulary: Vocabulary = nestegg_egraph::vocabulary::vocabulary();
    RuleBook::parse(&[Source::new("shapes.rules", SHAPES)], &vocabulary).unwrap_or_default()
}

fn verdict(rule: &Rule, sides: &[(&Pattern, Hints)], n_smaller: u64) -> Verdict {
    let mut trials = Trials::default();
    let mut is_tried = vec![false; sides.len()];
    // A guided rule fires on some of the shapes only, and its share of kernels is theirs together.
    let is_guided = matches!(rule.kind, RuleKind::Guided { .. });
    let n_wanted = if is_guided { (2 * N_FIRED).div_ceil(sides.len()) } else { N_FIRED };
    let max_tried = if is_guided { MAX_TRIED / 4 } else { MAX_TRIED };
    for ((side, hints), is_tried) in sides.iter().zip(&mut is_tried) {
        let mut seen = BTreeSet::new();
        let mut n_fired = 0;
        for seed in 0..max_tried {
            if n_fired >= n_wanted {
                break;
            }
            let Some(instance) = Instance::new(side, hints, seed) else { continue };
            if !seen.insert((instance.expression.clone(), instance.setting.n)) {
                continue;
            }
            match Trial::new(rule, &instance).and_then(|mut trial| trial.run(&mut trials)) {
                Some(Tried::Silent) | None => {}
                Some(Tried::Fired) => n_fired += 1,
                Some(Tried::Wrong(counter)) => {
                    let further = (seed + 1..=seed + n_smaller).filter_map(|seed| Instance::new(side, hints, seed));
                    return Verdict::Unsound(smallest(rule, counter, further));
                }
            }
        }
        *is_tried = n_fired > 0;
        trials.kernels += n_fired;
    }
    let is_enough = if is_guided { is_tried.contains(&true) } else { !is_tried.contains(&false) };
    match () {
        () if !is_enough => Verdict::NotChecked { reason: format!("it fired on none of {max_tried} kernels") },
        () if trials.unjudged >= trials.equations && trials.compared == 0 => {
            Verdict::NotChecked { reason: "neither side has a value wherever it fired".to_owned() }
        }
        () => Verdict::Sound(trials),
    }
}

/// The smallest of a counter-example and those that further instances give. One that floats show is smaller than one that they do not.
fn smallest(rule: &Rule, first: Box<CounterExample>, further: impl Iterator<Item = Instance>) -> Box<CounterExample> {
    let size = |counter: &CounterExample| (counter.arithmetic != FLOATS, counter.kernel.len());
    further.fold(first, |best, instance| {
        let mut trials = Trials::default();
        match Trial::new(rule, &instance).and_then(|mut trial| trial.run(&mut trials)) {
            Some(Tried::Wrong(counter)) if size(&counter) < size(&best) => counter,
            _ => best,
        }
    })
}

/// What came of one kernel.
enum Tried {
    /// The rule did not fire.
    Silent,
    /// It fired, and nothing is wrong.
    Fired,
    /// It is wrong.
    Wrong(Box<CounterExample>),
}

/// A rule on one kernel.
struct Trial<'a> {
    rule: &'a Rule,
    setting: &'a Setting,
    kernel: Kernel,
    form: nestegg_ir::LinearizedKernel,
    functions: Functions,
}

impl<'a> Trial<'a> {
    /// `None` if the instance is no kernel: it uses an operator on a type that has none.
    fn new(rule: &'a Rule, instance: &'a Instance) -> Option<Self> {
        let text = instance.setting.kernel("trial", &[("out", &instance.expression)]);
        let read = nestegg_dump::read_text(&Source::new("trial.knl", text)).ok()?;
        let mut form = read.program.into_linearized().ok()?;
        let functions = functions(&mut form.kernel, &[rule]);
        Some(Self { rule, setting: &instance.setting, kernel: form.kernel.clone(), form, functions })
    }

    fn run(&mut self, trials: &mut Trials) -> Option<Tried> {
        let context = nestegg_isl::Context::new();
        let domains = Domains::new(&context, &self.kernel).ok()?;
        let mut encoded = encode::encode(&self.form, &domains, Semantics::default()).ok()?;
        let found = equations(&mut encoded.graph, self.rule, &self.functions, MAX_NODES);
        if found.is_empty() {
            return Some(Tried::Silent);
        }
        let graph = &encoded.graph;
        let spell = |id: egg::Id| spelled(graph, &self.kernel, id);
        let iname = |id: nestegg_ir::InameId| self.kernel[id].name.clone();
        let mut judge = Judge::new(&self.kernel, &domains, Judged::Everybody);
        for (idx, equation) in found.iter().enumerate() {
            trials.equations += 1;
            let is_truth = graph[equation.class].data.dtype == Type::Bool;
            let sides = [equation.class, equation.form].map(|id| self.stored(spell(id), is_truth));
            let free = self.free(graph, equation);
            if let Err(wrong) = judge.judge(graph, self.rule, std::slice::from_ref(equation)) {
                let variables = counter::variables(equation, spell, iname);
                let counter = CounterExample::of_judge(self.rule, self.setting, (&free, &sides), &wrong, variables);
                return Some(Tried::Wrong(Box::new(counter)));
            }
            if idx >= MAX_COMPARED || sides[0] == sides[1] {
                continue;
            }
            match evidence::compare(self.rule, self.setting, &free, &sides) {
                Compared::Nothing => {}
                Compared::Equal { rounding } => {
                    trials.compared += 1;
                    trials.rounding = trials.rounding.max(rounding);
                }
                Compared::Different(found) => {
                    let variables = counter::variables(equation, spell, iname);
                    let sides = (free.as_slice(), &sides);
                    let counter = CounterExample::of_interpreter(self.rule, self.setting, sides, found, variables);
                    return Some(Tried::Wrong(Box::new(counter)));
                }
            }
        }
        trials.unjudged += judge.unjudged().values().sum::<usize>();
        Some(Tried::Fired)
    }

    /// A side as what an array of the setting holds.
    fn stored(&self, side: String, is_truth: bool) -> String {
        match self.setting.element.is_float() {
            _ if !is_truth => side,
            true => format!("1.0 if {side} else 0.0"),
            false => format!("1 if {side} else 0"),
        }
    }

    /// The loops that an equation stands in: those around the expression, and those that its sides depend on besides.
    fn free(&self, graph: &nestegg_egraph::analysis::Graph, equation: &Equation) -> Vec<&'static str> {
        let mut res = self.setting.outer.clone();
        let sides = graph[equation.class].data.inames.union(&graph[equation.form].data.inames);
        for iname in sides.iter() {
            if let Some(known) = setting::loop_of(&self.kernel[iname].name)
                && !res.contains(&known.name)
            {
                res.push(known.name);
            }
        }
        res
    }
}

/// Counts of verdicts: sound, unsound, not checked.
#[must_use]
pub fn counts(checked: &[Checked]) -> IndexMap<&'static str, usize> {
    let mut res: IndexMap<&'static str, usize> =
        [("sound", 0), ("unsound", 0), ("not checked", 0)].into_iter().collect();
    for one in checked {
        *res.entry(one.verdict.name()).or_default() += 1;
    }
    res
}

impl Verdict {
    /// The verdict in a word or two.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sound(_) => "sound",
            Self::Unsound(_) => "unsound",
            Self::NotChecked { .. } => "not checked",
        }
    }
}
