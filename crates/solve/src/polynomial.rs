//! A system of polynomials in run-time values, as a straight-line program with few operations.
//!
//! # Input
//! Polynomials, each a list of coefficients and powers of inputs. Exponents may be negative: such an input is divided by.
//! Coefficients are finite; equal ones should be equal to the bit, but for the sign.
//! # Output
//! A program with one output for each polynomial. It never has more operations than the polynomials one by one, with
//! equal monomials computed once; with [`Reciprocals::Once`] it may have one more for each input that is divided by.
//! # Method
//! 1. A [system](system::System) holds the polynomials without their common powers and factors; those that are equal up to
//!    these are one. The reciprocal of an input is a symbol of its own.
//! 2. Terms are [regrouped](mod@sum): common sums of two terms, distribution. New sums are symbols like inputs, so nested forms as
//!    Horner's are found.
//! 3. [Products](product) of two symbols that several monomials contain become symbols. Then step 2 again, as long as
//!    something changes.
//! 4. The system is [written](mod@write) as a program: coefficients are multiplied where it costs least, and reciprocals
//!    become divisions as [`Reciprocals`] tells.
//!
//! Several tries differ in which moves there are and come first; those that begin with step 2 share its first moves, found and weighed once.
//! The cheapest program is kept, the first one of several.
//! # Complexity
//! Quadratic in the terms of a polynomial, about linear in their number; [`PolynomialOptions::max_work`] bounds it.
//! # Not done
//! Identities beyond the ring: no cancellation is sought, no polynomial is divided by another one of three terms or more
//! unless distribution finds it.
//! Source: Hosangadi, Fallah, Kastner, "Optimizing polynomial expressions by algebraic factorization and common subexpression
//! elimination", IEEE Trans. CAD 2006.

pub mod monomial;
pub mod product;
pub mod sum;
pub mod system;
pub mod write;

use std::sync::LazyLock;

use rayon::prelude::*;

use crate::memo::{self, Memo};
use crate::program::Program;
use sum::{Preference, Start};
use system::System;

/// Coefficients and powers of inputs. An input may occur twice in a term, and equal terms may occur: they are added.
pub type Polynomial = Vec<(f64, Vec<(usize, i32)>)>;

/// What [`polynomials`] may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolynomialOptions {
    /// Common sums and distribution.
    pub sums: bool,
    /// Common products.
    pub products: bool,
    /// What becomes of reciprocals.
    pub reciprocals: Reciprocals,
    /// How many orders of moves are tried, of [`TRIES`] there are.
    pub n_tries: usize,
    /// Pairs of terms that may be looked at; each try has its part.
    pub max_work: u64,
}

/// What becomes of a reciprocal that several products read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reciprocals {
    /// It is computed once and multiplied: fewest divisions.
    Once,
    /// The products are quotients, unless some product has only reciprocals: fewest operations.
    Divided,
}

impl PolynomialOptions {
    /// Everything, with limits that keep two thousand monomials around a second.
    pub const ALL: Self = Self {
        sums: true,
        products: true,
        reciprocals: Reciprocals::Divided,
        n_tries: TRIES.len(),
        max_work: 5_000_000,
    };
}

/// An order of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// Which moves come first.
    pub preference: Preference,
    /// Whether quotients are moves.
    pub has_quotients: bool,
    /// Whether products come before sums.
    pub is_product_first: bool,
}

/// The orders that are tried.
pub const TRIES: [Try; 5] = [
    Try { preference: Preference::Divisors, has_quotients: false, is_product_first: false },
    Try { preference: Preference::Distribution, has_quotients: true, is_product_first: false },
    Try { preference: Preference::DistributionFirst, has_quotients: true, is_product_first: false },
    Try { preference: Preference::DivisorsFirst, has_quotients: false, is_product_first: false },
    Try { preference: Preference::Divisors, has_quotients: true, is_product_first: true },
];

/// Rounds of sums and products in a try.
pub const ROUNDS_LIMIT: usize = 4;

/// The bits of a coefficient, and powers of inputs.
type TermByBits = (u64, Vec<(usize, i32)>);

/// The polynomials by the bits of their coefficients, and the options.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question(Vec<Vec<TermByBits>>, PolynomialOptions);

impl memo::Question for Question {
    fn n_words(&self) -> u64 {
        self.0.iter().flatten().map(|(_, factors)| 4 + 2 * factors.len() as u64).sum()
    }
}

static KNOWN: LazyLock<Memo<Question, Program>> = LazyLock::new(Memo::new);

/// A program of all polynomials.
#[must_use]
pub fn polynomials(polynomials: &[Polynomial], options: &PolynomialOptions) -> Program {
    let by_bits = |polynomial: &Polynomial| {
        polynomial.iter().map(|(coefficient, factors)| (coefficient.to_bits(), factors.clone())).collect()
    };
    let question = Question(polynomials.iter().map(by_bits).collect(), *options);
    KNOWN.answer(question, || solve(polynomials, options))
}

fn solve(polynomials: &[Polynomial], options: &PolynomialOptions) -> Program {
    let direct = write::direct(polynomials, options.reciprocals);
    let system = System::new(polynomials);
    let orders = &TRIES[..options.n_tries.min(TRIES.len())];
    let max_work = options.max_work / orders.len().max(1) as u64;
    // Where sums come first, all orders start from the same moves.
    let started = (options.sums && orders.iter().any(|order| !order.begins_with_products(options))).then(|| {
        let mut system = system.clone();
        let start = sum::start(&mut system);
        (system, start)
    });
    let tried: Vec<Option<Program>> = orders
        .par_iter()
        .map(|order| match started.as_ref().filter(|_| !order.begins_with_products(options)).cloned() {
            Some((system, start)) => in_order(system, Some(start), *order, max_work, options),
            None => in_order(system.clone(), None, *order, max_work, options),
        })
        .collect();
    // Of equally cheap programs the first.
    std::iter::once(direct).chain(tried.into_iter().flatten()).min_by_key(Program::operations).unwrap_or_default()
}

impl Try {
    fn begins_with_products(self, options: &PolynomialOptions) -> bool {
        self.is_product_first && options.products
    }
}

/// The program that one order of moves makes; where the moves of the system were found, from these.
fn in_order(
    mut system: System,
    mut start: Option<Start>,
    order: Try,
    mut work: u64,
    options: &PolynomialOptions,
) -> Option<Program> {
    if order.begins_with_products(options) {
        product::share_products(&mut system);
    }
    for _ in 0..ROUNDS_LIMIT {
        let is_regrouped = options.sums && {
            let start = start.take().unwrap_or_else(|| sum::start(&mut system));
            sum::regroup(&mut system, start, order.preference, order.has_quotients, &mut work)
        };
        let is_shared = options.products && product::share_products(&mut system);
        if !is_regrouped && !is_shared {
            break;
        }
    }
    write::write(&system, options.reciprocals)
}
