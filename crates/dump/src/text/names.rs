//! What is known only at the end of the text: ids that were not given, dependences on patterns and on what does nothing, the order of the lists.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::parser::Parser;
use super::statements::BlockKind;
use crate::error::ReadError;
use crate::json::shortened;
use crate::syntax::{ArrayKindSyntax, ItemKindSyntax, Name};

/// A dependence that may stand for none, one or several instructions.
pub(super) struct Loose<'s> {
    /// The instruction that has it.
    pub insn_idx: usize,
    /// An id, or a pattern of ids.
    pub name: Name<'s>,
}

/// An instruction that does nothing.
pub(super) struct Nop<'s> {
    /// Its id; empty if it has none.
    pub id: Name<'s>,
    /// Ids, or patterns of ids, of the instructions that must run first.
    pub depends_on: Vec<Name<'s>>,
}

impl<'s> Parser<'s, '_> {
    /// What is known only at the end: open blocks, ids that were not given, the order of the lists.
    pub(super) fn finish(&mut self) {
        for block in self.blocks.iter().filter(|block| !block.is_joined) {
            let what = match block.kind {
                BlockKind::For(_) => "loop",
                BlockKind::If(_) => "condition",
                BlockKind::With(_) => "`with`",
            };
            self.errors.push(ReadError::Unclosed { what, at: block.span });
        }
        // After a statement that was given up, the linearization has gaps and says nothing.
        if !self.errors.is_empty() {
            self.kernel.linearization = None;
        }
        self.name_instructions();
        self.resolve_dependences();
        self.order_instructions();
        self.infer_types();
        self.kernel.arrays.sort_by_key(|array| !matches!(array.kind, ArrayKindSyntax::Argument(_)));
    }

    fn name_instructions(&mut self) {
        let insns = &mut self.kernel.instructions;
        let mut taken: FxHashSet<String> = insns.iter().map(|insn| insn.id.text.to_string()).collect();
        for nop in &self.nops {
            if !nop.id.text.is_empty() && !taken.insert(nop.id.text.to_string()) {
                let first =
                    insns.iter().find(|insn| insn.id.text == nop.id.text).map_or(nop.id.span, |insn| insn.id.span);
                self.errors.push(ReadError::DuplicateId { id: nop.id.text.to_string(), at: nop.id.span, first });
            }
        }
        let mut n_of_prefix: FxHashMap<&str, usize> = FxHashMap::default();
        for (idx, prefix) in &self.nameless {
            let id = match prefix {
                None => {
                    let mut id = format!("insn{idx}");
                    while !taken.insert(id.clone()) {
                        id.push('_');
                    }
                    id
                }
                // As loopy counts: `init`, `init_0`, `init_1`, ….
                Some(prefix) => {
                    let n = n_of_prefix.entry(&prefix.text).or_default();
                    loop {
                        let id = match *n {
                            0 => prefix.text.to_string(),
                            n => format!("{}_{}", prefix.text, n - 1),
                        };
                        *n += 1;
                        if taken.insert(id.clone()) {
                            break id;
                        }
                    }
                }
            };
            insns[*idx].id.text = Cow::Owned(id);
        }
        if let Some(items) = &mut self.kernel.linearization {
            for &(item_idx, insn_idx) in &self.runs {
                items[item_idx].kind = ItemKindSyntax::Run(insns[insn_idx].id.clone());
            }
        }
    }

    /// Gives dependences on patterns, of blocks and on what does nothing their instructions.
    fn resolve_dependences(&mut self) {
        if self.loose.is_empty() && self.nops.is_empty() {
            return;
        }
        let insns = &mut self.kernel.instructions;
        let of_insn: FxHashMap<String, usize> =
            insns.iter().enumerate().map(|(idx, insn)| (insn.id.text.to_string(), idx)).collect();
        let of_nop: FxHashMap<&str, usize> =
            self.nops.iter().enumerate().map(|(idx, nop)| (&*nop.id.text, idx)).collect();
        let ids: Vec<Name<'s>> = insns.iter().map(|insn| insn.id.clone()).collect();
        let mut loose: Vec<Vec<&Name<'s>>> = vec![Vec::new(); insns.len()];
        for Loose { insn_idx, name } in &self.loose {
            loose[*insn_idx].push(name);
        }
        for (insn_idx, loose) in loose.into_iter().enumerate() {
            let own = std::mem::take(&mut insns[insn_idx].depends_on);
            let mut seen: FxHashSet<String> = FxHashSet::default();
            // Those that stand for one instruction stay as they are, so that all that is wrong with them is told.
            let (direct, through): (Vec<_>, Vec<_>) =
                own.into_iter().partition(|name| !of_nop.contains_key(&*name.text));
            seen.extend(direct.iter().map(|name| name.text.to_string()));
            let mut depends_on = direct;
            let mut seen_nops = vec![false; self.nops.len()];
            let mut open: Vec<&Name<'s>> = loose;
            open.extend(&through);
            open.reverse();
            while let Some(name) = open.pop() {
                let mut is_known = false;
                let mut meet = |text: &str| {
                    is_known = true;
                    if text != ids[insn_idx].text && seen.insert(text.to_owned()) {
                        depends_on.push(Name { text: Cow::Owned(text.to_owned()), span: name.span });
                    }
                };
                let mut through_nop = |idx: usize| {
                    if !std::mem::replace(&mut seen_nops[idx], true) {
                        open.extend(self.nops[idx].depends_on.iter().rev());
                    }
                };
                if name.text.contains('*') {
                    ids.iter().filter(|id| matches(&name.text, &id.text)).for_each(|id| meet(&id.text));
                    for (idx, nop) in self.nops.iter().enumerate() {
                        if matches(&name.text, &nop.id.text) {
                            is_known = true;
                            through_nop(idx);
                        }
                    }
                } else if let Some(&idx) = of_nop.get(&*name.text) {
                    is_known = true;
                    through_nop(idx);
                } else if of_insn.contains_key(&*name.text) {
                    meet(&name.text);
                }
                if !is_known {
                    // Lowering says that there is no such instruction.
                    depends_on.push(name.clone());
                }
            }
            insns[insn_idx].depends_on = depends_on;
        }
    }

    fn order_instructions(&mut self) {
        let Some(order) = self.order.take() else { return };
        let insns = &mut self.kernel.instructions;
        let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
        for (position, id) in order.iter().enumerate() {
            if positions.insert(&id.text, position).is_some() {
                self.errors.push(ReadError::RepeatedName { name: id.text.to_string(), at: id.span });
            }
        }
        let known: FxHashSet<&str> = insns.iter().map(|insn| &*insn.id.text).collect();
        for id in &order {
            if !known.contains(&*id.text) {
                let id_text = shortened(&id.text);
                self.errors.push(ReadError::UnknownInstruction { id: id_text, at: id.span, help: None });
            }
        }
        drop(known);
        insns.sort_by_key(|insn| positions.get(&*insn.id.text).copied().unwrap_or(usize::MAX));
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for any text. At most as many steps as both are long, multiplied.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        // The first place leaves the most for what follows.
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text) in
            [("init*", "init"), ("init*", "init_0"), ("*", ""), ("a*b*c", "aXbbc"), ("*_t", "a_t"), ("a", "a")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("init*", "ini"), ("a*b*c", "acb"), ("*_t", "t"), ("a", "ab"), ("ab*b", "ab")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
