//! The functions of C's `math.h` that kernels know, and those that nestegg's own C defines for itself.

use nestegg_ir::Op;

/// Functions of one float.
const ONE: [&str; 31] = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fabs", "floor", "lgamma", "log", "log10", "log1p", "log2", "rint", "round", "sin", "sinh", "sqrt", "tan",
    "tanh", "tgamma", "trunc",
];
/// Functions of two floats.
const TWO: [&str; 9] = ["atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "pow", "remainder"];

/// A function of `math.h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// Its name without suffix.
    pub(crate) name: &'static str,
    /// How many arguments it takes.
    pub(crate) n_arguments: usize,
    /// Whether it is the one for `float`.
    pub(crate) is_single: bool,
}

/// The function of `math.h` of that name.
pub(crate) fn function(name: &str) -> Option<Function> {
    let of = |name: &str, is_single| {
        let one = ONE.iter().find(|known| **known == name).map(|name| Function { name, n_arguments: 1, is_single });
        one.or_else(|| {
            TWO.iter().find(|known| **known == name).map(|name| Function { name, n_arguments: 2, is_single })
        })
    };
    let fma = |is_single| Function { name: "fma", n_arguments: 3, is_single };
    match name {
        "fma" => Some(fma(false)),
        "fmaf" => Some(fma(true)),
        _ => of(name, false).or_else(|| of(name.strip_suffix('f')?, true)),
    }
}

/// What a helper function of nestegg's own C does with two integers.
pub(crate) fn helper(name: &str) -> Option<Op> {
    let stem = name.strip_suffix("_i32").or_else(|| name.strip_suffix("_i64"))?;
    match stem {
        "floor_div" => Some(Op::FloorDiv),
        "floor_mod" => Some(Op::Mod),
        "min" => Some(Op::Min),
        "max" => Some(Op::Max),
        "shift_left" => Some(Op::Shl),
        _ => None,
    }
}

/// The exponent of a helper function of nestegg's own C that multiplies a value with itself: `power_4_f64`.
pub(crate) fn power(name: &str) -> Option<i64> {
    let stem = name.strip_prefix("power_")?;
    let (digits, suffix) = stem.split_once('_')?;
    matches!(suffix, "i32" | "i64" | "f32" | "f64").then(|| digits.parse().ok()).flatten()
}

/// The value of a constant of `math.h` and `float.h`.
pub(crate) fn constant(name: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match name {
        "M_PI" => consts::PI,
        "M_PI_2" => consts::FRAC_PI_2,
        "M_PI_4" => consts::FRAC_PI_4,
        "M_1_PI" => consts::FRAC_1_PI,
        "M_2_PI" => consts::FRAC_2_PI,
        "M_E" => consts::E,
        "M_LN2" => consts::LN_2,
        "M_LN10" => consts::LN_10,
        "M_LOG2E" => consts::LOG2_E,
        "M_LOG10E" => consts::LOG10_E,
        "M_SQRT2" => consts::SQRT_2,
        "M_SQRT1_2" => consts::FRAC_1_SQRT_2,
        "M_2_SQRTPI" => consts::FRAC_2_SQRT_PI,
        "DBL_EPSILON" => f64::EPSILON,
        "DBL_MAX" => f64::MAX,
        "DBL_MIN" => f64::MIN_POSITIVE,
        _ => return None,
    })
}
