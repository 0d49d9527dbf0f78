//! Instructions, their options, and what is known at the end of the text.

use std::borrow::Cow;

use nestegg_ir::linearization::MAX_NESTING;
use nestegg_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::lexer::Token;
use super::parser::{Parsed, Parser, Reported};
use super::statements::{Block, BlockKind};
use crate::error::{Mismatch, ReadError};
use crate::json::shortened;
use crate::syntax::{
    ArrayKindSyntax, ConditionSyntax, InstructionKindSyntax, InstructionSyntax, ItemKindSyntax, ItemSyntax, Name,
    NodeId, NodeKind,
};

/// The options of an instruction.
#[derive(Default)]
struct Options<'s> {
    id: Option<Name<'s>>,
    depends_on: Option<Vec<Name<'s>>>,
    within: Option<Vec<Name<'s>>>,
    predicates: Option<Vec<ConditionSyntax>>,
}

impl<'s> Parser<'s, '_> {
    /// Reads an assignment, a call or the definition of a substitution rule.
    pub(super) fn instruction(&mut self) -> Parsed<()> {
        let start = self.span();
        let mut left = vec![self.expression()?];
        if self.peek() == Token::Define && left.len() == 1 {
            return self.substitution(left[0]);
        }
        let mut is_list = false;
        while self.skip(Token::Comma).is_some() {
            is_list = true;
            if self.peek() == Token::Assign {
                break;
            }
            left.push(self.expression()?);
        }
        self.expect(Token::Assign, "`=`")?;
        let right = self.expression()?;
        let kind = if is_list {
            self.call(left, right)?
        } else {
            InstructionKindSyntax::Assignment { assignee: left[0], expression: right }
        };
        self.push_instruction(start.to(self.last_span()), kind)
    }

    fn call(&mut self, assignees: Vec<NodeId>, right: NodeId) -> Parsed<InstructionKindSyntax<'s>> {
        match &self.kernel.nodes[right].kind {
            NodeKind::Apply(function) => {
                let (function, arguments) = (function.clone(), self.kernel.nodes.children(right).to_vec());
                Ok(InstructionKindSyntax::Call { assignees, function, arguments })
            }
            _ => {
                let at = self.kernel.nodes.span(right);
                let mismatch = Mismatch { expected: "a call".to_owned(), found: "another expression".to_owned() };
                let help = Some("only a call has several results: `a, b = f(x)`".to_owned());
                self.errors.push(ReadError::TextSyntax { mismatch, at, help });
                Err(Reported)
            }
        }
    }

    /// Reads `code "C text" reads a, b writes c`.
    pub(super) fn opaque(&mut self) -> Parsed<()> {
        let start = self.bump();
        let code = match self.skip(Token::RawString) {
            Some(span) => self.text[span.start as usize + 3..span.end as usize - 3].to_owned(),
            None => self.string()?.text.into_owned(),
        };
        let mut lists = [Vec::new(), Vec::new()];
        for (list, word) in lists.iter_mut().zip(["reads", "writes"]) {
            if self.is_word(word) {
                self.bump();
                *list = self.words("a name")?;
            }
        }
        let [reads, writes] = lists;
        let span = start.to(self.last_span());
        self.push_instruction(span, InstructionKindSyntax::Opaque { code, reads, writes })
    }

    fn push_instruction(&mut self, span: Span, kind: InstructionKindSyntax<'s>) -> Parsed<()> {
        let options = if self.peek() == Token::OpenBrace { self.options()? } else { Options::default() };
        let mut around: Vec<Name<'s>> = Vec::new();
        let mut conditions = Vec::new();
        // Deeper nesting was reported, and is not followed.
        let blocks = if self.n_levels <= MAX_NESTING { &*self.blocks } else { &[] };
        for Block { kind, .. } in blocks {
            match kind {
                BlockKind::For(names) => around.extend(names.iter().cloned()),
                BlockKind::If(condition) => conditions.push(*condition),
            }
        }
        if let Some(within) = &options.within
            && let Some(missing) = around.iter().find(|name| within.iter().all(|other| other.text != name.text))
        {
            let mismatch = Mismatch {
                expected: format!("`{}` among the inames, as in the loop around", missing.text),
                found: "a list without it".to_owned(),
            };
            self.errors.push(ReadError::TextSyntax {
                mismatch,
                at: within.first().map_or(span, |name| name.span),
                help: None,
            });
        }
        // In a linearized kernel conditions around an instruction are the linearization's, not its own.
        let mut predicates = if self.is_linearized { Vec::new() } else { conditions };
        predicates.extend(options.predicates.unwrap_or_default());
        let insn_idx = self.kernel.instructions.len();
        let id = options.id.unwrap_or_else(|| {
            self.nameless.push(insn_idx);
            Name { text: Cow::Borrowed(""), span }
        });
        if let Some(items) = &mut self.kernel.linearization {
            self.runs.push((items.len(), insn_idx));
            items.push(ItemSyntax { span: id.span, kind: ItemKindSyntax::Run(id.clone()) });
        }
        self.kernel.instructions.push(InstructionSyntax {
            id,
            kind,
            within: options.within.unwrap_or(around),
            depends_on: options.depends_on.unwrap_or_default(),
            predicates,
        });
        Ok(())
    }

    /// Reads `{id=…, dep=…:…, if=…, inames=…:…}`.
    fn options(&mut self) -> Parsed<Options<'s>> {
        let mut res = Options::default();
        let mut seen: Vec<Name<'s>> = Vec::new();
        self.bump();
        while self.skip(Token::CloseBrace).is_none() {
            let option = self.word("an option")?;
            if let Some(first) = seen.iter().find(|other| other.text == option.text) {
                let (field, first) = (option.text.to_string(), first.span);
                self.errors.push(ReadError::DuplicateField { field, at: option.span, first });
                return Err(Reported);
            }
            self.expect(Token::Assign, "`=`")?;
            match &*option.text {
                "id" => res.id = Some(self.id("an instruction id")?),
                "dep" => res.depends_on = Some(self.between_colons(|parser| parser.id("an instruction id"))?),
                "inames" => res.within = Some(self.between_colons(|parser| parser.word("an iname"))?),
                "if" => {
                    let condition = |parser: &mut Self| {
                        let node = parser.expression()?;
                        Ok(ConditionSyntax { node, is_negated: false })
                    };
                    res.predicates = Some(self.between_colons(condition)?);
                }
                word => {
                    self.errors.push(ReadError::UnknownOption { word: shortened(word), at: option.span });
                    return Err(Reported);
                }
            }
            seen.push(option);
            if self.peek() != Token::CloseBrace {
                self.expect(Token::Comma, "`,` or `}`")?;
            }
        }
        Ok(res)
    }

    fn between_colons<T>(&mut self, mut read: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut res = vec![read(self)?];
        while self.skip(Token::Colon).is_some() {
            res.push(read(self)?);
        }
        Ok(res)
    }

    /// What is known only at the end: open blocks, ids that were not given, the order of the lists.
    pub(super) fn finish(&mut self) {
        for block in &self.blocks {
            let what = if matches!(block.kind, BlockKind::For(_)) { "loop" } else { "condition" };
            self.errors.push(ReadError::Unclosed { what, at: block.span });
        }
        // After a statement that was given up, the linearization has gaps and says nothing.
        if !self.errors.is_empty() {
            self.kernel.linearization = None;
        }
        self.name_instructions();
        self.order_instructions();
        self.kernel.arrays.sort_by_key(|array| !matches!(array.kind, ArrayKindSyntax::Argument(_)));
    }

    fn name_instructions(&mut self) {
        let insns = &mut self.kernel.instructions;
        let mut taken: FxHashSet<String> = insns.iter().map(|insn| insn.id.text.to_string()).collect();
        for &idx in &self.nameless {
            let mut id = format!("insn{idx}");
            while !taken.insert(id.clone()) {
                id.push('_');
            }
            insns[idx].id.text = Cow::Owned(id);
        }
        if let Some(items) = &mut self.kernel.linearization {
            for &(item_idx, insn_idx) in &self.runs {
                items[item_idx].kind = ItemKindSyntax::Run(insns[insn_idx].id.clone());
            }
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
