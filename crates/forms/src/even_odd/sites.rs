//! Where reductions of tables may be even-odd sums.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::walk::{below, terms};
use nestegg_ir::{Assignee, Expr, ExprId, Exprs, InameId, InameSet, InsnId, InstructionKind, Kernel, Number, ReduceOp};

use super::Points;
use crate::elements::{constant_shape, position};
use crate::nests::{free_inames, products};
use crate::stores::has_fixed_predicates;

/// Terms of a reduction's body, at most.
const MAX_TERMS: usize = 64;

/// Terms of a value that is stored, at most.
const MAX_SUMMANDS: usize = 4_096;

/// Instructions in loops that nest perfectly, which may run in any order and at mirror images together.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The loops, outermost first.
    pub(super) loops: Vec<InameId>,
    /// What is in them.
    pub(super) insns: Vec<InsnId>,
}

impl Nest {
    /// The nest that a tree is; `None` if its instructions are not all assignments of floats without conditions, each to elements of its own or added to what
    /// is there, or if one reads what another one writes.
    pub(super) fn of(kernel: &Kernel, tree: &LoopTree) -> Option<Self> {
        let mut loops = Vec::new();
        let mut at = std::slice::from_ref(tree);
        while let [LoopTree::Loop { iname, body }] = at {
            loops.push(*iname);
            at = body;
        }
        let runs = at.iter().map(|tree| if let LoopTree::Run(insn) = tree { Some(*insn) } else { None });
        let insns: Option<Vec<InsnId>> = runs.collect();
        let res = Self { loops, insns: insns.filter(|insns| !insns.is_empty())? };
        let written: Vec<_> = res.insns.iter().flat_map(|&insn| kernel[insn].written_arrays()).collect();
        for (idx, &insn) in res.insns.iter().enumerate() {
            let InstructionKind::Assignment { assignee: Assignee { array, indices }, expression } = &kernel[insn].kind
            else {
                return None;
            };
            let is_under_others = !kernel[insn].predicates.is_empty()
                && !has_fixed_predicates(kernel, &kernel.written(), insn, &res.loops);
            if is_under_others || !kernel[*array].dtype.is_float() {
                return None;
            }
            let element = below(&kernel.exprs, [*expression]).into_iter().find(|&id| {
                matches!(&kernel.exprs[id], Expr::Access { array: read, indices: at } if read == array && at == indices)
            });
            let terms = terms(&kernel.exprs, *expression, MAX_SUMMANDS)?;
            let is_added = terms.iter().any(|&(term, sign)| Some(term) == element && sign > 0.0);
            let reads_written = below(&kernel.exprs, kernel[insn].expressions()).into_iter().any(|id| {
                matches!(&kernel.exprs[id], Expr::Access { array, .. } if written.contains(array))
                    && Some(id) != element
            });
            let is_alone = written.iter().enumerate().all(|(other, written)| other == idx || written != array);
            let is_own = is_alone && res.loops.iter().all(|&iname| is_index(&kernel.exprs, indices, iname));
            if reads_written || (element.is_some() && !is_added) || (element.is_none() && !is_own) {
                return None;
            }
        }
        Some(res)
    }

    /// The inames of the instructions.
    pub(super) fn within(&self, kernel: &Kernel) -> InameSet {
        self.insns.iter().flat_map(|&insn| kernel[insn].within.iter().copied()).collect()
    }
}

/// Whether one of the indices is an iname plus a constant.
fn is_index(exprs: &Exprs, indices: &[ExprId], iname: InameId) -> bool {
    indices
        .iter()
        .filter_map(|&index| affine::of(exprs, index))
        .any(|index| matches!(index.terms.as_slice(), [(var, 1)] if *var == Var::Iname(iname)))
}

/// A product of tables times a value.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The tables' elements.
    pub(super) tables: Vec<ExprId>,
    /// The number that they are multiplied with.
    pub(super) coefficient: f64,
    /// The other factors.
    pub(super) value: Vec<ExprId>,
    /// The inames of these.
    pub(super) value_inames: InameSet,
    /// The product of the tables, points of the reduction first; filled in for a reflection.
    pub(super) values: Vec<f64>,
    /// Whether the reflection changes the sign of the tables.
    pub(super) is_odd: bool,
    /// How far the tables are from that, in parts of the largest entry.
    pub(super) change: f64,
}

