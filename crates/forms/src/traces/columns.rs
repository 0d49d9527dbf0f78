//! The columns that are left of the tables of a family, for each member in an order of its own.
//!
//! The order is the one with which most tables are alike for all members, within [`TOLERANCE`].

use nestegg_ir::{ArrayId, ExprId, Exprs, InameId};
use nestegg_solve::cluster::TOLERANCE;

use super::members::Element;
use super::supports::Support;
use super::{MAX_ENTRIES, Pass};
use crate::Tolerance;

/// What is left of an iname.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// The iname.
    pub(super) of: InameId,
    /// The one in its place.
    pub(super) iname: InameId,
    /// The iname that selects the member.
    pub(super) selector: InameId,
    support: Support,
    /// For each member the values that are left, in order.
    orders: Vec<Vec<usize>>,
    /// The table of these.
    functions: ArrayId,
}

impl Trace {
    /// The value of the iname that a place in the order of the member stands for.
    pub(super) fn function(&self, exprs: &mut Exprs, place: ExprId) -> ExprId {
        let selector = exprs.iname(self.selector);
        exprs.access(self.functions, [selector, place])
    }
}

/// A table without its zero columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortened {
    pub(super) array: ArrayId,
    /// The iname that selects the member, if members differ.
    pub(super) selector: Option<InameId>,
    /// The iname of the columns, and the one in its place.
    pub(super) of: InameId,
    pub(super) iname: InameId,
}

impl Pass {
    /// What is left of an iname, by position among the traces; `None` if that cannot be told.
    pub(super) fn trace(&mut self, of: InameId, support: &Support) -> Option<usize> {
        let is_known = |trace: &Trace| trace.of == of && trace.support == *support;
        if let Some(known) = self.traces.iter().position(is_known) {
            return Some(known);
        }
        let extent = support.extent();
        let orders = self.orders(of, support)?;
        let functions = match self.traces.iter().find(|trace| trace.orders == orders) {
            Some(known) => known.functions,
            None => self.add_numbers(&orders),
        };
        let iname = self.add_iname(of, extent);
        let selector = support.selector;
        self.traces.push(Trace { of, iname, selector, support: support.clone(), orders, functions });
        Some(self.traces.len() - 1)
    }

    /// For each member the values of an iname that are left, as many as the member with the most has.
    fn orders(&self, of: InameId, support: &Support) -> Option<Vec<Vec<usize>>> {
        let extent = support.extent();
        let plain: Vec<Vec<usize>> = support
            .is_kept
            .iter()
            .map(|is_kept| {
                // Zero columns fill up what other members have more.
                let (kept, zero): (Vec<usize>, Vec<usize>) = (0..is_kept.len()).partition(|&at| is_kept[at]);
                let mut order: Vec<usize> = kept.into_iter().chain(zero).take(extent).collect();
                order.sort_unstable();
                order
            })
            .collect();
        let reachable = self.kernel.exprs.reachable(self.roots());
        let mut elements: Vec<Element> = Vec::new();
        for id in reachable {
            let is_of = |element: &Element| element.selector == support.selector && element.inames().contains(&of);
            elements.extend(self.element(id).filter(is_of).filter(|element| !elements.contains(element)));
        }
        let tables: Vec<Columns> = elements.iter().filter_map(|element| Columns::of(self, element, of)).collect();
        let all: Vec<&Columns> = tables.iter().collect();
        let single = tables.iter().map(|table| vec![table]);
        let candidates = std::iter::once(all).chain(single).filter_map(|tables| matched(&tables, &plain));
        let candidates: Vec<Vec<Vec<usize>>> = candidates.collect();
        let n_alike = |orders: &&Vec<Vec<usize>>| tables.iter().filter(|table| table.is_alike(orders)).count();
        // Of equals the first.
        let best = candidates.iter().rev().max_by_key(n_alike).cloned();
        Some(best.unwrap_or(plain))
    }

