//! The report for people.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use nestegg_ir::Licence;

use super::{Gap, ParameterSource, Report, Validated};
use crate::search::AS_IT_CAME;

/// Longer definitions are cut off here.
const MAX_DEFINITION: usize = 72;

/// More temporaries than this are not listed one by one.
const MAX_TEMPORARIES: usize = 60;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (self.before.total, self.after.total);
        writeln!(
            f,
            "{}: {before} -> {after} operations, {:.3} of the input ({})",
            self.kernel,
            self.ratio(),
            self.strategy
        )?;
        if self.seed == AS_IT_CAME {
            let costs: Vec<String> = self.seeds.iter().map(|(seed, cost)| format!("{seed} {cost}")).collect();
            let why = if self.failures.is_empty() { "nothing found does less" } else { "found" };
            writeln!(f, "kept as it came, without dead code; {why}: {}", costs.join(", "))?;
        } else if self.seeds.len() > 1 {
            let costs: Vec<String> = self.seeds.iter().map(|(seed, cost)| format!("{seed} {cost}")).collect();
            writeln!(f, "made of: {}; of all: {}", self.seed, costs.join(", "))?;
        }
        if self.float != Licence::default().name() {
            match self.left_out.as_slice() {
                [] => writeln!(f, "floats: {}", self.float)?,
                left_out => writeln!(f, "floats: {}; left out: {}", self.float, left_out.join(", "))?,
            }
        }
        self.write_parameters(f)?;
        self.write_kinds(f)?;
        self.write_temporaries(f)?;
        self.write_rules(f)?;
        self.write_limits(f)?;
        match self.gap {
            Gap::Proved { lower_bound, cost } if lower_bound == cost => {
                writeln!(f, "choice: proved the best of the forms found")?
            }
            Gap::Proved { lower_bound, cost } => {
                writeln!(f, "choice: {cost}, proved to be at least {lower_bound} among the forms found")?
            }
            Gap::NotProved => writeln!(f, "choice: best found, gap not proved")?,
        }
        self.failures.iter().try_for_each(|failure| writeln!(f, "failed: {failure}"))?;
        match &self.validation {
            Validated::Equal { evidence } => writeln!(f, "validated: equal; {evidence}")?,
            Validated::NotCompared { reason } => writeln!(f, "not validated: {reason}")?,
        }
        self.accuracy.iter().try_for_each(|accuracy| writeln!(f, "accuracy: {accuracy}"))?;
        self.write_stages(f)
    }
}

impl Report {
    fn write_parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for parameter in &self.parameters {
            let source = match parameter.source {
                ParameterSource::Given => "given",
                ParameterSource::Estimate => "the kernel's estimate",
                ParameterSource::Default => "no estimate, the default",
            };
            writeln!(f, "assuming {} = {} ({source})", parameter.name, parameter.value)?;
        }
        Ok(())
    }

    fn write_kinds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<&String> = self.before.by_kind.keys().collect();
        kinds.extend(self.after.by_kind.keys().filter(|kind| !self.before.by_kind.contains_key(*kind)));
        let mut table = plain_table(&["operations", "before", "after"]);
        for kind in kinds {
            let count = |of: &super::Operations| of.by_kind.get(kind).copied().unwrap_or(0).to_string();
            table.add_row([kind.clone(), count(&self.before), count(&self.after)]);
        }
        align_right(&mut table, &[1, 2]);
        write_table(f, &table)
    }

    fn write_temporaries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.temporaries.is_empty() {
            return writeln!(f, "no temporaries");
        }
        let mut table = plain_table(&["temporary", "loops", "uses", "saved", "definition"]);
        for temporary in self.temporaries.iter().take(MAX_TEMPORARIES) {
            let name = match temporary.shape.as_slice() {
                [] => temporary.name.clone(),
                shape => format!("{}[{}]", temporary.name, shape.join(", ")),
            };
            let loops = if temporary.loops.is_empty() { "-".to_owned() } else { temporary.loops.join(" ") };
            let saved = temporary.saved.map_or_else(|| "-".to_owned(), |saved| saved.to_string());
            table.add_row([name, loops, temporary.uses.to_string(), saved, shortened(&temporary.definition)]);
        }
        align_right(&mut table, &[2, 3]);
        write_table(f, &table)?;
        match self.temporaries.len().checked_sub(MAX_TEMPORARIES) {
            None | Some(0) => Ok(()),
            Some(more) => writeln!(f, "  and {more} more temporaries"),
        }
    }

    fn write_rules(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rules.is_empty() {
            return writeln!(f, "no rules fired");
        }
        let fired: Vec<String> = self.rules.iter().map(|(rule, times)| format!("{rule} {times}")).collect();
        writeln!(f, "rules fired: {}", fired.join(", "))
    }

    fn write_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limits.is_empty() {
            return writeln!(f, "no limits hit");
        }
        self.limits.iter().try_for_each(|hit| {
            let value = hit.value.map_or_else(String::new, |value| format!(" of {value}"));
            writeln!(f, "limit hit: {}{value} in {}", hit.limit, hit.place)
        })
    }

    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<String> =
            self.stages.iter().map(|stage| format!("{} {:.4}", stage.name, stage.seconds)).collect();
        writeln!(f, "seconds: {}", stages.join(", "))
    }
}

/// A table without lines, indented.
fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    table
}

fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn write_table(f: &mut fmt::Formatter<'_>, table: &Table) -> fmt::Result {
    table.lines().try_for_each(|line| writeln!(f, " {}", line.trim_end()))
}

/// The text on one line, cut off where it is long.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_DEFINITION {
        return line;
    }
    line.chars().take(MAX_DEFINITION - 1).chain(['…']).collect()
}
