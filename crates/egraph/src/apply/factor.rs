//! Common factors of the terms of a sum: `a*c + b*c == c*(a + b)`, for values and for numbers alike.
//!
//! # Method
//! A sum as it was encoded is taken as a flat list of monomials, a number times powers of values: inner sums and products with no other user are
//! taken apart (what has others is computed anyway), numbers are gathered from products where that is exact. From an occurrence table (which power, which magnitude of the
//! number, in how many terms) the most profitable factors are each taken out first, and after it greedily the most profitable of what is left, inside
//! the new factor and beside it, until no factor is common; each of these is one form of the sum. What a factor saves is
//! weighted by the points at which its multiplications run: one that no iname changes saves nothing at inner points if what it multiplies does not either.
//! # Complexity
//! Terms squared times factors for each first factor, at most `factors` of them; sums of more than `terms` terms are left alone.
//! # Not done
//! Factors that are sums themselves and stand in expanded form elsewhere; products are never distributed.
//! Source: Hosangadi, Fallah and Kastner, "Optimizing polynomial expressions by algebraic factorization and common subexpression
//! elimination", IEEE TCAD 2006 (occurrence tables); `DESIGN.md`, "Rules".

use std::collections::BTreeMap;

use egg::Id;
use nestegg_ir::InameSet;

use super::Pass;
use super::linear::Origin;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// The number of values that an iname is taken to have where it is not known.
const USUAL_EXTENT: u128 = 64;

/// A number times powers of values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Monomial {
    number: Rational,
    powers: BTreeMap<Id, i32>,
}

/// What several monomials have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    /// A value, or its reciprocal.
    Value(Id, i32),
    /// A number, up to its sign.
    Number(Rational),
}

/// `a·c + b·c == c·(a + b)`.
pub fn common_factor(pass: &mut Pass<'_>) {
    let (max_terms, max_factors) = (pass.limit("terms"), pass.limit("factors"));
    let origin = Origin::new(pass);
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let is_sum = matches!(origin.node(pass, class), Some(Node::Sum { children, .. }) if children.len() > 1);
        if !is_sum || Kind::of(pass.graph[class].data.dtype) != Kind::Float {
            continue;
        }
        let Some(monomials) = flat(pass, &origin, class, max_terms) else {
            pass.limits_hit.insert("terms".into());
            continue;
        };
        let mut first = gains(pass, &monomials);
        first.truncate(max_factors);
        for (_, factor) in first {
            let form = factorised(pass, monomials.clone(), Some(factor));
            pass.equate(class, form);
        }
    }
}

/// The monomials of a sum; `None` if there are too many.
fn flat(pass: &Pass<'_>, origin: &Origin, class: Id, max_terms: usize) -> Option<Vec<Monomial>> {
    let root = pass.graph.find(class);
    let mut res = Vec::new();
    let mut pending = vec![(Rational::ONE, root)];
    while let Some((number, id)) = pending.pop() {
        if res.len() + pending.len() > max_terms {
            return None;
        }
        match origin.node(pass, id) {
            Some(Node::Sum { coefficients, children }) if id == root || is_own(pass, id) => {
                if children.contains(&root) {
                    return None;
                }
                pending
                    .extend(coefficients.iter().zip(children.iter()).rev().map(|(c, &child)| (number.times(c), child)));
            }
            _ => res.push(monomial(pass, origin, number, id)),
        }
    }
    Some(res)
}

/// Whether a value has at most one user: it is then not computed for its own sake.
fn is_own(pass: &Pass<'_>, id: Id) -> bool {
    pass.uses.get(&id).is_none_or(|&uses| uses == 1)
}

/// A multiple of a value as a monomial.
fn monomial(pass: &Pass<'_>, origin: &Origin, number: Rational, id: Id) -> Monomial {
    let mut res = Monomial { number, powers: BTreeMap::new() };
    let mut pending = vec![(1_i32, id)];
    while let Some((exponent, id)) = pending.pop() {
        let folded = |number: &Rational, factor: &Rational| {
            Some(number.times(&factor.power(exponent)?)).filter(|product| product.to_exact_f64().is_some())
        };
        if let Some(value) = &pass.graph[id].data.constant
            && let Some(product) = folded(&res.number, value)
        {
            res.number = product;
            continue;
        }
        match origin.node(pass, id) {
            Some(Node::Sum { coefficients, children }) if children.len() == 1 && is_own(pass, id) => {
                if let Some(product) = folded(&res.number, &coefficients[0]) {
                    res.number = product;
                    pending.push((exponent, children[0]));
                    continue;
                }
            }
            Some(Node::Product { exponents, children }) if is_own(pass, id) => {
                pending.extend(
                    exponents.iter().zip(children.iter()).map(|(e, &child)| (e.saturating_mul(exponent), child)),
                );
                continue;
            }
            _ => {}
        }
        let power = res.powers.entry(id).or_insert(0);
        *power = power.saturating_add(exponent);
    }
    res.powers.retain(|_, power| *power != 0);
    res
}

