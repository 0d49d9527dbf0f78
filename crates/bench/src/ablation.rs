//! What each seed and each form of a strategy wins: operations without it, over operations with everything.
//!
//! # Input
//! The chosen fixtures, and a strategy with the options `seeds` and `forms`.
//! # Output
//! One row for each word of these options: the geometric mean over all kernels of operations without it over operations with everything, on how many
//! kernels it wins, and where it wins most. Then the words that win nowhere.
//! # Method
//! Where the best result is made of a seed of some kind, the kernel is optimized again with a strategy that is composed here, from the strategy's own list without that
//! kind; other kinds changed nothing. For a form, the kernels that come from seeds that use forms are optimized again likewise; the other seeds keep
//! their figures.
//! # Not done
//! A seed that would repeat another is not made, so what two kinds find alike is credited to the first of them.

use clap::Args;
use miette::{IntoDiagnostic, miette};
use nestegg_bench::fixtures::Fixture;
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::report::Report;
use nestegg_span::Source;
use rayon::prelude::*;

use crate::CommonArgs;
use crate::statistics::geometric_mean;
use crate::table::{ratio, table};

/// `nestegg-bench ablation`.
#[derive(Debug, Args)]
pub struct AblationArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The strategy whose seeds and forms are left out in turn
    #[arg(long, default_value = "O3")]
    strategy: String,
}

/// Kinds of seeds that are made with the words of the option `forms`.
const KINDS_WITH_FORMS: [&str; 5] = ["linear-map", "merged", "integrands", "pairs", "features"];

/// One kernel: operations with everything, and without each word.
struct Ablated {
    name: String,
    /// With everything.
    all: f64,
    /// In the order of the words: seeds, then forms.
    without: Vec<f64>,
}

/// The words of the two options.
struct Words {
    seeds: Vec<String>,
    forms: Vec<String>,
}

