//! Even-odd sums: reductions of tables that a reflection of the points takes to themselves, up to the sign, over half of the points.
//!
//! # Input
//! A kernel of which each temporary is computed in loops of its own, as selection makes it.
//! # Output
//! The same instructions over half of the loops, each twice: at `p` and at its mirror image. `None` if no reduction is one of these, or if nothing is saved.
//! # Method
//! Let `p'` and `q'` be the mirror images of `p` and `q`, and `T[q', p'] = T[q, p]` or `-T[q, p]`, as for polynomials and their derivatives at points that lie symmetrically.
//! `y[p] = sum(q, T[q, p]*x[q])` is `u[p] + v[p]` and `y[p'] = u[p] - v[p]`: with `E, O` the halves of `T[q, p] ± T[q', p]`, one of `u` and `v` is
//! `sum(q < q', E*(x[q] + x[q']))`, with what is in the middle of the points, and the other one `sum(q < q', O*(x[q] - x[q']))`. That is half of the operations, but for
//! the sums of `x`, which do not depend on `p`, and those of `u` and `v`, which do not depend on `q`.
//! [`sites`] finds such reductions; this module finds reflections and decides; [`write`] writes instructions.
//! Entries of half tables are rounded, and symmetries of tables hold within the tolerance: what is changed, and by how much at most, is reported.
//! # Complexity
//! Linear in the entries of the tables for each reflection that is tried, at most [`MAX_ENTRIES`].
//! # Not done
//! Mirror images other than `low + high - q`, of several inames in another order or not.
//! Source: Solomonoff, "A fast algorithm for spectral differentiation", Journal of Computational Physics 1992; Kronbichler and Kormann, "Fast matrix-free
//! evaluation of discontinuous Galerkin finite element operators", ACM TOMS 2019.

mod sites;
mod write;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{LoopTree, from_tree, to_tree};
use nestegg_ir::types::Types;
use nestegg_ir::{DomainId, Dtype, InameId, InameSet, InameTag, Kernel, LinearizedKernel};
use nestegg_isl as isl;
use nestegg_solve::cluster::TOLERANCE;
use rustc_hash::FxHashMap;

use crate::nests::NewTables;
use crate::{FormError, LinearMaps, Tolerance};
use nestegg_ir::names::Names;
use sites::{Nest, Site};
use write::Region;

/// Points of a set that is reflected, at most.
const MAX_POINTS: usize = 4_096;

/// Entries of tables that are looked at, at most.
const MAX_ENTRIES: usize = 2_000_000;

/// The kernel with even-odd sums; `None` if it has none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn even_odd(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    if !linearized.kernel.substitutions.is_empty() || Types::infer(&linearized.kernel).has_both_floats() {
        return Ok(None);
    }
    let trees = to_tree(&linearized.linearization)?;
    let context = isl::Context::new();
    let domains = Domains::new(&context, &linearized.kernel)?;
    // A kernel has one type of floats here.
    let mut dtypes = linearized.kernel.arrays.iter().map(|array| array.dtype);
    let dtype = dtypes.find(|dtype| dtype.is_float()).unwrap_or(Dtype::Float64);
    let mut pass = Pass {
        names: Names::new(&linearized.kernel),
        kernel: linearized.kernel.clone(),
        domains,
        regions: FxHashMap::default(),
        halves: FxHashMap::default(),
        tables: NewTables::new(dtype),
        n_entries: 0,
        n_nests: 0,
        tolerance: Tolerance::default(),
    };
    let trees = pass.sequence(trees);
    if pass.n_nests == 0 {
        return Ok(None);
    }
    let Pass { kernel, n_nests, tolerance, .. } = pass;
    let linearized = LinearizedKernel { linearization: from_tree(&trees), kernel };
    Ok(Some(LinearMaps { linearized, n_stores: n_nests, n_features: 0, tolerance }))
}

/// A reflection: an affine map of the points of some inames to themselves that is its own inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reflection {
    /// The inames, in increasing order.
    inames: Vec<InameId>,
    /// The image of each.
    images: Vec<Affine>,
}

impl Reflection {
    /// The mirror image of a point.
    fn image(&self, point: &[i64]) -> Vec<i64> {
        let value = |var: Var| self.inames.iter().position(|&iname| Var::Iname(iname) == var).map_or(0, |at| point[at]);
        let of = |image: &Affine| image.constant + image.terms.iter().map(|&(var, by)| by * value(var)).sum::<i64>();
        self.images.iter().map(of).collect()
    }
}

