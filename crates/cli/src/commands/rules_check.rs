//! `nestegg rules check`: whether rules are sound.
//!
//! The verdicts, and a kernel for each rule that is unsound, go to standard output; what is wrong, at its place in the rule file, to standard
//! error. The exit status is 1 if a rule is unsound.

use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use miette::NamedSource;
use nestegg_driver::rules;
use nestegg_lab::check::{Checked, CounterExample, Verdict, check_all, counts};
use nestegg_rules::{Rule, RuleBook};
use nestegg_span::{Source, Span};

use crate::args::{DataFormat, RulesCheckArgs};
use crate::commands::rules::UnknownName;
use crate::config::read_rules;
use crate::exit::ExitStatus;
use crate::files::{self, Output};
use crate::progress::Progress;
use crate::terminal::{self, Failure};

/// A rule with a counter-example.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("rule `{rule}` is not an equality: `{left}` is {left_value}, but `{right}` is {right_value}")]
#[diagnostic(code(rules::unsound), help("mend the rule, or give it the condition under which it holds (`:when`)"))]
struct Unsound {
    rule: String,
    left: String,
    right: String,
    left_value: String,
    right_value: String,
    variables: String,
    #[source_code]
    file: NamedSource<std::sync::Arc<str>>,
    #[label("{variables}")]
    at: Span,
}

pub fn run(args: &RulesCheckArgs) -> Result<ExitStatus, Failure> {
    let (book, names) = asked(&args.rules)?;
    let rules: Vec<&Rule> = names.iter().filter_map(|name| book.rules.get(name.as_str())).collect();
    if let Some(folder) = &args.save {
        std::fs::create_dir_all(folder).map_err(|source| files::write_error(folder, source))?;
    }
    let progress = Progress::of("rules", rules.len(), !args.quiet);
    let checked = check_all(&rules, |_| progress.advance());
    drop(progress);
    match args.format {
        DataFormat::Text => terminal::print(&text(&checked))?,
        DataFormat::Json => terminal::print(&(json(&checked) + "\n"))?,
    }
    let mut status = ExitStatus::Done;
    let mut outputs = Vec::new();
    for (one, rule) in checked.iter().zip(&rules) {
        if let Verdict::Unsound(counter) = &one.verdict {
            status = ExitStatus::Negative;
            terminal::show(&miette::Report::new(unsound(rule, counter)));
            if let Some(folder) = &args.save {
                let path = folder.join(format!("{}.knl", one.rule));
                outputs.push(Output { path, text: counter.kernel.clone() });
            }
        }
    }
    files::write_all(&outputs)?;
    Ok(status)
}

/// The rules that are meant by files, folders and names; all built-in ones by nothing.
pub fn asked(what: &[String]) -> Result<(RuleBook, Vec<String>), Failure> {
    let is_file = |text: &&String| Path::new(text).exists() || text.ends_with(".rules");
    let paths: Vec<PathBuf> = what.iter().filter(is_file).map(PathBuf::from).collect();
    let given: Vec<Source> = read_rules(&paths)?;
    let book = rules::rule_book(&given)?;
    let mut names: Vec<String> = Vec::new();
    let mut add = |rules: Vec<&Rule>| {
        for rule in rules {
            let name = rule.name.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    };
    if what.is_empty() {
        add(book.rules.values().collect());
    }
    add(book.rules.values().filter(|rule| given.iter().any(|source| source.name == rule.source.name)).collect());
    for name in what.iter().filter(|text| !is_file(text)) {
        let found = book.rules_of(name);
        if found.is_empty() {
            return Err(UnknownName { name: name.clone() }.into());
        }
        add(found);
    }
    Ok((book, names))
}

fn unsound(rule: &Rule, counter: &CounterExample) -> Unsound {
    let variables: Vec<String> = counter.variables.iter().map(|(name, text)| format!("{name} is `{text}`")).collect();
    Unsound {
        rule: rule.name.to_string(),
        left: counter.left.clone(),
        right: counter.right.clone(),
        left_value: counter.left_value.clone(),
        right_value: counter.right_value.clone(),
        variables: if variables.is_empty() { "this rule".to_owned() } else { variables.join(", ") },
        file: rule.source.named_source(),
        at: rule.span,
    }
}

fn text(checked: &[Checked]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["rule", "verdict", "kernels", "equations", "roundoffs"]);
    for idx in 2..5 {
        if let Some(column) = table.column_mut(idx) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for one in checked {
        let [kernels, equations, rounding] = match &one.verdict {
            Verdict::Sound(trials) => {
                [trials.kernels.to_string(), trials.equations.to_string(), format!("{:.1}", trials.rounding)]
            }
            _ => [(); 3].map(|()| "-".to_owned()),
        };
        table.add_row([one.rule.clone(), one.verdict.name().to_owned(), kernels, equations, rounding]);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let mut text = lines.join("\n") + "\n";
    for one in checked {
        match &one.verdict {
            Verdict::Sound(_) => {}
            Verdict::NotChecked { reason } => text.push_str(&format!("{}: not checked: {reason}\n", one.rule)),
            Verdict::Unsound(counter) => text.push_str(&format!("\n{}", counter.kernel)),
        }
    }
    let counts: Vec<String> =
        counts(checked).into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect();
    let n = checked.len();
    text.push_str(&format!("\n{n} {}: {}\n", if n == 1 { "rule" } else { "rules" }, counts.join(", ")));
    text
}

fn json(checked: &[Checked]) -> String {
    serde_json::to_string_pretty(checked).expect("verdicts are plain data with text keys")
}
