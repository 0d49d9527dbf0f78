//! The instructions of a print, each with the loops and conditions around it.

use nestegg_span::Span;

use crate::expr::{E, Expr, Kind};
use crate::parse;
use crate::problem::{self, Known};
use crate::sections::Line;
use nestegg_ir::Op;

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) id: String,
    pub(crate) at: Span,
    /// The inames of the loops around it, in the order in which they open.
    pub(crate) within: Vec<String>,
    /// Conditions, all of which must hold.
    pub(crate) predicates: Vec<E>,
    pub(crate) action: Action,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// `left, … = right`.
    Assign { left: Vec<E>, right: E },
    /// Text of C.
    Code { code: String, reads: Vec<String>, writes: Vec<String> },
}

/// What is open around a line.
#[derive(Default)]
struct Reader {
    loops: Vec<String>,
    predicates: Vec<E>,
    done: Vec<Instruction>,
}

/// Reads the lines of a section.
pub(crate) fn read(lines: &[Line<'_>]) -> Known<Vec<Instruction>> {
    let mut reader = Reader::default();
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        at += 1;
        if line.text.is_empty() {
            continue;
        }
        if let Some(inames) = inames(line, "for ") {
            reader.loops.extend(inames);
        } else if line.text == "end" {
            if reader.predicates.is_empty() {
                return Err(problem::syntax("a statement: no condition is open", line.span()));
            }
            reader.predicates.clear();
        } else if let Some(inames) = inames(line, "end ") {
            for iname in inames {
                let open = reader.loops.iter().position(|other| *other == iname);
                let open = open.ok_or_else(|| {
                    problem::syntax(&format!("the end of a loop that is open, not `{iname}`"), line.span())
                })?;
                reader.loops.remove(open);
            }
        } else if line.text.starts_with("if ") && options(line).is_none() {
            reader.predicates = predicates(line.part("if ".len()..line.text.len()))?;
        } else {
            let n_lines = reader.instruction(line, lines.get(at..).unwrap_or_default())?;
            at += n_lines;
        }
    }
    Ok(reader.done)
}

impl Reader {
    /// Reads an instruction, and says how many lines after it are its code.
    fn instruction(&mut self, line: Line<'_>, after: &[Line<'_>]) -> Known<usize> {
        let (body, options) =
            options(line).ok_or_else(|| problem::syntax("an instruction and `{id=…}`", line.span()))?;
        let mut id = None;
        for option in parts(options) {
            match option.split("=") {
                Some((key, value)) if key.text == "id" => id = Some(value),
                Some((key, _)) if key.text == "atomic" => {
                    return Err(problem::unsupported("an atomic update", option.span(), ""));
                }
                Some((key, _)) if key.text == "conflicts" => {
                    return Err(problem::unsupported("a group of instructions that conflict", option.span(), ""));
                }
                _ => {}
            }
        }
        let id = id.ok_or_else(|| problem::syntax("`id=…`", options.span()))?;
        if body.text.starts_with("...") {
            // A nop or a barrier: instructions that touch the same data keep their order anyway.
            return Ok(0);
        }
        let (left, right) = match body.text.starts_with("CODE(") {
            true => (None, body),
            false => {
                let (left, right) = body.split(" = ").ok_or_else(|| problem::syntax("`… = …`", body.span()))?;
                (Some(left), right)
            }
        };
        let (action, n_lines) = if right.text.starts_with("CODE(") {
            let n_lines = n_code_lines(after, !self.predicates.is_empty());
            match code(left, right, after.get(..n_lines).unwrap_or_default())? {
                Some(action) => (action, n_lines),
                None => return Ok(n_lines),
            }
        } else {
            let left = left.ok_or_else(|| problem::syntax("`… = …`", body.span()))?;
            (Action::Assign { left: parse::expressions(left)?, right: parse::expression(right)? }, 0)
        };
        self.done.push(Instruction {
            id: id.text.to_owned(),
            at: id.span(),
            within: self.loops.clone(),
            predicates: self.predicates.clone(),
            action,
        });
        Ok(n_lines)
    }
}

