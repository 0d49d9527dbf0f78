//! A kernel made ready for evaluation on demand: units, and for each array who writes it.

use std::sync::Arc;

use nestegg_ir::sequences::Sequences;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, Instruction, InstructionKind, Kernel, LinearizedKernel};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::demand::code::{Decision, Unit};
use crate::demand::lower::Lowering;
use crate::demand::node::{Dim, NodeId, Place};
use crate::demand::search::{Axis, Writers, axes};
use crate::demand::unit::{Units, build};
use crate::domain::{Bounds, Domains, Values};
use crate::error::Error;
use crate::memory::Layout;
use crate::source::{Form, Source};
use crate::world::Function;

/// A unit at an instance of an instruction: the positions of its inames among the loops.
#[derive(Clone, Debug)]
pub(super) struct UnitAt {
    pub(super) unit: usize,
    pub(super) loops: Vec<usize>,
}

/// One index of what is written.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// `constant + Σ coefficient·loop`, loops by position.
    Affine {
        constant: i64,
        terms: Vec<(usize, i64)>,
    },
    Computed(UnitAt),
}

/// What an index says of one loop: `own·loop + Σ coefficient·outer loop + (what the loops inside give) = index - constant`.
#[derive(Clone, Debug)]
pub(super) struct Equation {
    /// Which of the targets it is.
    pub(super) target: usize,
    pub(super) own: i64,
    pub(super) outer: Vec<(usize, i64)>,
    /// The least and the greatest that the loops inside can give.
    pub(super) slack: (i128, i128),
}

/// A condition of an instruction, and where its outcomes are noted.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) value: UnitAt,
    pub(super) decision: usize,
}

/// An instruction that writes an array.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) place: Place,
    /// Which of the instruction's results it is.
    pub(super) result: usize,
    /// The loops around it, outermost first.
    pub(super) loops: Vec<InameId>,
    pub(super) bounds: Vec<Arc<Bounds>>,
    pub(super) targets: Vec<Target>,
    /// For each loop the equations of targets in which it stands.
    pub(super) equations: Vec<Vec<Equation>>,
    /// Its loops, where its index is its point.
    pub(super) axes: Option<Vec<Axis>>,
    pub(super) conditions: Vec<Condition>,
    pub(super) value: UnitAt,
    /// Its number among the writers whose indices are not all affine.
    pub(super) index: Option<usize>,
}

/// A kernel for given parameter values, ready to be evaluated in any world.
pub(crate) struct Plan<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(super) sequences: Sequences,
    pub(super) shapes: Vec<Vec<i64>>,
    /// How many elements arrays have.
    pub(super) lens: Vec<usize>,
    pub(super) writers: Vec<Writers>,
    pub(super) units: Vec<Unit>,
    /// For each unit and iname of it the least value and the stride in the number of a point.
    pub(super) keys: Vec<Vec<(i64, u128)>>,
    /// For each unit the number of points of its hull.
    pub(super) extents: Vec<u128>,
    pub(super) literals: Vec<f64>,
    pub(super) functions: Vec<Function>,
    pub(super) decisions: Vec<Decision>,
    /// The expressions of the kernel behind each decision.
    pub(super) decided: Vec<Vec<ExprId>>,
    pub(super) n_indices: usize,
    /// The whole program: its end is the place after its last item.
    pub(super) end: Place,
}

struct Draft {
    array: ArrayId,
    result: usize,
    place: Place,
    dims: Vec<Dim>,
    value: NodeId,
    conditions: Vec<NodeId>,
}

