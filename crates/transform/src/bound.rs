//! Bound inames have no names of their own.
//!
//! # Output
//! Reductions over the same range at the same height above their innermost operands bind the same iname:
//! `sum(e, f[e])*sum(d, f[d])` is the square of one value. The names are those of the kernel's own reductions; a new
//! one is made where these do not suffice.
//! # Method
//! Operands first, each reduction gets places for names: the first ones of its range that nothing in its body has. At
//! the end, places become names. So a name says how many reductions over that range are inside, and depends on nothing
//! else. Forms that cut the range of an iname must come before, because they look at all reductions that bind it.
//! # Complexity
//! Linear in the bodies of reductions, each times those around it.
//! # Not done
//! Inames whose range depends on others, inames with tags, and the order of several inames of one range in one
//! reduction.

use std::collections::BTreeSet;

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::names::{Names, add_inames_in};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, ExprId, Exprs, InameId, InameSet, Kernel, LinearizedKernel, ParameterId};
use nestegg_isl as isl;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::dead::eliminate_dead;
use crate::ranges::Ranges;
use crate::substitute::with_inames;

/// Gives bound inames the names that their ranges and heights say.
///
/// # Errors
/// If a domain cannot be used.
pub fn name_bound_inames(linearized: LinearizedKernel) -> Result<LinearizedKernel, DomainError> {
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let inames = bound_inames(&kernel)?;
    if inames.values().all(|inames| inames.len() < 2) {
        return Ok(LinearizedKernel { kernel, linearization });
    }
    let mut places = Places::new(&kernel, &inames);
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let placed = kernel.exprs.rewrite(roots.iter().copied(), |exprs, _, expr| match expr {
        Expr::Reduce { op, inames, body } => {
            let (inames, body) = places.reduction(exprs, &inames, body);
            exprs.intern(Expr::Reduce { op, inames, body })
        }
        expr => exprs.intern(expr),
    });
    let Some(names) = places.names(&mut kernel, &inames) else {
        return Ok(eliminate_dead(LinearizedKernel { kernel, linearization }));
    };
    let image = |iname: InameId| names.get(&iname).map(|&name| Affine::var(Var::Iname(name)));
    let named = with_inames(&mut kernel.exprs, roots.iter().map(|&root| placed.get(root)), image);
    let name = |id| named.get(placed.get(id));
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(name));
    // Expressions with stand-ins go.
    Ok(eliminate_dead(LinearizedKernel { kernel, linearization }))
}

/// The inames that reductions bind whose ranges have nothing to do with others, by their values.
fn bound_inames(kernel: &Kernel) -> Result<IndexMap<String, Vec<InameId>>, DomainError> {
    let mut bound = InameSet::new();
    for (_, expr) in kernel.exprs.iter() {
        if let Expr::Reduce { inames, .. } = expr {
            bound.extend(inames.iter().copied());
        }
    }
    let mut res: IndexMap<String, Vec<InameId>> = IndexMap::new();
    if bound.len() < 2 {
        return Ok(res);
    }
    let domains = Domains::new(&isl::Context::new(), kernel)?;
    let ranges = Ranges::new(kernel, &domains)?;
    for iname in bound.iter().filter(|&iname| ranges.is_independent(iname) && kernel[iname].tags.is_empty()) {
        res.entry(ranges.text(iname)).or_default().push(iname);
    }
    Ok(res)
}

/// Stand-ins for bound inames until all are known: inames that the kernel does not have.
struct Places {
    /// For each iname its range.
    ranges: FxHashMap<InameId, usize>,
    /// The first stand-in.
    first: usize,
    /// For each stand-in its range and height.
    heights: IndexSet<(usize, usize), FxBuildHasher>,
}

impl Places {
    fn new(kernel: &Kernel, inames: &IndexMap<String, Vec<InameId>>) -> Self {
        let ranges =
            inames.values().enumerate().flat_map(|(range, inames)| inames.iter().map(move |&iname| (iname, range)));
        Self { ranges: ranges.collect(), first: kernel.inames.len(), heights: IndexSet::default() }
    }

    /// A reduction that binds stand-ins; those of reductions in its body are taken.
    fn reduction(&mut self, exprs: &mut Exprs, inames: &[InameId], body: ExprId) -> (Box<[InameId]>, ExprId) {
        let mut taken: FxHashMap<usize, usize> = FxHashMap::default();
        for id in below(exprs, [body]) {
            let Expr::Reduce { inames, .. } = &exprs[id] else { continue };
            for iname in inames.iter().filter(|iname| iname.index() >= self.first) {
                let (range, height) = self.heights[iname.index() - self.first];
                let above = taken.entry(range).or_default();
                *above = (height + 1).max(*above);
            }
        }
        let mut images: FxHashMap<InameId, InameId> = FxHashMap::default();
        // The last one of the kernel as if it were inside the others.
        let in_order: BTreeSet<InameId> = inames.iter().copied().collect();
        for iname in in_order.iter().rev() {
            let Some(&range) = self.ranges.get(iname) else { continue };
            let height = taken.entry(range).or_default();
            let place = self.heights.insert_full((range, *height)).0;
            *height += 1;
            images.insert(*iname, InameId::new(self.first + place));
        }
        let image = |iname: InameId| images.get(&iname).map(|&place| Affine::var(Var::Iname(place)));
        let body = with_inames(exprs, [body], image).get(body);
        (inames.iter().map(|iname| images.get(iname).copied().unwrap_or(*iname)).collect(), body)
    }

    /// What the stand-ins are called: as inames that only reductions bound, and when these do not suffice, something new. `None` if isl cannot write its range.
    fn names(
        &self,
        kernel: &mut Kernel,
        inames: &IndexMap<String, Vec<InameId>>,
    ) -> Option<FxHashMap<InameId, InameId>> {
        let within: InameSet =
            kernel.instructions.iter().flat_map(|instruction| instruction.within.iter().copied()).collect();
        let mut names = Names::new(kernel);
        let mut res = FxHashMap::default();
        for (place, &(range, height)) in self.heights.iter().enumerate() {
            let (text, known) = inames.get_index(range)?;
            let free: Vec<InameId> = known.iter().copied().filter(|&iname| !within.contains(iname)).collect();
            // The outermost comes first.
            let n_heights = self.heights.iter().filter(|(other, _)| *other == range).count();
            let name = match free.get(n_heights - 1 - height) {
                Some(&name) => name,
                None => add_like(kernel, &mut names, known[0], text)?,
            };
            res.insert(InameId::new(self.first + place), name);
        }
        Some(res)
    }
}

/// A new iname named after another, with the values that a text of [`Ranges::text`] says.
fn add_like(kernel: &mut Kernel, names: &mut Names, like: InameId, values: &str) -> Option<InameId> {
    let values = isl::Set::parse(&isl::Context::new(), values).ok()?;
    let parameters = values.param_names().ok()?;
    let text = |names: &[String]| Some(values.rename_dim(Ranges::DIM, &names[0]).ok()?.to_string());
    let res = add_inames_in(kernel, names, &[like], text)?;
    let is_used = |parameter: &ParameterId| parameters.contains(&kernel[*parameter].name);
    let used = kernel.parameter_ids().filter(is_used).collect();
    kernel.domains.last_mut()?.parameters = used;
    res.first().copied()
}
