//! Arrays whose elements lie over the points of coalesced loops, packed: two axes become one.
//!
//! # Method
//! Two axes of a temporary are packed if every access reads them at the points of one pair of loops, or at one point that is a number; the new axis counts all these points in order.
//! Axes of a table along which an access reads at the points of a pair become one with the entries in the order of the points. Elsewhere, an iname of a pair is what a table
//! of the points says, or an affine function of the new iname.

use std::collections::BTreeMap;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::linearization::{conditions_in, runs_in};
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{
    ArrayId, Assignee, Dtype, Expr, ExprId, Exprs, InameId, InsnId, InstructionKind, Kernel, LoopTree, Number,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Pair;
use crate::table_pool::{Contents, TablePool};

/// Tables of more entries are not made.
const MAX_ENTRIES: usize = 1 << 16;

/// Two axes of an array, the first before the second, with the points that are accessed along them, in order.
pub(super) struct Axes {
    at: [usize; 2],
    ranks: BTreeMap<[i64; 2], usize>,
}

/// Which pairs of loops are coalesced, and which arrays are packed.
pub(super) struct Packing {
    is_coalesced: Vec<bool>,
    axes: BTreeMap<ArrayId, Vec<Axes>>,
}

/// An access to an element of a temporary.
struct Access<'a> {
    array: ArrayId,
    indices: &'a [ExprId],
    around: &'a [usize],
}

/// What an access reads along two axes.
struct Along {
    /// `None` if the element is the same always.
    pair: Option<usize>,
    points: Vec<[i64; 2]>,
}

impl Packing {
    /// What is to be done, if instructions have these pairs around them.
    pub(super) fn of(
        kernel: &Kernel,
        tree: &[LoopTree],
        pairs: &[Pair],
        around: &BTreeMap<InsnId, Vec<usize>>,
    ) -> Self {
        let mut is_coalesced: Vec<bool> = pairs.iter().map(|pair| pair.is_triangle).collect();
        let mut accesses = Vec::new();
        for (insn, around) in around {
            accesses.extend(accesses_of(kernel, *insn, around));
        }
        let refused = refused(kernel, tree);
        let mut by_array: BTreeMap<ArrayId, Vec<&Access<'_>>> = BTreeMap::new();
        for access in accesses.iter().filter(|access| !refused.contains(&access.array)) {
            by_array.entry(access.array).or_default().push(access);
        }
        let mut axes: BTreeMap<ArrayId, Vec<Axes>> = BTreeMap::new();
        for (array, accesses) in by_array {
            for (of_array, needed) in packed_axes(kernel, pairs, &accesses) {
                if fit_together(pairs, around, &is_coalesced, &needed) {
                    needed.iter().for_each(|&pair| is_coalesced[pair] = true);
                    axes.entry(array).or_default().push(of_array);
                }
            }
        }
        Self { is_coalesced, axes }
    }

    pub(super) fn is_coalesced(&self, pair: usize) -> bool {
        self.is_coalesced[pair]
    }
}

/// Whether some pairs can be coalesced beside those that are: no loop is in two of them.
fn fit_together(
    pairs: &[Pair],
    around: &BTreeMap<InsnId, Vec<usize>>,
    is_coalesced: &[bool],
    needed: &[usize],
) -> bool {
    let overlaps = |pair: usize, other: usize| {
        let Pair { outer, inner, .. } = pairs[pair];
        pair != other && (pairs[other].place_of(outer).is_some() || pairs[other].place_of(inner).is_some())
    };
    let is_chosen = |pair: usize| is_coalesced[pair] || needed.contains(&pair);
    let is_alone = |pair: usize, around: &[usize]| {
        !around.contains(&pair) || !around.iter().any(|&other| is_chosen(other) && overlaps(pair, other))
    };
    needed.iter().all(|&pair| around.values().all(|around| is_alone(pair, around)))
}

