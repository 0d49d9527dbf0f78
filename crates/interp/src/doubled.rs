//! The world of floats in doubled precision: real numbers where only rounding errors of float64 are asked for.
//!
//! # Input
//! Float literals, tables and given data as they are; float32 is not rounded.
//! # Output
//! Values with 106 bits, so that a result is known far below the unit roundoff even where 12 digits cancel. [`decides_on_floats`] says of which kernels it
//! may be asked: a comparison of values that are equal in the reals may come out either way.
//! # Method
//! A value is the sum of two floats. Functions and powers are those of [`Real`], rounded.
//! # Complexity
//! About twice that of floats, where no function is called.
//! # Source
//! Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 1971; Joldes, Muller and Popescu, "Tight and rigorous
//! error bounds for basic building blocks of double-word arithmetic", ACM TOMS 2017.

use nestegg_ir::types::Types;
use nestegg_ir::{Expr, ExprId, Kernel, Op};
use twofloat::TwoFloat;

use crate::real::{Real, RealValue};
use crate::world::{Function, World};

/// Functions that jump.
const JUMPING: [&str; 10] =
    ["ceil", "copysign", "floor", "fmod", "nearbyint", "remainder", "rint", "round", "signbit", "trunc"];

/// Whether what a kernel computes depends on which of two floats is larger, or next to which whole number one is.
pub(crate) fn decides_on_floats(kernel: &Kernel) -> bool {
    let types = Types::infer(kernel);
    let is_float = |id: &ExprId| types.of(*id).is_float();
    kernel.exprs.iter().any(|(_, expr)| match expr {
        Expr::Op { op, operands } => {
            (op.is_comparison() || matches!(op, Op::FloorDiv | Op::Mod)) && operands.iter().any(is_float)
        }
        Expr::Cast { dtype, operand } => !dtype.is_float() && is_float(operand),
        Expr::Call { function, .. } => JUMPING.contains(&kernel[*function].as_str()),
        _ => false,
    })
}

/// Floats in doubled precision.
pub(crate) struct Doubled {
    functions: Real,
}

impl Doubled {
    pub(crate) fn new() -> Self {
        Self { functions: Real::new() }
    }

    fn real(&self, value: TwoFloat) -> RealValue {
        self.functions.add(self.functions.literal(value.hi()), self.functions.literal(value.lo()))
    }
}

/// The leading digits of a real number; `None` if it is no finite one.
pub(crate) fn doubled(value: &RealValue) -> Option<TwoFloat> {
    let hi = value.to_float();
    let lo = value.signed_distance(hi);
    (hi.is_finite() && lo.is_finite()).then(|| TwoFloat::new_add(hi, lo))
}

/// Whether a value is a finite number.
pub(crate) fn is_defined(value: TwoFloat) -> bool {
    value.hi().is_finite() && value.lo().is_finite()
}

impl World for Doubled {
    type Float = TwoFloat;

    const ROUNDS: bool = false;

    fn literal(&self, value: f64) -> TwoFloat {
        TwoFloat::from(value)
    }

    fn integer(&self, value: i64) -> TwoFloat {
        // Each half is a float exactly.
        let low = value & 0xffff_ffff;
        TwoFloat::new_add((value - low) as f64, low as f64)
    }

    fn truncate(&self, value: TwoFloat) -> Option<i64> {
        self.functions.truncate(self.real(value))
    }

    fn round_single(&self, value: TwoFloat) -> TwoFloat {
        value
    }

    #[inline(always)]
    fn add(&self, a: TwoFloat, b: TwoFloat) -> TwoFloat {
        a + b
    }

    #[inline(always)]
    fn sub(&self, a: TwoFloat, b: TwoFloat) -> TwoFloat {
        a - b
    }

    #[inline(always)]
    fn mul(&self, a: TwoFloat, b: TwoFloat) -> TwoFloat {
        a * b
    }

    #[inline(always)]
    fn neg(&self, a: TwoFloat) -> TwoFloat {
        -a
    }

    fn quotient(&self, a: TwoFloat, b: TwoFloat) -> Option<TwoFloat> {
        Some(a / b).filter(|quotient| is_defined(*quotient))
    }

    fn less(&self, a: TwoFloat, b: TwoFloat) -> bool {
        a < b
    }

    fn equal(&self, a: TwoFloat, b: TwoFloat) -> bool {
        a == b
    }

    fn min(&self, a: TwoFloat, b: TwoFloat) -> TwoFloat {
        if b < a { b } else { a }
    }

    fn max(&self, a: TwoFloat, b: TwoFloat) -> TwoFloat {
        if a < b { b } else { a }
    }

    fn infinity(&self, negative: bool) -> TwoFloat {
        TwoFloat::from(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
    }

    fn power(&self, base: TwoFloat, exponent: i64) -> Option<TwoFloat> {
        let (mut res, mut square, mut rest) = (self.literal(1.0), base, exponent.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                res *= square;
            }
            square *= square;
            rest >>= 1;
        }
        if exponent < 0 { self.quotient(self.literal(1.0), res) } else { Some(res).filter(|res| is_defined(*res)) }
    }

    fn power_any(&self, base: TwoFloat, exponent: TwoFloat) -> Option<TwoFloat> {
        doubled(&self.functions.power_any(self.real(base), self.real(exponent))?)
    }

    fn floor_div(&self, a: TwoFloat, b: TwoFloat) -> Option<TwoFloat> {
        doubled(&self.functions.floor_div(self.real(a), self.real(b))?)
    }

    fn modulo(&self, a: TwoFloat, b: TwoFloat) -> Option<TwoFloat> {
        doubled(&self.functions.modulo(self.real(a), self.real(b))?)
    }

    fn call(&self, function: &Function, result: u64, arguments: &[TwoFloat]) -> Option<TwoFloat> {
        if arguments.iter().any(|argument| !is_defined(*argument)) {
            return None;
        }
        let arguments: Vec<RealValue> = arguments.iter().map(|&argument| self.real(argument)).collect();
        doubled(&self.functions.call(function, result, &arguments)?)
    }

    fn oracle(&self, _hash: u64) -> Option<TwoFloat> {
        None
    }

    fn hash(&self, value: TwoFloat) -> u64 {
        value.hi().to_bits()
    }

    fn name(&self) -> &'static str {
        "doubled precision"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_all_digits() {
        let world = Doubled::new();
        // 1 - sin(1)^2 - cos(1)^2 in doubled precision is far below the unit roundoff.
        let function = |name: &str| Function {
            name: name.to_owned(),
            math: crate::math::Math::of(name, 1),
            hash: crate::world::hash_text(name),
            has_stand_in: false,
        };
        let one = world.literal(1.0);
        let of = |name: &str| world.call(&function(name), 0, &[one]).unwrap();
        let (sine, cosine) = (of("sin"), of("cos"));
        let rest = world.sub(world.sub(one, world.mul(sine, sine)), world.mul(cosine, cosine));
        assert!(f64::from(rest).abs() < 1e-30, "{rest:?}");
    }

    #[test]
    fn integers_are_exact() {
        let world = Doubled::new();
        let large = i64::MAX - 1;
        let rest = world.sub(world.integer(large), world.literal(9_223_372_036_854_775_808.0));
        assert_eq!(f64::from(rest), -2.0);
    }
}
