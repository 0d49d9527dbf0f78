//! The report for people.
//!
//! # Output
//! Lines of at most so many columns: what does not fit goes on in lines indented by two, and definitions of temporaries are cut off.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use nestegg_ir::Licence;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::{Gap, ParameterSource, Report, Temporary, TimeEstimate, Validated};
use crate::search::AS_IT_CAME;
use crate::stages::VALIDATE;

/// The columns of a report where nobody says how many there are.
pub const WIDTH: usize = 100;

/// Longer definitions are cut off here, however much room there is.
const MAX_DEFINITION: usize = 72;

/// Of definitions at least so much is shown, which the heading of their column needs anyway.
const MIN_DEFINITION: usize = 10;

/// More temporaries than this are not listed one by one.
const MAX_TEMPORARIES: usize = 60;

/// Ratios below this are shown with three significant digits, not with three decimals.
const SMALL_RATIO: f64 = 0.1;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(WIDTH))
    }
}

impl Report {
    /// The report for people, in lines of at most `width` columns.
    #[must_use]
    pub fn to_text(&self, width: usize) -> String {
        let mut story = Story { width, text: String::new() };
        self.tell_result(&mut story);
        self.tell_parameters(&mut story);
        self.tell_kinds(&mut story);
        self.tell_temporaries(&mut story);
        self.tell_rules(&mut story);
        self.tell_limits(&mut story);
        for unjudged in &self.unjudged {
            let (rule, equations, reason) = (&unjudged.rule, unjudged.equations, &unjudged.reason);
            story.line(&format!("rule {rule}: {equations} equations not judged: {reason}"));
        }
        story.line(&match self.gap {
            Gap::Proved { lower_bound, cost } if lower_bound == cost => {
                "choice: proved the best of the forms found".to_owned()
            }
            Gap::Proved { lower_bound, cost } => {
                format!("choice: {cost}, proved to be at least {lower_bound} among the forms found")
            }
            Gap::NotProved => "choice: best found, gap not proved".to_owned(),
        });
        self.failures.iter().for_each(|failure| story.line(&format!("failed: {failure}")));
        story.line(&match &self.validation {
            Validated::Equal { evidence } => format!("validated: equal; {evidence}"),
            Validated::NotCompared { reason } => format!("not validated: {reason}"),
        });
        self.accuracy.iter().for_each(|accuracy| story.line(&format!("accuracy: {accuracy}")));
        self.batch.iter().for_each(|batch| story.line(&format!("batch: {batch}")));
        self.tell_seconds(&mut story);
        story.text
    }

    fn tell_result(&self, story: &mut Story) {
        story.line(&format!(
            "{}: {} -> {} operations, {} of the input ({})",
            self.kernel,
            self.before.total,
            self.after.total,
            ratio_in_digits(self.ratio()),
            self.strategy
        ));
        if let Some(estimate) = &self.estimate {
            let TimeEstimate { machine, before, after, .. } = estimate;
            story.line(&format!("estimated: {before:.1} -> {after:.1} ns a run ({machine})"));
        }
        if !self.tuned.is_empty() {
            let tuned: Vec<String> =
                self.tuned.iter().map(|tuned| format!("{} {:.1} ns", tuned.seed, tuned.measured)).collect();
            story.line(&format!("tuned: {}", tuned.join(", ")));
        }
        let costs: Vec<String> = self.seeds.iter().map(|(seed, cost)| format!("{seed} {cost}")).collect();
        if self.seed == AS_IT_CAME {
            let is_timed = self.estimate.is_some() || !self.tuned.is_empty();
            let why = match self.failures.is_empty() {
                true if is_timed => "nothing found is faster",
                true => "nothing found does less",
                false => "found",
            };
            story.line(&format!("kept as it came, without dead code; {why}: {}", costs.join(", ")));
        } else if self.seeds.len() > 1 {
            story.line(&format!("made of: {}; of all: {}", self.seed, costs.join(", ")));
        }
        if self.float != Licence::default().name() {
            story.line(&match self.left_out.as_slice() {
                [] => format!("floats: {}", self.float),
                left_out => format!("floats: {}; left out: {}", self.float, left_out.join(", ")),
            });
        }
    }

    fn tell_parameters(&self, story: &mut Story) {
        for parameter in &self.parameters {
            let source = match parameter.source {
                ParameterSource::Given => "given",
                ParameterSource::Estimate => "the kernel's estimate",
                ParameterSource::Default => "no estimate, the default",
                ParameterSource::Unstated => "not stated, holds what is accessed",
                ParameterSource::DataBound => "data say where the loop ends",
            };
            story.line(&format!("assuming {} = {} ({source})", parameter.name, parameter.value));
        }
    }

    fn tell_kinds(&self, story: &mut Story) {
        let mut kinds: Vec<&String> = self.before.by_kind.keys().collect();
        kinds.extend(self.after.by_kind.keys().filter(|kind| !self.before.by_kind.contains_key(*kind)));
        let mut table = plain_table(&["operations", "before", "after"]);
        for kind in kinds {
            let count = |of: &super::Operations| of.by_kind.get(kind).copied().unwrap_or(0).to_string();
            table.add_row([kind.clone(), count(&self.before), count(&self.after)]);
        }
        align_right(&mut table, &[1, 2]);
        story.table(&table);
    }

