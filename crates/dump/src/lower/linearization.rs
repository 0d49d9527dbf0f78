//! The linearization: that it nests, and that it runs every instruction once, inside its loops.

use nestegg_ir::linearization::{MAX_NESTING, NestingError, to_tree};
use nestegg_ir::verify::Place;
use nestegg_ir::{InameId, InameSet, InsnId, Item, Linearization};
use nestegg_span::Span;
use rustc_hash::FxHashMap;

use super::Lowering;
use crate::error::ReadError;
use crate::syntax::{ItemKindSyntax, Name};

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn linearization(&mut self) -> Option<Linearization> {
        let syntax = self.syntax;
        let syntax_items = syntax.linearization.as_ref()?;
        let n_errors = self.errors.len();
        let mut ids: FxHashMap<&str, InsnId> = FxHashMap::default();
        for (idx, insn) in syntax.instructions.iter().enumerate() {
            ids.entry(&*insn.id.text).or_insert_with(|| InsnId::new(idx));
        }
        let mut items = Linearization::with_capacity(syntax_items.len());
        let mut open: Vec<InameId> = Vec::new();
        let mut open_set = InameSet::new();
        // Where each instruction runs.
        let mut runs: Vec<Option<Span>> = vec![None; syntax.instructions.len()];
        for (item_idx, item) in syntax_items.iter().enumerate() {
            self.place = Place::Item(item_idx);
            self.spans.items.push(item.span);
            let lowered = match &item.kind {
                ItemKindSyntax::For(name) => self.iname(name).map(|iname| {
                    self.check_enclosing(iname, name, |outer| open_set.contains(outer));
                    open.push(iname);
                    open_set.insert(iname);
                    Item::For(iname)
                }),
                ItemKindSyntax::End(name) => self.iname(name).map(|iname| {
                    if open.last() == Some(&iname) {
                        open.pop();
                        if !open.contains(&iname) {
                            open_set.remove(iname);
                        }
                    }
                    Item::End(iname)
                }),
                ItemKindSyntax::If(condition) => Some(Item::If(self.condition(*condition, &open_set, true))),
                ItemKindSyntax::EndIf => Some(Item::EndIf),
                ItemKindSyntax::Run(name) => self.run(name, &ids, &open, &open_set, &mut runs),
            };
            items.extend(lowered);
        }
        for (insn, run) in syntax.instructions.iter().zip(&runs) {
            if run.is_none() {
                self.errors.push(ReadError::NeverRun { id: insn.id.text.to_string(), at: insn.id.span });
            }
        }
        if self.errors.len() == n_errors || items.len() == syntax_items.len() {
            self.check_nesting(&items);
        }
        Some(items)
    }

    fn run(
        &mut self,
        name: &Name<'_>,
        ids: &FxHashMap<&str, InsnId>,
        open: &[InameId],
        open_set: &InameSet,
        runs: &mut [Option<Span>],
    ) -> Option<Item> {
        let Some(&insn) = ids.get(&*name.text) else {
            self.report_unknown_instruction(name);
            return None;
        };
        let id = || name.text.to_string();
        match runs[insn.index()] {
            Some(first) => self.errors.push(ReadError::RunTwice { id: id(), at: name.span, first }),
            None => runs[insn.index()] = Some(name.span),
        }
        let within = &self.kernel[insn].within;
        let is_complete = within.len() == self.syntax.instructions[insn.index()].within.len();
        if is_complete && self.kernel[insn].within_set() != *open_set {
            let (within, loops) = (self.list_inames(within, "no inames"), self.list_inames(open, "no loops"));
            self.errors.push(ReadError::WrongLoops { id: id(), within, loops, at: name.span });
        }
        Some(Item::Run(insn))
    }

    fn list_inames(&self, inames: &[InameId], nothing: &str) -> String {
        match inames {
            [] => nothing.to_owned(),
            inames => {
                let names: Vec<&str> = inames.iter().map(|&iname| self.kernel[iname].name.as_str()).collect();
                format!("`{}`", names.join(", "))
            }
        }
    }

    fn check_nesting(&mut self, items: &[Item]) {
        let Err(error) = to_tree(items) else { return };
        let (NestingError::Unmatched { item_idx }
        | NestingError::Unclosed { item_idx }
        | NestingError::Reopened { item_idx }
        | NestingError::TooDeep { item_idx }) = error;
        let at = self.spans.item(item_idx);
        let error = match (error, items[item_idx]) {
            (NestingError::Unclosed { .. }, Item::For(_)) => ReadError::Unclosed { what: "loop", at },
            (NestingError::Unclosed { .. }, _) => ReadError::Unclosed { what: "condition", at },
            (NestingError::Reopened { .. }, Item::For(iname)) => {
                ReadError::ReopenedLoop { name: self.kernel[iname].name.clone(), at }
            }
            (NestingError::TooDeep { .. }, _) => ReadError::LoopsNestedTooDeep { limit: MAX_NESTING, at },
            _ => ReadError::UnmatchedEnd { at },
        };
        self.errors.push(error);
    }
}
