//! `nestegg count`: floating-point operations, by kind and by loop depth.

use comfy_table::{CellAlignment, Table, presets};
use nestegg_driver::count::Counted;

use crate::args::{CountArgs, DataFormat};
use crate::exit::ExitStatus;
use crate::files;
use crate::terminal::{self, Failure};

pub fn run(args: &CountArgs) -> Result<ExitStatus, Failure> {
    let source = files::read(&args.input)?;
    let counted = nestegg_driver::count(&source, &args.parameters.values)?;
    terminal::print(&match args.format {
        DataFormat::Text => text(&counted),
        DataFormat::Json => {
            serde_json::to_string_pretty(&counted).expect("counts are plain data with text keys") + "\n"
        }
    })?;
    Ok(ExitStatus::Done)
}

/// A table: kinds down, loop depths across.
fn text(counted: &Counted) -> String {
    let depths: Vec<usize> = counted.by_depth.keys().copied().collect();
    let mut table = Table::new();
    let mut header = vec!["operations".to_owned()];
    header.extend(depths.iter().map(|depth| format!("{depth} loop{}", if *depth == 1 { "" } else { "s" })));
    header.push("all".to_owned());
    table.load_style(presets::NOTHING).set_header(header);
    for (kind, all) in &counted.by_kind {
        let at = |depth: usize| {
            let entry = counted.entries.iter().find(|entry| entry.depth == depth && entry.kind == *kind);
            entry.map_or(0, |entry| entry.operations).to_string()
        };
        let mut row = vec![kind.clone()];
        row.extend(depths.iter().map(|&depth| at(depth)));
        row.push(all.to_string());
        table.add_row(row);
    }
    let mut row = vec!["all".to_owned()];
    row.extend(depths.iter().map(|depth| counted.by_depth.get(depth).copied().unwrap_or(0).to_string()));
    row.push(counted.total.to_string());
    table.add_row(row);
    for column in 1..depths.len() + 2 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n{}\n", counted.kernel, lines.join("\n"))
}