/// The points of some inames, in lexicographic order.
#[derive(Clone, Debug)]
struct Points {
    inames: Vec<InameId>,
    points: Vec<Vec<i64>>,
}

struct Pass {
    kernel: Kernel,
    names: Names,
    /// Of the kernel as it came.
    domains: Domains,
    /// For the inames and images of each reflection its regions.
    regions: FxHashMap<(Vec<InameId>, Vec<Affine>), [Region; 2]>,
    /// For each reduction iname the one over half of its points.
    halves: FxHashMap<InameId, InameId>,
    tables: NewTables,
    n_entries: usize,
    n_nests: usize,
    tolerance: Tolerance,
}

impl Pass {
    /// A sequence of trees with the nests that gain by it taken apart.
    fn sequence(&mut self, trees: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::new();
        for tree in trees {
            if let Some(nest) = Nest::of(&self.kernel, &tree) {
                match self.reflected(&nest) {
                    Some(trees) => {
                        self.n_nests += 1;
                        res.extend(trees);
                    }
                    None => res.push(tree),
                }
                continue;
            }
            res.push(match tree {
                LoopTree::Loop { iname, body } => LoopTree::Loop { iname, body: self.sequence(body) },
                LoopTree::Branch { condition, body } => LoopTree::Branch { condition, body: self.sequence(body) },
                run => run,
            });
        }
        res
    }

    /// The trees of a nest by the reflection that saves most; `None` if none saves anything.
    fn reflected(&mut self, nest: &Nest) -> Option<Vec<LoopTree>> {
        let mut best: Option<(f64, Reflection, Vec<Site>)> = None;
        let found = sites::of_nest(&self.kernel, nest);
        let mut tried: Vec<InameSet> = Vec::new();
        for inames in found.iter().map(|site| &site.outer) {
            if tried.contains(inames) {
                continue;
            }
            tried.push(inames.clone());
            let Some(points) = self.points(inames) else { continue };
            for reflection in self.reflections(&points) {
                let alike = found.iter().filter(|site| site.outer == *inames);
                let sites: Vec<Site> = alike.filter_map(|site| self.with_signs(site, &points, &reflection)).collect();
                let gain = sites.iter().map(|site| self.gain(site, nest, &points, &reflection)).sum::<f64>();
                if gain > 0.0 && best.as_ref().is_none_or(|best| gain > best.0) {
                    best = Some((gain, reflection, sites));
                }
            }
        }
        let (_, reflection, sites) = best?;
        let points = self.points(&reflection.inames.iter().copied().collect())?;
        self.write(nest, &points, &reflection, &sites)
    }

    /// The points of inames whose domains have nothing to do with others; `None` where they have, or there are too many.
    fn points(&self, inames: &InameSet) -> Option<Points> {
        let kernel = &self.kernel;
        let is_apart = inames.iter().all(|iname| {
            let domain = &kernel[kernel[iname].domain];
            domain.enclosing.is_empty()
                && domain.parameters.is_empty()
                && (domain.inames.iter().all(|&beside| inames.contains(beside)) || self.is_box(kernel[iname].domain))
                && kernel[iname].tags.iter().all(|&tag| tag == InameTag::Unroll)
                && kernel.domains.iter().all(|other| !other.enclosing.contains(&iname))
        });
        if !is_apart {
            return None;
        }
        let points = self.domains.of(inames).ok()?.points(MAX_POINTS).ok()?;
        Some(Points { inames: inames.iter().collect(), points })
    }

    /// Whether the inames of a domain do not depend on each other.
    fn is_box(&self, domain: DomainId) -> bool {
        self.domains.set(domain).set_tuple_name(None).and_then(|set| set.is_box()).unwrap_or(false)
    }

