//! The state of the text reader, and what all statements need.

use std::borrow::Cow;

use nestegg_ir::{Dtype, Stored};
use nestegg_span::{Source, Span};

use super::lexer::{Token, tokens};
use super::names::{Loose, Nop};
use super::statements::Block;
use crate::error::{Errors, Mismatch, ReadError};
use crate::json::{self, NumberError, shortened};
use crate::syntax::{KernelSyntax, Name};

/// How many brackets that are never closed are made good, each at the cost of scanning the rest of the text.
const MAX_REPAIRS: usize = 8;

/// How many brackets a token opens.
fn nesting(token: Token) -> isize {
    match token {
        Token::OpenParen | Token::OpenBracket | Token::OpenBrace => 1,
        Token::CloseParen | Token::CloseBracket | Token::CloseBrace => -1,
        _ => 0,
    }
}

/// Something was reported; the statement is given up.
#[derive(Debug)]
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

pub(super) struct Parser<'s, 'e> {
    pub text: &'s str,
    pub errors: &'e mut Errors,
    pub kernel: KernelSyntax<'s>,
    pub is_linearized: bool,
    /// The blocks that are open, outermost first.
    pub blocks: Vec<Block<'s>>,
    /// How many loops and conditions they are.
    pub n_levels: usize,
    /// The instructions without an id of their own: positions, and what the id begins with, if that is said.
    pub nameless: Vec<(usize, Option<Name<'s>>)>,
    /// Dependences that name no single instruction for certain.
    pub loose: Vec<Loose<'s>>,
    /// Instructions that do nothing.
    pub nops: Vec<Nop<'s>>,
    /// Temporaries that an assignment declares without a type.
    pub untyped: Vec<Name<'s>>,
    /// Positions of runs in the linearization, and the instructions they run.
    pub runs: Vec<(usize, usize)>,
    /// The ids of the `order` statement.
    pub order: Option<Vec<Name<'s>>>,
    tokens: Vec<(Token, Span)>,
    at: usize,
    /// How often the rest of the text was taken out of a bracket that is never closed.
    n_repairs: usize,
}

/// Reads a kernel; what is wrong goes to `errors`.
pub(crate) fn read<'s>(source: &'s Source, errors: &mut Errors) -> Option<KernelSyntax<'s>> {
    let mut parser = Parser {
        text: &source.text,
        errors,
        kernel: KernelSyntax { span: Span::point(0), ..KernelSyntax::default() },
        is_linearized: false,
        blocks: Vec::new(),
        n_levels: 0,
        nameless: Vec::new(),
        loose: Vec::new(),
        nops: Vec::new(),
        untyped: Vec::new(),
        runs: Vec::new(),
        order: None,
        tokens: tokens(&source.text, 0),
        at: 0,
        n_repairs: 0,
    };
    parser.header().ok()?;
    while parser.peek() != Token::End {
        if parser.skip(Token::Newline).is_some() {
            continue;
        }
        let start = parser.at;
        let defines_names = parser.is_declaration();
        if parser.statement().and_then(|()| parser.end_of_statement()).is_err() {
            parser.recover(start);
            parser.kernel.has_lost_names |= defines_names;
            parser.kernel.has_lost_ids |= !defines_names;
        }
    }
    parser.finish();
    Some(parser.kernel)
}

