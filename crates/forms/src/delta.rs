//! Reductions with identity tables: collocated basis functions.
//!
//! # Input
//! A kernel in value form, stores in loops of their own where that is lawful.
//! # Output
//! An equal kernel, exactly: `sum(q, I[q, j]*e[q])` with an identity table `I` is `e[j]`, and a store whose value has a factor `I[j, k]` of two of its own inames
//! adds to the elements with `j = k` only. `None` if there are none.
//! # Method
//! Products in the bodies of sums are taken apart; a factor that is an element of an identity table at a reduction iname and another one of the same values
//! replaces the former by the latter. As for zeros of tables, `0*x` counts as 0 also where `x` is not finite.
//! # Complexity
//! Linear in the expressions, times the number of identity tables in a product.
//! Source: spectral elements with Gauss–Lobatto–Legendre quadrature; Homolya, Kirby and Ham, 2017 (delta elimination).

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::{
    ArrayId, Assignee, Expr, ExprId, Exprs, InameId, InameSet, InstructionKind, Kernel, LinearizedKernel, Op, ReduceOp,
};
use rustc_hash::FxHashMap;

use crate::FormError;
use crate::nests::{factors, in_loops, product, renamed, with_replaced};
use crate::stores::{self, Store};

/// The kernel without reductions over identity tables; `None` if there are none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn eliminate_deltas(linearized: &LinearizedKernel) -> Result<Option<LinearizedKernel>, FormError> {
    let extents = stores::extents(&linearized.kernel)?;
    let mut kernel = linearized.kernel.clone();
    let identities: Vec<bool> = kernel.array_ids().map(|array| is_identity(&kernel, array)).collect();
    if !identities.contains(&true) {
        return Ok(None);
    }
    let mut deltas = Deltas { identities, extents, n_found: 0 };
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let mut exprs = std::mem::take(&mut kernel.exprs);
    let rewritten = exprs.rewrite(roots, |exprs, _, expr| match expr {
        Expr::Reduce { op: ReduceOp::Sum, inames, body } => {
            deltas.reduced(exprs, inames.iter().copied().collect(), body)
        }
        expr => exprs.intern(expr),
    });
    kernel.exprs = exprs;
    if deltas.n_found == 0 {
        return Ok(None);
    }
    for insn in kernel.insn_ids() {
        kernel[insn].map_expressions(|expr| rewritten.get(expr));
    }
    let mut res = LinearizedKernel { kernel, linearization: linearized.linearization.clone() };
    if let Some(found) = stores::find(&res)? {
        let mut replaced = FxHashMap::default();
        for store in &found.stores {
            if let Some(trees) = deltas.restricted(&mut res.kernel, store) {
                replaced.insert(store.position, trees);
            }
        }
        res.linearization = from_tree(&with_replaced(found.trees, replaced));
    }
    Ok(Some(res))
}

/// Whether a table is square, one on the diagonal, and zero elsewhere.
fn is_identity(kernel: &Kernel, array: ArrayId) -> bool {
    let Some(values) = kernel[array].table() else { return false };
    let sizes: Option<Vec<i64>> = kernel[array]
        .shape
        .iter()
        .map(|&size| affine::of(&kernel.exprs, size).and_then(|size| size.as_constant()))
        .collect();
    let Some([rows, columns]) = sizes.as_deref().and_then(|sizes| <[i64; 2]>::try_from(sizes).ok()) else {
        return false;
    };
    let Ok(side) = usize::try_from(rows) else { return false };
    rows == columns
        && side > 1
        && values.iter().enumerate().all(|(idx, value)| value.to_f64() == f64::from(u8::from(idx / side == idx % side)))
}

struct Deltas {
    /// For each array whether it is an identity table.
    identities: Vec<bool>,
    extents: Vec<Option<usize>>,
    n_found: usize,
}

