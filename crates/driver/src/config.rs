//! The configuration of one run of the optimizer.

use std::fmt;
use std::sync::Arc;

pub use nestegg_egraph::judge::Judged;
use nestegg_ir::{Licence, Traps};
use nestegg_span::Source;
use nestegg_time::{DEFAULT_MACHINE, Machine};
pub use nestegg_transform::batch::BatchLayout;
use serde::{Deserialize, Serialize};

pub use crate::batch::BatchRequest;

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
    /// The machine whose time [`CostModel::Time`] makes small.
    pub machine: Machine,
    /// What the machine is called, in the command that does the same.
    pub machine_name: String,
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
    /// How many times the rounding error of the input that of a result may be; infinity allows all. `None` means 10, and 100
    /// for a result with computed tables.
    pub accuracy: Option<f64>,
    /// How elements are put together, if they are.
    pub batch: Option<BatchRequest>,
    /// Whether long loops of emitted C whose iterations have nothing in common go to threads, where the compiler has OpenMP.
    pub openmp: bool,
    /// Measures the memory of each stage, if given.
    pub memory_probe: Option<MemoryProbe>,
    /// Is told what runs, if given.
    pub watcher: Option<Watcher>,
    /// Whether results come with the [events](crate::trace) of their run.
    pub traces: bool,
    /// Whether results remember all kernels that they were made of, for [`explain`](crate::explain::explain).
    pub keeps_lineage: bool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostModel {
    /// Floating-point operations by the format's rule.
    Operations,
    /// Estimated nanoseconds on a machine, of equals operations.
    Time,
}

/// Whether a result is compared with its input. Where it is, a result that fails is not taken, and the next best is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// On random data, exactly and in floats.
    On,
    /// As `On`, for the result of every seed and not only the best; the first failure is an error. Tests use it.
    EachSeed,
    /// As for the best alone. Where a rule of the caller's is at fault, the error also names the smallest sub-expression that goes wrong, for which
    /// many kernels are optimized.
    Explained,
    /// Not at all: the best result is taken without evidence.
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

/// The strategy that runs where none is named: the one with the fastest results. It is as safe as the others, for every result is compared with its input,
/// and none that loses digits is taken.
pub const DEFAULT_STRATEGY: &str = "O3";

/// The level at which rules are looked at, where none is named: nothing runs beside them that hides what they do.
pub const PLAIN_STRATEGY: &str = "O1";

impl Config {
    /// What the command line does with `--cost operations` and no other flag.
    #[must_use]
    pub fn of_operations() -> Self {
        Self { cost: CostModel::Operations, ..Self::default() }
    }

    /// The command that optimizes a file as this configuration does; words with unusual characters are in quotes.
    #[must_use]
    pub fn command(&self, file: &str) -> String {
        let mut words = vec!["nestegg".to_owned(), "optimize".to_owned(), file.to_owned()];
        let mut add = |flag: &str, value: String| words.extend([format!("--{flag}"), value]);
        match &self.strategy {
            Strategy::Named(name) => add("level", name.clone()),
            Strategy::InFile(source) => add("level", source.name.to_string()),
            Strategy::NamedInFile(source, name) => add("level", format!("{}#{name}", source.name)),
        }
        self.rules.iter().for_each(|source| add("rules", source.name.to_string()));
        self.parameters.iter().for_each(|(name, value)| add("param", format!("{name}={value}")));
        if let Some(licence) = self.float {
            add("float", licence.name().to_owned());
        }
        if self.traps == Traps::Keep {
            add("traps", "keep".to_owned());
        }
        if self.cost == CostModel::Operations {
            add("cost", "operations".to_owned());
        } else if self.machine_name != DEFAULT_MACHINE {
            add("machine", self.machine_name.clone());
        }
        if let Some(limit) = self.max_statements {
            add("max-statements", limit.to_string());
        }
        if let Some(limit) = self.memory {
            add("memory", limit.to_string());
        }
        match self.accuracy {
            None => {}
            Some(factor) if factor.is_finite() => add("accuracy", factor.to_string()),
            Some(_) => add("accuracy", "off".to_owned()),
        }
        if let Some(BatchRequest { width, shared, layout }) = &self.batch {
            add("batch", width.to_string());
            if !shared.is_empty() {
                add("batch-shared", shared.join(","));
            }
            if *layout == BatchLayout::Interleaved {
                add("batch-layout", "interleaved".to_owned());
            }
        }
        if self.openmp {
            words.push("--openmp".to_owned());
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |symbol: char| symbol.is_ascii_alphanumeric() || "-_./=,:+@#".contains(symbol);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::Named(DEFAULT_STRATEGY.to_owned()),
            rules: Vec::new(),
            float: None,
            traps: Traps::default(),
            cost: CostModel::Time,
            machine: Machine::default(),
            machine_name: DEFAULT_MACHINE.to_owned(),
            parameters: Vec::new(),
            max_statements: None,
            memory: None,
            validation: Validation::Explained,
            judged: Judged::Given,
            accuracy: None,
            batch: None,
            openmp: false,
            memory_probe: None,
            watcher: None,
            traces: false,
            keeps_lineage: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_say_what_differs_from_the_default() {
        let config = Config {
            strategy: Strategy::InFile(Source::new("my strategy.rules", "")),
            rules: vec![Source::new("a.rules", ""), Source::new("it's.rules", "")],
            float: Some(Licence::Strict),
            traps: Traps::Keep,
            parameters: vec![("n".to_owned(), -3)],
            accuracy: Some(f64::INFINITY),
            ..Config::default()
        };
        let expected = "nestegg optimize k.knl --level 'my strategy.rules' --rules a.rules --rules 'it'\\''s.rules' \
                        --param n=-3 --float strict --traps keep --accuracy off";
        assert_eq!(config.command("k.knl"), expected);
        assert_eq!(Config::default().command("k.knl"), "nestegg optimize k.knl --level O3");
    }
}