impl<'s> Parser<'s, '_> {
    fn header(&mut self) -> Parsed<()> {
        while self.skip(Token::Newline).is_some() {}
        if !self.is_word("kernel") {
            let help = "a text begins with `kernel NAME`; a dump in JSON begins with `{`";
            return Err(self.expected_with("`kernel`", Some(help)));
        }
        self.bump();
        self.kernel.name = Some(self.word("the kernel's name")?);
        if self.is_word("linearized") {
            self.bump();
            self.is_linearized = true;
            self.kernel.linearization = Some(Vec::new());
        }
        if self.end_of_statement().is_err() {
            self.recover(self.at);
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Token {
        self.peek_nth(0)
    }

    pub(super) fn peek_nth(&self, n: usize) -> Token {
        self.tokens.get(self.at + n).map_or(Token::End, |&(token, _)| token)
    }

    pub(super) fn span(&self) -> Span {
        self.span_nth(0)
    }

    pub(super) fn span_nth(&self, n: usize) -> Span {
        let end = Span::from_range(self.text.len()..self.text.len());
        self.tokens.get(self.at + n).map_or(end, |&(_, span)| span)
    }

    /// The place of the token before.
    pub(super) fn last_span(&self) -> Span {
        self.at.checked_sub(1).map_or(Span::point(0), |at| self.tokens[at].1)
    }

    pub(super) fn slice(&self, span: Span) -> &'s str {
        &self.text[span.range()]
    }

    pub(super) fn bump(&mut self) -> Span {
        let span = self.span();
        if self.at < self.tokens.len() {
            self.at += 1;
        }
        span
    }

    /// Skips the tokens that begin before `offset`.
    pub(super) fn skip_to(&mut self, offset: usize) {
        while self.peek() != Token::End && (self.span().start as usize) < offset {
            self.bump();
        }
    }

    pub(super) fn skip(&mut self, token: Token) -> Option<Span> {
        (self.peek() == token).then(|| self.bump())
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.peek() == Token::Word && self.slice(self.span()) == word
    }

    pub(super) fn expect(&mut self, token: Token, what: &str) -> Parsed<Span> {
        self.skip(token).ok_or_else(|| self.expected(what))
    }

    /// Reports that something else is needed here.
    pub(super) fn expected(&mut self, what: &str) -> Reported {
        self.expected_with(what, None)
    }

    pub(super) fn expected_with(&mut self, what: &str, help: Option<&str>) -> Reported {
        let at = self.span();
        let found = match self.peek() {
            Token::End => "the end of the text".to_owned(),
            Token::Newline => "the end of the line".to_owned(),
            _ => format!("`{}`", shortened(self.slice(at))),
        };
        let mismatch = Mismatch { expected: what.to_owned(), found };
        self.errors.push(ReadError::TextSyntax { mismatch, at, help: help.map(str::to_owned) });
        Reported
    }

    pub(super) fn end_of_statement(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Newline | Token::End => {
                self.bump();
                Ok(())
            }
            _ => Err(self.expected("the end of the statement")),
        }
    }

    /// Goes to the end of the statement that begins at `start`. Where a bracket that is never closed has joined the
    /// rest of the text to it, that is the end of the line.
    fn recover(&mut self, start: usize) {
        let failed = self.at.max(start);
        self.at = failed;
        let mut depth = 0_isize;
        for (token, _) in &self.tokens[start.min(failed)..failed] {
            depth += nesting(*token);
        }
        while self.peek() != Token::End && self.peek() != Token::Newline {
            depth += nesting(self.peek());
            self.at += 1;
        }
        if self.peek() == Token::End && depth > 0 && self.n_repairs < MAX_REPAIRS {
            self.n_repairs += 1;
            let statement = self.tokens[start].1.start as usize;
            let failed = self.tokens.get(failed).map_or(self.text.len(), |(_, span)| span.start as usize);
            // The line before the one on which no sense could be made of the bracket may be the one without its end.
            let line_end = self.text[statement..failed].rfind('\n').map(|at| statement + at);
            let line_end = line_end.or_else(|| self.text[failed..].find('\n').map(|at| failed + at));
            self.tokens.truncate(start);
            self.at = self.tokens.len();
            if let Some(line_end) = line_end {
                self.tokens.extend(tokens(self.text, line_end));
            }
        }
    }

    /// Whether the brackets from here on are open at the end of the text.
    pub(super) fn is_never_closed(&self) -> bool {
        let mut depth = 0_isize;
        for (token, _) in &self.tokens[self.at..] {
            if *token == Token::Newline {
                return false;
            }
            depth += nesting(*token);
        }
        depth > 0
    }

    pub(super) fn word(&mut self, what: &str) -> Parsed<Name<'s>> {
        let span = self.expect(Token::Word, what)?;
        Ok(Name { text: Cow::Borrowed(self.slice(span)), span })
    }

    /// A word, or a string for what is none.
    pub(super) fn id(&mut self, what: &str) -> Parsed<Name<'s>> {
        match self.peek() {
            Token::String => self.string(),
            Token::Number => {
                let span = self.bump();
                Ok(Name { text: Cow::Borrowed(self.slice(span)), span })
            }
            _ => self.word(what),
        }
    }

    /// A JSON string.
    pub(super) fn string(&mut self) -> Parsed<Name<'s>> {
        let span = self.expect(Token::String, "a string")?;
        match json::string_at(self.text, span.start as usize) {
            Ok((text, _)) => Ok(Name { text, span }),
            Err(error) => {
                self.errors.push(error);
                Err(Reported)
            }
        }
    }

    /// The type of an array's elements: the dtype to compute in, and the type in memory if it is another.
    pub(super) fn element_type(&mut self) -> Parsed<(Dtype, Option<Stored>)> {
        let stored = if self.peek() == Token::Word { Stored::from_name(self.slice(self.span())) } else { None };
        match stored {
            Some(stored) => {
                self.bump();
                Ok((stored.dtype(), Some(stored)))
            }
            None => Ok((self.dtype()?.0, None)),
        }
    }

    pub(super) fn dtype(&mut self) -> Parsed<(Dtype, Span)> {
        let word = self.word("a dtype")?;
        let dtype = Dtype::from_name(&word.text);
        dtype.map(|dtype| (dtype, word.span)).ok_or_else(|| {
            self.errors.push(ReadError::UnknownDtype { word: shortened(&word.text), at: word.span });
            Reported
        })
    }

    /// A number, negative if `is_negative` says that a minus stands before it.
    pub(super) fn number(&mut self, span: Span, is_negative: bool) -> Parsed<nestegg_ir::Number> {
        let digits = self.slice(span);
        let number = if is_negative { json::number(&format!("-{digits}")) } else { json::number(digits) };
        number.map_err(|error| {
            let text = shortened(digits);
            self.errors.push(match error {
                NumberError::TooLarge => ReadError::IntegerTooLarge { text, at: span },
                NumberError::NonFinite => ReadError::NonFinite { text, at: span },
            });
            Reported
        })
    }

    /// Words between commas, at least one.
    pub(super) fn words(&mut self, what: &str) -> Parsed<Vec<Name<'s>>> {
        let mut res = vec![self.word(what)?];
        while self.skip(Token::Comma).is_some() {
            res.push(self.word(what)?);
        }
        Ok(res)
    }
}