/// A reduction over one iname, and perhaps others, of tables times values.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The reduction.
    pub(super) reduction: ExprId,
    /// The iname whose points are halved, and all that the reduction is over.
    pub(super) reduced: InameId,
    pub(super) inames: Vec<InameId>,
    /// The inames of the tables besides.
    pub(super) outer: InameSet,
    /// The free inames of the reduction, and those that it is over.
    pub(super) context: InameSet,
    /// What is added up.
    pub(super) terms: Vec<Term>,
    /// The first and the last value of the reduced iname; filled in for a reflection.
    pub(super) range: (i64, i64),
}

/// The sites in a nest, at most one for each reduction.
pub(super) fn of_nest(kernel: &Kernel, nest: &Nest) -> Vec<Site> {
    let loops: InameSet = nest.loops.iter().copied().collect();
    let roots = nest.insns.iter().flat_map(|&insn| kernel[insn].expressions());
    let mut res = Vec::new();
    for reduction in below(&kernel.exprs, roots) {
        if let Expr::Reduce { op: ReduceOp::Sum, inames, body } = &kernel.exprs[reduction] {
            res.extend(inames.iter().find_map(|&reduced| site(kernel, (reduction, inames, *body), reduced, &loops)));
        }
    }
    res
}

fn site(
    kernel: &Kernel,
    (reduction, inames, body): (ExprId, &[InameId], ExprId),
    reduced: InameId,
    loops: &InameSet,
) -> Option<Site> {
    let exprs = &kernel.exprs;
    let table_inames = |factor: ExprId| -> Option<InameSet> {
        let Expr::Access { array, indices } = &exprs[factor] else { return None };
        kernel[*array].table()?;
        let indices: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(exprs, index)).collect();
        Some(indices?.iter().flat_map(|index| index.inames().collect::<Vec<_>>()).collect())
    };
    // Which inames tables have beside the reduced one.
    let mut outer = InameSet::new();
    for inames in below(exprs, [body]).into_iter().filter_map(table_inames) {
        if inames.contains(reduced) && inames.iter().all(|iname| iname == reduced || loops.contains(iname)) {
            outer = outer.union(&inames);
        }
    }
    outer.remove(reduced);
    if outer.is_empty() {
        return None;
    }
    // Tables are taken out of sums that they are factors in.
    let has_table = |factor: ExprId| !free_inames(exprs, factor).is_disjoint(&outer);
    let mut found: Vec<Term> = Vec::new();
    for (factors, sign) in products(exprs, body, MAX_TERMS, &has_table)? {
        let (mut tables, mut value, mut coefficient) = (Vec::new(), Vec::new(), sign);
        for factor in factors {
            match table_inames(factor) {
                Some(inames) if inames.iter().all(|iname| iname == reduced || outer.contains(iname)) => {
                    tables.push(factor);
                }
                _ => match &exprs[factor] {
                    Expr::Number(number) => coefficient *= number.to_f64(),
                    _ => value.push(factor),
                },
            }
        }
        let value_inames = value.iter().fold(InameSet::new(), |all, &factor| all.union(&free_inames(exprs, factor)));
        if !value_inames.contains(reduced) || !value_inames.is_disjoint(&outer) {
            return None;
        }
        tables.sort_unstable();
        value.sort_unstable();
        found.push(Term { tables, coefficient, value, value_inames, values: Vec::new(), is_odd: false, change: 0.0 });
    }
    let context = free_inames(exprs, reduction).union(&inames.iter().copied().collect());
    Some(Site { reduction, reduced, inames: inames.to_vec(), outer, context, terms: found, range: (0, 0) })
}

/// The product of the tables of a term, at each point of the reduced iname and each of `points`, with the coefficient; `None` where an index is outside a table.
pub(super) fn values(
    kernel: &Kernel,
    term: &Term,
    reduced: InameId,
    (low, high): (i64, i64),
    points: &Points,
) -> Option<Vec<f64>> {
    let mut res = vec![term.coefficient; usize::try_from(high - low + 1).ok()? * points.points.len()];
    for &element in &term.tables {
        let Expr::Access { array, indices } = &kernel.exprs[element] else { return None };
        let numbers: &[Number] = kernel[*array].table()?;
        let shape = constant_shape(kernel, *array)?;
        let indices: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect();
        let indices = indices?;
        let mut at = 0;
        for q in low..=high {
            for point in &points.points {
                let value = |var: Var| match var {
                    Var::Iname(iname) if iname == reduced => Some(q),
                    _ => points.inames.iter().position(|&iname| Var::Iname(iname) == var).map(|at| point[at]),
                };
                res[at] *= numbers.get(position(&indices, &shape, &value)?)?.to_f64();
                at += 1;
            }
        }
    }
    res.iter().all(|value| value.is_finite()).then_some(res)
}
