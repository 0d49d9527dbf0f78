//! Rules that make one another grow without bound.
//!
//! # Input
//! A book of rules, and which of them are asked about.
//! # Output
//! Each smallest group of rules of one phase, a rule that is asked about among them, whose e-graph never ends.
//! # Method
//! A few small kernels are made from the left side of each rule that is asked about, and the rules of its phase run on them. If an e-graph
//! still grows after [`PASSES`] passes, rules without which it grows all the same are left out of the group, one after another.
//! The phases are those of the strategies that name such a rule; rules that none names run in a phase of their own, as they do in earnest.
//! # Complexity
//! At most [`N_KERNELS`] runs for each side of a rule, of at most [`NODES`] e-nodes; where one grows, one more for each rule that fired.
//! # Not done
//! What grows only on larger kernels is not seen. Rules that grow by themselves are left to the [warnings](nestegg_egraph::lint) that look
//! at one rule, as far as these see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use miette::NamedSource;
use nestegg_egraph::encode;
use nestegg_egraph::judge::{Judge, Judged};
use nestegg_egraph::lint::grows;
use nestegg_egraph::pattern::functions;
use nestegg_egraph::saturate::{Saturation, Stop, saturate};
use nestegg_ir::Semantics;
use nestegg_ir::domains::Domains;
use nestegg_rules::{Pattern, ResolvedPhase, ResolvedStrategy, Rule, RuleBook, RuleKind};
use nestegg_span::{Source, Span};

use crate::check::instance::Instance;
use crate::check::values::Hints;

/// Passes after which a small e-graph has ended, if it ever does.
pub const PASSES: u32 = 12;
/// E-nodes that a small e-graph does not reach, if it ever ends.
pub const NODES: u32 = 4000;
/// Kernels on which a rule is to fire, for each of its sides.
pub const N_KERNELS: usize = 4;
/// Kernels that are made in the hope of these.
const MAX_MADE: u64 = 60;
/// The last passes, in each of which an e-graph that grows has grown.
const LAST: usize = 4;

/// Rules that together grow without bound.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{} more e-nodes in each pass, without end", subject(rules))]
#[diagnostic(code(rules::warning), severity(Warning), help("{help}"))]
pub struct Growing {
    /// The rules, in the order of the phase.
    pub rules: Vec<String>,
    help: String,
    #[source_code]
    file: NamedSource<Arc<str>>,
    #[label("on `{expression}`, for one")]
    at: Span,
    expression: String,
}

fn subject(rules: &[String]) -> String {
    let quoted: Vec<String> = rules.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => {
            format!("rules {} and {last}: together they make", first.join(", "))
        }
        _ => format!("rule {}: it makes", quoted.concat()),
    }
}

/// The groups that grow, in the order of the rules asked about; each of these is in one group at most.
#[must_use]
pub fn growing(book: &RuleBook, is_asked: impl Fn(&Rule) -> bool) -> Vec<Growing> {
    let mut res: Vec<Growing> = Vec::new();
    for phase in phases(book, &is_asked) {
        for rule in phase.iter().filter(|rule| is_asked(rule)) {
            let is_known = res.iter().any(|known| known.rules.contains(&rule.name.to_string()));
            if !is_known && let Some(found) = of_rule(&phase, rule, &is_asked) {
                res.push(found);
            }
        }
    }
    res
}

/// What runs together: the rules of each phase of a strategy that has one of those asked about, then those that no strategy names.
fn phases<'b>(book: &'b RuleBook, is_asked: &impl Fn(&Rule) -> bool) -> Vec<Vec<&'b Rule>> {
    let resolved = book.strategies.keys().filter_map(|name| book.resolve(name.as_str()).ok());
    let mut seen: BTreeSet<Vec<&str>> = BTreeSet::new();
    let mut res: Vec<Vec<&Rule>> = Vec::new();
    for phase in resolved.flat_map(|strategy| strategy.phases) {
        let names = phase.rules.iter().map(|rule| rule.name.as_str()).collect();
        if phase.rules.iter().any(|rule| is_asked(rule)) && seen.insert(names) {
            res.push(phase.rules);
        }
    }
    let is_named = |rule: &Rule| res.iter().flatten().any(|named| named.name == rule.name);
    let unnamed: Vec<&Rule> = book.rules.values().filter(|rule| is_asked(rule) && !is_named(rule)).collect();
    res.push(unnamed);
    res
}

