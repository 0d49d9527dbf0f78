//! The instructions of even-odd sums: half of a nest at points and their images, and the points that are their own.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::names::{add_iname_from, add_inames_in};
use nestegg_ir::{Assignee, Expr, ExprId, Float, InameId, InsnId, Instruction, InstructionKind, Op, ReduceOp};
use nestegg_isl as isl;
use nestegg_solve::cluster::{DROP, TOLERANCE};
use rustc_hash::FxHashMap;

use super::sites::{Nest, Site, Term};
use super::{Pass, Points, Reflection};
use crate::nests::{in_loops, rounding_of_sum, substituted, sum};

/// Points that are computed together: one of each point and its image, or those that are their own images.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The loops; none where there is one point alone.
    inames: Vec<InameId>,
    /// For each iname of the reflection its value.
    values: Vec<Affine>,
    /// The points.
    points: Vec<Vec<i64>>,
}

/// The parts of the values of a site: their sum is the value at a point, their difference that at its image. `None` is zero.
#[derive(Clone, Copy, Debug)]
struct Parts {
    even: Option<ExprId>,
    odd: Option<ExprId>,
}

impl Pass {
    /// The trees in the place of a nest; `None` if a number is none.
    pub(super) fn write(
        &mut self,
        nest: &Nest,
        points: &Points,
        reflection: &Reflection,
        sites: &[Site],
    ) -> Option<Vec<LoopTree>> {
        let [half, fixed] = self.regions(points, reflection)?;
        let mut res = Vec::new();
        for (region, is_half) in [(half, true), (fixed, false)] {
            if region.points.is_empty() {
                continue;
            }
            let mut parts: Vec<(ExprId, Parts)> = Vec::new();
            for site in sites {
                parts.push((site.reduction, self.parts(site, points, &region, is_half)?));
            }
            let mut body = Vec::new();
            for is_image in [false, true].into_iter().take(1 + usize::from(is_half)) {
                for &insn in &nest.insns {
                    body.push(LoopTree::Run(self.instruction(insn, &parts, (reflection, &region), is_image)?));
                }
            }
            let loops = replaced(&nest.loops, &reflection.inames, &region.inames);
            res.extend(in_loops(body, &loops));
        }
        Some(res)
    }

    /// The two regions of a reflection.
    fn regions(&mut self, points: &Points, reflection: &Reflection) -> Option<[Region; 2]> {
        let key = (reflection.inames.clone(), reflection.images.clone());
        if let Some(known) = self.regions.get(&key) {
            return Some(known.clone());
        }
        let all = || points.points.iter().cloned();
        let half: Vec<Vec<i64>> = all().filter(|point| *point < reflection.image(point)).collect();
        let fixed: Vec<Vec<i64>> = all().filter(|point| *point == reflection.image(point)).collect();
        let regions = [self.region(reflection, half, "<")?, self.region(reflection, fixed, "=")?];
        self.regions.insert(key, regions.clone());
        Some(regions)
    }

    /// The region of some points, those that are in that relation to their images.
    fn region(&mut self, reflection: &Reflection, points: Vec<Vec<i64>>, relation: &str) -> Option<Region> {
        if let [] | [_] = points.as_slice() {
            let values = points.iter().flatten().map(|&value| Affine::constant(value)).collect();
            return Some(Region { inames: Vec::new(), values, points });
        }
        let set = self.domains.of(&reflection.inames.iter().copied().collect()).ok()?;
        let text = |names: &[String]| -> Option<String> {
            let dims: Vec<&str> = names.iter().map(String::as_str).collect();
            let images: Vec<String> = reflection
                .images
                .iter()
                .map(|image| {
                    let terms = image.terms.iter().map(|&(var, by)| {
                        let at = reflection.inames.iter().position(|&iname| Var::Iname(iname) == var);
                        at.map_or_else(String::new, |at| format!(" + {by}*{}", names[at]))
                    });
                    format!("{}{}", image.constant, terms.collect::<String>())
                })
                .collect();
            let is_equal = |at: usize| format!("{} = {}", names[at], images[at]);
            let condition = if relation == "=" {
                (0..names.len()).map(is_equal).collect::<Vec<_>>().join(" and ")
            } else {
                let first = |at: usize| {
                    let before = (0..at).map(|before| format!("{} and ", is_equal(before))).collect::<String>();
                    format!("({before}{} < {})", names[at], images[at])
                };
                (0..names.len()).map(first).collect::<Vec<_>>().join(" or ")
            };
            let related =
                isl::Set::parse(set.context(), &format!("{{ [{}] : {condition} }}", names.join(", "))).ok()?;
            let region = set.with_dim_names(&dims).ok()?.intersect(&related).ok()?.coalesce().ok()?;
            Some(region.to_string())
        };
        let inames = add_inames_in(&mut self.kernel, &mut self.names, &reflection.inames, text)?;
        let values = inames.iter().map(|&iname| Affine::var(Var::Iname(iname))).collect();
        Some(Region { inames, values, points })
    }

