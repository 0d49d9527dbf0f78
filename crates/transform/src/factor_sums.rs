//! Sums of products are factored: products that were multiplied out are products of sums again.
//!
//! # Output
//! `a*x*w + b*x*w + a*y*w + b*y*w` becomes `(a + b)*((x + y)*w)`: each sum is written with as few operations as the method finds.
//! # Method
//! A sum is a polynomial in *atoms*, expressions that are no sums or products. Where the factors that two terms have in common are a *co-kernel*, what it is multiplied with in all
//! terms is a *kernel*. The kernel whose division saves most operations becomes an atom, and so on until nothing is saved; kernels are factored themselves.
//! # Legality
//! Distributivity of real numbers; nothing is divided by but what was multiplied. Literals are atoms, so that no number is rounded.
//! # Complexity
//! For each sum the cube of its terms, of which there are at most [`MAX_TERMS`], for each kernel.
//! # Not done
//! Kernels in which a term stands twice are taken whole: the square of a sum is not found again. Neither are factors that need a cancellation.
//! Source: Brayton and McMullen, "The decomposition and factorization of Boolean expressions", ISCAS 1982; Hosangadi, Fallah and Kastner, "Optimizing polynomial
//! expressions by algebraic factorization and common subexpression elimination", IEEE TCAD 2006.

use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::read_once;
use nestegg_ir::{Expr, ExprId, Exprs, LinearizedKernel, Number, Op};
use rustc_hash::FxHashSet;

/// Sums of more terms stay as they are.
const MAX_TERMS: usize = 96;

/// Terms of more factors are atoms.
const MAX_FACTORS: usize = 32;

/// A kernel in value form with its sums factored; `None` if no sum takes fewer operations so.
#[must_use]
pub fn factor_sums(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    if linearized.kernel.has_single() {
        return None;
    }
    let LinearizedKernel { mut kernel, linearization } = linearized.clone();
    let types = Types::infer(&kernel);
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let inner = inner(&kernel.exprs, &roots);
    let (mut open, mut shared) = (FxHashSet::default(), FxHashSet::default());
    let mut is_factored = false;
    let rewritten = kernel.exprs.rewrite(roots, |exprs, old, expr| {
        let is_sum = matches!(expr, Expr::Op { op: Op::Add | Op::Sub, .. });
        if is_sum && types.of(old) == Type::Float64 && !inner.contains(&old) {
            let polynomial = polynomial(exprs, &expr, &open);
            if let Some(factored) = polynomial.and_then(|terms| factored(exprs, terms)) {
                is_factored = true;
                return factored;
            }
        }
        let new = exprs.intern(expr);
        // What several expressions became is taken apart for none of them.
        if inner.contains(&old) && !shared.contains(&new) {
            open.insert(new);
        } else {
            open.remove(&new);
            shared.insert(new);
        }
        new
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    is_factored.then_some(LinearizedKernel { kernel, linearization })
}

/// Sums that one other sum reads, and nothing else.
fn inner(exprs: &Exprs, roots: &[ExprId]) -> FxHashSet<ExprId> {
    let is_sum = |id: &ExprId| matches!(exprs[*id], Expr::Op { op: Op::Add | Op::Sub | Op::Neg, .. });
    let sums = exprs.reachable(roots.iter().copied()).into_iter().filter(is_sum);
    let in_sums: FxHashSet<ExprId> = sums.flat_map(|id| exprs[id].children()).copied().filter(is_sum).collect();
    let once = read_once(exprs, roots);
    in_sums.into_iter().filter(|id| once.contains(id)).collect()
}

/// A product of atoms, in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    is_negative: bool,
    factors: Vec<ExprId>,
}

impl Term {
    /// Without the factors of a divisor; `None` if it has not all of them.
    fn divided(&self, divisor: &[ExprId]) -> Option<Vec<ExprId>> {
        let mut rest = Vec::with_capacity(self.factors.len());
        let mut left = divisor;
        for &factor in &self.factors {
            match left.first() {
                Some(&next) if next == factor => left = &left[1..],
                Some(&next) if next < factor => return None,
                _ => rest.push(factor),
            }
        }
        left.is_empty().then_some(rest)
    }
}

/// The factors that two products have in common.
fn common(a: &[ExprId], b: &[ExprId]) -> Vec<ExprId> {
    let (mut at, mut res) = (0, Vec::new());
    for &factor in a {
        while at < b.len() && b[at] < factor {
            at += 1;
        }
        if b.get(at) == Some(&factor) {
            res.push(factor);
            at += 1;
        }
    }
    res
}

/// The terms of a sum; `None` if there are too many.
fn polynomial(exprs: &Exprs, sum: &Expr, open: &FxHashSet<ExprId>) -> Option<Vec<Term>> {
    let mut res = Vec::new();
    let mut pending: Vec<(bool, ExprId)> = Vec::new();
    let push = |pending: &mut Vec<(bool, ExprId)>, expr: &Expr, sign: bool| match expr {
        Expr::Op { op: Op::Sub, operands } => pending.extend([(!sign, operands[1]), (sign, operands[0])]),
        Expr::Op { op: Op::Neg, operands } => pending.push((!sign, operands[0])),
        expr => pending.extend(expr.children().iter().rev().map(|&term| (sign, term))),
    };
    push(&mut pending, sum, false);
    while let Some((sign, id)) = pending.pop() {
        match &exprs[id] {
            expr @ Expr::Op { op: Op::Add | Op::Sub | Op::Neg, .. } if open.contains(&id) => {
                push(&mut pending, expr, sign)
            }
            _ => res.push(term(exprs, id, sign)),
        }
        if res.len() + pending.len() > MAX_TERMS {
            return None;
        }
    }
    Some(res)
}

fn term(exprs: &Exprs, id: ExprId, mut is_negative: bool) -> Term {
    let (mut factors, mut pending, sign) = (Vec::new(), vec![id], is_negative);
    while let Some(id) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::Mul, operands } => pending.extend(operands.iter()),
            Expr::Op { op: Op::Neg, operands } => {
                is_negative = !is_negative;
                pending.push(operands[0]);
            }
            Expr::Number(Number::Float(value)) if value.get().abs() == 1.0 => is_negative ^= value.get() < 0.0,
            _ => factors.push(id),
        }
        if factors.len() + pending.len() > MAX_FACTORS {
            return Term { is_negative: sign, factors: vec![id] };
        }
    }
    factors.sort_unstable();
    Term { is_negative, factors }
}

