//! Skeletons: expressions without their numbers, hashed.
//!
//! # Output
//! A number for each expression; expressions that differ in literals, in constant parts of indices, in tables of one shape, in the order of operands and in the nesting of
//! sums and products have the same one. A factor that is a literal, or a sign, makes no difference either.
//! # Complexity
//! Linear in the DAG, and in the indices of accesses.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::{Expr, ExprId, Kernel, Op};

/// What stands at the top of an expression.
#[derive(Clone, Copy)]
enum Tag {
    Number = 1,
    Iname,
    Parameter,
    Formal,
    Table,
    Array,
    Index,
    Sum,
    Term,
    Product,
    Factor,
    Operator,
    Call,
    Cast,
    Reduce,
    Substitution,
}

fn mix(a: u64, b: u64) -> u64 {
    let mut mixed = (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (mixed >> 32)
}

fn tagged(tag: Tag, parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(mix(tag as u64, 0x51), mix)
}

#[derive(Clone, Copy)]
struct Row {
    /// Of the expression.
    own: u64,
    /// The sum of its terms' numbers, in any order.
    terms: u64,
    /// The sum of its factors' numbers, how many there are, and the last one.
    factors: (u64, usize, u64),
}

/// The skeletons of all expressions of a kernel.
pub(super) struct Skeletons(Vec<Row>);

impl Skeletons {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut res = Self(Vec::with_capacity(kernel.exprs.len()));
        for (id, expr) in kernel.exprs.iter() {
            let row = res.row(kernel, id, expr);
            res.0.push(row);
        }
        res
    }

    pub(super) fn of(&self, id: ExprId) -> u64 {
        self.0[id.index()].own
    }

    fn row(&self, kernel: &Kernel, id: ExprId, expr: &Expr) -> Row {
        let children = || expr.children().iter().map(|&child| self.of(child));
        let rows = || expr.children().iter().map(|child| &self.0[child.index()]);
        let own = match expr {
            Expr::Number(_) => {
                return Row { own: tagged(Tag::Number, []), terms: tagged(Tag::Number, []), factors: (0, 0, 0) };
            }
            Expr::Op { op: Op::Add | Op::Sub, .. } => {
                let terms = rows().fold(0_u64, |sum, row| sum.wrapping_add(row.terms));
                let own = tagged(Tag::Sum, [terms]);
                return Row { own, terms, factors: (mix(Tag::Factor as u64, own), 1, own) };
            }
            Expr::Op { op: Op::Neg, operands } => return self.0[operands[0].index()],
            Expr::Op { op: Op::Mul, .. } => {
                let factors = rows().fold((0_u64, 0, 0), |(sum, n, last), row| {
                    let (of_row, n_row, last_of_row) = row.factors;
                    (sum.wrapping_add(of_row), n + n_row, if n_row > 0 { last_of_row } else { last })
                });
                let own = match factors.1 {
                    0 => tagged(Tag::Number, []),
                    1 => factors.2,
                    _ => tagged(Tag::Product, [factors.0]),
                };
                return Row { own, terms: tagged(Tag::Term, [own]), factors };
            }
            Expr::Iname(iname) => tagged(Tag::Iname, [iname.index() as u64]),
            Expr::Parameter(parameter) => tagged(Tag::Parameter, [parameter.index() as u64]),
            Expr::Formal(position) => tagged(Tag::Formal, [u64::from(*position)]),
            Expr::Access { array, indices } => {
                let head = match kernel[*array].table() {
                    Some(_) => tagged(Tag::Table, kernel[*array].shape.iter().map(|size| size.index() as u64)),
                    None => tagged(Tag::Array, [array.index() as u64]),
                };
                indices.iter().fold(head, |hash, &index| mix(hash, self.index(kernel, index)))
            }
            Expr::Op { op, .. } => tagged(Tag::Operator, std::iter::once(*op as u64).chain(children())),
            Expr::Call { function, .. } => {
                tagged(Tag::Call, std::iter::once(function.index() as u64).chain(children()))
            }
            Expr::Cast { dtype, .. } => tagged(Tag::Cast, std::iter::once(*dtype as u64).chain(children())),
            Expr::Reduce { op, inames, .. } => {
                let inames = inames.iter().map(|iname| iname.index() as u64);
                tagged(Tag::Reduce, std::iter::once(*op as u64).chain(inames).chain(children()))
            }
            Expr::Substitution { rule, .. } => {
                tagged(Tag::Substitution, [rule.index() as u64, id.index() as u64].into_iter().chain(children()))
            }
        };
        Row { own, terms: tagged(Tag::Term, [own]), factors: (mix(Tag::Factor as u64, own), 1, own) }
    }

    fn index(&self, kernel: &Kernel, index: ExprId) -> u64 {
        match affine::of(&kernel.exprs, index) {
            Some(affine) => tagged(
                Tag::Index,
                affine.terms.iter().map(|&(var, coefficient)| {
                    let var = match var {
                        Var::Iname(iname) => mix(Tag::Iname as u64, iname.index() as u64),
                        Var::Parameter(parameter) => mix(Tag::Parameter as u64, parameter.index() as u64),
                    };
                    mix(var, coefficient as u64)
                }),
            ),
            None => self.of(index),
        }
    }
}
