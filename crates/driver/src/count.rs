//! Counts of operations, as reports show them.

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
