//! Sums of products of tables that the same number selects, as one table: `Σ_d F[f, d]*sum(i, T_d[f, q, i]*x[i]) = sum(i, D[f, q, i]*x[i])` with `D = Σ_d F[f, d]*T_d[f, q, i]`.
//!
//! So the derivatives along a facet, which are a combination of those of the cell, become tables of their own, in which most columns are zero.
//! A sum over `i` that is needed elsewhere, too, stays as it is.

use nestegg_ir::walk::terms;
use nestegg_ir::{Expr, ExprId, InameId, Op, ReduceOp};
use rustc_hash::FxHashSet;

use super::Pass;
use super::members::Element;
use crate::Tolerance;
use crate::nests::{factors, product, signed_sum};
use crate::table::ROUNDING;

/// How many terms a sum may have to be looked at.
const MAX_TERMS: usize = 1_000;

/// A new pass with the tables of all sums merged.
pub(super) fn merged(new: impl Fn() -> Pass) -> Pass {
    let mut res = new();
    let used_elsewhere = merge(&mut res, &FxHashSet::default());
    if !used_elsewhere.is_empty() {
        res = new();
        merge(&mut res, &used_elsewhere);
    }
    res
}

/// Merges the tables of all sums but of these reductions; answers the reductions that are still there afterwards.
fn merge(pass: &mut Pass, kept: &FxHashSet<ExprId>) -> FxHashSet<ExprId> {
    let mut merged: FxHashSet<ExprId> = FxHashSet::default();
    pass.rewrite(|pass, id| {
        let is_sum = matches!(pass.kernel.exprs[id], Expr::Op { op: Op::Add | Op::Sub, .. });
        let sum = is_sum.then(|| merged_sum(pass, id, kept, &mut merged)).flatten();
        sum.unwrap_or(id)
    });
    pass.kernel.exprs.reachable(pass.roots()).into_iter().filter(|id| merged.contains(id)).collect()
}

/// A product of tables of one family, summed or not, times something else.
#[derive(Debug)]
struct Term {
    elements: Vec<Element>,
    /// What the product multiplies.
    rest: Vec<ExprId>,
    /// The reduction around some of the tables.
    sum: Option<Sum>,
}

#[derive(Debug)]
struct Sum {
    id: ExprId,
    inames: Box<[InameId]>,
    elements: Vec<Element>,
    /// What multiplies them inside.
    rest: Vec<ExprId>,
}

impl Term {
    /// `None` if there is no such table.
    fn of(pass: &Pass, term: ExprId, kept: &FxHashSet<ExprId>) -> Option<Self> {
        let all = factors(&pass.kernel.exprs, term);
        let (elements, mut rest) = family(pass, &all, None);
        let mut sum = None;
        for (place, &factor) in rest.iter().enumerate().filter(|(_, factor)| !kept.contains(factor)) {
            let Expr::Reduce { op: ReduceOp::Sum, inames, body } = &pass.kernel.exprs[factor] else { continue };
            let is_bound = |element: &Element| element.inames().iter().any(|iname| inames.contains(iname));
            let inside = factors(&pass.kernel.exprs, *body);
            let (of_sum, others) = family(pass, &inside, elements.first());
            if !of_sum.is_empty() && !elements.iter().any(is_bound) {
                sum = Some((place, Sum { id: factor, inames: inames.clone(), elements: of_sum, rest: others }));
                break;
            }
        }
        let sum = sum.map(|(place, sum)| {
            rest.remove(place);
            sum
        });
        rest.sort_unstable();
        let res = Self { elements, rest, sum };
        let has_tables = res.all().next().is_some();
        has_tables.then_some(res)
    }

    /// All tables.
    fn all(&self) -> impl Iterator<Item = &Element> {
        self.elements.iter().chain(self.sum.iter().flat_map(|sum| &sum.elements))
    }

    /// The inames of the tables, in the order of those of the table with the most; `None` if others have more.
    fn axes(&self) -> Option<Vec<InameId>> {
        let largest = self.all().map(Element::inames).max_by_key(Vec::len)?;
        self.all().flat_map(Element::inames).all(|iname| largest.contains(&iname)).then_some(largest)
    }

    /// Whether two terms differ in their tables alone.
    fn is_like(&self, pass: &Pass, other: &Self) -> bool {
        let is_like = match (&self.sum, &other.sum) {
            (Some(own), Some(other)) => own.inames == other.inames && own.rest == other.rest,
            (None, None) => true,
            _ => false,
        };
        let family = |term: &Self| term.all().next().map(|element| (element.selector, element.dtype(&pass.kernel)));
        is_like && self.rest == other.rest && family(self) == family(other)
    }
}

