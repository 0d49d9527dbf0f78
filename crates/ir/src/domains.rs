//! A kernel's domains as isl sets, and exact numbers of points.
//!
//! Dimensions bear the names of the inames. Sets are made on demand and kept; so are counts.

use std::cell::RefCell;

use nestegg_isl as isl;
use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::affine::{self, Affine, Var};
use crate::expr::{Expr, Op};
use crate::ids::{DomainId, ExprId, InameId, InameSet, ParameterId};
use crate::kernel::Kernel;
use crate::walk::OperandsFirst;

/// A domain that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// isl refuses its text.
    #[error("isl cannot read domain {domain:?}: {error}")]
    Text {
        /// The domain.
        domain: DomainId,
        /// What isl says.
        error: isl::Error,
    },
    /// isl cannot read the assumptions.
    #[error("isl cannot read the assumptions: {0}")]
    Assumptions(isl::Error),
    /// An operation on domains failed.
    #[error(transparent)]
    Isl(#[from] isl::Error),
    /// A count needs the value of a parameter.
    #[error("the number of points depends on parameter `{0}`, which has no value: give it an `estimate` or a value")]
    NoValue(String),
}

/// The sets of a kernel's domains.
#[derive(Debug)]
pub struct Domains {
    context: isl::Context,
    sets: Vec<isl::Set>,
    texts: Vec<String>,
    assumptions: Option<isl::Set>,
    /// Their text.
    assumed: Option<String>,
    inames: Vec<(String, DomainId)>,
    /// The inames that enclose each domain, transitively.
    enclosing: Vec<InameSet>,
    dims: Vec<Vec<InameId>>,
    estimates: Vec<(String, Option<i64>)>,
    joint: RefCell<FxHashMap<InameSet, isl::Set>>,
    counts: RefCell<FxHashMap<InameSet, BigUint>>,
}

