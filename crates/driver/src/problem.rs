//! Errors for programs: what a diagnostic says, as JSON.
//!
//! # Output
//! `code`, `message`, `help`, `causes` (the nearest cause first) and `labels`. A label has a text, a file, a line and a column
//! (both from 1), and an offset and a length in bytes. A diagnostic that only collects others is the first of them, with the rest under `related`.

use miette::{Diagnostic, LabeledSpan, SourceCode, SourceSpan};
use serde_json::{Value, json};

/// A diagnostic as JSON.
#[must_use]
pub fn to_json(diagnostic: &dyn Diagnostic) -> Value {
    described(diagnostic, None)
}

fn described(diagnostic: &dyn Diagnostic, around: Option<&dyn SourceCode>) -> Value {
    let code = diagnostic.source_code().or(around);
    let mut related = diagnostic.related().into_iter().flatten();
    if diagnostic.code().is_none()
        && let Some(first) = related.next()
    {
        let mut res = described(first, code);
        res["related"] = related.map(|other| described(other, code)).collect();
        return res;
    }
    json!({
        "code": diagnostic.code().map(|code| code.to_string()),
        "message": diagnostic.to_string(),
        "help": diagnostic.help().map(|help| help.to_string()),
        "causes": causes(diagnostic),
        "labels": diagnostic.labels().into_iter().flatten().map(|label| labelled(&label, code)).collect::<Vec<_>>(),
        "related": related.map(|other| described(other, code)).collect::<Vec<_>>(),
    })
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

fn labelled(label: &LabeledSpan, code: Option<&dyn SourceCode>) -> Value {
    let at = SourceSpan::from((label.offset(), 0));
    let contents = code.and_then(|code| code.read_span(&at, 0, 0).ok());
    let place = contents.as_ref().map(|contents| {
        // Of long lines a window is quoted, which begins before the label.
        let before = label.offset().saturating_sub(contents.span().offset());
        (contents.line() + 1, contents.column() + before + 1)
    });
    json!({
        "text": label.label(),
        "file": contents.as_ref().and_then(|contents| contents.name()),
        "line": place.map(|(line, _)| line),
        "column": place.map(|(_, column)| column),
        "offset": label.offset(),
        "length": label.len(),
    })
}
