//! Where values are zero whatever is read at run time: along which inames, and for which member of a family.
//!
//! An element of a table has the zeros of its columns; a product those of each factor, a sum those that all terms have, a quotient those of its dividend.

use std::rc::Rc;

use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{Expr, ExprId, InameId, Op, ReduceOp};
use nestegg_solve::cluster::TOLERANCE;
use rustc_hash::FxHashMap;

use super::Pass;
use super::members::Element;
use crate::nests::signed_sum;

/// Into how many terms with zeros of their own an integrand may be taken apart.
const MAX_PARTS: usize = 8;

/// For each member of a family the values of an iname at which something is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Support {
    /// The iname that selects the member.
    pub(super) selector: InameId,
    /// For each member whether it is not zero there, by value.
    pub(super) is_kept: Vec<Vec<bool>>,
}

impl Support {
    /// How many values are left for the member with the most.
    pub(super) fn extent(&self) -> usize {
        self.is_kept.iter().map(|kept| kept.iter().filter(|&&is_kept| is_kept).count()).max().unwrap_or(0)
    }

    /// Whether leaving out the zeros shortens the loop without emptying it.
    fn is_short(&self) -> bool {
        let all = self.is_kept.first().map_or(0, Vec::len);
        (1..all).contains(&self.extent())
    }

    fn joined(&self, other: &Self, join: impl Fn(bool, bool) -> bool) -> Option<Self> {
        let is_same = |a: &Vec<Vec<bool>>, b: &Vec<Vec<bool>>| a.len() == b.len();
        if self.selector != other.selector || !is_same(&self.is_kept, &other.is_kept) {
            return None;
        }
        let members = self.is_kept.iter().zip(&other.is_kept);
        let is_kept = members.map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| join(a, b)).collect()).collect();
        Some(Self { selector: self.selector, is_kept })
    }
}

/// The inames along which a value has zeros, in increasing order, with where it has none.
pub(super) type Supported = Rc<[(InameId, Support)]>;

/// The zeros of expressions, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Supports {
    known: FxHashMap<ExprId, Supported>,
}