/// The factors that are worth taking out, best first.
fn gains(pass: &Pass<'_>, monomials: &[Monomial]) -> Vec<(u128, Factor)> {
    let mut found: BTreeMap<Factor, Vec<&Monomial>> = BTreeMap::new();
    for monomial in monomials {
        for (&id, &power) in &monomial.powers {
            found.entry(Factor::Value(id, power.signum())).or_default().push(monomial);
        }
        let magnitude = monomial.number.abs();
        if !magnitude.is_one() && !monomial.powers.is_empty() {
            found.entry(Factor::Number(magnitude)).or_default().push(monomial);
        }
    }
    let mut res: Vec<(u128, Factor)> = Vec::new();
    for (factor, of) in found.into_iter().filter(|(_, of)| of.len() > 1) {
        let mut union = InameSet::new();
        let mut before = 0_u128;
        for monomial in &of {
            let inames = inames(pass, monomial);
            // A monomial that is the factor itself has no multiplication.
            let is_alone = matches!(factor, Factor::Value(..)) && n_factors(monomial) == 1;
            if !is_alone {
                before = before.saturating_add(points(pass, &inames));
            }
            union = union.union(&inames);
        }
        let gain = before.saturating_sub(points(pass, &union));
        if gain > 0 {
            res.push((gain, factor));
        }
    }
    res.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    res
}

fn n_factors(monomial: &Monomial) -> u32 {
    let powers: u32 = monomial.powers.values().map(|power| power.unsigned_abs()).sum();
    powers + u32::from(!monomial.number.is_unit())
}

fn inames(pass: &Pass<'_>, monomial: &Monomial) -> InameSet {
    monomial.powers.keys().fold(InameSet::new(), |all, &id| all.union(&pass.graph[id].data.inames))
}

fn points(pass: &Pass<'_>, inames: &InameSet) -> u128 {
    let extent = |iname| pass.graph.analysis.context.extent(iname).and_then(|extent| u128::try_from(extent).ok());
    inames.iter().fold(1, |all: u128, iname| all.saturating_mul(extent(iname).unwrap_or(USUAL_EXTENT)))
}

/// A sum of monomials with common factors taken out, a given one first.
fn factorised(pass: &mut Pass<'_>, monomials: Vec<Monomial>, first: Option<Factor>) -> Id {
    let mut done: Vec<Monomial> = Vec::new();
    // What is to be added up, and the factor to begin with; the innermost last.
    let mut open: Vec<(Vec<Monomial>, Option<Factor>, Option<Factor>)> = vec![(monomials, first, None)];
    loop {
        let Some((mut monomials, first, taken)) = open.pop() else {
            unreachable!("the outermost sum ends the loop");
        };
        monomials.append(&mut done);
        let factor = first.or_else(|| gains(pass, &monomials).into_iter().next().map(|(_, factor)| factor));
        if let Some(factor) = factor {
            let (inside, outside): (Vec<Monomial>, Vec<Monomial>) =
                monomials.into_iter().partition(|monomial| contains(monomial, &factor));
            let inside = inside.into_iter().map(|monomial| without(monomial, &factor)).collect();
            open.push((outside, None, taken));
            open.push((inside, None, Some(factor)));
            continue;
        }
        let terms: Vec<(Rational, Id)> = monomials
            .into_iter()
            .map(|monomial| {
                let factors = monomial.powers.into_iter().map(|(id, power)| (power, id));
                (monomial.number, build::product(pass.graph, factors))
            })
            .collect();
        let sum = build::sum(pass.graph, terms);
        let Some(factor) = taken else { return sum };
        let mut monomial = Monomial { number: Rational::ONE, powers: BTreeMap::from([(sum, 1)]) };
        match factor {
            Factor::Value(id, power) => *monomial.powers.entry(id).or_insert(0) += power,
            Factor::Number(number) => monomial.number = number,
        }
        monomial.powers.retain(|_, power| *power != 0);
        done.push(monomial);
    }
}

fn contains(monomial: &Monomial, factor: &Factor) -> bool {
    match factor {
        Factor::Value(id, sign) => monomial.powers.get(id).is_some_and(|power| power.signum() == *sign),
        Factor::Number(number) => monomial.number.abs() == *number && !monomial.powers.is_empty(),
    }
}

fn without(mut monomial: Monomial, factor: &Factor) -> Monomial {
    match factor {
        Factor::Value(id, sign) => {
            *monomial.powers.entry(*id).or_insert(0) -= sign;
            monomial.powers.retain(|_, power| *power != 0);
        }
        Factor::Number(_) => {
            monomial.number = if monomial.number.is_negative() { Rational::MINUS_ONE } else { Rational::ONE };
        }
    }
    monomial
}
