//! Lanes: the innermost loop that is written as vectors.
//!
//! # Input
//! A kernel with one iname tagged `vec`, its lane, whose loops hold nothing but runs, inside the loop over an iname of blocks; the lane runs
//! from 0 to W - 1, or ends earlier in a last block. The transformation that puts elements together makes such kernels.
//! # Output
//! [`Lanes`]: which arrays hold a vector for each of their elements, and which instructions are written as operations on vectors. Temporaries
//! do whose last axis is the lane; arguments do whose first axis is the element, `W*block + lane`, in a copy of the block that is packed before and unpacked after. All other
//! instructions run lane by lane. `None` for any other kernel: then the lanes are a loop like others.
//! # Correctness
//! Lanes that a last block does not have hold copies of its last element: they are computed, and not written. Where a vector evaluates what the kernel does not (both
//! branches of a selection, statements whose predicate fails in a lane), nothing may fail: elements are in bounds by intervals.
//! # Complexity
//! Linear in the expressions.

mod coverage;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{
    ArrayId, ArrayKind, Dtype, Expr, ExprId, InameId, InameTag, InsnId, InstructionKind, Item, Kernel, Op,
};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use super::loops::Loops;
use super::math::{self, Kind};
use super::plan::whole_exponent;

/// How an array holds lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// It does not.
    Not,
    /// A temporary whose last axis is the lane.
    Last,
    /// An argument whose first axis is the element.
    First,
    /// An argument whose first axis is the block, and whose last is the lane.
    Interleaved,
}

/// How the copy of an argument's block gets and gives its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Elements are read before the statements.
    In,
    /// Elements are written after the statements, which set every one of them.
    Out,
    /// Both.
    InOut,
    /// Each element is updated once, by a sum or difference: the copy holds what is added afterwards.
    Added,
}

/// What is known of the lanes.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) lane: InameId,
    pub(crate) block: InameId,
    /// The number of lanes, W.
    pub(crate) width: i64,
    /// The last value of the lane in a last block, if blocks may be short.
    pub(crate) limit: Option<isl::Affine>,
    /// Arrays.
    pub(crate) held: Vec<Held>,
    /// Arguments that hold lanes in a copy.
    pub(crate) ways: FxHashMap<ArrayId, Way>,
    /// What is complete after an instruction: of a copy the values from there on, and which of them are written.
    pub(crate) flushes: FxHashMap<InsnId, Vec<(ArrayId, usize, Vec<bool>)>>,
    /// Instructions: whether they are written as vectors.
    pub(crate) is_vector: Vec<bool>,
    /// Instructions: whether all lanes can run, whichever elements there are.
    pub(crate) is_full: Vec<bool>,
    /// Expressions: whether they differ between lanes.
    pub(crate) varying: Vec<bool>,
    /// The integers that masks are made of.
    pub(crate) mask: Dtype,
}

impl Lanes {
    /// The lanes of a kernel, if it has some that can be written as vectors.
    pub(crate) fn of(kernel: &Kernel, items: &[Item], loops: &Loops, dtypes: &[Dtype]) -> Option<Self> {
        let mut tagged = kernel.iname_ids().filter(|&iname| kernel[iname].tags.contains(&InameTag::Vec));
        let (lane, None) = (tagged.next()?, tagged.next()) else { return None };
        let domain = &kernel[kernel[lane].domain];
        let ([_], [block]) = (domain.inames.as_slice(), domain.enclosing.as_slice()) else { return None };
        let (width, limit) = loops.lanes(kernel, lane, *block)?;
        if !matches!(width, 2 | 4 | 8 | 16) || !is_innermost(items, lane, *block) {
            return None;
        }
        let n_exprs = kernel.exprs.len();
        let is_single = !kernel.float_dtypes().any(|dtype| dtype == Dtype::Float64);
        let mut lanes = Self {
            lane,
            block: *block,
            width,
            limit,
            held: vec![Held::Not; kernel.arrays.len()],
            ways: FxHashMap::default(),
            flushes: FxHashMap::default(),
            is_vector: vec![false; kernel.instructions.len()],
            is_full: vec![false; kernel.instructions.len()],
            varying: vec![false; n_exprs],
            mask: if is_single { Dtype::Int32 } else { Dtype::Int64 },
        };
        lanes.hold(kernel);
        for (id, expr) in kernel.exprs.iter() {
            let own = match expr {
                Expr::Access { array, .. } => lanes.held[array.index()] != Held::Not,
                Expr::Iname(iname) => *iname == lane,
                _ => false,
            };
            lanes.varying[id.index()] = own || expr.children().iter().any(|child| lanes.varying[child.index()]);
        }
        // What one lane keeps for a later instruction must not meet what the others keep.
        let is_kept = |insn: InsnId| {
            kernel[insn].within.contains(&lane)
                && kernel[insn]
                    .written_arrays()
                    .iter()
                    .any(|&array| kernel[array].is_temporary() && !lanes.holds(array))
        };
        if kernel.insn_ids().any(is_kept) {
            return None;
        }
        let safe = lanes.safe(kernel, loops);
        let plain = lanes.plain(kernel, dtypes, &safe);
        for insn in kernel.insn_ids() {
            let (is_full, is_vector) = lanes.kinds(kernel, loops, insn, (&plain, &safe));
            lanes.is_full[insn.index()] = is_full;
            lanes.is_vector[insn.index()] = is_full && is_vector;
        }
        lanes.find_ways(kernel, items, loops);
        Some(lanes)
    }