/// Leaves out every word in turn, on every chosen kernel.
pub fn run(args: &AblationArgs) -> miette::Result<String> {
    let fixtures = args.common.chosen()?;
    let words = words(&args.strategy)?;
    let results: Vec<Result<Ablated, String>> = fixtures
        .par_iter()
        .map(|fixture| {
            ablated(fixture, args, &words).map_err(|error| format!("{}: {}", fixture.full_name(), first_line(&error)))
        })
        .collect();
    let (kernels, failures): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let kernels: Vec<Ablated> = kernels.into_iter().flatten().collect();
    let failures: Vec<String> = failures.into_iter().filter_map(Result::err).collect();
    let mut text = format!("{}: operations without each seed and form, over operations with all\n\n", args.strategy);
    text += &rows(args, &words, &kernels);
    if !failures.is_empty() {
        text += &format!("\nfailed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

/// The words of the strategy's options `seeds` and `forms`.
fn words(strategy: &str) -> miette::Result<Words> {
    let book = nestegg_driver::rules::rule_book(&[])?;
    let resolved = book.resolve(strategy).map_err(|error| miette!("{error}"))?;
    let of = |option: &str| {
        let value = resolved.options.get(option).map(ToString::to_string).unwrap_or_default();
        value.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
    };
    Ok(Words { seeds: of("seeds"), forms: of("forms") })
}

fn ablated(fixture: &Fixture, args: &AblationArgs, words: &Words) -> miette::Result<Ablated> {
    let source = fixture.read().into_diagnostic()?;
    let report = optimized(&source, Strategy::Named(args.strategy.clone()))?;
    let all = report.after.total as f64;
    let cheapest = |is_left: &dyn Fn(&[&str]) -> bool| {
        let left = report.seeds.iter().filter(|(seed, _)| is_left(&kinds(seed))).map(|(_, &cost)| cost);
        // Without any seed the kernel stays as it is.
        left.min().unwrap_or(report.before.total).min(report.before.total) as f64
    };
    let best = kinds(&report.seed);
    let mut without = Vec::new();
    for word in &words.seeds {
        without.push(if best.contains(&word.as_str()) {
            optimized(&source, without_seed(&args.strategy, words, word))?.after.total as f64
        } else {
            all
        });
    }
    let rest = cheapest(&|kinds| !uses_forms(kinds));
    for form in &words.forms {
        without.push(if uses_forms(&kinds(&report.seed)) {
            let strategy = without_form(&args.strategy, words, form, &report);
            rest.min(optimized(&source, strategy)?.after.total as f64)
        } else {
            all
        });
    }
    Ok(Ablated { name: fixture.full_name(), all, without })
}

/// Whether a seed of these kinds is made with the words of the option `forms`.
fn uses_forms(kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| KINDS_WITH_FORMS.contains(kind))
}

/// The kinds of seeds that a seed's name tells of.
fn kinds(seed: &str) -> Vec<&str> {
    let parts: Vec<&str> = seed.split(", ").map(|part| part.split(' ').next().unwrap_or_default()).collect();
    // What comes after it is made of the kernel as it is, which is there whether it is a seed itself or not.
    if parts.len() > 1 { parts.into_iter().filter(|&part| part != "rolled").collect() } else { parts }
}

/// The strategy without a kind of seed.
fn without_seed(strategy: &str, words: &Words, seed: &str) -> Strategy {
    let rest: Vec<&str> = words.seeds.iter().map(String::as_str).filter(|&word| word != seed).collect();
    let text = format!(
        ";; One seed less.\n\n;; Without `{seed}`.\n(strategy without-{seed} :extends {strategy}\n  :option (seeds {}))\n",
        rest.join(" ")
    );
    Strategy::InFile(Source::new(format!("without-{seed}.rules"), text))
}

/// The strategy without a form, and with those seeds alone that use forms.
fn without_form(strategy: &str, words: &Words, form: &str, report: &Report) -> Strategy {
    // Pairs and features are made of what other kinds of seeds make.
    let made_of: Vec<&str> =
        report.seeds.keys().map(|seed| kinds(seed)).filter(|of| uses_forms(of)).flatten().collect();
    let seeds: Vec<&str> = words.seeds.iter().map(String::as_str).filter(|word| made_of.contains(word)).collect();
    let forms: Vec<&str> = words.forms.iter().map(String::as_str).filter(|&word| word != form).collect();
    let text = format!(
        ";; One form less.\n\n;; Without `{form}`.\n(strategy without-{form} :extends {strategy}\n  :option (seeds {})\n  :option (forms {}))\n",
        seeds.join(" "),
        forms.join(" ")
    );
    Strategy::InFile(Source::new(format!("without-{form}.rules"), text))
}

fn optimized(source: &Source, strategy: Strategy) -> miette::Result<Report> {
    let config = Config { strategy, validation: Validation::Off, ..Config::of_operations() };
    Ok(nestegg_driver::optimize(source, &config)?.report)
}

fn first_line(error: &miette::Report) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// One row for each word.
fn rows(args: &AblationArgs, words: &Words, kernels: &[Ablated]) -> String {
    let header = ["without", "option", "mean", "wins on", "of", "largest win", "on"].map(str::to_owned);
    let all = words.seeds.iter().map(|word| ("seeds", word)).chain(words.forms.iter().map(|word| ("forms", word)));
    let mut rows = Vec::new();
    let mut idle = Vec::new();
    for (word_idx, (option, word)) in all.enumerate() {
        let ratios: Vec<(f64, &str)> = kernels
            .iter()
            .filter(|kernel| kernel.all > 0.0)
            .map(|kernel| (kernel.without[word_idx] / kernel.all, kernel.name.as_str()))
            .collect();
        let wins: Vec<&(f64, &str)> = ratios.iter().filter(|(ratio, _)| *ratio > 1.0).collect();
        let largest = wins.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        if wins.is_empty() {
            idle.push(format!("`{word}`"));
        }
        rows.push(vec![
            word.clone(),
            option.to_owned(),
            ratio(geometric_mean(&ratios.iter().map(|(ratio, _)| *ratio).collect::<Vec<f64>>())),
            wins.len().to_string(),
            ratios.len().to_string(),
            ratio(largest.map(|(ratio, _)| *ratio)),
            largest.map_or_else(|| "-".to_owned(), |(_, name)| (*name).to_owned()),
        ]);
    }
    let mut text = table(args.common.markdown, &header, &rows);
    if !idle.is_empty() {
        text += &format!("\nwins nowhere: {}\n", idle.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASS: &str = "kernel mass\n\
        domain { [q, j, k] : 0 <= q < 3 and 0 <= j, k < 3 }\n\
        arg A : float64[3, 3] readwrite\n\
        arg w : float64 read\n\
        table T : float64[3, 3] = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]\n\
        for j, k\n  A[j, k] = A[j, k] + sum(q, w*T[q, j]*T[q, k])\nend\n";

    #[test]
    fn names_of_seeds_tell_their_kinds() {
        assert_eq!(kinds("rolled"), ["rolled"]);
        assert_eq!(kinds("rolled, split into 4, pairs"), ["split", "pairs"]);
        assert_eq!(kinds("digits"), ["digits"]);
    }

    /// What need not be run again gives the same operations if it is.
    #[test]
    fn leaving_out_a_seed_that_the_best_is_not_made_of_changes_nothing() {
        let source = Source::new("mass", MASS);
        let words = words("O3").unwrap();
        let report = optimized(&source, Strategy::Named("O3".to_owned())).unwrap();
        let best = kinds(&report.seed);
        assert!(!best.is_empty() && best.len() < words.seeds.len());
        for word in words.seeds.iter().filter(|word| !best.contains(&word.as_str())) {
            let less = optimized(&source, without_seed("O3", &words, word)).unwrap();
            assert_eq!(less.after.total, report.after.total, "without {word}");
        }
    }
}
