//! How long an array must be so that an iname can be its index.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{DomainId, ExprId, InameId, Kernel, ParameterId};
use nestegg_isl::{Context, Relation, Set};
use rustc_hash::FxHashMap;

use crate::error::ScheduleError;

/// Extents of inames over the hull of their domains.
pub(super) struct Extents {
    context: Context,
    known: FxHashMap<InameId, Option<ExprId>>,
}

impl Extents {
    pub(super) fn new(_kernel: &Kernel) -> Result<Self, ScheduleError> {
        Ok(Self { context: Context::new(), known: FxHashMap::default() })
    }

    /// One more than the largest value of `iname`, as an expression in the parameters; `None` if the iname may be
    /// negative or has no simple bound.
    pub(super) fn of(&mut self, kernel: &mut Kernel, iname: InameId) -> Option<ExprId> {
        if let Some(known) = self.known.get(&iname) {
            return *known;
        }
        let extent = self
            .hull(kernel, iname)
            .ok()
            .flatten()
            .and_then(|last| last.plus(&Affine::constant(1), 1))
            .map(|extent| extent.to_size(&mut kernel.exprs));
        self.known.insert(iname, extent);
        extent
    }

    /// The largest value, if the smallest is known not to be negative.
    fn hull(&self, kernel: &Kernel, iname: InameId) -> Result<Option<Affine>, nestegg_isl::Error> {
        let name = kernel[iname].name.as_str();
        let mut sets = Vec::new();
        for domain in with_enclosing(kernel, kernel[iname].domain) {
            sets.push(Set::parse(&self.context, &kernel[domain].text)?);
        }
        if let Some(assumptions) = &kernel.assumptions {
            sets.push(Set::parse(&self.context, assumptions)?);
        }
        let values = Set::combine(&sets)?.project_onto(&[name])?;
        if !matches!(values.dim_min_val(name)?, Some(least) if least >= 0) {
            return Ok(None);
        }
        if let Some(greatest) = values.dim_max_val(name)? {
            return Ok(Some(Affine::constant(greatest)));
        }
        let pieces = values.constraints()?;
        let [piece] = pieces.as_slice() else {
            return Ok(None);
        };
        // `-iname + rest >= 0` bounds the iname by the rest.
        for constraint in piece {
            let bound = &constraint.affine;
            if constraint.relation == Relation::Inequality && bound.coefficient(name) == -1 && bound.floors.is_empty() {
                let terms = bound.terms.iter().filter(|(term, _)| term != name);
                let rest: Option<Vec<(Var, i64)>> =
                    terms.map(|(term, factor)| Some((Var::Parameter(parameter(kernel, term)?), *factor))).collect();
                if let Some(mut terms) = rest {
                    terms.sort_unstable();
                    return Ok(Some(Affine { constant: bound.constant, terms }));
                }
            }
        }
        Ok(None)
    }
}

fn parameter(kernel: &Kernel, name: &str) -> Option<ParameterId> {
    kernel.parameter_ids().find(|&parameter| kernel[parameter].name == name)
}

/// The domain, and the domains of the inames that enclose it.
fn with_enclosing(kernel: &Kernel, domain: DomainId) -> Vec<DomainId> {
    let mut res = vec![domain];
    let mut next = 0;
    while let Some(&domain) = res.get(next) {
        for &outer in &kernel[domain].enclosing {
            let outer = kernel[outer].domain;
            if !res.contains(&outer) {
                res.push(outer);
            }
        }
        next += 1;
    }
    res
}
