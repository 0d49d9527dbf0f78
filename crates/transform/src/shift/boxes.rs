//! Boxes that hold all uses of a value: for each formal a least and a greatest value, affine in the kernel's parameters.
//!
//! # Method
//! The bounds of inames are constants where isl knows them, else affine bounds of their projections: a box may hold more than the uses.
//! Bounds are compared where they differ by a number; points are counted with the values that the cost model assumes. That an index is inside its
//! array is seen from the bounds, or proved by isl for all values of the parameters for which the box has points.

use std::cell::RefCell;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{InameId, InameSet, Kernel, ParameterId};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::shift::values::{At, iname_of};
use crate::workspace::Workspace;

/// The least and the greatest value of a formal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) low: Affine,
    pub(crate) high: Affine,
}

/// One for each formal.
pub(crate) type Hull = Vec<Interval>;

impl Interval {
    /// Moved by a number.
    pub(crate) fn shifted(&self, offset: i64) -> Option<Self> {
        let offset = Affine::constant(offset);
        Some(Self { low: self.low.plus(&offset, 1)?, high: self.high.plus(&offset, 1)? })
    }

    /// All values of both; `None` if their bounds cannot be compared.
    pub(crate) fn joined(&self, other: &Self) -> Option<Self> {
        let low = if difference(&self.low, &other.low)? <= 0 { &self.low } else { &other.low };
        let high = if difference(&self.high, &other.high)? >= 0 { &self.high } else { &other.high };
        Some(Self { low: low.clone(), high: high.clone() })
    }

    /// How many values there are, if there are any.
    pub(crate) fn extent(&self) -> Option<Affine> {
        self.high.plus(&self.low, -1)?.plus(&Affine::constant(1), 1)
    }
}

/// `a - b` if it is a number.
fn difference(a: &Affine, b: &Affine) -> Option<i64> {
    a.plus(b, -1)?.as_constant()
}

/// The boxes of a kernel.
pub(crate) struct Boxes<'a> {
    workspace: &'a Workspace,
    /// What the cost model assumes of parameters.
    values: Vec<Option<i64>>,
    inames: RefCell<FxHashMap<InameId, Option<Interval>>>,
    /// What isl said of sets of parameters.
    empty: RefCell<FxHashMap<String, bool>>,
}

impl<'a> Boxes<'a> {
    /// The boxes of a kernel whose parameters are assumed to have these values.
    pub(crate) fn new(workspace: &'a Workspace, values: &[(String, i64)]) -> Self {
        let value = |name: &String| values.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
        let values = workspace.kernel.parameters.iter().map(|parameter| value(&parameter.name).or(parameter.estimate));
        Self { workspace, values: values.collect(), inames: RefCell::default(), empty: RefCell::default() }
    }

    /// The values of an iname, or more; `None` if they have no bounds that are affine.
    pub(crate) fn of_iname(&self, iname: InameId) -> Option<Interval> {
        if let (Some(low), Some(high)) = self.workspace.ranges.bounds(iname) {
            return Some(Interval { low: Affine::constant(low), high: Affine::constant(high) });
        }
        self.inames.borrow_mut().entry(iname).or_insert_with(|| self.bounds(iname)).clone()
    }

    fn bounds(&self, iname: InameId) -> Option<Interval> {
        let domains = &self.workspace.domains;
        let name = self.workspace.kernel.inames.get(iname.index()).map(|iname| &iname.name)?;
        let set = domains.of(&[iname].into_iter().collect()).ok()?;
        let bounds = set.loop_bounds(name, &[]).ok()?;
        let affine = |side: &[Vec<isl::Bound>]| -> Vec<Affine> {
            let [all] = side else { return Vec::new() };
            let whole = all.iter().filter(|bound| bound.denominator == 1);
            whole.filter_map(|bound| domains.in_parameters(&bound.numerator)).collect()
        };
        // The greatest of lower bounds, and the least of upper ones, as far as can be told.
        let low = match set.dim_min_val(name).ok()? {
            Some(low) => Affine::constant(low),
            None => affine(&bounds.lower).into_iter().max_by_key(|bound| self.value(bound))?,
        };
        let high = match set.dim_max_val(name).ok()? {
            Some(high) => Affine::constant(high),
            None => affine(&bounds.upper).into_iter().min_by_key(|bound| self.value(bound))?,
        };
        Some(Interval { low, high })
    }

