//! Which stores may become linear maps, and over which inames.
//!
//! A store qualifies if it stands alone in loops that nest perfectly and adds to the element that it writes, or sets it. Its *table inames*
//! are those of its loops that index a constant table and take a constant number of values; its other loops stay loops. Its predicates must hold for all or none
//! of its table inames, whatever the kernel writes: what takes the place of the store then has the same predicates.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{LoopTree, only_run, to_tree};
use nestegg_ir::types::Types;
use nestegg_ir::walk::{arrays_below, terms};
use nestegg_ir::{Dtype, Expr, ExprId, InameId, InameSet, InameTag, InsnId, InstructionKind, Kernel, LinearizedKernel};
use nestegg_isl as isl;

use crate::FormError;
use crate::evaluate::Evaluator;
use crate::families::Selector;
use crate::nests::free_inames;
use crate::polynomial::Algebra;
use crate::table::TableStore;

/// How many values a table iname may take.
const MAX_EXTENT: i64 = 4_096;

/// How many terms the value of a store may have.
const MAX_TERMS: usize = 10_000;

/// A store that may become a linear map.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The instruction.
    pub(crate) insn: InsnId,
    /// Position among the trees of the program.
    pub(crate) position: usize,
    /// Its loops that stay, outermost first.
    pub(crate) outer: Vec<InameId>,
    /// Its table inames, in increasing order.
    pub(crate) axes: Vec<InameId>,
    /// Indices of the element, if they are affine.
    pub(crate) indices: Vec<Affine>,
    /// The terms that are added up, without the element itself.
    pub(crate) terms: Vec<(ExprId, f64)>,
    /// The element is added to.
    pub(crate) is_accumulation: bool,
}

impl Store {
    /// The axes in the first and in the second of the two indices that have any; `None` unless exactly two have some, and no axis is in both.
    pub(crate) fn sides(&self) -> Option<[Vec<InameId>; 2]> {
        let axes_in = |index: &Affine| -> Vec<InameId> {
            self.axes.iter().copied().filter(|&axis| index.coefficient(Var::Iname(axis)) != 0).collect()
        };
        let sides: Vec<Vec<InameId>> = self.indices.iter().map(axes_in).filter(|side| !side.is_empty()).collect();
        let sides: [Vec<InameId>; 2] = sides.try_into().ok()?;
        let [tests, trials] = &sides;
        let is_partition =
            tests.iter().all(|axis| !trials.contains(axis)) && tests.len() + trials.len() == self.axes.len();
        is_partition.then_some(sides)
    }
}

/// The stores of a kernel, and what evaluates their values.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) stores: Vec<Store>,
    pub(crate) evaluator: Evaluator,
    pub(crate) trees: Vec<LoopTree>,
    /// Inames that stand for run-time numbers.
    pub(crate) selectors: Vec<Selector>,
}

impl Found {
    /// The type of the elements that a store writes.
    pub(crate) fn dtype(&self, store_idx: usize) -> Option<Dtype> {
        let kernel = &self.evaluator.kernel;
        let InstructionKind::Assignment { assignee, .. } = &kernel[self.stores[store_idx].insn].kind else {
            return None;
        };
        Some(kernel[assignee.array].dtype)
    }
}

/// The stores that may become linear maps; `None` if there is none.
pub(crate) fn find(linearized: &LinearizedKernel) -> Result<Option<Found>, FormError> {
    find_with(linearized, Vec::new())
}

/// The stores of a program that stand alone in loops that nest perfectly, under predicates that hold for all or none of their table inames.
pub(crate) fn plain(kernel: &Kernel, trees: &[LoopTree], extents: &[Option<usize>]) -> Vec<Store> {
    find_over(kernel, trees, extents, (&table_inames(kernel, extents), Indices::Affine))
}

