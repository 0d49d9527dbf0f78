//! The story of one run: the input, the result, and the reasons to trust it.
//!
//! # Output
//! Plain data, serializable (`--report json`) and readable again, and a text of it for people (`Display`). Everything except
//! [`Report::stages`] is the same for the same input and flags.

mod text;

pub use text::{WIDTH, ratio_in_digits};

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::accuracy::Accuracy;
use crate::batch::BatchReport;
use crate::config::CostModel;
use crate::stages::Stage;

/// The story of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The kernel's name.
    pub kernel: String,
    /// The strategy that ran.
    pub strategy: String,
    /// What was allowed to be done to floats.
    pub float: Cow<'static, str>,
    /// Rules, seeds and forms of the strategy that this does not grant.
    pub left_out: Vec<String>,
    /// The seed of the strategy that the result was made of.
    pub seed: String,
    /// Operations of what was made of each seed.
    pub seeds: IndexMap<String, u128>,
    /// What was made small.
    pub cost: CostModel,
    /// The values of parameters that the cost and the validation assumed.
    pub parameters: Vec<AssumedParameter>,
    /// Operations of the input.
    pub before: Operations,
    /// Operations of the output.
    pub after: Operations,
    /// Estimated time, where that was made small.
    pub estimate: Option<TimeEstimate>,
    /// Each temporary of the output that is not a constant table, in order of declaration.
    pub temporaries: Vec<Temporary>,
    /// Rules that found something, with how often, in the strategy's order.
    pub rules: IndexMap<String, u64>,
    /// Limits that were hit.
    pub limits: Vec<LimitHit>,
    /// Equations of rules that could not be judged on values.
    pub unjudged: Vec<Unjudged>,
    /// How far the choice can be from the best one of the forms that were found.
    pub gap: Gap,
    /// What the comparison with the input said.
    pub validation: Validated,
    /// Rounding errors of the result beside those of the input, if they were measured.
    pub accuracy: Option<Accuracy>,
    /// What was made of the elements, if they were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchReport>,
    /// Results with fewer operations that were not taken, the best first.
    pub failures: Vec<Failure>,
    /// Results that were timed, in the order in which they were ranked, if any were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tuned>,
    /// Each stage with its time, in order; none if nobody wants to know.
    pub stages: Vec<Stage>,
}

/// Operations by the format's rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// All of them.
    pub total: u128,
    /// By kind; kinds that do not occur are left out.
    pub by_kind: IndexMap<String, u128>,
}

/// A result that was compiled and timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The seed that it was made of.
    pub seed: String,
    /// Its operations.
    pub operations: u128,
    /// Estimated nanoseconds, where time is made small.
    pub estimated: Option<f64>,
    /// Measured nanoseconds, the median of several rounds.
    pub measured: f64,
}

/// Estimated time of one run before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeEstimate {
    /// The machine.
    pub machine: String,
    /// Nanoseconds of the input.
    pub before: f64,
    /// Nanoseconds of the output.
    pub after: f64,
    /// The output's loops, outermost first, and what bounds each: for people.
    pub loops: Vec<String>,
}

/// A parameter and the value that was assumed for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssumedParameter {
    /// Its name.
    pub name: String,
    /// The value.
    pub value: i64,
    /// Where the value comes from.
    pub source: ParameterSource,
}

/// Where the assumed value of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterSource {
    /// The caller gave it.
    Given,
    /// The kernel estimates it.
    Estimate,
    /// Neither.
    Default,
    /// It is an extent that the kernel does not state, and holds what is accessed.
    Unstated,
    /// The end of a loop whose bounds depend on data.
    DataBound,
}

/// A temporary of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temporary {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: String,
    /// Its shape as text, outermost dimension first; empty for a scalar.
    pub shape: Vec<String>,
    /// Its number of elements under the assumed parameters, where that is known.
    pub size: Option<u128>,
    /// The inames of the loops around its definition, outermost first.
    pub loops: Vec<String>,
    /// Its value, in the text form.
    pub definition: String,
    /// How many places read it.
    pub uses: usize,
    /// Operations that computing it at each of its uses would add.
    pub saved: Option<u128>,
}

/// A limit that a run hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Where: a phase, a rule or a pass.
    pub place: String,
    /// Which limit.
    pub limit: String,
    /// Its value, where it has one.
    pub value: Option<u64>,
}

