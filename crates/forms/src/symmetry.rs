//! Stores of the same values: one that is symmetric in its inames, or several that are equal up to the names of theirs.
//!
//! # Input
//! A kernel in value form, stores in loops of their own where that is lawful.
//! # Output
//! An equal kernel, exactly. A store to `A[f(j), g(k)]`, or to `A[e, f(j), g(k)]` in a loop over `e`, whose value does not change when `j` and `k` are
//! swapped is computed for `j < k` and for `j = k`, and what is computed for `j < k` is stored twice. Stores whose values are equal when the inames of one are renamed to those of the other are in one nest.
//! `None` if there are none. A store joins one before it only if nothing in between touches its array, but what adds to it as it does itself.
//! # Method
//! Values are compared in the multilinear normal form with *symbolic* tables: nothing is multiplied as numbers, so that equality is exact. With several test inames the
//! order of `(j0, j1)` and `(k0, k1)` is lexicographic, one nest for each place where they can differ first.
//! # Complexity
//! One evaluation for each store, and one for each pair of stores of the same shape and the same scalars.
//! Source: symmetry of element matrices; sharing under renaming as in the e-graph's canonical reduction inames.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Kernel, LinearizedKernel, Op, ReduceOp,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FormError;
use crate::atoms::MonomialId;
use crate::evaluate::Evaluator;
use crate::nests::{add_store, in_loops, renamed, signed_sum, with_replaced};
use crate::polynomial::{Algebra, Polynomial};
use crate::stores::{self, Store};
use crate::table::TableStore;
use nestegg_ir::names::{Names, add_inames};

/// How many pairs of stores are compared.
const MAX_COMPARISONS: usize = 2_000;

/// The kernel with equal values of stores computed once; `None` if there are none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn share_symmetric(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, FormError> {
    let Some(found) = stores::find(linearized)? else { return Ok(None) };
    let extents = stores::extents(&linearized.kernel)?;
    let touched = found.trees.iter().map(|tree| touched(&linearized.kernel, tree)).collect();
    let mut search = Search::new(&linearized.kernel, &found.stores, extents, touched);
    let groups = search.groups(&found.stores);
    if groups.iter().all(|group| group.is_plain()) {
        return Ok(None);
    }
    let mut kernel = search.evaluator.kernel;
    let mut names = Names::new(&kernel);
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    for group in groups.iter().filter(|group| !group.is_plain()) {
        let mut writer =
            Writer { kernel: &mut kernel, names: &mut names, stores: &found.stores, extents: &search.extents };
        let trees = writer.write(group);
        replaced.insert(found.stores[group.first].position, trees);
        for (other, _) in &group.others {
            replaced.insert(found.stores[*other].position, Vec::new());
        }
    }
    Ok(Some(LinearizedKernel { linearization: from_tree(&with_replaced(found.trees, replaced)), kernel }))
}

/// Stores of the same value.
struct Group {
    first: usize,
    /// The pairs of axes of the first store that can be swapped all at once.
    swapped: Option<Vec<(InameId, InameId)>>,
    /// Other stores, with the axes of the first in the place of theirs.
    others: Vec<(usize, Vec<(InameId, InameId)>)>,
}

impl Group {
    fn is_plain(&self) -> bool {
        self.swapped.is_none() && self.others.is_empty()
    }
}

/// A value: for each set of reduction inames what is summed over them.
type Value = Vec<(InameSet, Polynomial)>;

/// The arrays that a tree reads or writes; `None` if it does more than that.
fn touched(kernel: &Kernel, tree: &LoopTree) -> Option<FxHashSet<ArrayId>> {
    let mut res = FxHashSet::default();
    let mut pending = vec![tree];
    while let Some(tree) = pending.pop() {
        match tree {
            LoopTree::Loop { body, .. } => pending.extend(body),
            LoopTree::Branch { condition, body } => {
                res.extend(arrays_below(&kernel.exprs, [*condition]));
                pending.extend(body);
            }
            LoopTree::Run(insn) => {
                let instruction = &kernel[*insn];
                if !matches!(instruction.kind, InstructionKind::Assignment { .. }) {
                    return None;
                }
                res.extend(instruction.written_arrays());
                res.extend(arrays_below(&kernel.exprs, instruction.expressions()));
            }
        }
    }
    Some(res)
}

struct Search {
    evaluator: Evaluator,
    /// What each tree of the program touches.
    touched: Vec<Option<FxHashSet<ArrayId>>>,
    /// For each tree that is one store its array, if the store adds to it.
    added: FxHashMap<usize, ArrayId>,
    extents: Vec<Option<usize>>,
    n_compared: usize,
}