impl Supports {
    /// The zeros of an expression that shorten loops.
    pub(super) fn of(&mut self, pass: &Pass, root: ExprId) -> Supported {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| self.known.contains_key(id)) {
            let expr = &pass.kernel.exprs[id];
            if walk.waits_for(expr.children().iter().copied(), |id| self.known.contains_key(id)) {
                continue;
            }
            let own = self.own(pass, id);
            self.known.insert(id, own.into());
        }
        Rc::clone(&self.known[&root])
    }

    fn own(&self, pass: &Pass, id: ExprId) -> Vec<(InameId, Support)> {
        match &pass.kernel.exprs[id] {
            Expr::Access { .. } => pass.element(id).map_or_else(Vec::new, |element| of_element(pass, &element)),
            Expr::Op { op: Op::Mul, operands } => self.joined(operands, |a, b| a && b, true),
            Expr::Op { op: Op::Add | Op::Sub, operands } => self.joined(operands, |a, b| a || b, false),
            Expr::Op { op: Op::Neg | Op::Div, operands } => self.known[&operands[0]].to_vec(),
            Expr::Reduce { op: ReduceOp::Sum, inames, body } => {
                self.known[body].iter().filter(|(iname, _)| !inames.contains(iname)).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The zeros of all operands together; of a value without zeros there are all others, or none.
    fn joined(
        &self,
        operands: &[ExprId],
        join: impl Fn(bool, bool) -> bool,
        has_others: bool,
    ) -> Vec<(InameId, Support)> {
        let mut res = self.known[&operands[0]].to_vec();
        for operand in &operands[1..] {
            let other = &self.known[operand];
            let mut next = Vec::new();
            for (iname, support) in &res {
                let joined = match other.iter().find(|(known, _)| known == iname) {
                    Some((_, other)) => match support.joined(other, &join) {
                        None if has_others && other.extent() < support.extent() => Some(other.clone()),
                        None => has_others.then(|| support.clone()),
                        joined => joined,
                    },
                    None => has_others.then(|| support.clone()),
                };
                next.extend(joined.filter(Support::is_short).map(|support| (*iname, support)));
            }
            if has_others {
                let is_new = |(iname, _): &&(InameId, Support)| !res.iter().any(|(known, _)| known == iname);
                next.extend(other.iter().filter(is_new).cloned());
            }
            next.sort_unstable_by_key(|(iname, _)| *iname);
            res = next;
        }
        res
    }
}

/// The columns of a table that are not zero, along each of its inames.
fn of_element(pass: &Pass, element: &Element) -> Vec<(InameId, Support)> {
    let mut res = Vec::new();
    for iname in element.inames() {
        let axes: Vec<InameId> = [element.selector, iname]
            .into_iter()
            .chain(element.inames().into_iter().filter(|&other| other != iname))
            .collect();
        let Some(values) = element.values(&pass.kernel, &axes, &pass.extents) else { continue };
        let (Some(n_members), Some(extent)) = (pass.extents[element.selector.index()], pass.extents[iname.index()])
        else {
            continue;
        };
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let n_others = values.len() / (n_members * extent).max(1);
        let is_kept: Vec<bool> =
            values.chunks(n_others.max(1)).map(|column| column.iter().any(|x| x.abs() > TOLERANCE * largest)).collect();
        let support =
            Support { selector: element.selector, is_kept: is_kept.chunks(extent).map(<[bool]>::to_vec).collect() };
        if support.is_short() {
            res.push((iname, support));
        }
    }
    res.sort_unstable_by_key(|(iname, _)| *iname);
    res
}

/// A value as a sum of parts with zeros of their own along some inames, each with these zeros.
pub(super) fn parts(pass: &mut Pass, root: ExprId, axes: &[InameId]) -> Vec<(Supported, ExprId)> {
    let mut known: FxHashMap<ExprId, Vec<(Supported, ExprId)>> = FxHashMap::default();
    let mut walk = OperandsFirst::new(root);
    while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
        let expr = pass.kernel.exprs[id].clone();
        let operands: &[ExprId] = match &expr {
            Expr::Op { op: Op::Add | Op::Sub | Op::Neg | Op::Mul, operands } => operands,
            Expr::Op { op: Op::Div, operands } => &operands[..1],
            Expr::Reduce { op: ReduceOp::Sum, body, .. } => std::slice::from_ref(body),
            _ => &[],
        };
        if walk.waits_for(operands.iter().copied(), |id| known.contains_key(id)) {
            continue;
        }
        let of_operands: Vec<&Vec<(Supported, ExprId)>> = operands.iter().map(|operand| &known[operand]).collect();
        let mut found: Vec<(ExprId, f64)> = Vec::new();
        let n_products: usize = of_operands.iter().map(|parts| parts.len()).fold(1, usize::saturating_mul);
        let is_sum = matches!(expr, Expr::Op { op: Op::Add | Op::Sub, .. });
        if is_sum {
            let is_negative = |idx: usize| matches!(expr, Expr::Op { op: Op::Sub, .. }) && idx == 1;
            for (idx, parts) in of_operands.iter().enumerate() {
                let sign = if is_negative(idx) { -1.0 } else { 1.0 };
                found.extend(parts.iter().map(|part| (part.1, sign)));
            }
        } else if (2..=MAX_PARTS).contains(&n_products) {
            let mut products: Vec<Vec<ExprId>> = vec![Vec::new()];
            for parts in of_operands {
                products = products
                    .iter()
                    .flat_map(|so_far| parts.iter().map(move |part| so_far.iter().copied().chain([part.1]).collect()))
                    .collect();
            }
            for product in products {
                let mut part = expr.clone();
                part.children_mut().iter_mut().zip(product).for_each(|(child, operand)| *child = operand);
                found.push((pass.kernel.exprs.intern(part), 1.0));
            }
        }
        let mut sums: Vec<(Supported, Vec<(ExprId, f64)>)> = Vec::new();
        for (part, sign) in found {
            let supported = along(pass, part, axes);
            match sums.iter_mut().find(|(other, _)| *other == supported) {
                Some((_, terms)) => terms.push((part, sign)),
                None => sums.push((supported, vec![(part, sign)])),
            }
        }
        let res = if (2..=MAX_PARTS).contains(&sums.len()) {
            let exprs = &mut pass.kernel.exprs;
            sums.into_iter().map(|(supported, terms)| (supported, signed_sum(exprs, &terms))).collect()
        } else {
            vec![(along(pass, id, axes), id)]
        };
        known.insert(id, res);
    }
    known.remove(&root).unwrap_or_default()
}

/// The zeros of a value along some inames.
fn along(pass: &mut Pass, id: ExprId, axes: &[InameId]) -> Supported {
    pass.supported(id).iter().filter(|(iname, _)| axes.contains(iname)).cloned().collect()
}
