//! Declarations and blocks.

use std::borrow::Cow;

use nestegg_ir::linearization::MAX_NESTING;
use nestegg_ir::{ArgumentAccess, InameTag, Number};
use nestegg_span::Span;

use super::instructions::Options;
use super::lexer::Token;
use super::parser::{Parsed, Parser, Reported};
use crate::error::{Mismatch, ReadError};
use crate::json::{self, shortened};
use crate::syntax::{
    ArrayKindSyntax, ArraySyntax, ConditionSyntax, ItemKindSyntax, ItemSyntax, Name, NodeId, NodeKind, ParameterSyntax,
    SubstitutionSyntax, TableItem, TableSyntax, TagsSyntax,
};

/// A block that is open.
pub(super) struct Block<'s> {
    pub kind: BlockKind<'s>,
    /// Its first word.
    pub span: Span,
    /// Whether its `end` is that of the block around it, too, as for `elif`.
    pub is_joined: bool,
}

pub(super) enum BlockKind<'s> {
    For(Vec<Name<'s>>),
    If(ConditionSyntax),
    With(Options<'s>),
}

impl BlockKind<'_> {
    /// How many loops and conditions it is.
    fn n_levels(&self) -> usize {
        match self {
            Self::For(names) => names.len(),
            Self::If(_) => 1,
            Self::With(_) => 0,
        }
    }
}