impl<'k> Plan<'k> {
    /// # Errors
    /// Opaque instructions, unusable sizes, domains that isl cannot tell.
    pub(crate) fn new(linearized: &'k LinearizedKernel, parameters: &[i64]) -> Result<Self, Error> {
        let kernel = &linearized.kernel;
        let source = Source::new(kernel, parameters)?;
        let layouts = Layout::all(kernel, &source)?;
        let lens = layouts.iter().map(|layout| layout.len).collect();
        let shapes = layouts.into_iter().map(|layout| layout.shape).collect();
        let mut domains = Domains::new(kernel, parameters)?;
        let sequences = Sequences::new(linearized);
        let mut writes: Vec<Vec<Place>> = vec![Vec::new(); kernel.arrays.len()];
        let mut is_run = vec![false; kernel.instructions.len()];
        for item in &linearized.linearization {
            if let nestegg_ir::linearization::Item::Run(insn) = item {
                is_run[insn.index()] = true;
            }
        }
        for insn in kernel.insn_ids().filter(|insn| is_run[insn.index()]) {
            let (sequence, item) = sequences.places[insn.index()];
            for array in kernel[insn].written_arrays() {
                writes[array.index()].push(Place { sequence, item });
            }
        }
        let mut lowering = Lowering::new(kernel, &source, &mut domains, &sequences, &writes);
        let mut drafts = Vec::new();
        let mut roots = Vec::new();
        let mut guards: Vec<Option<NodeId>> = vec![None; sequences.list.len()];
        for (insn, instruction) in source.instructions.iter().enumerate().filter(|(insn, _)| is_run[*insn]) {
            let named = |error| match error {
                Error::Unsupported { reason, .. } => Error::Unsupported { instruction: instruction.id.clone(), reason },
                other => other,
            };
            let before = drafts.len();
            draft(&mut lowering, insn, instruction, &mut guards, &mut drafts).map_err(named)?;
            for draft in &drafts[before..] {
                let computed = draft.dims.iter().filter_map(|dim| match dim {
                    Dim::Computed(node) => Some(*node),
                    Dim::Affine(_) => None,
                });
                let all = draft.conditions.iter().copied().chain(computed).chain([draft.value]);
                roots.extend(all.map(|node| (node, insn)));
            }
            for &(root, _) in roots.iter().filter(|root| root.1 == insn) {
                check_inames(&lowering, root, insn).map_err(named)?;
            }
        }
        let Units { units, literals, mut decisions, unit_of, mut decision_of } = build(&mut lowering, &roots)?;
        let exprs_of = std::mem::take(&mut lowering.exprs_of);
        let facts = std::mem::take(&mut lowering.facts);
        let functions = std::mem::take(&mut lowering.functions).list;

        let mut hulls: FxHashMap<InameId, (i64, i64)> = FxHashMap::default();
        let mut hull = |iname: InameId, domains: &mut Domains<'k>| -> Result<(i64, i64), Error> {
            if let Some(&hull) = hulls.get(&iname) {
                return Ok(hull);
            }
            let bounds = domains.bounds(iname, &[])?;
            let mut env = vec![0; kernel.inames.len()];
            let range = bounds.range(&mut env).map_or((0, -1), |(lo, hi, _)| (lo, hi));
            hulls.insert(iname, range);
            Ok(range)
        };
        let (mut keys, mut extents) = (Vec::with_capacity(units.len()), Vec::with_capacity(units.len()));
        for unit in &units {
            let (mut key, mut extent) = (Vec::with_capacity(unit.inames.len()), 1_u128);
            for &iname in &unit.inames {
                let (lo, hi) = hull(iname, &mut domains)?;
                key.push((lo, extent));
                let len = u128::try_from(i128::from(hi) - i128::from(lo) + 1).unwrap_or(0);
                let too_many = || Error::Unbounded { iname: kernel[iname].name.clone() };
                extent = extent.checked_mul(len.max(1)).ok_or_else(too_many)?;
            }
            keys.push(key);
            extents.push(extent);
        }
        let mut writers = vec![Writers::default(); kernel.arrays.len()];
        let mut n_indices = 0;
        for draft in drafts {
            let loops = sequences.list[draft.place.sequence].loops.clone();
            let position = |iname: InameId| loops.iter().position(|&other| other == iname).unwrap_or(0);
            let unit_at = |node: NodeId| UnitAt {
                unit: unit_of[&node],
                loops: facts[node.index()].deps.iter().map(position).collect(),
            };
            let (mut bounds, mut of_loops) = (Vec::with_capacity(loops.len()), Vec::with_capacity(loops.len()));
            for (idx, &iname) in loops.iter().enumerate() {
                bounds.push(domains.bounds(iname, &loops[..idx])?);
                of_loops.push(hull(iname, &mut domains)?);
            }
            let target = |dim: &Dim| match dim {
                Dim::Affine(Form { constant, terms }) => Target::Affine {
                    constant: *constant,
                    terms: terms.iter().map(|&(iname, coefficient)| (position(iname), coefficient)).collect(),
                },
                Dim::Computed(node) => Target::Computed(unit_at(*node)),
            };
            let targets: Vec<Target> = draft.dims.iter().map(target).collect();
            let mut conditions = Vec::with_capacity(draft.conditions.len());
            for &node in &draft.conditions {
                let decision = *decision_of.entry(node).or_insert_with(|| {
                    decisions.push(Decision { node, n_outcomes: 2 });
                    decisions.len() - 1
                });
                conditions.push(Condition { value: unit_at(node), decision });
            }
            let is_computed = targets.iter().any(|target| matches!(target, Target::Computed(_)));
            n_indices += usize::from(is_computed);
            writers[draft.array.index()].push(Writer {
                place: draft.place,
                result: draft.result,
                equations: (0..loops.len()).map(|level| equations(&targets, &of_loops, level)).collect(),
                axes: axes(&bounds, &targets),
                bounds,
                targets,
                conditions,
                value: unit_at(draft.value),
                index: is_computed.then(|| n_indices - 1),
                loops,
            });
        }
        let behind = behind(kernel, &source);
        let decided = decisions
            .iter()
            .map(|decision| {
                exprs_of[decision.node.index()].iter().flat_map(|id| behind[id.index()].iter().copied()).collect()
            })
            .collect();
        let end = Place { sequence: 0, item: sequences.list[0].n_items };
        Ok(Self {
            kernel,
            shapes,
            lens,
            writers,
            units,
            keys,
            extents,
            literals,
            functions,
            decisions,
            decided,
            n_indices,
            end,
            sequences,
        })
    }

    /// How many values are kept apart, each for the points of its inames.
    pub(crate) fn n_units(&self) -> usize {
        self.units.len()
    }

    /// The same with a made-up meaning for functions that only the kernel's user knows.
    pub(crate) fn with_stand_ins(mut self) -> Self {
        for function in &mut self.functions {
            function.has_stand_in = true;
        }
        self
    }
}