/// Arrays that stay as they are: those that opaque instructions or conditions of branches touch.
fn refused(kernel: &Kernel, tree: &[LoopTree]) -> FxHashSet<ArrayId> {
    let mut res = FxHashSet::default();
    for instruction in &kernel.instructions {
        if let InstructionKind::Opaque { reads, writes, .. } = &instruction.kind {
            res.extend(reads.iter().chain(writes));
        }
    }
    res.extend(arrays_below(&kernel.exprs, conditions_in(tree)));
    res
}

/// The accesses of an instruction to temporaries with several axes.
fn accesses_of<'a>(kernel: &'a Kernel, insn: InsnId, around: &'a [usize]) -> Vec<Access<'a>> {
    let instruction = &kernel[insn];
    let written = instruction.assignees().iter().map(|to| (to.array, &*to.indices));
    let read = below(&kernel.exprs, instruction.expressions()).into_iter().filter_map(|id| match &kernel.exprs[id] {
        Expr::Access { array, indices } => Some((*array, &**indices)),
        _ => None,
    });
    let all = written.chain(read).filter(|(array, indices)| kernel[*array].is_temporary() && indices.len() > 1);
    all.map(|(array, indices)| Access { array, indices, around }).collect()
}

/// The axes of an array that can be packed, and the pairs of loops that must be coalesced for that. Each is accessed in a triangle somewhere.
fn packed_axes(kernel: &Kernel, pairs: &[Pair], accesses: &[&Access<'_>]) -> Vec<(Axes, Vec<usize>)> {
    let n_axes = accesses.first().map_or(0, |access| access.indices.len());
    let mut res: Vec<(Axes, Vec<usize>)> = Vec::new();
    for first in 0..n_axes {
        for second in first + 1..n_axes {
            let at = [first, second];
            if res.iter().any(|(axes, _)| axes.at.iter().any(|axis| at.contains(axis))) {
                continue;
            }
            let along = |access: &&Access<'_>| {
                points_along(&kernel.exprs, pairs, access.around, at.map(|axis| access.indices[axis]))
            };
            let Some(all) = accesses.iter().map(along).collect::<Option<Vec<Along>>>() else { continue };
            let mut needed: Vec<usize> = all.iter().filter_map(|along| along.pair).collect();
            needed.sort_unstable();
            needed.dedup();
            if needed.iter().any(|&pair| pairs[pair].is_triangle) {
                let mut ranks: BTreeMap<[i64; 2], usize> = BTreeMap::new();
                ranks.extend(all.iter().flat_map(|along| &along.points).map(|&point| (point, 0)));
                ranks.values_mut().zip(0..).for_each(|(rank, number)| *rank = number);
                res.push((Axes { at, ranks }, needed));
            }
        }
    }
    res
}

/// What two indices are at the points of a pair of loops around them.
fn points_along(exprs: &Exprs, pairs: &[Pair], around: &[usize], indices: [ExprId; 2]) -> Option<Along> {
    let [first, second] = indices.map(|index| affine::of(exprs, index));
    let (first, second) = (first?, second?);
    if let (Some(first), Some(second)) = (first.as_constant(), second.as_constant()) {
        return Some(Along { pair: None, points: vec![[first, second]] });
    }
    let only = |index: &Affine| match index.terms.as_slice() {
        [(Var::Iname(iname), _)] => Some(*iname),
        _ => None,
    };
    let (of_first, of_second) = (only(&first)?, only(&second)?);
    if of_first == of_second {
        return None;
    }
    let pair = around.iter().copied().find(|&pair| pairs[pair].place_of(of_first).is_some())?;
    pairs[pair].place_of(of_second)?;
    let points = pairs[pair]
        .points
        .iter()
        .map(|point| Some([at_point(&pairs[pair], &first, point)?, at_point(&pairs[pair], &second, point)?]));
    Some(Along { pair: Some(pair), points: points.collect::<Option<Vec<_>>>()? })
}

/// The value of an affine function of the inames of a pair at a point.
fn at_point(pair: &Pair, index: &Affine, point: &[i64; 2]) -> Option<i64> {
    index.terms.iter().try_fold(index.constant, |sum, (var, coefficient)| {
        let Var::Iname(iname) = var else { return None };
        sum.checked_add(point[pair.place_of(*iname)?].checked_mul(*coefficient)?)
    })
}

