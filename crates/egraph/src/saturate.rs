//! Saturation: runs the phases of a strategy.
//!
//! # Input
//! An encoded kernel and a resolved strategy.
//! # Output
//! The same e-graph with equal forms added, and a record of what happened: rules that fired with counts, limits
//! that were hit, the reason why each phase stopped.
//! # Method
//! A pass applies every rule of the phase to all e-classes as they were at its start, then rebuilds. A phase ends when a
//! pass adds nothing, or at its limit of passes or e-nodes. Limits are counts, never seconds. What a rule equates goes before
//! the [judge](crate::judge) before anything follows from it.
//! # Not done
//! Nothing is removed or chosen.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use egg::Id;
use indexmap::IndexMap;
use nestegg_rules::{Name, ResolvedStrategy, Rule, RuleKind};

use crate::analysis::Graph;
use crate::apply::{APPLIERS, Pass, count_uses, refresh_grouped};
use crate::judge::{Equation, Gap, Judge, Wrong};
use crate::pattern::{self, Functions, PatternRule, RootIndex};
use crate::rational::Rational;

/// Why a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The last pass added nothing.
    Saturated,
    /// The limit of passes.
    Passes,
    /// The limit of e-nodes.
    Nodes,
}

/// One phase as it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Its name.
    pub name: String,
    /// How many passes it took.
    pub passes: u32,
    /// Why it ended.
    pub stop: Stop,
    /// E-nodes at its end.
    pub n_nodes: usize,
}

/// One pass as it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassRecord {
    /// The phase.
    pub phase: String,
    /// Its number in the phase, from 1.
    pub pass: u32,
    /// The rules that equated something, with how many forms they equated, and how many of these were new.
    pub rules: Vec<(String, usize, usize)>,
    /// E-nodes at its end.
    pub n_nodes: usize,
    /// E-classes at its end.
    pub n_classes: usize,
}

/// What a strategy did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saturation {
    /// The phases in order.
    pub phases: Vec<PhaseRecord>,
    /// Their passes in order.
    pub passes: Vec<PassRecord>,
    /// Rules with the number of new equations that each gave; those that gave none are left out.
    pub fired: IndexMap<String, usize>,
    /// Limits that were hit: (phase or rule, limit).
    pub limits_hit: BTreeSet<(String, String)>,
    /// Rules with the number of equations that could not be judged, and why.
    pub unjudged: Vec<Unjudged>,
    /// Wall-clock seconds of each phase and rule, judging included; rules that take turns have theirs together. Nothing depends on them.
    pub seconds: IndexMap<(String, String), f64>,
}

/// Equations of a rule of which nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// The rule.
    pub rule: String,
    /// How many there are.
    pub n_equations: usize,
    /// Why.
    pub reason: Gap,
}

/// A rule that is wrong.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Unsound {
    /// Two sides of an equation have different values.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Judged(Box<Wrong>),
    /// Two different constants became equal.
    #[error("rules make {first} equal to {second}: one of {} is unsound", rules.join(", "))]
    #[diagnostic(code(rules::contradiction), help("try the rules one by one"))]
    Contradiction {
        /// A constant.
        first: Rational,
        /// Another one in the same e-class.
        second: Rational,
        /// The rules that fired in the last pass.
        rules: Vec<String>,
    },
}

