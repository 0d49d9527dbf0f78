//! What rule files say, checked.

use indexmap::IndexMap;
use nestegg_span::{Source, Span};

use crate::condition::Condition;
use crate::name::Name;
use crate::pattern::Pattern;
use crate::vocabulary::{Need, OptionValue};

/// All rules, sets and strategies of some files, in the order of the files.
#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    /// The files with their header comments.
    pub files: Vec<RuleFile>,
    /// The rules by name. No set has the name of a rule.
    pub rules: IndexMap<Name, Rule>,
    /// The sets of rules by name, those of the files among them.
    pub sets: IndexMap<Name, RuleSet>,
    /// The strategies by name.
    pub strategies: IndexMap<Name, Strategy>,
    /// The values of options that no strategy sets, from the vocabulary.
    pub default_options: IndexMap<Name, OptionValue>,
    /// For options, their words that need a tag, from the vocabulary.
    pub word_tags: IndexMap<Name, IndexMap<Name, Name>>,
    /// For options, what they can do nothing without, from the vocabulary.
    pub option_needs: IndexMap<Name, Need>,
    /// What phases can do nothing without, from the vocabulary.
    pub phases_need: Option<Need>,
}

/// A rule file.
#[derive(Clone, Debug)]
pub struct RuleFile {
    /// Its name and text.
    pub source: Source,
    /// Its header comment; empty if it has none.
    pub doc: String,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its unique name.
    pub name: Name,
    /// The comment above it: its equation, and why it cannot run away.
    pub doc: String,
    /// What it does.
    pub kind: RuleKind,
    /// What must be granted for it to be sound, beyond exact arithmetic.
    pub tags: Vec<Name>,
    /// The place of the whole form.
    pub span: Span,
    /// The file of the form.
    pub source: Source,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Wherever `lhs` matches and `when` holds, `rhs` is an equal form.
    Pattern {
        /// The left side: an operator.
        lhs: Pattern,
        /// The right side; its variables occur in `lhs`.
        rhs: Pattern,
        /// The condition; `None` if there is none.
        when: Option<Condition>,
        /// Whether `lhs` is an equal form wherever `rhs` matches, too.
        is_two_way: bool,
    },
    /// Search and application are code.
    Guided {
        /// The code's name in the vocabulary.
        apply: Name,
        /// All limits of the applier, those that the rule does not set with their defaults.
        limits: IndexMap<Name, u64>,
    },
}

/// A named set of rules. [`RuleBook::rules_of`] gives the rules themselves.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// Its unique name.
    pub name: Name,
    /// The comment above it, or the header of the file whose own set it is.
    pub doc: String,
    /// The rules and sets in it, as written.
    pub members: Vec<Mention>,
    /// The place of the whole form; the empty span at the top of the file whose own set it is.
    pub span: Span,
    /// The file of the form.
    pub source: Source,
}

/// The use of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The name.
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// A strategy as written. [`RuleBook::resolve`] adds what it extends.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Its unique name.
    pub name: Name,
    /// The comment above it.
    pub doc: String,
    /// The strategy whose phases come first.
    pub extends: Option<Mention>,
    /// The options it sets itself.
    pub options: IndexMap<Name, OptionValue>,
    /// Where it sets them.
    pub option_spans: IndexMap<Name, Span>,
    /// The inherited phases that it leaves out.
    pub without: Vec<Mention>,
    /// The rules and sets that it takes out of all its phases, inherited ones included.
    pub off: Vec<Mention>,
    /// The phases it adds.
    pub phases: Vec<Phase>,
    /// The place of the whole form.
    pub span: Span,
    /// The file of the form.
    pub source: Source,
}

/// A phase of a strategy: some rules under limits.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, unique in the strategy.
    pub name: Name,
    /// The rules and sets that it runs.
    pub rules: Vec<Mention>,
    /// The rules and sets that it leaves out of those.
    pub off: Vec<Mention>,
    /// The most passes over the e-graph.
    pub passes: u32,
    /// The most e-nodes.
    pub nodes: u32,
    /// The place of the phase.
    pub span: Span,
}

impl RuleSet {
    /// Whether this is the set of all rules of a file, which no form defines.
    pub fn is_file(&self) -> bool {
        self.span == Span::default()
    }
}