/// Writes instructions for the new loops and arrays.
pub(super) struct Rewriter<'a> {
    pairs: &'a [Pair],
    /// The iname of each pair.
    flat: &'a [InameId],
    packing: &'a Packing,
    tables: TablePool,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(kernel: &Kernel, pairs: &'a [Pair], flat: &'a [InameId], packing: &'a Packing) -> Self {
        Self { pairs, flat, packing, tables: TablePool::new(kernel) }
    }

    /// The shapes of packed arrays, and the tables that were made.
    pub(super) fn finish(self, kernel: &mut Kernel) {
        for (array, axes) in &self.packing.axes {
            for &Axes { at: [first, _], ref ranks } in axes {
                kernel[*array].shape[first] = kernel.exprs.int(ranks.len() as i64);
            }
            let mut axis = 0;
            kernel[*array].shape.retain(|_| {
                axis += 1;
                !axes.iter().any(|axes| axes.at[1] == axis - 1)
            });
        }
        self.tables.finish(kernel);
    }

    /// The nodes with these pairs around them, rewritten.
    pub(super) fn all(
        &mut self,
        kernel: &mut Kernel,
        nodes: &[LoopTree],
        around: &BTreeMap<InsnId, Vec<usize>>,
        open: &[usize],
    ) -> Vec<LoopTree> {
        let of_node = |node: &LoopTree| match node {
            LoopTree::Loop { iname, body } => match self.coalesced(*iname, body, around) {
                Some((pair, body)) => {
                    let open = [open, &[pair]].concat();
                    LoopTree::Loop { iname: self.flat[pair], body: self.all(kernel, body, around, &open) }
                }
                None => LoopTree::Loop { iname: *iname, body: self.all(kernel, body, around, open) },
            },
            LoopTree::Branch { condition, body } => {
                let condition = self.rewritten(&mut kernel.exprs, &[*condition], open)[0];
                LoopTree::Branch { condition, body: self.all(kernel, body, around, open) }
            }
            LoopTree::Run(insn) => {
                self.rewrite(kernel, *insn, open);
                LoopTree::Run(*insn)
            }
        };
        nodes.iter().map(of_node).collect()
    }

    /// The pair of which a loop is the outer one, with the body of the inner one.
    fn coalesced<'t>(
        &self,
        iname: InameId,
        body: &'t [LoopTree],
        around: &BTreeMap<InsnId, Vec<usize>>,
    ) -> Option<(usize, &'t [LoopTree])> {
        let [LoopTree::Loop { iname: inner, body }] = body else { return None };
        let is_it = |&&pair: &&usize| self.pairs[pair].outer == iname && self.pairs[pair].inner == *inner;
        let pair = around.get(runs_in(body).first()?)?.iter().find(is_it)?;
        Some((*pair, body))
    }

    fn rewrite(&mut self, kernel: &mut Kernel, insn: InsnId, open: &[usize]) {
        let mut instruction = kernel[insn].clone();
        let elements: Vec<(ArrayId, Vec<ExprId>)> =
            instruction.assignees().iter().map(|to| (to.array, to.indices.to_vec())).collect();
        let roots: Vec<ExprId> = instruction.expressions().collect();
        let new = self.rewritten(&mut kernel.exprs, &roots, open);
        let known: FxHashMap<ExprId, ExprId> = roots.into_iter().zip(new).collect();
        instruction.map_expressions(|id| known[&id]);
        let assignees: &mut [Assignee] = match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => std::slice::from_mut(assignee),
            InstructionKind::Call { assignees, .. } => assignees,
            InstructionKind::Opaque { .. } => &mut [],
        };
        for (assignee, (array, old)) in assignees.iter_mut().zip(elements) {
            assignee.indices = self.packed(&mut kernel.exprs, array, &old, assignee.indices.to_vec(), open).into();
        }
        let image = |iname: &InameId| {
            let pair = open.iter().copied().find(|&pair| self.pairs[pair].place_of(*iname).is_some());
            match pair {
                Some(pair) if self.pairs[pair].outer == *iname => Some(self.flat[pair]),
                Some(_) => None,
                None => Some(*iname),
            }
        };
        instruction.within = instruction.within.iter().filter_map(image).collect();
        kernel[insn] = instruction;
    }

    /// Expressions inside these pairs.
    fn rewritten(&mut self, exprs: &mut Exprs, roots: &[ExprId], open: &[usize]) -> Vec<ExprId> {
        let known = exprs.rewrite(roots.iter().copied(), |exprs, old, expr| match (exprs[old].clone(), expr) {
            (Expr::Access { array, indices: old }, Expr::Access { indices: new, .. }) => {
                if let Some(res) = self.of_table(exprs, array, &old, &new, open) {
                    return res;
                }
                let indices = self.packed(exprs, array, &old, new.to_vec(), open);
                exprs.access(array, indices)
            }
            (_, expr) => self.with_points(exprs, old, open).unwrap_or_else(|| exprs.intern(expr)),
        });
        roots.iter().map(|&root| known.get(root)).collect()
    }

    /// An index in which inames of pairs are what they are at a point; `None` if it is to be put together from its operands.
    fn with_points(&mut self, exprs: &mut Exprs, old: ExprId, open: &[usize]) -> Option<ExprId> {
        let index = affine::of(exprs, old)?;
        let of_iname = |iname: InameId| open.iter().find_map(|&pair| Some((pair, self.pairs[pair].place_of(iname)?)));
        if !index.inames().any(|iname| of_iname(iname).is_some()) {
            return None;
        }
        let coordinate = |(pair, place): (usize, usize)| -> Vec<i64> {
            self.pairs[pair].points.iter().map(|point| point[place]).collect()
        };
        if let Some((pair, place)) = index.as_iname().and_then(of_iname) {
            let values = coordinate((pair, place));
            return Some(self.number(exprs, pair, &values));
        }
        let mut res = Affine::constant(index.constant);
        for &(var, coefficient) in &index.terms {
            let image = match var {
                Var::Iname(iname) => match of_iname(iname) {
                    Some((pair, place)) => affine_in(self.flat[pair], &coordinate((pair, place)))?,
                    None => Affine::var(var),
                },
                Var::Parameter(_) => Affine::var(var),
            };
            res = res.plus(&image, coefficient)?;
        }
        Some(res.to_expr(exprs))
    }

    /// A number for each point of a pair: an affine function of its iname, or an entry of a table.
    fn number(&mut self, exprs: &mut Exprs, pair: usize, values: &[i64]) -> ExprId {
        let iname = self.flat[pair];
        if let Some(affine) = affine_in(iname, values) {
            return affine.to_expr(exprs);
        }
        let values: Vec<Number> = values.iter().map(|&value| Number::Int(value)).collect();
        let contents = Contents { dtype: Dtype::Int32, shape: vec![values.len()], values: values.into() };
        let table = self.tables.get(exprs, "point", contents);
        let index = exprs.intern(Expr::Iname(iname));
        exprs.access(table, [index])
    }

    /// The indices of an element of an array that may be packed.
    fn packed(
        &mut self,
        exprs: &mut Exprs,
        array: ArrayId,
        old: &[ExprId],
        new: Vec<ExprId>,
        open: &[usize],
    ) -> Vec<ExprId> {
        let Some(axes) = self.packing.axes.get(&array) else { return new };
        let mut res: Vec<Option<ExprId>> = new.into_iter().map(Some).collect();
        for Axes { at: [first, second], ranks } in axes {
            let along = points_along(exprs, self.pairs, open, [old[*first], old[*second]]);
            let Some(Along { pair, points }) = along else { unreachable!("each access is at the points of a pair") };
            let values: Vec<i64> = points.iter().map(|point| ranks[point] as i64).collect();
            res[*first] = Some(match pair {
                Some(pair) => self.number(exprs, pair, &values),
                None => exprs.int(values[0]),
            });
            res[*second] = None;
        }
        res.into_iter().flatten().collect()
    }

    /// An entry of a table with axes packed that are read at the points of a pair; `None` if there are none, or the table would be too large.
    fn of_table(
        &mut self,
        exprs: &mut Exprs,
        array: ArrayId,
        old: &[ExprId],
        new: &[ExprId],
        open: &[usize],
    ) -> Option<ExprId> {
        let contents = self.tables.contents(array)?.clone();
        let mut groups: Vec<(usize, Vec<OfAxis>)> = Vec::new();
        for (axis, &index) in old.iter().enumerate() {
            let Some(index) = affine::of(exprs, index) else { continue };
            let mut inames = index.inames();
            let Some(iname) = inames.next() else { continue };
            let Some(pair) = open.iter().copied().find(|&pair| self.pairs[pair].place_of(iname).is_some()) else {
                continue;
            };
            let values = self.pairs[pair].points.iter().map(|point| at_point(&self.pairs[pair], &index, point));
            let Some(values) = values.collect::<Option<Vec<i64>>>() else { continue };
            match groups.iter_mut().find(|group| group.0 == pair) {
                Some((_, axes)) => axes.push((axis, values)),
                None => groups.push((pair, vec![(axis, values)])),
            }
        }
        // Along a single axis it may be read as it is.
        groups.retain(|(pair, axes)| axes.len() > 1 || affine_in(self.flat[*pair], &axes[0].1).is_none());
        if groups.is_empty() {
            return None;
        }
        let mut res = contents;
        let mut indices: Vec<Option<ExprId>> = new.iter().copied().map(Some).collect();
        for (pair, axes) in groups {
            // Axes that are gone have one entry until the end.
            res = gathered(&res, &axes)?;
            indices[axes[0].0] = Some(exprs.intern(Expr::Iname(self.flat[pair])));
            axes[1..].iter().for_each(|(axis, _)| indices[*axis] = None);
        }
        let shape = std::iter::zip(&res.shape, &indices).filter(|(_, index)| index.is_some()).map(|(size, _)| *size);
        let packed = Contents { dtype: res.dtype, shape: shape.collect(), values: res.values };
        let table = self.tables.get(exprs, "packed", packed);
        Some(exprs.access(table, indices.into_iter().flatten().collect::<Vec<_>>()))
    }
}

