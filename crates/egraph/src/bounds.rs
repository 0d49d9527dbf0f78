//! Which accesses are inside their arrays, and which domains always have points.

use std::cell::RefCell;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{ArrayId, InameId, InameSet, Kernel};
use nestegg_isl as isl;
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use crate::context::Index;

/// An array with indices into it.
type Element = (ArrayId, Box<[Index]>);

/// Constant bounds of inames, where there are any; isl for the rest.
#[derive(Debug)]
pub struct Bounds<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    /// For each iname its least and greatest value.
    ranges: Vec<Option<(i64, i64)>>,
    /// For each iname how many values it has, where that does not depend on anything.
    extents: Vec<Option<i64>>,
    /// For each iname whether its domain is a box of constant, positive size.
    boxes: Vec<bool>,
    inside: RefCell<FxHashMap<Element, bool>>,
    /// Answers of [`Bounds::around`], by its arguments.
    around: RefCell<FxHashMap<(InameSet, InameSet), InameSet>>,
}

impl<'a> Bounds<'a> {
    /// The bounds of a kernel's inames.
    ///
    /// # Errors
    /// If isl fails.
    pub fn new(kernel: &'a Kernel, domains: &'a Domains) -> Result<Self, DomainError> {
        let mut res = Self {
            kernel,
            domains,
            ranges: vec![None; kernel.inames.len()],
            extents: vec![None; kernel.inames.len()],
            boxes: vec![false; kernel.inames.len()],
            inside: RefCell::default(),
            around: RefCell::default(),
        };
        for domain in kernel.domain_ids() {
            let set = domains.set(domain);
            let is_closed = kernel[domain].enclosing.is_empty() && kernel[domain].parameters.is_empty();
            let is_box = is_closed && set.is_box()? && !set.is_empty()?;
            for &iname in &kernel[domain].inames {
                let name = &kernel[iname].name;
                if !is_closed {
                    continue;
                }
                if let (Some(lower), Some(upper)) = (set.dim_min_val(name)?, set.dim_max_val(name)?) {
                    res.ranges[iname.index()] = Some((lower, upper));
                    res.extents[iname.index()] = if is_box {
                        Some(upper - lower + 1)
                    } else if kernel[domain].inames.len() == 1 {
                        set.count()?.to_i64()
                    } else {
                        None
                    };
                }
                res.boxes[iname.index()] = is_box;
            }
        }
        Ok(res)
    }

    /// For each iname its least value, where it takes all values from there to its greatest one whatever the others are.
    #[must_use]
    pub fn starts(&self) -> Vec<Option<i64>> {
        let start = |(range, is_box): (&Option<(i64, i64)>, &bool)| range.filter(|_| *is_box).map(|(lower, _)| lower);
        self.ranges.iter().zip(&self.boxes).map(start).collect()
    }

    /// For each iname how many values it has, where that does not depend on anything.
    #[must_use]
    pub fn extents(&self) -> Vec<Option<i64>> {
        self.extents.clone()
    }

    /// Whether an instruction within these inames runs for every value of any subset of them.
    #[must_use]
    pub fn always_runs(&self, inames: &InameSet) -> bool {
        inames.iter().all(|iname| self.boxes[iname.index()])
    }

    /// Inames with those that enclose their domains.
    #[must_use]
    pub fn with_enclosing(&self, inames: &InameSet) -> InameSet {
        inames.iter().fold(inames.clone(), |all, iname| all.union(self.domains.enclosing(iname)))
    }

    /// `own` with those of `loops` that are needed around it: what runs within all of them runs at every point of the result. Inner loops,
    /// which have the greater numbers, are left out first; those that enclose others of the result never.
    ///
    /// # Errors
    /// If isl fails.
    pub fn around(&self, own: &InameSet, loops: &InameSet) -> Result<InameSet, DomainError> {
        let own = self.with_enclosing(own);
        let all = own.union(loops);
        if self.always_runs(&all.difference(&own)) {
            return Ok(own);
        }
        let key = (own, all.clone());
        if let Some(known) = self.around.borrow().get(&key) {
            return Ok(known.clone());
        }
        let mut res = all.clone();
        for iname in all.difference(&key.0).iter().rev() {
            let rest = res.difference(&[iname].into_iter().collect());
            let encloses = rest.iter().any(|inner| self.domains.enclosing(inner).contains(iname));
            if !encloses && (self.boxes[iname.index()] || self.is_projection(&rest, &res)?) {
                res = rest;
            }
        }
        self.around.borrow_mut().insert(key, res.clone());
        Ok(res)
    }

    /// Whether what runs within all of `inames` runs at every point of the joint domain of these `some` of them.
    fn is_projection(&self, some: &InameSet, inames: &InameSet) -> Result<bool, DomainError> {
        let names: Vec<&str> = some.iter().map(|iname| self.kernel[iname].name.as_str()).collect();
        Ok(self.domains.of(some)?.is_subset(&self.domains.of(inames)?.project_onto(&names)?)?)
    }

    /// Whether an access is inside its array for all values of its inames in their domains.
    ///
    /// # Errors
    /// If isl fails.
    pub fn is_inside(&self, array: ArrayId, indices: &[Index]) -> Result<bool, DomainError> {
        let key = (array, indices.to_vec().into_boxed_slice());
        if let Some(&known) = self.inside.borrow().get(&key) {
            return Ok(known);
        }
        let mut res = true;
        for (index, &size) in indices.iter().zip(&self.kernel[array].shape) {
            res = res
                && match (index, nestegg_ir::affine::of(&self.kernel.exprs, size)) {
                    (Index::Affine(index), Some(size)) => {
                        self.is_inside_constant(index, &size) || self.is_inside_by_isl(index, &size)?
                    }
                    _ => false,
                };
        }
        self.inside.borrow_mut().insert(key, res);
        Ok(res)
    }

    fn is_inside_constant(&self, index: &Affine, size: &Affine) -> bool {
        let Some(size) = size.as_constant() else { return false };
        let (mut lower, mut upper) = (Some(index.constant), Some(index.constant));
        for &(var, coefficient) in &index.terms {
            let range = match var {
                Var::Iname(iname) => self.ranges[iname.index()],
                Var::Parameter(_) => None,
            };
            let Some((low, high)) = range else { return false };
            let (low, high) = if coefficient < 0 { (high, low) } else { (low, high) };
            let plus = |sum: Option<i64>, value: i64| sum?.checked_add(value.checked_mul(coefficient)?);
            (lower, upper) = (plus(lower, low), plus(upper, high));
        }
        lower.is_some_and(|lower| lower >= 0) && upper.is_some_and(|upper| upper < size)
    }

    fn is_inside_by_isl(&self, index: &Affine, size: &Affine) -> Result<bool, DomainError> {
        let inames: InameSet = index.inames().collect::<Vec<InameId>>().into_iter().collect();
        let set = self.domains.of(&inames)?;
        let index = self.domains.affine(index)?;
        let size = self.domains.affine(size)?;
        let below = isl::Affine::constant(-1).sub(&index)?;
        let above = index.sub(&size)?;
        for outside in [below, above] {
            let known: Vec<String> = set.dim_names()?.into_iter().chain(set.param_names()?).collect();
            let missing: Vec<&str> =
                outside.names().into_iter().filter(|name| !known.iter().any(|k| k == name)).collect();
            let set = if missing.is_empty() { set.clone() } else { set.with_params(&missing)? };
            if !set.constrain_by(&isl::Constraint::inequality(outside))?.is_empty()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
