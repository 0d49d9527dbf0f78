//! The e-node language: sums and products of any number of operands, normal modulo order.
//!
//! Operands of sums and products are sorted by e-class and equal ones merged (`x + x` is `2·x`) whenever children
//! are canonicalised, so congruence holds modulo associativity of what is flat and commutativity. There is no
//! negation, difference or quotient: coefficients and exponents carry them. Numbers are exact.
//!
//! All this holds for real numbers. Where floats must be equal to the bit ([`Licence::Strict`](nestegg_ir::Licence)), operations on
//! them are [`Node::Rounded`] instead, which no algebra looks into.
//!
//! Payloads that need the kernel (accesses, reductions) are ids of the e-graph's own interners, so that their order
//! depends on nothing but the kernel. The operands of sums and products are shared by the copies of an e-node, of which an e-graph keeps three.

use std::sync::Arc;

use egg::{Id, Language};
use nestegg_ir::types::Type;
use nestegg_ir::{Dtype, FunctionId, InameId, Op, ParameterId};

use crate::context::GuardId;
use crate::rational::Rational;

/// An interned access: see [`Access`](crate::context::Access).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(pub u32);

/// An interned reduction: see [`Reduction`](crate::context::Reduction).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReductionId(pub u32);

/// What a constant is a number of. The integer 3 and the float 3.0 are different values: only one is an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An integer of any width.
    Integer,
    /// A float of any width.
    Float,
}

impl Kind {
    /// The kind of the values of a type.
    #[must_use]
    pub fn of(ty: Type) -> Self {
        if ty.is_float() { Self::Float } else { Self::Integer }
    }
}

/// An e-node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// An exact constant.
    Number(Rational, Kind),
    /// The value of an iname.
    Iname(InameId),
    /// The value of a parameter.
    Parameter(ParameterId),
    /// An array element; the children are its indices that are not affine, in order.
    Access(AccessId, Box<[Id]>),
    /// `Σ coefficient·child`; children increasing, no coefficient zero, but that of a last child whose terms cancelled:
    /// it says what type the 0 has. Without children it is the integer 0.
    Sum {
        /// One per child.
        coefficients: Arc<[Rational]>,
        /// What is summed.
        children: Arc<[Id]>,
    },
    /// `Π child^exponent`; children increasing, no exponent zero, but that of a last child whose factors cancelled.
    /// Without children it is the integer 1.
    Product {
        /// One per child.
        exponents: Arc<[i32]>,
        /// What is multiplied.
        children: Arc<[Id]>,
    },
    /// A reduction of its child.
    Reduce(ReductionId, [Id; 1]),
    /// An operation of floats just as the kernel has it: no other form of it is equal to the bit, or traps where it does. Operands keep
    /// their order, but that of a sum or product of two, which makes no difference, is increasing.
    Rounded(Op, Box<[Id]>),
    /// Any other operator of the format.
    Op(Op, Box<[Id]>),
    /// A pure function.
    Call(FunctionId, Box<[Id]>),
    /// A conversion.
    Cast(Dtype, [Id; 1]),
    /// Its child, which may trap where the input does not compute it: needs the inames of [`Context::guard`](crate::context::Context::guard)
    /// around it.
    Guard(GuardId, [Id; 1]),
}

impl Node {
    /// The sum of these terms, normal as to order and equal children.
    #[must_use]
    pub fn sum(terms: impl IntoIterator<Item = (Rational, Id)>) -> Self {
        let (coefficients, children) = merge(terms, |a, b| a.plus(b), Rational::is_zero);
        Self::Sum { coefficients, children }
    }

    /// The product of these powers, normal as to order and equal children.
    #[must_use]
    pub fn product(factors: impl IntoIterator<Item = (i32, Id)>) -> Self {
        let (exponents, children) = merge(factors, |a, b| a.saturating_add(*b), |exponent| *exponent == 0);
        Self::Product { exponents, children }
    }

    /// Coefficients with children of a sum.
    pub fn terms(&self) -> Option<impl ExactSizeIterator<Item = (&Rational, Id)> + Clone> {
        match self {
            Self::Sum { coefficients, children } => Some(coefficients.iter().zip(children.iter().copied())),
            _ => None,
        }
    }

    /// Exponents with children of a product.
    pub fn factors(&self) -> Option<impl ExactSizeIterator<Item = (i32, Id)> + Clone + '_> {
        match self {
            Self::Product { exponents, children } => Some(exponents.iter().copied().zip(children.iter().copied())),
            _ => None,
        }
    }
}

/// Sorts by child, joins the weights of equal children, and drops what became neutral.
fn merge<W: Clone>(
    items: impl IntoIterator<Item = (W, Id)>,
    join: impl Fn(&W, &W) -> W,
    is_neutral: impl Fn(&W) -> bool,
) -> (Arc<[W]>, Arc<[Id]>) {
    let mut items: Vec<(W, Id)> = items.into_iter().collect();
    items.sort_by_key(|(_, child)| *child);
    let mut merged: Vec<(W, Id)> = Vec::with_capacity(items.len());
    for (weight, child) in items {
        match merged.last_mut() {
            Some((last, same)) if *same == child => *last = join(last, &weight),
            _ => merged.push((weight, child)),
        }
    }
    merged.retain(|(weight, _)| !is_neutral(weight));
    let (weights, children): (Vec<W>, Vec<Id>) = merged.into_iter().unzip();
    (weights.into(), children.into())
}

