//! The inames that each expression depends on.

use nestegg_ir::{Expr, ExprId, InameSet, Kernel};

/// For every expression of a kernel the inames on whose values it depends.
pub(super) fn free_inames(kernel: &Kernel) -> Vec<InameSet> {
    let mut res: Vec<InameSet> = Vec::with_capacity(kernel.exprs.len());
    for (_, expr) in kernel.exprs.iter() {
        let mut free = expr.children().iter().fold(InameSet::new(), |all, child| all.union(&res[child.index()]));
        match expr {
            Expr::Iname(iname) => {
                free.insert(*iname);
            }
            Expr::Reduce { inames, .. } => {
                for &iname in inames {
                    free.extend(kernel[kernel[iname].domain].enclosing.iter().copied());
                }
                inames.iter().for_each(|&iname| {
                    free.remove(iname);
                });
            }
            _ => {}
        }
        res.push(free);
    }
    res
}

/// Whether what an expression reads is never written, so that it has one value wherever it stands.
pub(super) fn is_fixed(kernel: &Kernel, written: &[bool], id: ExprId) -> bool {
    nestegg_ir::walk::arrays_below(&kernel.exprs, [id]).iter().all(|array| !written[array.index()])
}