/// Equations of a rule of which their values say nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    /// The rule.
    pub rule: String,
    /// How many there are.
    pub equations: usize,
    /// Why.
    pub reason: String,
}

impl From<&nestegg_egraph::saturate::Unjudged> for Unjudged {
    fn from(unjudged: &nestegg_egraph::saturate::Unjudged) -> Self {
        Self { rule: unjudged.rule.clone(), equations: unjudged.n_equations, reason: unjudged.reason.to_string() }
    }
}

/// How far a choice can be from the best one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// No choice among the forms that were found costs less than this.
    Proved {
        /// In units of the cost, as selection counts it.
        lower_bound: u128,
        /// What was chosen, in the same units.
        cost: u128,
    },
    /// Nothing is known.
    NotProved,
}

/// What the comparison with the input said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validated {
    /// Equal; the evidence in words.
    Equal {
        /// What was compared.
        evidence: String,
    },
    /// Not compared, and why.
    NotCompared {
        /// In words.
        reason: String,
    },
}

/// A result that was not taken, with what is needed to see that again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error, miette::Diagnostic)]
#[error("{} was not taken: {reason}", of_seed(seed, *operations))]
#[diagnostic(severity(Warning), code(driver::not_taken), help("{}", self.way_out()))]
pub struct Failure {
    /// The seed that it was made of.
    pub seed: String,
    /// Its operations; none if a pass failed before there was a result.
    pub operations: Option<u128>,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What is wrong, in words: for two values the element and both.
    pub reason: String,
    /// The rules that found something.
    pub rules: Vec<String>,
    /// The values of parameters that were assumed.
    pub parameters: Vec<AssumedParameter>,
    /// The seeds of the data that results are compared on.
    pub data_seeds: Vec<u64>,
    /// The command that shows it.
    pub command: String,
}

/// Why a result was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It is not equal to the input.
    NotEqual,
    /// It could not be compared with the input.
    NotCompared,
    /// Its rounding errors are too large beside those of the input.
    Inaccurate,
    /// A pass refused or broke it.
    Broken,
}

impl Failure {
    /// Whether nestegg made a mistake. To lose more digits than allowed is none: the next best result is there for that.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        self.kind != FailureKind::Inaccurate
    }

    fn way_out(&self) -> String {
        if !self.is_bug() {
            return "`--accuracy FACTOR` allows larger rounding errors".to_owned();
        }
        let rules = match self.rules.as_slice() {
            [] => String::new(),
            rules => format!("; rules fired: {}", rules.join(", ")),
        };
        let seeds: Vec<String> = self.data_seeds.iter().map(u64::to_string).collect();
        format!(
            "the next best result is right; this is a bug of nestegg: please report it with the kernel, and with this: `{}`, data seeds {}{rules}",
            self.command,
            seeds.join(", ")
        )
    }
}

fn of_seed(seed: &str, operations: Option<u128>) -> String {
    match operations {
        Some(operations) => format!("a result of {operations} operations, made of the seed `{seed}`,"),
        None => format!("the seed `{seed}`"),
    }
}

/// One line: its loops, its value, its uses.
impl fmt::Display for Temporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.definition)?;
        if !self.loops.is_empty() {
            write!(f, ", for each {}", self.loops.join(", "))?;
        }
        match self.uses {
            1 => write!(f, "; read at 1 place")?,
            n => write!(f, "; read at {n} places")?,
        }
        self.saved.map_or(Ok(()), |saved| write!(f, "; saves {saved} operations"))
    }
}

impl Report {
    /// Operations of the output over operations of the input; 1 where the input has none.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.before.total == 0 { 1.0 } else { self.after.total as f64 / self.before.total as f64 }
    }

    /// Seconds of all stages but the one that validates.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.stages.iter().filter(|stage| stage.name != crate::stages::VALIDATE).map(|stage| stage.seconds).sum()
    }

    /// Seconds of the stage that validates.
    #[must_use]
    pub fn seconds_of_validation(&self) -> f64 {
        self.stages.iter().filter(|stage| stage.name == crate::stages::VALIDATE).map(|stage| stage.seconds).sum()
    }

    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data with text keys")
    }
}
