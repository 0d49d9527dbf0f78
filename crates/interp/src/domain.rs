//! The values that an iname takes, given the values of the inames around it.
//!
//! # Input
//! The domains of a kernel and values of its parameters.
//! # Output
//! [`Bounds`]: plain affine constraints that give, for values of the outer inames, the exact values of an iname: those of the
//! domain projected on the outer inames and it.
//! # Method
//! isl combines domains that enclose one another, fixes the parameters and splits the result into *groups* of inames
//! that share constraints. [`Domains::bounds`] projects a group and reads its constraints; evaluating them takes no isl:
//! ceil-divisions and floor-divisions give an interval, constraints with integer divisions and overlapping pieces are checked
//! point by point.
//! # Complexity
//! A projection for each distinct (iname, open inames of its group); evaluation is linear in the constraints.

use std::sync::Arc;

use nestegg_ir::{InameId, Kernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::error::Error;

/// An interval may be scanned point by point up to this length.
const MAX_SCAN: i128 = 100_000_000;

/// `constant + Σ coefficient·iname + Σ coefficient·floor(row / divisor)`.
#[derive(Clone, Debug)]
struct Row {
    constant: i64,
    terms: Vec<(InameId, i64)>,
    floors: Vec<(Row, i64, i64)>,
}

impl Row {
    fn evaluate(&self, env: &[i64]) -> i128 {
        let mut res = i128::from(self.constant);
        for &(iname, coefficient) in &self.terms {
            res += i128::from(coefficient) * i128::from(env[iname.index()]);
        }
        for (row, divisor, coefficient) in &self.floors {
            res += i128::from(*coefficient) * row.evaluate(env).div_euclid(i128::from(*divisor));
        }
        res
    }

    fn coefficient(&self, iname: InameId) -> i64 {
        self.terms.iter().find(|term| term.0 == iname).map_or(0, |term| term.1)
    }

    fn floors_involve(&self, iname: InameId) -> bool {
        self.floors.iter().any(|(row, ..)| row.coefficient(iname) != 0 || row.floors_involve(iname))
    }

    fn inames(&self, into: &mut Vec<InameId>) {
        into.extend(self.terms.iter().map(|term| term.0));
        self.floors.iter().for_each(|(row, ..)| row.inames(into));
    }
}

#[derive(Clone, Debug)]
struct Condition {
    row: Row,
    is_equality: bool,
}

impl Condition {
    fn holds(&self, env: &[i64]) -> bool {
        let left = self.row.evaluate(env);
        if self.is_equality { left == 0 } else { left >= 0 }
    }
}

/// One convex piece: conditions without the iname, bounds on it, and conditions to check at each value.
#[derive(Clone, Debug, Default)]
struct Piece {
    guards: Vec<Condition>,
    bounds: Vec<Condition>,
    checks: Vec<Condition>,
}

impl Piece {
    fn interval(&self, iname: InameId, env: &[i64], hull: (i64, i64)) -> Option<(i128, i128)> {
        if !self.guards.iter().all(|guard| guard.holds(env)) {
            return None;
        }
        let (mut lo, mut hi) = (i128::from(hull.0), i128::from(hull.1));
        for bound in &self.bounds {
            let coefficient = i128::from(bound.row.coefficient(iname));
            let rest = bound.row.evaluate(env) - coefficient * i128::from(env[iname.index()]);
            // coefficient·x + rest >= 0 (or = 0).
            if coefficient > 0 || bound.is_equality {
                lo = lo.max(if coefficient > 0 { ceil_div(-rest, coefficient) } else { ceil_div(rest, -coefficient) });
            }
            if coefficient < 0 || bound.is_equality {
                hi = hi.min(if coefficient < 0 {
                    rest.div_euclid(-coefficient)
                } else {
                    (-rest).div_euclid(coefficient)
                });
            }
        }
        (lo <= hi).then_some((lo, hi))
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -((-a).div_euclid(b))
}

/// The values of an iname for values of the inames around it.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    iname: InameId,
    pieces: Vec<Piece>,
    hull: (i64, i64),
    /// The inames that the values depend on.
    pub(crate) depends_on: Vec<InameId>,
}

/// Values in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// All from the first to the second; none if the first is greater.
    Interval(i64, i64),
    /// These.
    List(Vec<i64>),
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Interval(lo, hi) => usize::try_from(hi.saturating_sub(*lo).saturating_add(1)).unwrap_or(0),
            Self::List(values) => values.len(),
        }
    }

    pub(crate) fn get(&self, idx: usize) -> i64 {
        match self {
            Self::Interval(lo, _) => lo + idx as i64,
            Self::List(values) => values[idx],
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|idx| self.get(idx))
    }
}

impl Bounds {
    /// An upper bound of the number of values.
    pub(crate) fn max_len(&self) -> u64 {
        if self.pieces.is_empty() {
            return 0;
        }
        u64::try_from(i128::from(self.hull.1) - i128::from(self.hull.0) + 1).unwrap_or(0)
    }

