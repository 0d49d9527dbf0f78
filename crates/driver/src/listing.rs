//! A program as lines of text, each with its operations and its estimated time, and where its arrays are written and read.
//!
//! # Output
//! The lines of the text form. An instruction belongs to the line that it begins on.
//! # Complexity
//! One count, one estimate, and one reading of the text.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use nestegg_dump::read_text;
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, ArrayKind, InsnId, LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_time::{Machine, Profile};
use num_traits::ToPrimitive;

use crate::error::Error;
use crate::notation::Notation;

/// A program in lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The lines.
    pub lines: Vec<Line>,
    /// The index of the first line after the declarations.
    pub body: usize,
    /// Its temporaries, in the order in which they are first written.
    pub temporaries: Vec<String>,
    /// Estimated nanoseconds of one run, the call and the loops among them; `None` if there is no estimate.
    pub nanoseconds: Option<f64>,
}

/// A line of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The text.
    pub text: String,
    /// Operations of its instructions at all points.
    pub operations: u128,
    /// Estimated nanoseconds of its instructions in one run; 0 without an estimate.
    pub nanoseconds: f64,
    /// Temporaries that it writes.
    pub writes: Vec<String>,
    /// Temporaries that it reads.
    pub reads: Vec<String>,
}

/// The lines of a program, and how long they take on a machine.
///
/// # Errors
/// If its operations cannot be counted, or its text cannot be read again, which is a bug.
pub fn listing(linearized: &LinearizedKernel, values: &[(String, i64)], machine: &Machine) -> Result<Listing, Error> {
    let program = Program::Linearized(linearized.clone());
    let source = Source::new("listing.knl", Notation::Text.write(&program));
    let read = read_text(&source).map_err(Error::Read)?;
    let (kernel, spans) = (read.program.kernel(), &read.spans);
    let count = nestegg_ir::count::count(&read.program, values)
        .map_err(|source| Error::Count { kernel: kernel.name.clone(), source })?;
    let profile = match &read.program {
        Program::Linearized(own) => Profile::new(own, values, machine).ok(),
        Program::Unordered(_) => None,
    };
    let shares = profile.as_ref().map(|profile| profile.by_instruction(machine)).unwrap_or_default();
    let line_of = |at: u32| source.position(at).line as usize - 1;
    let mut lines: Vec<Line> =
        source.text.lines().map(|text| Line { text: text.to_owned(), ..Line::default() }).collect();
    let mut body = lines.len();
    let mut temporaries: IndexMap<String, ()> = IndexMap::new();
    if let Program::Linearized(own) = &read.program
        && !own.linearization.is_empty()
    {
        body = body.min(line_of(spans.item(0).start));
    }
    let mut order: BTreeMap<usize, Vec<InsnId>> = BTreeMap::new();
    for insn in kernel.insn_ids() {
        order.entry(line_of(spans.instruction(insn).start)).or_default().push(insn);
    }
    for (idx, insns) in order {
        body = body.min(idx);
        let Some(line) = lines.get_mut(idx) else { continue };
        for insn in insns {
            let operations = count.by_instruction.get(&insn).map_or(0, |n| n.to_u128().unwrap_or(u128::MAX));
            line.operations = line.operations.saturating_add(operations);
            line.nanoseconds += shares.get(&insn).copied().unwrap_or(0.0);
            let is_temporary = |array: ArrayId| matches!(kernel[array].kind, ArrayKind::Temporary);
            for array in kernel[insn].written_arrays().into_iter().filter(|&array| is_temporary(array)) {
                line.writes.push(kernel[array].name.clone());
                temporaries.insert(kernel[array].name.clone(), ());
            }
            let read = arrays_below(&kernel.exprs, kernel[insn].expressions());
            line.reads
                .extend(read.into_iter().filter(|&array| is_temporary(array)).map(|array| kernel[array].name.clone()));
        }
    }
    let nanoseconds = profile.map(|profile| profile.on(machine).nanoseconds);
    Ok(Listing { lines, body, temporaries: temporaries.into_keys().collect(), nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::read;

    #[test]
    fn lines_have_their_operations_and_temporaries() {
        let text = "kernel k
domain { [i, j] : 0 <= i < 4 and 0 <= j < 3 }
arg x : float64[4] read
arg y : float64[4, 3] write
temp t : float64
for i
  t = x[i]*x[i]
  for j
    y[i, j] = t + 1.0
  end
end
";
        let program = read(&Source::new("k.knl", text)).unwrap().program.into_linearized().unwrap();
        let found = listing(&program, &[], &Machine::default()).unwrap();
        let told: Vec<(&str, u128, usize, usize)> = found.lines[found.body..]
            .iter()
            .map(|line| (line.text.trim(), line.operations, line.writes.len(), line.reads.len()))
            .map(|(text, operations, writes, reads)| {
                (text.split("  {").next().unwrap_or_default(), operations, writes, reads)
            })
            .collect();
        let expected = [
            ("for i", 0, 0, 0),
            ("t = x[i]*x[i]", 4, 1, 0),
            ("for j", 0, 0, 0),
            ("y[i, j] = t + 1.0", 12, 0, 1),
            ("end", 0, 0, 0),
            ("end", 0, 0, 0),
        ];
        assert_eq!(told, expected);
        assert_eq!(found.temporaries, ["t"]);
        let body = &found.lines[found.body..];
        assert!(body.iter().all(|line| (line.nanoseconds > 0.0) == (line.operations > 0)), "{body:?}");
        let total: f64 = body.iter().map(|line| line.nanoseconds).sum();
        assert!(found.nanoseconds.is_some_and(|whole| total <= whole), "the call is in no line: {found:?}");
    }
}