impl Search {
    fn new(
        kernel: &Kernel,
        stores: &[Store],
        extents: Vec<Option<usize>>,
        touched: Vec<Option<FxHashSet<ArrayId>>>,
    ) -> Self {
        let additions = stores.iter().filter(|store| store.is_accumulation);
        let added = additions.filter_map(|store| Some((store.position, written(kernel, store)?))).collect();
        let axes: InameSet = stores.iter().flat_map(|store| store.axes.iter().copied()).collect();
        let points: InameSet =
            kernel.iname_ids().filter(|&iname| extents[iname.index()].is_some() && !axes.contains(iname)).collect();
        let tables = TableStore::symbolic(extents.clone());
        let algebra = Algebra::new(kernel, tables);
        Self {
            evaluator: Evaluator::new(kernel.clone(), algebra, axes, points),
            touched,
            added,
            extents,
            n_compared: 0,
        }
    }

    /// Whether a store may be done at the place of one before it: nothing from there on touches its array, but what adds to it as it does.
    fn may_move(&self, store: &Store, to: &Store) -> bool {
        let Some(array) = written(&self.evaluator.kernel, store) else { return false };
        (to.position..store.position).all(|position| {
            let adds = store.is_accumulation && self.added.get(&position) == Some(&array);
            adds || self.touched[position].as_ref().is_some_and(|touched| !touched.contains(&array))
        })
    }

    fn groups(&mut self, stores: &[Store]) -> Vec<Group> {
        let values: Vec<Option<Value>> = stores.iter().map(|store| self.value(&store.terms)).collect();
        let mut is_taken = vec![false; stores.len()];
        let mut res = Vec::new();
        for first in 0..stores.len() {
            if is_taken[first] {
                continue;
            }
            let Some(value) = &values[first] else { continue };
            let mut group = Group { first, swapped: None, others: Vec::new() };
            let store = &stores[first];
            if let Some([tests, trials]) = store.sides() {
                let pairs: Vec<(InameId, InameId)> = tests.iter().copied().zip(trials.iter().copied()).collect();
                let both: Vec<(InameId, InameId)> = pairs.iter().flat_map(|&(j, k)| [(j, k), (k, j)]).collect();
                let has_same_shape = pairs.iter().all(|&(j, k)| self.extent(j) == self.extent(k));
                if tests.len() == trials.len() && has_same_shape && self.is_equal(store, &both, value) {
                    group.swapped = Some(pairs);
                }
            }
            for other in first + 1..stores.len() {
                let is_alike = values[other].as_ref().is_some_and(|other| scalars(other) == scalars(value))
                    && stores[other].outer == store.outer
                    && self.predicates(&stores[other]) == self.predicates(store)
                    && stores[other].axes.len() == store.axes.len();
                if is_taken[other] || !is_alike || !self.may_move(&stores[other], store) {
                    continue;
                }
                let mapping = self.mappings(&stores[other], store).into_iter().find(|mapping| {
                    mapping.iter().all(|&(from, to)| self.extents[from.index()] == self.extents[to.index()])
                        && self.is_equal(&stores[other], mapping, value)
                });
                if let Some(mapping) = mapping {
                    is_taken[other] = true;
                    group.others.push((other, mapping));
                }
            }
            res.push(group);
        }
        res
    }

    fn predicates(&self, store: &Store) -> &[ExprId] {
        &self.evaluator.kernel[store.insn].predicates
    }

    fn extent(&self, iname: InameId) -> Option<usize> {
        self.extents[iname.index()]
    }

    /// Ways to rename the axes of a store to those of another: in order, and with the sides swapped.
    fn mappings(&self, from: &Store, to: &Store) -> Vec<Vec<(InameId, InameId)>> {
        let in_order: Vec<(InameId, InameId)> = from.axes.iter().copied().zip(to.axes.iter().copied()).collect();
        let mut res = vec![in_order];
        if let (Some([tests, trials]), Some([other_tests, other_trials])) = (from.sides(), to.sides())
            && tests.len() == other_trials.len()
            && trials.len() == other_tests.len()
        {
            let tests = tests.into_iter().zip(other_trials);
            res.push(tests.chain(trials.into_iter().zip(other_tests)).collect());
        }
        res
    }

    /// Whether a store with renamed axes has that value.
    fn is_equal(&mut self, store: &Store, mapping: &[(InameId, InameId)], value: &Value) -> bool {
        if self.n_compared >= MAX_COMPARISONS {
            return false;
        }
        self.n_compared += 1;
        let terms: Vec<(ExprId, f64)> = store
            .terms
            .iter()
            .map(|&(term, sign)| (renamed(&mut self.evaluator.kernel.exprs, term, mapping), sign))
            .collect();
        self.evaluator.extend();
        self.value(&terms).is_some_and(|other| other == *value)
    }

    fn value(&mut self, terms: &[(ExprId, f64)]) -> Option<Value> {
        let mut res: Value = Vec::new();
        for &(term, sign) in terms {
            let Expr::Reduce { op: ReduceOp::Sum, inames, body } = &self.evaluator.kernel.exprs[term] else {
                return None;
            };
            let (inames, body): (InameSet, ExprId) = (inames.iter().copied().collect(), *body);
            let polynomial = self.evaluator.evaluate(body)?;
            match res.iter_mut().find(|known| known.0 == inames) {
                Some((_, known)) => known.add(&polynomial, sign),
                None => {
                    let mut sum = Polynomial::zero();
                    sum.add(&polynomial, sign);
                    res.push((inames, sum));
                }
            }
        }
        res.sort_by(|a, b| a.0.as_slice().cmp(b.0.as_slice()));
        Some(res)
    }
}

