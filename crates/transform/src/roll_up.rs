//! Loops that were written out are rolled up again.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! Stores to elements of one array that lie in a box, `A[0] = f[0]*T[0, 0]` and so on, are one store in loops over the box, `A[i] = f[i]*T[0, i]`. What differs
//! from element to element becomes an affine index or a table: literals, entries of tables, tables, and terms and factors that some elements lack.
//! # Method
//! Stores that differ in constants are *members* of a [`family`]; their elements must be a box. Its [`digits`] become inames, and [`write`] the family in them.
//! # Legality
//! Members read nothing that the kernel writes but their own element. They only add to it, or no two of them, at any iterations, store the same element;
//! nothing else touches the array between them but what adds to it as well. Numbers are multiplied and left as they are, never rounded.
//! # Complexity
//! Linear in the expressions, for each way to group stores: by their elements, by the skeletons of their values, and by the run-time numbers that select tables there.
//! # Not done
//! Loops written out in part, unless the parts are boxes; kernels with `float32`.

mod digits;
mod family;
mod skeleton;
mod sums;
mod write;

pub use sums::roll_up_sums;

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{LoopTree, from_tree, only_run, runs_in, to_tree};
use nestegg_ir::types::Types;
use nestegg_ir::walk::{arrays_below, as_read};
use nestegg_ir::{
    ArrayId, Assignee, Domain, DomainId, Expr, ExprId, Iname, InameId, InsnId, InstructionKind, Item, Kernel,
    LinearizedKernel, Op,
};
use nestegg_isl as isl;

use crate::depends::in_order_without_dead;
use crate::ranges::Ranges;
use crate::roll_up::digits::{Digit, Grid};
use crate::roll_up::family::{Tuple, Unifier};
use crate::roll_up::skeleton::Skeletons;
use crate::roll_up::write::{Writer, holes};
use crate::split_at_zeros::{SplitError, isolate_stores};
use crate::table_pool::TablePool;

/// No family has more members.
const MAX_MEMBERS: usize = 4096;

/// A store in loops of its own.
#[derive(Clone, Debug)]
struct Store {
    /// The position of its tree.
    tree: usize,
    insn: InsnId,
    loops: Vec<InameId>,
    array: ArrayId,
    /// Of the element, without constants.
    terms: Vec<Affine>,
    constants: Vec<i64>,
    predicates: Vec<ExprId>,
    value: ExprId,
    /// Whether it adds to its element.
    adds: bool,
}

impl Store {
    /// Whether two stores may be members of a family.
    fn is_like(&self, other: &Self) -> bool {
        self.array == other.array
            && self.loops == other.loops
            && self.terms == other.terms
            && self.predicates == other.predicates
            && self.adds == other.adds
    }
}

/// A kernel in value form with written-out loops rolled up; `None` if there are none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn roll_up(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, SplitError> {
    if linearized.kernel.has_single() || !has_several_stores(&linearized.kernel) {
        return Ok(None);
    }
    let LinearizedKernel { mut kernel, linearization } = isolate_stores(linearized.clone())?;
    let Ok(trees) = to_tree(&linearization) else { return Ok(None) };
    let domains = Domains::new(&isl::Context::new(), &kernel)?;
    let ranges = Ranges::new(&kernel, &domains)?;
    let written = kernel.written();
    let stores: Vec<Store> =
        trees.iter().enumerate().filter_map(|(at, tree)| store(&kernel, &written, at, tree)).collect();
    let groups: Vec<Vec<Store>> = grouped(stores, Store::is_like)
        .into_iter()
        .filter(|group| group.len() > 1 && group.len() <= MAX_MEMBERS && is_lawful(&kernel, &ranges, &trees, group))
        .collect();
    if groups.is_empty() {
        return Ok(None);
    }
    let (types, skeletons, mut tables) = (Types::infer(&kernel), Skeletons::new(&kernel), TablePool::new(&kernel));
    let before = kernel.clone();
    let unifier = Facts { kernel: &before, types: &types, skeletons: &skeletons };
    let (mut is_rolled, mut trees) = (false, trees.into_iter().map(Some).collect::<Vec<_>>());
    for group in groups {
        if unifier.roll(&group, &mut kernel, &mut tables, &mut trees) {
            is_rolled = true;
            continue;
        }
        let by_value = grouped(group, |a, b| skeletons.of(a.value) == skeletons.of(b.value));
        for group in by_value.into_iter().filter(|group| group.len() > 1) {
            if unifier.roll(&group, &mut kernel, &mut tables, &mut trees) {
                is_rolled = true;
                continue;
            }
            let mut by_selectors: IndexMap<Vec<ExprId>, Vec<Store>> = IndexMap::new();
            for store in group {
                by_selectors.entry(selectors(&before, &store)).or_default().push(store);
            }
            for group in by_selectors.into_values().filter(|group| group.len() > 1) {
                is_rolled |= unifier.roll(&group, &mut kernel, &mut tables, &mut trees);
            }
        }
    }
    if !is_rolled {
        return Ok(None);
    }
    tables.finish(&mut kernel);
    let trees: Vec<LoopTree> = trees.into_iter().flatten().collect();
    Ok(Some(in_order_without_dead(kernel, from_tree(&trees))))
}