/// An axis of a table, and the index along it at each point of a pair.
type OfAxis = (usize, Vec<i64>);

/// The table whose first of some axes counts points at each of which all of them have an index, and whose others have one entry; `None` if that is too large.
fn gathered(table: &Contents, axes: &[OfAxis]) -> Option<Contents> {
    let n_points = axes[0].1.len();
    let mut shape = table.shape.clone();
    axes.iter().for_each(|(axis, _)| shape[*axis] = 1);
    shape[axes[0].0] = n_points;
    let n_entries = shape.iter().try_fold(1_usize, |n, &size| n.checked_mul(size))?;
    if n_entries > MAX_ENTRIES {
        return None;
    }
    let mut values = Vec::with_capacity(n_entries);
    let mut index = vec![0_usize; shape.len()];
    for _ in 0..n_entries {
        let mut from = index.clone();
        for (axis, of_points) in axes {
            let value = usize::try_from(of_points[index[axes[0].0]]).ok()?;
            from[*axis] = (value < table.shape[*axis]).then_some(value)?;
        }
        let position = std::iter::zip(&from, &table.shape).fold(0, |position, (at, size)| position * size + at);
        values.push(table.values[position]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Some(Contents { dtype: table.dtype, shape, values: values.into() })
}

/// The affine function of an iname from zero up that has these values, if there is one.
fn affine_in(iname: InameId, values: &[i64]) -> Option<Affine> {
    let first = *values.first()?;
    let step = match values.get(1) {
        Some(second) => second.checked_sub(first)?,
        None => 0,
    };
    let is_next = |pair: &[i64]| pair[1].checked_sub(pair[0]) == Some(step);
    if !values.windows(2).all(is_next) {
        return None;
    }
    Affine::constant(first).plus(&Affine::var(Var::Iname(iname)), step)
}