impl Domains {
    /// Reads the domains of a kernel.
    ///
    /// # Errors
    /// If isl cannot read one.
    pub fn new(context: &isl::Context, kernel: &Kernel) -> Result<Self, DomainError> {
        let sets = kernel
            .domain_ids()
            .map(|domain| {
                isl::Set::parse(context, &kernel[domain].text).map_err(|error| DomainError::Text { domain, error })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let assumptions = kernel
            .assumptions
            .as_ref()
            .map(|text| isl::Set::parse(context, text).map_err(DomainError::Assumptions))
            .transpose()?;
        let mut enclosing: Vec<InameSet> =
            kernel.domains.iter().map(|domain| domain.enclosing.iter().copied().collect()).collect();
        loop {
            let mut changed = false;
            for domain in kernel.domain_ids() {
                let mut all = enclosing[domain.index()].clone();
                for outer in enclosing[domain.index()].clone().iter() {
                    all = all.union(&enclosing[kernel[outer].domain.index()]);
                }
                changed |= all != enclosing[domain.index()];
                enclosing[domain.index()] = all;
            }
            if !changed {
                break;
            }
        }
        Ok(Self {
            context: context.clone(),
            sets,
            texts: kernel.domains.iter().map(|domain| domain.text.clone()).collect(),
            assumptions,
            assumed: kernel.assumptions.clone(),
            inames: kernel.inames.iter().map(|iname| (iname.name.clone(), iname.domain)).collect(),
            enclosing,
            dims: kernel.domains.iter().map(|domain| domain.inames.clone()).collect(),
            estimates: kernel.parameters.iter().map(|p| (p.name.clone(), p.estimate)).collect(),
            joint: RefCell::default(),
            counts: RefCell::default(),
        })
    }

    /// Reads the domains of a kernel in a context of their own, in which each question may cost isl so many operations: harder ones fail.
    ///
    /// # Errors
    /// If isl cannot read one.
    pub fn bounded(kernel: &Kernel, max_operations: u64) -> Result<Self, DomainError> {
        let context = isl::Context::new();
        context.set_max_operations(Some(max_operations));
        Self::new(&context, kernel)
    }

    /// Values for parameters, before the kernel's own estimates.
    #[must_use]
    pub fn with_values(mut self, values: &[(String, i64)]) -> Self {
        for (name, estimate) in &mut self.estimates {
            if let Some((_, value)) = values.iter().find(|(given, _)| given == name) {
                *estimate = Some(*value);
            }
        }
        self
    }

    /// The library handle.
    #[must_use]
    pub fn context(&self) -> &isl::Context {
        &self.context
    }

    /// The set of one domain, with the inames that enclose it as parameters.
    #[must_use]
    pub fn set(&self, domain: DomainId) -> &isl::Set {
        &self.sets[domain.index()]
    }

    /// What is assumed of the parameters.
    #[must_use]
    pub fn assumptions(&self) -> Option<&isl::Set> {
        self.assumptions.as_ref()
    }

    /// The inames that enclose the domain of `iname`, transitively.
    #[must_use]
    pub fn enclosing(&self, iname: InameId) -> &InameSet {
        &self.enclosing[self.inames[iname.index()].1.index()]
    }

    /// The joint domain of `inames`, and of all that enclose them or share a domain with them, projected on
    /// `inames`, which are its dimensions in increasing order.
    ///
    /// # Errors
    /// If isl fails.
    pub fn of(&self, inames: &InameSet) -> Result<isl::Set, DomainError> {
        if let Some(set) = self.joint.borrow().get(inames) {
            return Ok(set.clone());
        }
        let (domains, names) = (self.domains_of(inames), self.names_of(inames));
        let set = isl::Set::make_once(&self.context, &self.described("", inames), || {
            let set = if domains.is_empty() {
                isl::Set::universe(&self.context, &[], &[])?
            } else {
                let sets: Vec<isl::Set> = domains.iter().map(|domain| self.sets[domain.index()].clone()).collect();
                let joint = if sets.len() == 1 { sets[0].clone() } else { isl::Set::combine(&sets)? };
                joint.set_tuple_name(None)?.project_onto(&names)?
            };
            match &self.assumptions {
                Some(assumptions) => set.intersect_params(assumptions),
                None => Ok(set),
            }
        })?;
        self.joint.borrow_mut().insert(inames.clone(), set.clone());
        Ok(set)
    }

    /// The values of an iname in its own domain, with the inames that enclose it as parameters.
    ///
    /// # Errors
    /// If isl fails.
    pub fn projection(&self, iname: InameId) -> Result<isl::Set, DomainError> {
        let (name, domain) = &self.inames[iname.index()];
        let described = ["projection", &self.texts[domain.index()], name].join("\0");
        isl::Set::make_once(&self.context, &described, || {
            Ok(self.sets[domain.index()].set_tuple_name(None)?.project_onto(&[name.as_str()])?)
        })
    }

    /// Whether the loop over an iname runs at least once for all values of the loops around it.
    ///
    /// # Errors
    /// If isl fails.
    pub fn surely_runs(&self, iname: InameId, outer: &InameSet) -> Result<bool, DomainError> {
        let mut all = outer.clone();
        all.insert(iname);
        let reached = self.of(&all)?.project_out(&[self.inames[iname.index()].0.as_str()])?;
        Ok(self.of(outer)?.is_subset(&reached)?)
    }

    /// The domains of inames, and of those that enclose them.
    fn domains_of(&self, inames: &InameSet) -> Vec<DomainId> {
        let mut domains: Vec<DomainId> = Vec::new();
        for iname in inames.iter() {
            let own = self.inames[iname.index()].1;
            domains.push(own);
            domains.extend(self.enclosing[own.index()].iter().map(|outer| self.inames[outer.index()].1));
        }
        domains.sort_unstable();
        domains.dedup();
        domains
    }

    fn names_of(&self, inames: &InameSet) -> Vec<&str> {
        inames.iter().map(|iname| self.inames[iname.index()].0.as_str()).collect()
    }

    /// A question about the joint domain of inames, with all that this depends on.
    fn described(&self, question: &str, inames: &InameSet) -> String {
        let texts = self.domains_of(inames).into_iter().map(|domain| self.texts[domain.index()].as_str());
        let (names, assumed) = (self.names_of(inames), self.assumed.as_deref());
        // isl's notation has no zeros.
        [question]
            .into_iter()
            .chain(texts)
            .chain([""])
            .chain(names)
            .chain([""])
            .chain(assumed)
            .collect::<Vec<_>>()
            .join("\0")
    }

    /// What was found before of the joint domain of inames; if nothing was, `find` finds it. It must depend on the question and that domain alone.
    ///
    /// # Errors
    /// Those of `find`, which are not kept.
    pub fn once<T: Clone + 'static>(
        &self,
        question: &str,
        inames: &InameSet,
        find: impl FnOnce() -> Result<T, DomainError>,
    ) -> Result<T, DomainError> {
        self.context.once(&self.described(question, inames), find)
    }

    /// All dimensions of the domains of `inames`.
    #[must_use]
    pub fn dims_beside(&self, iname: InameId) -> &[InameId] {
        &self.dims[self.inames[iname.index()].1.index()]
    }

    /// How many points the joint domain of `inames` has, exactly, parameters at their values.
    ///
    /// # Errors
    /// If a parameter that matters has no value, or isl fails.
    pub fn count(&self, inames: &InameSet) -> Result<BigUint, DomainError> {
        if let Some(count) = self.counts.borrow().get(inames) {
            return Ok(count.clone());
        }
        let parts = self.independent(inames);
        let count = match parts.as_slice() {
            [_] | [] => {
                let question = format!("count at {:?}", self.estimates);
                self.once(&question, inames, || self.count_set(&self.of(inames)?))?
            }
            parts => {
                let counts: Vec<Result<BigUint, DomainError>> = parts.iter().map(|part| self.count(part)).collect();
                // None of one is none at all, whatever the others may be.
                let is_empty = counts.iter().flatten().any(|count| *count == BigUint::ZERO);
                if is_empty { BigUint::ZERO } else { counts.into_iter().product::<Result<BigUint, DomainError>>()? }
            }
        };
        self.counts.borrow_mut().insert(inames.clone(), count.clone());
        Ok(count)
    }

    /// The inames in parts whose domains have nothing to do with each other: no domain in common, their own or an enclosing one.
    fn independent(&self, inames: &InameSet) -> Vec<InameSet> {
        let mut parts: Vec<(Vec<DomainId>, InameSet)> = Vec::new();
        for iname in inames.iter() {
            let own = self.inames[iname.index()].1;
            let outer = self.enclosing[own.index()].iter().map(|outer| self.inames[outer.index()].1);
            let mut part: (Vec<DomainId>, InameSet) = (outer.chain([own]).collect(), [iname].into_iter().collect());
            let (joined, apart): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(domains, _)| domains.iter().any(|domain| part.0.contains(domain)));
            for (domains, inames) in joined {
                part.0.extend(domains);
                part.1 = part.1.union(&inames);
            }
            parts = apart;
            parts.push(part);
        }
        parts.into_iter().map(|(_, inames)| inames).collect()
    }

