//! Sets of instances, with parameters at their values, and the values that affine functions take on them.

use std::cell::RefCell;

use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::sites::{Context, ContextId};
use crate::affine::{self, Affine, Var};
use crate::domains::{DomainError, Domains};
use crate::expr::{Expr, Op};
use crate::ids::{DomainId, ExprId, InameId, ParameterId};
use crate::kernel::Kernel;
use crate::number::Number;

/// An instance, and the values of parameters at which it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    pub(super) instance: Vec<(InameId, i64)>,
    pub(super) parameters: Vec<(ParameterId, i64)>,
}

/// The least and the greatest value of an iname, where they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    Empty,
    Between(i64, i64),
    Unknown,
}

/// The instances of a kernel.
#[derive(Debug)]
pub(super) struct Space<'k> {
    pub(super) kernel: &'k Kernel,
    domains: Domains,
    /// The value of each parameter that has one.
    values: Vec<Option<i64>>,
    ranges: RefCell<FxHashMap<InameId, Range>>,
    /// Whether the inames of a domain take all their values together, whatever other inames are.
    is_free: RefCell<FxHashMap<DomainId, bool>>,
    sets: RefCell<FxHashMap<ContextId, Option<isl::Set>>>,
}

impl<'k> Space<'k> {
    pub(super) fn new(
        context: &isl::Context,
        kernel: &'k Kernel,
        given: &[(String, i64)],
    ) -> Result<Self, DomainError> {
        let value = |parameter: &crate::Parameter| {
            let given = given.iter().rev().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
            // What holds an unstated extent is whatever is accessed.
            given.or(parameter.estimate).filter(|_| parameter.is_stated)
        };
        Ok(Self {
            kernel,
            domains: Domains::new(context, kernel)?,
            values: kernel.parameters.iter().map(value).collect(),
            ranges: RefCell::default(),
            is_free: RefCell::default(),
            sets: RefCell::default(),
        })
    }

    /// The function with the values of parameters in their places.
    fn with_values(&self, affine: &Affine) -> Option<Affine> {
        let mut res = affine.clone();
        for (var, _) in &affine.terms {
            if let Var::Parameter(parameter) = var
                && let Some(value) = self.values[parameter.index()]
            {
                res = res.substitute(*var, &Affine::constant(value))?;
            }
        }
        Some(res)
    }

    /// The affine function that an integer expression is, if it is one.
    fn affine(&self, expr: ExprId) -> Option<Affine> {
        affine::of(&self.kernel.exprs, expr).and_then(|affine| self.with_values(&affine))
    }

    /// The indices of an access; `None` if one is not affine.
    pub(super) fn element(&self, indices: &[ExprId]) -> Option<Vec<Affine>> {
        indices.iter().map(|&index| self.affine(index)).collect()
    }

    /// The number of elements that an extent stands for; `None` if it cannot be told.
    pub(super) fn extent(&self, size: ExprId) -> Option<Affine> {
        if let Some(affine) = self.affine(size) {
            return Some(affine);
        }
        let exprs = &self.kernel.exprs;
        let mut known: FxHashMap<ExprId, i64> = FxHashMap::default();
        for id in crate::walk::below(exprs, [size]) {
            let value = match &exprs[id] {
                Expr::Number(Number::Int(value)) => *value,
                Expr::Parameter(parameter) => self.values[parameter.index()]?,
                Expr::Op { op, operands } => {
                    let values: Vec<i64> =
                        operands.iter().map(|operand| known.get(operand).copied()).collect::<Option<_>>()?;
                    let divisor = values.get(1).copied().filter(|&divisor| divisor > 0);
                    match op {
                        Op::Add => values.iter().try_fold(0_i64, |sum, &value| sum.checked_add(value))?,
                        Op::Mul => values.iter().try_fold(1_i64, |product, &value| product.checked_mul(value))?,
                        Op::Sub => values[0].checked_sub(values[1])?,
                        Op::Neg => values[0].checked_neg()?,
                        Op::Min => *values.iter().min()?,
                        Op::Max => *values.iter().max()?,
                        Op::FloorDiv => values[0].div_euclid(divisor?),
                        Op::Mod => values[0].rem_euclid(divisor?),
                        _ => return None,
                    }
                }
                _ => return None,
            };
            known.insert(id, value);
        }
        known.get(&size).copied().map(Affine::constant)
    }

    /// The set of one iname's values, where outer inames have any.
    fn range(&self, iname: InameId) -> Range {
        if let Some(&known) = self.ranges.borrow().get(&iname) {
            return known;
        }
        let range = self.read_range(iname).unwrap_or(Range::Unknown);
        self.ranges.borrow_mut().insert(iname, range);
        range
    }

    fn read_range(&self, iname: InameId) -> Result<Range, DomainError> {
        let set = self.fixed(&self.domains.of(&std::iter::once(iname).collect())?)?;
        if set.is_empty()? {
            return Ok(Range::Empty);
        }
        let name = &self.kernel[iname].name;
        Ok(match (set.dim_min_val(name)?, set.dim_max_val(name)?) {
            (Some(least), Some(greatest)) => Range::Between(least, greatest),
            _ => Range::Unknown,
        })
    }

