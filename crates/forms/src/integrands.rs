//! Stores taken apart: what few monomials make, and the rest.
//!
//! # Input
//! A kernel whose stores are in loops of their own, and how many monomials are few.
//! # Output
//! The same kernel with two stores in the place of one whose value is a sum of both kinds, `A = A + sum(q, a + b)` as `A = A + sum(q, a)` and `A = A + sum(q, b)`;
//! and the stores that few monomials make.
//! # Method
//! An estimate of how many monomials of run-time values an expression is, bottom-up: sums add, products multiply, an element at table inames counts once for each of
//! their values, and what is no polynomial of tables has more than any limit. Sums whose terms differ by [`FAR_APART`] times are distributed over the products that they are factors of,
//! so that the terms come apart; sums of like terms, the values of functions at points, stay together.
//! # Complexity
//! Linear in the expressions below stores, for each of which at most [`MAX_GROUPS`] sums are made.
//! Both are done one after the other, which is the same if neither reads elements that they write but its own, and if each element that is set is set once; other
//! stores stay whole.
//! # Not done
//! Which monomials become how many after equal ones are merged is not looked at: the number is a bound.
//! Source: Luporini, Ham and Kelly, "An algorithm for the optimization of finite element integration loops", ACM TOMS 2017, section 4 (pre-evaluation of some monomials only).

use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::walk::{below, reads};
use nestegg_ir::{
    Expr, ExprId, Exprs, InameId, InameSet, InsnId, InstructionKind, Kernel, LinearizedKernel, Number, Op, ReduceOp,
};
use rustc_hash::FxHashMap;

use crate::FormError;
use crate::nests::{add_store, in_loops, sum, with_replaced};
use crate::stores::{self, Store};
use nestegg_ir::names::Names;

/// Numbers of monomials that differ by this factor are of different kinds.
const FAR_APART: u64 = 4;

/// Into how many sums an expression is taken apart.
const MAX_GROUPS: usize = 4;

/// How many products the factors of one may make together.
const MAX_PRODUCTS: usize = 64;

/// What is of more monomials is not pre-evaluated: a map of so many features costs more than a sum over points.
const MAX_MONOMIALS: u64 = 1_000;

/// A part of an expression, and of how many monomials it is.
type Part = (u64, ExprId);

/// The numbers of monomials up to which stores may be taken apart, in increasing order: those of the parts of their values, but for the largest and for those above
/// [`MAX_MONOMIALS`].
///
/// # Errors
/// If the kernel is not well-formed.
pub fn monomial_counts(linearized: &LinearizedKernel) -> Result<Vec<u64>, FormError> {
    let Some(found) = stores::find(linearized)? else { return Ok(Vec::new()) };
    let mut kernel = linearized.kernel.clone();
    let mut parts = Parts::new(&kernel)?;
    let mut counts: Vec<u64> = Vec::new();
    for store in &found.stores {
        counts.extend(parts.of_store(&mut kernel, store).iter().map(|part| part.0));
    }
    counts.sort_unstable();
    let ends = counts.windows(2).filter(|pair| is_far_apart(pair[0], pair[1])).map(|pair| pair[0]);
    Ok(ends.filter(|&count| count <= MAX_MONOMIALS).collect())
}

