//! What forms add to a kernel: inames, stores and loops; and how they take expressions apart and put them together.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::names::Names;
use nestegg_ir::walk::{below, terms};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Exprs, Float, InameId, InameSet, InsnId, Instruction,
    InstructionKind, Kernel, Number, Op,
};
use rustc_hash::FxHashMap;

use crate::stores::Store;

/// A new store of a value to an element of the array that a store writes, within `within` and under the predicates of that store: added to the element by
/// `op` if the store accumulates. `None` if the store is none.
pub(crate) fn add_store(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    indices: Vec<ExprId>,
    (op, value): (Op, ExprId),
    within: Vec<InameId>,
) -> Option<InsnId> {
    let original = &kernel[store.insn];
    let InstructionKind::Assignment { assignee: Assignee { array, .. }, .. } = original.kind else { return None };
    let (id, depends_on) = (names.new_name(&original.id), original.depends_on.clone());
    let predicates = original.predicates.clone();
    let mut expression = value;
    if store.is_accumulation {
        let element = kernel.exprs.access(array, indices.clone());
        expression = kernel.exprs.op(op, [element, value]);
    }
    let insn = InsnId::new(kernel.instructions.len());
    let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: indices.into() }, expression };
    kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
    Some(insn)
}

/// A new array, with a name after `stem`.
pub(crate) fn add_array(
    kernel: &mut Kernel,
    names: &mut Names,
    stem: &str,
    (dtype, shape, kind): (Dtype, &[usize], ArrayKind),
) -> ArrayId {
    let shape = shape.iter().map(|&extent| kernel.exprs.int(extent as i64)).collect();
    kernel.arrays.push(Array { name: names.new_name(stem), dtype, stored: None, shape, kind });
    ArrayId::new(kernel.arrays.len() - 1)
}

/// New tables, equal ones once.
#[derive(Debug)]
pub(crate) struct NewTables {
    dtype: Dtype,
    /// By shape and values.
    made: FxHashMap<(Vec<usize>, Vec<u64>), ArrayId>,
}

impl NewTables {
    /// No tables yet, of that type.
    pub(crate) fn new(dtype: Dtype) -> Self {
        Self { dtype, made: FxHashMap::default() }
    }

    /// The table of a shape with those values, row-major; `None` if one is not finite.
    pub(crate) fn table(
        &mut self,
        kernel: &mut Kernel,
        names: &mut Names,
        shape: &[usize],
        values: &[f64],
    ) -> Option<ArrayId> {
        let key = (shape.to_vec(), values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>());
        if let Some(&known) = self.made.get(&key) {
            return Some(known);
        }
        let numbers: Option<Vec<Number>> = values.iter().map(|&value| Float::new(value).map(Number::Float)).collect();
        let array = add_array(kernel, names, "B", (self.dtype, shape, ArrayKind::Table(numbers?.into())));
        self.made.insert(key, array);
        Some(array)
    }
}

/// A body in loops, outermost first.
pub(crate) fn in_loops(mut body: Vec<LoopTree>, loops: &[InameId]) -> Vec<LoopTree> {
    for &iname in loops.iter().rev() {
        body = vec![LoopTree::Loop { iname, body }];
    }
    body
}

/// A program with other trees in the place of those at some positions.
pub(crate) fn with_replaced(trees: Vec<LoopTree>, mut replaced: FxHashMap<usize, Vec<LoopTree>>) -> Vec<LoopTree> {
    let trees = trees.into_iter().enumerate();
    trees.flat_map(|(position, tree)| replaced.remove(&position).unwrap_or_else(|| vec![tree])).collect()
}

/// An expression with inames renamed, all at once.
pub(crate) fn renamed(exprs: &mut Exprs, root: ExprId, mapping: &[(InameId, InameId)]) -> ExprId {
    let rewritten = exprs.rewrite([root], |exprs, _, expr| match expr {
        Expr::Iname(iname) => {
            let to = mapping.iter().find(|pair| pair.0 == iname).map_or(iname, |pair| pair.1);
            exprs.iname(to)
        }
        expr => exprs.intern(expr),
    });
    rewritten.get(root)
}

