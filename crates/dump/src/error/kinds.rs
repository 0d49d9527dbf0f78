//! The errors, one variant each.

#![allow(missing_docs, reason = "each variant's message says what its fields are")]

use miette::Diagnostic;
use nestegg_span::Span;
use thiserror::Error;

use super::foreign::Problem;

/// What is expected and what was found, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the place takes.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// One thing that is wrong with a dump, at its place.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum ReadError {
    /// A problem of a notation that another crate reads.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Foreign(#[from] Problem),

    // The notation.
    #[error("the file is not UTF-8: byte {byte_offset} is wrong")]
    #[diagnostic(code(dump::not_utf8), help("kernel dumps are UTF-8 text"))]
    NotUtf8 {
        byte_offset: usize,
        #[label("here")]
        at: Span,
    },
    #[error("not JSON: {message}")]
    #[diagnostic(
        code(dump::json_syntax),
        help("a kernel dump is one JSON object; a file in the text form begins with `kernel NAME`")
    )]
    JsonSyntax {
        message: String,
        #[label("here")]
        at: Span,
    },
    #[error("expected {}, found {}", .mismatch.expected, .mismatch.found)]
    #[diagnostic(code(dump::text_syntax))]
    TextSyntax {
        mismatch: Mismatch,
        #[label("here")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("the field `{field}` is given twice")]
    #[diagnostic(code(dump::duplicate_field), help("keep one of the two"))]
    DuplicateField {
        field: String,
        #[label("again here")]
        at: Span,
        #[label("first here")]
        first: Span,
    },
    #[error("{what} has no field `{field}`")]
    #[diagnostic(code(dump::unknown_field))]
    UnknownField {
        field: String,
        what: &'static str,
        #[label("unknown field")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("{what} lacks the field `{field}`")]
    #[diagnostic(code(dump::missing_field), help("add the field; what there is none of is an empty list or `null`"))]
    MissingField {
        field: &'static str,
        what: &'static str,
        #[label("`{field}` is missing here")]
        at: Span,
    },
    #[error("{what} is {}, not {}", .mismatch.expected, .mismatch.found)]
    #[diagnostic(code(dump::wrong_json_type))]
    WrongJsonType {
        what: String,
        mismatch: Mismatch,
        #[label("this is {}", .mismatch.found)]
        at: Span,
    },
    #[error("unknown format `{format}`")]
    #[diagnostic(code(dump::wrong_format), help("this version reads `nestegg-kernel/1` and `nestegg-kernel/2`"))]
    WrongFormat {
        format: String,
        #[label("not a format that is known")]
        at: Span,
    },
    #[error("{what} is new in version 2 of the format")]
    #[diagnostic(code(dump::needs_version), help("write `\"format\": \"nestegg-kernel/2\"`"))]
    NeedsVersion {
        what: &'static str,
        #[label("version 1 does not have it")]
        at: Span,
        #[label("says version 1")]
        format: Span,
    },
    #[error("the integer `{text}` does not fit 64 bits")]
    #[diagnostic(code(dump::integer_too_large), help("write it with a point or an exponent if it is a float"))]
    IntegerTooLarge {
        text: String,
        #[label("too large")]
        at: Span,
    },
    #[error("the number `{text}` is not finite")]
    #[diagnostic(code(dump::non_finite), help("float64 reaches up to about 1.8e308; there is no infinity and no NaN"))]
    NonFinite {
        text: String,
        #[label("not finite")]
        at: Span,
    },
    #[error("operations are nested more than {limit} deep")]
    #[diagnostic(code(dump::nested_too_deep), help("name sub-expressions by substitutions and use the names"))]
    NestedTooDeep {
        limit: usize,
        #[label("too deep from here on")]
        at: Span,
    },
    #[error("unknown dtype `{word}`")]
    #[diagnostic(
        code(dump::unknown_dtype),
        help(
            "dtypes are `bool`, `int32`, `int64`, `float32` and `float64`; arrays may also hold `int8`, `int16`, `uint8`, `uint16`, `uint32` and `uint64`"
        )
    )]
    UnknownDtype {
        word: String,
        #[label("not a dtype")]
        at: Span,
    },
    #[error("unknown access `{word}`")]
    #[diagnostic(code(dump::unknown_access), help("an argument is `read`, `write` or `readwrite`"))]
    UnknownAccess {
        word: String,
        #[label("not an access")]
        at: Span,
    },
    #[error("unknown tag `{word}`")]
    #[diagnostic(code(dump::unknown_tag), help("tags are `unroll`, `vec`, `parallel` and `sequential`"))]
    UnknownTag {
        word: String,
        #[label("not a tag")]
        at: Span,
    },
    #[error("unknown kind of instruction `{word}`")]
    #[diagnostic(code(dump::unknown_kind), help("instructions are of kind `assignment`, `call` or `opaque`"))]
    UnknownKind {
        word: String,
        #[label("not a kind of instruction")]
        at: Span,
    },
    #[error("unknown operator `{word}`")]
    #[diagnostic(code(dump::unknown_operator))]
    UnknownOperator {
        word: String,
        #[label("not an operator")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("unknown reduction `{word}`")]
    #[diagnostic(code(dump::unknown_reduction), help("reductions are `sum`, `product`, `min`, `max`, `any` and `all`"))]
    UnknownReduction {
        word: String,
        #[label("not a reduction")]
        at: Span,
    },
    #[error("unknown item `{word}` in the linearization")]
    #[diagnostic(code(dump::unknown_item), help("items are `for`, `end`, `if`, `endif` and `run`"))]
    UnknownItem {
        word: String,
        #[label("not an item")]
        at: Span,
    },
    #[error("{what} has two readings")]
    #[diagnostic(
        code(dump::two_readings),
        help("it is `{here}` by Python's precedence, and `{loopy}` by loopy's; write the parentheses that you mean")
    )]
    TwoReadings {
        what: String,
        here: &'static str,
        loopy: &'static str,
        #[label("parentheses are missing")]
        at: Span,
    },
    #[error("`{op}({name}, …)` has two readings")]
    #[diagnostic(
        code(dump::reduction_or_extremum),
        help(
            "to loopy it is the reduction over `{name}`: write `reduce({op}, [{name}], …)`; as the extremum of two values it needs a value of `{name}`, \
             which it has in a loop over it"
        )
    )]
    ReductionOrExtremum {
        op: &'static str,
        name: String,
        #[label("an iname without a value here")]
        at: Span,
    },
    #[error("the type of `{name}` does not follow from what is assigned to it")]
    #[diagnostic(code(dump::no_type), help("write it: `<float64> {name} = …`"))]
    NoType {
        name: String,
        #[label("declared here")]
        at: Span,
    },
    #[error("unknown instruction option `{word}`")]
    #[diagnostic(
        code(dump::unknown_option),
        help(
            "options are `id`, `id_prefix`, `dep`, `nosync`, `if` and `inames`; loopy's others say nothing that a dump holds"
        )
    )]
    UnknownOption {
        word: String,
        #[label("not an option")]
        at: Span,
    },
    #[error("{what} takes {expected}, not {found}")]
    #[diagnostic(code(dump::wrong_arity))]
    WrongArity {
        what: String,
        expected: String,
        found: usize,
        #[label("{found} given")]
        at: Span,
    },

    // Names.
    #[error("`{name}` cannot be a name: {reason}")]
    #[diagnostic(code(dump::invalid_name), help("a name is a C identifier and no keyword"))]
    InvalidName {
        name: String,
        reason: &'static str,
        #[label("not a name")]
        at: Span,
    },
    #[error("the name `{name}` is defined twice")]
    #[diagnostic(
        code(dump::duplicate_name),
        help("inames, parameters, arrays and substitutions share one set of names")
    )]
    DuplicateName {
        name: String,
        #[label("defined again here")]
        at: Span,
        #[label("first defined here")]
        first: Span,
    },
    #[error("two instructions have the id `{id}`")]
    #[diagnostic(code(dump::duplicate_id), help("ids are unique in a kernel"))]
    DuplicateId {
        id: String,
        #[label("again here")]
        at: Span,
        #[label("first here")]
        first: Span,
    },
    #[error("the name `{name}` is not defined")]
    #[diagnostic(code(dump::unknown_name))]
    UnknownName {
        name: String,
        #[label("unknown name")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` is {}, not {}", .mismatch.found, .mismatch.expected)]
    #[diagnostic(code(dump::wrong_kind_of_name))]
    WrongKindOfName {
        name: String,
        mismatch: Mismatch,
        #[label("{} is needed here", .mismatch.expected)]
        at: Span,
    },
    #[error("no instruction has the id `{id}`")]
    #[diagnostic(code(dump::unknown_instruction))]
    UnknownInstruction {
        id: String,
        #[label("unknown instruction")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("the substitution `{name}` uses itself: {cycle}")]
    #[diagnostic(code(dump::cyclic_substitution), help("substitutions are not recursive"))]
    CyclicSubstitution {
        name: String,
        cycle: String,
        #[label("this one")]
        at: Span,
    },
    #[error("the dependence on `{id}` is given twice")]
    #[diagnostic(code(dump::repeated_dependence), help("keep one of the two"))]
    RepeatedDependence {
        id: String,
        #[label("again here")]
        at: Span,
    },
    #[error("the instruction `{id}` depends on itself: {cycle}")]
    #[diagnostic(
        code(dump::dependence_cycle),
        help("an instruction cannot come before itself; take one of these dependences away")
    )]
    DependenceCycle {
        id: String,
        cycle: String,
        #[label("this one")]
        at: Span,
    },
    #[error("`{name}` is given twice in one list")]
    #[diagnostic(code(dump::repeated_name), help("keep one of the two"))]
    RepeatedName {
        name: String,
        #[label("again here")]
        at: Span,
    },

    // Inames and domains.
    #[error("the iname `{name}` is in two domains")]
    #[diagnostic(code(dump::iname_in_two_domains), help("every iname stands in exactly one domain as a set dimension"))]
    InameInTwoDomains {
        name: String,
        #[label("again in this domain")]
        at: Span,
        #[label("first in this domain")]
        first: Span,
    },
    #[error("the iname `{name}` is in no domain")]
    #[diagnostic(code(dump::iname_without_domain))]
    InameWithoutDomain {
        name: String,
        #[label("no domain has this dimension")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("the iname `{name}` has no value here")]
    #[diagnostic(
        code(dump::iname_out_of_scope),
        help("an iname is used by an instruction within it, or in a reduction over it")
    )]
    InameOutOfScope {
        name: String,
        #[label("used here")]
        at: Span,
    },
    #[error("a reduction over `{name}`, which has a value already")]
    #[diagnostic(
        code(dump::reduction_over_outer_iname),
        help(
            "a reduction needs an iname that neither the instruction is within nor a reduction around it reduces over"
        )
    )]
    ReductionOverOuterIname {
        name: String,
        #[label("reduced here")]
        at: Span,
    },
    #[error("`{name}` is enclosed by `{outer}`, which has no value here")]
    #[diagnostic(
        code(dump::enclosing_iname_missing),
        help("the domain of `{name}` uses `{outer}`, so whatever runs over the one runs within the other")
    )]
    EnclosingInameMissing {
        name: String,
        outer: String,
        #[label("`{outer}` is missing around this")]
        at: Span,
    },
    #[error("{what} is not in isl's notation: {message}")]
    #[diagnostic(
        code(dump::isl_syntax),
        help(
            "a domain is like `[n] -> {{ [i, j] : 0 <= i < n and 0 <= j <= i }}`, assumptions are like `[n] -> {{ : n >= 1 }}`"
        )
    )]
    IslSyntax {
        what: &'static str,
        message: String,
        #[label("not read by isl")]
        at: Span,
    },
    #[error("`{name}` is used but not listed as a parameter of the set")]
    #[diagnostic(
        code(dump::unlisted_parameter),
        help("parameters of the kernel and inames of other domains are listed first: `[{name}] -> {{ ... }}`")
    )]
    UnlistedParameter {
        name: String,
        #[label("not listed")]
        at: Span,
    },
    #[error("{what} is too hard for isl: {message}")]
    #[diagnostic(code(dump::domain_too_complex), help("split it, or drop constraints that follow from others"))]
    DomainTooComplex {
        what: &'static str,
        message: String,
        #[label("this set")]
        at: Span,
    },
    #[error("{reason}")]
    #[diagnostic(code(dump::domain_shape), help("a domain is a set of one unnamed tuple of distinct inames"))]
    DomainShape {
        reason: String,
        #[label("in this domain")]
        at: Span,
    },
    #[error("`{name}` is neither an iname nor a parameter")]
    #[diagnostic(code(dump::domain_parameter))]
    DomainParameter {
        name: String,
        #[label("used by this set")]
        at: Span,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` cannot bound the domain of `{iname}`: {reason}")]
    #[diagnostic(code(dump::data_bound))]
    DataBound {
        name: String,
        iname: String,
        reason: String,
        #[label("{label}")]
        at: Span,
        label: &'static str,
        #[help]
        help: &'static str,
    },
    #[error("the bounds of `{iname}` depend on data, and {reason}")]
    #[diagnostic(code(dump::data_domain))]
    DataDomain {
        iname: String,
        reason: String,
        #[label("here")]
        at: Span,
        #[help]
        help: &'static str,
    },
    #[error("the domain of `{name}` encloses itself: {cycle}")]
    #[diagnostic(code(dump::domain_cycle), help("put inames that bound each other into one domain"))]
    DomainCycle {
        name: String,
        cycle: String,
        #[label("this domain")]
        at: Span,
    },
    #[error("no values of the parameters satisfy the assumptions")]
    #[diagnostic(code(dump::empty_assumptions), help("nothing would ever run: check the constraints"))]
    EmptyAssumptions {
        #[label("contradicts itself")]
        at: Span,
    },
    #[error("the domain is not bounded")]
    #[diagnostic(code(dump::unbounded_domain), help("give every iname a lower and an upper bound"))]
    UnboundedDomain {
        #[label("infinitely many points")]
        at: Span,
    },

    // Shapes and types.
    #[error("`{name}` has {rank} but is given {found}")]
    #[diagnostic(
        code(dump::wrong_rank),
        help("an array element takes one index per dimension; a scalar is its name alone")
    )]
    WrongRank {
        name: String,
        rank: String,
        found: String,
        #[label("{found} given")]
        at: Span,
    },
    #[error("`{access}` is outside of `{array}`{at_instance}")]
    #[diagnostic(code(dump::out_of_bounds))]
    OutOfBounds {
        access: String,
        array: String,
        at_instance: String,
        index: i64,
        dim: usize,
        #[label("the index of dimension {dim} is {index}")]
        at: Span,
        #[help]
        help: String,
    },
    #[error("`{access}` is read{at_instance} before anything writes it")]
    #[diagnostic(code(dump::uninitialised))]
    Uninitialised {
        access: String,
        at_instance: String,
        #[label("has no value here")]
        at: Span,
        #[help]
        help: String,
    },
    #[error("{what} {}, not {}", .mismatch.expected, .mismatch.found)]
    #[diagnostic(code(dump::wrong_type), help("`cast` converts between numbers; a condition is made by a comparison"))]
    WrongType {
        what: String,
        mismatch: Mismatch,
        #[label("this is {}", .mismatch.found)]
        at: Span,
    },
    #[error("{reason}")]
    #[diagnostic(
        code(dump::wrong_size),
        help("a size is a positive integer or an integer expression in the parameters")
    )]
    WrongSize {
        reason: String,
        #[label("not a size")]
        at: Span,
    },
    #[error("the parameter `{name}` is {dtype}")]
    #[diagnostic(code(dump::parameter_dtype), help("parameters are sizes: `int32` or `int64`"))]
    ParameterDtype {
        name: String,
        dtype: &'static str,
        #[label("not an integer dtype")]
        at: Span,
    },
    #[error("the table `{name}` {reason}")]
    #[diagnostic(code(dump::table_size), help("the lists nest row-major and fit the shape exactly"))]
    TableSize {
        name: String,
        reason: String,
        #[label("here")]
        at: Span,
    },
    #[error("the {dtype} table `{name}` holds `{text}`")]
    #[diagnostic(code(dump::table_dtype), help("an integer table takes integers, a bool table 0 and 1"))]
    TableDtype {
        name: String,
        dtype: &'static str,
        text: String,
        #[label("does not fit")]
        at: Span,
    },

    // Instructions.
    #[error("`{name}` is {what} and cannot be written")]
    #[diagnostic(
        code(dump::not_writable),
        help("arguments with access `write` or `readwrite` and temporaries without initializer can be written")
    )]
    NotWritable {
        name: String,
        what: &'static str,
        #[label("written here")]
        at: Span,
    },
    #[error("{what} cannot be assigned to")]
    #[diagnostic(code(dump::not_assignable), help("an assignee is a scalar or an array element"))]
    NotAssignable {
        what: String,
        #[label("not an assignee")]
        at: Span,
    },
    #[error("a call without an assignee")]
    #[diagnostic(
        code(dump::no_assignee),
        help("a call stores at least one result; C text without results is an `opaque` instruction")
    )]
    NoAssignee {
        #[label("this instruction")]
        at: Span,
    },

    // The linearization.
    #[error("this end closes nothing that is open")]
    #[diagnostic(
        code(dump::unmatched_end),
        help("loops and conditions close in the reverse of the order in which they open")
    )]
    UnmatchedEnd {
        #[label("unmatched")]
        at: Span,
    },
    #[error("this {what} is never closed")]
    #[diagnostic(code(dump::unclosed), help("close it by its `end` or `endif`"))]
    Unclosed {
        what: &'static str,
        #[label("opened here")]
        at: Span,
    },
    #[error("a loop over `{name}` inside a loop over `{name}`")]
    #[diagnostic(code(dump::reopened_loop), help("close the outer loop first"))]
    ReopenedLoop {
        name: String,
        #[label("opened again here")]
        at: Span,
    },
    #[error("loops and conditions nest more than {limit} deep")]
    #[diagnostic(code(dump::loops_nested_too_deep), help("close some first"))]
    LoopsNestedTooDeep {
        limit: usize,
        #[label("too deep from here on")]
        at: Span,
    },
    #[error("a call leaves its results in `{name}`, which holds another type in memory than it is computed with")]
    #[diagnostic(code(dump::narrow_result), help("call it with a temporary of a dtype, and assign that"))]
    NarrowResult {
        name: String,
        #[label("this call")]
        at: Span,
    },
    #[error("the instruction `{id}` runs twice")]
    #[diagnostic(code(dump::run_twice), help("a linearization runs every instruction once"))]
    RunTwice {
        id: String,
        #[label("again here")]
        at: Span,
        #[label("first here")]
        first: Span,
    },
    #[error("the instruction `{id}` never runs")]
    #[diagnostic(code(dump::never_run), help("a linearization runs every instruction once"))]
    NeverRun {
        id: String,
        #[label("not in the linearization")]
        at: Span,
    },
    #[error("the instruction `{id}` is within {within} but runs inside {loops}")]
    #[diagnostic(code(dump::wrong_loops), help("an instruction runs inside loops over exactly its inames"))]
    WrongLoops {
        id: String,
        within: String,
        loops: String,
        #[label("runs here")]
        at: Span,
    },
}