impl<'s> Parser<'s, '_> {
    /// Reads one statement, without its end.
    pub(super) fn statement(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Word => {}
            Token::Ellipsis => return self.no_operation(),
            _ => return self.instruction(),
        }
        let next = self.peek_nth(1);
        // A declaration's keyword can be a name, too: what follows tells.
        match self.slice(self.span()) {
            "param" if next == Token::Word => self.parameter(),
            "arg" if next == Token::Word => self.argument(),
            "temp" if next == Token::Word => self.temporary(),
            "table" if next == Token::Word => self.table(),
            "tag" if next == Token::Word => self.tags(),
            "order" if matches!(next, Token::Word | Token::String) => self.order(),
            "code" if matches!(next, Token::String | Token::RawString) => self.opaque(),
            "domain" if self.begins_raw() => {
                let text = self.raw()?;
                self.kernel.domains.push(text);
                Ok(())
            }
            "assume" if self.begins_raw() => {
                let text = self.raw()?;
                self.kernel.assumptions = Some(text);
                Ok(())
            }
            "meta" if self.begins_raw() || matches!(next, Token::Word | Token::Number | Token::Minus) => self.meta(),
            "for" => self.open_loop(),
            "if" => self.open_condition(),
            "else" => self.other_branch().map(drop),
            "elif" if self.may_branch() && !matches!(next, Token::OpenBracket | Token::Assign | Token::Comma) => {
                self.next_condition()
            }
            "with" if next == Token::OpenBrace => {
                let span = self.bump();
                let options = self.options()?;
                self.open_block(span, BlockKind::With(options), false);
                Ok(())
            }
            "end" if matches!(next, Token::Newline | Token::End) => self.close_block(),
            _ => self.instruction(),
        }
    }

    /// Whether the statement here is one that defines a name by its keyword.
    pub(super) fn is_declaration(&self) -> bool {
        self.peek() == Token::Word
            && match self.slice(self.span()) {
                "param" | "arg" | "temp" | "table" => self.peek_nth(1) == Token::Word,
                "domain" => self.begins_raw(),
                _ => false,
            }
    }

    /// Whether the word here is followed by what a subscript or an assignment cannot be.
    fn begins_raw(&self) -> bool {
        match self.peek_nth(1) {
            Token::OpenBrace | Token::String => true,
            Token::OpenBracket => self.span_nth(1).start > self.span().end,
            _ => false,
        }
    }

    /// A set in isl's notation up to the end of the statement, or a JSON string that holds one.
    fn raw(&mut self) -> Parsed<Name<'s>> {
        self.bump();
        if self.peek() == Token::String {
            return self.string();
        }
        let start = self.span();
        if self.is_never_closed() {
            let mismatch =
                Mismatch { expected: "a closing bracket".to_owned(), found: "the end of the text".to_owned() };
            self.errors.push(ReadError::TextSyntax { mismatch, at: start, help: None });
            return Err(Reported);
        }
        let (mut text, mut end) = (Cow::Borrowed(self.slice(start)), start);
        self.bump();
        while !matches!(self.peek(), Token::Newline | Token::End) {
            let next = self.bump();
            let between = &self.text[end.end as usize..next.start as usize];
            if between.contains(['\n', '#']) || matches!(text, Cow::Owned(_)) {
                // Comments and line ends are no part of the set.
                let text = text.to_mut();
                text.push_str(if between.contains(['\n', '#']) { " " } else { between });
                text.push_str(self.slice(next));
            } else {
                text = Cow::Borrowed(self.slice(start.to(next)));
            }
            end = next;
        }
        Ok(Name { text, span: start.to(end) })
    }

    fn meta(&mut self) -> Parsed<()> {
        self.bump();
        let base = self.span().start as usize;
        match json::value_at(self.text, base) {
            Ok((text, end)) => {
                self.kernel.meta = Some(text);
                self.skip_to(end);
                Ok(())
            }
            Err(error) => {
                self.errors.push(error);
                Err(Reported)
            }
        }
    }

    fn parameter(&mut self) -> Parsed<()> {
        self.bump();
        let name = self.word("a name")?;
        self.expect(Token::Colon, "`:` and a dtype")?;
        let dtype = self.dtype()?;
        let estimate = match self.skip(Token::Assign) {
            None => None,
            Some(_) => {
                let is_negative = self.skip(Token::Minus).is_some();
                let span = self.expect(Token::Number, "an integer")?;
                match self.number(span, is_negative)? {
                    Number::Int(value) => Some(value),
                    Number::Float(_) => {
                        let mismatch = Mismatch { expected: "an integer".to_owned(), found: "a float".to_owned() };
                        self.errors.push(ReadError::TextSyntax { mismatch, at: span, help: None });
                        return Err(Reported);
                    }
                }
            }
        };
        self.kernel.parameters.push(ParameterSyntax { name, dtype: Some(dtype), estimate });
        Ok(())
    }

    /// `NAME : dtype[size, …]`; `*` is a size that is not stated.
    fn array(&mut self) -> Parsed<ArraySyntax<'s>> {
        self.bump();
        let name = self.word("a name")?;
        self.expect(Token::Colon, "`:` and a dtype")?;
        let (dtype, stored) = self.element_type()?;
        let mut shape = Vec::new();
        if self.skip(Token::OpenBracket).is_some() {
            loop {
                shape.push(match self.peek() {
                    Token::Star => {
                        let at = self.bump();
                        self.kernel.nodes.push(NodeKind::Unstated, at, &[])
                    }
                    _ => self.expression()?,
                });
                if self.skip(Token::Comma).is_none() {
                    break;
                }
            }
            self.expect(Token::CloseBracket, "`,` or `]`")?;
        }
        Ok(ArraySyntax { name, dtype: Some(dtype), stored, shape: Some(shape), kind: ArrayKindSyntax::Temporary })
    }

    fn push_array(&mut self, array: ArraySyntax<'s>, kind: ArrayKindSyntax) {
        self.kernel.arrays.push(ArraySyntax { kind, ..array });
    }

    fn argument(&mut self) -> Parsed<()> {
        let array = self.array()?;
        let word = self.word("`read`, `write` or `readwrite`")?;
        let Some(access) = ArgumentAccess::from_spelling(&word.text) else {
            self.errors.push(ReadError::UnknownAccess { word: shortened(&word.text), at: word.span });
            return Err(Reported);
        };
        self.push_array(array, ArrayKindSyntax::Argument(access));
        Ok(())
    }

    fn temporary(&mut self) -> Parsed<()> {
        let array = self.array()?;
        self.push_array(array, ArrayKindSyntax::Temporary);
        Ok(())
    }

    fn table(&mut self) -> Parsed<()> {
        let array = self.array()?;
        self.expect(Token::Assign, "`=` and the values")?;
        let mut table = TableSyntax::default();
        let mut depth = 0_usize;
        let mut needs_item = true;
        loop {
            let span = self.span();
            match self.peek() {
                Token::OpenBracket if needs_item => {
                    table.items.push(TableItem::Open(self.bump()));
                    depth += 1;
                    if self.peek() == Token::CloseBracket {
                        needs_item = false;
                    }
                    continue;
                }
                Token::Number if needs_item => {
                    self.bump();
                    table.items.push(TableItem::Number(self.number(span, false)?, span));
                }
                Token::Minus if needs_item && self.peek_nth(1) == Token::Number => {
                    self.bump();
                    let digits = self.bump();
                    table.items.push(TableItem::Number(self.number(digits, true)?, span.to(digits)));
                }
                Token::CloseBracket if !needs_item && depth > 0 => {
                    self.bump();
                    table.items.push(TableItem::Close);
                    depth -= 1;
                }
                Token::Comma if !needs_item && depth > 0 => {
                    self.bump();
                    needs_item = true;
                    continue;
                }
                _ if needs_item => return Err(self.expected("a number or `[`")),
                _ => return Err(self.expected("`,` or `]`")),
            }
            needs_item = false;
            if depth == 0 {
                break;
            }
        }
        self.push_array(array, ArrayKindSyntax::Table(table));
        Ok(())
    }

    fn tags(&mut self) -> Parsed<()> {
        self.bump();
        let name = self.word("an iname")?;
        let mut tags = Vec::new();
        for word in self.words("a tag")? {
            match InameTag::from_spelling(&word.text) {
                Some(tag) => tags.push((tag, word.span)),
                None => self.errors.push(ReadError::UnknownTag { word: shortened(&word.text), at: word.span }),
            }
        }
        self.kernel.tags.push(TagsSyntax { name, tags });
        Ok(())
    }

    fn order(&mut self) -> Parsed<()> {
        self.bump();
        let mut ids = vec![self.id("an instruction id")?];
        while self.skip(Token::Comma).is_some() {
            ids.push(self.id("an instruction id")?);
        }
        self.order = Some(ids);
        Ok(())
    }

    /// `NAME(formal, …) := expression`, where what stands before `:=` was read as an expression.
    pub(super) fn substitution(&mut self, left: NodeId) -> Parsed<()> {
        let nodes = &self.kernel.nodes;
        let (name, span) = match &nodes[left].kind {
            NodeKind::Name(text) => (Some(Name { text: text.clone(), span: nodes.span(left) }), nodes.span(left)),
            NodeKind::Apply(name) => (Some(name.clone()), nodes.span(left)),
            _ => (None, nodes.span(left)),
        };
        let formals: Option<Vec<Name<'s>>> = nodes
            .children(left)
            .iter()
            .map(|&child| match &nodes[child].kind {
                NodeKind::Name(text) => Some(Name { text: text.clone(), span: nodes.span(child) }),
                _ => None,
            })
            .collect();
        let (Some(name), Some(parameters)) = (name, formals) else {
            let mismatch = Mismatch {
                expected: "`NAME(parameter, …) :=`".to_owned(),
                found: format!("`{}`", shortened(self.slice(span))),
            };
            self.errors.push(ReadError::TextSyntax { mismatch, at: span, help: None });
            return Err(Reported);
        };
        self.bump();
        // Declared even if its expression is wrong, so that its uses are known.
        let expression = self.expression();
        let node = expression.as_ref().ok().copied();
        let node = node.unwrap_or_else(|| self.kernel.nodes.push(NodeKind::Error, span, &[]));
        self.kernel.substitutions.push(SubstitutionSyntax { name, parameters, expression: node });
        expression.map(|_| ())
    }

    fn item(&mut self, span: Span, kind: ItemKindSyntax<'s>) {
        if let Some(items) = &mut self.kernel.linearization {
            items.push(ItemSyntax { span, kind });
        }
    }

    fn open_block(&mut self, span: Span, kind: BlockKind<'s>, is_joined: bool) {
        let n_levels = self.n_levels;
        self.n_levels += kind.n_levels();
        if n_levels <= MAX_NESTING && self.n_levels > MAX_NESTING {
            self.errors.push(ReadError::LoopsNestedTooDeep { limit: MAX_NESTING, at: span });
        }
        self.blocks.push(Block { kind, span, is_joined });
    }

    fn open_loop(&mut self) -> Parsed<()> {
        let span = self.bump();
        let names = self.words("an iname");
        // A block that opens wrongly still takes its `end`.
        self.open_block(span, BlockKind::For(names.as_ref().map(Clone::clone).unwrap_or_default()), false);
        for name in names? {
            self.item(span.to(name.span), ItemKindSyntax::For(name));
        }
        Ok(())
    }

    fn open_condition(&mut self) -> Parsed<()> {
        let span = self.bump();
        self.condition_block(span, false)
    }

    /// Reads a condition and opens its block.
    fn condition_block(&mut self, span: Span, is_joined: bool) -> Parsed<()> {
        let node = self.expression();
        let known = node.as_ref().ok().copied();
        let known = known.unwrap_or_else(|| self.kernel.nodes.push(NodeKind::Error, span, &[]));
        let condition = ConditionSyntax { node: known, is_negated: false };
        self.open_block(span, BlockKind::If(condition), is_joined);
        self.item(span, ItemKindSyntax::If(condition));
        node.map(|_| ())
    }

    /// Whether the block here is an `if` that has no other branch yet.
    fn may_branch(&self) -> bool {
        let last = self.blocks.last().map(|block| &block.kind);
        matches!(last, Some(BlockKind::If(ConditionSyntax { is_negated: false, .. })))
    }

    /// `elif c` is `else` and, in it, `if c`, which end together.
    fn next_condition(&mut self) -> Parsed<()> {
        let span = self.other_branch()?;
        self.condition_block(span, true)
    }

    fn other_branch(&mut self) -> Parsed<Span> {
        let Some(Block { kind: BlockKind::If(condition @ ConditionSyntax { is_negated: false, .. }), .. }) =
            self.blocks.last_mut()
        else {
            return Err(self.expected_with("a statement", Some("`else` stands in an `if` block, once")));
        };
        condition.is_negated = true;
        let condition = *condition;
        let span = self.bump();
        if let Some(block) = self.blocks.last_mut() {
            block.span = span;
        }
        self.item(span, ItemKindSyntax::EndIf);
        self.item(span, ItemKindSyntax::If(condition));
        Ok(span)
    }

    fn close_block(&mut self) -> Parsed<()> {
        let span = self.bump();
        loop {
            let Some(Block { kind, is_joined, .. }) = self.blocks.pop() else {
                self.errors.push(ReadError::UnmatchedEnd { at: span });
                return Err(Reported);
            };
            self.n_levels -= kind.n_levels();
            match kind {
                BlockKind::For(names) => {
                    for name in names.into_iter().rev() {
                        self.item(span, ItemKindSyntax::End(name));
                    }
                }
                BlockKind::If(_) => self.item(span, ItemKindSyntax::EndIf),
                BlockKind::With(_) => {}
            }
            if !is_joined {
                return Ok(());
            }
        }
    }
}
