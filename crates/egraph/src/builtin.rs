//! The rule files that the program carries.

use nestegg_rules::{RuleBook, RuleErrors};
use nestegg_span::Source;

use crate::vocabulary::vocabulary;

/// The text of every rule file of `rules/`, with its path.
const FILES: [(&str, &str); 7] = [
    ("rules/identities.rules", include_str!("../../../rules/identities.rules")),
    ("rules/selections.rules", include_str!("../../../rules/selections.rules")),
    ("rules/hoist.rules", include_str!("../../../rules/hoist.rules")),
    ("rules/common-factors.rules", include_str!("../../../rules/common-factors.rules")),
    ("rules/reciprocals.rules", include_str!("../../../rules/reciprocals.rules")),
    ("rules/sharing.rules", include_str!("../../../rules/sharing.rules")),
    ("rules/strategies.rules", include_str!("../../../rules/strategies.rules")),
];

/// The built-in rule files.
#[must_use]
pub fn sources() -> Vec<Source> {
    FILES.iter().map(|&(name, text)| Source::new(name, text)).collect()
}

/// Whether a source is a built-in rule file.
#[must_use]
pub fn has(source: &Source) -> bool {
    FILES.iter().any(|&(name, text)| *source.name == *name && *source.text == *text)
}

/// The built-in rules and strategies with those of further files.
///
/// # Errors
/// If a file is wrong; all errors of all files.
pub fn rule_book(files: &[Source]) -> Result<RuleBook, RuleErrors> {
    let mut all = sources();
    all.extend_from_slice(files);
    RuleBook::parse(&all, &vocabulary())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_files_are_right() {
        let book = rule_book(&[]).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(book.resolve("O1").unwrap().phases.len(), 3);
    }
}
