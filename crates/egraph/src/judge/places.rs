//! Where a sample looks: values of parameters, of inames, and of those that reductions bind.
//!
//! # Method
//! Parameters take their estimates, small values, and values beside the constants that expressions decide on, as far as the
//! assumptions allow. An iname takes the least value of its domain, the greatest, or another one; domains that enclose it are decided first.
//! An iname with more than [`MAX_VALUES`] values has that many of them, the same ones in all reductions, with weights that add up to
//! what they stand for: what is true of sums over all values is true of such weighted sums too, whatever the order or the grouping.

use std::rc::Rc;

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{InameId, InameSet, Kernel};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::data::{Palette, mixed};
use super::gap::Gap;
use crate::context::Context;
use crate::language::ReductionId;

/// How many values an iname has in reductions.
const MAX_VALUES: u64 = 4;
/// How many points a reduction may have.
const MAX_POINTS: usize = 256;
/// What a parameter without an estimate is.
const USUAL_PARAMETER: i64 = 7;
/// How often parameters are drawn until the assumptions hold.
const MAX_TRIES: u64 = 8;

/// Which values inames take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Corner {
    Any,
    Greatest,
    Least,
}

/// The points of a reduction, or why there are none.
type Points = Result<Rc<[WeightedPoint]>, Gap>;

/// A point of a reduction, and how many points it stands for.
#[derive(Clone, Debug)]
pub(super) struct WeightedPoint {
    pub(super) values: Vec<i64>,
    pub(super) weight: i64,
}

/// The places of one sample.
#[derive(Debug)]
pub(super) struct Places<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    seed: u64,
    corner: Corner,
    parameters: Vec<i64>,
    values: FxHashMap<InameId, Option<i64>>,
    weighted: FxHashMap<InameId, Rc<[(i64, i64)]>>,
    /// By reduction and the values of inames around it that it depends on.
    points: FxHashMap<(ReductionId, Vec<i64>), Points>,
}

impl<'a> Places<'a> {
    /// The places of a sample by its number.
    pub(super) fn new(kernel: &'a Kernel, domains: &'a Domains, sample: u64, palette: &Palette) -> Self {
        let corner = [Corner::Any, Corner::Greatest, Corner::Least][usize::try_from(sample % 3).unwrap_or(0)];
        let parameters = parameters(kernel, domains, sample, palette);
        Self {
            kernel,
            domains,
            seed: mixed(sample),
            corner,
            parameters,
            values: FxHashMap::default(),
            weighted: FxHashMap::default(),
            points: FxHashMap::default(),
        }
    }

    /// The value of a parameter.
    pub(super) fn parameter(&self, parameter: nestegg_ir::ParameterId) -> i64 {
        self.parameters[parameter.index()]
    }

    /// The value of an iname; `None` if its domain has no point inside those that enclose it. Recursion is as deep as domains nest.
    pub(super) fn value(&mut self, iname: InameId) -> Option<i64> {
        if let Some(&known) = self.values.get(&iname) {
            return known;
        }
        let domain = self.kernel[iname].domain;
        let enclosing: Option<Vec<(InameId, i64)>> =
            self.kernel[domain].enclosing.iter().map(|&outer| Some((outer, self.value(outer)?))).collect();
        let point = enclosing.and_then(|outer| self.point_of(iname, &outer).ok().flatten());
        for (idx, &own) in self.kernel[domain].inames.iter().enumerate() {
            self.values.insert(own, point.as_ref().map(|point| point[idx]));
        }
        self.values.get(&iname).copied().flatten()
    }

    /// A point of the domain of an iname.
    fn point_of(&self, iname: InameId, outer: &[(InameId, i64)]) -> Result<Option<Vec<i64>>, DomainError> {
        let domain = self.kernel[iname].domain;
        let mut set = self.at_parameters(self.domains.set(domain))?;
        let outer: Vec<(&str, i64)> = outer.iter().map(|&(iname, value)| (self.name(iname), value)).collect();
        set = set.fix_params(&outer)?;
        let mut point = Vec::new();
        for &own in &self.kernel[domain].inames {
            let name = self.name(own);
            let (Some(least), Some(greatest)) = (set.dim_min_val(name)?, set.dim_max_val(name)?) else {
                return Ok(None);
            };
            let wanted = match self.corner {
                Corner::Least => least,
                Corner::Greatest => greatest,
                Corner::Any => between(mixed(self.seed ^ own.index() as u64), least, greatest),
            };
            let mut fixed = set.fix(name, wanted)?;
            let mut value = wanted;
            if fixed.is_empty()? {
                (fixed, value) = (set.fix(name, least)?, least);
            }
            point.push(value);
            set = fixed;
        }
        Ok(Some(point).filter(|_| !set.is_empty().unwrap_or(true)))
    }

    /// The points of a reduction where inames around it have these values.
    pub(super) fn points(&mut self, context: &Context, reduction: ReductionId, outer: &[(InameId, i64)]) -> Points {
        let key = (reduction, outer.iter().map(|&(_, value)| value).collect::<Vec<i64>>());
        if let Some(known) = self.points.get(&key) {
            return known.clone();
        }
        let bound = context.reduction(reduction).inames.clone();
        let points = self.weighted_points(context, &bound, outer).map_err(|_| Gap::Domain);
        let points = points.and_then(|points| points.map(Rc::from).ok_or(Gap::Domain));
        self.points.insert(key, points.clone());
        points
    }

