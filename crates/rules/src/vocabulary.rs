//! The names that rule files may use, given by the crate that gives them meaning.
//!
//! This crate knows no operator, condition or applier of its own, but for `and`, `or` and `not` between conditions.
//! The caller lists what it implements, each with a sentence of documentation, and every rule file is checked against
//! that list. `Display` prints it as a reference for the writers of rules.

use std::fmt;
use std::ops::RangeInclusive;

use indexmap::IndexMap;
use num_rational::BigRational;

use crate::name::Name;

/// The conjunction, disjunction and negation of conditions. A vocabulary's own conditions have other names.
pub const CONNECTIVES: [&str; 3] = ["and", "or", "not"];

/// All names that rules and strategies may use. Order is kept, for printing.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Heads of pattern lists.
    pub operators: IndexMap<Name, Operator>,
    /// Heads of pattern lists that bind inames, with their documentation: `(sum (?q...) ?x)`.
    pub binders: IndexMap<Name, String>,
    /// Heads of lists that put other children in place of those of a rest variable, with their documentation.
    pub spreads: IndexMap<Name, String>,
    /// Heads of condition lists after `:when`.
    pub conditions: IndexMap<Name, ConditionForm>,
    /// What may follow `:apply`.
    pub appliers: IndexMap<Name, Applier>,
    /// What may follow `:tag`, with its documentation.
    pub tags: IndexMap<Name, String>,
    /// What may follow `:option`.
    pub options: IndexMap<Name, OptionForm>,
    /// For options, their words that need a tag.
    pub word_tags: IndexMap<Name, IndexMap<Name, Name>>,
    /// For options, what they can do nothing without.
    pub option_needs: IndexMap<Name, Need>,
    /// What phases can do nothing without.
    pub phases_need: Option<Need>,
}

/// How many children an operator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many.
    Exactly(usize),
    /// From so many to so many.
    Between(usize, usize),
    /// This many or more, in any order: the operator is n-ary and may have a rest variable among its children.
    AtLeast(usize),
}

/// An operator or function of patterns.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The number of children.
    pub arity: Arity,
    /// One sentence.
    pub doc: String,
}

/// A test that a condition can make.
#[derive(Clone, Debug)]
pub struct ConditionForm {
    /// The arguments, in order.
    pub arguments: Vec<ArgumentKind>,
    /// What any number of further arguments must be; `None` if there may be none.
    pub more: Option<ArgumentKind>,
    /// One sentence.
    pub doc: String,
}

/// What an argument of a condition must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A variable `?x` that the left side binds.
    Variable,
    /// A rest variable `?xs...` that the left side binds.
    Rest,
    /// Either of the two.
    AnyVariable,
    /// A variable of any kind that stands for values or for inames: what counts are the inames of the values.
    Inames,
    /// A variable that stands for inames.
    Bound,
    /// A rest variable, for values or inames.
    Some,
    /// A variable `?x`, an exact number, or the size of inames, `(size ?q...)`.
    Term,
    /// An exact number.
    Number,
    /// One of these words; any word if there are none.
    Word(Vec<Name>),
}

/// A search and application written in Rust, which guided rules switch on.
#[derive(Clone, Debug)]
pub struct Applier {
    /// The limits that a rule may set.
    pub limits: IndexMap<Name, Limit>,
    /// One sentence.
    pub doc: String,
}

/// A limit of an applier.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The value where a rule sets none.
    pub default: u64,
    /// The values that a rule may set.
    pub range: RangeInclusive<u64>,
}

/// An option of strategies.
#[derive(Clone, Debug)]
pub struct OptionForm {
    /// What its value must be.
    pub kind: OptionKind,
    /// The value where no strategy sets one.
    pub default: OptionValue,
    /// One sentence.
    pub doc: String,
}

/// What the value of an option must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// One of these words; any word if there are none.
    Word(Vec<Name>),
    /// One or more of these words, in order; any words if there are none.
    Words(Vec<Name>),
    /// A whole number in this range.
    Integer(RangeInclusive<u64>),
    /// An exact number.
    Number,
}

/// Something that can do nothing unless an option has one of some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The option.
    pub option: Name,
    /// The words of which one will do.
    pub words: Vec<Name>,
    /// Why, as a clause.
    pub why: String,
}

