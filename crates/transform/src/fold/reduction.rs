//! Reductions of what is constant at each of their points.
//!
//! # Method
//! The body is evaluated at each point, in the order of the loop, and joined as the loop would.
//! # Complexity
//! Points times expressions in the body, at most [`MAX_STEPS`] of these in a kernel.
//! # Not done
//! Reductions of floats over several inames whose result depends on the order, over domains with parameters or of which
//! other inames are parameters, with reductions inside that are not constant themselves.

use nestegg_ir::domains::Domains;
use nestegg_ir::types::Types;
use nestegg_ir::{Expr, ExprId, InameSet, Kernel};
use rustc_hash::FxHashMap;

use super::evaluate::evaluate;
use super::operation::step;
use super::value::{Known, neutral};

/// How many expressions may be evaluated at points of reductions in one kernel.
pub(super) const MAX_STEPS: u64 = 1 << 16;

/// The value of a reduction; `known` are values that do not depend on its inames. Takes its steps from `budget`.
pub(super) fn reduction(
    kernel: &Kernel,
    types: &Types,
    domains: &Domains,
    id: ExprId,
    known: &[Option<Known>],
    budget: &mut u64,
) -> Option<Known> {
    let Expr::Reduce { op, inames, body } = &kernel.exprs[id] else { return None };
    let ty = types.of(id);
    let all: InameSet = inames.iter().copied().collect();
    let is_own = |id: ExprId| match &kernel.exprs[id] {
        Expr::Iname(iname) => all.contains(*iname),
        Expr::Access { array, .. } => kernel[*array].table().is_some(),
        Expr::Reduce { .. } => known[id.index()].is_some(),
        Expr::Parameter(_) | Expr::Formal(_) | Expr::Substitution { .. } => false,
        _ => true,
    };
    let below = kernel.exprs.reachable([*body]);
    let is_alone = inames.iter().all(|&iname| {
        domains.enclosing(iname).is_empty() && domains.dims_beside(iname).iter().all(|&beside| all.contains(beside))
    });
    if !is_alone || !below.iter().all(|&id| known[id.index()].is_some() || is_own(id)) {
        return None;
    }
    let set = domains.of(&all).ok()?;
    let names = set.dim_names().ok()?;
    let at: Vec<usize> =
        inames.iter().map(|&iname| names.iter().position(|name| *name == kernel[iname].name)).collect::<Option<_>>()?;
    let size = u64::try_from(below.len()).ok()?;
    let points = set.points(usize::try_from(*budget / size).ok()?).ok()?;
    *budget -= size * u64::try_from(points.len()).ok()?;
    let mut points: Vec<Vec<i64>> = points.iter().map(|point| at.iter().map(|&at| point[at]).collect()).collect();
    points.sort_unstable();
    let mut res = neutral(*op, ty);
    let mut values: FxHashMap<ExprId, Known> = FxHashMap::default();
    for point in points {
        values.clear();
        for &id in &below {
            let own = match known[id.index()] {
                Some(value) => Some(value),
                None => evaluate(
                    kernel,
                    types,
                    id,
                    |child| values.get(&child).copied(),
                    |iname| Some(point[inames.iter().position(|&own| own == iname)?]),
                ),
            };
            // What cannot be evaluated may be in a branch that is not taken.
            own.and_then(|own| values.insert(id, own));
        }
        let term = values.get(body)?.converted(types.of(*body), ty)?;
        res = Some(match res {
            Some(res) => step(op.operator(), res, term, ty)?,
            None => term,
        });
    }
    res.filter(|res| res.is_exact || inames.len() == 1 || ty.is_integer())
}
