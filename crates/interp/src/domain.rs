//! The values that an iname takes, given the values of the inames around it.
//!
//! # Input
//! The domains of a kernel and values of its parameters.
//! # Output
//! [`Bounds`]: plain affine constraints that give, for values of the outer inames, the exact values of an iname: those of the
//! domain projected on the outer inames and it.
//! # Method
//! isl fixes the parameters and combines each domain with those that enclose it; inames that share a constraint are
//! *tied*. [`Domains::bounds`] combines the domains of an iname and of the open inames that are tied to it, projects the result
//! and reads its constraints; domains inside them are not asked, so a loop also runs where loops inside it are empty. Evaluating them takes no isl:
//! ceil-divisions and floor-divisions give an interval, constraints with integer divisions and overlapping pieces are checked
//! point by point. A domain that is a box whatever the parameters are needs no isl after its text was read once: [`Sides`] has its bounds.
//! # Complexity
//! A projection for each distinct (iname, open inames of its group); evaluation is linear in the constraints.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use nestegg_ir::{InameId, Kernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::error::Error;

/// A thread keeps so many sets that it has read.
const MAX_KNOWN: usize = 256;

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
            res += i128::from(*coefficient) * floor_div(row.evaluate(env), i128::from(*divisor));
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
                hi =
                    hi.min(if coefficient < 0 { floor_div(rest, -coefficient) } else { floor_div(-rest, coefficient) });
            }
        }
        (lo <= hi).then_some((lo, hi))
    }
}

/// The quotient rounded down, for a positive divisor. Most divisors are 1, and nearly all numbers are short.
pub(crate) fn floor_div(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        _ if b == 1 => a,
        (Ok(a), Ok(b)) => i128::from(a.div_euclid(b)),
        _ => a.div_euclid(b),
    }
}

/// The quotient rounded up, for a positive divisor.
pub(crate) fn ceil_div(a: i128, b: i128) -> i128 {
    -floor_div(-a, b)
}

