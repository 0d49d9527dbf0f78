//! The values of each iname: constant bounds, the inames they depend on, and whether an index stays within them.
//!
//! # Method
//! isl reads them from the domains once. A domain that is the product of its projections counts as one domain for each
//! of its inames; in any other, each iname depends on all the rest.
//! # Not done
//! Inames with dependences have bounds, but [`Ranges::containment`] decides little about them.

use std::cell::RefCell;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{InameId, InameSet, Kernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

/// Rows that keep an element for each iteration of a loop are at most so long.
const MAX_END: i64 = 4096;

/// Whether something holds for all instances, for none, or cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// For every instance.
    Always,
    /// For no instance.
    Never,
    /// It differs, or is not known.
    Unknown,
}

#[derive(Clone, Debug)]
struct Range {
    /// The least and greatest value, if they are constants.
    bounds: (Option<i64>, Option<i64>),
    /// Whether every integer between constant bounds is a value.
    is_interval: bool,
    /// Inames on whose values the range depends.
    dependencies: InameSet,
    /// The inames that bound each other with this one, itself included.
    component: InameSet,
    /// The values, dimension `x`; of an iname with dependences the projection of its domain.
    set: isl::Set,
}

/// The values of all inames of a kernel.
#[derive(Debug)]
pub(crate) struct Ranges {
    ranges: Vec<Range>,
    subsets: RefCell<FxHashMap<(InameId, InameId), bool>>,
}

impl Ranges {
    /// What [`Ranges::text`] calls the iname.
    pub(crate) const DIM: &str = "x";

    /// The ranges of the inames of a kernel.
    pub(crate) fn new(kernel: &Kernel, domains: &Domains) -> Result<Self, DomainError> {
        let mut ranges: Vec<Option<Range>> = vec![None; kernel.inames.len()];
        for domain in kernel.domain_ids() {
            let inames = &kernel[domain].inames;
            let is_product = inames.len() == 1 || is_product(domains.set(domain))?;
            for &iname in inames {
                let name = kernel[iname].name.as_str();
                let projection = domains.projection(iname)?;
                let mut dependencies = InameSet::new();
                for &outer in &kernel[domain].enclosing {
                    if !is_product || projection.involves(&kernel[outer].name)? {
                        dependencies.insert(outer);
                    }
                }
                if !is_product {
                    dependencies.extend(inames.iter().copied().filter(|&other| other != iname));
                }
                let component =
                    if is_product { std::iter::once(iname).collect() } else { inames.iter().copied().collect() };
                ranges[iname.index()] = Some(Range::new(domains, iname, name, dependencies, component)?);
            }
        }
        let ranges = ranges.into_iter().map(|range| range.expect("every iname is in one domain")).collect();
        Ok(Self { ranges, subsets: RefCell::default() })
    }

    /// Adds the range of an iname that ranges over the values of `origin`, with other inames to depend on.
    pub(crate) fn push_copy(&mut self, origin: InameId, dependencies: InameSet, component: InameSet) {
        let mut range = self.ranges[origin.index()].clone();
        range.dependencies = dependencies;
        range.component = component;
        self.ranges.push(range);
    }

    /// The inames on whose values the range of `iname` depends.
    pub(crate) fn dependencies(&self, iname: InameId) -> &InameSet {
        &self.ranges[iname.index()].dependencies
    }

    /// The inames whose ranges and that of `iname` bound each other, itself included.
    pub(crate) fn component(&self, iname: InameId) -> &InameSet {
        &self.ranges[iname.index()].component
    }

    /// Whether the range of `iname` has to do with no other.
    pub(crate) fn is_alone(&self, iname: InameId) -> bool {
        self.component(iname).len() == 1 && self.dependencies(iname).is_empty()
    }

    /// Whether, besides, no range has to do with that of `iname`.
    pub(crate) fn is_independent(&self, iname: InameId) -> bool {
        self.is_alone(iname) && !self.ranges.iter().any(|range| range.dependencies.contains(iname))
    }