fn of_rule(phase: &[&Rule], rule: &Rule, is_asked: &impl Fn(&Rule) -> bool) -> Option<Growing> {
    let RuleKind::Pattern { lhs, rhs, when, is_two_way } = &rule.kind else { return None };
    let sides: Vec<&Pattern> = if *is_two_way { vec![lhs, rhs] } else { vec![lhs] };
    for side in sides {
        let hints = Hints::new(side, when.as_ref());
        let mut seen = BTreeSet::new();
        for instance in (0..MAX_MADE).filter_map(|seed| Instance::new(side, &hints, seed)) {
            if seen.len() >= N_KERNELS {
                break;
            }
            let Some(run) = run(phase, &instance) else { continue };
            if !run.fired.contains_key(rule.name.as_str()) || !seen.insert(instance.expression.clone()) {
                continue;
            }
            if is_endless(&run) {
                let fired: Vec<&Rule> =
                    phase.iter().copied().filter(|own| run.fired.contains_key(own.name.as_str())).collect();
                let group = smallest(fired, &instance, is_asked);
                let is_told = matches!(group.as_slice(), [only] if grows(only));
                if !is_told && group.iter().any(|own| is_asked(own)) {
                    return Some(warning(&group, rule, &instance));
                }
            }
        }
    }
    None
}

/// The rules that are left when those without which the e-graph is endless all the same are gone. Rules that nobody asks about go last, so that
/// what grows without those asked about is not laid to them.
fn smallest<'b>(rules: Vec<&'b Rule>, instance: &Instance, is_asked: &impl Fn(&Rule) -> bool) -> Vec<&'b Rule> {
    let (asked, others): (Vec<&Rule>, Vec<&Rule>) = rules.iter().copied().partition(|rule| is_asked(rule));
    let mut res = rules;
    for rule in asked.into_iter().chain(others) {
        let without: Vec<&Rule> = res.iter().copied().filter(|own| own.name != rule.name).collect();
        if run(&without, instance).is_some_and(|run| is_endless(&run)) {
            res = without;
        }
    }
    res
}

fn warning(group: &[&Rule], rule: &Rule, instance: &Instance) -> Growing {
    let place =
        if group.iter().any(|own| own.name == rule.name) { rule } else { group.first().copied().unwrap_or(rule) };
    Growing {
        rules: group.iter().map(|own| own.name.to_string()).collect(),
        help: "add a condition on what grows, or give them phases of their own with few `:passes`".to_owned(),
        file: place.source.named_source(),
        at: place.span,
        expression: instance.expression.clone(),
    }
}

/// Runs rules on an instance; `None` if it cannot be read as a kernel, or if a rule turns out unsound on it.
fn run(rules: &[&Rule], instance: &Instance) -> Option<Saturation> {
    let name = &rules.first()?.name;
    let text = instance.setting.kernel("grows", &[("out", &instance.expression)]);
    let read = nestegg_dump::read_text(&Source::new("grows.knl", text)).ok()?;
    let mut form = read.program.into_linearized().ok()?;
    let functions = functions(&mut form.kernel, rules);
    let context = nestegg_isl::Context::new();
    let kernel = form.kernel.clone();
    let domains = Domains::new(&context, &kernel).ok()?;
    let mut encoded = encode::encode(&form, &domains, Semantics::default()).ok()?;
    let phase = ResolvedPhase { name, rules: rules.to_vec(), passes: PASSES, nodes: NODES };
    let strategy = ResolvedStrategy { name, doc: "", phases: vec![phase], options: IndexMap::new() };
    let mut judge = Judge::new(&kernel, &domains, Judged::Nobody);
    saturate(&mut encoded.graph, &strategy, &functions, &mut judge).ok()
}

/// Whether an e-graph has not ended, and grew in each of its last passes.
fn is_endless(run: &Saturation) -> bool {
    let sizes: Vec<usize> = run.passes.iter().rev().take(LAST + 1).map(|pass| pass.n_nodes).collect();
    run.phases.iter().any(|phase| match phase.stop {
        Stop::Saturated => false,
        Stop::Nodes => true,
        Stop::Passes => sizes.is_sorted_by(|later, earlier| later > earlier),
    })
}
