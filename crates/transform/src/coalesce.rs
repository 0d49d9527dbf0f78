//! Loop coalescing: a loop directly around another whose bounds depend on it becomes one loop over the points of both, and arrays over these points are packed.
//!
//! # Why
//! In a triangle, the trip count of the inner loop changes from one entry to the next: processors mispredict its end, and compilers neither unroll it nor put it into lanes. One loop over
//! all points has a constant trip count, and runs through packed arrays one element after the other.
//! # Input
//! A kernel in its final order.
//! # Output
//! The same instances in the same order. Temporaries and tables that are indexed by both inames [lose one axis](pack); everywhere else, the two inames are looked up in small
//! tables, or computed from the new one where they are affine in it.
//! # Method
//! isl lists the points. Two loops over a rectangle are coalesced too where a packed array needs that.
//! # Complexity
//! A question to isl for each value of an outer iname; else linear in the points of each access.
//! # Not done
//! Pairs of loops around others whose bounds depend on them, around reductions or around anything but assignments, and of more than [`MAX_POINTS`] points.
//! # Sources
//! Polychronopoulos, "Loop coalescing", 1987; packed storage as in LAPACK.

mod pack;

use std::collections::BTreeMap;

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, loops_in, runs_in, to_tree};
use nestegg_ir::names::{Names, add_iname};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, InameId, InameSet, InameTag, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::depends::in_order_without_dead;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::ranges::{Ranges, interval};
use crate::write_out_loops::may_have_triangles;
use pack::{Packing, Rewriter};

/// Loops over more points stay.
const MAX_POINTS: usize = 4096;

/// Outer loops of more values stay.
const MAX_ROWS: i64 = 128;

/// The kernel with its triangles as loops over their points; `None` if it has none.
#[must_use]
pub fn coalesce_triangles(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let tree = to_tree(&linearized.linearization).ok()?;
    if !kernel.substitutions.is_empty() || !may_have_triangles(kernel, &tree) {
        return None;
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS).ok()?;
    let ranges = Ranges::new(kernel, &domains).ok()?;
    let mut finder = Finder {
        kernel,
        domains: &domains,
        ranges: &ranges,
        pairs: Vec::new(),
        known: FxHashMap::default(),
        around: BTreeMap::new(),
    };
    finder.find(&tree, &mut Vec::new(), &mut Vec::new());
    let Finder { pairs, mut around, .. } = finder;
    if !pairs.iter().any(|pair| pair.is_triangle) {
        return None;
    }
    let packing = Packing::of(kernel, &tree, &pairs, &around);
    around.values_mut().for_each(|around| around.retain(|&pair| packing.is_coalesced(pair)));
    let mut kernel = kernel.clone();
    let mut names = Names::new(&kernel);
    let flat: Vec<InameId> =
        pairs.iter().map(|pair| add_iname(&mut kernel, &mut names, pair.outer, pair.points.len())).collect();
    let mut rewriter = Rewriter::new(&kernel, &pairs, &flat, &packing);
    let tree = rewriter.all(&mut kernel, &tree, &around, &[]);
    rewriter.finish(&mut kernel);
    Some(in_order_without_dead(kernel, from_tree(&tree)))
}

/// A loop directly around another.
pub(crate) struct Pair {
    outer: InameId,
    inner: InameId,
    /// The values of both at each instance, in order.
    points: Vec<[i64; 2]>,
    /// Whether the values of the inner iname depend on the outer one.
    is_triangle: bool,
}

impl Pair {
    /// Which of the two an iname is.
    fn place_of(&self, iname: InameId) -> Option<usize> {
        [self.outer, self.inner].iter().position(|&own| own == iname)
    }
}

/// Finds pairs of loops.
struct Finder<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    ranges: &'a Ranges,
    pairs: Vec<Pair>,
    /// The number of a pair; `None` if its points are not known, or too many.
    known: FxHashMap<(InameId, InameId), Option<usize>>,
    /// For each instruction the numbers of the pairs around it, the outermost first.
    around: BTreeMap<InsnId, Vec<usize>>,
}

