//! Mutants of rules: how many broken rules the check of rules notices.
//!
//! # Output
//! For each family of mutants how many were made, killed, never fire, are proved sound, and survived; then every survivor. It is the same everywhere.

use clap::Args;
use nestegg_egraph::builtin;
use nestegg_lab::mutate::{FAMILIES, Mutant, Outcome, measure, mutants};
use nestegg_rules::Rule;

use crate::progress::bar;
use crate::table::table;

/// `nestegg-bench rule-mutants`.
#[derive(Debug, Args)]
pub struct RuleMutantsArgs {
    /// Only mutants of rules whose name holds one of these words
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

/// Makes and checks all mutants.
pub fn run(args: &RuleMutantsArgs) -> miette::Result<String> {
    let book = builtin::rule_book(&[]).map_err(|errors| miette::miette!("{errors:?}"))?;
    let is_chosen =
        |rule: &&Rule| args.words.is_empty() || args.words.iter().any(|word| rule.name.contains(word.as_str()));
    let rules: Vec<&Rule> = book.rules.values().filter(is_chosen).collect();
    let n_mutants: usize = rules.iter().map(|rule| mutants(rule).len()).sum();
    let progress = bar("mutants", n_mutants)?;
    let measured = measure(&rules, 1, || progress.inc(1));
    progress.finish_and_clear();
    let count = |family: Option<&str>, is_it: &dyn Fn(&Outcome) -> bool| {
        let of_family = |mutant: &Mutant| family.is_none_or(|family| mutant.family == family);
        measured.iter().filter(|(mutant, outcome)| of_family(mutant) && is_it(outcome)).count().to_string()
    };
    let row = |name: &str, family: Option<&str>| {
        vec![
            name.to_owned(),
            count(family, &|_| true),
            count(family, &|outcome| *outcome == Outcome::Killed),
            count(family, &|outcome| *outcome == Outcome::NeverFires),
            count(family, &|outcome| matches!(outcome, Outcome::Proved(_))),
            count(family, &|outcome| *outcome == Outcome::Survived),
        ]
    };
    let described = |(family, what): &(&str, &str)| row(&format!("{family}: {what}"), Some(family));
    let mut rows: Vec<Vec<String>> = FAMILIES.iter().map(described).collect();
    rows.push(row("all", None));
    let header = ["family", "mutants", "killed", "never fire", "proved", "survived"].map(str::to_owned);
    let survivors = measured.iter().filter(|(_, outcome)| *outcome == Outcome::Survived);
    let survivors: String =
        survivors.map(|(mutant, _)| format!("survived [{}]: {}\n", mutant.family, mutant.text)).collect();
    Ok(format!("{}{survivors}", table(args.markdown, &header, &rows)))
}
