//! The comments that document forms and files.
//!
//! A form is documented by the comment lines directly above it, a file by the comment at its top: its header. An empty
//! line, or an empty comment line, separates the header from the documentation of the first form. Comments inside a
//! form, behind one, or apart from what follows are for the readers of the file only.

/// The documentation of a form that `before` ends in front of, and the header if the form is the first one.
pub(crate) fn above(before: &str, first_form: bool) -> (String, String) {
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let begins_line = before[line_start..].trim_start_matches('\u{feff}').trim().is_empty();
    let mut start = line_start;
    let mut doc = Vec::new();
    while begins_line && start > 0 {
        let above = &before[..start - 1];
        let line_start = above.rfind('\n').map_or(0, |newline| newline + 1);
        let Some(comment) = comment(&above[line_start..]) else {
            break;
        };
        doc.push(comment);
        start = line_start;
    }
    doc.reverse();
    if !first_form {
        return (paragraph(&doc), String::new());
    }
    let header = header(&before[..start]);
    match doc.iter().position(|line| line.is_empty()) {
        Some(gap) if header.is_empty() => (paragraph(&doc[gap..]), paragraph(&doc[..gap])),
        _ => (paragraph(&doc), header),
    }
}

/// All comment lines of a text without forms; its blocks are separated by empty lines.
pub(crate) fn header(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        match comment(line) {
            Some(comment) => lines.push(comment),
            None if lines.last().is_some_and(|last| !last.is_empty()) => lines.push(""),
            None => {}
        }
    }
    paragraph(&lines)
}

/// What a line says that holds a comment and nothing else.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim().strip_prefix(';')?;
    let line = line.trim_start_matches(';');
    Some(line.strip_prefix(' ').unwrap_or(line))
}

/// The lines as one text, without empty lines around it.
fn paragraph(lines: &[&str]) -> String {
    lines.join("\n").trim_matches('\n').to_owned()
}