    /// The values for the values of other inames in `env`; the iname's own entry is changed.
    pub(crate) fn values(&self, env: &mut [i64]) -> Option<Values> {
        let own = self.iname.index();
        env[own] = 0;
        let intervals: Vec<_> =
            self.pieces.iter().filter_map(|piece| Some((piece, piece.interval(self.iname, env, self.hull)?))).collect();
        let (lo, hi) = match intervals.as_slice() {
            [] => return Some(Values::Interval(0, -1)),
            [(piece, (lo, hi))] if piece.checks.is_empty() => return Some(Values::Interval(*lo as i64, *hi as i64)),
            many => {
                let lo = many.iter().map(|(_, (lo, _))| *lo).min()?;
                (lo, many.iter().map(|(_, (_, hi))| *hi).max()?)
            }
        };
        if hi - lo > MAX_SCAN {
            return None;
        }
        let mut list = Vec::new();
        for value in lo..=hi {
            env[own] = value as i64;
            let inside = |(piece, (lo, hi)): &(&Piece, (i128, i128))| {
                *lo <= value && value <= *hi && piece.checks.iter().all(|check| check.holds(env))
            };
            if intervals.iter().any(inside) {
                list.push(value as i64);
            }
        }
        Some(Values::List(list))
    }
}

/// A set of inames that share constraints.
struct Group {
    set: isl::Set,
    members: Vec<InameId>,
}

/// The domains of a kernel for given parameter values.
pub(crate) struct Domains<'k> {
    kernel: &'k Kernel,
    by_name: FxHashMap<&'k str, InameId>,
    group_of: Vec<usize>,
    groups: Vec<Group>,
    known: FxHashMap<(InameId, Vec<InameId>), Arc<Bounds>>,
}

impl<'k> Domains<'k> {
    /// Combines the domains of `kernel` at these parameter values.
    pub(crate) fn new(kernel: &'k Kernel, parameters: &[i64]) -> Result<Self, Error> {
        let context = isl::Context::new();
        check_assumptions(kernel, &context, parameters)?;
        let mut res = Self {
            kernel,
            by_name: kernel.iname_ids().map(|iname| (kernel[iname].name.as_str(), iname)).collect(),
            group_of: vec![usize::MAX; kernel.inames.len()],
            groups: Vec::new(),
            known: FxHashMap::default(),
        };
        for component in components(kernel) {
            let first = component.iter().find_map(|&domain| kernel.domains[domain].inames.first());
            let Some(&first) = first else { continue };
            res.add_component(&context, &component, parameters)
                .map_err(|source| Error::Domain { iname: kernel[first].name.clone(), source })?;
        }
        Ok(res)
    }

    fn add_component(&mut self, context: &isl::Context, component: &[usize], parameters: &[i64]) -> isl::Result<()> {
        let mut sets = Vec::new();
        let mut members = Vec::new();
        for &domain in component {
            let domain = &self.kernel.domains[domain];
            let values: Vec<(&str, i64)> = domain
                .parameters
                .iter()
                .map(|&parameter| (self.kernel[parameter].name.as_str(), parameters[parameter.index()]))
                .collect();
            sets.push(isl::Set::parse(context, &domain.text)?.fix_params(&values)?);
            members.extend(domain.inames.iter().copied());
        }
        let joint = isl::Set::combine(&sets)?.coalesce()?;
        for group in self.split(&joint, &members)? {
            let names: Vec<&str> = group.iter().map(|&iname| self.kernel[iname].name.as_str()).collect();
            let set = joint.project_onto(&names)?;
            for &iname in &group {
                self.group_of[iname.index()] = self.groups.len();
            }
            self.groups.push(Group { set, members: group });
        }
        Ok(())
    }