/// An expression with affine functions in the place of inames, and expressions in that of others, which are taken as they are.
pub(crate) fn substituted(
    exprs: &mut Exprs,
    root: ExprId,
    mapping: &[(InameId, Affine)],
    replaced: &FxHashMap<ExprId, ExprId>,
) -> ExprId {
    let rewritten = exprs.rewrite([root], |exprs, old, expr| match (replaced.get(&old), expr) {
        (Some(&new), _) => new,
        (None, Expr::Iname(iname)) => match mapping.iter().find(|pair| pair.0 == iname) {
            Some((_, value)) => value.to_expr(exprs),
            None => exprs.iname(iname),
        },
        (None, Expr::Access { array, indices }) => {
            let spelled = |&index: &ExprId| affine::of(exprs, index);
            let known: Vec<Option<Affine>> = indices.iter().map(spelled).collect();
            let indices: Vec<ExprId> = indices
                .iter()
                .zip(known)
                .map(|(&index, known)| known.map_or(index, |known| known.to_expr(exprs)))
                .collect();
            exprs.access(array, indices)
        }
        (None, expr) => exprs.intern(expr),
    });
    rewritten.get(root)
}

/// The free inames of an expression.
pub(crate) fn free_inames(exprs: &Exprs, root: ExprId) -> InameSet {
    let mut free: FxHashMap<ExprId, InameSet> = FxHashMap::default();
    for id in below(exprs, [root]) {
        let expr = &exprs[id];
        let mut own = expr.children().iter().fold(InameSet::new(), |all, child| all.union(&free[child]));
        match expr {
            Expr::Iname(iname) => own.extend([*iname]),
            Expr::Reduce { inames, .. } => inames.iter().for_each(|&iname| {
                own.remove(iname);
            }),
            _ => {}
        }
        free.insert(id, own);
    }
    free.remove(&root).unwrap_or_default()
}

/// How many factors a product may have to be taken apart.
const MAX_FACTORS: usize = 64;

/// The factors of a product, nested products taken apart as far as there are not too many.
pub(crate) fn factors(exprs: &Exprs, root: ExprId) -> Vec<ExprId> {
    let mut res = Vec::new();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::Mul, operands } if res.len() + pending.len() + operands.len() <= MAX_FACTORS => {
                pending.extend(operands.iter().rev());
            }
            _ => res.push(id),
        }
    }
    res
}

/// The products that a value is the sum of, each as its factors and a sign; a sum that is a factor is taken apart if `is_split` says so. `None` if there are more than
/// `max` products.
pub(crate) fn products(
    exprs: &Exprs,
    root: ExprId,
    max: usize,
    is_split: &dyn Fn(ExprId) -> bool,
) -> Option<Vec<(Vec<ExprId>, f64)>> {
    let mut res: Vec<(Vec<ExprId>, f64)> = Vec::new();
    // What is still to be looked at of a product, and its factors so far.
    let mut pending: Vec<(Vec<ExprId>, Vec<ExprId>, f64)> = vec![(vec![root], Vec::new(), 1.0)];
    while let Some((mut open, mut done, mut sign)) = pending.pop() {
        if res.len() + pending.len() >= max {
            return None;
        }
        loop {
            let Some(factor) = open.pop() else {
                res.push((done, sign));
                break;
            };
            match &exprs[factor] {
                Expr::Op { op: Op::Mul, operands } => open.extend(operands.iter().rev()),
                Expr::Op { op: Op::Neg, operands } => {
                    sign = -sign;
                    open.push(operands[0]);
                }
                Expr::Op { op: Op::Add | Op::Sub, .. } if factor == root || is_split(factor) => {
                    pending.extend(terms(exprs, factor, max)?.into_iter().rev().map(|(term, of_term)| {
                        (open.iter().copied().chain([term]).collect(), done.clone(), sign * of_term)
                    }));
                    break;
                }
                _ => done.push(factor),
            }
        }
    }
    Some(res)
}

/// The sum of terms with signs.
pub(crate) fn signed_sum(exprs: &mut Exprs, terms: &[(ExprId, f64)]) -> ExprId {
    let signed: Vec<ExprId> =
        terms.iter().map(|&(term, sign)| if sign < 0.0 { exprs.op(Op::Neg, [term]) } else { term }).collect();
    match signed.as_slice() {
        [single] => *single,
        _ => exprs.op(Op::Add, signed),
    }
}

/// The sum of values; `None` of none.
pub(crate) fn sum(exprs: &mut Exprs, values: Vec<ExprId>) -> Option<ExprId> {
    match values.as_slice() {
        [] => None,
        [single] => Some(*single),
        _ => Some(exprs.op(Op::Add, values)),
    }
}

/// The product of one value or more.
pub(crate) fn product(exprs: &mut Exprs, factors: Vec<ExprId>) -> ExprId {
    match factors.as_slice() {
        [single] => *single,
        _ => exprs.op(Op::Mul, factors),
    }
}

/// What is missing of `a + b` in floats, exactly.
/// Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2.
pub(crate) fn rounding_of_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    (a - (sum - of_b)) + (b - of_b)
}
