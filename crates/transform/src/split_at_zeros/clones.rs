//! Takes stores out of their loops, once for each combination of parts of their inames.

use nestegg_ir::{Expr, ExprId, InsnId, InstructionKind, Item};
use rustc_hash::FxHashSet;

use crate::dead::without_empty;
use crate::split_at_zeros::rewrite::{Rewriter, combinations};
use crate::split_at_zeros::stores::CutStore;

/// The order with clones before the loops of the stores that they come from; the stores themselves are left in the kernel but do
/// not run. With it for each instruction the expression that it stored as it came; itself for what is no assignment.
pub(crate) fn clone_stores(
    rewriter: &mut Rewriter,
    linearization: &[Item],
    stores: &[CutStore],
) -> (Vec<Item>, Vec<ExprId>) {
    let mut origins: Vec<ExprId> = Vec::new();
    for instruction in &rewriter.kernel.instructions {
        origins.push(match &instruction.kind {
            InstructionKind::Assignment { expression, .. } => *expression,
            _ => ExprId::new(0),
        });
    }
    let mut ids: FxHashSet<String> =
        rewriter.kernel.instructions.iter().map(|instruction| instruction.id.clone()).collect();
    let mut before: Vec<Vec<Item>> = vec![Vec::new(); linearization.len()];
    let mut is_cut = vec![false; rewriter.kernel.instructions.len()];
    for store in stores {
        is_cut[store.insn.index()] = true;
        let mut n_clones = 0;
        for parts in combinations(&store.cuts) {
            let parts = parts.into_iter().map(|(iname, interval)| (iname, rewriter.part(iname, interval))).collect();
            let items = clone_store(rewriter, store, parts, &mut ids, &mut n_clones);
            before[store.position].extend(items);
            origins.push(origins[store.insn.index()]);
            if rewriter.is_exceeded() {
                break;
            }
        }
    }
    let mut res = Vec::with_capacity(linearization.len());
    for (item, before) in linearization.iter().zip(before) {
        res.extend(before);
        if !matches!(item, Item::Run(insn) if is_cut[insn.index()]) {
            res.push(*item);
        }
    }
    (without_empty(res), origins)
}

/// One clone in its loops and conditions.
fn clone_store(
    rewriter: &mut Rewriter,
    store: &CutStore,
    parts: Vec<(nestegg_ir::InameId, ExprId)>,
    ids: &mut FxHashSet<String>,
    n_clones: &mut usize,
) -> Vec<Item> {
    let substitution = rewriter.substitution(parts.clone());
    let mut clone = rewriter.kernel[store.insn].clone();
    clone.map_expressions(|expr| rewriter.substitute(expr, substitution));
    let part_of = |iname| parts.iter().find(|part| part.0 == iname).map(|part| part.1);
    let new_iname = |rewriter: &Rewriter, iname| match part_of(iname).map(|part| &rewriter.kernel.exprs[part]) {
        None => Some(iname),
        Some(Expr::Iname(part)) => Some(*part),
        Some(_) => None,
    };
    clone.within = clone.within.iter().filter_map(|&iname| new_iname(rewriter, iname)).collect();
    clone.id = loop {
        let id = format!("{}_{n_clones}", clone.id);
        *n_clones += 1;
        if ids.insert(id.clone()) {
            break id;
        }
    };
    let insn = InsnId::new(rewriter.kernel.instructions.len());
    rewriter.kernel.instructions.push(clone);
    let (mut items, mut ends) = (Vec::new(), Vec::new());
    for item in &store.path {
        match *item {
            Item::For(iname) => {
                if let Some(iname) = new_iname(rewriter, iname) {
                    items.push(Item::For(iname));
                    ends.push(Item::End(iname));
                }
            }
            Item::If(condition) => {
                items.push(Item::If(rewriter.substitute(condition, substitution)));
                ends.push(Item::EndIf);
            }
            Item::End(_) | Item::EndIf | Item::Run(_) => {}
        }
    }
    items.push(Item::Run(insn));
    items.extend(ends.into_iter().rev());
    items
}
