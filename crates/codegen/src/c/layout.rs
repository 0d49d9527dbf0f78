//! Lines and blocks of C, and their layout as text.
//!
//! # Input
//! A forest of [`Code`], no deeper than the brackets that a compiler accepts.
//! # Output
//! Text indented by four columns a level, lines broken at spaces so that they fit [`WIDTH`] columns where they can.
//! # Complexity
//! Linear in the text.

/// The column before which lines are broken.
const WIDTH: usize = 110;

/// A piece of a C function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// One statement or declaration, without line breaks.
    Line(String),
    /// A comment, without its delimiters.
    Comment(String),
    /// Lines that are printed as they are, at the left margin.
    Raw(String),
    /// `head { body }`; without a head a plain block.
    Block {
        /// `for (…)` or `if (…)`.
        head: String,
        /// What is inside.
        body: Vec<Code>,
    },
    /// `if (condition) { then } else { otherwise }`.
    Choice {
        /// The condition.
        condition: String,
        /// What runs if it holds.
        then: Vec<Code>,
        /// What runs if not.
        otherwise: Vec<Code>,
    },
}

impl Code {
    /// A statement or declaration.
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self::Line(text.into())
    }

    /// Code for compilers that have the vectors of gcc, and for all others.
    pub(crate) fn either(vectors: Vec<Self>, scalars: Vec<Self>) -> Vec<Self> {
        let raw = |line: &str| Self::Raw(line.to_owned());
        let mut res = vec![raw("#if defined(__GNUC__)")];
        res.extend(vectors);
        res.push(raw("#else"));
        res.extend(scalars);
        res.push(raw("#endif"));
        res
    }

    /// How many blocks are inside each other.
    pub(crate) fn depth(codes: &[Self]) -> usize {
        let mut deepest = 0;
        let mut open = vec![(codes, 0)];
        while let Some((level, depth)) = open.pop() {
            deepest = deepest.max(depth);
            for code in level {
                match code {
                    Self::Line(_) | Self::Comment(_) | Self::Raw(_) => {}
                    Self::Block { body, .. } => open.push((body, depth + 1)),
                    Self::Choice { then, otherwise, .. } => {
                        open.push((then, depth + 1));
                        open.push((otherwise, depth + 1));
                    }
                }
            }
        }
        deepest
    }
}

/// Appends the text of `codes` at `level` levels of indentation.
pub(crate) fn print(codes: &[Code], level: usize, out: &mut String) {
    let indentation = "    ".repeat(level);
    for code in codes {
        match code {
            Code::Line(text) => wrap(&indentation, text, out),
            Code::Comment(text) => comment(&indentation, text, out),
            Code::Raw(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Code::Block { head, body } => {
                let head = if head.is_empty() { "{".to_owned() } else { format!("{head} {{") };
                wrap(&indentation, &head, out);
                print(body, level + 1, out);
                wrap(&indentation, "}", out);
            }
            Code::Choice { condition, then, otherwise } => {
                wrap(&indentation, &format!("if ({condition}) {{"), out);
                print(then, level + 1, out);
                wrap(&indentation, "} else {", out);
                print(otherwise, level + 1, out);
                wrap(&indentation, "}", out);
            }
        }
    }
}

/// One logical line, broken at spaces; continuation lines are indented by two more levels.
fn wrap(indentation: &str, text: &str, out: &mut String) {
    let mut rest = text;
    let mut margin = indentation.to_owned();
    loop {
        let room = WIDTH.saturating_sub(margin.len()).max(40);
        out.push_str(&margin);
        match cut(rest, room) {
            None => {
                out.push_str(rest);
                out.push('\n');
                return;
            }
            Some(cut) => {
                out.push_str(rest[..cut].trim_end());
                out.push('\n');
                rest = rest[cut..].trim_start();
                margin = format!("{indentation}        ");
            }
        }
    }
}

/// Where to break a line that is longer than `room`: at the last space among those inside the fewest brackets, unless the
/// line became very short; at the first space after `room` if there is none before.
fn cut(text: &str, room: usize) -> Option<usize> {
    if text.len() <= room {
        return None;
    }
    let mut depth = 0_i32;
    let mut best: Option<(i32, usize)> = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b' ' if at > room => return Some(best.map_or(at, |best| best.1)),
            b' ' if at > room / 3 && best.is_none_or(|best| depth <= best.0) => best = Some((depth, at)),
            _ => {}
        }
        if at > room && best.is_some() {
            break;
        }
    }
    best.map(|best| best.1)
}

/// A comment over as many lines as it needs.
pub(crate) fn comment(indentation: &str, text: &str, out: &mut String) {
    let mut lines = Vec::new();
    for paragraph in harmless(text).lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && indentation.len() + line.len() + word.len() + 7 > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    for (idx, line) in lines.iter().enumerate() {
        let start = if idx == 0 { "/* " } else { " * " };
        let end = if idx + 1 == lines.len() { " */" } else { "" };
        out.push_str(format!("{indentation}{start}{line}{end}").trim_end());
        out.push('\n');
    }
}

/// The text with nothing in it that begins or ends a comment.
pub(crate) fn harmless(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(codes: &[Code], expected: &str) {
        let mut out = String::new();
        print(codes, 1, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn blocks_are_indented() {
        check(
            &[Code::Block { head: "for (;;)".into(), body: vec![Code::line("x = 1;")] }],
            "    for (;;) {\n        x = 1;\n    }\n",
        );
    }

    #[test]
    fn comments_cannot_be_closed_from_inside() {
        check(&[Code::Comment("a */ b".into())], "    /* a * / b */\n");
    }

    #[test]
    fn long_lines_break_at_spaces() {
        let text = vec!["abcdefghi"; 20].join(" + ");
        let mut out = String::new();
        print(&[Code::line(format!("{text};"))], 0, &mut out);
        assert!(out.lines().count() > 1 && out.lines().all(|line| line.len() <= WIDTH), "{out}");
    }

    #[test]
    fn depth_counts_blocks() {
        let inner = Code::Block { head: String::new(), body: vec![Code::line("x;")] };
        assert_eq!(Code::depth(&[Code::Block { head: String::new(), body: vec![inner] }]), 2);
    }
}