/// What e-nodes have in common that may be congruent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Discriminant {
    /// Leaves and operators with a payload: the node without its children.
    Payload(Node),
    /// Any sum.
    Sum,
    /// Any product.
    Product,
}

impl Language for Node {
    type Discriminant = Discriminant;

    fn discriminant(&self) -> Discriminant {
        match self {
            Self::Number(..) | Self::Iname(_) | Self::Parameter(_) => Discriminant::Payload(self.clone()),
            Self::Access(access, _) => Discriminant::Payload(Self::Access(*access, Box::new([]))),
            Self::Sum { .. } => Discriminant::Sum,
            Self::Product { .. } => Discriminant::Product,
            Self::Reduce(reduction, _) => Discriminant::Payload(Self::Reduce(*reduction, [Id::from(0)])),
            Self::Rounded(op, _) => Discriminant::Payload(Self::Rounded(*op, Box::new([]))),
            Self::Op(op, _) => Discriminant::Payload(Self::Op(*op, Box::new([]))),
            Self::Call(function, _) => Discriminant::Payload(Self::Call(*function, Box::new([]))),
            Self::Cast(dtype, _) => Discriminant::Payload(Self::Cast(*dtype, [Id::from(0)])),
            Self::Guard(insn, _) => Discriminant::Payload(Self::Guard(*insn, [Id::from(0)])),
        }
    }

    fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sum { coefficients: a, .. }, Self::Sum { coefficients: b, .. }) => a == b,
            (Self::Product { exponents: a, .. }, Self::Product { exponents: b, .. }) => a == b,
            _ => self.discriminant() == other.discriminant() && self.children().len() == other.children().len(),
        }
    }

    fn children(&self) -> &[Id] {
        match self {
            Self::Number(..) | Self::Iname(_) | Self::Parameter(_) => &[],
            Self::Sum { children, .. } | Self::Product { children, .. } => children,
            Self::Access(_, children)
            | Self::Rounded(_, children)
            | Self::Op(_, children)
            | Self::Call(_, children) => children,
            Self::Reduce(_, child) | Self::Cast(_, child) | Self::Guard(_, child) => child,
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Self::Number(..) | Self::Iname(_) | Self::Parameter(_) => &mut [],
            Self::Sum { children, .. } | Self::Product { children, .. } => Arc::make_mut(children),
            Self::Access(_, children)
            | Self::Rounded(_, children)
            | Self::Op(_, children)
            | Self::Call(_, children) => children,
            Self::Reduce(_, child) | Self::Cast(_, child) | Self::Guard(_, child) => child,
        }
    }

    fn update_children<F: FnMut(Id) -> Id>(&mut self, mut f: F) {
        if self.children().iter().all(|&child| f(child) == child) {
            return;
        }
        match self {
            Self::Sum { coefficients, children } => {
                let updated: Vec<Id> = children.iter().map(|&child| f(child)).collect();
                let first = updated.iter().min().copied();
                *self = Self::sum(coefficients.iter().cloned().zip(updated));
                if let (Self::Sum { coefficients, children }, Some(first)) = (self, first)
                    && children.is_empty()
                {
                    (*coefficients, *children) = ([Rational::ZERO].into(), [first].into());
                }
            }
            Self::Product { exponents, children } => {
                let updated: Vec<Id> = children.iter().map(|&child| f(child)).collect();
                let first = updated.iter().min().copied();
                *self = Self::product(exponents.iter().copied().zip(updated));
                if let (Self::Product { exponents, children }, Some(first)) = (self, first)
                    && children.is_empty()
                {
                    (*exponents, *children) = ([0].into(), [first].into());
                }
            }
            _ => {
                for child in self.children_mut() {
                    *child = f(*child);
                }
                match self {
                    Self::Rounded(Op::Add | Op::Mul, children) if children.len() == 2 => children.sort_unstable(),
                    Self::Op(Op::Min | Op::Max, children) => {
                        let mut sorted = std::mem::take(children).into_vec();
                        sorted.sort_unstable();
                        sorted.dedup();
                        *children = sorted.into();
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_are_normal_modulo_order() {
        let (a, b) = (Id::from(3), Id::from(5));
        assert_eq!(
            Node::sum([(Rational::ONE, b), (Rational::ONE, a)]),
            Node::sum([(Rational::ONE, a), (Rational::ONE, b)])
        );
        assert_eq!(Node::sum([(Rational::ONE, a), (Rational::ONE, a)]), Node::sum([(Rational::from_int(2), a)]));
        assert_eq!(Node::sum([(Rational::ONE, a), (Rational::MINUS_ONE, a)]), Node::sum([]));
        assert_eq!(Node::product([(1, b), (2, a), (-1, b)]), Node::product([(2, a)]));
    }

    #[test]
    fn canonicalising_children_keeps_nodes_normal() {
        let (a, b) = (Id::from(3), Id::from(5));
        let mut node = Node::sum([(Rational::ONE, a), (Rational::ONE, b)]);
        node.update_children(|_| a);
        assert_eq!(node, Node::sum([(Rational::from_int(2), a)]));
    }

    #[test]
    fn what_cancels_keeps_a_child_for_its_type() {
        let (a, b) = (Id::from(3), Id::from(5));
        let mut node = Node::sum([(Rational::ONE, a), (Rational::MINUS_ONE, b)]);
        node.update_children(|_| a);
        assert_eq!(node, Node::Sum { coefficients: [Rational::ZERO].into(), children: [a].into() });
    }
}
