//! Elementary functions of real numbers, by the names of C's math.h.
//!
//! # Method
//! Where a value is rational by nature (at 0, of perfect squares) it is exact; else `astro-float` computes it, and the error of the
//! argument is carried on by the derivative.
//! # Not done
//! Functions without a place here ([`Function::of`] answers `None`) are unknown: see [`evaluate`](super::evaluate).

use std::cmp::Ordering;
use std::rc::Rc;

use astro_float::{BigFloat, Consts, RoundingMode};
use num_traits::{Signed, ToPrimitive};

use super::gap::Gap;
use super::real::{Near, PRECISION, Precise, Real, size};
use crate::rational::Rational;

const ROUNDING: RoundingMode = RoundingMode::ToEven;

/// The largest binary logarithm of an argument whose exponential, sine and the like are computed.
const MAX_ARGUMENT: f64 = 28.0;

/// A function that is known.
#[derive(Clone, Copy)]
pub(super) enum Function {
    One(fn(&Real, &mut Precise) -> Result<Real, Gap>),
    Two(fn(&Real, &Real, &mut Precise) -> Result<Real, Gap>),
    Three(fn(&Real, &Real, &Real) -> Result<Real, Gap>),
}

impl Function {
    /// The function of that name with that many arguments.
    pub(super) fn of(name: &str, n_arguments: usize) -> Option<Self> {
        Some(match (name, n_arguments) {
            ("fabs" | "abs", 1) => Self::One(|x, _| x.abs()),
            ("sqrt", 1) => Self::One(sqrt),
            ("cbrt", 1) => Self::One(cbrt),
            ("exp", 1) => Self::One(exp),
            ("exp2", 1) => Self::One(|x, precise| pow(&Real::int(2), x, precise)),
            ("expm1", 1) => Self::One(|x, precise| exp(x, precise)?.minus(&Real::ONE)),
            ("log", 1) => Self::One(ln),
            ("log1p", 1) => Self::One(|x, precise| ln(&x.plus(&Real::ONE)?, precise)),
            ("log2", 1) => Self::One(|x, precise| quotient(&ln(x, precise)?, &ln(&Real::int(2), precise)?)),
            ("log10", 1) => Self::One(|x, precise| quotient(&ln(x, precise)?, &ln(&Real::int(10), precise)?)),
            ("sin", 1) => Self::One(|x, precise| sine(x, precise, BigFloat::sin, Real::ZERO)),
            ("cos", 1) => Self::One(|x, precise| sine(x, precise, BigFloat::cos, Real::ONE)),
            ("tan", 1) => Self::One(|x, precise| {
                let (sin, cos) =
                    (sine(x, precise, BigFloat::sin, Real::ZERO)?, sine(x, precise, BigFloat::cos, Real::ONE)?);
                quotient(&sin, &cos)
            }),
            ("asin", 1) => Self::One(|x, precise| arc(x, precise, BigFloat::asin)),
            ("acos", 1) => Self::One(|x, precise| arc(x, precise, BigFloat::acos)),
            ("atan", 1) => Self::One(atan),
            ("sinh", 1) => Self::One(|x, precise| half_sum(x, precise, &Real::int(-1))),
            ("cosh", 1) => Self::One(|x, precise| half_sum(x, precise, &Real::ONE)),
            ("tanh", 1) => Self::One(|x, precise| {
                quotient(&half_sum(x, precise, &Real::int(-1))?, &half_sum(x, precise, &Real::ONE)?)
            }),
            ("asinh", 1) => Self::One(|x, precise| {
                let root = sqrt(&x.times(x)?.plus(&Real::ONE)?, precise)?;
                ln(&x.plus(&root)?, precise)
            }),
            ("acosh", 1) => Self::One(|x, precise| {
                if x.compare(&Real::ONE)? == Ordering::Less {
                    return Err(Gap::Argument);
                }
                let root = sqrt(&x.times(x)?.minus(&Real::ONE)?, precise)?;
                ln(&x.plus(&root)?, precise)
            }),
            ("atanh", 1) => Self::One(|x, precise| {
                let ratio = quotient(&Real::ONE.plus(x)?, &Real::ONE.minus(x)?)?;
                ln(&ratio, precise)?.times(&half())
            }),
            ("erf", 1) => Self::One(erf),
            ("erfc", 1) => Self::One(erfc),
            ("floor", 1) => Self::One(|x, _| x.floor()),
            ("ceil", 1) => Self::One(|x, _| Ok(x.negated().floor()?.negated())),
            ("trunc", 1) => Self::One(|x, _| truncated(x)),
            ("round", 1) => Self::One(|x, _| {
                let magnitude = x.abs()?.plus(&half())?.floor()?;
                Ok(if x.compare(&Real::ZERO)? == Ordering::Less { magnitude.negated() } else { magnitude })
            }),
            ("pow", 2) => Self::Two(pow),
            ("hypot", 2) => Self::Two(|x, y, precise| sqrt(&x.times(x)?.plus(&y.times(y)?)?, precise)),
            ("atan2", 2) => Self::Two(atan2),
            ("copysign", 2) => Self::Two(|x, y, _| match y.compare(&Real::ZERO)? {
                // A zero has a sign, which real numbers lack.
                Ordering::Equal => Err(Gap::Untold),
                Ordering::Less => Ok(x.abs()?.negated()),
                Ordering::Greater => x.abs(),
            }),
            ("fmin", 2) => Self::Two(|x, y, _| extreme(x, y, Ordering::Less)),
            ("fmax", 2) => Self::Two(|x, y, _| extreme(x, y, Ordering::Greater)),
            ("fdim", 2) => Self::Two(|x, y, _| extreme(&x.minus(y)?, &Real::ZERO, Ordering::Greater)),
            ("fmod", 2) => Self::Two(|x, y, _| x.minus(&truncated(&quotient(x, y)?)?.times(y)?)),
            ("fma", 3) => Self::Three(|x, y, z| x.times(y)?.plus(z)),
            _ => return None,
        })
    }

