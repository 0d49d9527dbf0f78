//! Mutants that are as sound as their origin for reasons that a [normal form](super::trivial) does not see.

use super::Mutant;

/// A rule, a family, a part of the mutant's text, and why the mutant is sound.
const PROVED: [(&str, &str, &str, &str); 21] = [
    ("abs-of-nonnegative", "condition-dropped", "(and (nonnegative ?x))", NEVER_UNITED),
    ("square-of-sqrt", "condition-dropped", "(and (nonnegative ?x))", NEVER_UNITED),
    (
        "square-of-sqrt",
        "condition-dropped",
        "(and (float ?x))",
        "the root of a negative number has no value, and there the rule claims nothing",
    ),
    ("log-of-exponential", "condition-dropped", "(log (exp ?x)) ?x :tag", NEVER_UNITED),
    ("abs-of-nonnegative", "tag-strengthened", ":tag exact", NO_NEGATIVE_ZERO),
    ("square-of-abs", "tag-strengthened", ":tag exact", "a product of magnitudes has the bits of the square"),
    ("pow-is-power", "condition-dropped", "(** ?x ?y) :tag", POWERS),
    ("pow-is-power", "tag-strengthened", ":tag exact", POWERS),
    ("product-of-exponentials", "tag-strengthened", ":tag reassociate", REAL),
    ("log-of-exponential", "tag-strengthened", ":tag reassociate", REAL),
    ("reciprocals-of-each", "tag-strengthened", ":tag reassociate", REAL),
    ("flatten-sum", "test-dropped", "float", CHOICE),
    ("flatten-product", "test-dropped", "float", CHOICE),
    ("split-reduction", "test-dropped", "float", CHOICE),
    ("reciprocals-of-each", "test-dropped", "float", CHOICE),
    ("pull-from-minimum", "condition-moved", "(>= (size ?q...) 0)", SIZES),
    ("pull-from-maximum", "condition-moved", "(>= (size ?q...) 0)", SIZES),
    ("scale-minimum", "condition-moved", "(>= (size ?q...) 0)", SIZES),
    ("scale-maximum", "condition-moved", "(>= (size ?q...) 0)", SIZES),
    ("minimum-of-invariant", "condition-moved", "(>= (size ?q...) 0)", SIZES),
    ("maximum-of-invariant", "condition-moved", "(>= (size ?q...) 0)", SIZES),
];

const NEVER_UNITED: &str = "an integer and a float are never united, so the condition only says what happens anyway";
const NO_NEGATIVE_ZERO: &str =
    "values that are known to be at least zero are made of even powers and positive numbers, and never -0.0";
const POWERS: &str = "the text form has one power: `**` and `pow` are the same function";
const REAL: &str = "the equation holds for all real numbers; the tag warns of overflow on the way, where the left side has no finite value either, or of reciprocals of subnormal numbers";
const CHOICE: &str = "the test chooses where the rule is of use: a value that does not open, or divide, stays as it is, and a sum may be split at each term";
const SIZES: &str = "a size that is known is at least one";

/// Why a mutant is sound, if that is known.
pub(super) fn proof(mutant: &Mutant) -> Option<&'static str> {
    let is_it = |(rule, family, part, _): &&(&str, &str, &str, &'static str)| {
        mutant.origin == *rule && mutant.family == *family && mutant.text.contains(part)
    };
    PROVED.iter().find(is_it).map(|(.., reason)| *reason)
}