/// The values of an iname for values of the inames around it.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    iname: InameId,
    pieces: Vec<Piece>,
    hull: (i64, i64),
    /// Whether the values are all from the least to the greatest, whatever those of other inames.
    is_box: bool,
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

    /// Where a value is among them.
    pub(crate) fn position(&self, value: i64) -> Option<usize> {
        match self {
            Self::Interval(lo, hi) if (*lo..=*hi).contains(&value) => usize::try_from(value - lo).ok(),
            Self::Interval(..) => None,
            Self::List(values) => values.iter().position(|&it| it == value),
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
    /// The least and greatest value for any values of other inames; the first is greater where there is none.
    pub(crate) fn hull(&self) -> (i64, i64) {
        self.hull
    }

    /// The least and greatest value, if all between are values, whatever those of other inames.
    pub(crate) fn as_box(&self) -> Option<(i64, i64)> {
        self.is_box.then_some(self.hull)
    }

    /// An upper bound of the number of values.
    pub(crate) fn max_len(&self) -> u64 {
        if self.pieces.is_empty() {
            return 0;
        }
        u64::try_from(i128::from(self.hull.1) - i128::from(self.hull.0) + 1).unwrap_or(0)
    }

    /// The least and the greatest value for the values of other inames in `env`, and whether all between are values, too; the iname's own entry is
    /// changed. `None` if there is no value in sight.
    pub(crate) fn range(&self, env: &mut [i64]) -> Option<(i64, i64, bool)> {
        if self.is_box {
            return Some((self.hull.0, self.hull.1, true));
        }
        env[self.iname.index()] = 0;
        let mut res: Option<(i64, i64, bool)> = None;
        for piece in &self.pieces {
            let Some((lo, hi)) = piece.interval(self.iname, env, self.hull) else { continue };
            let (lo, hi) = (lo as i64, hi as i64);
            res = Some(match res {
                None => (lo, hi, piece.checks.is_empty()),
                Some((least, greatest, _)) => (least.min(lo), greatest.max(hi), false),
            });
        }
        res
    }

    /// Whether this is one of the values.
    pub(crate) fn holds(&self, env: &mut [i64], value: i64) -> bool {
        env[self.iname.index()] = 0;
        let intervals =
            self.pieces.iter().filter_map(|piece| Some((piece, piece.interval(self.iname, env, self.hull)?)));
        let near: Vec<&Piece> = intervals
            .filter(|(_, (lo, hi))| (*lo..=*hi).contains(&i128::from(value)))
            .map(|(piece, _)| piece)
            .collect();
        env[self.iname.index()] = value;
        near.iter().any(|piece| piece.checks.iter().all(|check| check.holds(env)))
    }

    /// The greatest value from `lo` to `hi`.
    pub(crate) fn last(&self, env: &mut [i64], lo: i64, hi: i64) -> Option<i64> {
        let (least, greatest, is_dense) = self.range(env)?;
        let (lo, hi) = (lo.max(least), hi.min(greatest));
        match is_dense {
            true => (lo <= hi).then_some(hi),
            false => (lo..=hi).rev().find(|&value| self.holds(env, value)),
        }
    }

    /// The values for the values of other inames in `env`; the iname's own entry is changed.
    pub(crate) fn values(&self, env: &mut [i64]) -> Option<Values> {
        if self.is_box {
            return Some(Values::Interval(self.hull.0, self.hull.1));
        }
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

/// A constraint that bounds at most one iname, of a domain that is a box: `coefficient·iname + rest >= 0`, or `= 0`.
#[derive(Clone, Debug)]
struct Side {
    iname: Option<(String, i64)>,
    constant: i64,
    parameters: Vec<(String, i64)>,
    is_equality: bool,
}

/// All constraints of a domain that is a box for any values of its parameters.
#[derive(Clone, Debug)]
struct Sides(Vec<Side>);

impl Sides {
    /// Those of a set; `None` if it is something else.
    fn of(set: &isl::Set) -> isl::Result<Option<Self>> {
        let (dims, pieces) = (set.dim_names()?, set.constraints()?);
        let [piece] = pieces.as_slice() else { return Ok(None) };
        let mut sides = Vec::with_capacity(piece.len());
        for constraint in piece {
            let affine = &constraint.affine;
            let (inames, parameters): (Vec<_>, Vec<_>) =
                affine.terms.iter().cloned().partition(|(name, _)| dims.contains(name));
            let is_equality = constraint.relation == isl::Relation::Equality;
            // An equality may have no whole solution.
            let is_exact = !is_equality || inames.iter().all(|(_, coefficient)| coefficient.abs() == 1);
            if inames.len() > 1 || !affine.floors.is_empty() || !is_exact {
                return Ok(None);
            }
            let iname = inames.into_iter().next();
            sides.push(Side { iname, constant: affine.constant, parameters, is_equality });
        }
        Ok(Some(Self(sides)))
    }

    /// The least and greatest value of each iname; `None` if one has no bound or is beyond 64 bits. All are empty if one is.
    fn hulls(&self, inames: &[&str], parameters: &[(&str, i64)]) -> Option<Vec<(i64, i64)>> {
        let mut sides: Vec<(Option<i128>, Option<i128>)> = vec![(None, None); inames.len()];
        let mut is_empty = false;
        for side in &self.0 {
            let mut rest = i128::from(side.constant);
            for (name, coefficient) in &side.parameters {
                let (_, value) = parameters.iter().find(|(known, _)| known == name)?;
                rest += i128::from(*coefficient) * i128::from(*value);
            }
            let Some((name, coefficient)) = &side.iname else {
                is_empty |= if side.is_equality { rest != 0 } else { rest < 0 };
                continue;
            };
            let (lo, hi) = &mut sides[inames.iter().position(|iname| iname == name)?];
            let coefficient = i128::from(*coefficient);
            if coefficient > 0 || side.is_equality {
                let least = if coefficient > 0 { ceil_div(-rest, coefficient) } else { ceil_div(rest, -coefficient) };
                *lo = Some(lo.map_or(least, |lo| lo.max(least)));
            }
            if coefficient < 0 || side.is_equality {
                let most = if coefficient < 0 { floor_div(rest, -coefficient) } else { floor_div(-rest, coefficient) };
                *hi = Some(hi.map_or(most, |hi| hi.min(most)));
            }
        }
        let bound = |(lo, hi): (Option<i128>, Option<i128>)| Some((i64::try_from(lo?).ok()?, i64::try_from(hi?).ok()?));
        let mut hulls: Vec<(i64, i64)> = sides.into_iter().map(bound).collect::<Option<_>>()?;
        if is_empty || hulls.iter().any(|(lo, hi)| lo > hi) {
            hulls.fill((0, -1));
        }
        Some(hulls)
    }
}

/// The domains of a kernel for given parameter values.
pub(crate) struct Domains<'k> {
    kernel: &'k Kernel,
    by_name: FxHashMap<&'k str, InameId>,
    /// The domains with the parameters' values, in the kernel's order, once they are needed.
    sets: Vec<OnceCell<isl::Set>>,
    /// Those values by name, for each domain.
    values: Vec<Vec<(&'k str, i64)>>,
    /// The least and greatest value of each iname of a domain that is a box and stands alone.
    hulls: FxHashMap<InameId, (i64, i64)>,
    group_of: Vec<usize>,
    /// Inames that share constraints.
    groups: Vec<Vec<InameId>>,
    known: FxHashMap<(InameId, Vec<InameId>), Arc<Bounds>>,
}

impl<'k> Domains<'k> {
    /// Combines the domains of `kernel` at these parameter values.
    pub(crate) fn new(kernel: &'k Kernel, parameters: &[i64]) -> Result<Self, Error> {
        check_assumptions(kernel, parameters)?;
        let mut res = Self {
            kernel,
            by_name: kernel.iname_ids().map(|iname| (kernel[iname].name.as_str(), iname)).collect(),
            sets: vec![OnceCell::new(); kernel.domains.len()],
            values: Vec::with_capacity(kernel.domains.len()),
            hulls: FxHashMap::default(),
            group_of: vec![usize::MAX; kernel.inames.len()],
            groups: Vec::new(),
            known: FxHashMap::default(),
        };
        let name = |domain: usize| match kernel.domains[domain].inames.first() {
            Some(&iname) => kernel[iname].name.clone(),
            None => "no iname".to_owned(),
        };
        for (idx, domain) in kernel.domains.iter().enumerate() {
            let values: Vec<(&str, i64)> = domain
                .parameters
                .iter()
                .map(|&parameter| (kernel[parameter].name.as_str(), parameters[parameter.index()]))
                .collect();
            let sides = if domain.enclosing.is_empty() { sides(&domain.text) } else { Ok(None) };
            let sides = sides.map_err(|source| Error::Domain { iname: name(idx), source })?;
            let inames: Vec<&str> = domain.inames.iter().map(|&iname| kernel[iname].name.as_str()).collect();
            if let Some(hulls) = sides.and_then(|sides| sides.hulls(&inames, &values)) {
                res.hulls.extend(domain.inames.iter().copied().zip(hulls));
            }
            res.values.push(values);
        }
        res.group().map_err(|(domain, source)| Error::Domain { iname: name(domain), source })?;
        Ok(res)
    }

    /// A domain with the parameters' values.
    fn set(&self, idx: usize) -> isl::Result<isl::Set> {
        if let Some(set) = self.sets[idx].get() {
            return Ok(set.clone());
        }
        let set = parsed(&self.kernel.domains[idx].text)?.fix_params(&self.values[idx])?;
        Ok(self.sets[idx].get_or_init(|| set).clone())
    }

    /// These domains and those that enclose them, as sorted positions.
    fn enclosed(&self, domains: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut pending: Vec<usize> = domains.into_iter().collect();
        let mut res: Vec<usize> = Vec::new();
        while let Some(domain) = pending.pop() {
            if !res.contains(&domain) {
                res.push(domain);
                let enclosing = &self.kernel.domains[domain].enclosing;
                pending.extend(enclosing.iter().map(|&outer| self.kernel[outer].domain.index()));
            }
        }
        res.sort_unstable();
        res
    }

    /// The joint set of some domains and those that enclose them. Domains inside these take no point away: where
    /// an inner loop is empty, the outer one still runs.
    fn joint(&self, domains: impl IntoIterator<Item = usize>) -> isl::Result<isl::Set> {
        let sets = self.enclosed(domains).into_iter().map(|idx| self.set(idx)).collect::<isl::Result<Vec<_>>>()?;
        isl::Set::combine(&sets)?.coalesce()
    }

    /// Finds the groups of inames that share constraints; on failure says for which domain.
    fn group(&mut self) -> Result<(), (usize, isl::Error)> {
        let mut leader: Vec<usize> = (0..self.kernel.inames.len()).collect();
        let mut unite = |a: InameId, b: InameId| {
            let (old, new) = (leader[a.index()], leader[b.index()]);
            leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = new);
        };
        for idx in 0..self.sets.len() {
            // An inner domain may hold no point for some values of the inames around it, even where no constraint of the
            // joint set shows both: `i <= k < 1` around `0 <= i` is `i = 0 and k = 0`.
            let domain = &self.kernel.domains[idx];
            for &iname in &domain.inames {
                domain.enclosing.iter().for_each(|&outer| unite(iname, outer));
            }
            // No constraint of a box shows two inames.
            if domain.inames.iter().all(|iname| self.hulls.contains_key(iname)) && domain.enclosing.is_empty() {
                continue;
            }
            let failed = |error| (idx, error);
            let pieces = self.joint([idx]).and_then(|joint| joint.constraints()).map_err(failed)?;
            if let [piece] = pieces.as_slice() {
                for constraint in piece {
                    let mut inames = Vec::new();
                    self.row(&constraint.affine).map_err(failed)?.inames(&mut inames);
                    inames.windows(2).for_each(|pair| unite(pair[0], pair[1]));
                }
            } else {
                let inames = self.enclosed([idx]).into_iter().flat_map(|domain| &self.kernel.domains[domain].inames);
                let inames: Vec<InameId> = inames.copied().collect();
                inames.windows(2).for_each(|pair| unite(pair[0], pair[1]));
            }
        }
        let mut position: FxHashMap<usize, usize> = FxHashMap::default();
        for iname in self.kernel.iname_ids() {
            let group = *position.entry(leader[iname.index()]).or_insert_with(|| {
                self.groups.push(Vec::new());
                self.groups.len() - 1
            });
            self.groups[group].push(iname);
            self.group_of[iname.index()] = group;
        }
        Ok(())
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
    pub(crate) fn tied(&self, iname: InameId) -> &[InameId] {
        &self.groups[self.group_of[iname.index()]]
    }

    /// The bounds of `iname` inside loops over `open`.
    pub(crate) fn bounds(&mut self, iname: InameId, open: &[InameId]) -> Result<Arc<Bounds>, Error> {
        let outer: Vec<InameId> =
            self.tied(iname).iter().copied().filter(|member| *member != iname && open.contains(member)).collect();
        let key = (iname, outer);
        if let Some(bounds) = self.known.get(&key) {
            return Ok(Arc::clone(bounds));
        }
        let bounds = Arc::new(self.read_bounds(iname, &key.1)?);
        self.known.insert(key, Arc::clone(&bounds));
        Ok(bounds)
    }

    fn read_bounds(&self, iname: InameId, outer: &[InameId]) -> Result<Bounds, Error> {
        if let (Some(&hull), []) = (self.hulls.get(&iname), outer) {
            let is_empty = hull.0 > hull.1;
            let pieces = if is_empty { Vec::new() } else { vec![Piece::default()] };
            return Ok(Bounds { iname, pieces, hull, is_box: !is_empty, depends_on: Vec::new() });
        }
        let name = self.kernel[iname].name.as_str();
        let failed = |source| Error::Domain { iname: name.to_owned(), source };
        let names: Vec<&str> = outer.iter().map(|&outer| self.kernel[outer].name.as_str()).chain([name]).collect();
        let domains = outer.iter().chain([&iname]).map(|&iname| self.kernel[iname].domain.index());
        let set = self.joint(domains).and_then(|set| set.project_onto(&names)?.coalesce()).map_err(failed)?;
        let conjunctions = set.constraints().map_err(failed)?;
        let mut bounds = Bounds { iname, pieces: Vec::new(), hull: (0, -1), is_box: false, depends_on: Vec::new() };
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
        bounds.is_box =
            bounds.depends_on.is_empty() && matches!(bounds.pieces.as_slice(), [piece] if piece.checks.is_empty());
        Ok(bounds)
    }
}

/// A set from its text. Each thread keeps what it has read: a comparison reads the same domains for each program, size and way of running them.
fn parsed(text: &str) -> isl::Result<isl::Set> {
    known(text, |known| known.set.clone())
}

/// The constraints of a set from its text, if it is a box.
fn sides(text: &str) -> isl::Result<Option<Sides>> {
    known(text, |known| known.sides.clone())
}

/// What is known of a text.
#[derive(Clone)]
struct Known {
    set: isl::Set,
    sides: Option<Sides>,
}

fn known<T>(text: &str, of: impl FnOnce(&Known) -> T) -> isl::Result<T> {
    KNOWN.with_borrow_mut(|(context, known)| {
        if let Some(known) = known.get(text) {
            return Ok(of(known));
        }
        let set = isl::Set::parse(context, text)?;
        let found = Known { sides: Sides::of(&set)?, set };
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        let res = of(&found);
        known.insert(text.to_owned(), found);
        Ok(res)
    })
}

thread_local! {
    static KNOWN: RefCell<(isl::Context, FxHashMap<String, Known>)> = RefCell::default();
}

fn check_assumptions(kernel: &Kernel, parameters: &[i64]) -> Result<(), Error> {
    let Some(text) = &kernel.assumptions else { return Ok(()) };
    let failed = |source| Error::Domain { iname: "assumptions".to_owned(), source };
    let set = parsed(text).map_err(failed)?;
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
