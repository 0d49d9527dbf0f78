//! Which values are kept in arrays: those that are needed at several shifts or under several names of inames.
//!
//! # Method
//! Users first. A value is kept if the box around all its uses has fewer points than they have together (those of a value with one use, in
//! loops that others bound, too), if all elements read on the box are elements of their arrays, and if their memory does not change in between; it is then
//! computed once for each point of the box. Otherwise it is computed at each use.

use std::collections::BTreeMap;

use nestegg_ir::Op;
use nestegg_ir::affine::{self, Affine, Var};
use rustc_hash::FxHashSet;

use crate::shift::boxes::{Boxes, Hull, Interval};
use crate::shift::translate::Root;
use crate::shift::values::{At, Body, Operation, Ref, ValueId, Values, as_bound, compose, iname_of};
use crate::workspace::Workspace;

/// How many elements an array may have.
const MAX_POINTS: u128 = 1 << 27;

/// How many uses of values there may be altogether.
const MAX_USES: usize = 100_000;

/// How many reads are looked at for one value.
const MAX_READS: usize = 20_000;

/// What becomes of the values.
#[derive(Debug)]
pub(crate) struct Placement {
    /// For each value the box on which it is kept, if it is.
    pub(crate) hulls: Vec<Option<Hull>>,
    /// For each value the first tree that needs it.
    pub(crate) positions: Vec<usize>,
    /// For each value how often it is computed.
    pub(crate) runs: Vec<u128>,
    /// The values that are kept, users first.
    pub(crate) kept: Vec<ValueId>,
}

/// Where a value is used: within a kept value or within instructions, and at what.
type Use = (Option<ValueId>, At);

/// Decides for every value; `None` where that is too much work.
pub(crate) fn place(workspace: &Workspace, boxes: &Boxes<'_>, values: &Values, roots: &[Root]) -> Option<Placement> {
    let n = values.values.len();
    let mut uses: Vec<BTreeMap<Use, usize>> = vec![BTreeMap::new(); n];
    for root in roots {
        add(&mut uses[root.value.of.value.index()], (None, root.value.of.at.clone()), root.position);
    }
    let mut res =
        Placement { hulls: vec![None; n], positions: vec![usize::MAX; n], runs: vec![0; n], kept: Vec::new() };
    let terms: Vec<_> = roots.iter().map(|root| root.value.clone()).collect();
    let mut n_uses = 0;
    for value in values.users_first(&terms) {
        let own = std::mem::take(&mut uses[value.index()]);
        n_uses += own.len();
        if n_uses > MAX_USES {
            return None;
        }
        let position = own.values().copied().min().unwrap_or(usize::MAX);
        res.positions[value.index()] = position;
        if let Some(hull) = hull_of(workspace, boxes, values, &res, value, &own) {
            res.runs[value.index()] = boxes.points(&hull).unwrap_or(0);
            res.hulls[value.index()] = Some(hull);
            res.kept.push(value);
            for child in values.children(value) {
                add(&mut uses[child.value.index()], (Some(value), child.at.clone()), position);
            }
            continue;
        }
        for ((context, at), position) in own {
            let own = match context {
                Some(_) => own_box(boxes, &res, context, &at).and_then(|own| boxes.points(&own)),
                None => boxes.runs(&at),
            };
            res.runs[value.index()] = res.runs[value.index()].saturating_add(own.unwrap_or(1));
            for child in values.children(value) {
                add(&mut uses[child.value.index()], (context, compose(&child.at, &at)), position);
            }
        }
    }
    Some(res)
}

fn add(uses: &mut BTreeMap<Use, usize>, of: Use, position: usize) {
    uses.entry(of).and_modify(|known| *known = position.min(*known)).or_insert(position);
}

/// Operations of a value beside those of what it is made of.
pub(crate) fn operations(body: &Body) -> usize {
    match body {
        Body::One | Body::Leaf { .. } | Body::Exact(_) => 0,
        Body::Sum(terms) => terms.len() - 1 + terms.iter().filter(|term| !term.scale.is_unit()).count(),
        Body::Product(factors) => factors.len() - 1 + factors.iter().filter(|factor| factor.1 != 1).count(),
        Body::Apply(..) | Body::Reduce(..) => 1,
    }
}

