//! Expressions with affine functions substituted for inames.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{Expr, ExprId, Exprs, InameId, Rewritten};

/// Expressions with `image(iname)` for each iname that has one, all at once; affine functions come out in their one spelling. A reduction binds
/// what becomes of its inames, where that is inames.
pub(crate) fn with_inames(
    exprs: &mut Exprs,
    roots: impl IntoIterator<Item = ExprId>,
    image: impl Fn(InameId) -> Option<Affine>,
) -> Rewritten {
    exprs.rewrite(roots, |exprs, old, expr| match (image_of(exprs, old, &image), expr) {
        (Some(affine), _) => affine.to_expr(exprs),
        (None, Expr::Reduce { op, inames, body }) => {
            let bound = |&iname: &InameId| image(iname).and_then(|image| image.as_iname()).unwrap_or(iname);
            exprs.intern(Expr::Reduce { op, inames: inames.iter().map(bound).collect(), body })
        }
        (None, expr) => exprs.intern(expr),
    })
}

/// An affine function of inames that have images, with these; `None` of all others, and on overflow.
pub(crate) fn image_of(exprs: &Exprs, id: ExprId, image: &impl Fn(InameId) -> Option<Affine>) -> Option<Affine> {
    let affine = affine::of(exprs, id).filter(|affine| affine.inames().any(|iname| image(iname).is_some()))?;
    substituted(&affine, image)
}

/// `None` on overflow.
fn substituted(affine: &Affine, image: impl Fn(InameId) -> Option<Affine>) -> Option<Affine> {
    affine.terms.iter().try_fold(Affine::constant(affine.constant), |sum, &(var, coefficient)| {
        let value = match var {
            Var::Iname(iname) => image(iname),
            Var::Parameter(_) => None,
        };
        sum.plus(&value.unwrap_or_else(|| Affine::var(var)), coefficient)
    })
}
