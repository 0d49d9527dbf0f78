//! `nestegg rules`: rules, sets and strategies with their documentation, as a rule file would have them.

use std::fmt::Display;

use nestegg_driver::rules::{rule_book, vocabulary, warnings};
use nestegg_lab::growth::growing;
use nestegg_rules::RuleBook;
use nestegg_span::Source;

use crate::args::{RulesArgs, RulesCommand};
use crate::commands::{rules_check, rules_infer, rules_test, rules_try, rules_why_not};
use crate::config::read_rules;
use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

/// A name that nothing has.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("there is no rule, set or strategy `{name}`")]
#[diagnostic(code(nestegg::unknown_rule), help("`nestegg rules` lists all of them"))]
pub struct UnknownName {
    /// The name.
    pub name: String,
}

pub fn run(args: &RulesArgs) -> Result<ExitStatus, Failure> {
    match &args.command {
        Some(RulesCommand::Check(args)) => return rules_check::run(args),
        Some(RulesCommand::Test(args)) => return rules_test::run(args),
        Some(RulesCommand::WhyNot(args)) => return rules_why_not::run(args),
        Some(RulesCommand::Try(args)) => return rules_try::run(args),
        Some(RulesCommand::Infer(args)) => return rules_infer::run(args),
        None => {}
    }
    if args.vocabulary {
        terminal::print(&format!("{}\n", vocabulary().to_string().trim_end()))?;
        return Ok(ExitStatus::Done);
    }
    let files = read_rules(&args.rules)?;
    let book = rule_book(&files)?;
    warnings(&files).into_iter().for_each(|warning| terminal::show(&warning.into()));
    growing(&book, |rule| files.contains(&rule.source)).into_iter().for_each(|warning| terminal::show(&warning.into()));
    let text = if args.names.is_empty() { all(&book) } else { named(&book, &args.names)? };
    terminal::print(&text)?;
    Ok(ExitStatus::Done)
}

/// File by file: its header, its rules, its sets, its strategies.
fn all(book: &RuleBook) -> String {
    let mut files = Vec::new();
    for file in &book.files {
        let is_here = |source: &Source| source.name == file.source.name;
        let mut forms = vec![header(&file.source.name, &file.doc)];
        forms.extend(book.rules.values().filter(|rule| is_here(&rule.source)).map(form));
        forms.extend(book.sets.values().filter(|set| is_here(&set.source) && !set.is_file()).map(form));
        forms.extend(book.strategies.values().filter(|strategy| is_here(&strategy.source)).map(form));
        files.push(forms.join("\n"));
    }
    files.join("\n\n")
}

fn named(book: &RuleBook, names: &[String]) -> Result<String, Failure> {
    let mut forms = Vec::new();
    for name in names {
        let rule = book.rules.get(name.as_str()).map(form);
        let set = book.sets.get(name.as_str()).map(form);
        let strategy = book.strategies.get(name.as_str()).map(form);
        let found: Vec<String> = [rule, set, strategy].into_iter().flatten().collect();
        if found.is_empty() {
            return Err(UnknownName { name: name.clone() }.into());
        }
        forms.extend(found);
    }
    Ok(forms.join("\n"))
}

fn header(name: &str, doc: &str) -> String {
    let lines: Vec<String> = doc.lines().map(|line| format!(";; {line}").trim_end().to_owned()).collect();
    format!(";; {name}\n;;\n{}\n", lines.join("\n"))
}

fn form(form: &impl Display) -> String {
    format!("{form}\n")
}
