//! Constructors of sums and products in normal form.
//!
//! What they keep to, so that equal values meet without rules: constants are gathered where the result is exact; a
//! negated operand gives its sign to the coefficient, and even powers have none; a coefficient other than ±1 in a sum of several terms is a
//! class of its own (so `2·x` is shared by all sums that need it), positive; the neutral cases are no node at all.

use egg::Id;
use nestegg_ir::Op;
use nestegg_ir::types::Type;

use crate::analysis::{Graph, fits};
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// The class of a constant; what is not whole is a float.
pub fn number(graph: &mut Graph, value: Rational, kind: Kind) -> Id {
    let kind = if value.to_int().is_some() { kind } else { Kind::Float };
    graph.add(Node::Number(value, kind))
}

/// The class of `Σ coefficient·class`; of no terms at all it is the integer 0.
pub fn sum(graph: &mut Graph, terms: impl IntoIterator<Item = (Rational, Id)>) -> Id {
    let mut constant = Rational::ZERO;
    let terms: Vec<(Rational, Id)> = terms.into_iter().collect();
    let ty = terms.iter().map(|(_, class)| graph[*class].data.dtype).fold(Type::WeakInt, Type::join);
    let kind = Kind::of(ty);
    let mut variable: Vec<(Rational, Id)> = Vec::new();
    let mut inexact: Vec<(Rational, Id)> = Vec::new();
    for (coefficient, class) in terms {
        let class = graph.find(class);
        match &graph[class].data.constant {
            Some(value) => {
                let next = constant.plus(&coefficient.times(value));
                if next.to_exact_f64().is_some() && fits(&next, ty) {
                    constant = next;
                } else {
                    inexact.push((coefficient, class));
                }
            }
            None => {
                // What is negative gives its sign to the coefficient.
                let (factor, class) = unscaled(graph, class, |factor| {
                    factor.is_unit() || factor.is_negative() && coefficient.times(factor).to_exact_f64().is_some()
                });
                variable.push((coefficient.times(&factor), class));
            }
        }
    }
    let Node::Sum { coefficients, children } = Node::sum(variable) else { unreachable!("`Node::sum` makes sums") };
    let variable: Vec<(Rational, Id)> = coefficients.iter().cloned().zip(children.iter().copied()).collect();
    match variable.as_slice() {
        [] if inexact.is_empty() => return number(graph, constant, kind),
        [(coefficient, class)] if inexact.is_empty() && constant.is_zero() => {
            return scale(graph, coefficient.clone(), *class);
        }
        _ => {}
    }
    let mut parts: Vec<(Rational, Id)> = Vec::with_capacity(variable.len() + 1);
    for (coefficient, class) in variable.into_iter().chain(inexact) {
        if coefficient.is_unit() {
            parts.push((coefficient, class));
        } else {
            let sign = if coefficient.is_negative() { Rational::MINUS_ONE } else { Rational::ONE };
            parts.push((sign, scale(graph, coefficient.abs(), class)));
        }
    }
    if !constant.is_zero() {
        let sign = if constant.is_negative() { Rational::MINUS_ONE } else { Rational::ONE };
        parts.push((sign, number(graph, constant.abs(), kind)));
    }
    graph.add(Node::sum(parts))
}

/// The class of `factor·class`.
pub fn scale(graph: &mut Graph, factor: Rational, class: Id) -> Id {
    let kind = Kind::of(graph[class].data.dtype);
    if factor.is_zero() || factor.is_one() {
        return if factor.is_zero() { number(graph, Rational::ZERO, kind) } else { class };
    }
    if let Some(value) = &graph[class].data.constant {
        let product = factor.times(value);
        if product.to_exact_f64().is_some() {
            return number(graph, product, kind);
        }
    }
    // A factor on a factor joins it where that is exact.
    let (inner, base) = unscaled(graph, class, |inner| factor.times(inner).to_exact_f64().is_some());
    let factor = factor.times(&inner);
    if factor.is_one() { base } else { graph.add(Node::sum([(factor, base)])) }
}

/// Whether algebra of real numbers would round the operation in another way.
#[must_use]
pub fn is_rounded(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div | Op::Pow | Op::Min | Op::Max)
}

/// The class of an operation of floats that is to be rounded as it is. Sums and products are of two: those of more are evaluated
/// from the left, and what they begin with may be shared.
///
/// # Panics
/// If there is no operand.
pub fn rounded(graph: &mut Graph, op: Op, operands: &[Id]) -> Id {
    if !matches!(op, Op::Add | Op::Mul) {
        return graph.add(Node::Rounded(op, operands.into()));
    }
    let join = |a: Id, b: Id| graph.add(Node::Rounded(op, if a <= b { [a, b].into() } else { [b, a].into() }));
    operands.iter().copied().reduce(join).expect("sums and products have operands")
}