    /// Whether an array holds lanes.
    pub(crate) fn holds(&self, array: ArrayId) -> bool {
        self.held[array.index()] != Held::Not
    }

    /// The indices of an element that holds lanes, without those of the lane.
    pub(crate) fn inner<'t, T>(&self, array: ArrayId, indices: &'t [T]) -> &'t [T] {
        match self.held[array.index()] {
            Held::Not => indices,
            Held::Last => &indices[..indices.len() - 1],
            Held::First => &indices[1..],
            Held::Interleaved => &indices[1..indices.len() - 1],
        }
    }

    /// Whether an argument goes to memory while the statements run.
    pub(crate) fn is_flushed(&self, array: ArrayId) -> bool {
        self.flushes.values().flatten().any(|flush| flush.0 == array)
    }

    /// Finds the arrays that hold lanes.
    fn hold(&mut self, kernel: &Kernel) {
        let block = Affine { constant: 0, terms: vec![(Var::Iname(self.block), 1)] };
        let element = block.times(self.width).and_then(|first| first.plus(&Affine::var(Var::Iname(self.lane)), 1));
        let mut accesses: Vec<Vec<&[ExprId]>> = vec![Vec::new(); kernel.arrays.len()];
        let mut roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|insn| insn.expressions()).collect();
        roots.sort_unstable();
        roots.dedup();
        for id in kernel.exprs.reachable(roots) {
            if let Expr::Access { array, indices } = &kernel.exprs[id] {
                accesses[array.index()].push(indices);
            }
        }
        for assignee in kernel.instructions.iter().flat_map(|instruction| instruction.assignees()) {
            accesses[assignee.array.index()].push(&assignee.indices);
        }
        let mut mentions = vec![false; kernel.exprs.len()];
        for (id, expr) in kernel.exprs.iter() {
            let own = matches!(expr, Expr::Iname(iname) if *iname == self.lane || *iname == self.block);
            mentions[id.index()] = own || expr.children().iter().any(|child| mentions[child.index()]);
        }
        let is = |index: ExprId, wanted: &Affine| affine::of(&kernel.exprs, index).as_ref() == Some(wanted);
        let lane = Affine::var(Var::Iname(self.lane));
        let rest_is_free = |rest: &[ExprId]| rest.iter().all(|index| !mentions[index.index()]);
        for id in kernel.array_ids() {
            let (array, uses) = (&kernel[id], &accesses[id.index()]);
            let constant =
                |size: Option<&ExprId>| affine::of(&kernel.exprs, *size?).and_then(|size| size.as_constant());
            let ends = constant(array.shape.last()) == Some(self.width)
                && uses.iter().all(|indices| indices.last().is_some_and(|&last| is(last, &lane)));
            let inner_is_constant = |from: usize| {
                array.shape.iter().skip(from).all(|size| constant(Some(size)).is_some_and(|size| size > 0))
            };
            self.held[id.index()] = match array.kind {
                _ if uses.is_empty() || array.shape.is_empty() => Held::Not,
                ArrayKind::Temporary
                    if ends && array.stored.is_none() && uses.iter().all(|i| rest_is_free(&i[..i.len() - 1])) =>
                {
                    Held::Last
                }
                ArrayKind::Argument(_)
                    if array.dtype != Dtype::Bool && array.stored.is_none() && inner_is_constant(1) =>
                {
                    let first = |indices: &&[ExprId]| {
                        element.as_ref().is_some_and(|element| is(indices[0], element)) && rest_is_free(&indices[1..])
                    };
                    let interleaved =
                        |i: &&[ExprId]| i.len() > 1 && is(i[0], &block) && rest_is_free(&i[1..i.len() - 1]);
                    match () {
                        () if uses.iter().all(first) => Held::First,
                        () if ends && uses.iter().all(interleaved) => Held::Interleaved,
                        () => Held::Not,
                    }
                }
                _ => Held::Not,
            };
        }
    }

    /// Expressions that may be evaluated where the kernel does not.
    fn safe(&self, kernel: &Kernel, loops: &Loops) -> Vec<bool> {
        let mut safe = vec![false; kernel.exprs.len()];
        for (id, expr) in kernel.exprs.iter() {
            let own = match expr {
                Expr::Number(_) | Expr::Iname(_) | Expr::Parameter(_) => true,
                Expr::Access { array, indices } => {
                    let shape = &kernel[*array].shape;
                    let pairs = self.inner(*array, indices).iter().zip(self.inner(*array, shape));
                    pairs.into_iter().all(|(&index, &extent)| in_bounds(kernel, loops, index, extent))
                }
                Expr::Op { op: Op::FloorDiv | Op::Mod | Op::Shl | Op::Shr, .. } => false,
                Expr::Op { .. } | Expr::Cast { .. } => true,
                Expr::Call { function, .. } => math::standard(&kernel[*function]).is_some(),
                Expr::Reduce { .. } | Expr::Formal(_) | Expr::Substitution { .. } => false,
            };
            let children = match expr {
                Expr::Access { array, indices } => self.inner(*array, indices),
                other => other.children(),
            };
            safe[id.index()] = own && children.iter().all(|child| safe[child.index()]);
        }
        safe
    }

    /// Expressions that vectors can compute, or that do not differ between lanes.
    fn plain(&self, kernel: &Kernel, dtypes: &[Dtype], safe: &[bool]) -> Vec<bool> {
        let mut plain = vec![false; kernel.exprs.len()];
        let varying = |id: ExprId| self.varying[id.index()];
        for (id, expr) in kernel.exprs.iter() {
            if !varying(id) {
                plain[id.index()] = !matches!(expr, Expr::Iname(iname) if *iname == self.block);
                continue;
            }
            let numbers =
                |operands: &[ExprId]| operands.iter().all(|&o| !varying(o) || dtypes[o.index()] != Dtype::Bool);
            let own = match expr {
                Expr::Access { array, indices } if self.holds(*array) => {
                    self.inner(*array, indices).iter().all(|&index| !varying(index))
                }
                Expr::Access { array, .. } => kernel[*array].dtype != Dtype::Bool,
                Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Min | Op::Max, operands } => {
                    numbers(operands)
                }
                Expr::Op { op, operands } if op.is_comparison() => numbers(operands),
                Expr::Op { op: Op::Pow, operands } => {
                    numbers(operands)
                        && (whole_exponent(kernel, operands[1]).is_some() || dtypes[id.index()].is_float())
                }
                // Masks: everything is evaluated.
                Expr::Op { op: Op::If, operands } if varying(operands[0]) => {
                    operands[1..].iter().all(|operand| safe[operand.index()])
                }
                Expr::Op { op: Op::If | Op::Not, .. } => true,
                Expr::Op { op: Op::And | Op::Or, operands } => operands[1..].iter().all(|o| safe[o.index()]),
                Expr::Call { function, arguments } => {
                    let is_float = math::standard(&kernel[*function]).is_none_or(|known| known.kind == Kind::Float);
                    is_float && numbers(arguments)
                }
                Expr::Cast { .. } => true,
                _ => false,
            };
            let children = match expr {
                Expr::Access { array, indices } => self.inner(*array, indices),
                other => other.children(),
            };
            plain[id.index()] = own && children.iter().all(|child| plain[child.index()]);
        }
        plain
    }

    /// Whether an instruction runs in all lanes, and whether vectors can do what it does.
    fn kinds(&self, kernel: &Kernel, loops: &Loops, insn: InsnId, (plain, safe): (&[bool], &[bool])) -> (bool, bool) {
        let instruction = &kernel[insn];
        if !instruction.within.contains(&self.lane) {
            return (false, false);
        }
        let assignees = instruction.assignees();
        let is_held = |array: ArrayId| self.holds(array);
        // An element that is named by its number may not be there.
        let names_element = kernel.exprs.reachable(instruction.expressions()).into_iter().any(|id| {
            matches!(&kernel.exprs[id], Expr::Access { array, indices } if !is_held(*array)
                && kernel[*array].table().is_none()
                && indices.iter().any(|&index| !self.is_data(kernel, index)))
        });
        let is_full = assignees.iter().all(|assignee| is_held(assignee.array)) && !names_element;
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return (is_full, false) };
        let masked = instruction.predicates.iter().any(|predicate| self.varying[predicate.index()]);
        let inner = self.inner(assignee.array, &assignee.indices);
        let needed = inner.iter().chain(instruction.predicates.iter()).chain([expression]);
        let is_plain = needed.clone().all(|id| plain[id.index()]) && inner.iter().all(|i| !self.varying[i.index()]);
        let is_safe = !masked || {
            let shape = self.inner(assignee.array, &kernel[assignee.array].shape);
            let is_inside = inner.iter().zip(shape).all(|(&index, &extent)| in_bounds(kernel, loops, index, extent));
            is_inside && needed.clone().all(|id| safe[id.index()])
        };
        (is_full, is_plain && is_safe)
    }

    /// Whether the lane stands only in elements that hold lanes.
    fn is_data(&self, kernel: &Kernel, index: ExprId) -> bool {
        let mut seen = FxHashSet::default();
        let mut pending = vec![index];
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &kernel.exprs[id] {
                Expr::Iname(iname) if *iname == self.lane => return false,
                Expr::Access { array, indices } => pending.extend(self.inner(*array, indices)),
                other => pending.extend(other.children()),
            }
        }
        true
    }

    /// How the copies of arguments get and give their elements.
    fn find_ways(&mut self, kernel: &Kernel, items: &[Item], loops: &Loops) {
        let written = kernel.written();
        for id in kernel.arguments().filter(|&id| self.holds(id)).collect::<Vec<_>>() {
            if !written[id.index()] {
                self.ways.insert(id, Way::In);
                continue;
            }
            let found = coverage::way(self, kernel, items, loops, id);
            let (way, flushes) = found.unwrap_or((Way::InOut, Vec::new()));
            self.ways.insert(id, way);
            if self.held[id.index()] == Held::First {
                for (insn, start, written) in flushes {
                    self.flushes.entry(insn).or_default().push((id, start, written));
                }
            }
        }
    }
}

