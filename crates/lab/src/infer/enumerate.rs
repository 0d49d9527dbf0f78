//! Terms in the order of their sizes, and which of them are equal on all data.
//!
//! # Method
//! Terms are built from smaller ones that stand for their like: of terms that are equal on all data only the cheapest is built upon, so what an
//! equation found earlier says is not said again in larger terms. Operands of operators without order are in order.
//! # Source
//! Nandi et al., "Rewrite Rule Inference Using Equality Saturation", OOPSLA 2021: characteristic vectors, and enumeration modulo what
//! is known.

use indexmap::IndexMap;

use super::kernel::{Fingerprint, fingerprints};
use super::term::{Loops, Sort, Term, VARIADIC};
use super::theme::Theme;

/// Sizes of loops at which costs are compared.
pub(super) const SIZES: [usize; 2] = [8, 8];
/// Terms that are run at once.
const N_TOGETHER: usize = 400;

/// What a theme has.
pub(super) struct Found {
    /// Equal terms, the cheaper one second.
    pub(super) equations: Vec<(Term, Term)>,
    /// How many terms were looked at.
    pub(super) n_terms: usize,
    /// Whether the limit was hit.
    pub(super) is_cut: bool,
}

/// Terms that stand for all that are equal to them.
struct Pool {
    by_size: Vec<Vec<Term>>,
    known: IndexMap<Fingerprint, Term>,
}

/// The order of preference among equal terms.
fn rank(term: &Term) -> (usize, usize, &Term) {
    (term.cost(SIZES), term.size(), term)
}

/// All equations of a theme between terms that depend on no loop, among at most so many terms.
pub(super) fn equations(theme: &Theme, max_terms: usize) -> Found {
    let mut pool = Pool { by_size: vec![Vec::new(); theme.max_size + 1], known: IndexMap::new() };
    let mut res = Found { equations: Vec::new(), n_terms: 0, is_cut: false };
    for size in 1..=theme.max_size {
        let mut terms = if size == 1 { leaves(theme) } else { composed(theme, &pool.by_size, size) };
        terms.sort_by(|a, b| rank(a).cmp(&rank(b)));
        terms.dedup();
        if res.n_terms + terms.len() > max_terms {
            terms.truncate(max_terms - res.n_terms);
            res.is_cut = true;
        }
        res.n_terms += terms.len();
        for chunk in terms.chunks(N_TOGETHER) {
            enter(chunk, &mut pool, &mut res.equations);
        }
        if res.is_cut {
            break;
        }
    }
    res
}

fn enter(terms: &[Term], pool: &mut Pool, equations: &mut Vec<(Term, Term)>) {
    // Conditions have no fingerprints: they are only leaves.
    let (values, conditions): (Vec<&Term>, Vec<&Term>) = terms.iter().partition(|term| !is_truth(term));
    for term in conditions {
        pool.by_size[term.size()].push(term.clone());
    }
    let Some(found) = fingerprints(&values) else { return };
    for (term, fingerprint) in values.into_iter().zip(found) {
        // What has no value anywhere is equal to nothing.
        if fingerprint.iter().all(Option::is_none) {
            continue;
        }
        match pool.known.get_mut(&fingerprint) {
            None => {
                pool.by_size[term.size()].push(term.clone());
                pool.known.insert(fingerprint, term.clone());
            }
            Some(known) => {
                let (dear, cheap) = if rank(term) < rank(known) {
                    (std::mem::replace(known, term.clone()), term.clone())
                } else {
                    (term.clone(), known.clone())
                };
                equations.push((dear, cheap));
            }
        }
    }
}

fn is_truth(term: &Term) -> bool {
    matches!(term, Term::Leaf(leaf) if leaf.sort == Sort::Truth)
}

fn leaves(theme: &Theme) -> Vec<Term> {
    let numbers = theme.numbers.iter().map(|&value| Term::Number(value));
    let sizes = theme.loops.each().map(|(one, _)| Term::Size(one));
    theme.leaves.iter().map(|&leaf| Term::Leaf(leaf)).chain(numbers).chain(sizes).collect()
}

/// The terms of a size.
fn composed(theme: &Theme, pool: &[Vec<Term>], size: usize) -> Vec<Term> {
    let mut res = Vec::new();
    let below = size - 1;
    for &operator in theme.operators {
        match operator {
            "square" => {
                let squares = pool[below].iter().filter(|term| !is_truth(term));
                res.extend(squares.map(|term| Term::Apply("**", vec![term.clone(), Term::Number(2)])));
            }
            "if" => tuples(pool, below, 3, &mut |children| {
                if let [condition, a, b] = children
                    && is_truth(condition)
                    && !is_truth(a)
                    && !is_truth(b)
                {
                    res.push(Term::Apply("if", vec![(*condition).clone(), (*a).clone(), (*b).clone()]));
                }
            }),
            "**" => tuples(pool, below, 2, &mut |children| {
                // Powers of numbers of points: what products of equals are.
                if let [base, exponent] = children
                    && matches!(exponent, Term::Size(_))
                    && !matches!(base, Term::Size(_))
                {
                    res.push(Term::Apply("**", vec![(*base).clone(), (*exponent).clone()]));
                }
            }),
            _ if VARIADIC.contains(&operator) => {
                for arity in [2, 3] {
                    tuples(pool, below, arity, &mut |children| {
                        if children.is_sorted() && !children.iter().any(|child| is_truth(child)) {
                            res.push(Term::Apply(operator, children.iter().map(|&child| child.clone()).collect()));
                        }
                    });
                }
            }
            "/" | "pow" => tuples(pool, below, 2, &mut |children| {
                if !children.iter().any(|child| is_truth(child)) {
                    res.push(Term::Apply(operator, children.iter().map(|&child| child.clone()).collect()));
                }
            }),
            _ => {
                let operands = pool[below].iter().filter(|term| !is_truth(term));
                res.extend(operands.map(|term| Term::Apply(operator, vec![term.clone()])));
            }
        }
    }
    for &operator in theme.reductions {
        for own in [Loops::Q, Loops::R, Loops::BOTH].into_iter().filter(|&own| theme.loops.contains(own)) {
            let bodies = pool[below].iter().filter(|term| !is_truth(term) && !term.bound().meets(own));
            res.extend(bodies.map(|term| Term::Reduce(operator, own, Box::new(term.clone()))));
        }
    }
    res
}

/// All tuples of terms whose sizes add up to `size`.
fn tuples<'p>(pool: &'p [Vec<Term>], size: usize, arity: usize, found: &mut impl FnMut(&[&'p Term])) {
    fn further<'p>(
        pool: &'p [Vec<Term>],
        (size, arity): (usize, usize),
        so_far: &mut Vec<&'p Term>,
        found: &mut impl FnMut(&[&'p Term]),
    ) {
        if arity == 0 {
            if size == 0 {
                found(so_far);
            }
            return;
        }
        for own in 1..=size.saturating_sub(arity - 1) {
            for term in pool.get(own).into_iter().flatten() {
                so_far.push(term);
                further(pool, (size - own, arity - 1), so_far, found);
                so_far.pop();
            }
        }
    }
    further(pool, (size, arity), &mut Vec::new(), found);
}