/// Operations of a sum of products.
fn cost(terms: &[Term]) -> usize {
    terms.len().saturating_sub(1) + terms.iter().map(|term| term.factors.len().saturating_sub(1)).sum::<usize>()
}

/// Polynomials whose product, and the rest, are a polynomial.
struct Division {
    kernel: Vec<Term>,
    quotient: Vec<Term>,
    /// For each term whether it is covered.
    is_covered: Vec<bool>,
}

/// The expression of a polynomial in fewer operations; `None` if there is none.
fn factored(exprs: &mut Exprs, mut terms: Vec<Term>) -> Option<ExprId> {
    let mut is_factored = false;
    while let Some(Division { kernel, quotient, is_covered }) = best(&terms) {
        is_factored = true;
        let atom = expression(exprs, kernel);
        let first = is_covered.iter().position(|&is_covered| is_covered).unwrap_or(0);
        let mut rest = Vec::with_capacity(terms.len());
        for (at, term) in terms.into_iter().enumerate() {
            if at == first {
                rest.extend(quotient.iter().map(|term| {
                    let mut factors = term.factors.clone();
                    factors.insert(factors.partition_point(|&factor| factor < atom), atom);
                    Term { factors, ..*term }
                }));
            }
            if !is_covered[at] {
                rest.push(term);
            }
        }
        terms = rest;
    }
    is_factored.then(|| written(exprs, &terms))
}

fn expression(exprs: &mut Exprs, terms: Vec<Term>) -> ExprId {
    let plain = terms.clone();
    factored(exprs, terms).unwrap_or_else(|| written(exprs, &plain))
}

fn written(exprs: &mut Exprs, terms: &[Term]) -> ExprId {
    let mut all = Vec::with_capacity(terms.len());
    for Term { is_negative, factors } in terms {
        let product = match factors.as_slice() {
            [] => exprs.intern(Expr::Number(Number::Int(1))),
            [factor] => *factor,
            _ => exprs.op(Op::Mul, factors.as_slice()),
        };
        all.push(if *is_negative { exprs.op(Op::Neg, [product]) } else { product });
    }
    if let [single] = all[..] { single } else { exprs.op(Op::Add, all) }
}