/// The same, and stores that add to elements at any indices, of which [`Store::indices`] is empty then.
pub(crate) fn adding(kernel: &Kernel, trees: &[LoopTree], extents: &[Option<usize>]) -> Vec<Store> {
    find_over(kernel, trees, extents, (&table_inames(kernel, extents), Indices::AnyIfAdded))
}

/// At which indices a store may write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indices {
    Affine,
    /// At any, if it adds.
    AnyIfAdded,
}

fn find_over(
    kernel: &Kernel,
    trees: &[LoopTree],
    extents: &[Option<usize>],
    (table_inames, allowed): (&InameSet, Indices),
) -> Vec<Store> {
    let written = kernel.written();
    let store = |(position, tree): (usize, &LoopTree)| {
        let (loops, insn) = only_run(tree)?;
        let store = store(kernel, (insn, position), &loops, (extents, table_inames), allowed)?;
        has_fixed_predicates(kernel, &written, store.insn, &store.axes).then_some(store)
    };
    trees.iter().enumerate().filter_map(store).collect()
}

/// The same as [`find`] where some inames stand for run-time numbers.
pub(crate) fn find_with(linearized: &LinearizedKernel, selectors: Vec<Selector>) -> Result<Option<Found>, FormError> {
    let kernel = &linearized.kernel;
    let trees = to_tree(&linearized.linearization)?;
    if !kernel.substitutions.is_empty() || Types::infer(kernel).has_both_floats() {
        return Ok(None);
    }
    let extents = extents(kernel)?;
    let selecting: InameSet = selectors.iter().map(|selector| selector.iname).collect();
    let table_inames = table_inames(kernel, &extents).difference(&selecting);
    let stores = find_over(kernel, &trees, &extents, (&table_inames, Indices::Affine));
    if stores.is_empty() {
        return Ok(None);
    }
    let algebra = Algebra::new(kernel, TableStore::new(extents));
    let evaluator = Evaluator::new(kernel.clone(), algebra, table_inames, selecting);
    Ok(Some(Found { stores, evaluator, trees, selectors }))
}

fn store(
    kernel: &Kernel,
    (insn, position): (InsnId, usize),
    loops: &[InameId],
    (extents, table_inames): (&[Option<usize>], &InameSet),
    allowed: Indices,
) -> Option<Store> {
    let instruction = &kernel[insn];
    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
    if !kernel[assignee.array].dtype.is_float() {
        return None;
    }
    let indices: Option<Vec<Affine>> = assignee.indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect();
    let is_affine = indices.is_some();
    if !is_affine && allowed == Indices::Affine {
        return None;
    }
    let indices = indices.unwrap_or_default();
    let (axes, outer): (Vec<InameId>, Vec<InameId>) = loops.iter().partition(|&&iname| table_inames.contains(iname));
    let axes: InameSet = axes.into_iter().collect();
    let is_element = |expr: ExprId| match &kernel.exprs[expr] {
        Expr::Access { array, indices: read } => {
            let is_at = |(&a, b): (&ExprId, &Affine)| affine::of(&kernel.exprs, a).as_ref() == Some(b);
            *array == assignee.array
                && if is_affine { read.iter().zip(&indices).all(is_at) } else { *read == assignee.indices }
        }
        _ => false,
    };
    let all = terms(&kernel.exprs, *expression, MAX_TERMS)?;
    let (elements, terms): (Vec<_>, Vec<_>) = all.into_iter().partition(|&(expr, sign)| sign > 0.0 && is_element(expr));
    let n_elements = elements.len();
    // Each element of a plain store must be written once.
    let is_written_once = || {
        let told: InameSet = indices.iter().flat_map(|index| told_by(index, &axes, extents)).collect();
        axes.is_subset(&told)
    };
    if n_elements > 1 || terms.is_empty() || (n_elements == 0 && !(is_affine && is_written_once())) {
        return None;
    }
    Some(Store { insn, position, outer, axes: axes.iter().collect(), indices, terms, is_accumulation: n_elements == 1 })
}