    /// Reflections of points: all inames reversed, and those of each pair swapped besides.
    fn reflections(&self, points: &Points) -> Vec<Reflection> {
        let (inames, n) = (&points.inames, points.inames.len());
        let ends: Option<Vec<(i64, i64)>> = (0..n)
            .map(|at| {
                let values = points.points.iter().map(|point| point[at]);
                Some((values.clone().min()?, values.max()?))
            })
            .collect();
        let Some(ends) = ends else { return Vec::new() };
        let mut orders: Vec<Vec<usize>> = vec![(0..n).collect()];
        for a in 0..n {
            for b in a + 1..n {
                let mut order: Vec<usize> = (0..n).collect();
                order.swap(a, b);
                orders.push(order);
            }
        }
        let reversed = |order: &Vec<usize>| {
            // The first value of one is the image of the last value of the other.
            let image = |(at, &from): (usize, &usize)| Affine {
                constant: ends[at].0 + ends[from].1,
                terms: vec![(Var::Iname(inames[from]), -1)],
            };
            Reflection { inames: inames.clone(), images: order.iter().enumerate().map(image).collect() }
        };
        let takes_to_itself = |reflection: &Reflection| {
            points.points.iter().all(|point| {
                let image = reflection.image(point);
                points.points.binary_search(&image).is_ok() && reflection.image(&image) == *point
            })
        };
        let is_identity = |reflection: &Reflection| points.points.iter().all(|point| reflection.image(point) == *point);
        orders.iter().map(reversed).filter(|one| takes_to_itself(one) && !is_identity(one)).collect()
    }

    /// A site with the values of its tables, and their signs under a reflection; `None` if one has no sign.
    fn with_signs(&mut self, site: &Site, points: &Points, reflection: &Reflection) -> Option<Site> {
        let (low, high) = self.range(site.reduced)?;
        let n_points = usize::try_from(high - low + 1).ok()?;
        let mut res = site.clone();
        res.range = (low, high);
        for term in &mut res.terms {
            self.n_entries += n_points * points.points.len();
            if self.n_entries > MAX_ENTRIES {
                return None;
            }
            term.values = sites::values(&self.kernel, term, site.reduced, (low, high), points)?;
            let largest = term.values.iter().map(|value| value.abs()).fold(0.0, f64::max);
            let images: Option<Vec<usize>> =
                points.points.iter().map(|point| points.points.binary_search(&reflection.image(point)).ok()).collect();
            let images = images?;
            let n = points.points.len();
            // The largest difference under either sign.
            let mut changes = [0.0_f64; 2];
            for q in 0..n_points {
                for (p, &image) in images.iter().enumerate() {
                    let (here, there) = (term.values[q * n + p], term.values[(n_points - 1 - q) * n + image]);
                    changes[0] = changes[0].max((here - there).abs());
                    changes[1] = changes[1].max((here + there).abs());
                }
            }
            let is_odd = changes[1] < changes[0];
            term.change = changes[usize::from(is_odd)] / largest;
            term.is_odd = is_odd;
            if term.change.is_nan() || term.change > TOLERANCE {
                return None;
            }
        }
        Some(res)
    }

    /// The first and the last value of a reduction iname that takes all between, whatever others do.
    fn range(&self, iname: InameId) -> Option<(i64, i64)> {
        let points = self.points(&InameSet::from_iter([iname]))?.points;
        let (first, last) = (points.first()?[0], points.last()?[0]);
        (points.len() > 1 && usize::try_from(last - first + 1) == Ok(points.len())).then_some((first, last))
    }

    /// How many operations a site saves.
    fn gain(&self, site: &Site, nest: &Nest, points: &Points, reflection: &Reflection) -> f64 {
        let count = |inames: InameSet| {
            let count = self.domains.count(&inames).ok();
            count.and_then(|count| count.to_string().parse::<f64>().ok()).unwrap_or(f64::INFINITY)
        };
        let n_points = (site.range.1 - site.range.0 + 1) as f64;
        let n_half = (n_points / 2.0).floor();
        let n_fixed = points.points.iter().filter(|point| reflection.image(point) == **point).count() as f64;
        let n_pairs = (points.points.len() as f64 - n_fixed) / 2.0;
        let others = site.context.union(&nest.within(&self.kernel));
        let rest: InameSet = others.iter().filter(|&iname| !site.outer.contains(iname)).collect();
        let n_rest = count(rest);
        let (n_even, n_odd) = (
            site.terms.iter().filter(|term| !term.is_odd).count() as f64,
            site.terms.iter().filter(|term| term.is_odd).count() as f64,
        );
        let n_terms = n_even + n_odd;
        let before = n_rest * points.points.len() as f64 * n_points * 2.0 * n_terms;
        // At a point that is its own image only one of the sums is not zero.
        let at_fixed = n_even * (n_points - n_half) + n_odd * n_half;
        let after = n_rest * (n_pairs * (n_points * 2.0 * n_terms + 2.0) + n_fixed * 2.0 * at_fixed);
        let butterflies: f64 =
            site.terms.iter().map(|term| count(term.value_inames.clone()) * n_half / n_points * 2.0).sum();
        before - after - butterflies
    }
}