/// The inames of a line that opens or closes loops.
fn inames(line: Line<'_>, word: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.text.strip_prefix(word)?.split(", ").map(|name| name.trim().to_owned()).collect();
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    names.iter().all(is_name).then_some(names)
}

/// What stands before and inside the options of an instruction.
fn options(line: Line<'_>) -> Option<(Line<'_>, Line<'_>)> {
    let at = line.text.rfind("{id=")?;
    line.text.ends_with('}').then(|| (line.part(0..at), line.part(at + 1..line.text.len() - 1)))
}

/// What stands between commas.
fn parts(line: Line<'_>) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut res = Vec::new();
    for (at, _) in line.text.match_indices(',').chain([(line.text.len(), "")]) {
        res.push(line.part(start..at));
        start = at + 1;
    }
    res
}

/// Conditions, joined by `and`.
fn predicates(line: Line<'_>) -> Known<Vec<E>> {
    let whole = parse::expression(line)?;
    let is_of = |expr: &Expr, op: Op| matches!(expr.kind, Kind::Op(found) if found == op);
    // loopy joins conditions by `and` without parentheses.
    let is_bare = |expr: &E| {
        !line
            .text
            .get(..(expr.at.start as usize).saturating_sub(line.start))
            .is_some_and(|text| text.trim_end().ends_with('('))
    };
    if (is_of(&whole, Op::Or) || is_of(&whole, Op::If))
        && whole.of.iter().any(|operand| is_of(operand, Op::And) && is_bare(operand))
    {
        return Err(problem::ambiguous("a condition of `and` beside `or` or `if`", line.span()));
    }
    Ok(if is_of(&whole, Op::And) { whole.of.clone() } else { vec![whole] })
}

/// How many lines are the text of C of the instruction before them.
fn n_code_lines(after: &[Line<'_>], is_in_condition: bool) -> usize {
    let is_other = |at: usize| {
        after.get(at).is_none_or(|line| {
            inames(*line, "for ").is_some()
                || inames(*line, "end ").is_some()
                || (line.text == "end" && is_in_condition)
                || options(*line).is_some()
                || (line.text.starts_with("if ") && after.get(at + 1).is_some_and(|next| options(*next).is_some()))
        })
    };
    (0..=after.len()).find(|&at| is_other(at)).unwrap_or(after.len())
}

/// The instruction of a text of C; `None` if that does nothing.
fn code(left: Option<Line<'_>>, head: Line<'_>, lines: &[Line<'_>]) -> Known<Option<Action>> {
    let code: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let code = code.join("\n").trim().to_owned();
    if code.trim_matches(|c: char| c.is_whitespace() || c == ';').is_empty() {
        return Ok(None);
    }
    let inner = head.part("CODE(".len()..head.text.len().max(6) - 1);
    let (reads, inames) = inner.split("|").ok_or_else(|| problem::syntax("`CODE(reads|inames)`", head.span()))?;
    for iname in parts(inames) {
        if iname.split("=").is_some_and(|(name, value)| name.text != value.text) {
            return Err(problem::unsupported("text of C that calls inames by other names", iname.span(), ""));
        }
    }
    let mut reads: Vec<String> =
        parts(reads).iter().map(|name| name.text.to_owned()).filter(|name| !name.is_empty()).collect();
    reads.sort();
    reads.dedup();
    let mut writes = Vec::new();
    for written in left.map(parse::expressions).transpose()?.unwrap_or_default() {
        match &written.kind {
            Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name) => writes.push(name.clone()),
            _ => return Err(problem::syntax("a name or an element", written.at)),
        }
    }
    writes.sort();
    writes.dedup();
    Ok(Some(Action::Code { code, reads, writes }))
}
