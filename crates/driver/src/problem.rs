//! Errors for programs: what a diagnostic says, as data and as JSON.
//!
//! # Output
//! `severity`, `code`, `message`, `help`, `causes` (the nearest cause first) and `labels`. A label has a text, a file, a line and a column
//! (both from 1), and an offset and a length in bytes. As one JSON object, a diagnostic that only collects others is the first of them, with the
//! rest under `related`.

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode, SourceSpan};
use serde::Serialize;
use serde_json::Value;

/// One thing that is wrong, or may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// Its stable name.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The way out, where one is known.
    pub help: Option<String>,
    /// What it is a consequence of, the nearest cause first.
    pub causes: Vec<String>,
    /// Its places, the most important one first.
    pub labels: Vec<Label>,
}

/// A place of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// What is to be seen there.
    pub text: Option<String>,
    /// The name of the file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in bytes, from 1.
    pub column: Option<usize>,
    /// The first byte.
    pub offset: usize,
    /// How many bytes.
    pub length: usize,
}

/// A diagnostic as JSON.
#[must_use]
pub fn to_json(diagnostic: &dyn Diagnostic) -> Value {
    described(diagnostic, None)
}

/// Everything that a diagnostic says, one by one: one that only collects others is not among them.
#[must_use]
pub fn problems(diagnostic: &dyn Diagnostic) -> Vec<Problem> {
    let mut res = Vec::new();
    gather(diagnostic, None, &mut res);
    res
}

fn gather(diagnostic: &dyn Diagnostic, around: Option<&dyn SourceCode>, res: &mut Vec<Problem>) {
    let code = diagnostic.source_code().or(around);
    let own = problem(diagnostic, code);
    let before = res.len();
    for other in diagnostic.related().into_iter().flatten() {
        gather(other, code, res);
    }
    if !own.labels.is_empty() || res.len() == before {
        res.insert(before, own);
    }
}

fn problem(diagnostic: &dyn Diagnostic, code: Option<&dyn SourceCode>) -> Problem {
    Problem {
        severity: match diagnostic.severity() {
            None | Some(Severity::Error) => "error",
            Some(Severity::Warning | Severity::Advice) => "warning",
        },
        code: diagnostic.code().map(|code| code.to_string()),
        message: diagnostic.to_string(),
        help: diagnostic.help().map(|help| help.to_string()),
        causes: causes(diagnostic),
        labels: diagnostic.labels().into_iter().flatten().map(|label| labelled(&label, code)).collect(),
    }
}

fn described(diagnostic: &dyn Diagnostic, around: Option<&dyn SourceCode>) -> Value {
    let code = diagnostic.source_code().or(around);
    let mut related = diagnostic.related().into_iter().flatten();
    let mut res = match related.next() {
        Some(first) if diagnostic.code().is_none() => described(first, code),
        first => {
            let mut res = serde_json::to_value(problem(diagnostic, code)).expect("text and numbers");
            res["related"] = first.into_iter().map(|first| described(first, code)).collect();
            res
        }
    };
    if let Value::Array(known) = &mut res["related"] {
        known.extend(related.map(|other| described(other, code)));
    }
    res
}

/// What it is a consequence of.
fn causes(diagnostic: &dyn Diagnostic) -> Vec<String> {
    let mut res = Vec::new();
    let mut cause = diagnostic.source();
    while let Some(error) = cause {
        res.push(error.to_string());
        cause = error.source();
    }
    res
}

fn labelled(label: &LabeledSpan, code: Option<&dyn SourceCode>) -> Label {
    let at = SourceSpan::from((label.offset(), 0));
    let contents = code.and_then(|code| code.read_span(&at, 0, 0).ok());
    let place = contents.as_ref().map(|contents| {
        // Of long lines a window is quoted, which begins before the label.
        let before = label.offset().saturating_sub(contents.span().offset());
        (contents.line() + 1, contents.column() + before + 1)
    });
    Label {
        text: label.label().map(str::to_owned),
        file: contents.as_ref().and_then(|contents| contents.name()).map(str::to_owned),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        offset: label.offset(),
        length: label.len(),
    }
}

#[cfg(test)]
mod tests {
    use nestegg_span::Source;

    use super::*;

    #[test]
    fn what_only_collects_is_left_out() {
        let file = Source::new("a.rules", "; File.\n\n; a.\n(rule a (nope ?x) ?x)\n; b.\n(rule b (+ ?x ?y) ?z)\n");
        let error = crate::rules::rule_book(&[file]).unwrap_err();
        let found = problems(&error);
        let places: Vec<(Option<&str>, Option<usize>)> =
            found.iter().map(|problem| (problem.code.as_deref(), problem.labels[0].line)).collect();
        assert_eq!(
            places,
            [(Some("rules::unknown_operator"), Some(4)), (Some("rules::unbound_variable"), Some(6))],
            "{found:?}"
        );
        assert!(found.iter().all(|problem| problem.labels[0].file.as_deref() == Some("a.rules")));
        let json = to_json(&error);
        assert_eq!(json["related"].as_array().map(Vec::len), Some(2), "{json}");
    }
}