    /// How many points a set over inames has, parameters at their values.
    ///
    /// # Errors
    /// If a parameter that matters has no value, or isl fails.
    pub fn count_set(&self, set: &isl::Set) -> Result<BigUint, DomainError> {
        let mut values = Vec::new();
        for name in set.param_names()? {
            match self.estimates.iter().find(|(parameter, _)| *parameter == name) {
                Some((_, Some(value))) => values.push((name, *value)),
                _ if !set.involves(&name)? => values.push((name, 0)),
                _ => return Err(DomainError::NoValue(name)),
            }
        }
        let values: Vec<(&str, i64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Ok(set.fix_params(&values)?.count()?)
    }

    /// An affine function with isl's names.
    ///
    /// # Errors
    /// If a coefficient overflows.
    pub fn affine(&self, affine: &Affine) -> Result<isl::Affine, DomainError> {
        let terms = affine.terms.iter().map(|&(var, coefficient)| {
            let name = match var {
                Var::Iname(iname) => &self.inames[iname.index()].0,
                Var::Parameter(parameter) => &self.estimates[parameter.index()].0,
            };
            (name.clone(), coefficient)
        });
        Ok(isl::Affine::new(affine.constant, terms)?)
    }

    /// A function of isl's in the kernel's parameters; `None` if it has floors or other names.
    #[must_use]
    pub fn in_parameters(&self, affine: &isl::Affine) -> Option<Affine> {
        let mut res = Affine::constant(affine.constant);
        for (name, coefficient) in &affine.terms {
            let parameter = self.estimates.iter().position(|(known, _)| known == name).map(ParameterId::new)?;
            res = res.plus(&Affine::var(Var::Parameter(parameter)), *coefficient)?;
        }
        affine.floors.is_empty().then_some(res)
    }

    /// Whether a condition is made of affine comparisons by `and`, `or` and `not`: others restrict no set.
    #[must_use]
    pub fn is_affine(kernel: &Kernel, condition: ExprId) -> bool {
        let mut seen = FxHashSet::default();
        let mut pending = vec![condition];
        while let Some(id) = pending.pop() {
            match &kernel.exprs[id] {
                _ if !seen.insert(id) => {}
                Expr::Op { op, operands } if op.is_comparison() => {
                    if operands.iter().any(|&operand| affine::of(&kernel.exprs, operand).is_none()) {
                        return false;
                    }
                }
                Expr::Op { op, operands } if op.is_logic() => pending.extend(operands),
                _ => return false,
            }
        }
        true
    }

    /// The part of `set`, a set over inames, where a condition holds; `None` if the condition is not made of
    /// affine comparisons by `and`, `or` and `not`, or names an iname that is no dimension of the set.
    ///
    /// # Errors
    /// If isl fails.
    pub fn restrict(
        &self,
        set: &isl::Set,
        kernel: &Kernel,
        condition: ExprId,
    ) -> Result<Option<isl::Set>, DomainError> {
        let mut known: FxHashMap<ExprId, isl::Set> = FxHashMap::default();
        let mut walk = OperandsFirst::new(condition);
        while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
            let Expr::Op { op, operands } = &kernel.exprs[id] else { return Ok(None) };
            if op.is_comparison() {
                let Some(part) = self.compare(set, kernel, *op, operands)? else { return Ok(None) };
                known.insert(id, part);
                continue;
            }
            if !op.is_logic() {
                return Ok(None);
            }
            if walk.waits_for(operands.iter().copied(), |operand| known.contains_key(operand)) {
                continue;
            }
            let parts: Vec<&isl::Set> = operands.iter().map(|operand| &known[operand]).collect();
            let mut part = parts[0].clone();
            for other in &parts[1..] {
                part = if *op == Op::And { part.intersect(other)? } else { part.union(other)? };
            }
            if *op == Op::Not {
                part = set.subtract(&part)?;
            }
            known.insert(id, part);
        }
        Ok(known.remove(&condition))
    }