    /// The sums of a site at the points of a region.
    fn parts(&mut self, site: &Site, points: &Points, region: &Region, is_half: bool) -> Option<Parts> {
        let (low, high) = site.range;
        let n_half = usize::try_from((high - low + 1) / 2).ok()?;
        // What is summed over half of the points, and what is added in the middle; even and odd at the points of the region.
        let (mut summed, mut middle): ([Vec<ExprId>; 2], [Vec<ExprId>; 2]) = Default::default();
        let half = self.half_iname(site);
        let at_half = Affine::var(Var::Iname(half));
        let at_image = Affine::constant(low + high).plus(&at_half, -1)?;
        for term in &site.terms {
            let columns: Option<Vec<usize>> =
                region.points.iter().map(|point| points.points.binary_search(point).ok()).collect();
            let columns = columns?;
            let n = points.points.len();
            let n_points = 2 * n_half + usize::from((high - low) % 2 == 0);
            let at = |q: usize, column: usize| term.values[q * n + column];
            let x = self.value(term, site.reduced, &at_half)?;
            let mirrored = self.value(term, site.reduced, &at_image)?;
            for (is_difference, op) in [(false, Op::Add), (true, Op::Sub)] {
                let is_odd = term.is_odd != is_difference;
                if is_odd && !is_half {
                    continue;
                }
                let mut data = Vec::with_capacity(n_half * columns.len());
                for q in 0..n_half {
                    for &column in &columns {
                        let (here, there) = (at(q, column), at(n_points - 1 - q, column));
                        let there = if is_difference { -there } else { there };
                        if rounding_of_sum(here, there) != 0.0 || term.change > 0.0 {
                            self.tolerance.n_changed += 1;
                        }
                        data.push((here + there) / 2.0);
                    }
                }
                self.tolerance.largest_change = self.tolerance.largest_change.max(term.change + f64::EPSILON);
                let Some(entry) = self.entry(term, data, Some((half, low)), region)? else { continue };
                let both = self.kernel.exprs.op(op, [x, mirrored]);
                summed[usize::from(is_odd)].push(self.kernel.exprs.op(Op::Mul, [entry, both]));
            }
            if n_points % 2 == 1 && (is_half || !term.is_odd) {
                let data = columns.iter().map(|&column| at(n_half, column)).collect();
                if let Some(entry) = self.entry(term, data, None, region)? {
                    let x = self.value(term, site.reduced, &Affine::constant((low + high) / 2))?;
                    middle[usize::from(term.is_odd)].push(self.kernel.exprs.op(Op::Mul, [entry, x]));
                }
            }
        }
        let others: Vec<InameId> = site.inames.iter().copied().filter(|&iname| iname != site.reduced).collect();
        let mut part = |which: usize| {
            let halves: Vec<InameId> = std::iter::once(half).chain(others.iter().copied()).collect();
            let mut all = Vec::new();
            for (terms, inames) in [(&middle[which], &others), (&summed[which], &halves)] {
                let Some(body) = sum(&mut self.kernel.exprs, terms.clone()) else { continue };
                all.push(if inames.is_empty() {
                    body
                } else {
                    let inames = inames.clone().into();
                    self.kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body })
                });
            }
            sum(&mut self.kernel.exprs, all)
        };
        let (even, odd) = (part(0), part(1));
        Some(Parts { even, odd })
    }

    /// The iname over half of the points of a site.
    fn half_iname(&mut self, site: &Site) -> InameId {
        if let Some(&known) = self.halves.get(&site.reduced) {
            return known;
        }
        let (low, high) = site.range;
        let last = (low + high - 1).div_euclid(2);
        let half = add_iname_from(&mut self.kernel, &mut self.names, site.reduced, (low, last));
        self.halves.insert(site.reduced, half);
        half
    }

    /// The value of a term with something in the place of the reduced iname.
    fn value(&mut self, term: &Term, reduced: InameId, at: &Affine) -> Option<ExprId> {
        let mut factors = Vec::new();
        for &factor in &term.value {
            factors.push(substituted(&mut self.kernel.exprs, factor, &[(reduced, at.clone())], &FxHashMap::default()));
        }
        match factors.as_slice() {
            [] => None,
            [single] => Some(*single),
            _ => Some(self.kernel.exprs.op(Op::Mul, factors)),
        }
    }

    /// The entry of a table at a point of a region, after a reduced iname if there is one; the inner `None` if all are zero.
    fn entry(
        &mut self,
        term: &Term,
        mut data: Vec<f64>,
        reduced: Option<(InameId, i64)>,
        region: &Region,
    ) -> Option<Option<ExprId>> {
        let largest = term.values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        for value in data.iter_mut().filter(|value| value.abs() < DROP * TOLERANCE * largest && **value != 0.0) {
            self.tolerance.n_changed += 1;
            self.tolerance.largest_change = self.tolerance.largest_change.max(value.abs() / largest);
            *value = 0.0;
        }
        if data.iter().all(|&value| value == 0.0) {
            return Some(None);
        }
        let n = region.points.len();
        let mut shape: Vec<usize> = Vec::new();
        let mut indices: Vec<ExprId> = Vec::new();
        if let Some((iname, low)) = reduced {
            shape.push(data.len() / n);
            let index = Affine::constant(-low).plus(&Affine::var(Var::Iname(iname)), 1)?;
            indices.push(index.to_expr(&mut self.kernel.exprs));
        }
        // The box around the points of the region; other elements are not read.
        let mut lows = Vec::new();
        for at in 0..region.inames.len() {
            let values = region.points.iter().map(|point| point[at]);
            let (low, high) = (values.clone().min()?, values.max()?);
            shape.push(usize::try_from(high - low + 1).ok()?);
            let index = Affine::constant(-low).plus(&Affine::var(Var::Iname(region.inames[at])), 1)?;
            indices.push(index.to_expr(&mut self.kernel.exprs));
            lows.push(low);
        }
        let n_rows = data.len() / n;
        let width: usize = shape[shape.len() - region.inames.len()..].iter().product();
        let mut values = vec![0.0; n_rows * width];
        for row in 0..n_rows {
            for (idx, point) in region.points.iter().enumerate() {
                let mut position = 0;
                for (at, &low) in lows.iter().enumerate() {
                    let size = shape[shape.len() - lows.len() + at];
                    position = position * size + usize::try_from(point[at] - low).ok()?;
                }
                values[row * width + position] = data[row * n + idx];
            }
        }
        if indices.is_empty() {
            let value = Float::new(values[0])?;
            return Some(Some(self.kernel.exprs.float(value)));
        }
        let array = self.tables.table(&mut self.kernel, &mut self.names, &shape, &values)?;
        Some(Some(self.kernel.exprs.access(array, indices)))
    }

    /// An instruction at the points of a region, or at their images.
    fn instruction(
        &mut self,
        insn: InsnId,
        parts: &[(ExprId, Parts)],
        (reflection, region): (&Reflection, &Region),
        is_image: bool,
    ) -> Option<InsnId> {
        let inames = reflection.inames.iter().copied();
        let mut mapping: Vec<(InameId, Affine)> = inames.zip(region.values.iter().cloned()).collect();
        if is_image {
            let images: Option<Vec<Affine>> = reflection.images.iter().map(|image| composed(image, &mapping)).collect();
            mapping = reflection.inames.iter().copied().zip(images?).collect();
        }
        let mut replaced_values = FxHashMap::default();
        for &(reduction, Parts { even, odd }) in parts {
            let exprs = &mut self.kernel.exprs;
            let value = match (even, odd) {
                (Some(even), Some(odd)) => exprs.op(if is_image { Op::Sub } else { Op::Add }, [even, odd]),
                (Some(even), None) => even,
                (None, Some(odd)) if is_image => exprs.op(Op::Neg, [odd]),
                (None, Some(odd)) => odd,
                (None, None) => exprs.float(Float::new(0.0)?),
            };
            replaced_values.insert(reduction, value);
        }
        let Instruction { id, kind, within, depends_on, predicates } = self.kernel[insn].clone();
        let InstructionKind::Assignment { assignee: Assignee { array, indices }, expression } = kind else {
            return None;
        };
        let exprs = &mut self.kernel.exprs;
        let indices: Vec<ExprId> =
            indices.iter().map(|&index| substituted(exprs, index, &mapping, &replaced_values)).collect();
        let expression = substituted(exprs, expression, &mapping, &replaced_values);
        let new = InsnId::new(self.kernel.instructions.len());
        let id = self.names.new_name(&id);
        let within = replaced(&within, &reflection.inames, &region.inames);
        let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: indices.into() }, expression };
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
        Some(new)
    }
}

/// An affine function with others in the place of its inames.
fn composed(image: &Affine, mapping: &[(InameId, Affine)]) -> Option<Affine> {
    let mut res = Affine::constant(image.constant);
    for &(var, by) in &image.terms {
        let value = mapping.iter().find(|(iname, _)| Var::Iname(*iname) == var).map(|(_, value)| value.clone());
        res = res.plus(&value.unwrap_or_else(|| Affine::var(var)), by)?;
    }
    Some(res)
}

/// Loops with others in the place of some, where the first of these was.
fn replaced(loops: &[InameId], old: &[InameId], new: &[InameId]) -> Vec<InameId> {
    let mut res: Vec<InameId> = Vec::new();
    let mut is_done = false;
    for iname in loops {
        if !old.contains(iname) {
            res.push(*iname);
        } else if !std::mem::replace(&mut is_done, true) {
            res.extend(new);
        }
    }
    res
}