    /// A table with the columns that a trace leaves; `None` if it would not be finite, or too large.
    pub(super) fn shortened(&mut self, element: &Element, trace: usize) -> Option<Shortened> {
        let Trace { of, iname, selector, orders, .. } = self.traces[trace].clone();
        let columns = Columns::of(self, element, of)?;
        let is_alike = columns.is_alike(&orders);
        let members = if is_alike { &orders[..1] } else { &orders[..] };
        let mut values: Vec<f64> = Vec::new();
        let mut axes: Vec<InameId> = element.inames();
        // As the columns are laid out: this iname last.
        let place = axes.iter().position(|&axis| axis == of)?;
        axes.remove(place);
        let n_before: usize = self.extents_of(&axes[..place])?;
        let n_after: usize = self.extents_of(&axes[place..])?;
        for (member, order) in members.iter().enumerate() {
            for before in 0..n_before {
                for &function in order {
                    let column = columns.of_member(member, function);
                    values.extend(&column[before * n_after..(before + 1) * n_after]);
                }
            }
        }
        let extents: Option<Vec<usize>> = element
            .inames()
            .iter()
            .map(|&axis| if axis == of { Some(orders[0].len()) } else { self.extents[axis.index()] })
            .collect();
        let shape: Vec<usize> = (!is_alike).then_some(orders.len()).into_iter().chain(extents?).collect();
        let dtype = element.dtype(&self.kernel);
        let array = self.add_table(dtype, &shape, &values)?;
        let moved = if is_alike { columns.largest_difference(&orders) } else { 0.0 }.max(columns.largest_left(&orders));
        let n_changed = if moved > 0.0 { values.len() } else { 0 };
        self.tolerance = self.tolerance.and(Tolerance { n_changed, largest_change: moved });
        Some(Shortened { array, selector: (!is_alike).then_some(selector), of, iname })
    }

    fn extents_of(&self, axes: &[InameId]) -> Option<usize> {
        axes.iter().map(|axis| self.extents[axis.index()]).product()
    }
}

/// The numbers of a table, column by column.
struct Columns {
    /// By member and value of the iname, over the other axes.
    values: Vec<f64>,
    n_columns: usize,
    n_others: usize,
    largest: f64,
}

impl Columns {
    fn of(pass: &Pass, element: &Element, of: InameId) -> Option<Self> {
        let inames = element.inames();
        let others = inames.iter().copied().filter(|&iname| iname != of);
        let axes: Vec<InameId> = [element.selector, of].into_iter().chain(others).collect();
        let values = element.values(&pass.kernel, &axes, &pass.extents)?;
        let n_columns = pass.extents[of.index()]?;
        let n_members = pass.extents[element.selector.index()]?;
        let n_others = values.len().checked_div(n_members * n_columns)?;
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        Some(Self { values, n_columns, n_others, largest })
    }

    fn of_member(&self, member: usize, column: usize) -> &[f64] {
        let at = (member * self.n_columns + column) * self.n_others;
        &self.values[at..at + self.n_others]
    }

    /// By how much a column of a member differs from one of the first, as a fraction of the largest number.
    fn difference(&self, (first, member): (usize, usize), column: usize) -> f64 {
        let pairs = self.of_member(0, first).iter().zip(self.of_member(member, column));
        let largest = pairs.map(|(x, y)| (x - y).abs()).fold(0.0_f64, f64::max);
        if largest == 0.0 { 0.0 } else { largest / self.largest }
    }

    fn largest_difference(&self, orders: &[Vec<usize>]) -> f64 {
        let of_member = |(member, order): (usize, &Vec<usize>)| {
            let pairs = orders[0].iter().zip(order);
            pairs.map(|(&first, &column)| self.difference((first, member), column)).fold(0.0_f64, f64::max)
        };
        orders.iter().enumerate().map(of_member).fold(0.0, f64::max)
    }

    /// Whether members do not differ.
    fn is_alike(&self, orders: &[Vec<usize>]) -> bool {
        self.largest_difference(orders) <= TOLERANCE
    }

    /// The largest number of the columns that are left out, as a fraction of the largest of all.
    fn largest_left(&self, orders: &[Vec<usize>]) -> f64 {
        let of_member = |(member, order): (usize, &Vec<usize>)| {
            let left = (0..self.n_columns).filter(|column| !order.contains(column));
            left.flat_map(|column| self.of_member(member, column)).fold(0.0_f64, |largest, x| largest.max(x.abs()))
        };
        let left = orders.iter().enumerate().map(of_member).fold(0.0, f64::max);
        if left == 0.0 { 0.0 } else { left / self.largest }
    }
}

/// The columns of all members in the order of the equal ones of the first; `None` if some has no equal.
fn matched(tables: &[&Columns], plain: &[Vec<usize>]) -> Option<Vec<Vec<usize>>> {
    let (first, extent) = (plain.first()?, plain.first()?.len());
    let work: usize = tables.iter().map(|table| table.n_others).sum::<usize>() * extent * extent * plain.len();
    if tables.is_empty() || work > 100 * MAX_ENTRIES {
        return None;
    }
    let mut res = Vec::with_capacity(plain.len());
    for (member, own) in plain.iter().enumerate() {
        let mut left = own.clone();
        let mut order = Vec::with_capacity(extent);
        for &column in first {
            let is_equal =
                |&other: &usize| tables.iter().all(|table| table.difference((column, member), other) <= TOLERANCE);
            order.push(left.remove(left.iter().position(is_equal)?));
        }
        res.push(order);
    }
    Some(res)
}
