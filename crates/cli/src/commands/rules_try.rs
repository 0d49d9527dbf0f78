//! `nestegg rules try`: kernels with and without rules.

use comfy_table::{CellAlignment, Table, presets};
use indexmap::IndexMap;
use nestegg_driver::config::Config;
use nestegg_driver::rules;
use nestegg_lab::trial::{Trial, trial};
use rayon::prelude::*;

use crate::args::{DataFormat, RulesTryArgs};
use crate::config::{of_strategy, read_rules};
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

pub fn run(args: &RulesTryArgs) -> Result<ExitStatus, Failure> {
    let mut config = of_strategy(&args.strategy)?;
    config.rules.extend(read_rules(std::slice::from_ref(&args.file))?);
    rules::check(&config)?;
    rules::warnings(&config.rules).into_iter().for_each(|warning| terminal::show(&warning.into()));
    let sources = args.kernels.iter().map(|path| kernels::read(path)).collect::<Result<Vec<_>, _>>()?;
    let config: &Config = &config;
    let trials: Vec<_> = sources.par_iter().map(|source| trial(source, config, args.seconds)).collect();
    let trials = trials.into_iter().collect::<Result<Vec<Trial>, _>>()?;
    match args.format {
        DataFormat::Json => {
            let text = serde_json::to_string_pretty(&trials).expect("trials are plain data with text keys");
            terminal::print(&(text + "\n"))?;
        }
        DataFormat::Text => terminal::print(&text(&trials))?,
    }
    Ok(ExitStatus::Done)
}

fn text(trials: &[Trial]) -> String {
    let mut table = Table::new();
    let header = ["kernel", "input", "without", "with", "ns without", "ns with", "e-nodes without", "e-nodes with"];
    table.load_style(presets::NOTHING).set_header(header);
    for trial in trials {
        let nanoseconds = |side: Option<f64>| side.map_or("-".to_owned(), |value| value.to_string());
        let nodes = |nodes: Option<&usize>| nodes.map_or("-".to_owned(), usize::to_string);
        table.add_row([
            trial.kernel.clone(),
            trial.input.to_string(),
            trial.without.operations.to_string(),
            trial.with.operations.to_string(),
            nanoseconds(trial.without.nanoseconds),
            nanoseconds(trial.with.nanoseconds),
            nodes(trial.without.nodes.values().last()),
            nodes(trial.with.nodes.values().last()),
        ]);
    }
    let mut text = printed(table, header.len());
    text.push('\n');
    let names: Vec<&String> = trials.iter().flat_map(|trial| trial.fired.keys()).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["rule", "kernel", "matches"]);
    for (name, trial) in names
        .iter()
        .take(trials.first().map_or(0, |trial| trial.fired.len()))
        .flat_map(|name| trials.iter().map(move |trial| (name, trial)))
    {
        table.add_row([
            name.to_string(),
            trial.kernel.clone(),
            trial.fired.get(*name).copied().unwrap_or(0).to_string(),
        ]);
    }
    text.push_str(&printed(table, 3));
    let mut left_out: IndexMap<&String, &str> = IndexMap::new();
    left_out.extend(trials.iter().flat_map(|trial| &trial.left_out).map(|(name, float)| (name, *float)));
    for (name, float) in left_out {
        text.push_str(&format!("\n`{name}` does not run: `--float {float}` grants its tag\n"));
    }
    if trials.iter().any(|trial| trial.seconds.is_some()) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["kernel", "phase", "rules", "seconds"]);
        for trial in trials {
            for row in trial.seconds.iter().flatten() {
                table.add_row([
                    trial.kernel.clone(),
                    row.phase.clone(),
                    row.rule.clone(),
                    format!("{:.6}", row.seconds),
                ]);
            }
        }
        text.push('\n');
        text.push_str(&printed(table, 4));
    }
    text
}

/// A table with numbers at the right, but for columns of names.
fn printed(mut table: Table, n_columns: usize) -> String {
    let first = if n_columns > 4 { 1 } else { n_columns - 1 };
    for column in first..n_columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