    fn compare(
        &self,
        set: &isl::Set,
        kernel: &Kernel,
        op: Op,
        operands: &[ExprId],
    ) -> Result<Option<isl::Set>, DomainError> {
        let (Some(left), Some(right)) =
            (affine::of(&kernel.exprs, operands[0]), affine::of(&kernel.exprs, operands[1]))
        else {
            return Ok(None);
        };
        let dims = set.dim_names()?;
        let is_dim = |iname: InameId| dims.contains(&self.inames[iname.index()].0);
        if !left.inames().chain(right.inames()).all(is_dim) {
            return Ok(None);
        }
        // `difference(a, b, c)` is a - b + c.
        let difference =
            |a: &Affine, b: &Affine, c: i64| a.plus(b, -1).and_then(|sum| sum.plus(&Affine::constant(c), 1));
        let (Some(less), Some(less_equal), Some(greater), Some(greater_equal), Some(equal)) = (
            difference(&right, &left, -1),
            difference(&right, &left, 0),
            difference(&left, &right, -1),
            difference(&left, &right, 0),
            difference(&left, &right, 0),
        ) else {
            return Ok(None);
        };
        let at_least = |affine: &Affine| -> Result<isl::Set, DomainError> {
            self.constrain(set, self.affine(affine)?, isl::Relation::Inequality)
        };
        Ok(Some(match op {
            Op::Lt => at_least(&less)?,
            Op::Le => at_least(&less_equal)?,
            Op::Gt => at_least(&greater)?,
            Op::Ge => at_least(&greater_equal)?,
            Op::Eq => self.constrain(set, self.affine(&equal)?, isl::Relation::Equality)?,
            _ => at_least(&less)?.union(&at_least(&greater)?)?,
        }))
    }

    /// The points of a set where a function is not negative, or where it is zero. Parameters that the set lacks are added to it first.
    ///
    /// # Errors
    /// If isl fails.
    pub(crate) fn constrain(
        &self,
        set: &isl::Set,
        affine: isl::Affine,
        relation: isl::Relation,
    ) -> Result<isl::Set, DomainError> {
        let known: Vec<String> = set.dim_names()?.into_iter().chain(set.param_names()?).collect();
        let missing: Vec<&str> = affine.names().into_iter().filter(|name| !known.iter().any(|k| k == name)).collect();
        let set = if missing.is_empty() { set.clone() } else { set.with_params(&missing)? };
        Ok(set.constrain_by(&isl::Constraint { affine, relation })?)
    }
}
