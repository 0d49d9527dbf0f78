//! A vocabulary for the tests, and reports as text.

use miette::Diagnostic;
use nestegg_rules::{ArgumentKind, Arity, OptionKind, OptionValue, RuleBook, Vocabulary};
use nestegg_span::Source;

/// A small vocabulary with every kind of name.
pub fn vocabulary() -> Vocabulary {
    Vocabulary::new()
        .operator("+", Arity::AtLeast(2), "Sum.")
        .operator("*", Arity::AtLeast(2), "Product.")
        .operator("min", Arity::AtLeast(2), "The least.")
        .operator("-", Arity::Exactly(2), "Difference.")
        .operator("/", Arity::Exactly(2), "Quotient.")
        .operator("sqrt", Arity::Exactly(1), "Square root.")
        .operator("pi", Arity::Exactly(0), "The ratio of a circle's circumference to its diameter.")
        .binder("sum", "Sum over inames.")
        .spread("open", "Operands of operands.")
        .condition_with_more(
            "free-of",
            &[ArgumentKind::Inames, ArgumentKind::Inames],
            ArgumentKind::Inames,
            "No common inames.",
        )
        .condition("known-size", &[ArgumentKind::Bound], "The number of points is known.")
        .condition("less", &[ArgumentKind::Term, ArgumentKind::Term], "Less.")
        .condition("nonzero", &[ArgumentKind::Variable], "Never zero.")
        .condition("constant", &[ArgumentKind::Variable], "Known.")
        .condition("below", &[ArgumentKind::Variable, ArgumentKind::Number], "Less than a number.")
        .condition("empty", &[ArgumentKind::Rest], "No children are left.")
        .condition("dtype", &[ArgumentKind::Variable, ArgumentKind::word(&["float", "int"])], "Has the type.")
        .condition_with_more("disjoint", &[ArgumentKind::AnyVariable], ArgumentKind::AnyVariable, "No common inames.")
        .applier("group-product", &[("sets", 64, 1..=1000), ("depth", 2, 0..=6)], "Groups factors.")
        .applier("pull-invariant", &[], "Pulls factors out of reductions.")
        .tag("reassociate", "Changes rounding.")
        .tag("finite-only", "Not for infinities.")
        .option(
            "selection",
            OptionKind::word(&["greedy", "local-search"]),
            OptionValue::word("greedy"),
            "The extractor.",
        )
        .option("seeds", OptionKind::words(&["rolled", "split"]), OptionValue::Words(vec!["rolled".into()]), "Seeds.")
        .option("moves", OptionKind::Integer(0..=1000), OptionValue::Integer(100), "Moves of the search.")
        .option("tolerance", OptionKind::Number, OptionValue::Integer(0), "Of tables.")
}

/// The errors of some files, each with its code and place, its labels and its help.
pub fn report(sources: &[Source]) -> String {
    let Err(errors) = RuleBook::parse(sources, &vocabulary()) else {
        return "no errors\n".into();
    };
    let mut out = String::new();
    for error in &errors.errors {
        let code = error.code().expect("every error has a code");
        out += &format!("{code} {}:{}\n  {error}\n", error.file.name, error.position());
        for label in error.labels().into_iter().flatten() {
            let text: String = error.file.text[label.offset()..label.offset() + label.len()].into();
            let position = error.file.position(label.offset() as u32);
            out += &format!("  {position} {text:?}: {}\n", label.label().unwrap_or_default());
        }
        if let Some(help) = error.help() {
            out += &format!("  help: {help}\n");
        }
    }
    out
}