    fn tell_temporaries(&self, story: &mut Story) {
        if self.temporaries.is_empty() {
            return story.line("no temporaries");
        }
        let header = ["temporary", "loops", "uses", "saved", "definition"];
        let listed = self.temporaries.iter().take(MAX_TEMPORARIES);
        let rows: Vec<[String; 4]> = listed.clone().map(|temporary| columns(temporary, story.width)).collect();
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([header[column].len()]).max().unwrap_or(0)
        };
        // The table is indented by one; each column has a space on either side.
        let before: usize = 1 + (0..4).map(|column| widest(column) + 2).sum::<usize>() + 1;
        let room = story.width.saturating_sub(before).clamp(MIN_DEFINITION, MAX_DEFINITION);
        let mut table = plain_table(&header);
        for ([name, loops, uses, saved], temporary) in rows.into_iter().zip(listed) {
            table.add_row([name, loops, uses, saved, shortened(&temporary.definition, room)]);
        }
        align_right(&mut table, &[2, 3]);
        story.table(&table);
        match self.temporaries.len().checked_sub(MAX_TEMPORARIES) {
            None | Some(0) => {}
            Some(more) => story.line(&format!("  and {more} more temporaries")),
        }
    }

    fn tell_rules(&self, story: &mut Story) {
        if self.rules.is_empty() {
            return story.line("no rules fired");
        }
        let fired: Vec<String> = self.rules.iter().map(|(rule, times)| format!("{rule} {times}")).collect();
        story.line(&format!("rules fired: {}", fired.join(", ")));
    }

    fn tell_limits(&self, story: &mut Story) {
        if self.limits.is_empty() {
            return story.line("no limits hit");
        }
        for hit in &self.limits {
            let value = hit.value.map_or_else(String::new, |value| format!(" of {value}"));
            story.line(&format!("limit hit: {}{value} in {}", hit.limit, hit.place));
        }
    }

    fn tell_seconds(&self, story: &mut Story) {
        if self.stages.is_empty() {
            return;
        }
        let of_stages = self.stages.iter().filter(|stage| stage.name != VALIDATE);
        let stages: Vec<String> = of_stages.map(|stage| format!("{} {:.4}", stage.name, stage.seconds)).collect();
        story.line(&format!(
            "seconds: {:.4} to optimize ({}), {:.4} to validate",
            self.seconds(),
            stages.join(", "),
            self.seconds_of_validation()
        ));
    }
}

/// A ratio in plain decimals: with three of them, or, where it is small, with three significant digits.
#[must_use]
pub fn ratio_in_digits(ratio: f64) -> String {
    if !(ratio > 0.0 && ratio < SMALL_RATIO) {
        return format!("{ratio:.3}");
    }
    let n_decimals = 2 - ratio.log10().floor() as i32;
    format!("{ratio:.*}", usize::try_from(n_decimals).unwrap_or(3))
}

/// A text that grows by lines which fit.
struct Story {
    width: usize,
    text: String,
}

impl Story {
    /// Adds a line, broken at spaces where it is too long.
    fn line(&mut self, line: &str) {
        let options = Options::new(self.width)
            .subsequent_indent("  ")
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        for line in textwrap::wrap(line, options) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn table(&mut self, table: &Table) {
        for line in table.lines() {
            self.text.push(' ');
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

/// What stands before the definition of a temporary, none of it wider than a part of the line.
fn columns(temporary: &Temporary, width: usize) -> [String; 4] {
    let name = match temporary.shape.as_slice() {
        [] => temporary.name.clone(),
        shape => format!("{}[{}]", temporary.name, shape.join(", ")),
    };
    let loops = if temporary.loops.is_empty() { "-".to_owned() } else { temporary.loops.join(" ") };
    let saved = temporary.saved.map_or_else(|| "-".to_owned(), |saved| saved.to_string());
    [shortened(&name, width / 4), shortened(&loops, width / 5), temporary.uses.to_string(), saved]
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

/// The text on one line, cut off where it is longer than `max` characters.
fn shortened(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max {
        return line;
    }
    line.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use nestegg_span::Source;

    use super::*;
    use crate::config::{Config, Strategy};
    use crate::optimize;

    #[test]
    fn small_ratios_keep_their_digits() {
        let shown = [1.0, 0.5, 0.1, 0.0907, 0.00042, 1.0 / 2400.0, 0.0].map(ratio_in_digits);
        assert_eq!(shown, ["1.000", "0.500", "0.100", "0.0907", "0.000420", "0.000417", "0.000"]);
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let name = "a_kernel_with_quite_a_long_name".repeat(4);
        let text = format!(
            "kernel {name}\nparam the_size_of_everything : int32 = 9\n\
             domain [the_size_of_everything] -> {{ [first_index, second_index] : 0 <= first_index, second_index < the_size_of_everything }}\n\
             arg x : float64[the_size_of_everything, the_size_of_everything] readwrite\narg y : float64[the_size_of_everything] read\n\
             for first_index, second_index\n  x[first_index, second_index] = sin(y[first_index])*cos(y[second_index]) + sin(y[second_index]) + x[first_index, second_index]*sin(y[first_index])/3.0\nend\n"
        );
        let config = Config { strategy: Strategy::Named("O2".to_owned()), ..Config::of_operations() };
        let report = optimize(&Source::new("k.knl", text), &config).unwrap().report;
        assert!(!report.temporaries.is_empty());
        for width in [60, 80, WIDTH] {
            let text = report.to_text(width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} columns of {width}:\n{text}");
        }
        let words = |text: String| text.split_whitespace().collect::<String>();
        assert!(
            words(report.to_text(60))
                .contains(&words(report.to_text(usize::MAX)).split('(').next().unwrap().to_owned())
        );
    }
}