impl Need {
    /// One of these words of this option.
    pub fn one_of(option: &str, words: &[&str], why: &str) -> Self {
        Self { option: option.into(), words: words.iter().copied().map(Name::from).collect(), why: why.into() }
    }

    /// Whether options have one of the words.
    #[must_use]
    pub fn is_met(&self, options: &IndexMap<Name, OptionValue>) -> bool {
        match options.get(&self.option) {
            Some(OptionValue::Words(words)) => words.iter().any(|word| self.words.contains(word)),
            Some(OptionValue::Word(word)) => self.words.contains(word),
            _ => false,
        }
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A word.
    Word(Name),
    /// Words.
    Words(Vec<Name>),
    /// A whole number.
    Integer(u64),
    /// An exact number.
    Number(BigRational),
}

impl Vocabulary {
    /// A vocabulary without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operator or function.
    pub fn operator(mut self, name: &str, arity: Arity, doc: &str) -> Self {
        self.operators.insert(name.into(), Operator { arity, doc: doc.into() });
        self
    }

    /// Adds an operation of reductions.
    pub fn binder(mut self, name: &str, doc: &str) -> Self {
        self.binders.insert(name.into(), doc.into());
        self
    }

    /// Adds a function of rest variables.
    pub fn spread(mut self, name: &str, doc: &str) -> Self {
        self.spreads.insert(name.into(), doc.into());
        self
    }

    /// Adds a condition with a fixed number of arguments.
    pub fn condition(mut self, name: &str, arguments: &[ArgumentKind], doc: &str) -> Self {
        let form = ConditionForm { arguments: arguments.to_vec(), more: None, doc: doc.into() };
        self.conditions.insert(name.into(), form);
        self
    }

    /// Adds a condition with any number of further arguments of the kind `more`.
    pub fn condition_with_more(
        mut self,
        name: &str,
        arguments: &[ArgumentKind],
        more: ArgumentKind,
        doc: &str,
    ) -> Self {
        let form = ConditionForm { arguments: arguments.to_vec(), more: Some(more), doc: doc.into() };
        self.conditions.insert(name.into(), form);
        self
    }

    /// Adds an applier with its limits: name, default, and the values allowed.
    pub fn applier(mut self, name: &str, limits: &[(&str, u64, RangeInclusive<u64>)], doc: &str) -> Self {
        let limits = limits
            .iter()
            .map(|(name, default, range)| (Name::from(*name), Limit { default: *default, range: range.clone() }))
            .collect();
        self.appliers.insert(name.into(), Applier { limits, doc: doc.into() });
        self
    }

    /// Adds a tag.
    pub fn tag(mut self, name: &str, doc: &str) -> Self {
        self.tags.insert(name.into(), doc.into());
        self
    }

    /// Says that these words of an option need a tag.
    pub fn tagged(mut self, option: &str, tag: &str, words: &[&str]) -> Self {
        let tags = self.word_tags.entry(option.into()).or_default();
        tags.extend(words.iter().map(|word| (Name::from(*word), Name::from(tag))));
        self
    }

    /// Says what an option can do nothing without.
    pub fn option_needs(mut self, option: &str, need: Need) -> Self {
        self.option_needs.insert(option.into(), need);
        self
    }

    /// Says what phases can do nothing without.
    pub fn phases_need(mut self, need: Need) -> Self {
        self.phases_need = Some(need);
        self
    }

    /// Adds an option of strategies.
    pub fn option(mut self, name: &str, kind: OptionKind, default: OptionValue, doc: &str) -> Self {
        self.options.insert(name.into(), OptionForm { kind, default, doc: doc.into() });
        self
    }
}

impl ArgumentKind {
    /// One of these words.
    pub fn word(choices: &[&str]) -> Self {
        Self::Word(choices.iter().copied().map(Name::from).collect())
    }
}

impl OptionKind {
    /// One of these words.
    pub fn word(choices: &[&str]) -> Self {
        Self::Word(choices.iter().copied().map(Name::from).collect())
    }

    /// One or more of these words.
    pub fn words(choices: &[&str]) -> Self {
        Self::Words(choices.iter().copied().map(Name::from).collect())
    }
}

impl OptionValue {
    /// A word.
    pub fn word(word: &str) -> Self {
        Self::Word(word.into())
    }

