//! The functions of C11's `math.h` that a kernel may call.

/// What a function of `math.h` takes and returns besides floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only floats.
    Float,
    /// An integer as its last argument.
    Exponent,
    /// An integer as its result; it has a name for each float type.
    Whole,
    /// A truth value as its result; one name for all float types.
    Classification,
}

/// A function of `math.h` that takes no pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    /// Its name without suffix.
    pub(crate) name: &'static str,
    /// How many arguments it takes.
    pub(crate) n_arguments: usize,
    /// What they are.
    pub(crate) kind: Kind,
}

const FLOAT: &[(&str, usize)] = &[
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

const EXPONENT: &[&str] = &["ldexp", "scalbln", "scalbn"];

const WHOLE: &[&str] = &["ilogb", "llrint", "llround", "lrint", "lround"];

const CLASSIFICATION: &[(&str, usize)] = &[
    ("isfinite", 1),
    ("isgreater", 2),
    ("isgreaterequal", 2),
    ("isinf", 1),
    ("isless", 2),
    ("islessequal", 2),
    ("islessgreater", 2),
    ("isnan", 1),
    ("isnormal", 1),
    ("isunordered", 2),
    ("signbit", 1),
];

/// Names of `math.h` that no kernel can call: they take pointers or text, or mean more than their arguments.
const OTHER: &[&str] = &["fpclassify", "frexp", "modf", "nan", "nexttoward", "remquo"];

/// The function of `math.h` that a kernel's function is; `abs` is `fabs`.
pub(crate) fn standard(name: &str) -> Option<Standard> {
    let name = if name == "abs" { "fabs" } else { name };
    let of = |list: &'static [(&'static str, usize)], kind| {
        let found = list.iter().find(|entry| entry.0 == name)?;
        Some(Standard { name: found.0, n_arguments: found.1, kind })
    };
    let one_of = |list: &'static [&'static str], n_arguments, kind| {
        list.iter().find(|entry| **entry == name).map(|name| Standard { name, n_arguments, kind })
    };
    of(FLOAT, Kind::Float)
        .or_else(|| one_of(EXPONENT, 2, Kind::Exponent))
        .or_else(|| one_of(WHOLE, 1, Kind::Whole))
        .or_else(|| of(CLASSIFICATION, Kind::Classification))
}

/// Whether `math.h` declares the name.
pub(crate) fn is_standard(name: &str) -> bool {
    OTHER.contains(&name) || (name != "abs" && standard(name).is_some())
}
