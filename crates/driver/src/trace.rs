//! The events of a run, in an order that is the same on every run; seeds that are worked on side by side follow one another.
//!
//! An event has no time. [`to_lines`] writes each as a line of JSON with its kind in `event`.

use serde::Serialize;

use crate::report::{LimitHit, Operations};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A run begins.
    Run {
        /// The kernel.
        kernel: String,
        /// The strategy.
        strategy: String,
        /// Operations of the input.
        operations: u128,
    },
    /// The seeds that are tried; further ones come of results.
    Seeds {
        /// Their names.
        seeds: Vec<String>,
        /// Limits that left others out.
        limits: Vec<LimitHit>,
    },
    /// Some of the stores are searched by themselves; their events follow, up to [`Joined`](Self::Joined), and parts of theirs among them.
    Apart {
        /// The arrays that they write.
        part: String,
    },
    /// The search of these stores is over.
    Joined {
        /// The arrays that they write.
        part: String,
    },
    /// A seed is in its e-graph.
    Encoded {
        /// The seed.
        seed: String,
        /// E-nodes.
        nodes: usize,
        /// E-classes.
        classes: usize,
    },
    /// A pass of rules is over.
    Pass {
        /// The seed.
        seed: String,
        /// The phase.
        phase: String,
        /// The number of the pass in its phase.
        pass: u32,
        /// The rules that equated something.
        rules: Vec<RuleInPass>,
        /// E-nodes now.
        nodes: usize,
        /// E-classes now.
        classes: usize,
    },
    /// A phase is over.
    Phase {
        /// The seed.
        seed: String,
        /// The phase.
        phase: String,
        /// How many passes it took.
        passes: u32,
        /// Why it ended: `saturated`, or the limit of `passes` or `nodes`.
        stop: &'static str,
        /// E-nodes now.
        nodes: usize,
    },
    /// Forms and temporaries of a seed are chosen.
    Selected {
        /// The seed.
        seed: String,
        /// What they cost together, as selection counts.
        cost: u128,
        /// No choice costs less.
        bound: u128,
        /// How many temporaries there are.
        temporaries: usize,
        /// Limits of rules, phases and selection.
        limits: Vec<LimitHit>,
    },
    /// A seed is a program again.
    Made {
        /// The seed.
        seed: String,
        /// Its operations.
        operations: u128,
    },
    /// A seed of which nothing comes.
    Failed {
        /// The seed.
        seed: String,
        /// Why.
        reason: String,
    },
    /// A result that does not hold.
    Refused {
        /// The seed.
        seed: String,
        /// Its operations.
        operations: u128,
        /// Why.
        reason: String,
    },
    /// The result.
    Taken {
        /// The seed.
        seed: String,
        /// Its operations.
        operations: Operations,
        /// Limits that were hit on the way.
        limits: Vec<LimitHit>,
    },
}

/// What a rule did in a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleInPass {
    /// The rule.
    pub rule: String,
    /// How many forms it equated.
    pub equated: usize,
    /// How many of these were new.
    pub new: usize,
}

/// Events as lines of JSON.
#[must_use]
pub fn to_lines(events: &[Event]) -> String {
    let line = |event| serde_json::to_string(event).expect("text keys and plain values") + "\n";
    events.iter().map(line).collect()
}
