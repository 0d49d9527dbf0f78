//! Reductions that several instructions at one place use.

use nestegg_ir::{Expr, ExprId, InsnId, Item, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

/// For each instruction those of its outermost reductions that another instruction in the same loop or condition
/// has too: they are computed once.
pub(super) struct SharedReductions(FxHashMap<InsnId, FxHashSet<ExprId>>);

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
        let mut res = Self(FxHashMap::default());
        for key in keys {
            users[&key].iter().for_each(|&insn| res.add(insn, [key.1]));
        }
        res
    }

    /// Counts reductions among those that an instruction shares.
    pub(super) fn add(&mut self, insn: InsnId, reductions: impl IntoIterator<Item = ExprId>) {
        self.0.entry(insn).or_default().extend(reductions);
    }

    /// The reductions that an instruction shares.
    pub(super) fn of(&self, insn: InsnId) -> FxHashSet<ExprId> {
        self.0.get(&insn).cloned().unwrap_or_default()
    }

    /// Whether another instruction at the place of `insn` has the reduction.
    pub(super) fn contains(&self, insn: InsnId, reduction: ExprId) -> bool {
        self.0.get(&insn).is_some_and(|shared| shared.contains(&reduction))
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