impl Finder<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn find(&mut self, nodes: &[LoopTree], open: &mut Vec<InameId>, around: &mut Vec<usize>) {
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => {
                    let pair = match body.as_slice() {
                        [LoopTree::Loop { iname: inner, body }] if self.may_be(*iname, *inner, body, open) => {
                            self.pair(*iname, *inner)
                        }
                        _ => None,
                    };
                    around.extend(pair);
                    open.push(*iname);
                    self.find(body, open, around);
                    open.pop();
                    around.truncate(around.len() - pair.iter().len());
                }
                LoopTree::Branch { body, .. } => self.find(body, open, around),
                LoopTree::Run(insn) => {
                    self.around.insert(*insn, around.clone());
                }
            }
        }
    }

    /// Whether two loops around this could be one.
    fn may_be(&self, outer: InameId, inner: InameId, body: &[LoopTree], open: &[InameId]) -> bool {
        let (kernel, ranges) = (self.kernel, self.ranges);
        let depends = |iname: InameId, on: InameId| ranges.dependencies(iname).contains(on);
        let is_plain = |insn: InsnId| {
            let instruction = &kernel[insn];
            matches!(instruction.kind, InstructionKind::Assignment { .. })
                && !below(&kernel.exprs, instruction.expressions())
                    .into_iter()
                    .any(|id| matches!(kernel.exprs[id], Expr::Reduce { .. }))
        };
        let is_free = |iname: InameId| kernel[iname].tags.iter().all(|&tag| tag == InameTag::Unroll);
        [outer, inner].into_iter().all(is_free)
            && !open.iter().any(|&around| depends(outer, around) || depends(inner, around))
            && !loops_in(body).into_iter().any(|inside| depends(inside, outer) || depends(inside, inner))
            && runs_in(body).into_iter().all(is_plain)
    }

    /// The number of a pair, if its points are known.
    fn pair(&mut self, outer: InameId, inner: InameId) -> Option<usize> {
        if let Some(&known) = self.known.get(&(outer, inner)) {
            return known;
        }
        // What is too hard for isl stays.
        let pair = self.with_points(outer, inner).ok().flatten();
        let number = pair.is_some().then_some(self.pairs.len());
        self.pairs.extend(pair);
        self.known.insert((outer, inner), number);
        number
    }

    /// The pair with its points; `None` if these are not known, or too many.
    fn with_points(&self, outer: InameId, inner: InameId) -> Result<Option<Pair>, DomainError> {
        let (Some(first), Some(last)) = self.ranges.bounds(outer) else { return Ok(None) };
        if !self.ranges.is_interval(outer) || last.checked_sub(first).is_none_or(|rows| rows >= MAX_ROWS) {
            return Ok(None);
        }
        let [outer_name, inner_name] = [outer, inner].map(|iname| self.kernel[iname].name.as_str());
        let both: InameSet = [outer, inner].into_iter().collect();
        let set: isl::Set = self.domains.of(&both)?;
        let (mut points, mut rows) = (Vec::new(), Vec::new());
        for value in first..=last {
            let row = set.fix(outer_name, value)?.project_out(&[outer_name])?;
            if row.is_empty()? {
                rows.push(None);
                continue;
            }
            let Some((least, greatest)) = interval(self.domains.context(), &row, inner_name)? else { return Ok(None) };
            if greatest.checked_sub(least).and_then(|n| usize::try_from(n).ok()).is_none_or(|n| n >= MAX_POINTS) {
                return Ok(None);
            }
            points.extend((least..=greatest).map(|other| [value, other]));
            rows.push(Some((least, greatest)));
        }
        let is_triangle = rows.iter().any(|row| *row != rows[0]);
        let is_few = !points.is_empty() && points.len() <= MAX_POINTS;
        Ok(is_few.then_some(Pair { outer, inner, points, is_triangle }))
    }
}