    /// Its value; there are as many arguments as it was looked up with.
    pub(super) fn evaluate(self, arguments: &[Real], precise: &mut Precise) -> Result<Real, Gap> {
        match (self, arguments) {
            (Self::One(function), [x]) => function(x, precise),
            (Self::Two(function), [x, y]) => function(x, y, precise),
            (Self::Three(function), [x, y, z]) => function(x, y, z),
            _ => Err(Gap::Function),
        }
    }
}

/// The one of two numbers that is as given to the other; either if they are equal.
pub(super) fn extreme(x: &Real, y: &Real, side: Ordering) -> Result<Real, Gap> {
    match x.compare(y) {
        Ok(order) if order == side => Ok(x.clone()),
        Ok(_) => Ok(y.clone()),
        // What cannot be told from the other may stand for it.
        Err(Gap::Untold) if x.agrees(y)? => Ok(if x.exact().is_some() { x.clone() } else { y.clone() }),
        Err(gap) => Err(gap),
    }
}

/// `x**y`.
pub(super) fn pow(x: &Real, y: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    if let Some(exponent) = y.to_int() {
        // Beyond this, and it is an overflow in any arithmetic.
        return if exponent.unsigned_abs() < 1 << 20 { x.power(exponent) } else { Err(Gap::Infinite) };
    }
    match x.compare(&Real::ZERO)? {
        Ordering::Less => Err(Gap::Argument),
        Ordering::Equal if y.compare(&Real::ZERO)? == Ordering::Less => Err(Gap::ZeroDivisor),
        Ordering::Equal => Ok(Real::ZERO),
        Ordering::Greater if y.exact() == Some(&half_rational()) => sqrt(x, precise),
        Ordering::Greater => exp(&ln(x, precise)?.times(y)?, precise),
    }
}

/// The whole part of a number.
pub(super) fn truncated(x: &Real) -> Result<Real, Gap> {
    let magnitude = x.abs()?.floor()?;
    Ok(if x.compare(&Real::ZERO)? == Ordering::Less { magnitude.negated() } else { magnitude })
}

pub(super) fn quotient(x: &Real, y: &Real) -> Result<Real, Gap> {
    x.times(&y.reciprocal()?)
}

fn half_rational() -> Rational {
    Rational::from_int(2).power(-1).unwrap_or_default()
}

fn half() -> Real {
    Real::Exact(half_rational())
}

/// A function that `astro-float` has.
type Computed = fn(&BigFloat, usize, RoundingMode, &mut Consts) -> BigFloat;