/// Whether what a store adds depends on elements that it writes, so that their order matters.
pub(crate) fn reads_itself(kernel: &Kernel, store: &Store) -> bool {
    let read = arrays_below(&kernel.exprs, store.terms.iter().map(|term| term.0));
    kernel[store.insn].written_arrays().iter().any(|array| read.contains(array))
}

/// The table inames whose values an index tells: by itself, or as digits, each of which counts more than all smaller ones together.
fn told_by(index: &Affine, axes: &InameSet, extents: &[Option<usize>]) -> Vec<InameId> {
    let mut terms: Vec<(u64, InameId)> = Vec::new();
    for axis in axes.iter().filter(|&axis| index.coefficient(Var::Iname(axis)) != 0) {
        terms.push((index.coefficient(Var::Iname(axis)).unsigned_abs(), axis));
    }
    terms.sort_unstable();
    let mut reach = 0_u64;
    for &(coefficient, axis) in &terms {
        let last = extents[axis.index()].map_or(u64::MAX, |extent| extent.saturating_sub(1) as u64);
        if coefficient <= reach {
            return Vec::new();
        }
        reach = reach.saturating_add(coefficient.saturating_mul(last));
    }
    terms.into_iter().map(|(_, axis)| axis).collect()
}

/// Whether the predicates of an instruction depend on none of these inames, nor on what the kernel writes.
pub(crate) fn has_fixed_predicates(kernel: &Kernel, written: &[bool], insn: InsnId, inames: &[InameId]) -> bool {
    kernel[insn].predicates.iter().all(|&predicate| {
        let free = free_inames(&kernel.exprs, predicate);
        let arrays = arrays_below(&kernel.exprs, [predicate]);
        inames.iter().all(|&iname| !free.contains(iname)) && arrays.iter().all(|array| !written[array.index()])
    })
}

/// For each iname the number of its values, if they begin at zero, are constant in number, and depend on no others.
pub(crate) fn extents(kernel: &Kernel) -> Result<Vec<Option<usize>>, FormError> {
    let context = isl::Context::new();
    let domains = Domains::new(&context, kernel)?;
    let mut res = vec![None; kernel.inames.len()];
    let bounding: InameSet = kernel.domains.iter().flat_map(|domain| domain.enclosing.iter().copied()).collect();
    for domain in kernel.domain_ids() {
        let is_constant = kernel[domain].enclosing.is_empty() && kernel[domain].parameters.is_empty();
        if !is_constant || !domains.set(domain).set_tuple_name(None).and_then(|set| set.is_box()).map_err(isl_error)? {
            continue;
        }
        for &iname in &kernel[domain].inames {
            let is_ordered = kernel[iname].tags.iter().any(|&tag| tag != InameTag::Unroll);
            if bounding.contains(iname) || is_ordered {
                continue;
            }
            let own = domains.of(&InameSet::from_iter([iname]))?;
            let name = kernel[iname].name.as_str();
            if let (Ok(Some(0)), Ok(Some(last))) = (own.dim_min_val(name), own.dim_max_val(name))
                && last < MAX_EXTENT
            {
                res[iname.index()] = usize::try_from(last + 1).ok();
            }
        }
    }
    Ok(res)
}

fn isl_error(error: isl::Error) -> FormError {
    FormError::Domain(error.into())
}

/// Inames with a constant number of values that index a constant table.
pub(crate) fn table_inames(kernel: &Kernel, extents: &[Option<usize>]) -> InameSet {
    let mut res = InameSet::new();
    for (_, expr) in kernel.exprs.iter() {
        let Expr::Access { array, indices } = expr else { continue };
        if kernel[*array].table().is_none() {
            continue;
        }
        for index in indices.iter().filter_map(|&index| affine::of(&kernel.exprs, index)) {
            res.extend(index.inames().filter(|iname| extents[iname.index()].is_some()));
        }
    }
    res
}
