//! Snapshot tests of rules: kernels that say which rules fire on them, and which do not.
//!
//! # Input
//! A kernel in the text form with one line among the comments at its top, such as `# rules: level=O1 fires=factor silent=distribute`,
//! and rule files.
//! # Output
//! What came of it, as a text that is compared with the snapshot of an earlier run: operations, the rules that fired, and the result; and
//! what is not as the line says.
//! # Method
//! The kernel is optimized as `nestegg optimize` does it, with everything validated. Nothing in the text depends on the machine.

use indexmap::IndexMap;
use nestegg_driver::config::{Config, PLAIN_STRATEGY, Strategy, Validation};
use nestegg_driver::{Error, emit, optimize};
use nestegg_ir::Licence;
use nestegg_span::Source;

/// What begins the line that says what is expected.
const PREFIX: &str = "# rules:";

/// What a test expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The level; `None` for the default.
    pub level: Option<String>,
    /// What may be done to floats; `None` lets the level say.
    pub float: Option<Licence>,
    /// Rules that fire.
    pub fires: Vec<String>,
    /// Rules that do not.
    pub silent: Vec<String>,
}

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// There is none.
    #[error(
        "no line of the comments at the top begins with `{PREFIX}`, as in `{PREFIX} level=O1 fires=NAME silent=NAME,NAME`"
    )]
    Missing,
    /// A word that is no `key=value`.
    #[error("`{word}` is not `level=LEVEL`, `float=LICENCE`, `fires=NAMES` or `silent=NAMES`")]
    Word {
        /// The word.
        word: String,
    },
    /// It asks for nothing.
    #[error("it names no rule: `fires=NAME` or `silent=NAME` does")]
    Nothing,
}

impl Expected {
    /// Reads the line of a kernel.
    ///
    /// # Errors
    /// If there is none, or it cannot be understood: a misspelt word must not pass for a test.
    pub fn read(text: &str) -> Result<Self, HeaderError> {
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        let mut res = Self::default();
        let lines: Vec<&str> = comments.filter_map(|line| line.strip_prefix(PREFIX)).collect();
        if lines.is_empty() {
            return Err(HeaderError::Missing);
        }
        for word in lines.into_iter().flat_map(str::split_whitespace) {
            let names = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<String>>();
            match word.split_once('=') {
                Some(("level", value)) => res.level = Some(value.to_owned()),
                Some(("float", value)) if Licence::from_name(value).is_some() => res.float = Licence::from_name(value),
                Some(("fires", value)) => res.fires.extend(names(value)),
                Some(("silent", value)) => res.silent.extend(names(value)),
                _ => return Err(HeaderError::Word { word: word.to_owned() }),
            }
        }
        if res.fires.is_empty() && res.silent.is_empty() {
            return Err(HeaderError::Nothing);
        }
        Ok(res)
    }
}

/// What came of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The text to compare.
    pub snapshot: String,
    /// What is not as it should be, each in a sentence; empty if the test passes so far.
    pub wrong: Vec<String>,
}

/// Optimizes a kernel with rules beside the built-in ones, and holds the result against what is expected.
///
/// # Errors
/// If the kernel or the rules are wrong, or no result holds.
pub fn run(source: &Source, rules: &[Source], expected: &Expected) -> Result<Outcome, Error> {
    let config = Config {
        strategy: Strategy::Named(expected.level.clone().unwrap_or_else(|| PLAIN_STRATEGY.to_owned())),
        rules: rules.to_vec(),
        float: expected.float,
        validation: Validation::Explained,
        ..Config::of_operations()
    };
    let book = nestegg_driver::rules::rule_book(rules)?;
    let optimized = optimize(source, &config)?;
    let report = &optimized.report;
    let mut wrong = Vec::new();
    for name in expected.fires.iter().chain(&expected.silent) {
        if !book.rules.contains_key(name.as_str()) {
            wrong.push(format!("there is no rule `{name}`"));
        }
    }
    let fired: &IndexMap<String, u64> = &report.rules;
    let silent = expected.fires.iter().filter(|name| !fired.contains_key(*name));
    wrong.extend(
        silent.map(|name| format!("`{name}` does not fire; `nestegg rules why-not {name} {}` says why", source.name)),
    );
    let loud = expected.silent.iter().filter_map(|name| Some((name, fired.get(name)?)));
    wrong.extend(loud.map(|(name, times)| format!("`{name}` fires: {times}")));
    let bugs = report.failures.iter().filter(|failure| failure.is_bug());
    wrong.extend(bugs.map(|failure| format!("a better result is wrong: {}", failure.reason)));
    let names: Vec<String> = fired.iter().map(|(name, times)| format!("{name} {times}")).collect();
    let fired = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (before, after) = (report.before.total, report.after.total);
    let text = emit::text(&optimized.program).text;
    Ok(Outcome { snapshot: format!("operations: {before} -> {after}\nrules fired: {fired}\n\n{text}"), wrong })
}

/// Where a snapshot is another one than expected: the first line that differs, as in a message.
#[must_use]
pub fn difference(expected: &str, found: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let at = (0..old.len().max(new.len())).find(|&idx| old.get(idx) != new.get(idx))?;
    let line = |lines: &[&str]| lines.get(at).map_or("nothing".to_owned(), |line| format!("`{line}`"));
    Some(format!("line {} of the snapshot is {}, and now {}", at + 1, line(&old), line(&new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read() {
        let read = Expected::read("# Why.\n# rules: level=O2 fires=a,b silent=c\nkernel k\n").unwrap();
        assert_eq!(read.level.as_deref(), Some("O2"));
        assert_eq!((read.fires, read.silent), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
        assert_eq!(Expected::read("kernel k\n# rules: fires=a\n"), Err(HeaderError::Missing));
        assert_eq!(Expected::read("# rules: fire=a\n"), Err(HeaderError::Word { word: "fire=a".to_owned() }));
        assert_eq!(Expected::read("# rules: level=O1\n"), Err(HeaderError::Nothing));
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\n").as_deref(), Some("line 2 of the snapshot is `b`, and now nothing"));
    }
}
