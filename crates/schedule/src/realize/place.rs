//! Reductions that several instructions at one place use.

use nestegg_ir::{Expr, ExprId, InsnId, Item, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

/// Reductions that are computed once: for each instruction those of its outermost reductions that another instruction in the same loop or condition has too, or that
/// it uses several times itself.
#[derive(Default)]
pub(super) struct SharedReductions {
    of: FxHashSet<(InsnId, ExprId)>,
    /// For each instruction that computes a part of another one, that one, and the part.
    taken_out: FxHashMap<InsnId, (InsnId, ExprId)>,
}

impl SharedReductions {
    /// Finds them; `has_reduction` says in which expressions reductions are.
    pub(super) fn count(kernel: &Kernel, items: &[Item], has_reduction: &[bool]) -> Self {
        let mut users: FxHashMap<(usize, ExprId), Vec<InsnId>> = FxHashMap::default();
        let mut keys = Vec::new();
        let mut open = vec![0];
        for (idx, item) in items.iter().enumerate() {
            match item {
                Item::For(_) | Item::If(_) => open.push(idx + 1),
                Item::End(_) | Item::EndIf => {
                    open.pop();
                }
                Item::Run(insn) => {
                    let place = open.last().copied().unwrap_or_default();
                    for reduction in outermost(kernel, *insn, has_reduction) {
                        let users = users.entry((place, reduction)).or_default();
                        users.push(*insn);
                        if users.len() == 2 {
                            keys.push((place, reduction));
                        }
                    }
                }
            }
        }
        let shared = keys.into_iter().flat_map(|key| users[&key].iter().map(move |&insn| (insn, key.1)));
        Self { of: shared.collect(), ..Self::default() }
    }

    /// Marks reductions as shared.
    pub(super) fn add(&mut self, insn: InsnId, reductions: impl IntoIterator<Item = ExprId>) {
        self.of.extend(reductions.into_iter().map(|reduction| (insn, reduction)));
    }

    /// Notes that `new` computes a part of `insn`: what that shares, `new` shares, but for the part itself.
    pub(super) fn take_out(&mut self, part: ExprId, insn: InsnId, new: InsnId) {
        self.taken_out.insert(new, (insn, part));
    }

    /// Whether something else at the place of `insn` uses the reduction.
    pub(super) fn contains(&self, insn: InsnId, reduction: ExprId) -> bool {
        self.of.contains(&(insn, reduction))
            || self
                .taken_out
                .get(&insn)
                .is_some_and(|&(from, part)| part != reduction && self.contains(from, reduction))
    }
}

fn outermost(kernel: &Kernel, insn: InsnId, has_reduction: &[bool]) -> Vec<ExprId> {
    let mut seen = FxHashSet::default();
    let mut pending: Vec<ExprId> = kernel[insn].expressions().collect();
    let mut res = Vec::new();
    while let Some(id) = pending.pop() {
        if has_reduction[id.index()] && seen.insert(id) {
            match &kernel.exprs[id] {
                Expr::Reduce { .. } => res.push(id),
                expr => pending.extend(expr.children()),
            }
        }
    }
    res
}
