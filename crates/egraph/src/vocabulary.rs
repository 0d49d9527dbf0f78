//! The words that rule files may use, with their meaning here.

use nestegg_ir::Licence;
use nestegg_rules::{ArgumentKind, Arity, Need, OptionKind, OptionValue, Vocabulary};

use crate::apply::APPLIERS;

/// Functions of C's math.h that patterns may call, with the number of their arguments.
const FUNCTIONS: [(&str, usize); 20] = [
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
    ("atan2", 2),
    ("hypot", 2),
    ("pow", 2),
    ("copysign", 2),
];

/// Whether patterns may call a function of that name.
#[must_use]
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

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
    let any = ArgumentKind::AnyVariable;
    let one = ArgumentKind::Variable;
    words = words
        .condition("constant", std::slice::from_ref(&any), "The value is a constant.")
        .condition("nonzero", std::slice::from_ref(&any), "The value is known not to be zero.")
        .condition("nonnegative", std::slice::from_ref(&any), "The value is known to be at least zero.")
        .condition("float", std::slice::from_ref(&any), "The value is a float.")
        .condition("integer", std::slice::from_ref(&any), "The value is an integer.")
        .condition("invariant", std::slice::from_ref(&any), "The value depends on no iname.")
        .condition(
            "fewer-inames",
            &[one.clone(), one.clone()],
            "The inames of the first are some, not all, of the second's.",
        )
        .condition("same-inames", &[one.clone(), one], "Both depend on the same inames.")
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
                "rolled", "written-out", "rolled-up", "factored", "multiplied-out", "split", "band", "digits", "deltas", "interpolation", "features", "symmetric", "shifted", "linear-map", "merged", "integrands", "pairs", "tabulated", "even-odd", "apart",
            ]),
            OptionValue::words(&["rolled"]),
            "Kernels to start from, of which the one with the cheapest result is kept: as it is; short sums over elements of arrays written out; inames cut where tables change their zeros; sums over the bands of tables; values that recur at shifts or under other inames kept in arrays; stores as linear maps of scalar features, in straight-line code; the same in loops; of what came near the best, constant temporaries as tables and sums over half of the points; groups of stores, each searched alone, together.",
        )
        .option(
            "forms",
            OptionKind::words(&["basis", "moments", "row-differences", "common-pairs", "scalar-algebra"]),
            OptionValue::words(&["basis", "moments", "row-differences", "common-pairs", "scalar-algebra"]),
            "What linear maps may use: columns that are combinations of others; rows from other rows; pairs that occur in several rows; common factors and sums of features.",
        )
        .option(
            "max-statements",
            OptionKind::Integer(0..=1_000_000),
            OptionValue::Integer(2_000),
            "How many statements straight-line code may have.",
        );
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
            &["written-out", "rolled-up", "factored", "multiplied-out", "split", "band", "digits", "deltas", "interpolation", "features", "symmetric", "shifted", "linear-map", "merged", "integrands", "pairs", "tabulated", "even-odd", "apart"],
        )
        .option_needs(
            "forms",
            Need::one_of("seeds", &["features", "linear-map", "merged", "pairs"], "only some seeds are made with forms"),
        )
        .phases_need(Need::one_of("selection", &["local-search"], "the first form of each value is the one it came with"))
}