    /// Splits the inames of a joint domain into groups that share no constraint.
    fn split(&self, joint: &isl::Set, members: &[InameId]) -> isl::Result<Vec<Vec<InameId>>> {
        let pieces = joint.constraints()?;
        let mut leader: Vec<usize> = (0..members.len()).collect();
        let mut unite = |a: usize, b: usize| {
            let (old, new) = (leader[a], leader[b]);
            leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = new);
        };
        let position = |iname: InameId| members.iter().position(|&member| member == iname);
        if pieces.len() > 1 {
            (1..members.len()).for_each(|idx| unite(idx, 0));
        } else {
            for constraint in pieces.iter().flatten() {
                let mut inames = Vec::new();
                self.row(&constraint.affine)?.inames(&mut inames);
                let mut positions = inames.into_iter().filter_map(position);
                if let Some(first) = positions.next() {
                    positions.for_each(|other| unite(other, first));
                }
            }
        }
        let mut res: Vec<Vec<InameId>> = Vec::new();
        for group in 0..members.len() {
            let inames: Vec<_> =
                (0..members.len()).filter(|&idx| leader[idx] == group).map(|idx| members[idx]).collect();
            if !inames.is_empty() {
                res.push(inames);
            }
        }
        Ok(res)
    }

    fn row(&self, affine: &isl::Affine) -> isl::Result<Row> {
        let iname = |name: &String| {
            self.by_name.get(name.as_str()).copied().ok_or_else(|| isl::Error::UnknownDim(name.clone()))
        };
        let mut terms = Vec::new();
        for (name, coefficient) in &affine.terms {
            terms.push((iname(name)?, *coefficient));
        }
        let mut floors = Vec::new();
        for (floor, coefficient) in &affine.floors {
            floors.push((self.row(&floor.numerator)?, floor.denominator, *coefficient));
        }
        Ok(Row { constant: affine.constant, terms, floors })
    }

    /// The inames that share constraints with `iname`, itself included.
    pub(crate) fn group(&self, iname: InameId) -> &[InameId] {
        &self.groups[self.group_of[iname.index()]].members
    }

    /// The bounds of `iname` inside loops over `open`.
    pub(crate) fn bounds(&mut self, iname: InameId, open: &[InameId]) -> Result<Arc<Bounds>, Error> {
        let group = &self.groups[self.group_of[iname.index()]];
        let outer: Vec<InameId> =
            group.members.iter().copied().filter(|member| *member != iname && open.contains(member)).collect();
        let key = (iname, outer);
        if let Some(bounds) = self.known.get(&key) {
            return Ok(Arc::clone(bounds));
        }
        let bounds = Arc::new(self.read_bounds(iname, &key.1)?);
        self.known.insert(key, Arc::clone(&bounds));
        Ok(bounds)
    }

    fn read_bounds(&self, iname: InameId, outer: &[InameId]) -> Result<Bounds, Error> {
        let name = self.kernel[iname].name.as_str();
        let failed = |source| Error::Domain { iname: name.to_owned(), source };
        let group = &self.groups[self.group_of[iname.index()]];
        let names: Vec<&str> = outer.iter().map(|&outer| self.kernel[outer].name.as_str()).chain([name]).collect();
        let set = group.set.project_onto(&names).and_then(|set| set.coalesce()).map_err(failed)?;
        let conjunctions = set.constraints().map_err(failed)?;
        let mut bounds = Bounds { iname, pieces: Vec::new(), hull: (0, -1), depends_on: Vec::new() };
        if set.is_empty().map_err(failed)? {
            return Ok(bounds);
        }
        match (set.dim_min_val(name).map_err(failed)?, set.dim_max_val(name).map_err(failed)?) {
            (Some(lo), Some(hi)) => bounds.hull = (lo, hi),
            _ => return Err(Error::Unbounded { iname: name.to_owned() }),
        }
        for conjunction in conjunctions {
            let mut piece = Piece::default();
            for constraint in &conjunction {
                let condition = Condition {
                    row: self.row(&constraint.affine).map_err(failed)?,
                    is_equality: constraint.relation == isl::Relation::Equality,
                };
                condition.row.inames(&mut bounds.depends_on);
                if condition.row.floors_involve(iname) {
                    piece.checks.push(condition);
                } else if condition.row.coefficient(iname) != 0 {
                    piece.bounds.push(condition);
                } else {
                    piece.guards.push(condition);
                }
            }
            bounds.pieces.push(piece);
        }
        bounds.depends_on.retain(|&other| other != iname);
        bounds.depends_on.sort_unstable();
        bounds.depends_on.dedup();
        Ok(bounds)
    }
}

fn check_assumptions(kernel: &Kernel, context: &isl::Context, parameters: &[i64]) -> Result<(), Error> {
    let Some(text) = &kernel.assumptions else { return Ok(()) };
    let failed = |source| Error::Domain { iname: "assumptions".to_owned(), source };
    let set = isl::Set::parse(context, text).map_err(failed)?;
    let names = set.param_names().map_err(failed)?;
    let values: Vec<(&str, i64)> = kernel
        .parameters
        .iter()
        .zip(parameters)
        .filter(|(parameter, _)| names.contains(&parameter.name))
        .map(|(parameter, &value)| (parameter.name.as_str(), value))
        .collect();
    match set.fix_params(&values).and_then(|set| set.is_empty()).map_err(failed)? {
        true => Err(Error::Assumptions { assumptions: text.clone() }),
        false => Ok(()),
    }
}

/// Domains connected by enclosing inames, as lists of positions.
fn components(kernel: &Kernel) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..kernel.domains.len()).collect();
    for (idx, domain) in kernel.domains.iter().enumerate() {
        for &outer in &domain.enclosing {
            let (old, new) = (leader[idx], leader[kernel[outer].domain.index()]);
            leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = new);
        }
    }
    let mut res: Vec<Vec<usize>> = vec![Vec::new(); kernel.domains.len()];
    for (idx, leader) in leader.into_iter().enumerate() {
        res[leader].push(idx);
    }
    res.retain(|component| !component.is_empty());
    res
}
