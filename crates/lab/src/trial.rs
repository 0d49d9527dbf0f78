//! What rules win on a kernel, and what they cost: the same run with and without them.
//!
//! # Output
//! Operations and estimated time of both results, the rules of the files with how often each fired, e-nodes after each phase, and seconds.
//! Everything but the seconds is the same on every run.
//! # Method
//! Results come from [`optimize`], so that they are validated and the rules judged. Matches, e-nodes and seconds come from the
//! [e-graph](nestegg_driver::explore) of the kernel as it is, without the other seeds of the strategy.

use indexmap::IndexMap;
use nestegg_driver::config::Config;
use nestegg_driver::explore::explore;
use nestegg_driver::{Error, optimize, parameters};
use nestegg_ir::Licence;
use nestegg_span::Source;
use serde::Serialize;

/// One kernel with and without rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The kernel's name.
    pub kernel: String,
    /// Operations of the input.
    pub input: u128,
    /// Without the rules.
    pub without: Side,
    /// With them.
    pub with: Side,
    /// How often each of them fired.
    pub fired: IndexMap<String, usize>,
    /// Those that did not run, because the licence does not grant what they need; each with the licence that does.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub left_out: IndexMap<String, &'static str>,
    /// Seconds of each rule, those that take turns together, by phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Vec<RuleSeconds>>,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Operations of the result.
    pub operations: u128,
    /// Estimated nanoseconds of the result, where there is an estimate.
    pub nanoseconds: Option<f64>,
    /// E-nodes at the end of each phase.
    pub nodes: IndexMap<String, usize>,
}

/// Seconds that rules took in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleSeconds {
    /// The phase.
    pub phase: String,
    /// The rule, or several that take turns.
    pub rule: String,
    /// Seconds, judging included.
    pub seconds: f64,
}

/// Tries the rules of a configuration on a kernel.
///
/// # Errors
/// What is wrong with the kernel or the rules; a rule that is unsound.
pub fn trial(source: &Source, config: &Config, with_seconds: bool) -> Result<Trial, Error> {
    let bare = Config { rules: Vec::new(), ..config.clone() };
    let (input, without, _) = side(source, &bare)?;
    let (_, with, (saturation, licence)) = side(source, config)?;
    let book = nestegg_driver::rules::rule_book(&config.rules)?;
    let own = || book.rules.values().filter(|rule| config.rules.iter().any(|file| file.name == rule.source.name));
    let fired = own().map(|rule| {
        let name = rule.name.to_string();
        let times = saturation.fired.get(&name).copied().unwrap_or(0);
        (name, times)
    });
    let needed = own().map(|rule| (rule, Licence::needed(rule.tags.iter().map(|tag| tag.as_str()))));
    let left_out =
        needed.filter(|(_, needed)| *needed > licence).map(|(rule, needed)| (rule.name.to_string(), needed.name()));
    let seconds = with_seconds.then(|| {
        let seconds = saturation.seconds.iter();
        seconds
            .map(|((phase, rule), &seconds)| RuleSeconds { phase: phase.clone(), rule: rule.clone(), seconds })
            .collect()
    });
    let (kernel, input) = input;
    Ok(Trial { kernel, input, without, with, fired: fired.collect(), left_out: left_out.collect(), seconds })
}

/// What the rules did, and what they might do to floats.
type Record = (nestegg_egraph::saturate::Saturation, Licence);

fn side(source: &Source, config: &Config) -> Result<((String, u128), Side, Record), Error> {
    let optimized = optimize(source, config)?;
    let record = explore(source, config, |explored| (explored.saturation.clone(), explored.licence))?;
    let assumed = parameters::assumed(&optimized.program.kernel, &config.parameters)?;
    let values = parameters::values(&assumed);
    let estimate = nestegg_time::estimate(&optimized.program, &values, &config.machine).ok();
    let nodes = record.0.phases.iter().map(|phase| (phase.name.clone(), phase.n_nodes)).collect();
    let report = &optimized.report;
    let side = Side {
        operations: report.after.total,
        // A tenth of a nanosecond is more than the model knows.
        nanoseconds: estimate.map(|estimate| (estimate.nanoseconds * 10.0).round() / 10.0),
        nodes,
    };
    Ok(((report.kernel.clone(), report.before.total), side, record))
}