/// The expressions of the kernel behind each inlined one; those in bodies of rules behind what they became where the rule is applied.
fn behind(kernel: &Kernel, source: &Source) -> Vec<Vec<ExprId>> {
    let mut res: Vec<Vec<ExprId>> = vec![Vec::new(); source.exprs.len()];
    let mut pending: Vec<(ExprId, ExprId)> = Vec::new();
    for (idx, &inlined) in source.inlined.iter().enumerate() {
        res[inlined.index()].push(ExprId::new(idx));
        if let Expr::Substitution { rule, .. } = &kernel.exprs[ExprId::new(idx)] {
            pending.push((kernel[*rule].expression, inlined));
        }
    }
    let mut seen: FxHashSet<(ExprId, ExprId)> = FxHashSet::default();
    while let Some((written, inlined)) = pending.pop() {
        if !seen.insert((written, inlined)) {
            continue;
        }
        match &kernel.exprs[written] {
            Expr::Formal(_) => continue,
            Expr::Substitution { rule, .. } => pending.push((kernel[*rule].expression, inlined)),
            expr => {
                pending.extend(expr.children().iter().copied().zip(source.exprs[inlined].children().iter().copied()));
            }
        }
        if !res[inlined.index()].contains(&written) {
            res[inlined.index()].push(written);
        }
    }
    res
}

