//! Counts of operations, as reports show them.

use comfy_table::{CellAlignment, Table, presets};
use indexmap::IndexMap;
use nestegg_ir::Program;
use nestegg_ir::count::OperationCount;
use nestegg_span::Source;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use serde::Serialize;

use crate::error::Error;
use crate::notation::read_defined;
use crate::parameters;
use crate::report::Operations;

/// The operations of a kernel, by kind and by loop depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The kernel's name.
    pub kernel: String,
    /// All operations.
    pub total: u128,
    /// By kind.
    pub by_kind: IndexMap<String, u128>,
    /// By the number of loops around them, reductions included.
    pub by_depth: IndexMap<usize, u128>,
    /// By both; no entry is zero.
    pub entries: Vec<CountEntry>,
}

/// The operations of one kind at one loop depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountEntry {
    /// The number of loops around them.
    pub depth: usize,
    /// Their kind.
    pub kind: String,
    /// How many.
    pub operations: u128,
}

impl Counted {
    /// A table: kinds down, loop depths across.
    #[must_use]
    pub fn to_text(&self) -> String {
        let depths: Vec<usize> = self.by_depth.keys().copied().collect();
        let mut table = Table::new();
        let mut header = vec!["operations".to_owned()];
        header.extend(depths.iter().map(|depth| format!("{depth} loop{}", if *depth == 1 { "" } else { "s" })));
        header.push("all".to_owned());
        table.load_style(presets::NOTHING).set_header(header);
        for (kind, all) in &self.by_kind {
            let at = |depth: usize| {
                let entry = self.entries.iter().find(|entry| entry.depth == depth && entry.kind == *kind);
                entry.map_or(0, |entry| entry.operations).to_string()
            };
            let mut row = vec![kind.clone()];
            row.extend(depths.iter().map(|&depth| at(depth)));
            row.push(all.to_string());
            table.add_row(row);
        }
        let mut row = vec!["all".to_owned()];
        row.extend(depths.iter().map(|depth| self.by_depth.get(depth).copied().unwrap_or(0).to_string()));
        row.push(self.total.to_string());
        table.add_row(row);
        for column in 1..depths.len() + 2 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        format!("{}\n{}\n", self.kernel, lines.join("\n"))
    }
}

/// Counts the operations of a kernel by the format's rule.
///
/// # Errors
/// If it is not a kernel, or a domain cannot be counted.
pub fn count(source: &Source, given: &[(String, i64)]) -> Result<Counted, Error> {
    let program = read_defined(source, given)?.program;
    let assumed = parameters::assumed(program.kernel(), given)?;
    let count = count_program(&program, &parameters::values(&assumed))?;
    Ok(Counted {
        kernel: program.kernel().name.clone(),
        total: number(&count.total()),
        by_kind: by_kind(&count),
        by_depth: count.by_depth().iter().map(|(depth, n)| (*depth, number(n))).collect(),
        entries: count
            .entries
            .iter()
            .map(|((depth, kind), n)| CountEntry { depth: *depth, kind: kind.name().to_owned(), operations: number(n) })
            .collect(),
    })
}

/// The operations of a program.
pub(crate) fn operations(program: &Program, values: &[(String, i64)]) -> Result<Operations, Error> {
    let count = count_program(program, values)?;
    Ok(Operations { total: number(&count.total()), by_kind: by_kind(&count) })
}

fn count_program(program: &Program, values: &[(String, i64)]) -> Result<OperationCount, Error> {
    nestegg_ir::count::count(program, values)
        .map_err(|source| Error::Count { kernel: program.kernel().name.clone(), source })
}

fn by_kind(count: &OperationCount) -> IndexMap<String, u128> {
    count.by_kind().iter().map(|(kind, n)| (kind.name().to_owned(), number(n))).collect()
}

/// Counts beyond 2^128 are shown as the largest number below it.
fn number(count: &BigUint) -> u128 {
    count.to_u128().unwrap_or(u128::MAX)
}
