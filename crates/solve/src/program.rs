//! Straight-line programs over scalars.
//!
//! # Counting
//! - A sum of n terms counts n − 1, and one multiplication for each coefficient other than 1 and −1 of a term with an
//!   operand.
//! - A product is a quotient of the factors with positive by those with negative exponents: each side of n factors counts
//!   n − 1 and ⌈log2 |e|⌉ for each exponent e, and where there is a factor with a negative exponent one division is counted.
//!   `1/x` counts 1, `a·b/(c·d)` 3, `x³` 2, `x⁻³` 3.
//! - An output with an operand and a coefficient other than 1 and −1 counts 1.
//!
//! # Order
//! A step reads inputs and steps before it, never itself or later ones.

/// A straight-line program over scalars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// What is computed, in this order.
    pub steps: Vec<Step>,
    /// The results.
    pub outputs: Vec<Term>,
}

/// A coefficient times an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The coefficient; the value itself where there is no operand.
    pub coefficient: f64,
    /// The operand; none for a constant.
    pub operand: Option<Operand>,
}

/// What a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// An input, by position.
    Input(usize),
    /// The result of an earlier step, by position.
    Step(usize),
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The sum of the terms; zero where there are none.
    Sum(Vec<Term>),
    /// The product of the powers; exponents may be negative, never zero. One where there are none.
    Product(Vec<(Operand, i32)>),
}

impl Term {
    /// Zero.
    pub const ZERO: Self = Self { coefficient: 0.0, operand: None };

    /// A constant.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Self { coefficient: value, operand: None }
    }

    /// A coefficient times an operand.
    #[must_use]
    pub fn new(coefficient: f64, operand: Operand) -> Self {
        Self { coefficient, operand: Some(operand) }
    }

    /// Multiplications that the coefficient costs.
    #[must_use]
    pub fn operations(&self) -> u64 {
        u64::from(self.operand.is_some() && self.coefficient.abs() != 1.0)
    }
}

impl Step {
    /// Operations of the step by the rule of the module.
    #[must_use]
    pub fn operations(&self) -> u64 {
        match self {
            Self::Sum(terms) => {
                let additions = terms.len().saturating_sub(1) as u64;
                additions + terms.iter().map(Term::operations).sum::<u64>()
            }
            Self::Product(factors) => {
                let side = |is_below: bool| {
                    let of_side = factors.iter().filter(move |factor| (factor.1 < 0) == is_below);
                    let n_factors = of_side.clone().count() as u64;
                    let powers: u64 = of_side.map(|factor| power_operations(factor.1)).sum();
                    (n_factors, n_factors.saturating_sub(1) + powers)
                };
                let (_, above) = side(false);
                let (n_below, below) = side(true);
                above + below + u64::from(n_below > 0)
            }
        }
    }

    /// What the step reads, in order.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + '_ {
        let (terms, factors): (&[Term], &[(Operand, i32)]) = match self {
            Self::Sum(terms) => (terms, &[]),
            Self::Product(factors) => (&[], factors),
        };
        terms.iter().filter_map(|term| term.operand).chain(factors.iter().map(|factor| factor.0))
    }
}

impl Program {
    /// Operations of all steps and outputs by the rule of the module.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let steps: u64 = self.steps.iter().map(Step::operations).sum();
        steps + self.outputs.iter().map(Term::operations).sum::<u64>()
    }

    /// The outputs for some inputs.
    ///
    /// # Panics
    /// If there are fewer inputs than the program reads, or a step reads a later one.
    #[must_use]
    pub fn evaluate(&self, inputs: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step {
                Step::Sum(terms) => terms.iter().map(|term| value_of_term(term, inputs, &values)).sum(),
                Step::Product(factors) => quotient(factors, inputs, &values),
            };
            values.push(value);
        }
        self.outputs.iter().map(|term| value_of_term(term, inputs, &values)).collect()
    }
}

/// Multiplications of a power with a positive or negative exponent, its reciprocal not counted: ⌈log2 |e|⌉.
#[must_use]
pub fn power_operations(exponent: i32) -> u64 {
    u64::from(exponent.unsigned_abs().max(1).next_power_of_two().trailing_zeros())
}

fn value_of(operand: Operand, inputs: &[f64], values: &[f64]) -> f64 {
    match operand {
        Operand::Input(idx) => inputs[idx],
        Operand::Step(idx) => values[idx],
    }
}

fn value_of_term(term: &Term, inputs: &[f64], values: &[f64]) -> f64 {
    match term.operand {
        Some(operand) => term.coefficient * value_of(operand, inputs, values),
        None => term.coefficient,
    }
}

fn quotient(factors: &[(Operand, i32)], inputs: &[f64], values: &[f64]) -> f64 {
    let mut above = 1.0;
    let mut below = 1.0;
    for &(operand, exponent) in factors {
        let value = power(value_of(operand, inputs, values), exponent.unsigned_abs());
        if exponent < 0 {
            below *= value;
        } else {
            above *= value;
        }
    }
    above / below
}

/// A power by repeated squaring, in one fixed order on every machine.
fn power(base: f64, exponent: u32) -> f64 {
    let mut value = 1.0;
    let mut square = base;
    let mut rest = exponent;
    while rest > 0 {
        if rest & 1 == 1 {
            value *= square;
        }
        square *= square;
        rest >>= 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::{Operand, Program, Step, Term};

    fn product(factors: &[(usize, i32)]) -> Step {
        Step::Product(factors.iter().map(|&(input, exponent)| (Operand::Input(input), exponent)).collect())
    }

    #[test]
    fn sums_count_additions_and_coefficients() {
        let term = |coefficient, input| Term::new(coefficient, Operand::Input(input));
        assert_eq!(Step::Sum(vec![]).operations(), 0);
        assert_eq!(Step::Sum(vec![term(-1.0, 0)]).operations(), 0);
        assert_eq!(Step::Sum(vec![term(1.0, 0), term(-2.0, 1), Term::constant(3.0)]).operations(), 3);
    }

    #[test]
    fn products_are_quotients() {
        assert_eq!(product(&[(0, -1)]).operations(), 1);
        assert_eq!(product(&[(0, 1), (1, 1), (2, -1), (3, -1)]).operations(), 3);
        assert_eq!(product(&[(0, 3)]).operations(), 2);
        assert_eq!(product(&[(0, -3)]).operations(), 3);
        assert_eq!(product(&[(0, 4), (1, 1)]).operations(), 3);
    }

    #[test]
    fn programs_run_in_order() {
        let program = Program {
            steps: vec![
                product(&[(0, 2), (1, -1)]),
                Step::Sum(vec![
                    Term::new(2.0, Operand::Step(0)),
                    Term::new(-1.0, Operand::Input(1)),
                    Term::constant(0.5),
                ]),
            ],
            outputs: vec![Term::new(-1.0, Operand::Step(1)), Term::new(3.0, Operand::Input(0)), Term::ZERO],
        };
        assert_eq!(program.evaluate(&[4.0, 2.0]), [-14.5, 12.0, 0.0]);
        assert_eq!(program.operations(), 2 + 3 + 1);
    }
}
