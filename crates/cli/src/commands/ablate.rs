//! `nestegg ablate`: each part of a strategy left out in turn.

use comfy_table::{CellAlignment, Table, presets};
use nestegg_driver::config::Strategy;
use nestegg_driver::rules::rule_book;
use nestegg_lab::ablate::{Ablated, Part, ablate, parts};

use crate::args::{AblateArgs, DataFormat};
use crate::commands::folder::sources;
use crate::commands::rules::UnknownName;
use crate::config::{UsageError, of_strategy};
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::terminal::{self, Failure};

pub fn run(args: &AblateArgs) -> Result<ExitStatus, Failure> {
    let config = of_strategy(&args.strategy)?;
    let Strategy::Named(level) = &config.strategy else {
        return Err(UsageError::UnnamedStrategy { level: args.strategy.level.clone() }.into());
    };
    let book = rule_book(&config.rules)?;
    let mut all: Vec<Part> = parts(&book, level, &config.rules).unwrap_or_default();
    if let Some(name) = args.only.iter().find(|name| all.iter().all(|part| part.name != **name)) {
        return Err(UnknownName { name: name.clone() }.into());
    }
    all.retain(|part| args.only.is_empty() || args.only.contains(&part.name));
    let sources = sources(&args.kernels)?;
    let progress = Progress::of("runs", sources.len() * (all.len() + 1), !args.quiet);
    let ablated = ablate(&sources, &config, (level, &all), || progress.advance())?;
    drop(progress);
    match args.format {
        DataFormat::Text => terminal::print(&text(&ablated, sources.len()))?,
        DataFormat::Json => {
            let text = serde_json::to_string_pretty(&ablated).expect("parts are plain data with text keys");
            terminal::print(&(text + "\n"))?;
        }
    }
    Ok(ExitStatus::Done)
}

fn text(ablated: &[Ablated], n_kernels: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["without", "kind", "worse", "better", "ratio", "most"]);
    for row in ablated {
        let most = row.most.as_ref().map_or("-".to_owned(), |(name, ratio)| format!("{ratio:.3} {name}"));
        table.add_row([
            row.part.name.clone(),
            row.part.kind.clone(),
            row.worse.to_string(),
            row.better.to_string(),
            format!("{:.4}", row.ratio),
            most,
        ]);
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{lines}{n_kernels} kernels; operations without a part over operations with it, the geometric mean\n")
}