    /// Words.
    pub fn words(words: &[&str]) -> Self {
        Self::Words(words.iter().copied().map(Name::from).collect())
    }
}

/// Prints the arity as a phrase.
impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(0) => f.write_str("no children"),
            Self::Exactly(1) => f.write_str("1 child"),
            Self::Exactly(n) => write!(f, "{n} children"),
            Self::Between(least, most) => write!(f, "{least} to {most} children"),
            Self::AtLeast(1) => f.write_str("at least 1 child"),
            Self::AtLeast(n) => write!(f, "at least {n} children"),
        }
    }
}

/// Prints what an argument is, as a noun.
impl fmt::Display for ArgumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => f.write_str("a variable"),
            Self::Rest => f.write_str("a rest variable"),
            Self::AnyVariable => f.write_str("a variable or rest variable"),
            Self::Inames => f.write_str("a variable for values or inames"),
            Self::Some => f.write_str("a rest variable for values or inames"),
            Self::Bound => f.write_str("a variable for inames"),
            Self::Term => f.write_str("a variable, a number or `(size ?q...)`"),
            Self::Number => f.write_str("a number"),
            Self::Word(choices) => write_choices(f, "a word", "one of", choices),
        }
    }
}

/// Prints what a value is, as a noun.
impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(choices) => write_choices(f, "a word", "one of", choices),
            Self::Words(choices) => write_choices(f, "words", "some of", choices),
            Self::Integer(range) => write!(f, "a whole number from {} to {}", range.start(), range.end()),
            Self::Number => f.write_str("a number"),
        }
    }
}

/// Prints the value as a rule file has it.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => word.fmt(f),
            Self::Words(words) => f.write_str(&words.join(" ")),
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
        }
    }
}

/// Prints the whole vocabulary as a reference: a heading for each kind of name, then a line for each name.
impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Operators:")?;
        for (name, operator) in &self.operators {
            writeln!(f, "  {name} ({}): {}", operator.arity, operator.doc)?;
        }
        writeln!(f, "\nReductions, `(sum (?q...) ?x)`:")?;
        for (name, doc) in &self.binders {
            writeln!(f, "  {name}: {doc}")?;
        }
        writeln!(f, "\nFunctions of rest variables on right sides, besides `(each ?xs... pattern)`:")?;
        for (name, doc) in &self.spreads {
            writeln!(f, "  {name}: {doc}")?;
        }
        writeln!(f, "\nConditions (arguments), besides {}:", CONNECTIVES.join(", "))?;
        for (name, condition) in &self.conditions {
            let mut arguments: Vec<String> = condition.arguments.iter().map(ToString::to_string).collect();
            arguments.extend(condition.more.iter().map(|more| format!("{more}, repeated")));
            writeln!(f, "  {name} ({}): {}", arguments.join("; "), condition.doc)?;
        }
        writeln!(f, "\nAppliers of guided rules:")?;
        for (name, applier) in &self.appliers {
            writeln!(f, "  {name}: {}", applier.doc)?;
            for (name, limit) in &applier.limits {
                let (low, high) = (limit.range.start(), limit.range.end());
                writeln!(f, "    :limit ({name} {})  from {low} to {high}", limit.default)?;
            }
        }
        writeln!(f, "\nTags:")?;
        for (name, doc) in &self.tags {
            writeln!(f, "  {name}: {doc}")?;
        }
        writeln!(f, "\nOptions of strategies:")?;
        for (name, option) in &self.options {
            writeln!(f, "  :option ({name} {})  {}: {}", option.default, option.kind, option.doc)?;
            let mut by_tag: IndexMap<&Name, Vec<&str>> = IndexMap::new();
            for (word, tag) in self.word_tags.get(name).into_iter().flatten() {
                by_tag.entry(tag).or_default().push(word.as_str());
            }
            for (tag, words) in by_tag {
                writeln!(f, "    {tag}: {}", words.join(", "))?;
            }
        }
        Ok(())
    }
}

/// Writes `any` if every word will do, else `some` and the words.
fn write_choices(f: &mut fmt::Formatter<'_>, any: &str, some: &str, choices: &[Name]) -> fmt::Result {
    if choices.is_empty() {
        return f.write_str(any);
    }
    write!(f, "{some} `{}`", choices.join("`, `"))
}
