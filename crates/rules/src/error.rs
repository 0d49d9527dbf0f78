//! Everything that can be wrong with rule files.
//!
//! All problems of all files are collected and reported together, each with a stable code, a label at its place and
//! the way out. The codes are the snake-case names of the variants, under `rules::`.

use miette::Diagnostic;
use nestegg_span::Span;
use thiserror::Error;

use crate::name::Name;

/// A single problem in a rule file.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum RuleError {
    /// A list without its closing parenthesis.
    #[error("this list is not closed")]
    #[diagnostic(code(rules::unclosed_list), help("add the missing `)`"))]
    UnclosedList {
        /// The opening parenthesis.
        #[label("opened here")]
        at: Span,
        /// Where the next form begins; `None` if the text ends.
        #[label("still open here")]
        next: Option<Span>,
    },

    /// A closing parenthesis too many.
    #[error("this parenthesis closes nothing")]
    #[diagnostic(code(rules::unopened_list), help("remove it, or open a list before it"))]
    UnopenedList {
        /// The parenthesis.
        #[label("no list is open here")]
        at: Span,
    },

    /// Lists nest too deep.
    #[error("lists nest deeper than {max}")]
    #[diagnostic(code(rules::too_deep), help("split the rule into several smaller ones"))]
    TooDeep {
        /// The first list that is too deep.
        #[label("this list is too deep")]
        at: Span,
        /// The greatest depth allowed.
        max: usize,
    },

    /// A word or number of absurd length.
    #[error("a word or number is longer than {max} bytes")]
    #[diagnostic(code(rules::long_atom), help("is a space or a parenthesis missing?"))]
    LongAtom {
        /// The atom.
        #[label("too long")]
        at: Span,
        /// The greatest length allowed.
        max: usize,
    },

    /// Something that begins like a number and is none.
    #[error("`{text}` is not a number")]
    #[diagnostic(
        code(rules::bad_number),
        help("write an integer `-2`, a decimal fraction `0.5` or a ratio `1/3`, without exponent")
    )]
    BadNumber {
        /// The text.
        text: String,
        /// Where it stands.
        #[label("not a number")]
        at: Span,
    },

    /// A question mark without a name.
    #[error("`{text}` is not a variable")]
    #[diagnostic(
        code(rules::bad_variable),
        help(
            "write `?x` for one expression, `?xs...` for the rest of a list; a name is a letter, then letters, digits, `-`, `_`"
        )
    )]
    BadVariable {
        /// The text.
        text: String,
        /// Where it stands.
        #[label("not a variable")]
        at: Span,
    },

    /// Text between the forms.
    #[error("a rule file holds forms in parentheses only")]
    #[diagnostic(code(rules::outside_form), help("begin comments with `;`"))]
    OutsideForm {
        /// The text.
        #[label("outside of every form")]
        at: Span,
    },

    /// A top-level list that is no form.
    #[error("a form cannot begin with {found}")]
    #[diagnostic(code(rules::unknown_form))]
    UnknownForm {
        /// What it begins with, as a phrase.
        found: String,
        /// Where that stands.
        #[label("not a form")]
        at: Span,
        /// A near miss, or the forms.
        #[help]
        help: Option<String>,
    },

    /// A name with characters that names do not have.
    #[error("`{name}` cannot name a {what}")]
    #[diagnostic(code(rules::bad_name), help("a name is a letter, then letters, digits, `-` and `_`"))]
    BadName {
        /// The kind of thing named.
        what: &'static str,
        /// The text.
        name: Name,
        /// Where it stands.
        #[label("not a name")]
        at: Span,
    },

    /// A form without a comment above it.
    #[error("{what} `{name}` is not documented")]
    #[diagnostic(
        code(rules::missing_doc),
        help(
            "write a comment directly above it, without an empty line between; a rule's comment is its equation: `;; x * 1 == x.`"
        )
    )]
    MissingDoc {
        /// The kind of form.
        what: &'static str,
        /// Its name.
        name: Name,
        /// The name's place.
        #[label("no comment above")]
        at: Span,
    },

    /// A form that lacks something.
    #[error("this `{form}` has no {part}")]
    #[diagnostic(code(rules::missing_part), help("its shape is `{shape}`"))]
    MissingPart {
        /// The head of the form.
        form: &'static str,
        /// What is missing.
        part: &'static str,
        /// The shape of the form.
        shape: &'static str,
        /// The form.
        #[label("in this form")]
        at: Span,
    },

    /// A form with something too many.
    #[error("{found} has no place in this `{form}`")]
    #[diagnostic(code(rules::extra_part), help("its shape is `{shape}`"))]
    ExtraPart {
        /// The head of the form.
        form: &'static str,
        /// What is too many, as a phrase.
        found: String,
        /// The shape of the form.
        shape: &'static str,
        /// Where it stands.
        #[label("not expected")]
        at: Span,
    },

    /// One thing stands where another should.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(rules::unexpected))]
    Unexpected {
        /// What should stand here, as a phrase.
        expected: String,
        /// What does, as a phrase.
        found: String,
        /// The place.
        #[label("expected {expected}")]
        at: Span,
    },

    /// A key that the form does not have.
    #[error("a `{form}` has no key `:{key}`")]
    #[diagnostic(code(rules::unknown_key))]
    UnknownKey {
        /// The head of the form.
        form: &'static str,
        /// The key without its colon.
        key: Name,
        /// The key.
        #[label("not known here")]
        at: Span,
        /// A near miss, or the keys known.
        #[help]
        help: Option<String>,
    },

    /// A key without a value.
    #[error("`:{key}` has no value")]
    #[diagnostic(code(rules::missing_value), help("a key is followed by one value: {value}"))]
    MissingValue {
        /// The key without its colon.
        key: Name,
        /// An example of key and value.
        value: &'static str,
        /// The key.
        #[label("a value is missing after this")]
        at: Span,
    },

    /// A key, tag, limit, option or name that is given twice in one place.
    #[error("`{name}` is given twice")]
    #[diagnostic(code(rules::repeated), help("keep one of them"))]
    Repeated {
        /// What is repeated.
        name: String,
        /// The second place.
        #[label("given again here")]
        at: Span,
        /// The first place.
        #[label("first given here")]
        first: Span,
    },

    /// A list of names that is empty.
    #[error("this list of {what} is empty")]
    #[diagnostic(code(rules::empty_list), help("name at least one, or leave the whole form out"))]
    EmptyList {
        /// What should be in it.
        what: &'static str,
        /// The list.
        #[label("nothing in here")]
        at: Span,
    },

    /// A number that is not in its range, or not whole.
    #[error("{what} is a whole number from {min} to {max}, not `{value}`")]
    #[diagnostic(code(rules::number_out_of_range), help("write a number from {min} to {max}"))]
    NumberOutOfRange {
        /// What the number is for.
        what: String,
        /// The number.
        value: String,
        /// The least one allowed.
        min: u64,
        /// The greatest one allowed.
        max: u64,
        /// Where it stands.
        #[label("out of range")]
        at: Span,
    },

    /// Two definitions of one name.
    #[error("{what} `{name}` is defined already")]
    #[diagnostic(code(rules::duplicate_name))]
    DuplicateName {
        /// What the later definition defines.
        what: &'static str,
        /// The name.
        name: Name,
        /// The later definition's place.
        #[label("defined again here")]
        at: Span,
        /// The earlier definition's place, if it is in the same file.
        #[label("first defined here")]
        first: Option<Span>,
        /// What the earlier definition defines, where, and what to do.
        #[help]
        help: Option<String>,
    },

    /// The head of a pattern that is no operator.
    #[error("unknown operator `{name}`")]
    #[diagnostic(code(rules::unknown_operator))]
    UnknownOperator {
        /// The head.
        name: Name,
        /// Where it stands.
        #[label("not an operator")]
        at: Span,
        /// A near miss, or the operators.
        #[help]
        help: Option<String>,
    },

    /// An operator with too many or too few children.
    #[error("`{operator}` takes {expected}, not {n_children}")]
    #[diagnostic(code(rules::wrong_arity))]
    WrongArity {
        /// The operator.
        operator: Name,
        /// How many it takes, as a phrase.
        expected: String,
        /// How many it has here.
        n_children: usize,
        /// The list.
        #[label("{n_children} here")]
        at: Span,
        /// What to do about it.
        #[help]
        help: Option<String>,
    },

    /// A word where a pattern stands.
    #[error("`{word}` is neither a variable nor a number")]
    #[diagnostic(
        code(rules::bare_word),
        help("write `?{word}` for a variable, or `({word} …)` for an operator or function")
    )]
    BareWord {
        /// The word.
        word: Name,
        /// Where it stands.
        #[label("a word alone is not a pattern")]
        at: Span,
    },

    /// The right side or a condition uses what the left side does not bind.
    #[error("`{variable}` is not bound by the left side of `{rule}`")]
    #[diagnostic(
        code(rules::unbound_variable),
        help("every variable on the right side and in the condition must also occur on the left side")
    )]
    UnboundVariable {
        /// The rule.
        rule: Name,
        /// The variable, as written.
        variable: String,
        /// Where it is used.
        #[label("used here")]
        at: Span,
        /// The left side.
        #[label("variables are bound by this pattern")]
        lhs: Span,
    },

    /// A left side without an operator, which would match everything or only a number.
    #[error("the left side of `{rule}` is {found}, not an operator with its children")]
    #[diagnostic(
        code(rules::bare_left_side),
        help("a rule applies where its left side's operator stands; a bare variable would match every expression")
    )]
    BareLeftSide {
        /// The rule.
        rule: Name,
        /// What the left side is, as a phrase.
        found: String,
        /// The left side.
        #[label("begin it with an operator")]
        at: Span,
    },

    /// A rule whose two sides are the same.
    #[error("both sides of `{rule}` are the same")]
    #[diagnostic(code(rules::same_sides), help("such a rule never adds a form; remove it"))]
    SameSides {
        /// The rule.
        rule: Name,
        /// The right side.
        #[label("equal to the left side")]
        at: Span,
    },

    /// A rest variable that is not a child of an n-ary operator.
    #[error("`?{variable}...` does not stand in an n-ary operator")]
    #[diagnostic(
        code(rules::rest_outside_nary),
        help("a rest variable stands for the remaining children of an operator that takes any number of them")
    )]
    RestOutsideNary {
        /// The variable's name.
        variable: Name,
        /// Where it stands.
        #[label("no place for a rest variable")]
        at: Span,
    },

    /// Two rest variables in one list of a left side.
    #[error("a list on the left side has at most one rest variable")]
    #[diagnostic(
        code(rules::second_rest),
        help(
            "with two of them there is no telling which children belong to which: say so of one, as `(?xs... test …)`"
        )
    )]
    SecondRest {
        /// The second rest variable.
        #[label("a second one")]
        at: Span,
        /// The first one.
        #[label("the first one")]
        first: Span,
    },

    /// A test of children that asks for what is bound after it.
    #[error("`?{variable}` is not known yet where this test is asked")]
    #[diagnostic(
        code(rules::asked_too_early),
        help(
            "plain children are matched first, from left to right, then those with tests, then the rest: reorder them"
        )
    )]
    AskedTooEarly {
        /// The variable's name.
        variable: Name,
        /// The rest variable with its test.
        #[label("asked here")]
        at: Span,
    },

    /// A rest variable that is bound as children of one operator and used as children of another.
    #[error("`?{variable}...` holds children of `{bound_in}`, not of `{used_in}`")]
    #[diagnostic(
        code(rules::rest_in_other_operator),
        help("terms with coefficients, factors with exponents and plain children are not interchangeable")
    )]
    RestInOtherOperator {
        /// The variable's name.
        variable: Name,
        /// The operator where it was bound.
        bound_in: Name,
        /// The operator where it is used.
        used_in: Name,
        /// Where it is used.
        #[label("used here")]
        at: Span,
        /// Where it is bound.
        #[label("bound here")]
        first: Span,
    },

    /// One name for a variable and for a rest variable.
    #[error("`{name}` is a variable and a rest variable")]
    #[diagnostic(code(rules::mixed_variable), help("write `?{name}` or `?{name}...` everywhere, or rename one"))]
    MixedVariable {
        /// The name.
        name: Name,
        /// The later place.
        #[label("different here")]
        at: Span,
        /// The first place.
        #[label("first used here")]
        first: Span,
    },

    /// The head of a condition that is not known.
    #[error("unknown condition `{name}`")]
    #[diagnostic(code(rules::unknown_condition))]
    UnknownCondition {
        /// The head.
        name: Name,
        /// Where it stands.
        #[label("not a condition")]
        at: Span,
        /// A near miss, or the conditions.
        #[help]
        help: Option<String>,
    },

    /// A condition with too many or too few arguments.
    #[error("`{condition}` takes {expected}, not {n_arguments}")]
    #[diagnostic(code(rules::wrong_condition_arity))]
    WrongConditionArity {
        /// The condition.
        condition: Name,
        /// How many it takes, as a phrase.
        expected: String,
        /// How many it has here.
        n_arguments: usize,
        /// The list.
        #[label("{n_arguments} here")]
        at: Span,
    },

    /// An argument of the wrong kind.
    #[error("`{condition}` takes {expected} here, not {found}")]
    #[diagnostic(code(rules::wrong_argument))]
    WrongArgument {
        /// The condition.
        condition: Name,
        /// What it takes, as a phrase.
        expected: String,
        /// What it was given, as a phrase.
        found: String,
        /// The argument.
        #[label("expected {expected}")]
        at: Span,
    },

    /// An applier that is not known.
    #[error("unknown applier `{name}`")]
    #[diagnostic(code(rules::unknown_applier))]
    UnknownApplier {
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("no search and application has this name")]
        at: Span,
        /// A near miss, or the appliers.
        #[help]
        help: Option<String>,
    },

    /// A limit that the applier does not have.
    #[error("`{applier}` has no limit `{name}`")]
    #[diagnostic(code(rules::unknown_limit))]
    UnknownLimit {
        /// The applier.
        applier: Name,
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("not a limit of `{applier}`")]
        at: Span,
        /// A near miss, or the limits.
        #[help]
        help: Option<String>,
    },

    /// A tag that is not known.
    #[error("unknown tag `{name}`")]
    #[diagnostic(code(rules::unknown_tag))]
    UnknownTag {
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("not a tag")]
        at: Span,
        /// A near miss, or the tags.
        #[help]
        help: Option<String>,
    },

    /// A set, phase or `:off` that names no rule and no set.
    #[error("no rule or rule set is called `{name}`")]
    #[diagnostic(code(rules::unknown_rule))]
    UnknownRule {
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("not known")]
        at: Span,
        /// A near miss, or the names known.
        #[help]
        help: Option<String>,
    },

    /// A rule set that contains itself.
    #[error("rule set `{name}` contains itself: {cycle}")]
    #[diagnostic(code(rules::cyclic_set), help("remove one of these names from the set before it"))]
    CyclicSet {
        /// The set.
        name: Name,
        /// The sets on the way back to it.
        cycle: String,
        /// The name that closes the cycle.
        #[label("leads back to `{name}`")]
        at: Span,
    },

    /// A strategy to extend that does not exist.
    #[error("no strategy is called `{name}`")]
    #[diagnostic(code(rules::unknown_strategy))]
    UnknownStrategy {
        /// The name.
        name: Name,
        /// Where it stands; `None` if it was asked for from outside the files.
        #[label("not known")]
        at: Option<Span>,
        /// A near miss, or the strategies.
        #[help]
        help: Option<String>,
    },

    /// A strategy that extends itself.
    #[error("strategy `{name}` extends itself: {cycle}")]
    #[diagnostic(code(rules::cyclic_extends), help("a strategy extends one that was complete without it"))]
    CyclicExtends {
        /// The strategy.
        name: Name,
        /// The strategies on the way back to it.
        cycle: String,
        /// The name that closes the cycle.
        #[label("leads back to `{name}`")]
        at: Span,
    },

    /// A phase to leave out that is not inherited.
    #[error("`{strategy}` inherits no phase `{name}`")]
    #[diagnostic(code(rules::unknown_phase))]
    UnknownPhase {
        /// The strategy.
        strategy: Name,
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("not an inherited phase")]
        at: Span,
        /// A near miss, or the phases inherited.
        #[help]
        help: Option<String>,
    },

    /// Two phases of one name in a strategy, inherited ones included.
    #[error("`{strategy}` has a phase `{name}` already")]
    #[diagnostic(code(rules::duplicate_phase))]
    DuplicatePhase {
        /// The strategy.
        strategy: Name,
        /// The name.
        name: Name,
        /// The later phase.
        #[label("a second one")]
        at: Span,
        /// Where the first one comes from, and what to do.
        #[help]
        help: Option<String>,
    },

    /// A rule that is switched off where it is not on.
    #[error("`{name}` is not on in `{strategy}`")]
    #[diagnostic(
        code(rules::off_unused),
        help("`:off` takes out rules of the phases before it; there is nothing to take out")
    )]
    OffUnused {
        /// The strategy.
        strategy: Name,
        /// The rule or set.
        name: Name,
        /// Where it stands.
        #[label("in no phase")]
        at: Span,
    },

    /// A rule or a form that needs a tag which is not granted.
    #[error("{what} is `{tag}`, which `{licence}` does not grant")]
    #[diagnostic(code(rules::not_licensed))]
    NotLicensed {
        /// The rule or word, as a phrase.
        what: String,
        /// Its tag.
        tag: Name,
        /// What is granted.
        licence: String,
        /// Where the strategy names it.
        #[label("needs `{tag}`")]
        at: Span,
        /// What grants the tag.
        #[help]
        help: String,
    },

    /// A phase or option of a strategy that can do nothing without another option.
    #[error("{what} has no effect: {why}")]
    #[diagnostic(code(rules::unmet))]
    Unmet {
        /// The phase or option, as a phrase.
        what: String,
        /// Why.
        why: String,
        /// Where it stands.
        #[label("has no effect here")]
        at: Span,
        /// What is missing.
        #[help]
        help: String,
    },

    /// An option that strategies do not have.
    #[error("unknown option `{name}`")]
    #[diagnostic(code(rules::unknown_option))]
    UnknownOption {
        /// The name.
        name: Name,
        /// Where it stands.
        #[label("not an option")]
        at: Span,
        /// A near miss, or the options.
        #[help]
        help: Option<String>,
    },

    /// An option with a value of the wrong kind.
    #[error("option `{option}` takes {expected}, not {found}")]
    #[diagnostic(code(rules::wrong_option_value))]
    WrongOptionValue {
        /// The option.
        option: Name,
        /// What it takes, as a phrase.
        expected: String,
        /// What it was given, as a phrase.
        found: String,
        /// The value.
        #[label("expected {expected}")]
        at: Span,
    },
}
