//! Lines of a print and the sections that they stand in.
//!
//! Colours and dependency arrows become spaces, byte for byte, so that every place stays where it is.

use nestegg_span::Span;

use crate::problem::{self, Known};

/// What the line with a kernel's name begins with.
pub(crate) const KERNEL: &str = "KERNEL:";

/// A line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// Without spaces around it.
    pub(crate) text: &'t str,
    /// Where that begins in the print.
    pub(crate) start: usize,
}

impl<'t> Line<'t> {
    /// Its place.
    pub(crate) fn span(self) -> Span {
        Span::from_range(self.start..self.start + self.text.len())
    }

    /// A part of it, without spaces around that.
    pub(crate) fn part(self, range: std::ops::Range<usize>) -> Line<'t> {
        let (text, start) = (self.text.get(range.clone()).unwrap_or_default(), self.start + range.start);
        let trimmed = text.trim_start();
        Line { text: trimmed.trim_end(), start: start + text.len() - trimmed.len() }
    }

    /// What stands before and after the first `mark`.
    pub(crate) fn split(self, mark: &str) -> Option<(Line<'t>, Line<'t>)> {
        let at = self.text.find(mark)?;
        Some((self.part(0..at), self.part(at + mark.len()..self.text.len())))
    }
}

/// The lines of one kernel.
#[derive(Debug, Default)]
pub(crate) struct Sections<'t> {
    /// Its name.
    pub(crate) name: Option<Line<'t>>,
    pub(crate) arguments: Vec<Line<'t>>,
    pub(crate) domains: Vec<Line<'t>>,
    pub(crate) tags: Vec<Line<'t>>,
    pub(crate) temporaries: Vec<Line<'t>>,
    pub(crate) rules: Vec<Line<'t>>,
    pub(crate) instructions: Vec<Line<'t>>,
}

/// A print, cut up.
#[derive(Debug, Default)]
pub(crate) struct Print<'t> {
    /// Its kernels.
    pub(crate) kernels: Vec<Sections<'t>>,
    /// What a print leaves out.
    pub(crate) data: Vec<Line<'t>>,
}

/// Whether a line is one that separates sections.
pub(crate) fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// The same without colours and arrows.
pub(crate) fn plain(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                res.push(' ');
                for char in chars.by_ref() {
                    res.extend(std::iter::repeat_n(' ', char.len_utf8()));
                    if char.is_ascii_alphabetic() || char == '\n' {
                        break;
                    }
                }
            }
            // Box drawing and arrows.
            '\u{2500}'..='\u{257f}' | '\u{2190}'..='\u{21ff}' => res.push_str("   "),
            char => res.push(char),
        }
    }
    res
}

/// Cuts a plain print into sections.
pub(crate) fn cut(text: &str) -> Known<Print<'_>> {
    let mut print = Print::default();
    let mut section = "";
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let line = Line { text: whole, start }.part(0..whole.len());
        start += whole.len();
        if is_rule(line.text) {
            section = "";
            continue;
        }
        if let Some(name) = line.text.strip_prefix(KERNEL) {
            let at = line.text.len() - name.len();
            print.kernels.push(Sections { name: Some(line.part(at..line.text.len())), ..Sections::default() });
            section = "";
            continue;
        }
        match line.text {
            "ARGUMENTS:"
            | "DOMAINS:"
            | "INAME TAGS:"
            | "TEMPORARIES:"
            | "SUBSTITUTION RULES:"
            | "INSTRUCTIONS:"
            | "DATA:" => {
                section = line.text;
                continue;
            }
            text if text.starts_with("DEPENDENCIES:") || text.starts_with("LINEARIZATION:") => {
                section = "other";
                continue;
            }
            _ => {}
        }
        if section == "DATA:" {
            if !line.text.is_empty() {
                print.data.push(line);
            }
            continue;
        }
        let Some(kernel) = print.kernels.last_mut() else {
            if line.text.is_empty() {
                continue;
            }
            return Err(problem::syntax("`KERNEL: NAME`", line.span()));
        };
        let lines = match section {
            // Code of C may have empty lines.
            "INSTRUCTIONS:" => {
                kernel.instructions.push(line);
                continue;
            }
            "ARGUMENTS:" => &mut kernel.arguments,
            "DOMAINS:" => &mut kernel.domains,
            "INAME TAGS:" => &mut kernel.tags,
            "TEMPORARIES:" => &mut kernel.temporaries,
            "SUBSTITUTION RULES:" => &mut kernel.rules,
            "other" => continue,
            _ if line.text.is_empty() => continue,
            _ => return Err(problem::syntax("the heading of a section, such as `ARGUMENTS:`", line.span())),
        };
        if !line.text.is_empty() {
            lines.push(line);
        }
    }
    Ok(print)
}
