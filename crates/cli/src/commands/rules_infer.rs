//! `nestegg rules infer`: rules that hold in small vocabularies, as a rule file.

use std::fmt::Write;

use nestegg_driver::rules::{self, rule_book};
use nestegg_lab::infer::wins::rank;
use nestegg_lab::infer::{Inferred, InferredRule, Status, THEMES, Theme, infer};
use nestegg_rules::Rule;

use crate::args::{DataFormat, RulesInferArgs};
use crate::commands::folder::sources;
use crate::config::of_strategy;
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::terminal::{self, Failure};

/// Kernels that are named for each rule.
const N_NAMED: usize = 3;

pub fn run(args: &RulesInferArgs) -> Result<ExitStatus, Failure> {
    let config = of_strategy(&args.strategy)?;
    rules::check(&config)?;
    let kernels = sources(&args.kernels)?;
    let book = rule_book(&config.rules)?;
    let known: Vec<&Rule> = book.rules.values().collect();
    let is_asked = |theme: &&Theme| args.themes.is_empty() || args.themes.iter().any(|name| name == theme.name);
    let themes: Vec<&Theme> = THEMES.iter().filter(is_asked).collect();
    let progress = Progress::of("themes", themes.len(), !args.quiet);
    let mut inferred = infer(&themes, &known, |_| progress.advance());
    drop(progress);
    for found in &mut inferred {
        found.rules.retain(|rule| !args.new || rule.status == Status::New);
    }
    if !kernels.is_empty() {
        let is_tried = |rule: &&InferredRule| !matches!(rule.status, Status::Known(_));
        let n_tried = inferred.iter().flat_map(|found| &found.rules).filter(is_tried).count();
        let progress = Progress::of("rules", n_tried, !args.quiet);
        rank(&mut inferred, &kernels, &config, || progress.advance())?;
    }
    match args.format {
        DataFormat::Text => terminal::print(&text(&inferred, kernels.len()))?,
        DataFormat::Json => {
            let text = serde_json::to_string_pretty(&inferred).expect("rules are plain data with text keys");
            terminal::print(&(text + "\n"))?;
        }
    }
    Ok(ExitStatus::Done)
}

/// A rule file.
fn text(inferred: &[Inferred], n_kernels: usize) -> String {
    let mut text = ";; Rules that `nestegg rules infer` found.\n;;\n".to_owned();
    for Inferred { theme, terms, equations, refused, limits, rules } in inferred {
        let _ =
            write!(text, ";; {theme}: {terms} terms, {equations} equations, {refused} refused, {} rules", rules.len());
        let _ = match limits.as_slice() {
            [] => writeln!(text),
            all => writeln!(text, "; limits hit: {}", all.join(", ")),
        };
    }
    let again = found_again(inferred);
    if !again.is_empty() {
        let _ = write!(text, ";;\n;; Found again, {}: {}.\n", again.len(), again.join(", "));
    }
    for rule in inferred.iter().flat_map(|found| &found.rules) {
        let status = match &rule.status {
            Status::Known(names) => format!("Known: {}.", names.join(", ")),
            Status::Implied => "Implied by known rules.".to_owned(),
            Status::New => "New.".to_owned(),
        };
        let (equation, form) = rule.text.split_once('\n').unwrap_or(("", &rule.text));
        let _ = write!(text, "\n{equation}  {status}\n");
        if n_kernels > 0 && !matches!(rule.status, Status::Known(_)) {
            let _ = writeln!(text, ";; {}", won(rule, n_kernels));
        }
        text.push_str(form);
    }
    text
}

/// The rules that are loaded and were found, in order.
fn found_again(inferred: &[Inferred]) -> Vec<&str> {
    let known = inferred.iter().flat_map(|found| &found.rules).filter_map(|rule| match &rule.status {
        Status::Known(names) => Some(names),
        Status::Implied | Status::New => None,
    });
    let mut names: Vec<&str> = known.flatten().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a rule wins, in words.
fn won(rule: &InferredRule, n_kernels: usize) -> String {
    let named = |win: &nestegg_lab::infer::Win| format!("{} {} -> {}", win.kernel, win.without, win.with);
    let kernels: Vec<String> = rule.wins.iter().take(N_NAMED).map(named).collect();
    match (kernels.as_slice(), rule.wins.len()) {
        ([], _) => format!("No difference on {n_kernels} kernels."),
        (_, n) => {
            let ratio = rule.ratio().powf(1.0 / n_kernels as f64);
            format!("{ratio:.4} of the operations on {n_kernels} kernels; {n} differ: {}.", kernels.join(", "))
        }
    }
}
