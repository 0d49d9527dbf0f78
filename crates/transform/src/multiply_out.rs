//! Products of sums are multiplied out where elements of tables are in them.
//!
//! # Output
//! What a reduction adds up, or a store stores, is a sum of products: `(a*T[q, j] + b*U[q, j])*V[q, k]` becomes `a*T[q, j]*V[q, k] + b*U[q, j]*V[q, k]`. Sums in which no
//! iname is stay as they are: they are computed once. In straight-line code, numbers are the elements of tables.
//! # Why
//! Each term has the zeros of its own tables, and an order of its own in which it is contracted.
//! # Legality
//! Distributivity of real numbers.
//! # Complexity
//! Linear in the terms. Each term of a sum is multiplied out by itself, unless it would become more than [`MAX_TERMS`].

use indexmap::IndexMap;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::{Expr, ExprId, Exprs, InstructionKind, LinearizedKernel, Number, Op, ReduceOp};

/// A term that would become more stays as it is.
const MAX_TERMS: usize = 64;

/// A sum that would have more terms is not multiplied out.
const MAX_TERMS_IN_ALL: usize = 1024;

/// What becomes of terms that a sum has several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualTerms {
    /// `x + x` stays: each may have factors in common with terms of its own.
    Kept,
    /// `x + x` is `2*x`.
    Gathered,
}

/// Which sums are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Those in which inames are.
    WithInames,
    /// Those in which numbers are, too, but for ±1: in unrolled code, where they were elements of tables.
    WithNumbers,
}

/// A term: its sign and its factors.
type Term = (bool, Vec<ExprId>);

/// A kernel in value form with its products multiplied out; `None` if there are none.
#[must_use]
pub fn multiply_out(
    linearized: &LinearizedKernel,
    equal_terms: EqualTerms,
    opened: Opened,
) -> Option<LinearizedKernel> {
    if linearized.kernel.has_single() {
        return None;
    }
    let LinearizedKernel { mut kernel, linearization } = linearized.clone();
    let types = Types::infer(&kernel);
    let (mut is_changed, mut is_opened) = (false, Vec::new());
    let mut out = |exprs: &mut Exprs, id: ExprId| {
        note_opened(exprs, opened, &mut is_opened);
        let out = multiplied_out(exprs, (&is_opened, equal_terms), id);
        is_changed |= out.is_some();
        out.unwrap_or(id)
    };
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let rewritten = kernel.exprs.rewrite(roots, |exprs, old, expr| match expr {
        Expr::Reduce { op: ReduceOp::Sum, inames, body } if types.of(old) == Type::Float64 => {
            let body = out(exprs, body);
            exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body })
        }
        expr => exprs.intern(expr),
    });
    for instruction in &mut kernel.instructions {
        instruction.map_expressions(|id| rewritten.get(id));
        if let InstructionKind::Assignment { assignee, expression } = &mut instruction.kind
            && kernel.arrays[assignee.array.index()].dtype.is_float()
        {
            *expression = out(&mut kernel.exprs, *expression);
        }
    }
    is_changed.then_some(LinearizedKernel { kernel, linearization })
}

/// For each expression that was added since whether what opens sums is in it.
fn note_opened(exprs: &Exprs, opened: Opened, is_opened: &mut Vec<bool>) {
    for (_, expr) in exprs.iter().skip(is_opened.len()) {
        let opens = match expr {
            Expr::Iname(_) => true,
            Expr::Number(Number::Float(number)) => opened == Opened::WithNumbers && number.get().abs() != 1.0,
            _ => false,
        };
        is_opened.push(opens || expr.children().iter().any(|child| is_opened[child.index()]));
    }
}