/// The value of a function whose derivative is below a power of two.
fn computed(x: &Near, function: Computed, derivative: f64, precise: &mut Precise) -> Result<Real, Gap> {
    Near::rounded(function(&x.value, PRECISION, ROUNDING, &mut precise.0), &[x.error + derivative]).map(Real::Near)
}

fn sqrt(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    match x.compare(&Real::ZERO)? {
        Ordering::Less => return Err(Gap::Argument),
        Ordering::Equal => return Ok(Real::ZERO),
        Ordering::Greater => {}
    }
    if let Some(root) = x.exact().and_then(perfect_root) {
        return Ok(Real::Exact(root));
    }
    let x = x.near();
    // 1/(2 sqrt(x)), where x is at least half of its size.
    let derivative = -x.size() / 2.0;
    computed(&x, |x, p, rm, _| x.sqrt(p, rm), derivative, precise)
}

/// The root of a perfect square.
fn perfect_root(x: &Rational) -> Option<Rational> {
    let big = x.to_big();
    let root = |n: &num_bigint::BigInt| Some(n.sqrt()).filter(|root| root * root == *n);
    let (numer, denom) = (root(big.numer())?, root(big.denom())?);
    Some(Rational::from(num_rational::BigRational::new(numer, denom)))
}

fn cbrt(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    match x.compare(&Real::ZERO)? {
        Ordering::Equal => return Ok(Real::ZERO),
        Ordering::Less => return Ok(cbrt(&x.negated(), precise)?.negated()),
        Ordering::Greater => {}
    }
    let x = x.near();
    // 1/(3 cbrt(x)^2).
    let derivative = -2.0 * (x.size() - 1.0) / 3.0;
    computed(&x, |x, p, rm, _| x.cbrt(p, rm), derivative, precise)
}

fn exp(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    if x.exact().is_some_and(Rational::is_zero) {
        return Ok(Real::ONE);
    }
    let x = x.near();
    if x.size() > MAX_ARGUMENT {
        return Err(Gap::Infinite);
    }
    let value = x.value.exp(PRECISION, ROUNDING, &mut precise.0);
    let error = x.error + size(&value) + 1.0;
    Near::rounded(value, &[error]).map(Real::Near)
}

fn ln(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    match x.compare(&Real::ZERO)? {
        Ordering::Less => return Err(Gap::Argument),
        Ordering::Equal => return Err(Gap::ZeroDivisor),
        Ordering::Greater => {}
    }
    if x.exact().is_some_and(Rational::is_one) {
        return Ok(Real::ZERO);
    }
    let x = x.near();
    computed(&x, BigFloat::ln, 1.0 - x.size(), precise)
}

/// Sine or cosine, `at_zero` at zero.
fn sine(x: &Real, precise: &mut Precise, function: Computed, at_zero: Real) -> Result<Real, Gap> {
    if x.exact().is_some_and(Rational::is_zero) {
        return Ok(at_zero);
    }
    let x = x.near();
    if x.size() > MAX_ARGUMENT * 4.0 {
        return Err(Gap::Infinite);
    }
    computed(&x, function, 0.0, precise)
}

/// Arc sine or arc cosine.
fn arc(x: &Real, precise: &mut Precise, function: Computed) -> Result<Real, Gap> {
    let rest = Real::ONE.minus(&x.times(x)?)?;
    let derivative = match rest.compare(&Real::ZERO)? {
        Ordering::Less => return Err(Gap::Argument),
        // Exactly 1 or -1.
        Ordering::Equal => 0.0,
        Ordering::Greater => -(rest.near().size() - 1.0) / 2.0,
    };
    computed(&x.near(), function, derivative, precise)
}

fn atan(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    if x.exact().is_some_and(Rational::is_zero) {
        return Ok(Real::ZERO);
    }
    computed(&x.near(), BigFloat::atan, 0.0, precise)
}

/// From this power of two on, the error function is a sign but for less than [`PRECISION`] shows.
const FAR: f64 = 5.0;

fn erf(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    if x.exact().is_some_and(Rational::is_zero) {
        return Ok(Real::ZERO);
    }
    let x = x.near();
    if x.size() > FAR {
        let value = BigFloat::from_i64(if x.value.is_negative() { -1 } else { 1 }, PRECISION);
        return Near::rounded(value, &[]).map(Real::Near);
    }
    let value = erf_series(&x.value, PRECISION + 64, precise);
    // 2/sqrt(pi), and less away from zero.
    Near::rounded(value, &[x.error + 0.2]).map(Real::Near)
}

