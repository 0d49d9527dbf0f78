//! The program of a system of polynomials.
//!
//! # Input
//! A system.
//! # Output
//! A program; none if symbols read each other in a circle, which no move of this crate makes.
//! # Method
//! A depth-first walk from the outputs, with a stack of its own, orders the symbols. Each monomial is one product,
//! each sum one [row of terms](crate::terms), each output a row of one term. A reciprocal that one monomial alone reads is a
//! negative exponent there; so is, with [`Reciprocals::Divided`], one that saves nothing as a step. Others are steps.
//! # Complexity
//! O(size of the system · log).

use std::collections::{BTreeMap, BTreeSet};

use super::monomial::{MonomialId, Symbol};
use super::system::{Kind, System};
use super::{Polynomial, Reciprocals};
use crate::program::{Operand, Program, Step, Term};
use crate::terms::{Row, TermWriter, factor};

/// The program of a system.
#[must_use]
pub fn write(system: &System, reciprocals: Reciprocals) -> Option<Program> {
    let order = order(system)?;
    let sums = order.iter().filter_map(|&symbol| match system.kinds[symbol as usize] {
        Kind::Sum(sum_idx) => Some(sum_idx),
        _ => None,
    });
    let sums: Vec<usize> = sums.collect();
    let mut rows: Vec<Row> = sums.iter().map(|&sum_idx| row_of(system.sums[sum_idx].iter())).collect();
    rows.extend(system.outputs.iter().map(|output| row_of(output.iter().map(|(value, id)| (id, value)))));
    let choice = factor::factor(&rows);
    let mut writer = Writer {
        system,
        terms: TermWriter::default(),
        values: vec![None; system.kinds.len()],
        monomials: BTreeMap::new(),
        divided: divided(system, &order, reciprocals),
    };
    let mut row_idx = 0;
    for symbol in order {
        let value = match system.kinds[symbol as usize] {
            Kind::Input(input) => Operand::Input(input).into(),
            Kind::Inverse(_) if writer.divided.contains(&symbol) => continue,
            Kind::Inverse(input) => writer.terms.push(Step::Product(vec![(Operand::Input(input), -1)])).into(),
            Kind::Product(id) => writer.monomial(id),
            Kind::Sum(sum_idx) => {
                let constant = system.sums[sum_idx].get(&MonomialId::ONE).copied();
                let value = writer.row(&rows[row_idx], row_idx, &choice, constant);
                row_idx += 1;
                value
            }
        };
        writer.values[symbol as usize] = Some(value);
    }
    let mut outputs = Vec::with_capacity(system.outputs.len());
    for output in &system.outputs {
        let value = match *output {
            None => Term::ZERO,
            Some((value, MonomialId::ONE)) => Term::constant(value),
            Some(_) => writer.row(&rows[row_idx], row_idx, &choice, None).into(),
        };
        outputs.push(value);
        row_idx += 1;
    }
    Some(Program { steps: writer.terms.steps, outputs })
}

/// The program of polynomials one by one, with equal monomials and equal multiples of them computed once.
#[must_use]
pub fn direct(polynomials: &[Polynomial], reciprocals: Reciprocals) -> Program {
    let mut system = System::default();
    let mut inputs: BTreeMap<(usize, bool), Symbol> = BTreeMap::new();
    for polynomial in polynomials {
        let terms = system.terms(polynomial, &mut inputs);
        if terms.len() < 2 {
            system.outputs.push(terms.first_key_value().map(|(&id, &value)| (value, id)));
            continue;
        }
        let symbol = system.push_symbol(Kind::Sum(system.sums.len()));
        system.sums.push(terms);
        let id = system.monomials.times(MonomialId::ONE, symbol);
        system.outputs.push(Some((1.0, id)));
    }
    write(&system, reciprocals).expect("the polynomials read inputs only")
}

/// A value with its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    operand: Operand,
    is_negative: bool,
}

impl Value {
    fn times(self, coefficient: f64) -> Term {
        Term::new(if self.is_negative { -coefficient } else { coefficient }, self.operand)
    }
}

impl From<Operand> for Value {
    fn from(operand: Operand) -> Self {
        Self { operand, is_negative: false }
    }
}

impl From<Value> for Term {
    fn from(value: Value) -> Self {
        value.times(1.0)
    }
}

struct Writer<'a> {
    system: &'a System,
    terms: TermWriter,
    /// What is known of each symbol; nothing for reciprocals in divisions.
    values: Vec<Option<Value>>,
    /// What is known of each monomial, by position.
    monomials: BTreeMap<Symbol, Value>,
    /// Reciprocals that are divisions.
    divided: BTreeSet<Symbol>,
}

