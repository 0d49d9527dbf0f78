//! What a print leaves out, as lines of a last section `DATA:`.
//!
//! A line is `NAME: VALUES`, with the numbers of a table as nested lists, or `assumptions: SET` in isl's notation. Data in a JSON object or in
//! an archive of numpy's (`.npz`) become such lines, so that a print with its data is one text.

use std::fmt::Write;
use std::io::Cursor;

use ndarray::{ArrayD, IxDyn, OwnedRepr};
use ndarray_npy::{NpzReader, ReadNpzError};
use nestegg_dump::syntax::{TableItem, TableSyntax};
use nestegg_span::{Source, Span};

use crate::parse;
use crate::problem::{self, Known};
use crate::sections::Line;

/// The name of the line with assumptions.
pub(crate) const ASSUMPTIONS: &str = "assumptions";

/// Lines of the section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    lines: String,
}

/// Data that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadData(pub String);

impl std::fmt::Display for BadData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadData {}

impl Data {
    /// Data of bytes: an archive of numpy's, or a JSON object whose members are nested lists of numbers, or the text of assumptions.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadData> {
        if bytes.starts_with(b"PK") { Self::from_archive(bytes) } else { Self::from_json(bytes) }
    }

    fn from_json(bytes: &[u8]) -> Result<Self, BadData> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| BadData(error.to_string()))?;
        let members = value.as_object().ok_or_else(|| BadData("this is no object of tables".to_owned()))?;
        let mut res = Self::default();
        for (name, value) in members {
            match value.as_str() {
                Some(text) if name == ASSUMPTIONS => res.line(name, text)?,
                _ => res.line(name, &value.to_string())?,
            }
        }
        Ok(res)
    }

    fn from_archive(bytes: &[u8]) -> Result<Self, BadData> {
        let bad = |error: &dyn std::fmt::Display| BadData(error.to_string());
        let mut archive = NpzReader::new(Cursor::new(bytes)).map_err(|error| bad(&error))?;
        let mut res = Self::default();
        for name in archive.names().map_err(|error| bad(&error))? {
            let text = match number_text::<f64>(&mut archive, &name) {
                Err(_) => match number_text::<f32>(&mut archive, &name) {
                    Err(_) => match number_text::<i64>(&mut archive, &name) {
                        Err(_) => number_text::<i32>(&mut archive, &name),
                        found => found,
                    },
                    found => found,
                },
                found => found,
            };
            let text = text
                .map_err(|error| BadData(format!("`{name}`: {error}; tables are float64, float32, int64 or int32")))?;
            res.line(name.trim_end_matches(".npy"), &text)?;
        }
        Ok(res)
    }

    fn line(&mut self, name: &str, text: &str) -> Result<(), BadData> {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || text.contains('\n') {
            return Err(BadData(format!("`{name}` is no name of a table, or its value has several lines")));
        }
        self.lines.push_str(&format!("{name}: {text}\n"));
        Ok(())
    }
}

/// A print with data at its end.
#[must_use]
pub fn with_data(source: &Source, data: &[Data]) -> Source {
    let mut text = source.text.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("DATA:\n");
    for data in data {
        text.push_str(&data.lines);
    }
    Source::new(source.name.clone(), text)
}

/// An array as nested lists.
fn number_text<T>(archive: &mut NpzReader<Cursor<&[u8]>>, name: &str) -> Result<String, ReadNpzError>
where
    T: ndarray_npy::ReadableElement + std::fmt::Debug,
{
    let array: ArrayD<T> = archive.by_name::<OwnedRepr<T>, IxDyn>(name)?;
    let shape = array.shape().to_vec();
    let n_elements = array.len();
    let mut res = String::new();
    for (at, value) in array.iter().enumerate() {
        // Lists that begin or end at this element: those whose elements are a whole number of times before or after it.
        let mut size = 1;
        let sizes: Vec<usize> = shape
            .iter()
            .rev()
            .map(|extent| {
                size *= extent;
                size
            })
            .collect();
        let opened = sizes.iter().filter(|&&size| at % size == 0).count();
        let closed = sizes.iter().filter(|&&size| (at + 1) % size == 0).count();
        res.push_str(&"[".repeat(opened));
        let _ = write!(res, "{value:?}");
        res.push_str(&"]".repeat(closed));
        if at + 1 < n_elements {
            res.push(',');
        }
    }
    Ok(if n_elements == 0 { "[]".repeat(usize::from(!shape.is_empty())) } else { res })
}

/// The values of a table.
pub(crate) fn table(line: Line<'_>) -> Known<TableSyntax> {
    let mut res = TableSyntax::default();
    let mut start = 0;
    let place = |range: std::ops::Range<usize>| Span::from_range(line.start + range.start..line.start + range.end);
    let is_mark = |c: char| matches!(c, '[' | ']' | ',') || c.is_whitespace();
    while let Some(char) = line.text.get(start..).and_then(|rest| rest.chars().next()) {
        let mut end = start + char.len_utf8();
        match char {
            '[' => res.items.push(TableItem::Open(place(start..end))),
            ']' => res.items.push(TableItem::Close),
            ',' => {}
            _ if char.is_whitespace() => {}
            _ => {
                let rest = line.text.get(start..).unwrap_or_default();
                let len = rest.find(is_mark).unwrap_or(rest.len());
                end = start + len;
                let (text, at) = (rest.get(..len).unwrap_or_default(), place(start..end));
                let number =
                    parse::number(text).ok_or_else(|| problem::syntax("a finite number, `[`, `]` or `,`", at))?;
                res.items.push(TableItem::Number(number, at));
            }
        }
        start = end;
    }
    Ok(res)
}
