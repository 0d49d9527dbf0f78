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
//!    ([`factor`]).
//! # Complexity
//! O(entries · log) for each of a few rounds.

pub mod factor;
pub mod inline;
pub mod rescale;

use std::collections::BTreeMap;

use super::net::{Net, Row, Symbol};
use crate::program::{Operand, Program, Step, Term};
use crate::ratio;

/// The program of a net.
#[must_use]
pub fn emit(net: &Net) -> Program {
    let plain = inline::inline(net);
    let mut rescaled = plain.clone();
    rescale::rescale(&mut rescaled);
    let written = [plain, rescaled].map(|ordered| Writer::write(&ordered, &factor::factor(&ordered)));
    let [plain, rescaled] = written;
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

struct Writer {
    program: Program,
    n_inputs: usize,
    /// For each row its operand and sign.
    values: Vec<(Operand, f64)>,
    products: BTreeMap<(Symbol, u64), Operand>,
    /// Sums of symbols, each added or subtracted, the first one added.
    sums: BTreeMap<Vec<(Symbol, bool)>, Operand>,
}

impl Writer {
    fn write(ordered: &Ordered, choice: &factor::Choice) -> Program {
        let mut writer = Self {
            program: Program::default(),
            n_inputs: ordered.n_inputs,
            values: Vec::with_capacity(ordered.rows.len()),
            products: BTreeMap::new(),
            sums: BTreeMap::new(),
        };
        for (row_idx, row) in ordered.rows.iter().enumerate() {
            let terms = writer.terms(row, choice, row_idx);
            let value = match terms[..] {
                [Term { coefficient, operand: Some(operand) }] if coefficient.abs() == 1.0 => (operand, coefficient),
                _ => (writer.push(terms), 1.0),
            };
            writer.values.push(value);
        }
        let outputs = ordered.outputs.iter().map(|output| match *output {
            Some((symbol, sign)) => writer.read(symbol, sign),
            None => Term::ZERO,
        });
        let outputs = outputs.collect();
        Program { outputs, ..writer.program }
    }

    fn push(&mut self, terms: Vec<Term>) -> Operand {
        self.program.steps.push(Step::Sum(terms));
        Operand::Step(self.program.steps.len() - 1)
    }

    fn read(&self, symbol: Symbol, coefficient: f64) -> Term {
        match (symbol as usize).checked_sub(self.n_inputs) {
            None => Term::new(coefficient, Operand::Input(symbol as usize)),
            Some(row_idx) => Term::new(coefficient * self.values[row_idx].1, self.values[row_idx].0),
        }
    }

    fn terms(&mut self, row: &Row, choice: &factor::Choice, row_idx: usize) -> Vec<Term> {
        let mut terms = Vec::with_capacity(row.len());
        for (magnitude, members) in factor::by_magnitude(row) {
            if magnitude == ratio::key(1.0) {
                terms.extend(members.iter().map(|&(symbol, value)| self.read(symbol, value)));
            } else if members.len() > 1 && !choice.is_expanded(row_idx, magnitude) {
                let sum = self.sum(&members);
                terms.push(self.product_of_sum(sum, members[0].1, members.len() == row.len()));
            } else {
                for (symbol, value) in members {
                    terms.push(self.product(symbol, value, magnitude, choice, row.len() == 1));
                }
            }
        }
        terms
    }

    /// A sum times a coefficient; alone in its row it is a step of its own, so that readers of the row find it.
    fn product_of_sum(&mut self, sum: Operand, coefficient: f64, is_alone: bool) -> Term {
        if is_alone {
            let term = Term::new(coefficient.abs(), sum);
            return Term::new(1f64.copysign(coefficient), self.push(vec![term]));
        }
        Term::new(coefficient, sum)
    }

    /// The sum of terms of one magnitude, divided by it and by the sign of its first term.
    fn sum(&mut self, members: &[(Symbol, f64)]) -> Operand {
        let sign = 1f64.copysign(members[0].1);
        let signs: Vec<(Symbol, bool)> = members.iter().map(|&(symbol, value)| (symbol, value * sign < 0.0)).collect();
        if let Some(&operand) = self.sums.get(&signs) {
            return operand;
        }
        let terms = signs.iter().map(|&(symbol, is_negative)| self.read(symbol, if is_negative { -1.0 } else { 1.0 }));
        let terms = terms.collect();
        let operand = self.push(terms);
        self.sums.insert(signs, operand);
        operand
    }

    /// A product, of its own step where several rows read it.
    fn product(&mut self, symbol: Symbol, value: f64, magnitude: u64, choice: &factor::Choice, is_alone: bool) -> Term {
        let is_shared = is_alone || choice.n_readers(symbol, magnitude) > 1;
        if !is_shared {
            return self.read(symbol, value);
        }
        let sign = 1f64.copysign(value);
        if let Some(&operand) = self.products.get(&(symbol, magnitude)) {
            return Term::new(sign, operand);
        }
        let term = self.read(symbol, value.abs());
        let operand = self.push(vec![term]);
        self.products.insert((symbol, magnitude), operand);
        Term::new(sign, operand)
    }
}
