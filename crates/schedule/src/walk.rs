//! Walks over the part of an expression store below some roots, in time linear in that part only.
//!
//! A kernel has many instructions over one large store: what is done per instruction must not cost the store's size.

use nestegg_ir::{ArrayId, Expr, ExprId, Exprs};
use rustc_hash::{FxHashMap, FxHashSet};

/// The ids below `roots` (roots included), operands before operations.
pub(crate) fn below(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
    let mut seen = FxHashSet::default();
    let mut pending: Vec<ExprId> = roots.into_iter().collect();
    let mut res = Vec::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            res.push(id);
            pending.extend(exprs[id].children());
        }
    }
    res.sort_unstable();
    res
}

/// Whether an access to `array` is below `roots`.
pub(crate) fn reads(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>, array: ArrayId) -> bool {
    below(exprs, roots).into_iter().any(|id| matches!(&exprs[id], Expr::Access { array: read, .. } if *read == array))
}

/// `root` with the expressions in `replacements` replaced, not looking inside what is replaced.
pub(crate) fn replace(exprs: &mut Exprs, root: ExprId, replacements: &FxHashMap<ExprId, ExprId>) -> ExprId {
    if replacements.is_empty() {
        return root;
    }
    let mut map = replacements.clone();
    for id in below(exprs, [root]) {
        if map.contains_key(&id) {
            continue;
        }
        let changed = exprs[id].children().iter().any(|child| map[child] != *child);
        let new = if changed {
            let mut expr = exprs[id].clone();
            for child in expr.children_mut() {
                *child = map[child];
            }
            exprs.intern(expr)
        } else {
            id
        };
        map.insert(id, new);
    }
    map[&root]
}
