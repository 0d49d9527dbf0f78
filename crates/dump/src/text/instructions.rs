//! Instructions and their options.

use std::borrow::Cow;

use nestegg_ir::linearization::MAX_NESTING;
use nestegg_span::Span;

use super::lexer::Token;
use super::names::{Loose, Nop};
use super::parser::{Parsed, Parser, Reported};
use super::statements::{Block, BlockKind};
use crate::error::{Mismatch, ReadError};
use crate::json::shortened;
use crate::syntax::{
    ArrayKindSyntax, ArraySyntax, ConditionSyntax, InstructionKindSyntax, InstructionSyntax, ItemKindSyntax,
    ItemSyntax, Name, NodeId, NodeKind,
};

/// The options of an instruction, or of all in a `with` block.
#[derive(Clone, Default)]
pub(super) struct Options<'s> {
    id: Option<Name<'s>>,
    id_prefix: Option<Name<'s>>,
    depends_on: Option<Vec<Name<'s>>>,
    within: Option<Vec<Name<'s>>>,
    predicates: Option<Vec<ConditionSyntax>>,
}

impl<'s> Parser<'s, '_> {
    /// Reads an assignment, a call or the definition of a substitution rule.
    pub(super) fn instruction(&mut self) -> Parsed<()> {
        let start = self.span();
        let mut left = vec![self.left()?];
        if self.peek() == Token::Define && left.len() == 1 {
            return self.substitution(left[0]);
        }
        let mut is_list = false;
        while self.skip(Token::Comma).is_some() {
            is_list = true;
            if self.peek() == Token::Assign {
                break;
            }
            left.push(self.left()?);
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

    /// What is assigned to; `<dtype>` before it declares a temporary, and `<>` one whose type follows from its values.
    fn left(&mut self) -> Parsed<NodeId> {
        if self.skip(Token::Less).is_none() {
            return self.expression();
        }
        let element = if self.peek() == Token::Greater { None } else { Some(self.element_type()?) };
        let (dtype, stored) = element.map_or((None, None), |(dtype, stored)| (Some(dtype), stored));
        self.expect(Token::Greater, "`>`")?;
        let node = self.expression()?;
        let NodeKind::Name(text) = &self.kernel.nodes[node].kind else {
            let mismatch =
                Mismatch { expected: "a scalar after `<…>`".to_owned(), found: "another expression".to_owned() };
            let help = Some("declare arrays with their sizes: `temp t : float64[4]`".to_owned());
            self.errors.push(ReadError::TextSyntax { mismatch, at: self.kernel.nodes.span(node), help });
            return Err(Reported);
        };
        let name = Name { text: text.clone(), span: self.kernel.nodes.span(node) };
        if dtype.is_none() {
            self.untyped.push(name.clone());
        }
        let kind = ArrayKindSyntax::Temporary;
        self.kernel.arrays.push(ArraySyntax { name, dtype, stored, shape: Some(Vec::new()), kind });
        Ok(node)
    }

    /// Reads `... nop {options}`: what depends on it depends on what it depends on. Barriers are the same: nothing runs side by side here.
    pub(super) fn no_operation(&mut self) -> Parsed<()> {
        let start = self.bump();
        if !["nop", "gbarrier", "lbarrier"].iter().any(|word| self.is_word(word)) {
            return Err(self.expected("`nop`, `gbarrier` or `lbarrier`"));
        }
        self.bump();
        let span = start.to(self.last_span());
        let options = if self.peek() == Token::OpenBrace { self.options()? } else { Options::default() };
        let around = self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::With(options) => options.depends_on.as_ref(),
            _ => None,
        });
        let depends_on = around.chain(&options.depends_on).flatten().cloned().collect();
        let id = options.id.unwrap_or(Name { text: Cow::Borrowed(""), span });
        self.nops.push(Nop { id, depends_on });
        Ok(())
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
        let (mut depends_on, mut id_prefix) = (Vec::new(), None);
        // Deeper nesting was reported, and is not followed.
        let blocks = if self.n_levels <= MAX_NESTING { &*self.blocks } else { &[] };
        for Block { kind, .. } in blocks {
            match kind {
                BlockKind::For(names) => around.extend(names.iter().cloned()),
                BlockKind::If(condition) => conditions.push(*condition),
                BlockKind::With(with) => {
                    depends_on.extend(with.depends_on.iter().flatten().cloned());
                    around.extend(with.within.iter().flatten().cloned());
                    conditions.extend(with.predicates.iter().flatten().copied());
                    id_prefix = with.id_prefix.clone().or(id_prefix);
                }
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
        let prefix = options.id_prefix.or(id_prefix);
        let id = options.id.unwrap_or_else(|| {
            self.nameless.push((insn_idx, prefix));
            Name { text: Cow::Borrowed(""), span }
        });
        self.loose.extend(depends_on.into_iter().map(|name| Loose { insn_idx, name }));
        let (loose, depends_on): (Vec<_>, Vec<_>) =
            options.depends_on.unwrap_or_default().into_iter().partition(|name| self.is_pattern(name));
        self.loose.extend(loose.into_iter().map(|name| Loose { insn_idx, name }));
        if let Some(items) = &mut self.kernel.linearization {
            self.runs.push((items.len(), insn_idx));
            items.push(ItemSyntax { span: id.span, kind: ItemKindSyntax::Run(id.clone()) });
        }
        self.kernel.instructions.push(InstructionSyntax {
            id,
            kind,
            within: options.within.unwrap_or(around),
            depends_on,
            predicates,
        });
        Ok(())
    }

    /// Reads `{id=…, dep=…:…, if=…, inames=…:…}`.
    pub(super) fn options(&mut self) -> Parsed<Options<'s>> {
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
                "id_prefix" => res.id_prefix = Some(self.word("the beginning of an id")?),
                "dep" => res.depends_on = Some(self.dependences()?),
                // Instructions that touch the same data keep their order here, and nothing runs beside anything.
                "nosync" | "nosync_query" | "mem_kind" => {
                    while !matches!(self.peek(), Token::Comma | Token::CloseBrace | Token::Newline | Token::End) {
                        self.bump();
                    }
                }
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

    /// Reads ids and patterns of ids. To loopy, a leading `*` means that it must add no dependences of its own; nestegg never does.
    fn dependences(&mut self) -> Parsed<Vec<Name<'s>>> {
        self.skip(Token::Star);
        if matches!(self.peek(), Token::Comma | Token::CloseBrace) {
            return Ok(Vec::new());
        }
        self.between_colons(Self::pattern)
    }

    /// An id, or a pattern of ids: words and `*` with nothing between them.
    fn pattern(&mut self) -> Parsed<Name<'s>> {
        let start = self.span();
        if self.peek() == Token::String {
            return self.id("an instruction id");
        }
        let mut end = None;
        while matches!(self.peek(), Token::Word | Token::Number | Token::Star | Token::StarStar)
            && end.is_none_or(|end: Span| end.end == self.span().start)
        {
            end = Some(self.bump());
        }
        let span = start.to(end.ok_or_else(|| self.expected("an instruction id"))?);
        Ok(Name { text: Cow::Borrowed(self.slice(span)), span })
    }

    /// Whether a name was written as a pattern, without quotes.
    fn is_pattern(&self, name: &Name<'_>) -> bool {
        name.text.contains('*') && !self.slice(name.span).starts_with('"')
    }

    fn between_colons<T>(&mut self, mut read: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut res = vec![read(self)?];
        while self.skip(Token::Colon).is_some() {
            res.push(read(self)?);
        }
        Ok(res)
    }
}