/// What values that are equal up to names have in common: the reductions and the scalars.
fn scalars(value: &Value) -> Vec<(InameSet, Vec<MonomialId>)> {
    let of = |polynomial: &Polynomial| {
        let mut monomials: Vec<MonomialId> = polynomial.terms().map(|term| term.0).collect();
        monomials.sort_unstable();
        monomials
    };
    value.iter().map(|(inames, polynomial)| (inames.clone(), of(polynomial))).collect()
}

/// The array that a store writes.
fn written(kernel: &Kernel, store: &Store) -> Option<ArrayId> {
    kernel[store.insn].written_arrays().first().copied()
}

struct Writer<'a> {
    kernel: &'a mut Kernel,
    names: &'a mut Names,
    stores: &'a [Store],
    extents: &'a [Option<usize>],
}

impl Writer<'_> {
    /// The nests of a group.
    fn write(&mut self, group: &Group) -> Vec<LoopTree> {
        let store = &self.stores[group.first];
        let Some(pairs) = &group.swapped else {
            return self.nest(group, &store.axes.clone(), &[], &[Vec::new()]);
        };
        let mut res = Vec::new();
        // The first `place` pairs are equal, then one differs; the rest are free.
        for place in 0..=pairs.len() {
            let (mut loops, mut mapping, mut back) = (Vec::new(), Vec::new(), Vec::new());
            for (idx, &(j, k)) in pairs.iter().enumerate() {
                let last = self.extents[j.index()].unwrap_or(1) - 1;
                let in_range = |names: &[String]| format!("0 <= {} <= {last}", names[0]);
                let new = match idx.cmp(&place) {
                    std::cmp::Ordering::Less => {
                        let both = add_inames(self.kernel, self.names, &[j], in_range)[0];
                        [both, both]
                    }
                    std::cmp::Ordering::Equal => {
                        let pair = add_inames(self.kernel, self.names, &[j, k], |names| {
                            format!("0 <= {} < {} and {} <= {last}", names[0], names[1], names[1])
                        });
                        [pair[0], pair[1]]
                    }
                    std::cmp::Ordering::Greater => {
                        [j, k].map(|iname| add_inames(self.kernel, self.names, &[iname], in_range)[0])
                    }
                };
                mapping.extend([(j, new[0]), (k, new[1])]);
                back.extend([(j, new[1]), (k, new[0])]);
                loops.extend(new);
            }
            loops.dedup();
            let orders = if place == pairs.len() { vec![mapping.clone()] } else { vec![mapping.clone(), back] };
            res.extend(self.nest(group, &loops, &mapping, &orders));
        }
        res
    }

    /// All stores of a group in one nest: the value of the first with `value_names`, stored with the indices under each of `orders`.
    fn nest(
        &mut self,
        group: &Group,
        loops: &[InameId],
        value_names: &[(InameId, InameId)],
        orders: &[Vec<(InameId, InameId)>],
    ) -> Vec<LoopTree> {
        let first = &self.stores[group.first];
        let mut terms: Vec<(ExprId, f64)> = Vec::new();
        for &(term, sign) in &first.terms {
            terms.push((renamed(&mut self.kernel.exprs, term, value_names), sign));
        }
        let value = signed_sum(&mut self.kernel.exprs, &terms);
        let within: Vec<InameId> = first.outer.iter().chain(loops).copied().collect();
        let members = std::iter::once((group.first, Vec::new())).chain(group.others.iter().cloned());
        let mut body = Vec::new();
        for (member, to_first) in members {
            for order in orders {
                let insn = self.store(member, &to_first, order, value, &within);
                body.extend(insn.map(LoopTree::Run));
            }
        }
        in_loops(body, &within)
    }

    /// One store: its indices with its axes renamed to those of the first store, and these by `order`.
    fn store(
        &mut self,
        member: usize,
        to_first: &[(InameId, InameId)],
        order: &[(InameId, InameId)],
        value: ExprId,
        within: &[InameId],
    ) -> Option<InsnId> {
        let store = &self.stores[member];
        let rename = |iname: InameId, mapping: &[(InameId, InameId)]| {
            mapping.iter().find(|pair| pair.0 == iname).map_or(iname, |pair| pair.1)
        };
        let indices: Vec<ExprId> = store
            .indices
            .iter()
            .map(|index| {
                let mut res = Affine::constant(index.constant);
                for &(var, coefficient) in &index.terms {
                    let var = match var {
                        Var::Iname(iname) => Var::Iname(rename(rename(iname, to_first), order)),
                        parameter => parameter,
                    };
                    // The coefficients are those of an index that did not overflow.
                    res = res.plus(&Affine::var(var), coefficient).unwrap_or_default();
                }
                res.to_expr(&mut self.kernel.exprs)
            })
            .collect();
        add_store(self.kernel, self.names, store, indices, (Op::Add, value), within.to_vec())
    }
}