/// The kernel with stores taken apart, and its stores of at most `limit` monomials; `None` if none is taken apart.
pub(crate) fn split(
    linearized: &LinearizedKernel,
    limit: u64,
) -> Result<Option<(LinearizedKernel, Vec<InsnId>)>, FormError> {
    let Some(found) = stores::find(linearized)? else { return Ok(None) };
    let mut kernel = linearized.kernel.clone();
    let mut parts = Parts::new(&kernel)?;
    let mut names = Names::new(&kernel);
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    let mut few = Vec::new();
    for store in &found.stores {
        let (low, high): (Vec<Part>, Vec<Part>) =
            parts.of_store(&mut kernel, store).into_iter().partition(|part| part.0 <= limit);
        if !low.is_empty() {
            few.push(store.insn);
        }
        let value = |kernel: &mut Kernel, parts: Vec<Part>| {
            sum(&mut kernel.exprs, parts.into_iter().map(|part| part.1).collect())
        };
        let (Some(low), Some(high)) = (value(&mut kernel, low), value(&mut kernel, high)) else { continue };
        let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { continue };
        // The rest would be added once for each time that the element is set.
        let is_own = |iname: &InameId| store.indices.iter().any(|index| index.as_iname() == Some(*iname));
        let is_set_again = !store.is_accumulation && !store.outer.iter().all(is_own);
        // It would read what the first part has changed, and that would read elements without it.
        if is_set_again || reads(&kernel.exprs, [low, high], assignee.array) {
            few.retain(|&insn| insn != store.insn);
            continue;
        }
        let within = kernel[store.insn].within.clone();
        let indices = assignee.indices.to_vec();
        let also = Store { is_accumulation: true, ..store.clone() };
        let Some(rest) = add_store(&mut kernel, &mut names, &also, indices.clone(), (Op::Add, high), within) else {
            continue;
        };
        let mut expression = low;
        if store.is_accumulation {
            let element = kernel.exprs.access(assignee.array, indices);
            expression = kernel.exprs.op(Op::Add, [element, low]);
        }
        kernel[store.insn].kind = InstructionKind::Assignment { assignee, expression };
        let loops = loops(&found.trees[store.position]);
        let trees = [store.insn, rest].into_iter().flat_map(|insn| in_loops(vec![LoopTree::Run(insn)], &loops));
        replaced.insert(store.position, trees.collect());
    }
    if replaced.is_empty() {
        return Ok(None);
    }
    let linearization = from_tree(&with_replaced(found.trees, replaced));
    Ok(Some((LinearizedKernel { kernel, linearization }, few)))
}

/// The loops that nest perfectly around an instruction, outermost first.
fn loops(mut tree: &LoopTree) -> Vec<InameId> {
    let mut res = Vec::new();
    while let LoopTree::Loop { iname, body } = tree {
        res.push(*iname);
        let [inner] = body.as_slice() else { break };
        tree = inner;
    }
    res
}

fn is_far_apart(few: u64, many: u64) -> bool {
    many / FAR_APART >= few
}

/// Expressions taken apart.
struct Parts {
    extents: Vec<Option<usize>>,
    table_inames: InameSet,
    /// Which arrays are written.
    is_written: Vec<bool>,
    /// Table inames of expressions, those that they sum over included.
    inames: FxHashMap<ExprId, InameSet>,
    known: FxHashMap<ExprId, Vec<Part>>,
}

impl Parts {
    fn new(kernel: &Kernel) -> Result<Self, FormError> {
        let extents = stores::extents(kernel)?;
        let is_written = kernel.written();
        let table_inames = stores::table_inames(kernel, &extents);
        Ok(Self { extents, table_inames, is_written, inames: FxHashMap::default(), known: FxHashMap::default() })
    }

    /// What is added up in a store, without the element itself.
    fn of_store(&mut self, kernel: &mut Kernel, store: &Store) -> Vec<Part> {
        let mut parts = Vec::new();
        for &(term, sign) in &store.terms {
            for id in below(&kernel.exprs, [term]) {
                if !self.known.contains_key(&id) {
                    self.note_inames(&kernel.exprs, id);
                    let parts = self.of(kernel, id);
                    self.known.insert(id, parts);
                }
            }
            for &(count, part) in &self.known[&term] {
                let part = if sign < 0.0 { kernel.exprs.op(Op::Neg, [part]) } else { part };
                parts.push((count, part));
            }
        }
        grouped(&mut kernel.exprs, parts)
    }