/// The elements among factors that are of the family of a first one, and the other factors, in increasing order.
fn family(pass: &Pass, factors: &[ExprId], first: Option<&Element>) -> (Vec<Element>, Vec<ExprId>) {
    let (mut elements, mut others): (Vec<Element>, Vec<ExprId>) = (Vec::new(), Vec::new());
    for &factor in factors {
        let element = pass.element(factor).filter(|element| {
            first.or(elements.first()).is_none_or(|first| {
                first.selector == element.selector && first.dtype(&pass.kernel) == element.dtype(&pass.kernel)
            })
        });
        match element {
            Some(element) => elements.push(element),
            None => others.push(factor),
        }
    }
    others.sort_unstable();
    (elements, others)
}

/// Terms that differ in their tables alone.
struct Group {
    terms: Vec<(Term, f64)>,
    /// The sum as it was.
    written: Vec<(ExprId, f64)>,
    axes: Vec<InameId>,
}

/// A sum with terms merged; `None` if there are none to merge.
fn merged_sum(pass: &mut Pass, id: ExprId, kept: &FxHashSet<ExprId>, merged: &mut FxHashSet<ExprId>) -> Option<ExprId> {
    let mut groups: Vec<Group> = Vec::new();
    let mut res: Vec<(ExprId, f64)> = Vec::new();
    for (expr, sign) in terms(&pass.kernel.exprs, id, MAX_TERMS)? {
        let term = Term::of(pass, expr, kept);
        let Some((term, axes)) = term.and_then(|term| term.axes().map(|axes| (term, axes))) else {
            res.push((expr, sign));
            continue;
        };
        let is_like = |group: &&mut Group| {
            group.terms[0].0.is_like(pass, &term)
                && group.axes.len() == axes.len()
                && axes.iter().all(|axis| group.axes.contains(axis))
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => {
                group.terms.push((term, sign));
                group.written.push((expr, sign));
            }
            None => groups.push(Group { terms: vec![(term, sign)], written: vec![(expr, sign)], axes }),
        }
    }
    let is_mergeable = |group: &Group| group.terms.len() > 1 || group.terms[0].0.all().count() > 1;
    if !groups.iter().any(is_mergeable) {
        return None;
    }
    for group in groups {
        let written = is_mergeable(&group).then(|| written(pass, &group, merged)).flatten();
        match written {
            Some(sum) => res.push((sum, 1.0)),
            None => res.extend(group.written),
        }
    }
    Some(signed_sum(&mut pass.kernel.exprs, &res))
}

/// A group as one term.
fn written(pass: &mut Pass, group: &Group, merged: &mut FxHashSet<ExprId>) -> Option<ExprId> {
    let (first, _) = group.terms.first()?;
    let (selector, dtype) = first.all().next().map(|element| (element.selector, element.dtype(&pass.kernel)))?;
    let axes: Vec<InameId> = std::iter::once(selector).chain(group.axes.iter().copied()).collect();
    let shape: Vec<usize> = axes.iter().map(|axis| pass.extents[axis.index()]).collect::<Option<_>>()?;
    // For each element the sum, and the sum of the magnitudes.
    let mut sums: Vec<(f64, f64)> = vec![(0.0, 0.0); shape.iter().product()];
    for (term, sign) in &group.terms {
        let mut product: Vec<f64> = vec![*sign; sums.len()];
        for element in term.all() {
            let values = element.values(&pass.kernel, &axes, &pass.extents)?;
            product.iter_mut().zip(&values).for_each(|(product, value)| *product *= value);
        }
        sums.iter_mut().zip(&product).for_each(|(sum, value)| *sum = (sum.0 + value, sum.1 + value.abs()));
    }
    let values: Vec<f64> =
        sums.iter().map(|&(sum, terms)| if sum.abs() <= ROUNDING * terms { 0.0 } else { sum }).collect();
    let table = pass.add_table(dtype, &shape, &values)?;
    pass.tolerance = pass.tolerance.and(Tolerance { n_changed: values.len(), largest_change: f64::EPSILON });
    pass.n_merged += 1;
    merged.extend(group.terms.iter().filter_map(|(term, _)| Some(term.sum.as_ref()?.id)));
    let exprs = &mut pass.kernel.exprs;
    let indices: Vec<ExprId> = axes.iter().map(|&axis| exprs.iname(axis)).collect();
    let mut factor = exprs.access(table, indices);
    if let Some(sum) = &first.sum {
        let body = product(exprs, sum.rest.iter().copied().chain([factor]).collect());
        factor = exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: sum.inames.clone(), body });
    }
    Some(product(exprs, first.rest.iter().copied().chain([factor]).collect()))
}
