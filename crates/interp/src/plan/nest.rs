//! A loop with everything in it, and whether its instructions may each run over all points before the next.
//!
//! The conditions are those of the [planner](crate::plan).

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, ExprId, InameId, InstructionKind};
use rustc_hash::FxHashMap;

use crate::builder::Entry;
use crate::source::Source;

/// The instructions of a loop.
#[derive(Default)]
pub(super) struct Nest {
    pub(super) entries: Vec<Entry>,
    /// The loops around each entry, by number.
    paths: Vec<Vec<usize>>,
    n_loops: usize,
    /// In the order of opening.
    pub(super) inames: Vec<InameId>,
    /// Inames of more than one loop.
    pub(super) reopened: Vec<InameId>,
}

impl Nest {
    /// Collects the instructions; says whether all are assignments, with loops in one order.
    pub(super) fn collect(&mut self, source: &Source, tree: &LoopTree) -> bool {
        self.visit(source, tree, &mut Vec::new(), &mut Vec::new(), &mut Vec::new())
    }

    fn visit(
        &mut self,
        source: &Source,
        tree: &LoopTree,
        loops: &mut Vec<InameId>,
        path: &mut Vec<usize>,
        conditions: &mut Vec<ExprId>,
    ) -> bool {
        match tree {
            LoopTree::Run(insn) => {
                let is_assignment =
                    matches!(source.instructions[insn.index()].kind, InstructionKind::Assignment { .. });
                self.entries.push(Entry {
                    insn: *insn,
                    loops: loops.clone(),
                    conditions: conditions.clone(),
                    volatile: Vec::new(),
                    is_forwarded: false,
                });
                self.paths.push(path.clone());
                is_assignment
            }
            LoopTree::Branch { condition, body } => {
                conditions.push(source.inlined[condition.index()]);
                let res = body.iter().all(|child| self.visit(source, child, loops, path, conditions));
                conditions.pop();
                res
            }
            LoopTree::Loop { iname, body } => {
                let position = match self.inames.iter().position(|other| other == iname) {
                    Some(position) => {
                        self.reopened.push(*iname);
                        position
                    }
                    None => {
                        self.inames.push(*iname);
                        self.inames.len() - 1
                    }
                };
                let is_ordered = loops.last().is_none_or(|last| {
                    self.inames.iter().position(|other| other == last).is_some_and(|outer| outer < position)
                });
                loops.push(*iname);
                path.push(self.n_loops);
                self.n_loops += 1;
                let res = is_ordered && body.iter().all(|child| self.visit(source, child, loops, path, conditions));
                loops.pop();
                path.pop();
                res
            }
        }
    }

    /// Says whether distribution is legal, and notes what each entry needs for it.
    pub(super) fn distribute(&mut self, source: &Source) -> bool {
        let mut written: Vec<ArrayId> =
            self.entries.iter().flat_map(|entry| &source.writes[entry.insn.index()]).map(|write| write.0).collect();
        written.sort_unstable();
        written.dedup();
        let mut accesses: FxHashMap<ArrayId, Vec<Access>> = FxHashMap::default();
        for (idx, entry) in self.entries.iter().enumerate() {
            let of = |list: &[(ArrayId, ExprId)], is_write: bool, into: &mut FxHashMap<ArrayId, Vec<Access>>| {
                for &(array, expr) in list.iter().filter(|access| written.binary_search(&access.0).is_ok()) {
                    into.entry(array).or_default().push(Access { entry: idx, expr, is_write });
                }
            };
            of(&source.reads[entry.insn.index()], false, &mut accesses);
            of(&source.writes[entry.insn.index()], true, &mut accesses);
            // Conditions of the linearization hold for a whole body: what they read may not change in it.
            for &condition in &entry.conditions {
                if reads_any(source, condition, &written) {
                    return false;
                }
            }
        }
        written.iter().all(|array| self.allow(source, &accesses[array]))
    }

    /// Whether one array allows distribution.
    fn allow(&mut self, source: &Source, accesses: &[Access]) -> bool {
        let same_entry = accesses.iter().all(|access| access.entry == accesses[0].entry);
        let same_indices = accesses.iter().all(|access| access.expr == accesses[0].expr);
        let is_injective = same_indices
            && accesses.iter().all(|access| tells_apart(source, access.expr, &self.entries[access.entry].loops));
        if is_injective {
            return true;
        }
        if same_entry {
            let reads = accesses.iter().filter(|access| !access.is_write).map(|access| access.expr);
            self.entries[accesses[0].entry].volatile.extend(reads);
            return true;
        }
        if same_indices && self.all_forwarded(source, accesses) {
            for access in accesses.iter().filter(|access| access.is_write) {
                self.entries[access.entry].is_forwarded = true;
            }
            return true;
        }
        false
    }

    /// Whether each read comes after an unconditional write in loops around it, and all writes are in the same loops. Reads
    /// of an entry come before its write.
    fn all_forwarded(&self, source: &Source, accesses: &[Access]) -> bool {
        let mut writer: Option<&[usize]> = None;
        for access in accesses {
            let entry = &self.entries[access.entry];
            let path = self.paths[access.entry].as_slice();
            if access.is_write {
                let predicates = &source.instructions[entry.insn.index()].predicates;
                let is_plain = predicates.is_empty() && entry.conditions.is_empty();
                if !is_plain || writer.is_some_and(|writer| writer != path) {
                    return false;
                }
                writer = Some(path);
            } else if !writer.is_some_and(|writer| path.starts_with(writer)) {
                return false;
            }
        }
        true
    }
}

/// An access of an array that a block writes.
struct Access {
    entry: usize,
    expr: ExprId,
    is_write: bool,
}

fn reads_any(source: &Source, root: ExprId, arrays: &[ArrayId]) -> bool {
    source.exprs.reachable([root]).into_iter().any(|id| match &source.exprs[id] {
        nestegg_ir::Expr::Access { array, .. } => arrays.binary_search(array).is_ok(),
        _ => false,
    })
}

/// Whether the indices of an access are affine and different at different points of `loops`.
fn tells_apart(source: &Source, access: ExprId, loops: &[InameId]) -> bool {
    let forms: Option<Vec<_>> =
        source.exprs[access].children().iter().map(|index| source.forms[index.index()].as_ref()).collect();
    forms.is_some_and(|forms| {
        loops.iter().all(|iname| {
            forms.iter().any(|form| {
                let inner = || form.terms.iter().filter(|term| loops.contains(&term.0));
                inner().count() == 1 && inner().all(|term| term.0 == *iname)
            })
        })
    })
}