/// Runs a strategy before a judge.
///
/// # Errors
/// If a rule is found wrong, or two different constants become equal.
pub fn saturate(
    graph: &mut Graph,
    strategy: &ResolvedStrategy<'_>,
    functions: &Functions,
    judge: &mut Judge<'_>,
) -> Result<Saturation, Unsound> {
    let mut res = Saturation::default();
    for phase in &strategy.phases {
        let nodes = phase.nodes as usize;
        let mut record =
            PhaseRecord { name: phase.name.to_string(), passes: 0, stop: Stop::Passes, n_nodes: graph.total_size() };
        while record.passes < phase.passes && record.stop == Stop::Passes {
            record.passes += 1;
            let rules = run_pass(graph, (phase.name, &phase.rules), nodes, functions, judge, &mut res)?;
            let fired: usize = rules.iter().map(|(_, _, fired)| fired).sum();
            res.passes.push(PassRecord {
                phase: phase.name.to_string(),
                pass: record.passes,
                rules,
                n_nodes: graph.total_number_of_nodes(),
                n_classes: graph.number_of_classes(),
            });
            record.stop = match fired {
                _ if graph.total_size() >= nodes => Stop::Nodes,
                0 => Stop::Saturated,
                _ => Stop::Passes,
            };
        }
        record.n_nodes = graph.total_number_of_nodes();
        if record.stop == Stop::Nodes {
            res.limits_hit.insert((phase.name.to_string(), "nodes".into()));
        }
        res.phases.push(record);
    }
    res.limits_hit.extend(judge.hurried().map(|rule| (rule.to_owned(), "samples".to_owned())));
    let unjudged = judge.unjudged().iter();
    res.unjudged = unjudged
        .map(|((rule, reason), &n_equations)| Unjudged { rule: rule.clone(), n_equations, reason: *reason })
        .collect();
    Ok(res)
}

/// What one rule finds in an e-graph, before anything follows from it: the equations that one pass of it makes, at most `limit` of
/// them and those of the e-class at which the limit was reached. The e-graph holds both sides of each, united, and is not rebuilt.
pub fn equations(graph: &mut Graph, rule: &Rule, functions: &Functions, limit: usize) -> Vec<Equation> {
    let mut classes: Vec<Id> = graph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    let uses = count_uses(graph);
    let no_limits: IndexMap<Name, u64> = IndexMap::new();
    let limits = match &rule.kind {
        RuleKind::Guided { limits, .. } => limits,
        RuleKind::Pattern { .. } => &no_limits,
    };
    let nodes = graph.total_size().saturating_add(limit);
    let equations = Some(Vec::new());
    let limits_hit = BTreeSet::new();
    let mut pass = Pass {
        graph,
        classes: &classes,
        uses: &uses,
        limits,
        nodes,
        steps: 0,
        fired: 0,
        limits_hit,
        equations,
        turn: 0,
    };
    match &rule.kind {
        RuleKind::Pattern { .. } => {
            let index = RootIndex::new(pass.graph, &classes);
            for is_forward in [true, false] {
                let rules: Vec<PatternRule<'_>> = direction(rule, is_forward, functions).into_iter().collect();
                pattern::apply(&rules, &mut pass, &index, |_, _| {});
            }
        }
        RuleKind::Guided { apply, .. } => {
            if let Some(applier) = APPLIERS.iter().find(|applier| applier.name == apply.as_str()) {
                (applier.apply)(&mut pass);
            }
        }
    }
    pass.equations.unwrap_or_default()
}

