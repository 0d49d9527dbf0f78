//! Polynomials with rational coefficients in the variables of a system.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::count::system::Row;

/// A sum of coefficients times products of powers; no coefficient is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Polynomial {
    n: usize,
    /// Exponents, one for each variable, to coefficient.
    terms: BTreeMap<Vec<u32>, BigRational>,
}

impl Polynomial {
    /// A number.
    pub(super) fn constant(n: usize, value: BigRational) -> Polynomial {
        let mut polynomial = Polynomial { n, terms: BTreeMap::new() };
        polynomial.add_term(vec![0; n], value);
        polynomial
    }

    /// An affine expression.
    pub(super) fn affine(row: &Row) -> Polynomial {
        let n = row.coefficients.len();
        let mut polynomial = Polynomial::constant(n, BigRational::from(BigInt::from(row.constant)));
        for (at, coefficient) in row.coefficients.iter().enumerate() {
            let mut exponents = vec![0; n];
            exponents[at] = 1;
            polynomial.add_term(exponents, BigRational::from(BigInt::from(*coefficient)));
        }
        polynomial
    }

    /// The value, if this is a number.
    pub(super) fn as_constant(&self) -> Option<BigRational> {
        match self.terms.iter().next() {
            None => Some(BigRational::zero()),
            Some((exponents, c)) if self.terms.len() == 1 && exponents.iter().all(|e| *e == 0) => Some(c.clone()),
            Some(_) => None,
        }
    }

    /// Whether the variable occurs.
    pub(super) fn involves(&self, var: usize) -> bool {
        self.terms.keys().any(|exponents| exponents[var] > 0)
    }

    fn add_term(&mut self, exponents: Vec<u32>, coefficient: BigRational) {
        let sum = match self.terms.remove(&exponents) {
            Some(old) => old + coefficient,
            None => coefficient,
        };
        if !sum.is_zero() {
            self.terms.insert(exponents, sum);
        }
    }

    pub(super) fn add(mut self, other: &Polynomial) -> Polynomial {
        for (exponents, coefficient) in &other.terms {
            self.add_term(exponents.clone(), coefficient.clone());
        }
        self
    }

    pub(super) fn sub(mut self, other: &Polynomial) -> Polynomial {
        for (exponents, coefficient) in &other.terms {
            self.add_term(exponents.clone(), -coefficient.clone());
        }
        self
    }

    pub(super) fn mul(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial { n: self.n, terms: BTreeMap::new() };
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                product.add_term(left.iter().zip(right).map(|(x, y)| x + y).collect(), a * b);
            }
        }
        product
    }

    /// Coefficients of the powers of a variable, from the zeroth on.
    fn by_powers(&self, var: usize) -> Vec<Polynomial> {
        let mut powers: Vec<Polynomial> = Vec::new();
        for (exponents, coefficient) in &self.terms {
            let power = exponents[var] as usize;
            if powers.len() <= power {
                powers.resize_with(power + 1, || Polynomial { n: self.n, terms: BTreeMap::new() });
            }
            let mut rest = exponents.clone();
            rest[var] = 0;
            powers[power].add_term(rest, coefficient.clone());
        }
        powers
    }

    /// The polynomial with an affine expression (in which the variable may itself occur) in place of a variable.
    pub(super) fn substitute(&self, var: usize, value: &Row) -> Polynomial {
        if !self.involves(var) {
            return self.clone();
        }
        let value = Polynomial::affine(value);
        let zero = Polynomial { n: self.n, terms: BTreeMap::new() };
        self.by_powers(var).iter().rev().fold(zero, |sum, coefficient| sum.mul(&value).add(coefficient))
    }

    /// The polynomial `S` with `S(x) - S(x - 1) = self(x)` in a variable: the sum of `self` from `l` to `u` is `S(u) - S(l - 1)`.
    pub(super) fn prefix_sum(&self, var: usize) -> Polynomial {
        let mut sum = Polynomial { n: self.n, terms: BTreeMap::new() };
        for (power, coefficient) in self.by_powers(var).iter().enumerate() {
            let mut faulhaber = Polynomial { n: self.n, terms: BTreeMap::new() };
            for (exponent, c) in power_sum(power) {
                let mut exponents = vec![0; self.n];
                exponents[var] = exponent;
                faulhaber.add_term(exponents, c);
            }
            sum = sum.add(&coefficient.mul(&faulhaber));
        }
        sum
    }
}

/// Exponents and coefficients of the polynomial whose value at `x` is `Σ t^k`, `t` from 1 to `x` (Faulhaber's formula).
fn power_sum(k: usize) -> Vec<(u32, BigRational)> {
    let bernoulli = bernoulli(k);
    let scale = BigRational::new(BigInt::one(), BigInt::from(k + 1));
    let mut binomial = BigInt::one();
    let mut terms = Vec::with_capacity(k + 1);
    for (j, b) in bernoulli.iter().enumerate() {
        let exponent = u32::try_from(k + 1 - j).expect("the degree is at most the number of variables");
        terms.push((exponent, b * &scale * BigRational::from(binomial.clone())));
        binomial = binomial * BigInt::from(k + 1 - j) / BigInt::from(j + 1);
    }
    terms
}

/// The Bernoulli numbers from the zeroth to the `k`-th, with `B₁ = +1/2`.
fn bernoulli(k: usize) -> Vec<BigRational> {
    let mut row: Vec<BigRational> = Vec::with_capacity(k + 1);
    let mut numbers = Vec::with_capacity(k + 1);
    for m in 0..=k {
        row.push(BigRational::new(BigInt::one(), BigInt::from(m + 1)));
        for j in (1..=m).rev() {
            let difference = &row[j - 1] - &row[j];
            row[j - 1] = difference * BigRational::from(BigInt::from(j));
        }
        numbers.push(row[0].clone());
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_sums_are_sums_of_powers() {
        for k in 0..7_usize {
            let exponent = u32::try_from(k).unwrap();
            for x in 0..9_i64 {
                let expected: i64 = (1..=x).map(|t| t.pow(exponent)).sum();
                let value: BigRational = power_sum(k)
                    .into_iter()
                    .map(|(e, c)| c * BigRational::from(BigInt::from(x.pow(e))))
                    .fold(BigRational::zero(), |a, b| a + b);
                assert_eq!(value, BigRational::from(BigInt::from(expected)), "k = {k}, x = {x}");
            }
        }
    }
}