fn has_several_stores(kernel: &Kernel) -> bool {
    let is_opaque = |kind: &InstructionKind| matches!(kind, InstructionKind::Opaque { .. });
    let mut seen = vec![false; kernel.arrays.len()];
    let mut twice = false;
    for array in kernel.instructions.iter().flat_map(|instruction| instruction.written_arrays()) {
        twice |= std::mem::replace(&mut seen[array.index()], true);
    }
    twice && kernel.substitutions.is_empty() && !kernel.instructions.iter().any(|insn| is_opaque(&insn.kind))
}

/// The store that is all of a tree, if it may be a member.
fn store(kernel: &Kernel, written: &[bool], tree_at: usize, tree: &LoopTree) -> Option<Store> {
    let (loops, insn) = only_run(tree)?;
    let instruction = &kernel[insn];
    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
    let Assignee { array, indices } = assignee;
    if !kernel[*array].is_argument() || kernel[*array].dtype.is_integer() {
        return None;
    }
    let mut own: Vec<Affine> = indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect::<Option<_>>()?;
    let constants = own.iter_mut().map(|index| std::mem::take(&mut index.constant)).collect();
    let read = arrays_below(&kernel.exprs, instruction.expressions());
    if read.iter().any(|&other| other != *array && written[other.index()]) {
        return None;
    }
    let element = kernel.exprs.find(&Expr::Access { array: *array, indices: indices.clone() });
    let reads_own = read.contains(array);
    let adds = match (&kernel.exprs[*expression], element) {
        (Expr::Op { op: Op::Add, operands }, Some(element)) => {
            let others = operands.iter().copied().filter(|&operand| operand != element);
            operands.iter().filter(|&&operand| operand == element).count() == 1
                && !arrays_below(&kernel.exprs, others.chain(instruction.predicates.iter().copied())).contains(array)
        }
        _ => false,
    };
    (adds || !reads_own).then(|| Store {
        tree: tree_at,
        insn,
        loops,
        array: *array,
        terms: own,
        constants,
        predicates: instruction.predicates.clone(),
        value: *expression,
        adds,
    })
}

fn grouped(stores: Vec<Store>, is_like: impl Fn(&Store, &Store) -> bool) -> Vec<Vec<Store>> {
    let mut res: Vec<Vec<Store>> = Vec::new();
    for store in stores {
        match res.iter_mut().find(|group| is_like(&group[0], &store)) {
            Some(group) => group.push(store),
            None => res.push(vec![store]),
        }
    }
    res
}

/// The indices that a store's value reads from memory, such as facet numbers, each once, as the value comes to them.
fn selectors(kernel: &Kernel, store: &Store) -> Vec<ExprId> {
    let exprs = &kernel.exprs;
    let accesses = as_read(exprs, store.value).into_iter().filter_map(|id| match &exprs[id] {
        Expr::Access { indices, .. } => Some(indices.iter().copied()),
        _ => None,
    });
    let selectors: IndexSet<ExprId> = accesses.flatten().filter(|&index| affine::of(exprs, index).is_none()).collect();
    selectors.into_iter().collect()
}

/// Whether members may run in the place of the first of them, in any order.
fn is_lawful(kernel: &Kernel, ranges: &Ranges, trees: &[LoopTree], group: &[Store]) -> bool {
    let (array, adds) = (group[0].array, group[0].adds);
    if group[0].loops.iter().any(|&iname| kernel.is_sequential(iname)) {
        return false;
    }
    let (first, last) = (group[0].tree, group[group.len() - 1].tree);
    let is_member = |at: usize| group.iter().any(|store| store.tree == at);
    let written = kernel.written();
    let touches = |insn: InsnId| {
        kernel[insn].written_arrays().contains(&array)
            || arrays_below(&kernel.exprs, kernel[insn].expressions()).contains(&array)
    };
    let allows = |at: usize| {
        let tree = std::slice::from_ref(&trees[at]);
        let has_condition = from_tree(tree).iter().any(|item| matches!(item, Item::If(_)));
        let adds_too = || store(kernel, &written, at, &trees[at]).is_some_and(|store| store.adds && adds);
        !has_condition && !runs_in(tree).into_iter().any(touches) || adds_too()
    };
    let mut constants: Vec<&Vec<i64>> = group.iter().map(|store| &store.constants).collect();
    constants.sort_unstable();
    constants.dedup();
    constants.len() == group.len()
        && (first..=last).all(|at| is_member(at) || allows(at))
        && (adds || is_injective(ranges, group))
}

