//! Rules and strategies: reads rule files and checks them.
//!
//! A rule file is a sequence of forms in parentheses, each documented by the comment above it. Pattern rules say which
//! expressions are equal, guided rules switch on searches that are code, rule sets name several rules, and strategies
//! run sets in phases under limits. `rules/README.md` is the reference of the language.
//!
//! The main type is the [`RuleBook`]: the contents of a list of files, with every name resolved. It knows nothing of
//! kernels or e-graphs. The code that gives operators, conditions, appliers, tags and options their meaning lists them
//! in a [`Vocabulary`]; a book is checked against it when read, so its users need no error paths.
//!
//! # Input
//! Any text, under any name; a file's name without folders and extensions becomes the set of all its rules.
//! # Output
//! A [`RuleBook`], or [`RuleErrors`]: every error in all files, each with its place and the way out.
//! # Method
//! Text becomes lists (at most [`MAX_DEPTH`] deep), lists become forms, and names are resolved. No recursion.
//! # Complexity
//! Linear in the text; strategies are composed in time linear in their inherited phases and rules.
//! # Not done
//! Nothing is matched or rewritten here, and whether a rule is *sound* is for its property test to show.
//!
//! ```
//! use nestegg_rules::{ArgumentKind, Arity, RuleBook, RuleKind, Vocabulary};
//! use nestegg_span::Source;
//!
//! let vocabulary = Vocabulary::new()
//!     .operator("/", Arity::Exactly(2), "Quotient.")
//!     .condition("nonzero", &[ArgumentKind::Variable], "The value is never zero.");
//! let file = Source::new(
//!     "rules/quotients.rules",
//!     "; Quotients.
//!
//!      ; x / x == 1 only where x cannot be zero.
//!      (rule div-self (/ ?x ?x) 1 :when (nonzero ?x))
//!
//!      ; Quotients only.
//!      (strategy quotients (phase only :rules (quotients) :passes 2 :nodes 1000))",
//! );
//! let book = RuleBook::parse(&[file], &vocabulary)?;
//! let strategy = book.resolve("quotients")?;
//! let rule = strategy.phases[0].rules[0];
//! assert_eq!(rule.doc, "x / x == 1 only where x cannot be zero.");
//! let RuleKind::Pattern { lhs, rhs, when: Some(when), .. } = &rule.kind else { panic!() };
//! assert_eq!(format!("{lhs} == {rhs} where {when}"), "(/ ?x ?x) == 1 where (nonzero ?x)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod comments;
mod condition;
mod error;
mod form;
mod lawful;
mod link;
mod literal;
mod name;
mod pattern;
mod print;
mod read;
mod read_condition;
mod read_pattern;
mod read_rule;
mod read_strategy;
mod report;
mod resolve;
mod sexpr;
mod suggest;
mod vocabulary;

pub use book::{Mention, Phase, Rule, RuleBook, RuleFile, RuleKind, RuleSet, Strategy};
pub use condition::{Argument, Condition, ConditionId, ConditionNode, Test};
pub use error::RuleError;
pub use lawful::Grant;
pub use name::Name;
pub use pattern::{InameVariable, Pattern, PatternId, PatternNode};
pub use read_strategy::{MAX_NODES, MAX_PASSES};
pub use report::{LocatedError, MAX_ERRORS, RuleErrors};
pub use resolve::{ResolvedPhase, ResolvedStrategy};
pub use sexpr::{MAX_ATOM_BYTES, MAX_DEPTH};
pub use vocabulary::{
    Applier, ArgumentKind, Arity, CONNECTIVES, ConditionForm, Limit, Need, Operator, OptionForm, OptionKind,
    OptionValue, Vocabulary,
};
