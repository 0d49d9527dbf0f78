//! The words that rule files may use, with their meaning here.

use nestegg_ir::Licence;
use nestegg_rules::{ArgumentKind, Arity, Need, OptionKind, OptionValue, Vocabulary};

use crate::apply::APPLIERS;

/// Functions of C's math.h that patterns may call, with the number of their arguments.
pub(crate) const FUNCTIONS: [(&str, usize); 29] = [
    ("fabs", 1),
    ("sqrt", 1),
    ("cbrt", 1),
    ("exp", 1),
    ("exp2", 1),
    ("expm1", 1),
    ("log", 1),
    ("log2", 1),
    ("log10", 1),
    ("log1p", 1),
    ("sin", 1),
    ("cos", 1),
    ("tan", 1),
    ("sinh", 1),
    ("cosh", 1),
    ("tanh", 1),
    ("asin", 1),
    ("acos", 1),
    ("atan", 1),
    ("erf", 1),
    ("erfc", 1),
    ("floor", 1),
    ("ceil", 1),
    ("fmin", 2),
    ("fmax", 2),
    ("atan2", 2),
    ("hypot", 2),
    ("pow", 2),
    ("copysign", 2),
];

/// What reductions and functions of rest variables are called.
fn reductions(words: Vocabulary) -> Vocabulary {
    words
        .binder("sum", "Sum over all points of the inames; 0 if there are none.")
        .binder("product", "Product over all points; 1 if there are none.")
        .binder("min", "Least value over all points.")
        .binder("max", "Greatest value over all points.")
        .spread(
            "open",
            "The operands of sums among terms, or of products among factors, that nothing else uses, to any depth.",
        )
        .spread("reciprocals", "For divisors, the reciprocal of each with its exponent: `1/y` squared for `y**-2`.")
        .spread("inverse", "For divisors, what they divide by: `y**2` for `y**-2`.")
}

/// What conditions may ask.
fn conditions(words: Vocabulary) -> Vocabulary {
    use ArgumentKind::{AnyVariable, Bound, Inames, Number, Some, Term, Variable};
    let types = ArgumentKind::word(&["bool", "int32", "int64", "float32", "float64"]);
    words
        .condition("constant", &[AnyVariable], "The value is a constant.")
        .condition("nonzero", &[AnyVariable], "The value is known not to be zero.")
        .condition("nonnegative", &[AnyVariable], "The value is known to be at least zero.")
        .condition("float", &[AnyVariable], "The value is a float.")
        .condition("integer", &[AnyVariable], "The value is an integer.")
        .condition("type", &[AnyVariable, types], "The value is of this type.")
        .condition("invariant", &[AnyVariable], "The value depends on no iname.")
        .condition_with_more("free-of", &[Inames, Inames], Inames, "The first depends on none of the inames of the others.")
        .condition_with_more("within", &[Inames, Inames], Inames, "The first depends on no inames but those of the others.")
        .condition("fewer-inames", &[Inames, Inames], "The inames of the first are some, not all, of the second's.")
        .condition("same-inames", &[Inames, Inames], "Both depend on the same inames.")
        .condition_with_more(
            "has-factor-free-of",
            &[Variable, Inames],
            Inames,
            "The first, or a factor of one of its forms, depends on none of the inames of the others.",
        )
        .condition("some", &[Some], "There is at least one.")
        .condition("several", &[Some], "There are at least two.")
        .condition("sized", &[Bound], "The number of points of these inames is known.")
        .condition("used-once", &[AnyVariable], "One other value uses it.")
        .condition("opens", &[Variable], "Of a child: a sum among terms, or a product among factors, that nothing else uses, or a reciprocal among factors that depends on all inames of the product.")
        .condition("divisor", &[Variable], "Of a factor: it has a negative exponent.")
        .condition("zero", &[AnyVariable], "One of them is zero, or tables make one of them zero at each point.")
        .condition("table", &[AnyVariable], "The value is an element of a constant table.")
        .condition(
            "total",
            &[Variable, Bound, Number],
            "The first is an element of a table, the inames run over a whole row of it, and each such row adds up to the number exactly.",
        )
        .condition("<", &[Term, Term], "The first is known to be less.")
        .condition("<=", &[Term, Term], "The first is known to be at most the second.")
        .condition(">", &[Term, Term], "The first is known to be greater.")
        .condition(">=", &[Term, Term], "The first is known to be at least the second.")
        .condition("==", &[Term, Term], "Both are known to be equal.")
        .condition("!=", &[Term, Term], "Both are known to differ.")
}

/// What the solvers of linear maps may use.
const FORMS: &[&str] = &["basis", "moments", "row-differences", "common-pairs", "scalar-algebra"];

/// What forms can do nothing without.
fn need_of_forms() -> Need {
    Need::one_of("seeds", &["features", "linear-map", "merged", "pairs"], "only some seeds are made with forms")
}

/// Options that limit the search: name, least value, default, and what they limit.
const LIMITS: [(&str, u64, u64, &str); 6] = [
    ("max-statements", 0, 2_000, "How many statements straight-line code may have."),
    (
        "seed-ratio",
        1,
        8,
        "Kernels to start from that cost more than so many times the cheapest before any rule are left out.",
    ),
    (
        "first-try",
        1,
        10,
        "Where there are several kernels to start from, each is tried with one over so many of the e-nodes of each phase first.",
    ),
    (
        "promising-ratio",
        1,
        2,
        "What costs at most so many times the best after the first try goes on: with all e-nodes where it needs them, and with further kernels made of its result.",
    ),
    (
        "full-seeds",
        0,
        1_000,
        "How many kernels to start from that need more e-nodes than the first try has are tried with all of them: the cheapest so far.",
    ),
    (
        "shifted-seeds",
        0,
        10,
        "How many results with recurring values in arrays are tried: those that cost least before any rule.",
    ),
];

