//! Declarations: arguments and temporaries, each in a line.

use nestegg_ir::{ArgumentAccess, Dtype};
use nestegg_span::Span;

use crate::expr::E;
use crate::parse;
use crate::problem::{self, Known};
use crate::sections::Line;

/// An argument or a temporary.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) at: Span,
    /// `None` where loopy is to infer it.
    pub(crate) dtype: Option<Dtype>,
    pub(crate) kind: ArrayKind,
    /// Its extents; none for a scalar.
    pub(crate) shape: Vec<E>,
    /// How far apart elements are along each axis, where that is said.
    pub(crate) strides: Vec<Stride>,
}

/// What a declaration declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayKind {
    /// A number that is given.
    Value,
    Argument(ArgumentAccess),
    Temporary,
}

/// The distance of elements along an axis.
#[derive(Clone, Debug)]
pub(crate) enum Stride {
    Elements(E),
    /// Anything else that loopy may say of an axis.
    Other(String),
}

/// Reads a line of the arguments.
pub(crate) fn argument(line: Line<'_>) -> Known<Array> {
    let (name, rest) = named(line)?;
    if let Some(rest) =
        rest.text.strip_prefix("ValueArg").map(|after| rest.part(rest.text.len() - after.len()..rest.text.len()))
    {
        let field = rest.text.strip_prefix(", type: ").ok_or_else(|| problem::syntax("`, type: …`", rest.span()))?;
        let dtype = dtype(rest.part(rest.text.len() - field.len()..rest.text.len()))?;
        return Ok(Array {
            name: name.text.to_owned(),
            at: name.span(),
            dtype,
            kind: ArrayKind::Value,
            shape: Vec::new(),
            strides: Vec::new(),
        });
    }
    let (head, _) = rest.split(" aspace: ").ok_or_else(|| problem::syntax("`aspace: …`", end(rest)))?;
    let at = head.text.rfind([' ', ',']).map_or(0, |at| at + 1);
    let (access, fields) = (head.part(at..head.text.len()), head.part(0..at));
    let access = match access.text {
        "in" | "neither_in_nor_out?" => ArgumentAccess::Read,
        "out" => ArgumentAccess::Write,
        "in/out" => ArgumentAccess::ReadWrite,
        _ => return Err(problem::syntax("`in`, `out` or `in/out`", access.span())),
    };
    array(name, fields, ArrayKind::Argument(access))
}

/// Reads a line of the temporaries.
pub(crate) fn temporary(line: Line<'_>) -> Known<Array> {
    let (name, rest) = named(line)?;
    let (fields, after) = rest.split(" aspace: ").ok_or_else(|| problem::syntax("`aspace: …`", end(rest)))?;
    if after.text.contains("base_storage") {
        return Err(problem::unsupported("storage that temporaries share", after.span(), ""));
    }
    array(name, fields, ArrayKind::Temporary)
}

fn named(line: Line<'_>) -> Known<(Line<'_>, Line<'_>)> {
    line.split(": ").ok_or_else(|| problem::syntax("`NAME: …`", line.span()))
}

fn end(line: Line<'_>) -> Span {
    let end = line.span().range().end;
    Span::from_range(end..end)
}

fn dtype(line: Line<'_>) -> Known<Option<Dtype>> {
    if line.text == "<auto/runtime>" { Ok(None) } else { parse::dtype(line).map(Some) }
}

fn array(name: Line<'_>, fields: Line<'_>, kind: ArrayKind) -> Known<Array> {
    let mut res = Array {
        name: name.text.to_owned(),
        at: name.span(),
        dtype: None,
        kind,
        shape: Vec::new(),
        strides: Vec::new(),
    };
    for field in parts(fields) {
        let Some((key, value)) = field.split(": ") else {
            // The class of an argument, such as `ArrayArg`.
            if field.text == "ImageArg" {
                return Err(problem::unsupported("an image", field.span(), ""));
            }
            continue;
        };
        match key.text {
            "type" => res.dtype = dtype(value)?,
            "shape" => match value.text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(_) => {
                    for extent in parts(value.part(1..value.text.len() - 1)) {
                        let extent = extent.split(":").map_or(extent, |(_, extent)| extent);
                        res.shape.push(parse::expression(extent)?);
                    }
                }
                None => {
                    return Err(problem::unsupported("an array without an extent", value.span(), "give it a shape"));
                }
            },
            "dim_tags" => {
                let inner = value.part(1..value.text.len().max(2) - 1);
                res.strides = parts(inner).into_iter().map(stride).collect::<Known<_>>()?;
            }
            "offset" => return Err(problem::unsupported("an array that begins at an offset", field.span(), "")),
            _ => {}
        }
    }
    Ok(res)
}

fn stride(tag: Line<'_>) -> Known<Stride> {
    match tag.split("stride:") {
        Some((_, value)) if value.text != "auto" => Ok(Stride::Elements(parse::expression(value)?)),
        _ => Ok(Stride::Other(tag.text.to_owned())),
    }
}

/// What stands between commas outside of brackets.
fn parts(line: Line<'_>) -> Vec<Line<'_>> {
    let (mut res, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, char) in line.text.char_indices() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                res.push(line.part(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    res.push(line.part(start..line.text.len()));
    res.retain(|part| !part.text.is_empty());
    res
}
