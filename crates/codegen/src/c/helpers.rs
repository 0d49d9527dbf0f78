//! Small functions that the C text defines for itself where C has no operator: each is `static inline`, pure, and written
//! only where it is used.

use std::collections::BTreeSet;

use nestegg_ir::Dtype;

use super::text::{Precedence, Text};

/// A helper function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Helper {
    /// Quotient rounded down.
    FloorDiv(Dtype),
    /// Remainder with the sign of the divisor.
    FloorMod(Dtype),
    /// The lesser of two integers.
    Min(Dtype),
    /// The greater of two integers.
    Max(Dtype),
    /// Shift to the left, of negative values too.
    ShiftLeft(Dtype),
    /// A fixed power, 4 or more, by multiplications.
    Power(Dtype, u64),
}

impl Helper {
    /// Its name.
    pub(crate) fn name(self) -> String {
        match self {
            Self::FloorDiv(dtype) => format!("floor_div_{}", suffix(dtype)),
            Self::FloorMod(dtype) => format!("floor_mod_{}", suffix(dtype)),
            Self::Min(dtype) => format!("min_{}", suffix(dtype)),
            Self::Max(dtype) => format!("max_{}", suffix(dtype)),
            Self::ShiftLeft(dtype) => format!("shift_left_{}", suffix(dtype)),
            Self::Power(dtype, n) => format!("power_{n}_{}", suffix(dtype)),
        }
    }

    /// Its definition.
    pub(crate) fn definition(self) -> String {
        let name = self.name();
        match self {
            Self::FloorDiv(dtype) if dtype.is_integer() => {
                let t = dtype.c_name();
                format!(
                    "/* The quotient rounded down. */\nstatic inline {t} {name}({t} a, {t} b)\n{{\n    \
                     const {t} q = a / b;\n    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n}}\n"
                )
            }
            Self::FloorDiv(dtype) => {
                let (t, f) = (dtype.c_name(), float_suffix(dtype));
                format!(
                    "/* The quotient rounded down. */\nstatic inline {t} {name}({t} a, {t} b)\n{{\n    \
                     return floor{f}(a / b);\n}}\n"
                )
            }
            Self::FloorMod(dtype) if dtype.is_integer() => {
                let t = dtype.c_name();
                format!(
                    "/* What division leaves, with the sign of the divisor. */\nstatic inline {t} {name}({t} a, {t} b)\n{{\n    \
                     const {t} r = a % b;\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}}\n"
                )
            }
            Self::FloorMod(dtype) => {
                let (t, f) = (dtype.c_name(), float_suffix(dtype));
                format!(
                    "/* What division leaves, with the sign of the divisor. */\nstatic inline {t} {name}({t} a, {t} b)\n{{\n    \
                     return a - b * floor{f}(a / b);\n}}\n"
                )
            }
            Self::Min(dtype) => {
                let t = dtype.c_name();
                format!("static inline {t} {name}({t} a, {t} b)\n{{\n    return a < b ? a : b;\n}}\n")
            }
            Self::Max(dtype) => {
                let t = dtype.c_name();
                format!("static inline {t} {name}({t} a, {t} b)\n{{\n    return a > b ? a : b;\n}}\n")
            }
            Self::ShiftLeft(dtype) => {
                let t = dtype.c_name();
                format!(
                    "/* A shift to the left, defined for negative values too. */\nstatic inline {t} {name}({t} a, {t} b)\n{{\n    \
                     return ({t})((u{t})a << b);\n}}\n"
                )
            }
            Self::Power(dtype, n) => power(dtype.c_name(), &name, n),
        }
    }
}

/// The power by repeated squaring, as the binary digits of the exponent say.
fn power(t: &str, name: &str, n: u64) -> String {
    let mut lines = String::new();
    let mut factors = Vec::new();
    let mut digit = 1_u64;
    loop {
        let value = if digit == 1 { "x".to_owned() } else { format!("x{digit}") };
        if n & digit != 0 {
            factors.push(value.clone());
        }
        if digit > n / 2 {
            break;
        }
        digit *= 2;
        lines.push_str(&format!("    const {t} x{digit} = {value}*{value};\n"));
    }
    format!("static inline {t} {name}({t} x)\n{{\n{lines}    return {};\n}}\n", factors.join("*"))
}

/// How names end that are of one dtype.
pub(crate) fn suffix(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool | Dtype::Int32 => "i32",
        Dtype::Int64 => "i64",
        Dtype::Float32 => "f32",
        Dtype::Float64 => "f64",
    }
}

/// The suffix of functions of `math.h` for that dtype.
pub(crate) fn float_suffix(dtype: Dtype) -> &'static str {
    if dtype == Dtype::Float32 { "f" } else { "" }
}

/// The helpers that a text uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Helpers(pub(crate) BTreeSet<Helper>);

impl Helpers {
    /// A call of a helper.
    pub(crate) fn call(&mut self, helper: Helper, arguments: &[Text]) -> Text {
        self.0.insert(helper);
        Text::call(&helper.name(), arguments)
    }

    /// The quotient rounded down; `plain` says that C's division gives the same.
    pub(crate) fn floor_div(&mut self, a: Text, b: Text, dtype: Dtype, plain: bool) -> Text {
        if plain { Text::quotient(a, b) } else { self.call(Helper::FloorDiv(dtype), &[a, b]) }
    }

    /// The remainder with the sign of the divisor; `plain` says that C's `%` gives the same.
    pub(crate) fn floor_mod(&mut self, a: Text, b: Text, dtype: Dtype, plain: bool) -> Text {
        if plain {
            let text = format!("{}%{}", a.at_least(Precedence::Product), b.at_least(Precedence::Prefix));
            Text::operation(text, Precedence::Product, &[a, b])
        } else {
            self.call(Helper::FloorMod(dtype), &[a, b])
        }
    }

    /// The least or greatest of several.
    pub(crate) fn extremum(&mut self, least: bool, operands: Vec<Text>, dtype: Dtype) -> Text {
        let mut rest = operands.into_iter();
        let Some(mut res) = rest.next() else { return Text::primary("0") };
        for operand in rest {
            res = match (dtype.is_float(), least) {
                (true, _) => {
                    let name = if least { "fmin" } else { "fmax" };
                    Text::call(&format!("{name}{}", float_suffix(dtype)), &[res, operand])
                }
                (false, true) => self.call(Helper::Min(dtype), &[res, operand]),
                (false, false) => self.call(Helper::Max(dtype), &[res, operand]),
            };
        }
        res
    }
}