/// Whether no two members, at any iterations, have one element: each index tells its inames and the constant, as digits do.
fn is_injective(ranges: &Ranges, group: &[Store]) -> bool {
    (0..group[0].terms.len()).all(|dim| {
        let constants = group.iter().map(|store| store.constants[dim]);
        let (Some(low), Some(high)) = (constants.clone().min(), constants.max()) else { return false };
        let mut span = high.saturating_sub(low);
        let mut terms = group[0].terms[dim].terms.clone();
        terms.sort_by_key(|term| term.1.unsigned_abs());
        terms.iter().all(|&(var, coefficient)| {
            let Var::Iname(iname) = var else { return true };
            let (Some(first), Some(last)) = ranges.bounds(iname) else { return false };
            let size = coefficient.saturating_abs();
            let is_digit = size > span;
            span = span.saturating_add(size.saturating_mul(last.saturating_sub(first)));
            is_digit
        })
    })
}

/// What is known of the kernel as it came.
struct Facts<'a> {
    kernel: &'a Kernel,
    types: &'a Types,
    skeletons: &'a Skeletons,
}

impl Facts<'_> {
    /// Rolls a group of stores up, in the place of the first; answers whether that was done.
    fn roll(
        &self,
        group: &[Store],
        kernel: &mut Kernel,
        tables: &mut TablePool,
        trees: &mut [Option<LoopTree>],
    ) -> bool {
        self.rolled(group, kernel, tables, trees).is_some()
    }

    fn rolled(
        &self,
        group: &[Store],
        kernel: &mut Kernel,
        tables: &mut TablePool,
        trees: &mut [Option<LoopTree>],
    ) -> Option<()> {
        let mut members: Vec<&Store> = group.iter().collect();
        members.sort_by(|a, b| a.constants.cmp(&b.constants));
        let grid = grid(&members)?;
        let values: Tuple = members.iter().map(|store| Some(store.value)).collect();
        let unifier = Unifier { kernel: self.kernel, types: self.types, skeletons: self.skeletons, tables };
        let (family, roots) = unifier.family(&[values])?;
        let mut holes = holes(&family, tables);
        let dims = members[0].constants.len();
        let of_dim =
            |dim: usize| -> Vec<Option<i64>> { members.iter().map(|store| Some(store.constants[dim])).collect() };
        for dim in 0..dims {
            holes.push(digits::Hole::of_integers(of_dim(dim)));
        }
        let digits = grid.digits(&holes);
        let inames = inames_of(kernel, &digits);
        let mut writer = Writer { kernel, tables, grid: &grid, digits: &digits, inames: &inames };
        let mut indices = Vec::with_capacity(dims);
        for dim in 0..dims {
            indices.push(writer.affine(&members[0].terms[dim], &of_dim(dim))?);
        }
        let written = writer.write(&family)?;
        add_inames(kernel, tables, &digits);
        let first = &group[0];
        let instruction = &mut kernel[first.insn];
        instruction.within.extend(&inames);
        instruction.kind = InstructionKind::Assignment {
            assignee: Assignee { array: first.array, indices: indices.into() },
            expression: written[roots[0]],
        };
        let loops = first.loops.iter().chain(&inames).rev();
        let tree = loops.fold(LoopTree::Run(first.insn), |body, &iname| LoopTree::Loop { iname, body: vec![body] });
        group.iter().for_each(|store| trees[store.tree] = None);
        trees[first.tree] = Some(tree);
        Some(())
    }
}

/// The inames that digits get, once they are added.
fn inames_of(kernel: &Kernel, digits: &[Digit]) -> Vec<InameId> {
    (0..digits.len()).map(|at| InameId::new(kernel.inames.len() + at)).collect()
}

/// Adds the inames of digits.
fn add_inames(kernel: &mut Kernel, tables: &mut TablePool, digits: &[Digit]) {
    for digit in digits {
        let name = tables.new_name("r");
        let domain = DomainId::new(kernel.domains.len());
        kernel.domains.push(Domain {
            text: format!("{{ [{name}] : 0 <= {name} < {} }}", digit.extent),
            inames: vec![InameId::new(kernel.inames.len())],
            enclosing: Vec::new(),
            parameters: Vec::new(),
        });
        kernel.inames.push(Iname { name, tags: Vec::new(), domain });
    }
}

/// The box of the members' elements, in whose order they are; `None` if they are none.
fn grid(members: &[&Store]) -> Option<Grid> {
    let mut extents = Vec::new();
    for dim in 0..members[0].constants.len() {
        let mut values: Vec<i64> = members.iter().map(|store| store.constants[dim]).collect();
        values.sort_unstable();
        values.dedup();
        let steps = values.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        let step = steps.clone().next().flatten();
        if values.len() > 1 {
            if !steps.into_iter().all(|other| other == step) {
                return None;
            }
            extents.push(values.len());
        }
    }
    let grid = Grid { extents };
    // All are different, and in lexicographic order.
    (grid.n_members() == members.len()).then_some(grid)
}
