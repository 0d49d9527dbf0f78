//! The functions of C's math.h, by name, in float64.
//!
//! `libm` computes them, in Rust on every machine: results do not depend on the system's C library.

/// A function of math.h that takes one float.
type Unary = fn(f64) -> f64;
/// A function of math.h that takes two floats.
type Binary = fn(f64, f64) -> f64;

/// A known function.
#[derive(Clone, Copy)]
pub(crate) enum Math {
    One(Unary),
    Two(Binary),
    Fma,
}

const ONE: &[(&str, Unary)] = &[
    ("acos", libm::acos),
    ("acosh", libm::acosh),
    ("asin", libm::asin),
    ("asinh", libm::asinh),
    ("atan", libm::atan),
    ("atanh", libm::atanh),
    ("cbrt", libm::cbrt),
    ("ceil", libm::ceil),
    ("cos", libm::cos),
    ("cosh", libm::cosh),
    ("erf", libm::erf),
    ("erfc", libm::erfc),
    ("exp", libm::exp),
    ("exp2", libm::exp2),
    ("expm1", libm::expm1),
    ("fabs", libm::fabs),
    ("floor", libm::floor),
    ("j0", libm::j0),
    ("j1", libm::j1),
    ("lgamma", libm::lgamma),
    ("log", libm::log),
    ("log10", libm::log10),
    ("log1p", libm::log1p),
    ("log2", libm::log2),
    ("nearbyint", libm::rint),
    ("rint", libm::rint),
    ("round", libm::round),
    ("sin", libm::sin),
    ("sinh", libm::sinh),
    ("sqrt", libm::sqrt),
    ("tan", libm::tan),
    ("tanh", libm::tanh),
    ("tgamma", libm::tgamma),
    ("trunc", libm::trunc),
    ("y0", libm::y0),
    ("y1", libm::y1),
];

const TWO: &[(&str, Binary)] = &[
    ("atan2", libm::atan2),
    ("copysign", libm::copysign),
    ("fdim", libm::fdim),
    ("fmax", libm::fmax),
    ("fmin", libm::fmin),
    ("fmod", libm::fmod),
    ("hypot", libm::hypot),
    ("pow", libm::pow),
    ("remainder", libm::remainder),
];

impl Math {
    /// The function of that name with that many arguments.
    pub(crate) fn of(name: &str, n_arguments: usize) -> Option<Self> {
        match n_arguments {
            1 if name == "abs" => Some(Self::One(libm::fabs)),
            1 => ONE.iter().find(|entry| entry.0 == name).map(|entry| Self::One(entry.1)),
            2 => TWO.iter().find(|entry| entry.0 == name).map(|entry| Self::Two(entry.1)),
            3 if name == "fma" => Some(Self::Fma),
            _ => None,
        }
    }

    /// Its value; `arguments` are as many as it was looked up with.
    pub(crate) fn evaluate(self, arguments: &[f64]) -> f64 {
        match (self, arguments) {
            (Self::One(function), [a, ..]) => function(*a),
            (Self::Two(function), [a, b, ..]) => function(*a, *b),
            (Self::Fma, [a, b, c, ..]) => libm::fma(*a, *b, *c),
            _ => f64::NAN,
        }
    }
}