impl Deltas {
    /// The two inames of an element of an identity table that take the same values.
    fn pair(&self, exprs: &Exprs, factor: ExprId) -> Option<(InameId, InameId)> {
        let Expr::Access { array, indices } = &exprs[factor] else { return None };
        if !self.identities.get(array.index()).copied().unwrap_or(false) {
            return None;
        }
        let iname = |index: ExprId| affine::of(exprs, index).and_then(|index| index.as_iname());
        let (a, b) = (iname(indices[0])?, iname(indices[1])?);
        let extent = |iname: InameId| self.extents.get(iname.index()).copied().flatten();
        (a != b && extent(a).is_some() && extent(a) == extent(b)).then_some((a, b))
    }

    /// The sum of a body over inames, those left out that identity tables fix.
    fn reduced(&mut self, exprs: &mut Exprs, mut inames: InameSet, body: ExprId) -> ExprId {
        let mut factors = factors(exprs, body);
        while let Some((idx, from, to)) = factors.iter().enumerate().find_map(|(idx, &factor)| {
            let (a, b) = self.pair(exprs, factor)?;
            if inames.contains(a) { Some((idx, a, b)) } else { inames.contains(b).then_some((idx, b, a)) }
        }) {
            self.n_found += 1;
            factors.remove(idx);
            inames.remove(from);
            for factor in &mut factors {
                *factor = renamed(exprs, *factor, &[(from, to)]);
            }
            if factors.is_empty() {
                let one = nestegg_ir::Float::new(1.0).expect("one is finite");
                factors.push(exprs.float(one));
            }
        }
        let body = product(exprs, factors);
        if inames.is_empty() {
            return body;
        }
        exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames: inames.iter().collect(), body })
    }

    /// The nest of a store on the diagonals that identity tables in its value fix; `None` if there are none.
    fn restricted(&self, kernel: &mut Kernel, store: &Store) -> Option<Vec<LoopTree>> {
        let [(term, sign)] = store.terms.as_slice() else { return None };
        if !store.is_accumulation {
            return None;
        }
        let mut factors = factors(&kernel.exprs, *term);
        let mut indices = store.indices.clone();
        let mut axes = store.axes.clone();
        let mut n_fixed = 0;
        while let Some((idx, from, to)) = factors.iter().enumerate().find_map(|(idx, &factor)| {
            let (a, b) = self.pair(&kernel.exprs, factor)?;
            (axes.contains(&a) && axes.contains(&b)).then_some((idx, b, a))
        }) {
            n_fixed += 1;
            factors.remove(idx);
            axes.retain(|&axis| axis != from);
            for factor in &mut factors {
                *factor = renamed(&mut kernel.exprs, *factor, &[(from, to)]);
            }
            for index in &mut indices {
                *index = index.substitute(Var::Iname(from), &Affine::var(Var::Iname(to)))?;
            }
        }
        if n_fixed == 0 {
            return None;
        }
        let InstructionKind::Assignment { assignee: Assignee { array, .. }, .. } = kernel[store.insn].kind else {
            return None;
        };
        let indices: Vec<ExprId> = indices.iter().map(|index| index.to_expr(&mut kernel.exprs)).collect();
        let element = kernel.exprs.access(array, indices.clone());
        if factors.is_empty() {
            let one = nestegg_ir::Float::new(1.0).expect("one is finite");
            factors.push(kernel.exprs.float(one));
        }
        let value = product(&mut kernel.exprs, factors);
        let op = if *sign < 0.0 { Op::Sub } else { Op::Add };
        let expression = kernel.exprs.op(op, [element, value]);
        let within: Vec<InameId> = store.outer.iter().chain(&axes).copied().collect();
        kernel[store.insn].within.clone_from(&within);
        kernel[store.insn].kind =
            InstructionKind::Assignment { assignee: Assignee { array, indices: indices.into() }, expression };
        Some(in_loops(vec![LoopTree::Run(store.insn)], &within))
    }
}