/// One pass; answers for each rule that equated something how many forms it equated, and how many of these were new.
fn run_pass(
    graph: &mut Graph,
    (phase, rules): (&Name, &[&Rule]),
    nodes: usize,
    functions: &Functions,
    judge: &mut Judge<'_>,
    res: &mut Saturation,
) -> Result<Vec<(String, usize, usize)>, Unsound> {
    let mut classes: Vec<Id> = graph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    let uses = count_uses(graph);
    let no_limits: IndexMap<Name, u64> = IndexMap::new();
    let mut fired = Vec::new();
    // Which e-classes a pattern may match; stale once the e-graph changes.
    let mut index: Option<RootIndex> = None;
    for turn in rules.chunk_by(|one, next| pattern::take_turns(one, next)) {
        let start = Instant::now();
        let limits = match &turn[0].kind {
            RuleKind::Guided { limits, .. } => limits,
            RuleKind::Pattern { .. } => &no_limits,
        };
        let mut pass = Pass {
            graph,
            classes: &classes,
            uses: &uses,
            limits,
            nodes,
            steps: 0,
            fired: 0,
            limits_hit: BTreeSet::new(),
            equations: turn.iter().any(|rule| judge.judges(rule)).then(Vec::new),
            turn: 0,
        };
        let mut tally = Tally::new(turn.len());
        match &turn[0].kind {
            RuleKind::Pattern { .. } => {
                let index = index.get_or_insert_with(|| RootIndex::new(pass.graph, &classes));
                let there: Vec<PatternRule<'_>> =
                    turn.iter().filter_map(|rule| direction(rule, true, functions)).collect();
                let back: Vec<PatternRule<'_>> =
                    turn.iter().filter_map(|rule| direction(rule, false, functions)).collect();
                for rules in [there, back] {
                    pattern::apply(&rules, &mut pass, index, |idx, pass| tally.note(idx, pass));
                }
            }
            RuleKind::Guided { apply, .. } => {
                let applier = APPLIERS.iter().find(|applier| applier.name == apply.as_str());
                (applier.expect("rule files are checked against the vocabulary").apply)(&mut pass);
                tally.note(0, &mut pass);
            }
        }
        let equations = pass.equations.take().unwrap_or_default();
        for (idx, range) in tally.equations {
            if judge.judges(turn[idx]) {
                judge.judge(graph, turn[idx], &equations[range]).map_err(Unsound::Judged)?;
            }
        }
        for (rule, of_rule) in turn.iter().zip(tally.rules) {
            if of_rule.steps > 0 {
                fired.push((rule.name.to_string(), of_rule.steps, of_rule.fired));
            }
            res.limits_hit.extend(of_rule.limits_hit.into_iter().map(|limit| (rule.name.to_string(), limit)));
        }
        if let Some(log) = &mut graph.analysis.log {
            log.name(turn);
        }
        // Canonical ids go stale with unions; rebuilding between rules keeps every search on a congruent e-graph.
        if !graph.clean {
            graph.rebuild();
            refresh_grouped(graph);
            index = None;
        }
        let names: Vec<&str> = turn.iter().map(|rule| rule.name.as_str()).collect();
        *res.seconds.entry((phase.to_string(), names.join(", "))).or_default() += start.elapsed().as_secs_f64();
    }
    if let Some((first, second)) = graph.analysis.contradiction.take() {
        let rules = fired.into_iter().filter(|(_, _, fired)| *fired > 0).map(|(name, ..)| name).collect();
        return Err(Unsound::Contradiction { first, second, rules });
    }
    for (name, _, n) in fired.iter().filter(|(_, _, n)| *n > 0) {
        *res.fired.entry(name.clone()).or_default() += n;
    }
    Ok(fired)
}

/// A pattern rule as it is written, or from right to left if it works that way too.
pub(crate) fn direction<'a>(rule: &'a Rule, is_forward: bool, functions: &'a Functions) -> Option<PatternRule<'a>> {
    let RuleKind::Pattern { lhs, rhs, when, is_two_way } = &rule.kind else { return None };
    let when = when.as_ref();
    match is_forward {
        true => Some(PatternRule { lhs, rhs, when, functions, is_forward }),
        false => is_two_way.then_some(PatternRule { lhs: rhs, rhs: lhs, when, functions, is_forward }),
    }
}

/// What rules that take turns in one pass did, each for itself.
struct Tally {
    rules: Vec<OfRule>,
    /// Which rule gave which equations of the pass, in the order in which they were made: a wrong one comes before what follows from it.
    equations: Vec<(usize, Range<usize>)>,
    last: usize,
    /// Steps of the pass so far.
    n_steps: usize,
}

#[derive(Clone, Default)]
struct OfRule {
    steps: usize,
    fired: usize,
    limits_hit: BTreeSet<String>,
}

impl Tally {
    fn new(n_rules: usize) -> Self {
        Self { rules: vec![OfRule::default(); n_rules], equations: Vec::new(), last: 0, n_steps: 0 }
    }

    /// Takes from a pass what a rule did in it. Steps are counted for all together.
    fn note(&mut self, idx: usize, pass: &mut Pass<'_>) {
        let of_rule = &mut self.rules[idx];
        of_rule.fired += std::mem::take(&mut pass.fired);
        of_rule.steps += pass.steps - std::mem::replace(&mut self.n_steps, pass.steps);
        of_rule.limits_hit.append(&mut pass.limits_hit);
        let n_equations = pass.equations.as_ref().map_or(0, Vec::len);
        if n_equations > self.last {
            self.equations.push((idx, self.last..n_equations));
            self.last = n_equations;
        }
    }
}