/// Whether the lane's loops hold nothing but runs, and stand inside the loop over blocks.
fn is_innermost(items: &[Item], lane: InameId, block: InameId) -> bool {
    let (mut in_block, mut in_lane) = (false, false);
    for item in items {
        match item {
            Item::For(iname) if *iname == lane => {
                if !in_block || in_lane {
                    return false;
                }
                in_lane = true;
            }
            Item::End(iname) if *iname == lane => in_lane = false,
            Item::For(iname) if *iname == block => in_block = true,
            Item::End(iname) if *iname == block => in_block = false,
            Item::Run(_) => {}
            _ if in_lane => return false,
            _ => {}
        }
    }
    true
}

/// Whether an index lies within an extent, by intervals.
fn in_bounds(kernel: &Kernel, loops: &Loops, index: ExprId, extent: ExprId) -> bool {
    let decide = || {
        let extent = affine::of(&kernel.exprs, extent)?.as_constant()?;
        let index = affine::of(&kernel.exprs, index)?;
        let (mut least, mut greatest) = (index.constant, index.constant);
        for &(var, coefficient) in &index.terms {
            let Var::Iname(iname) = var else { return None };
            let (low, high) = loops.range(kernel, iname)?;
            let ends = [low.checked_mul(coefficient)?, high.checked_mul(coefficient)?];
            least = least.checked_add(ends[0].min(ends[1]))?;
            greatest = greatest.checked_add(ends[0].max(ends[1]))?;
        }
        Some(least >= 0 && greatest < extent)
    };
    decide().unwrap_or(false)
}