    /// The inames outside its component on whose values the range of `iname` depends.
    pub(crate) fn enclosing(&self, iname: InameId) -> impl Iterator<Item = InameId> + '_ {
        let range = &self.ranges[iname.index()];
        range.dependencies.iter().filter(|&outer| !range.component.contains(outer))
    }

    /// The least and greatest value of `iname`, where they are constants.
    pub(crate) fn bounds(&self, iname: InameId) -> (Option<i64>, Option<i64>) {
        self.ranges[iname.index()].bounds
    }

    /// At most how many values `iname` takes, if that is a number.
    pub(crate) fn trips(&self, iname: InameId) -> Option<i64> {
        let (first, last) = self.bounds(iname);
        Some(last? - first? + 1)
    }

    /// How many elements a row has that is indexed by `iname`, if these are few and its values are not negative.
    pub(crate) fn end_of_row(&self, iname: InameId) -> Option<i64> {
        match self.bounds(iname) {
            (Some(0..), Some(last @ ..MAX_END)) => Some(last + 1),
            _ => None,
        }
    }

    /// Whether the values of `iname` are all integers between constant bounds.
    pub(crate) fn is_interval(&self, iname: InameId) -> bool {
        self.ranges[iname.index()].is_interval
    }

    /// The values of `iname`, in isl's notation: equal for inames with equal values, as far as isl writes them alike.
    pub(crate) fn text(&self, iname: InameId) -> String {
        self.ranges[iname.index()].set.to_string()
    }

    /// By how much the values of `b` are greater than those of `a`, if they are the same but for a constant; `None` where that is not known.
    pub(crate) fn distance(&self, a: InameId, b: InameId) -> Option<i64> {
        let (from, to) = (&self.ranges[a.index()], &self.ranges[b.index()]);
        let distance = to.bounds.0?.checked_sub(from.bounds.0?)?;
        if from.is_interval && to.is_interval {
            return (self.trips(a) == self.trips(b)).then_some(distance);
        }
        let moved = isl::Affine::var(Self::DIM).add(&isl::Affine::constant(distance)).ok()?;
        let moved = from.set.apply(&isl::Map::from_affine(&from.set, None, &[moved]).ok()?).ok()?;
        moved.with_dim_names(&[Self::DIM]).ok()?.is_equal(&to.set).ok()?.then_some(distance)
    }

    /// The least and greatest value of an affine function, where they are known to be constants.
    pub(crate) fn interval(&self, affine: &Affine) -> (Option<i64>, Option<i64>) {
        let (mut least, mut greatest) = (Some(affine.constant), Some(affine.constant));
        for &(var, coefficient) in &affine.terms {
            let (low, high) = match var {
                Var::Iname(iname) => self.bounds(iname),
                Var::Parameter(_) => (None, None),
            };
            let (low, high) = if coefficient > 0 { (low, high) } else { (high, low) };
            let add = |sum: Option<i64>, bound: Option<i64>| sum?.checked_add(bound?.checked_mul(coefficient)?);
            (least, greatest) = (add(least, low), add(greatest, high));
        }
        (least, greatest)
    }

    /// Whether the values of an affine function are values of `iname`.
    pub(crate) fn containment(&self, iname: InameId, value: &Affine) -> Answer {
        let range = &self.ranges[iname.index()];
        let (least, greatest) = self.interval(value);
        let is_below = |a: Option<i64>, b: Option<i64>| matches!((a, b), (Some(a), Some(b)) if a < b);
        if is_below(greatest, range.bounds.0) || is_below(range.bounds.1, least) {
            return Answer::Never;
        }
        if !range.dependencies.is_empty() {
            return Answer::Unknown;
        }
        let is_at_most = |a: Option<i64>, b: Option<i64>| matches!((a, b), (Some(a), Some(b)) if a <= b);
        if range.is_interval && is_at_most(range.bounds.0, least) && is_at_most(greatest, range.bounds.1) {
            return Answer::Always;
        }
        match value.as_iname() {
            Some(other) if self.is_subset(other, iname) => Answer::Always,
            _ => Answer::Unknown,
        }
    }

    /// Whether every value of `inner` is one of `outer`, whatever `inner` depends on.
    fn is_subset(&self, inner: InameId, outer: InameId) -> bool {
        if inner == outer {
            return true;
        }
        *self.subsets.borrow_mut().entry((inner, outer)).or_insert_with(|| {
            self.ranges[inner.index()].set.is_subset(&self.ranges[outer.index()].set).unwrap_or(false)
        })
    }
}

impl Range {
    fn new(
        domains: &Domains,
        iname: InameId,
        name: &str,
        dependencies: InameSet,
        component: InameSet,
    ) -> Result<Self, DomainError> {
        let alone = std::iter::once(iname).collect();
        let own = domains.of(&alone)?;
        let set = own.with_dim_names(&[Ranges::DIM])?;
        let (bounds, is_interval) = domains.once("range", &alone, || {
            let bounds = (own.dim_min_val(name).ok().flatten(), own.dim_max_val(name).ok().flatten());
            let is_interval = match bounds {
                (Some(least), Some(greatest)) => holds_all(domains.context(), &set, (least, greatest))?,
                _ => false,
            };
            Ok((bounds, is_interval))
        })?;
        Ok(Self { bounds, is_interval, dependencies, component, set })
    }
}

/// The first and last value of a set of one dimension, if it is all integers between, whatever its parameters are.
pub(crate) fn interval(context: &isl::Context, set: &isl::Set, name: &str) -> Result<Option<(i64, i64)>, isl::Error> {
    let (Some(least), Some(greatest)) = (set.dim_min_val(name)?, set.dim_max_val(name)?) else { return Ok(None) };
    let set = set.with_dim_names(&[Ranges::DIM])?;
    Ok(holds_all(context, &set, (least, greatest))?.then_some((least, greatest)))
}

/// Whether every integer between two, both included, is in a set over [`Ranges::DIM`].
fn holds_all(context: &isl::Context, set: &isl::Set, (least, greatest): (i64, i64)) -> Result<bool, isl::Error> {
    let x = isl::Affine::var(Ranges::DIM);
    let constraints = [
        isl::Constraint::inequality(x.add(&isl::Affine::constant(least).scale(-1)?)?),
        isl::Constraint::inequality(isl::Affine::constant(greatest).sub(&x)?),
    ];
    isl::Set::from_constraints(context, &[], &[Ranges::DIM], &constraints)?.is_subset(set)
}

/// Whether a set is the product of its projections on each dimension.
fn is_product(set: &isl::Set) -> Result<bool, isl::Error> {
    let set = set.set_tuple_name(None)?;
    if set.is_box()? {
        return Ok(true);
    }
    let names = set.dim_names()?;
    let projections =
        names.iter().map(|name| set.project_onto(&[name.as_str()])).collect::<Result<Vec<_>, isl::Error>>()?;
    isl::Set::combine(&projections)?.is_equal(&set)
}