/// `1 - erf(x)`, with so many digits more as cancel.
fn erfc(x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    if x.compare(&Real::ZERO)? != Ordering::Greater {
        return Real::ONE.plus(&erf(&x.negated(), precise)?);
    }
    let near = x.near();
    if near.size() > FAR {
        // It is there, but less than any datum; its size is all that is known.
        return Ok(Real::Near(Near { value: Rc::new(BigFloat::from_i64(0, PRECISION)), error: -1_000.0 }));
    }
    let float = x.to_f64();
    let exponent = float * float * std::f64::consts::LOG2_E;
    let precision = PRECISION + 64 + exponent as usize;
    let series = erf_series(&near.value, precision, precise);
    let value = BigFloat::from_i64(1, precision).sub(&series, PRECISION, ROUNDING);
    Near::rounded(value, &[near.error + 1.0 - exponent]).map(Real::Near)
}

/// `2/sqrt(pi) exp(-x^2) sum(2^n x^(2n+1)/(2n+1)!!)`, whose terms have one sign (Abramowitz and Stegun 7.1.6).
fn erf_series(x: &BigFloat, precision: usize, precise: &mut Precise) -> BigFloat {
    let square = x.mul(x, precision, ROUNDING);
    let twice = square.add(&square, precision, ROUNDING);
    let (mut term, mut sum) = (x.clone(), x.clone());
    let mut divisor = 1;
    while !term.is_zero() && size(&term) + precision as f64 > size(&sum) {
        divisor += 2;
        term = term.mul(&twice, precision, ROUNDING).div(&BigFloat::from_i64(divisor, precision), precision, ROUNDING);
        sum = sum.add(&term, precision, ROUNDING);
    }
    let gauss = square.neg().exp(precision, ROUNDING, &mut precise.0);
    let root = precise.0.pi(precision, ROUNDING).sqrt(precision, ROUNDING);
    sum.mul(&gauss.add(&gauss, precision, ROUNDING), precision, ROUNDING).div(&root, precision, ROUNDING)
}

fn atan2(y: &Real, x: &Real, precise: &mut Precise) -> Result<Real, Gap> {
    let zero = Real::ZERO;
    let sign = y.compare(&zero)?;
    match (x.compare(&zero)?, sign) {
        (Ordering::Greater, _) => atan(&quotient(y, x)?, precise),
        // A zero has a sign, which real numbers lack.
        (_, Ordering::Equal) => Err(Gap::Untold),
        (Ordering::Equal, _) => signed(&pi(precise)?.times(&half())?, sign),
        (Ordering::Less, _) => atan(&quotient(y, x)?, precise)?.plus(&signed(&pi(precise)?, sign)?),
    }
}

fn signed(value: &Real, sign: Ordering) -> Result<Real, Gap> {
    Ok(if sign == Ordering::Less { value.negated() } else { value.clone() })
}

fn pi(precise: &mut Precise) -> Result<Real, Gap> {
    Near::rounded(precise.0.pi(PRECISION, ROUNDING), &[]).map(Real::Near)
}

/// `(exp(x) + sign*exp(-x))/2`.
fn half_sum(x: &Real, precise: &mut Precise, sign: &Real) -> Result<Real, Gap> {
    let growing = exp(x, precise)?;
    growing.plus(&growing.reciprocal()?.times(sign)?)?.times(&half())
}