    /// The parts of an expression whose operands are known.
    fn of(&self, kernel: &mut Kernel, id: ExprId) -> Vec<Part> {
        let whole = |count: u64| vec![(count, id)];
        if self.inames[&id].is_empty() {
            return whole(1);
        }
        match kernel.exprs[id].clone() {
            Expr::Access { array, .. } if kernel[array].table().is_some() => whole(1),
            Expr::Access { array, .. } if !self.is_written[array.index()] => {
                let extent = |iname: InameId| self.extents[iname.index()].map_or(u64::MAX, |n| n as u64);
                whole(self.inames[&id].iter().map(extent).fold(1, u64::saturating_mul))
            }
            Expr::Op { op: op @ (Op::Add | Op::Sub | Op::Neg), operands } => {
                let mut parts = Vec::new();
                for (idx, operand) in operands.iter().enumerate() {
                    let is_negative = op == Op::Neg || op == Op::Sub && idx == 1;
                    for &(count, part) in &self.known[operand] {
                        let part = if is_negative { kernel.exprs.op(Op::Neg, [part]) } else { part };
                        parts.push((count, part));
                    }
                }
                one_or(id, grouped(&mut kernel.exprs, parts))
            }
            Expr::Op { op: Op::Mul, operands } => {
                let factors: Vec<&Vec<Part>> = operands.iter().map(|operand| &self.known[operand]).collect();
                let n_products = factors.iter().map(|parts| parts.len()).fold(1, usize::saturating_mul);
                if n_products > MAX_PRODUCTS {
                    return whole(factors.iter().map(|parts| total(parts)).fold(1, u64::saturating_mul));
                }
                let mut products: Vec<(u64, Vec<ExprId>)> = vec![(1, Vec::new())];
                for parts in factors {
                    products = products
                        .iter()
                        .flat_map(|(so_far, factors)| {
                            parts.iter().map(|&(count, part)| {
                                let factors = factors.iter().copied().chain([part]).collect();
                                (so_far.saturating_mul(count), factors)
                            })
                        })
                        .collect();
                }
                let products =
                    products.into_iter().map(|(count, factors)| (count, kernel.exprs.op(Op::Mul, factors))).collect();
                one_or(id, grouped(&mut kernel.exprs, products))
            }
            Expr::Op { op: Op::Div, operands } if self.inames[&operands[1]].is_empty() => {
                let parts = &self.known[&operands[0]];
                let quotient = |&(count, part): &Part| (count, kernel.exprs.op(Op::Div, [part, operands[1]]));
                parts.iter().map(quotient).collect()
            }
            Expr::Op { op: Op::Pow, operands } => match whole_exponent(&kernel.exprs, operands[1]) {
                Some(exponent) => whole(total(&self.known[&operands[0]]).saturating_pow(exponent)),
                None => whole(u64::MAX),
            },
            Expr::Reduce { op: ReduceOp::Sum, inames, body } => {
                let parts = &self.known[&body];
                let reduction = |&(count, body): &Part| {
                    let inames = inames.clone();
                    (count, kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body }))
                };
                parts.iter().map(reduction).collect()
            }
            _ => whole(u64::MAX),
        }
    }

    /// Notes the table inames of an expression whose operands are known.
    fn note_inames(&mut self, exprs: &Exprs, id: ExprId) {
        let expr = &exprs[id];
        let mut inames = expr.children().iter().fold(InameSet::new(), |all, child| all.union(&self.inames[child]));
        if let Expr::Iname(iname) = expr
            && self.table_inames.contains(*iname)
        {
            inames.insert(*iname);
        }
        self.inames.insert(id, inames);
    }
}

/// How many monomials parts are together.
fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.0).fold(0, u64::saturating_add)
}

/// The expression itself where it is one part.
fn one_or(whole: ExprId, parts: Vec<Part>) -> Vec<Part> {
    match parts.as_slice() {
        [(count, _)] => vec![(*count, whole)],
        _ => parts,
    }
}

/// A non-negative whole exponent.
fn whole_exponent(exprs: &Exprs, exponent: ExprId) -> Option<u32> {
    match exprs[exponent] {
        Expr::Number(Number::Int(value)) => u32::try_from(value).ok(),
        Expr::Number(Number::Float(value)) if value.get().fract() == 0.0 && (0.0..=64.0).contains(&value.get()) => {
            Some(value.get() as u32)
        }
        _ => None,
    }
}

/// Parts whose numbers of monomials are far apart, each the sum of those that are not.
fn grouped(exprs: &mut Exprs, parts: Vec<Part>) -> Vec<Part> {
    let mut counts: Vec<u64> = parts.iter().map(|part| part.0).collect();
    counts.sort_unstable();
    // The widest gaps stay.
    let mut gaps: Vec<(u64, u64)> = counts
        .windows(2)
        .filter(|pair| is_far_apart(pair[0], pair[1]))
        .map(|pair| (pair[1] / pair[0].max(1), pair[0]))
        .collect();
    gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.0));
    gaps.truncate(MAX_GROUPS - 1);
    let mut ends: Vec<u64> = gaps.into_iter().map(|gap| gap.1).collect();
    ends.sort_unstable();
    let mut groups: Vec<Vec<Part>> = vec![Vec::new(); ends.len() + 1];
    for part in parts {
        groups[ends.partition_point(|&end| end < part.0)].push(part);
    }
    let summed = groups.into_iter().filter_map(|group| {
        let count = total(&group);
        Some((count, sum(exprs, group.into_iter().map(|part| part.1).collect())?))
    });
    summed.collect()
}
