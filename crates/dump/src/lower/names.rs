//! Which words can be names, and what is declared.

use std::borrow::Cow;

use nestegg_ir::{Array, ArrayKind, Dtype, InameSet, InameTag, Parameter, ParameterId, Substitution, SubstitutionId};
use nestegg_span::Span;
use rustc_hash::FxHashSet;

use super::{Entity, Lowering, Rule};
use crate::error::{Mismatch, ReadError};
use crate::syntax::{ArrayKindSyntax, Name};

/// The keywords of C11.
const C_KEYWORDS: [&str; 44] = [
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_Bool",
    "_Complex",
    "_Generic",
    "_Imaginary",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
];
/// The operators of the text form that are words.
const WORD_OPERATORS: [&str; 3] = ["and", "or", "not"];
/// Words that the text form reads as an operation where an argument list follows.
pub(crate) const FUNCTION_WORDS: [&str; 7] = ["sum", "product", "min", "max", "reduce", "simul_reduce", "cast"];

/// Words that cannot be names.
pub(crate) const RESERVED_WORDS: [&[&str]; 2] = [&C_KEYWORDS, &WORD_OPERATORS];

/// Why a word cannot be a name.
pub(crate) fn invalid_name(name: &str) -> Option<&'static str> {
    let mut chars = name.chars();
    match chars.next() {
        None => return Some("it is empty"),
        Some(first) if first.is_ascii_digit() => return Some("it begins with a digit"),
        _ => {}
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Some("names consist of letters, digits and `_`");
    }
    if C_KEYWORDS.contains(&name) {
        return Some("it is a keyword of C");
    }
    WORD_OPERATORS.contains(&name).then_some("it is an operator of the text form")
}

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn check_name(&mut self, name: &Name<'_>) {
        if let Some(reason) = invalid_name(&name.text) {
            let name_text = crate::json::shortened(&name.text);
            self.errors.push(ReadError::InvalidName { name: name_text, reason, at: name.span });
        }
    }

    /// Checks the name of a function or a substitution rule, which must not read as an operation.
    pub(super) fn check_function_name(&mut self, name: &Name<'_>) {
        let is_operation = FUNCTION_WORDS.contains(&&*name.text) || Dtype::from_name(&name.text).is_some();
        if is_operation {
            let reason = "it is an operation of the kernel format";
            self.errors.push(ReadError::InvalidName { name: name.text.to_string(), reason, at: name.span });
        } else {
            self.check_name(name);
        }
    }

    fn declare(&mut self, name: &'k Name<'s>, entity: Entity) {
        if let Some(&(_, first)) = self.names.get(&*name.text) {
            let name_text = name.text.to_string();
            self.errors.push(ReadError::DuplicateName { name: name_text, at: name.span, first });
        } else {
            self.names.insert(&name.text, (entity, name.span));
        }
    }

    /// Declares an iname by the name that isl gives; `at` is its domain.
    pub(super) fn declare_iname(&mut self, name: &'k str, entity: Entity, at: Span) {
        self.check_name(&Name { text: Cow::Borrowed(name), span: at });
        match self.names.get(name) {
            Some(&(Entity::Iname(_), first)) => {
                self.errors.push(ReadError::InameInTwoDomains { name: name.to_owned(), at, first });
            }
            Some(&(_, first)) => self.errors.push(ReadError::DuplicateName { name: name.to_owned(), at, first }),
            None => {
                self.names.insert(name, (entity, at));
            }
        }
    }

    pub(super) fn header(&mut self) {
        let syntax = self.syntax;
        if let Some(name) = &syntax.name {
            self.check_name(name);
            self.kernel.name = name.text.to_string();
        }
        self.spans.kernel = syntax.name.as_ref().map_or(syntax.span, |name| name.span);
        self.kernel.meta = syntax.meta.as_deref().map(Into::into);
    }

    pub(super) fn parameters(&mut self) {
        for (idx, parameter) in self.syntax.parameters.iter().enumerate() {
            let name = &parameter.name;
            self.check_name(name);
            self.declare(name, Entity::Parameter(ParameterId::new(idx)));
            if let Some((dtype, at)) = parameter.dtype
                && !dtype.is_integer()
            {
                let name = name.text.to_string();
                self.errors.push(ReadError::ParameterDtype { name, dtype: dtype.name(), at });
            }
            let dtype = parameter.dtype.map_or(Dtype::Int32, |(dtype, _)| dtype);
            self.kernel.parameters.push(Parameter {
                name: name.text.to_string(),
                dtype,
                estimate: parameter.estimate,
                is_stated: true,
            });
            self.spans.parameters.push(name.span);
        }
    }

    pub(super) fn declare_arrays(&mut self) {
        let syntax = self.syntax;
        for (idx, array) in syntax.arrays.iter().enumerate() {
            self.check_name(&array.name);
            self.declare(&array.name, Entity::Array(nestegg_ir::ArrayId::new(idx)));
            self.ranks.push(array.shape.as_ref().map(Vec::len));
            self.has_dtype.push(array.dtype.is_some());
            self.spans.arrays.push(array.name.span);
            let kind = match array.kind {
                ArrayKindSyntax::Argument(access) => ArrayKind::Argument(access),
                ArrayKindSyntax::Temporary => ArrayKind::Temporary,
                ArrayKindSyntax::Table(_) => ArrayKind::Table([].into()),
            };
            self.kernel.arrays.push(Array {
                name: array.name.text.to_string(),
                dtype: array.dtype.unwrap_or(Dtype::Float64),
                stored: array.stored,
                shape: Vec::new(),
                kind,
            });
        }
    }

    pub(super) fn declare_substitutions(&mut self) {
        let syntax = self.syntax;
        let filler = nestegg_ir::ExprId::new(0);
        for (idx, substitution) in syntax.substitutions.iter().enumerate() {
            let name = &substitution.name;
            self.check_function_name(name);
            self.declare(name, Entity::Substitution(SubstitutionId::new(idx)));
            let mut parameters: Vec<String> = Vec::new();
            let mut seen = FxHashSet::default();
            for formal in &substitution.parameters {
                self.check_name(formal);
                if !seen.insert(&*formal.text) {
                    self.errors.push(ReadError::RepeatedName { name: formal.text.to_string(), at: formal.span });
                }
                parameters.push(formal.text.to_string());
            }
            let name = name.text.to_string();
            self.kernel.substitutions.push(Substitution { name, parameters, expression: filler });
            self.spans.substitutions.push(substitution.name.span);
        }
        self.rules = vec![Rule::default(); syntax.substitutions.len()];
    }

    pub(super) fn tags(&mut self) {
        let syntax = self.syntax;
        let mut seen = InameSet::new();
        for tagged in &syntax.tags {
            let Some(iname) = self.iname(&tagged.name) else { continue };
            if !seen.insert(iname) {
                let name = tagged.name.text.to_string();
                self.errors.push(ReadError::RepeatedName { name, at: tagged.name.span });
            }
            let mut tags: Vec<InameTag> = Vec::new();
            for &(tag, at) in &tagged.tags {
                if tags.contains(&tag) {
                    self.errors.push(ReadError::RepeatedName { name: tag.spelling().to_owned(), at });
                } else {
                    tags.push(tag);
                }
            }
            self.kernel[iname].tags = tags;
        }
    }
}

impl Entity {
    /// What it is, for messages.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Parameter(_) => "a parameter",
            Self::Iname(_) => "an iname",
            Self::Array(_) => "an array",
            Self::Substitution(_) => "a substitution",
        }
    }
}

/// An error about a name that is known, as another thing than is needed.
pub(super) fn wrong_kind(name: &Name<'_>, found: Entity, expected: &str) -> ReadError {
    let mismatch = Mismatch { expected: expected.to_owned(), found: found.describe().to_owned() };
    ReadError::WrongKindOfName { name: name.text.to_string(), mismatch, at: name.span }
}