/// The integer of a number that is one, rounded towards zero as C does.
pub(super) fn to_whole(x: &Real) -> Result<i64, Gap> {
    let whole = truncated(x)?;
    let value = whole.exact().ok_or(Gap::Untold)?.to_big();
    if value.abs() > num_rational::BigRational::from_integer(i64::MAX.into()) {
        return Err(Gap::Overflow);
    }
    value.to_integer().to_i64().ok_or(Gap::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precise() -> Precise {
        Precise(Consts::new().unwrap())
    }

    fn at(name: &str, arguments: &[f64]) -> Result<Real, Gap> {
        let arguments: Vec<Real> = arguments.iter().map(|&x| Real::Exact(Rational::from_f64(x).unwrap())).collect();
        Function::of(name, arguments.len()).unwrap().evaluate(&arguments, &mut precise())
    }

    #[test]
    fn functions_are_those_of_doubles() {
        type Function = fn(f64) -> f64;
        let one: [(&str, Function); 19] = [
            ("sqrt", f64::sqrt),
            ("cbrt", f64::cbrt),
            ("exp", f64::exp),
            ("exp2", f64::exp2),
            ("expm1", f64::exp_m1),
            ("log", f64::ln),
            ("log2", f64::log2),
            ("log10", f64::log10),
            ("log1p", f64::ln_1p),
            ("sin", f64::sin),
            ("cos", f64::cos),
            ("tan", f64::tan),
            ("sinh", f64::sinh),
            ("cosh", f64::cosh),
            ("tanh", f64::tanh),
            ("asin", f64::asin),
            ("acos", f64::acos),
            ("atan", f64::atan),
            ("fabs", f64::abs),
        ];
        for (name, function) in one {
            for x in [0.0, 0.25, 0.7, 1.0, -0.3, 3.5, -20.0] {
                let expected = function(x);
                match at(name, &[x]) {
                    Ok(value) => {
                        let error = (value.to_f64() - expected).abs();
                        assert!(
                            error <= 1e-14 * expected.abs().max(1e-300),
                            "{name}({x}): {} not {expected}",
                            value.to_f64()
                        );
                    }
                    Err(gap) => assert!(!expected.is_finite() && gap.is_undefined(), "{name}({x}): {gap}"),
                }
            }
        }
        for (y, x) in [(1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (-3.0, 0.0)] {
            assert!((at("atan2", &[y, x]).unwrap().to_f64() - f64::atan2(y, x)).abs() < 1e-15);
        }
        assert!((at("pow", &[2.5, -1.75]).unwrap().to_f64() - 2.5_f64.powf(-1.75)).abs() < 1e-15);
        assert!(matches!(at("pow", &[-2.0, 0.5]), Err(Gap::Argument)));
        assert_eq!(at("pow", &[-2.0, 3.0]).unwrap().to_int(), Some(-8));
        assert_eq!(at("fmod", &[-7.5, 2.0]).unwrap().to_f64(), -1.5);
    }

    #[test]
    fn error_functions_are_those_of_tables() {
        for (name, x, expected) in [
            ("erf", 0.5, 0.520_499_877_813_046_5),
            ("erf", 1.0, 0.842_700_792_949_714_9),
            ("erf", -40.0, -1.0),
            ("erfc", -1.0, 1.842_700_792_949_715),
            ("erfc", 3.0, 2.209_049_699_858_544e-5),
            ("erfc", 10.0, 2.088_487_583_762_545e-45),
        ] {
            let value = at(name, &[x]).unwrap().to_f64();
            assert!((value - expected).abs() <= 1e-14 * f64::abs(expected), "{name}({x}) is {expected}, not {value}");
        }
        for x in [0.0, 0.3, 2.5, 20.0, 100.0] {
            let (erf, erfc) = (at("erf", &[x]).unwrap(), at("erfc", &[x]).unwrap());
            assert!(erf.plus(&erfc).unwrap().agrees(&Real::ONE).unwrap(), "{x}");
            assert!(at("erf", &[-x]).unwrap().agrees(&erf.negated()).unwrap(), "{x}");
        }
        assert!(!at("erfc", &[10.0]).unwrap().agrees(&at("erfc", &[10.000_001]).unwrap()).unwrap());
    }

    #[test]
    fn identities_hold_and_near_ones_do_not() {
        let (a, b) = (0.731, 1.917);
        let product = at("exp", &[a]).unwrap().times(&at("exp", &[b]).unwrap()).unwrap();
        let exact = Rational::from_f64(a).unwrap().plus(&Rational::from_f64(b).unwrap());
        let sum = exp(&Real::Exact(exact.clone()), &mut precise()).unwrap();
        assert!(product.agrees(&sum).unwrap());
        let next = exact.plus(&Rational::from_f64(1e-50).unwrap());
        assert!(!product.agrees(&exp(&Real::Exact(next), &mut precise()).unwrap()).unwrap());
        let (sin, cos) = (at("sin", &[a]).unwrap(), at("cos", &[a]).unwrap());
        assert!(sin.times(&sin).unwrap().plus(&cos.times(&cos).unwrap()).unwrap().agrees(&Real::ONE).unwrap());
        assert_eq!(at("sqrt", &[2.25]).unwrap().exact(), Rational::from_f64(1.5).as_ref());
    }
}
