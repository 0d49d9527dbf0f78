//! Linear combinations as steps: sums, and the products of their coefficients.
//!
//! # Input
//! Rows, what was [chosen](mod@factor) for their coefficients, and what each symbol is.
//! # Output
//! Steps. Equal products and equal sums of terms of one magnitude are one step.
//! # Method
//! The terms of a row come in the order of magnitudes, then of symbols. A row that is a single term with coefficient 1
//! or −1 needs no step.
//! # Complexity
//! O(entries · log).

pub mod factor;

use rustc_hash::FxHashMap;

use crate::program::{Operand, Step, Term};
use crate::ratio;

/// A value that rows read.
pub type Symbol = u32;

/// A linear combination, sorted by symbol, without zeros.
pub type Row = Vec<(Symbol, f64)>;

/// Tells the value of a symbol times a coefficient.
pub type Read<'a> = dyn Fn(Symbol, f64) -> Term + 'a;

/// Writes rows as steps.
#[derive(Clone, Debug, Default)]
pub struct TermWriter {
    /// The steps so far; others may be added.
    pub steps: Vec<Step>,
    products: FxHashMap<(Symbol, u64), Operand>,
    /// Sums of symbols, each added or subtracted, the first one added.
    sums: FxHashMap<Vec<(Symbol, bool)>, Operand>,
}

impl TermWriter {
    /// Adds a step.
    pub fn push(&mut self, step: Step) -> Operand {
        self.steps.push(step);
        Operand::Step(self.steps.len() - 1)
    }

    /// The value of a row: an operand with coefficient 1 or −1, or zero.
    pub fn row(&mut self, row: &Row, row_idx: usize, choice: &factor::Choice, read: &Read<'_>) -> Term {
        let terms = self.terms(row, row_idx, choice, read);
        self.value(terms)
    }

    /// The value of some terms: an operand with coefficient 1 or −1, or zero.
    pub fn value(&mut self, terms: Vec<Term>) -> Term {
        match terms[..] {
            [] => Term::ZERO,
            [term] if term.operand.is_some() && term.coefficient.abs() == 1.0 => term,
            _ => Term::new(1.0, self.push(Step::Sum(terms))),
        }
    }

    /// The terms of a row, their products and sums written.
    pub fn terms(&mut self, row: &Row, row_idx: usize, choice: &factor::Choice, read: &Read<'_>) -> Vec<Term> {
        let mut terms = Vec::with_capacity(row.len());
        for (magnitude, members) in factor::by_magnitude(row) {
            if magnitude == ratio::key(1.0) {
                terms.extend(members.iter().map(|&(symbol, value)| read(symbol, value)));
            } else if members.len() > 1 && !choice.is_expanded(row_idx, magnitude) {
                let sum = Term::new(members[0].1, self.sum(&members, read));
                terms.push(if members.len() == row.len() { self.signed_product(sum) } else { sum });
            } else {
                for (symbol, value) in members {
                    let is_shared = row.len() == 1 || choice.n_readers(symbol, magnitude) > 1;
                    terms.push(if is_shared { self.product(symbol, value, read) } else { read(symbol, value) });
                }
            }
        }
        terms
    }

    /// A step for a term without its sign.
    fn signed_product(&mut self, term: Term) -> Term {
        let step = Step::Sum(vec![Term { coefficient: term.coefficient.abs(), ..term }]);
        Term::new(1f64.copysign(term.coefficient), self.push(step))
    }

    /// The sum of terms of one magnitude, divided by it and by the sign of its first term.
    fn sum(&mut self, members: &Row, read: &Read<'_>) -> Operand {
        let sign = 1f64.copysign(members[0].1);
        let signs: Vec<(Symbol, bool)> = members.iter().map(|&(symbol, value)| (symbol, value * sign < 0.0)).collect();
        if let Some(&operand) = self.sums.get(&signs) {
            return operand;
        }
        let terms = signs.iter().map(|&(symbol, is_negative)| read(symbol, if is_negative { -1.0 } else { 1.0 }));
        let operand = self.push(Step::Sum(terms.collect()));
        self.sums.insert(signs, operand);
        operand
    }

    /// A product that several rows read.
    fn product(&mut self, symbol: Symbol, value: f64, read: &Read<'_>) -> Term {
        let place = (symbol, ratio::magnitude_key(value));
        let sign = 1f64.copysign(value);
        if let Some(&operand) = self.products.get(&place) {
            return Term::new(sign, operand);
        }
        let operand = self.push(Step::Sum(vec![read(symbol, value.abs())]));
        self.products.insert(place, operand);
        Term::new(sign, operand)
    }
}