/// The terms of an operation; `None` if it is no sum or product.
fn terms_of(exprs: &mut Exprs, equal_terms: EqualTerms, id: ExprId) -> Option<Vec<Term>> {
    let Expr::Op { op, operands } = exprs[id].clone() else { return None };
    Some(match op {
        Op::Add if equal_terms == EqualTerms::Kept => operands.iter().map(|&term| (false, vec![term])).collect(),
        Op::Add => {
            let mut times: IndexMap<ExprId, i64> = IndexMap::new();
            operands.iter().for_each(|&term| *times.entry(term).or_default() += 1);
            let term = |(term, n)| (false, if n == 1 { vec![term] } else { vec![exprs.int(n), term] });
            times.into_iter().map(term).collect()
        }
        Op::Sub => vec![(false, vec![operands[0]]), (true, vec![operands[1]])],
        Op::Neg => vec![(true, vec![operands[0]])],
        Op::Mul => vec![(false, operands.to_vec())],
        _ => return None,
    })
}

/// A sum of products; `None` if no product of a sum has few enough terms, or there would be too many in all.
fn multiplied_out(exprs: &mut Exprs, how: (&[bool], EqualTerms), root: ExprId) -> Option<ExprId> {
    let (mut done, mut has_products_of_sums) = (Vec::new(), false);
    for summand in summands(exprs, how, root) {
        match opened_out(exprs, how, summand.clone()) {
            Some((terms, is_product_of_sum)) => {
                has_products_of_sums |= is_product_of_sum;
                done.extend(terms);
            }
            None => done.push(summand),
        }
        if done.len() > MAX_TERMS_IN_ALL {
            return None;
        }
    }
    if !has_products_of_sums || done.is_empty() {
        return None;
    }
    let mut terms = Vec::with_capacity(done.len());
    for (sign, factors) in done {
        let product = if factors.len() == 1 { factors[0] } else { exprs.op(Op::Mul, factors) };
        terms.push(if sign { exprs.op(Op::Neg, [product]) } else { product });
    }
    Some(if terms.len() == 1 { terms[0] } else { exprs.op(Op::Add, terms) })
}

/// The terms of a sum as they are, and of sums in it.
fn summands(exprs: &mut Exprs, (is_opened, equal_terms): (&[bool], EqualTerms), root: ExprId) -> Vec<Term> {
    let mut done: Vec<Term> = Vec::new();
    let mut pending: Vec<Term> = vec![(false, vec![root])];
    while let Some((sign, factors)) = pending.pop() {
        let terms = match factors[..] {
            [sum] if is_opened.get(sum.index()) == Some(&true) => terms_of(exprs, equal_terms, sum),
            _ => None,
        };
        match terms {
            Some(terms) => pending.extend(terms.into_iter().rev().map(|(other, inside)| (sign ^ other, inside))),
            None => done.push((sign, factors)),
        }
    }
    done
}

/// The products that a term becomes, and whether it is a product of a sum; `None` if they are more than [`MAX_TERMS`].
fn opened_out(
    exprs: &mut Exprs,
    (is_opened, equal_terms): (&[bool], EqualTerms),
    term: Term,
) -> Option<(Vec<Term>, bool)> {
    let mut is_product_of_sum = false;
    let mut terms: Vec<Term> = Vec::new();
    let mut pending = vec![term];
    while let Some((sign, factors)) = pending.pop() {
        if factors.iter().any(|&factor| is_zero(exprs, factor)) {
            continue;
        }
        let opened = (0..factors.len())
            .filter(|&at| is_opened.get(factors[at].index()) == Some(&true))
            .find_map(|at| Some((at, terms_of(exprs, equal_terms, factors[at])?)));
        match opened {
            Some((at, inner)) => {
                is_product_of_sum |= factors.len() > 1 && inner.len() > 1;
                pending.extend(inner.into_iter().rev().map(|(other, inside)| {
                    let mut all = factors.clone();
                    all.splice(at..=at, inside);
                    (sign ^ other, all)
                }));
            }
            None => terms.push((sign, factors)),
        }
        if terms.len() + pending.len() > MAX_TERMS {
            return None;
        }
    }
    Some((terms, is_product_of_sum))
}

fn is_zero(exprs: &Exprs, id: ExprId) -> bool {
    matches!(exprs[id], Expr::Number(number) if number.to_f64() == 0.0)
}