/// The box on which a value is kept; `None` if it is not.
fn hull_of(
    workspace: &Workspace,
    boxes: &Boxes<'_>,
    values: &Values,
    placement: &Placement,
    value: ValueId,
    uses: &BTreeMap<Use, usize>,
) -> Option<Hull> {
    let of = &values.values[value.index()];
    let is_condition =
        matches!(of.body, Body::Apply(Operation::Op(op), _) if op.is_comparison() || op.is_logic() || op == Op::Not);
    if !of.is_movable || of.n_formals == 0 || operations(&of.body) == 0 || is_condition {
        return None;
    }
    let mut hull: Option<Hull> = None;
    let mut of_uses: u128 = 0;
    for (context, at) in uses.keys() {
        let own = own_box(boxes, placement, *context, at)?;
        let runs = if context.is_some() { boxes.points(&own)? } else { boxes.runs(at)? };
        of_uses = of_uses.saturating_add(runs);
        hull = Some(match hull {
            None => own,
            Some(hull) => hull.iter().zip(&own).map(|(a, b)| a.joined(b)).collect::<Option<Hull>>()?,
        });
    }
    let hull = hull?;
    let of_hull = boxes.points(&hull)?;
    (of_hull < of_uses && of_hull <= MAX_POINTS && is_inside(workspace, boxes, values, value, &hull)).then_some(hull)
}

/// The values that the formals of a use take.
fn own_box(boxes: &Boxes<'_>, placement: &Placement, context: Option<ValueId>, at: &At) -> Option<Hull> {
    let of = |&(var, offset): &(u32, i64)| bounds(boxes, placement, context, var)?.shifted(offset);
    at.iter().map(of).collect()
}

fn bounds(boxes: &Boxes<'_>, placement: &Placement, context: Option<ValueId>, var: u32) -> Option<Interval> {
    match context {
        Some(value) if as_bound(var).is_none() => {
            placement.hulls[value.index()].as_ref().map(|hull| hull[var as usize].clone())
        }
        _ => boxes.of_iname(iname_of(var)),
    }
}

/// Whether every element that a value reads on a box is one of its array.
fn is_inside(workspace: &Workspace, boxes: &Boxes<'_>, values: &Values, value: ValueId, hull: &Hull) -> bool {
    let own: At = (0..hull.len()).map(|formal| (formal as u32, 0)).collect();
    let mut seen: FxHashSet<Ref> = FxHashSet::default();
    let mut pending = vec![Ref { value, at: own }];
    while let Some(of) = pending.pop() {
        if seen.contains(&of) {
            continue;
        }
        if seen.len() == MAX_READS {
            return false;
        }
        if let Body::Leaf { array, indices, .. } = &values.values[of.value.index()].body {
            let shape = &workspace.kernel[*array].shape;
            let mut dims = indices.iter().zip(shape);
            let is_in_dim = |(index, &size): (&Affine, &nestegg_ir::ExprId)| {
                let size = affine::of(&workspace.kernel.exprs, size);
                let range = interval(boxes, index, &of.at, hull);
                size.zip(range).is_some_and(|(size, range)| boxes.is_inside(&range, &size, hull))
            };
            if !dims.all(is_in_dim) {
                return false;
            }
        }
        pending.extend(
            values.children(of.value).iter().map(|child| Ref { value: child.value, at: compose(&child.at, &of.at) }),
        );
        seen.insert(of);
    }
    true
}

/// The least and greatest value of an index on a box; `None` if a number is too large.
fn interval(boxes: &Boxes<'_>, index: &Affine, at: &At, hull: &Hull) -> Option<Interval> {
    let constant = Affine::constant(index.constant);
    let mut res = Interval { low: constant.clone(), high: constant };
    for &(var, coefficient) in &index.terms {
        let (low, high) = match var {
            Var::Parameter(_) => (Affine::var(var), Affine::var(var)),
            Var::Iname(formal) => {
                let (outer, offset) = at[formal.index()];
                let moved = match as_bound(outer) {
                    Some(iname) => boxes.of_iname(iname)?.shifted(offset)?,
                    None => hull[outer as usize].shifted(offset)?,
                };
                if coefficient < 0 { (moved.high, moved.low) } else { (moved.low, moved.high) }
            }
        };
        res = Interval { low: res.low.plus(&low, coefficient)?, high: res.high.plus(&high, coefficient)? };
    }
    Some(res)
}
