//! Replacing parts of an expression, in time linear in that expression only.

use nestegg_ir::walk::below;
use nestegg_ir::{ExprId, Exprs};
use rustc_hash::FxHashMap;

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