impl Writer<'_> {
    fn row(&mut self, row: &Row, row_idx: usize, choice: &factor::Choice, constant: Option<f64>) -> Value {
        let ids: Vec<Symbol> = row.iter().map(|entry| entry.0).collect();
        for position in ids {
            if !self.monomials.contains_key(&position) {
                let id = self.system.monomials.at(position);
                let value = self.monomial(id);
                self.monomials.insert(position, value);
            }
        }
        let read = |position: Symbol, coefficient: f64| self.monomials[&position].times(coefficient);
        let mut terms = self.terms.terms(row, row_idx, choice, &read);
        terms.extend(constant.map(Term::constant));
        match terms[..] {
            [Term { coefficient, operand: Some(operand) }] if coefficient.abs() == 1.0 => {
                Value { operand, is_negative: coefficient < 0.0 }
            }
            _ => self.terms.push(Step::Sum(terms)).into(),
        }
    }

    /// A product of powers of symbols; not 1.
    fn monomial(&mut self, id: MonomialId) -> Value {
        if let Some(&value) = self.monomials.get(&id.position()) {
            return value;
        }
        let mut is_negative = false;
        let mut factors: Vec<(Operand, i32)> = Vec::new();
        for &(symbol, exponent) in self.system.monomial(id) {
            let exponent = exponent.cast_signed();
            match (self.values[symbol as usize], self.system.kinds[symbol as usize]) {
                (Some(value), _) => {
                    is_negative ^= value.is_negative && exponent % 2 != 0;
                    factors.push((value.operand, exponent));
                }
                (None, Kind::Inverse(input)) => factors.push((Operand::Input(input), -exponent)),
                (None, _) => unreachable!("symbols are written before the monomials that contain them"),
            }
        }
        let operand = match factors[..] {
            [(operand, 1)] => operand,
            _ => self.terms.push(Step::Product(merged(factors))),
        };
        let value = Value { operand, is_negative };
        self.monomials.insert(id.position(), value);
        value
    }
}

/// Factors sorted, powers of one operand added; different symbols may be one operand.
fn merged(factors: Vec<(Operand, i32)>) -> Vec<(Operand, i32)> {
    let mut res: BTreeMap<(bool, Operand), i32> = BTreeMap::new();
    for (operand, exponent) in factors {
        *res.entry((exponent < 0, operand)).or_insert(0) += exponent;
    }
    res.into_iter().map(|((_, operand), exponent)| (operand, exponent)).collect()
}

fn row_of<'a>(terms: impl Iterator<Item = (&'a MonomialId, &'a f64)>) -> Row {
    let row = terms.filter(|(id, _)| **id != MonomialId::ONE).map(|(id, value)| (id.position(), *value));
    row.collect()
}

/// The monomials that a symbol reads.
fn monomials_of(system: &System, symbol: Symbol) -> Vec<MonomialId> {
    match system.kinds[symbol as usize] {
        Kind::Input(_) | Kind::Inverse(_) => Vec::new(),
        Kind::Product(id) => vec![id],
        Kind::Sum(sum_idx) => system.sums[sum_idx].keys().copied().collect(),
    }
}

/// Reciprocals that are divisions where they are read: those that one monomial reads, and with [`Reciprocals::Divided`]
/// those that save no operation as steps.
///
/// A monomial of divided reciprocals alone costs one operation more than one with a factor above the line, and a step
/// costs one. So a reciprocal becomes a step where there are such monomials left that read it, the one with most first.
fn divided(system: &System, order: &[Symbol], reciprocals: Reciprocals) -> BTreeSet<Symbol> {
    let of_outputs = system.outputs.iter().flatten().map(|output| output.1);
    let ids: BTreeSet<MonomialId> =
        order.iter().flat_map(|&symbol| monomials_of(system, symbol)).chain(of_outputs).collect();
    let is_inverse = |symbol: Symbol| matches!(system.kinds[symbol as usize], Kind::Inverse(_));
    let mut n_readers: BTreeMap<Symbol, usize> = BTreeMap::new();
    let mut pure: Vec<MonomialId> = Vec::new();
    for id in ids {
        let monomial = system.monomial(id);
        for (symbol, _) in monomial.iter().filter(|factor| is_inverse(factor.0)) {
            *n_readers.entry(*symbol).or_insert(0) += 1;
        }
        if id != MonomialId::ONE && monomial.iter().all(|factor| is_inverse(factor.0)) {
            pure.push(id);
        }
    }
    let (mut shared, mut res): (BTreeSet<Symbol>, BTreeSet<Symbol>) = (BTreeSet::new(), BTreeSet::new());
    for (symbol, n_readers) in n_readers {
        if n_readers > 1 {
            shared.insert(symbol)
        } else {
            res.insert(symbol)
        };
    }
    if reciprocals == Reciprocals::Once {
        return res;
    }
    let reads = |id: MonomialId, symbol: Symbol| system.monomial(id).iter().any(|factor| factor.0 == symbol);
    while let Some(step) =
        shared.iter().copied().rev().max_by_key(|&symbol| pure.iter().filter(|&&id| reads(id, symbol)).count())
    {
        let n_left = pure.len();
        pure.retain(|&id| !reads(id, step));
        if pure.len() == n_left {
            break;
        }
        shared.remove(&step);
    }
    res.extend(shared);
    res
}

/// The symbols that outputs need, each after those that it reads.
fn order(system: &System) -> Option<Vec<Symbol>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Entered,
        Left,
    }
    let symbols_of = |ids: Vec<MonomialId>| -> Vec<Symbol> {
        ids.into_iter().flat_map(|id| system.monomial(id)).map(|factor| factor.0).collect()
    };
    let mut res = Vec::new();
    let mut states = vec![State::New; system.kinds.len()];
    let roots = symbols_of(system.outputs.iter().flatten().map(|output| output.1).collect());
    let mut stack: Vec<(Option<Symbol>, Vec<Symbol>, usize)> = vec![(None, roots, 0)];
    while let Some((symbol, read, place)) = stack.pop() {
        let Some(&next) = read.get(place) else {
            if let Some(symbol) = symbol {
                states[symbol as usize] = State::Left;
                res.push(symbol);
            }
            continue;
        };
        stack.push((symbol, read, place + 1));
        match states[next as usize] {
            State::New => {
                states[next as usize] = State::Entered;
                stack.push((Some(next), symbols_of(monomials_of(system, next)), 0));
            }
            State::Entered => return None,
            State::Left => {}
        }
    }
    Some(res)
}