/// The class of `Π class^exponent`.
pub fn product(graph: &mut Graph, factors: impl IntoIterator<Item = (i32, Id)>) -> Id {
    let factors: Vec<(i32, Id)> = factors.into_iter().collect();
    let ty = factors.iter().map(|(_, class)| graph[*class].data.dtype).fold(Type::WeakInt, Type::join);
    let is_quotient = factors.iter().any(|(exponent, _)| *exponent < 0);
    let kind = if is_quotient { Kind::Float } else { Kind::of(ty) };
    let mut constant = Rational::ONE;
    let mut rest: Vec<(i32, Id)> = Vec::new();
    for (exponent, class) in factors {
        let class = graph.find(class);
        let folded = graph[class].data.constant.as_ref().and_then(|value| {
            let next = constant.times(&value.power(exponent)?);
            (next.to_exact_f64().is_some() && (kind == Kind::Float || fits(&next, ty))).then_some(next)
        });
        if let Some(folded) = folded {
            constant = folded;
            continue;
        }
        let (sign, class) = signed(graph, class);
        if sign.is_negative() && exponent % 2 != 0 {
            constant = constant.negated();
        }
        let class = if exponent % 2 == 0 { either_sign(graph, class) } else { class };
        rest.push((exponent, class));
    }
    if constant.is_zero() {
        return number(graph, constant, kind);
    }
    let Node::Product { exponents, children } = Node::product(rest) else {
        unreachable!("`Node::product` makes products")
    };
    let mut rest: Vec<(i32, Id)> = exponents.iter().copied().zip(children.iter().copied()).collect();
    let (sign, magnitude) = (if constant.is_negative() { Rational::MINUS_ONE } else { Rational::ONE }, constant.abs());
    match rest.as_slice() {
        [] => return number(graph, constant, kind),
        [(1, class)] => return scale(graph, constant, *class),
        _ if magnitude.is_one() => {}
        _ => {
            let magnitude = number(graph, magnitude, kind);
            rest.push((1, magnitude));
        }
    }
    let product = graph.add(Node::product(rest));
    scale(graph, sign, product)
}

/// A sum or its negation, whichever the e-graph has known longer: even powers of both are equal.
#[must_use]
pub fn either_sign(graph: &Graph, class: Id) -> Id {
    let negated = |node: &Node| {
        let terms = node.terms().filter(|terms| terms.len() > 1)?;
        let negated = Node::sum(terms.map(|(coefficient, child)| (coefficient.negated(), child)));
        Some(graph.find(graph.lookup(negated)?))
    };
    graph[class].nodes.iter().filter_map(negated).min().map_or(class, |negated| negated.min(class))
}

/// `class` as a sign times another class: what is multiplied with a negative number is the negation of another multiple.
fn signed(graph: &mut Graph, class: Id) -> (Rational, Id) {
    let (factor, base) = unscaled(graph, class, |factor| factor.is_unit() || factor.is_negative());
    if factor.is_unit() {
        return (factor, base);
    }
    (Rational::MINUS_ONE, scale(graph, factor.abs(), base))
}

/// `class` as an accepted factor times another class: (1, itself) if it is no such multiple.
pub fn unscaled(graph: &Graph, class: Id, accept: impl Fn(&Rational) -> bool) -> (Rational, Id) {
    graph[class]
        .nodes
        .iter()
        .find_map(|node| match node {
            Node::Sum { coefficients, children } if children.len() == 1 && accept(&coefficients[0]) => {
                Some((coefficients[0].clone(), graph.find(children[0])))
            }
            _ => None,
        })
        .unwrap_or((Rational::ONE, class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Facts;
    use nestegg_ir::InameId;

    fn graph() -> (Graph, Id, Id) {
        let mut graph = Graph::new(Facts::default());
        let x = graph.add(Node::Iname(InameId::new(0)));
        let y = graph.add(Node::Iname(InameId::new(1)));
        (graph, x, y)
    }

    #[test]
    fn differences_meet_their_negation() {
        let (mut graph, x, y) = graph();
        let a = sum(&mut graph, [(Rational::ONE, x), (Rational::MINUS_ONE, y)]);
        let minus_y = scale(&mut graph, Rational::MINUS_ONE, y);
        let b = sum(&mut graph, [(Rational::ONE, minus_y), (Rational::ONE, x)]);
        assert_eq!(a, b);
    }

    #[test]
    fn multiples_meet_their_negation() {
        let (mut graph, x, y) = graph();
        let third = |graph: &mut Graph, sign: f64| scale(graph, Rational::from_f64(sign * 0.3).unwrap(), x);
        let (plus, minus) = (third(&mut graph, 1.0), third(&mut graph, -1.0));
        let a = sum(&mut graph, [(Rational::MINUS_ONE, plus), (Rational::ONE, y)]);
        let b = sum(&mut graph, [(Rational::ONE, minus), (Rational::ONE, y)]);
        assert_eq!(a, b);
        let a = product(&mut graph, [(1, plus), (1, y)]);
        let a = scale(&mut graph, Rational::MINUS_ONE, a);
        let b = product(&mut graph, [(1, minus), (1, y)]);
        assert_eq!(a, b);
    }

    #[test]
    fn constants_fold_only_where_exact() {
        let (mut graph, x, _) = graph();
        let tenth = number(&mut graph, Rational::from_f64(0.1).unwrap(), Kind::Float);
        let half = number(&mut graph, Rational::from_f64(0.5).unwrap(), Kind::Float);
        let a = product(&mut graph, [(1, half), (1, tenth), (1, x)]);
        let b = scale(&mut graph, Rational::from_f64(0.05).unwrap(), x);
        assert_eq!(a, b, "halving a double is exact");
        let c = product(&mut graph, [(1, tenth), (1, tenth), (1, x)]);
        assert_eq!(graph[c].nodes[0].factors().unwrap().len(), 2, "0.1 · 0.1 is no double");
    }

    #[test]
    fn signs_leave_products() {
        let (mut graph, x, y) = graph();
        let minus_x = scale(&mut graph, Rational::MINUS_ONE, x);
        let minus_y = scale(&mut graph, Rational::MINUS_ONE, y);
        let a = product(&mut graph, [(1, minus_x), (1, minus_y)]);
        let b = product(&mut graph, [(1, x), (1, y)]);
        assert_eq!(a, b);
    }
}
