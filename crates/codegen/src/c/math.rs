//! The functions of C11's `math.h` that return a float and take floats.

/// Their names without suffix, and how many arguments each takes.
const STANDARD: &[(&str, usize)] = &[
    ("acos", 1),
    ("acosh", 1),
    ("asin", 1),
    ("asinh", 1),
    ("atan", 1),
    ("atan2", 2),
    ("atanh", 1),
    ("cbrt", 1),
    ("ceil", 1),
    ("copysign", 2),
    ("cos", 1),
    ("cosh", 1),
    ("erf", 1),
    ("erfc", 1),
    ("exp", 1),
    ("exp2", 1),
    ("expm1", 1),
    ("fabs", 1),
    ("fdim", 2),
    ("floor", 1),
    ("fma", 3),
    ("fmax", 2),
    ("fmin", 2),
    ("fmod", 2),
    ("hypot", 2),
    ("ldexp", 2),
    ("lgamma", 1),
    ("log", 1),
    ("log10", 1),
    ("log1p", 1),
    ("log2", 1),
    ("logb", 1),
    ("nearbyint", 1),
    ("nextafter", 2),
    ("pow", 2),
    ("remainder", 2),
    ("rint", 1),
    ("round", 1),
    ("sin", 1),
    ("sinh", 1),
    ("sqrt", 1),
    ("tan", 1),
    ("tanh", 1),
    ("tgamma", 1),
    ("trunc", 1),
];

/// Names of `math.h` that are no pure functions of floats, but cannot be variables either.
const OTHER: &[&str] = &[
    "frexp",
    "ilogb",
    "llrint",
    "llround",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nexttoward",
    "remquo",
    "scalbln",
    "scalbn",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "signbit",
    "fpclassify",
    "isgreater",
    "isgreaterequal",
    "isless",
    "islessequal",
    "islessgreater",
    "isunordered",
];

/// The function of `math.h` that a kernel's function is, without float suffix; `abs` is `fabs`.
pub(crate) fn standard(name: &str) -> Option<(&'static str, usize)> {
    let name = if name == "abs" { "fabs" } else { name };
    STANDARD.iter().find(|entry| entry.0 == name && name != "ldexp").copied()
}

/// Whether `math.h` declares the name.
pub(crate) fn is_standard(name: &str) -> bool {
    STANDARD.iter().any(|entry| entry.0 == name) || OTHER.contains(&name)
}