    /// The least and greatest value of an iname whose values are all integers between, whatever the other inames are.
    pub(super) fn free_range(&self, iname: InameId) -> Option<(i64, i64)> {
        let Range::Between(least, greatest) = self.range(iname) else { return None };
        let domain = self.kernel[iname].domain;
        let is_box = || self.fixed(self.domains.set(domain)).is_ok_and(|set| set.is_box().unwrap_or(false));
        let is_free = *self
            .is_free
            .borrow_mut()
            .entry(domain)
            .or_insert_with(|| self.kernel[domain].enclosing.is_empty() && is_box());
        is_free.then_some((least, greatest))
    }

    /// Bounds of an affine function on the instances of its inames; `None` if they are not known.
    pub(super) fn interval(&self, affine: &Affine) -> Option<(i64, i64)> {
        let (mut low, mut high) = (affine.constant, affine.constant);
        for &(var, coefficient) in &affine.terms {
            let Var::Iname(iname) = var else { return None };
            let Range::Between(least, greatest) = self.range(iname) else { return None };
            let (a, b) = (coefficient.checked_mul(least)?, coefficient.checked_mul(greatest)?);
            low = low.checked_add(a.min(b))?;
            high = high.checked_add(a.max(b))?;
        }
        Some((low, high))
    }

    /// Whether an iname of the context has no value at all.
    pub(super) fn is_never(&self, context: &Context) -> bool {
        context.inames.iter().any(|iname| self.range(iname) == Range::Empty)
    }

    /// The instances of a context; its dimensions are its inames in increasing order. `None` if isl cannot tell.
    pub(super) fn set(&self, id: ContextId, context: &Context) -> Option<isl::Set> {
        if let Some(known) = self.sets.borrow().get(&id) {
            return known.clone();
        }
        let set = self.read_set(context).ok().flatten();
        self.sets.borrow_mut().insert(id, set.clone());
        set
    }

    fn read_set(&self, context: &Context) -> Result<Option<isl::Set>, DomainError> {
        let mut set = self.domains.of(&context.inames)?;
        for &(condition, holds) in &context.conditions {
            let Some(part) = self.domains.restrict(&set, self.kernel, condition)? else { return Ok(None) };
            set = if holds { part } else { set.subtract(&part)? };
        }
        Ok(Some(self.fixed(&set)?))
    }

    /// The set with parameters at their values.
    fn fixed(&self, set: &isl::Set) -> Result<isl::Set, DomainError> {
        let values = self.kernel.parameters.iter().zip(&self.values);
        let values: Vec<(&str, i64)> =
            values.filter_map(|(parameter, value)| Some((parameter.name.as_str(), (*value)?))).collect();
        Ok(set.fix_params(&values)?)
    }

    /// The function as isl's; inames have the names that `rename` gives them.
    pub(super) fn named(&self, affine: &Affine, rename: &dyn Fn(InameId) -> String) -> isl::Result<isl::Affine> {
        let name = |var| match var {
            Var::Iname(iname) => rename(iname),
            Var::Parameter(parameter) => self.kernel[parameter].name.clone(),
        };
        isl::Affine::new(affine.constant, affine.terms.iter().map(|&(var, coefficient)| (name(var), coefficient)))
    }

    /// The points of a set where a function is not negative, or where it is zero.
    pub(super) fn where_it_is(
        &self,
        set: &isl::Set,
        affine: isl::Affine,
        relation: isl::Relation,
    ) -> Result<isl::Set, DomainError> {
        self.domains.constrain(set, affine, relation)
    }

    /// The first of the instances `bad` among `all` of a context; `None` if there is none for some values of the parameters at which there are instances at all.
    pub(super) fn witness(
        &self,
        context: &Context,
        all: &isl::Set,
        bad: &isl::Set,
    ) -> Result<Option<Witness>, DomainError> {
        if bad.is_empty()? || !all.params()?.is_subset(&bad.params()?)? {
            return Ok(None);
        }
        let names = bad.param_names()?;
        let point = if names.is_empty() { bad.lexmin_point()? } else { bad.sample()? };
        let Some(point) = point else { return Ok(None) };
        let sampled = |name: &str| names.iter().position(|known| known == name).map(|at| point[at]);
        let parameters = self.kernel.parameter_ids().zip(&self.values).filter_map(|(parameter, value)| {
            let value = value.or_else(|| sampled(&self.kernel[parameter].name))?;
            Some((parameter, value))
        });
        let instance = context.inames.iter().zip(point[names.len()..].iter().copied()).collect();
        Ok(Some(Witness { instance, parameters: parameters.collect() }))
    }
}

impl Witness {
    /// The value of a function at the instance; `None` if it overflows.
    pub(super) fn value(&self, affine: &Affine) -> Option<i64> {
        affine.terms.iter().try_fold(affine.constant, |sum, &(var, coefficient)| {
            let value = match var {
                Var::Iname(iname) => self.instance.iter().find(|(known, _)| *known == iname)?.1,
                Var::Parameter(parameter) => self.parameters.iter().find(|(known, _)| *known == parameter)?.1,
            };
            sum.checked_add(coefficient.checked_mul(value)?)
        })
    }
}