/// What an instruction writes, and under what conditions.
fn draft(
    lowering: &mut Lowering<'_, '_>,
    insn: usize,
    instruction: &Instruction,
    guards: &mut [Option<NodeId>],
    drafts: &mut Vec<Draft>,
) -> Result<(), Error> {
    let (sequence, item) = lowering.sequences.places[insn];
    let place = Place { sequence, item };
    let mut around = Vec::new();
    let mut current = sequence;
    while let Some((outer, item)) = lowering.sequences.list[current].parent {
        let (own, others) = (&lowering.sequences.list[current].conditions, &lowering.sequences.list[outer].conditions);
        if own.len() > others.len() {
            let condition = lowering.source.inlined[own[own.len() - 1].index()];
            let node = match guards[current] {
                Some(node) => node,
                None => {
                    let at = Place { sequence: outer, item };
                    let node = lowering.values(&[condition], at)?[0];
                    let node = lowering.convert(node, Type::Bool)?;
                    guards[current] = Some(node);
                    node
                }
            };
            around.push(node);
        }
        current = outer;
    }
    around.reverse();
    for node in lowering.values(&instruction.predicates, place)? {
        around.push(lowering.convert(node, Type::Bool)?);
    }
    match &instruction.kind {
        InstructionKind::Assignment { assignee, expression } => {
            let value = lowering.values(&[*expression], place)?[0];
            let dtype = Type::from(lowering.kernel[assignee.array].dtype);
            let value = lowering.convert(value, dtype)?;
            let dims = lowering.assignee(&assignee.indices, place)?;
            drafts.push(Draft { array: assignee.array, result: 0, place, dims, value, conditions: around });
        }
        InstructionKind::Call { assignees, function, arguments } => {
            let arguments = lowering.values(arguments, place)?;
            let name = lowering.kernel[*function].clone();
            for (result, assignee) in assignees.iter().enumerate() {
                let dtype = Type::from(lowering.kernel[assignee.array].dtype);
                if !dtype.is_float() {
                    return Err(lowering.unsupported("a call that stores integers"));
                }
                let value = lowering.call(&name, result as u64, &arguments, Type::Float64)?;
                let value = lowering.convert(value, dtype)?;
                let dims = lowering.assignee(&assignee.indices, place)?;
                let conditions = around.clone();
                drafts.push(Draft { array: assignee.array, result, place, dims, value, conditions });
            }
        }
        InstructionKind::Opaque { .. } => {
            return Err(lowering.unsupported("opaque code is not evaluated element by element"));
        }
    }
    Ok(())
}

/// Whether a value of an instruction depends on no iname outside its loop.
fn check_inames(lowering: &Lowering<'_, '_>, node: NodeId, insn: usize) -> Result<(), Error> {
    let loops = &lowering.sequences.list[lowering.sequences.places[insn].0].loops;
    match lowering.facts[node.index()].deps.iter().find(|iname| !loops.contains(iname)) {
        None => Ok(()),
        Some(iname) => {
            let name = &lowering.kernel[iname].name;
            Err(lowering.unsupported(&format!("iname `{name}` is used outside its loop")))
        }
    }
}

/// The equations of targets for a loop, given the least and the greatest value of each anywhere.
fn equations(targets: &[Target], hulls: &[(i64, i64)], level: usize) -> Vec<Equation> {
    let equation = |(target, terms): (usize, &[(usize, i64)])| {
        let own = terms.iter().find(|term| term.0 == level)?.1;
        let mut slack = (0, 0);
        for &(inner, coefficient) in terms.iter().filter(|term| term.0 > level) {
            let (lo, hi) = hulls[inner];
            let ends = [lo, hi].map(|end| i128::from(coefficient) * i128::from(end));
            slack = (slack.0 + ends[0].min(ends[1]), slack.1 + ends[0].max(ends[1]));
        }
        let outer = terms.iter().copied().filter(|term| term.0 < level).collect();
        Some(Equation { target, own, outer, slack })
    };
    let affine = targets.iter().enumerate().filter_map(|(idx, target)| match target {
        Target::Affine { terms, .. } => Some((idx, terms.as_slice())),
        Target::Computed(_) => None,
    });
    affine.filter_map(equation).collect()
}

/// All points of some loops, in order; `None` if they are more than `limit`.
pub(super) fn instances(writer: &Writer, n_inames: usize, limit: usize) -> Option<Vec<i64>> {
    let mut env = vec![0; n_inames];
    let mut points: Vec<i64> = Vec::new();
    let mut len = 1;
    for (level, (bounds, iname)) in writer.bounds.iter().zip(&writer.loops).enumerate() {
        let mut next = Vec::new();
        for point in 0..len {
            let outer = &points[point * level..(point + 1) * level];
            writer.loops.iter().zip(outer).for_each(|(outer, &value)| env[outer.index()] = value);
            let values = bounds.values(&mut env)?;
            if values.len() > limit || next.len() / (level + 1) + values.len() > limit {
                return None;
            }
            for value in Values::iter(&values) {
                next.extend_from_slice(outer);
                next.push(value);
            }
            env[iname.index()] = 0;
        }
        len = next.len() / (level + 1);
        points = next;
    }
    Some(points)
}