/// The division that saves most operations, of equals the first.
fn best(terms: &[Term]) -> Option<Division> {
    let mut known: FxHashSet<Vec<ExprId>> = FxHashSet::default();
    let mut best: Option<(usize, Division)> = None;
    for (at, term) in terms.iter().enumerate() {
        for other in &terms[at + 1..] {
            let co_kernel = common(&term.factors, &other.factors);
            if co_kernel.is_empty() || !known.insert(co_kernel.clone()) {
                continue;
            }
            let division = divided(terms, &co_kernel);
            let covered: Vec<Term> =
                terms.iter().zip(&division.is_covered).filter(|(_, is)| **is).map(|(term, _)| term.clone()).collect();
            // A product of sums, or one sum times a product.
            let n_products = division.quotient.iter().map(|term| usize::from(!term.factors.is_empty())).max();
            let after = cost(&division.kernel) + cost(&division.quotient) + n_products.unwrap_or(0);
            let saved = cost(&covered).saturating_sub(after);
            if saved > best.as_ref().map_or(0, |best| best.0) {
                best = Some((saved, division));
            }
        }
    }
    best.map(|best| best.1)
}

/// The kernel of a co-kernel, and what it divides.
fn divided(terms: &[Term], co_kernel: &[ExprId]) -> Division {
    let mut kernel: Vec<Term> = terms
        .iter()
        .filter_map(|term| Some(Term { factors: term.divided(co_kernel)?, is_negative: term.is_negative }))
        .collect();
    if kernel[0].is_negative {
        kernel.iter_mut().for_each(|term| term.is_negative = !term.is_negative);
    }
    // The quotient by the first term of the kernel, as far as it is that of the others.
    let mut is_covered = vec![false; terms.len()];
    let mut quotient: Vec<Term> = Vec::new();
    for term in terms {
        let Some(factors) = term.divided(&kernel[0].factors) else { continue };
        let candidate = Term { factors, is_negative: term.is_negative };
        let mut covers = Vec::with_capacity(kernel.len());
        for part in &kernel {
            let mut factors: Vec<ExprId> = candidate.factors.iter().chain(&part.factors).copied().collect();
            factors.sort_unstable();
            let product = Term { factors, is_negative: candidate.is_negative ^ part.is_negative };
            let free = |&at: &usize| terms[at] == product && !is_covered[at] && !covers.contains(&at);
            match (0..terms.len()).find(free) {
                Some(at) => covers.push(at),
                None => break,
            }
        }
        if covers.len() == kernel.len() {
            covers.into_iter().for_each(|at| is_covered[at] = true);
            quotient.push(candidate);
        }
    }
    Division { kernel, quotient, is_covered }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product of letters, with a sign.
    fn parsed(text: &str) -> Term {
        let mut factors: Vec<ExprId> =
            text.bytes().filter(u8::is_ascii_lowercase).map(|letter| ExprId::new(usize::from(letter - b'a'))).collect();
        factors.sort_unstable();
        Term { is_negative: text.starts_with('-'), factors }
    }

    fn letters() -> Exprs {
        let mut exprs = Exprs::new();
        for idx in 0..26 {
            exprs.iname(nestegg_ir::InameId::new(idx));
        }
        exprs
    }

    fn printed(exprs: &Exprs, id: ExprId) -> String {
        let all = |operands: &[ExprId], by: &str| {
            operands.iter().map(|&operand| printed(exprs, operand)).collect::<Vec<_>>().join(by)
        };
        match &exprs[id] {
            Expr::Iname(iname) => char::from(b'a' + iname.index() as u8).to_string(),
            Expr::Op { op: Op::Add, operands } => format!("({})", all(operands, " + ")),
            Expr::Op { op: Op::Mul, operands } => all(operands, "*"),
            Expr::Op { op: Op::Neg, operands } => format!("-{}", printed(exprs, operands[0])),
            other => format!("{other:?}"),
        }
    }

    fn factors_of(terms: &[&str]) -> Option<String> {
        let mut exprs = letters();
        let found = factored(&mut exprs, terms.iter().map(|term| parsed(term)).collect())?;
        Some(printed(&exprs, found))
    }

    #[test]
    fn products_of_sums_are_found_again() {
        assert_eq!(factors_of(&["axw", "bxw", "ayw", "byw"]).unwrap(), "w*(a + b)*(x + y)");
        assert_eq!(factors_of(&["ax", "-bx", "-ay", "by"]).unwrap(), "(a + -b)*(x + -y)");
        assert_eq!(factors_of(&["aw", "bw", "c"]).unwrap(), "(w*(a + b) + c)");
    }

    #[test]
    fn a_square_beside_another_term() {
        assert_eq!(factors_of(&["ax", "ay", "bx", "by", "cz"]).unwrap(), "((x + y)*(a + b) + c*z)");
    }

    #[test]
    fn nothing_in_common_stays() {
        assert_eq!(factors_of(&["ab", "cd"]), None);
        assert_eq!(factors_of(&["a", "b"]), None);
    }
}