/// Operators, conditions, guided rules, tags and options.
#[must_use]
pub fn vocabulary() -> Vocabulary {
    let n_ary = Arity::AtLeast(1);
    let two = Arity::Exactly(2);
    let mut words = Vocabulary::new()
        .operator("+", n_ary, "Sum of any number of terms, in any order.")
        .operator("*", n_ary, "Product of any number of factors, in any order.")
        .operator("-", Arity::Between(1, 2), "Negation of one operand, difference of two.")
        .operator("/", two, "Quotient.")
        .operator("**", two, "Power.")
        .operator("//", two, "Floor division.")
        .operator("%", two, "Modulo, with the sign of the divisor.")
        .operator("min", n_ary, "Minimum, in any order.")
        .operator("max", n_ary, "Maximum, in any order.")
        .operator("if", Arity::Exactly(3), "Selection: condition, value if it holds, value if not.")
        .operator("<", two, "Comparison.")
        .operator("<=", two, "Comparison.")
        .operator(">", two, "Comparison.")
        .operator(">=", two, "Comparison.")
        .operator("==", two, "Comparison.")
        .operator("!=", two, "Comparison.")
        .operator("and", n_ary, "Conjunction.")
        .operator("or", n_ary, "Disjunction.")
        .operator("not", Arity::Exactly(1), "Negation of a condition.");
    for (name, n_arguments) in FUNCTIONS {
        words = words.operator(name, Arity::Exactly(n_arguments), "The function of C's math.h.");
    }
    let words = reductions(words);
    let mut words = conditions(words)
        .tag("exact", "Holds to the bit for floats.")
        .tag("reassociate", "Holds for real numbers; floats are rounded differently.")
        .tag("finite-only", "Holds unless an operand is infinite, not a number, or a zero divisor.");
    for applier in APPLIERS {
        words = words.applier(applier.name, applier.limits, applier.doc);
    }
    words = words
        .option(
            "seeds",
            OptionKind::words(&[
                "rolled", "written-out", "rolled-up", "flattened", "unrolled", "factored", "factored-if-cheaper", "multiplied-out", "split", "band", "digits", "separated", "traces", "common-roots", "rounded-roots", "deltas", "interpolation", "features", "symmetric", "shifted", "shifted-results", "linear-map", "merged", "integrands", "pairs", "tabulated", "even-odd", "apart", "one-element",
            ]),
            OptionValue::words(&["rolled"]),
            "Kernels to start from, of which the one with the cheapest result is kept: as it is; short sums over elements of arrays written out; short loops as straight-line code; inames cut where tables change their zeros; sums over the bands of tables; tables of tensor products as products of tables over one dimension; powers as whole powers of common roots, exactly, and with rounded exponents; values that recur at shifts or under other inames kept in arrays; stores as linear maps of scalar features, in straight-line code; the same in loops; of what came near the best, values that recur, constant temporaries as tables, and sums over half of the points; groups of stores, each searched alone, together.",
        )
        .option(
            "time-seeds",
            OptionKind::words(&["dense"]),
            OptionValue::words(&[]),
            "Further kernels to start from where time is made small: stores as linear maps of scalar features in one nest of loops each, which take more operations, but in vectors.",
        )
        .option(
            "forms",
            OptionKind::words(FORMS),
            OptionValue::words(FORMS),
            "What linear maps may use: columns that are combinations of others; rows from other rows; pairs that occur in several rows; common factors and sums of features.",
        )
        .option(
            "careful-forms",
            OptionKind::words(FORMS),
            OptionValue::words(FORMS),
            "Those of the forms that run once more where results round too much; all of them: there is no second search.",
        );
    let words = LIMITS.into_iter().fold(words, |words, (name, least, default, doc)| {
        words.option(name, OptionKind::Integer(least..=1_000_000), OptionValue::Integer(default), doc)
    });
    let words = words.option(
        "selection",
        OptionKind::word(&["as-is", "local-search"]),
        OptionValue::word("local-search"),
        "How forms are chosen: the first of each value, or the cheapest found by local search.",
    );
    let licences = Licence::ALL.map(Licence::name);
    words
        .option(
            "float",
            OptionKind::word(&licences),
            OptionValue::word(Licence::default().name()),
            "What may be done to floats where the command line does not say: nothing that changes a bit; what holds for real numbers; what holds for finite ones.",
        )
        .tagged(
            "seeds",
            Licence::Reassociate.tag(),
            &["written-out", "rolled-up", "flattened", "unrolled", "factored", "factored-if-cheaper", "multiplied-out", "split", "band", "digits", "separated", "traces", "common-roots", "rounded-roots", "deltas", "interpolation", "features", "symmetric", "shifted", "shifted-results", "linear-map", "merged", "integrands", "pairs", "tabulated", "even-odd", "apart"],
        )
        .tagged("time-seeds", Licence::Reassociate.tag(), &["dense"])
        .option_needs("forms", need_of_forms())
        .option_needs("careful-forms", need_of_forms())
        .phases_need(Need::one_of("selection", &["local-search"], "the first form of each value is the one it came with"))
}
