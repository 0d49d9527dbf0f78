//! The program of a net: which coefficients are multiplied where.
//!
//! # Input
//! A net.
//! # Output
//! A program; rows that no output needs are left out.
//! # Method
//! 1. Rows are put in order, those that are read first, and rows of a single term, rows that are read once and equal
//!    magnitudes up to rounding become one ([`inline`]).
//! 2. A row that is no output may be stored times a factor. The factor is one that its readers use, or the reciprocal of
//!    one of its coefficients; it is changed while that saves multiplications ([`rescale`]).
//!    This does not see step 3, so the program without it is written too, and the cheaper one is kept.
//! 3. Terms of a row with the same magnitude v are either products, each computed once for all rows, or a sum times v
//!    ([`factor`](mod@factor)).
//! # Complexity
//! O(entries · log) for each of a few rounds.

pub mod inline;
pub mod rescale;

use super::net::Net;
use crate::program::{Operand, Program, Term};
use crate::terms::{Row, Symbol, TermWriter, factor};

/// The program of a net.
#[must_use]
pub fn emit(net: &Net) -> Program {
    let mut ordered = inline::inline(net);
    let plain = write(&ordered);
    if !rescale::rescale(&mut ordered) {
        return plain;
    }
    let rescaled = write(&ordered);
    if rescaled.operations() < plain.operations() { rescaled } else { plain }
}

/// Rows in an order in which each reads only inputs and rows before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// Symbols below this number are inputs; others are rows.
    pub n_inputs: usize,
    /// The rows; row k is the symbol `n_inputs + k`.
    pub rows: Vec<Row>,
    /// For each row whether it is an output.
    pub is_output: Vec<bool>,
    /// For each output its symbol and 1 or −1; none for zero.
    pub outputs: Vec<Option<(Symbol, f64)>>,
}

fn write(ordered: &Ordered) -> Program {
    let choice = factor::factor(&ordered.rows);
    let mut writer = TermWriter::default();
    let mut values: Vec<Term> = Vec::with_capacity(ordered.rows.len());
    let read = |values: &[Term], symbol: Symbol, coefficient: f64| match (symbol as usize).checked_sub(ordered.n_inputs)
    {
        None => Term::new(coefficient, Operand::Input(symbol as usize)),
        Some(row_idx) => Term { coefficient: coefficient * values[row_idx].coefficient, ..values[row_idx] },
    };
    for (row_idx, row) in ordered.rows.iter().enumerate() {
        let value = writer.row(row, row_idx, &choice, &|symbol, coefficient| read(&values, symbol, coefficient));
        values.push(value);
    }
    let outputs = ordered.outputs.iter().map(|output| match *output {
        Some((symbol, sign)) => read(&values, symbol, sign),
        None => Term::ZERO,
    });
    Program { outputs: outputs.collect(), steps: writer.steps }
}