    /// The value of a function of parameters, where theirs are known.
    fn value(&self, affine: &Affine) -> Option<i64> {
        affine.terms.iter().try_fold(affine.constant, |sum, &(var, coefficient)| {
            let Var::Parameter(parameter) = var else { return None };
            sum.checked_add(coefficient.checked_mul(self.values[parameter.index()]?)?)
        })
    }

    /// The number of points of a box; `None` if it has none, or that cannot be told.
    pub(crate) fn points(&self, hull: &Hull) -> Option<u128> {
        hull.iter().try_fold(1_u128, |all, interval| {
            let extent = u128::try_from(self.value(&interval.extent()?)?).ok()?;
            (extent > 0).then(|| all.saturating_mul(extent))
        })
    }

    /// How often a value is computed that is needed at these offsets of inames: once for each of their values, and of those of the inames
    /// that enclose them.
    pub(crate) fn runs(&self, at: &At) -> Option<u128> {
        let (domains, ranges) = (&self.workspace.domains, &self.workspace.ranges);
        let mut inames: InameSet = at.iter().map(|&(var, _)| iname_of(var)).collect();
        if inames.iter().all(|iname| ranges.is_alone(iname)) {
            return self.points(&inames.iter().map(|iname| self.of_iname(iname)).collect::<Option<Hull>>()?);
        }
        for iname in inames.clone().iter() {
            inames = inames.union(domains.enclosing(iname));
        }
        u128::try_from(domains.count(&inames).ok()?).ok()
    }

    /// Whether an index with these values is one of a dimension of this size, where the box that it depends on has points.
    pub(crate) fn is_inside(&self, index: &Interval, size: &Affine, hull: &Hull) -> bool {
        let last = size.plus(&Affine::constant(-1), 1);
        let is_plain = index.low.as_constant().is_some_and(|low| low >= 0)
            && last.as_ref().and_then(|last| difference(last, &index.high)).is_some_and(|rest| rest >= 0);
        let is_symbolic = !index.low.terms.is_empty() || !index.high.terms.is_empty() || !size.terms.is_empty();
        is_plain || (is_symbolic && self.is_always_inside(index, size, hull).unwrap_or(false))
    }

    /// Whether no values of the parameters give the box points and put the index outside.
    fn is_always_inside(&self, index: &Interval, size: &Affine, hull: &Hull) -> Option<bool> {
        let (kernel, domains) = (&self.workspace.kernel, &self.workspace.domains);
        let mut conditions = Vec::with_capacity(hull.len() + 1);
        for interval in hull {
            conditions.push(format!("{} <= {}", text(kernel, &interval.low), text(kernel, &interval.high)));
        }
        let [low, high, size] = [&index.low, &index.high, size].map(|affine| text(kernel, affine));
        conditions.push(format!("({low} < 0 or {high} >= {size})"));
        let all = kernel.parameters.iter().map(|parameter| parameter.name.as_str());
        let outside = format!("[{}] -> {{ : {} }}", all.collect::<Vec<_>>().join(", "), conditions.join(" and "));
        if let Some(&known) = self.empty.borrow().get(&outside) {
            return Some(known);
        }
        let set = isl::Set::parse(domains.context(), &outside).ok()?;
        let set = match domains.assumptions() {
            Some(assumptions) => set.intersect_params(assumptions).ok()?,
            None => set,
        };
        let is_empty = set.is_empty().ok()?;
        self.empty.borrow_mut().insert(outside, is_empty);
        Some(is_empty)
    }
}

/// The parameters that some bounds depend on, in increasing order.
pub(crate) fn parameters<'b>(bounds: impl IntoIterator<Item = &'b Affine>) -> Vec<ParameterId> {
    let terms = bounds.into_iter().flat_map(|bound| bound.terms.iter());
    let mut res: Vec<ParameterId> = terms
        .filter_map(|&(var, _)| match var {
            Var::Parameter(parameter) => Some(parameter),
            Var::Iname(_) => None,
        })
        .collect();
    res.sort_unstable();
    res.dedup();
    res
}

/// A function of parameters as isl writes it.
pub(crate) fn text(kernel: &Kernel, affine: &Affine) -> String {
    let name = |var: Var| match var {
        Var::Iname(iname) => kernel[iname].name.clone(),
        Var::Parameter(parameter) => kernel[parameter].name.clone(),
    };
    let terms = affine.terms.iter().map(|&(var, coefficient)| (name(var), coefficient));
    isl::Affine::new(affine.constant, terms).expect("each variable comes once").to_string()
}
