//! What a run of the optimizer is told.

use std::fmt;
use std::sync::Arc;

pub use nestegg_egraph::judge::Judged;
use nestegg_ir::{Licence, Traps};
use nestegg_span::Source;
use serde::Serialize;

/// What a run of the optimizer is told; [`Config::default`] is what the command line does without flags.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which strategy runs.
    pub strategy: Strategy,
    /// Rule files beside the built-in ones.
    pub rules: Vec<Source>,
    /// What may be done to floats; `None` lets the strategy say.
    pub float: Option<Licence>,
    /// Whether quotients and calls of floats may trap.
    pub traps: Traps,
    /// What is made small.
    pub cost: CostModel,
    /// Values of parameters that the cost model and the validation assume, before the kernel's own estimates.
    pub parameters: Vec<(String, i64)>,
    /// How many statements straight-line code may have, before what the strategy says.
    pub max_statements: Option<u64>,
    /// How many bytes the temporaries of a result may take together, tables not counted.
    pub memory: Option<u64>,
    /// Whether the result is compared with the input.
    pub validation: Validation,
    /// Whose rules are judged on values when they fire, unless validation is off.
    pub judged: Judged,
    /// Measures the memory of each stage, if given.
    pub memory_probe: Option<MemoryProbe>,
    /// Is told what runs, if given.
    pub watcher: Option<Watcher>,
}

/// Which strategy runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One by its name, built in or from a file in [`Config::rules`].
    Named(String),
    /// The only one that this file defines.
    InFile(Source),
    /// The one of that name that this file defines.
    NamedInFile(Source, String),
}

/// What the optimizer makes small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CostModel {
    /// Floating-point operations by the format's rule.
    Operations,
}

/// Whether a result is compared with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// On random data, exactly and in floats; a mismatch is an error that names an element.
    On,
    /// The same, for what is made of each seed, whether or not it is the best.
    EachSeed,
    /// As for the best alone, and the error also names the smallest sub-expression that goes wrong, for which many kernels are optimized.
    Explained,
    /// Not at all.
    Off,
}

/// Measures the peak of memory between two calls.
#[derive(Clone, Copy, Debug)]
pub struct MemoryProbe {
    /// Forgets the peak so far.
    pub start: fn(),
    /// The peak since the start in bytes, where the system tells.
    pub peak: fn() -> Option<u64>,
}

/// Is told which stage runs now, and of which seed's making; for progress only, so that nothing depends on it.
#[derive(Clone)]
pub struct Watcher(pub Arc<dyn Fn(Now<'_>) + Send + Sync>);

/// What runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now<'a> {
    /// The stage, as in `ARCHITECTURE.md`.
    pub stage: &'a str,
    /// The seed that the stage works on, where it works on one.
    pub seed: Option<&'a str>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// The strategy that runs where none is named.
pub const DEFAULT_STRATEGY: &str = "O1";

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::Named(DEFAULT_STRATEGY.to_owned()),
            rules: Vec::new(),
            float: None,
            traps: Traps::default(),
            cost: CostModel::Operations,
            parameters: Vec::new(),
            max_statements: None,
            memory: None,
            validation: Validation::Explained,
            judged: Judged::Given,
            memory_probe: None,
            watcher: None,
        }
    }
}