    /// Points over `bound`; `None` if there are too many.
    fn weighted_points(
        &mut self,
        context: &Context,
        bound: &[InameId],
        outer: &[(InameId, i64)],
    ) -> Result<Option<Vec<WeightedPoint>>, DomainError> {
        let all: InameSet = bound
            .iter()
            .copied()
            .chain(outer.iter().map(|&(iname, _)| iname))
            .collect::<Vec<_>>()
            .into_iter()
            .collect();
        let mut set = self.at_parameters(&self.domains.of(&all)?)?;
        for &(iname, value) in outer {
            set = set.fix(self.name(iname), value)?;
        }
        let mut parts = vec![(set, WeightedPoint { values: Vec::new(), weight: 1 })];
        for &iname in bound {
            let values = self.weighted(context, iname)?;
            let mut next = Vec::new();
            for (set, point) in parts {
                for &(value, weight) in &*values {
                    let fixed = set.fix(self.name(iname), value)?;
                    if fixed.is_empty()? {
                        continue;
                    }
                    if next.len() >= MAX_POINTS {
                        return Ok(None);
                    }
                    let mut values = point.values.clone();
                    values.push(value);
                    next.push((fixed, WeightedPoint { values, weight: point.weight.saturating_mul(weight) }));
                }
            }
            parts = next;
        }
        Ok(Some(parts.into_iter().map(|(_, point)| point).collect()))
    }

    /// The values that an iname has in reductions, with their weights.
    fn weighted(&mut self, context: &Context, iname: InameId) -> Result<Rc<[(i64, i64)]>, DomainError> {
        if let Some(known) = self.weighted.get(&iname) {
            return Ok(Rc::clone(known));
        }
        let name = self.name(iname);
        let set = self.at_parameters(&self.domains.of(&[iname].into_iter().collect())?)?;
        let mut values = Vec::new();
        if let (Some(least), Some(greatest)) = (set.dim_min_val(name)?, set.dim_max_val(name)?) {
            if least.abs_diff(greatest) < MAX_VALUES {
                values.extend(least..=greatest);
            } else {
                let any = |salt: u64| between(mixed(self.seed ^ salt ^ (iname.index() as u64) << 8), least, greatest);
                values.extend([least, any(1), any(2), greatest]);
            }
        }
        values.sort_unstable();
        values.dedup();
        let mut members = Vec::with_capacity(values.len());
        for value in values {
            if !set.fix(name, value)?.is_empty()? {
                members.push((value, 1));
            }
        }
        let n_left_out = context.extent(iname).map_or(0, |extent| extent - members.len() as i64);
        if let Some(last) = members.last_mut() {
            last.1 += n_left_out;
        }
        let weighted: Rc<[(i64, i64)]> = members.into();
        self.weighted.insert(iname, Rc::clone(&weighted));
        Ok(weighted)
    }

    fn name(&self, iname: InameId) -> &'a str {
        &self.kernel[iname].name
    }

    fn at_parameters(&self, set: &isl::Set) -> Result<isl::Set, DomainError> {
        let values: Vec<(&str, i64)> = self
            .kernel
            .parameters
            .iter()
            .zip(&self.parameters)
            .map(|(parameter, &value)| (parameter.name.as_str(), value))
            .collect();
        Ok(set.fix_params(&values)?)
    }
}

/// Values of parameters that the assumptions allow.
fn parameters(kernel: &Kernel, domains: &Domains, sample: u64, palette: &Palette) -> Vec<i64> {
    let estimates: Vec<i64> =
        kernel.parameters.iter().map(|parameter| parameter.estimate.unwrap_or(USUAL_PARAMETER)).collect();
    let is_allowed = |values: &[i64]| match domains.assumptions() {
        None => true,
        Some(set) => {
            let named: Vec<(&str, i64)> = kernel
                .parameters
                .iter()
                .zip(values)
                .map(|(parameter, &value)| (parameter.name.as_str(), value))
                .collect();
            set.fix_params(&named).and_then(|set| set.is_empty()).is_ok_and(|is_empty| !is_empty)
        }
    };
    if !sample.is_multiple_of(3) {
        for attempt in 0..MAX_TRIES {
            let draw = |idx: usize, estimate: i64| {
                let turn = usize::try_from(sample / 3 + attempt).unwrap_or(0) + idx;
                let beside: Vec<i64> = palette.integers().iter().copied().filter(|value| *value > 0).collect();
                // Sample by sample, where inames take their greatest values, what may lie beyond a constant.
                let small = [1, 2, 3, 5, 9, estimate];
                let candidates = if sample % 3 == 1 && !beside.is_empty() { beside.as_slice() } else { &small };
                candidates[turn % candidates.len()]
            };
            let values: Vec<i64> = estimates.iter().enumerate().map(|(idx, &estimate)| draw(idx, estimate)).collect();
            if is_allowed(&values) {
                return values;
            }
        }
    }
    estimates
}

fn between(hash: u64, least: i64, greatest: i64) -> i64 {
    let n = least.abs_diff(greatest).saturating_add(1);
    least.saturating_add(i64::try_from(hash % n).unwrap_or(0))
}
