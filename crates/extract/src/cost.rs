//! Costs: operations, exactly.
//!
//! The unit is one operation of the format's rule, executed once. A shared e-class is paid once. The model is a total
//! order with saturating arithmetic; it is additive over the chosen e-nodes and never negative.

use std::iter::Sum;
use std::ops::{Add, Mul};

use egg::Id;
use nestegg_egraph::analysis::Graph;
use nestegg_egraph::language::Node;
use nestegg_egraph::rational::Rational;
use nestegg_ir::Op;
use nestegg_ir::count::{POWER_OPERATIONS, whole_power_operations};
use num_traits::ToPrimitive;

/// A number of operations; saturates at [`Cost::INFINITE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u128);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything finite.
    pub const INFINITE: Self = Self(u128::MAX);

    /// So many operations.
    #[must_use]
    pub fn new(operations: u128) -> Self {
        Self(operations)
    }

    /// So many operations; what exceeds 128 bits is infinite.
    #[must_use]
    pub fn from_big(operations: &impl ToPrimitive) -> Self {
        operations.to_u128().map_or(Self::INFINITE, Self)
    }

    /// The number of operations.
    #[must_use]
    pub fn operations(self) -> u128 {
        self.0
    }

    /// This cost times `numerator / denominator`; zero over zero is one.
    #[must_use]
    pub fn scaled(self, numerator: Self, denominator: Self) -> Self {
        if denominator == Self::ZERO {
            return if numerator == Self::ZERO { self } else { numerator };
        }
        match self.0.checked_mul(numerator.0) {
            Some(product) => Self(product / denominator.0),
            None => Self::INFINITE,
        }
    }

    /// The difference, at least zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Mul for Cost {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(self.0.saturating_mul(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// The operations of an e-node at one point of its e-class's inames; at one point of inames and reduction inames
/// for a reduction.
#[must_use]
pub fn operations(graph: &Graph, class: Id, node: &Node) -> u128 {
    let is_float = |id: Id| graph[id].data.dtype.is_float();
    let is_constant = |id: Id| graph[id].data.constant.is_some();
    match node {
        Node::Op(op, children) if op.is_comparison() => u128::from(children.iter().any(|&child| is_float(child))),
        Node::Access(..)
        | Node::Number(..)
        | Node::Iname(_)
        | Node::Parameter(_)
        | Node::Cast(..)
        | Node::Guard(..) => 0,
        _ if !is_float(class) && !is_constant(class) => 0,
        Node::Sum { coefficients, children } => {
            let scalings = coefficients.iter().map(|coefficient| match coefficient.to_exact_f64() {
                _ if coefficient.is_unit() => 0,
                Some(_) => 1,
                // A product for each double that it is the sum of.
                None => 2 * coefficient.to_doubles().len() as u128 - 1,
            });
            scalings.sum::<u128>() + (children.len() as u128).saturating_sub(1)
        }
        Node::Product { exponents, .. } => {
            let n_above = exponents.iter().filter(|&&exponent| exponent > 0).count() as u128;
            let n_below = exponents.len() as u128 - n_above;
            let powers: u128 = exponents
                .iter()
                .map(|exponent| u128::from(whole_power_operations(i64::from(exponent.unsigned_abs()))))
                .sum();
            let quotient = u128::from(n_below > 0);
            powers + n_above.saturating_sub(1) + n_below.saturating_sub(1) + quotient
        }
        Node::Rounded(op, children) => {
            let value = |id: Id| graph[id].data.constant.as_ref();
            let joined = |n: usize| (n as u128).saturating_sub(1);
            match op {
                Op::Neg => 0,
                Op::Mul => {
                    let is_unit = |id: &&Id| value(**id).is_some_and(|value| value.abs().is_one());
                    joined(children.len() - children.iter().filter(is_unit).count())
                }
                Op::Pow => match value(children[1]).and_then(Rational::to_int) {
                    Some(n) => u128::from(whole_power_operations(n)),
                    None => u128::from(POWER_OPERATIONS),
                },
                _ => joined(children.len()),
            }
        }
        Node::Op(Op::Min | Op::Max, children) => (children.len() as u128).saturating_sub(1),
        Node::Op(Op::Pow, _) => u128::from(POWER_OPERATIONS),
        Node::Op(Op::If | Op::FloorDiv | Op::Mod, _) | Node::Reduce(..) | Node::Call(..) => 1,
        Node::Op(..) => 0,
    }
}
