//! Known digits, identities, edges of domains.

use astro_float::{BigFloat, Consts, Radix, RoundingMode};

use super::*;
use crate::math::Math;

fn function(name: &str, n_arguments: usize) -> Function {
    let math = Math::of(name, n_arguments);
    Function { name: name.to_owned(), math, hash: crate::world::hash_text(name), has_stand_in: math.is_none() }
}

struct Tester(Real);

impl Tester {
    fn call(&self, name: &str, arguments: &[RealValue]) -> Option<RealValue> {
        self.0.call(&function(name, arguments.len()), 0, arguments)
    }

    fn of(&self, name: &str, arguments: &[f64]) -> RealValue {
        let arguments: Vec<RealValue> = arguments.iter().map(|&argument| self.0.literal(argument)).collect();
        self.call(name, &arguments).unwrap_or_else(|| panic!("{name}{arguments:?}"))
    }

    fn one(&self, name: &str, argument: RealValue) -> RealValue {
        self.call(name, std::slice::from_ref(&argument)).unwrap_or_else(|| panic!("{name}({argument:?})"))
    }

    fn check(&self, what: &str, a: RealValue, b: RealValue) {
        assert!(self.0.equal(a.clone(), b.clone()), "{what}: {a:?} {b:?}");
        let nudged = BigFloat::from_f64(1e-100, PRECISION).mul(&a.value, PRECISION, ROUNDING);
        let nudged = RealValue::exactly(a.value.add(&nudged, PRECISION, ROUNDING), a.magnitude);
        // A hundred digits are told apart wherever a value is not nearly cancelled.
        if a.magnitude < a.log2_size() + 30.0 && !a.value.is_zero() {
            assert!(!self.0.equal(nudged, b), "{what}: accepts anything");
        }
    }
}

fn tester() -> Tester {
    Tester(Real::new())
}

#[test]
fn known_digits() {
    let t = tester();
    let digits = |text: &str| {
        let mut constants = Consts::new().unwrap();
        let value = BigFloat::parse(text, Radix::Dec, PRECISION, RoundingMode::ToEven, &mut constants);
        RealValue::leaf(value)
    };
    let near = |what: &str, a: RealValue, text: &str| {
        let difference = t.0.sub(a.clone(), digits(text));
        let mantissa = text.split('e').next().unwrap();
        let n_digits = mantissa.trim_start_matches(['-', '0', '.']).len() as f64;
        let agreed = (a.log2_size() - difference.log2_size()) / std::f64::consts::LOG2_10;
        assert!(agreed > (n_digits - 2.0).min(130.0), "{what}: {agreed} of {n_digits}");
    };
    near(
        "e",
        t.of("exp", &[1.0]),
        "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742746639193200305992181741359662904357290033429526059563",
    );
    let pi = t.0.mul(t.0.integer(4), t.of("atan", &[1.0]));
    near(
        "pi",
        pi.clone(),
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384460955058223172535940812848",
    );
    near("pi", t.of("atan2", &[0.0, -1.0]), "3.1415926535897932384626433832795028841971693993751058209749445923");
    near(
        "root",
        t.of("sqrt", &[2.0]),
        "1.41421356237309504880168872420969807856967187537694807317667973799073247846210703885038753432764157273501384623",
    );
    near(
        "ln2",
        t.of("log", &[2.0]),
        "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687",
    );
    near(
        "erf",
        t.of("erf", &[1.0]),
        "0.842700792949714869341220635082609259296066997966302908459937897834717254096010841261983325348144888454",
    );
    near(
        "gamma",
        t.of("tgamma", &[0.375]),
        "2.370436184416600908646473504176652509887400803358924987775126934673161531358001791798647668371014807",
    );
    near(
        "lgamma",
        t.of("lgamma", &[-2.25]),
        "0.5555015450206474705935758935402500593920856512300935474160195518960674758672671966282956916139535222",
    );
    near(
        "lgamma",
        t.of("lgamma", &[100.5]),
        "361.4355404677776215552519127025207628587788352472218475369797166562779489074525095155057505575626008",
    );
    near(
        "erfc",
        t.of("erfc", &[0.5]),
        "0.479500122186953462317253346108035471263548424242036299941194274352806478283146429085211781265212243",
    );
    near(
        "erfc",
        t.of("erfc", &[10.0]),
        "2.088487583762544757000786294957788611560818119321163727012213713938174695833440290610766384285723554e-45",
    );
}

#[test]
fn identities() {
    let t = tester();
    let w = &t.0;
    for (a, b) in [(0.7, 1.9), (3.25, 0.001), (1e-30, 5.0), (12.5, 40.0)] {
        let (x, y) = (w.literal(a), w.literal(b));
        let one = |name: &str, x: &RealValue| t.one(name, x.clone());
        let (sum, product) = (w.add(x.clone(), y.clone()), w.mul(x.clone(), y.clone()));
        t.check("exp", w.mul(one("exp", &x), one("exp", &y)), one("exp", &sum));
        t.check("exp2", w.mul(one("exp2", &x), one("exp2", &y)), one("exp2", &sum));
        t.check("log", w.add(one("log", &x), one("log", &y)), one("log", &product));
        t.check("sqrt", w.mul(one("sqrt", &x), one("sqrt", &y)), one("sqrt", &product));
        t.check("cbrt", w.mul(one("cbrt", &x), one("cbrt", &y)), one("cbrt", &product));
        t.check("log2", one("log2", &one("exp2", &x)), x.clone());
        t.check("log10", w.mul(one("log10", &y), t.of("log", &[10.0])), one("log", &y));
        t.check("expm1", w.add(one("expm1", &x), w.integer(1)), one("exp", &x));
        t.check("log1p", one("log1p", &one("expm1", &x)), x.clone());
        let square = |name: &str, x: &RealValue| w.mul(one(name, x), one(name, x));
        t.check("sin, cos", w.add(square("sin", &x), square("cos", &x)), w.integer(1));
        t.check("tan", w.mul(one("tan", &x), one("cos", &x)), one("sin", &x));
        t.check("atan", one("tan", &one("atan", &x)), x.clone());
        t.check("cosh", w.sub(square("cosh", &x), square("sinh", &x)), w.integer(1));
        t.check("tanh", w.mul(one("tanh", &x), one("cosh", &x)), one("sinh", &x));
        t.check("asinh", one("asinh", &one("sinh", &x)), x.clone());
        t.check("acosh", one("acosh", &one("cosh", &y)), y.clone());
        t.check("atanh", one("atanh", &one("tanh", &x)), x.clone());
        let unit = w.literal(a / 64.0);
        t.check("asin", one("sin", &one("asin", &unit)), unit.clone());
        t.check("acos", one("cos", &one("acos", &unit)), unit);
        t.check("erf", w.add(one("erf", &x), one("erfc", &x)), w.integer(1));
        t.check("pow", t.call("pow", &[x.clone(), y.clone()]).unwrap(), one("exp", &w.mul(y.clone(), one("log", &x))));
        let gamma = |x: &RealValue| one("tgamma", x);
        t.check("gamma", gamma(&w.add(y.clone(), w.integer(1))), w.mul(y.clone(), gamma(&y)));
        t.check("lgamma", one("exp", &one("lgamma", &y)), gamma(&y));
        t.check("hypot", t.call("hypot", &[x.clone(), x.clone()]).unwrap(), w.mul(t.of("sqrt", &[2.0]), x.clone()));
        t.check("x/y*y", w.mul(w.quotient(x.clone(), y.clone()).unwrap(), y.clone()), x);
    }
    let third = w.quotient(w.integer(1), w.integer(3)).unwrap();
    t.check("third", w.mul(third.clone(), w.integer(3)), w.integer(1));
    t.check("gamma(5)", t.of("tgamma", &[5.0]), w.integer(24));
    let pi = t.of("atan2", &[0.0, -1.0]);
    t.check("gamma(1/2)", t.of("tgamma", &[0.5]), t.one("sqrt", pi));
    // What cancels is zero.
    let zero = w.sub(w.mul(third.clone(), w.integer(3)), w.integer(1));
    assert!(zero.is_zero());
    assert!(w.quotient(w.integer(1), zero.clone()).is_none());
    t.check("root of zero", t.one("sqrt", zero), w.integer(0));
    let series = special::erf_series(&w.integer(8).value, PRECISION + 256, &mut w.constants.borrow_mut());
    let complement = BigFloat::from_u8(1, PRECISION).sub(&series, PRECISION, ROUNDING);
    t.check("erfc at the seam", t.of("erfc", &[8.0]), RealValue::leaf(complement));
}

#[test]
fn floats_agree() {
    let t = tester();
    let names = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "nearbyint",
        "rint",
        "round",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
    ];
    let points = [-12.5, -7.9, -2.5, -1.5, -0.75, -1e-9, 0.0, 1e-12, 0.3, 0.5, 1.0, 1.5, 2.5, 3.5, 9.25, 20.0];
    for name in names {
        let mut n_defined = 0;
        for x in points {
            let float = function(name, 1).math.unwrap().evaluate(&[x]);
            match t.call(name, &[t.0.literal(x)]) {
                None => assert!(!float.is_finite(), "{name}({x}) is {float}"),
                Some(value) => {
                    n_defined += 1;
                    let scale = if name == "lgamma" { float.abs().max(1.0) } else { float.abs() };
                    assert!(
                        value.signed_distance(float).abs() <= 1e-13 * scale,
                        "{name}({x}): {} {float}",
                        value.to_float()
                    );
                }
            }
        }
        assert!(n_defined >= 4, "{name}");
    }
    for name in ["atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "pow", "remainder"] {
        for a in [-7.5, -2.0, 0.5, 3.0] {
            for b in [-3.0, -0.75, 0.25, 2.0, 5.0] {
                let float = function(name, 2).math.unwrap().evaluate(&[a, b]);
                match t.call(name, &[t.0.literal(a), t.0.literal(b)]) {
                    None => assert!(!float.is_finite(), "{name}({a}, {b}) is {float}"),
                    Some(value) => {
                        let distance = value.signed_distance(float).abs();
                        assert!(distance <= 1e-14 * float.abs(), "{name}({a}, {b}): {} {float}", value.to_float());
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_false_is_told() {
    let t = tester();
    let w = &t.0;
    let (x, y) = (w.literal(0.7), w.literal(1.9));
    let sum = w.add(x.clone(), y.clone());
    let roots = w.add(t.one("sqrt", x.clone()), t.one("sqrt", y.clone()));
    assert!(!w.equal(roots, t.one("sqrt", sum.clone())));
    assert!(!w.equal(t.one("sin", sum.clone()), sum));
    // Ramanujan: e^(pi sqrt 163) is whole in 30 digits, not in 100.
    let pi = t.of("atan2", &[0.0, -1.0]);
    let nearly = t.one("exp", w.mul(pi, t.of("sqrt", &[163.0])));
    let whole = t.one("round", nearly.clone());
    assert!(!w.equal(nearly, whole));
}

#[test]
fn undefined_is_told() {
    let t = tester();
    let w = &t.0;
    for (name, x) in [("sqrt", -1.0), ("log", 0.0), ("log", -1.0), ("asin", 1.5), ("acosh", 0.5), ("atanh", 1.0)] {
        assert!(t.call(name, &[w.literal(x)]).is_none(), "{name}({x})");
    }
    for (name, x) in [("tgamma", -3.0), ("log1p", -1.0), ("j0", 1.0), ("sin", f64::MAX)] {
        assert!(t.call(name, &[w.literal(x)]).is_none(), "{name}({x})");
    }
    assert!(w.quotient(w.integer(0), w.integer(0)).is_none());
    assert!(w.power(w.integer(0), -1).is_none());
    assert!(t.call("pow", &[w.integer(-2), w.literal(0.5)]).is_none());
    assert_eq!(t.of("pow", &[-2.0, 3.0]).to_float(), -8.0);
    assert!(t.call("exp", &[w.integer(1 << 40)]).is_none());
}

#[test]
fn whole_numbers() {
    let t = tester();
    let w = &t.0;
    let third = w.quotient(w.integer(1), w.integer(3)).unwrap();
    // Three thirds are one, though their digits are just below.
    assert_eq!(w.truncate(w.mul(third.clone(), w.integer(3))), Some(1));
    assert_eq!(w.truncate(w.neg(w.mul(third, w.integer(7)))), Some(-2));
    assert_eq!(w.truncate(w.integer(i64::MIN)), Some(i64::MIN));
    assert_eq!(w.truncate(w.integer(i64::MAX)), Some(i64::MAX));
    assert_eq!(w.truncate(w.literal(1e19)), None);
    assert_eq!(w.truncate(w.integer(0)), Some(0));
    assert_eq!(w.floor_div(w.literal(-7.0), w.literal(2.0)).unwrap().to_float(), -4.0);
    assert_eq!(w.modulo(w.literal(-7.0), w.literal(2.0)).unwrap().to_float(), 1.0);
}

#[test]
fn stand_ins_are_those_of_floats() {
    let t = tester();
    let unknown = function("material", 2);
    let value = t.0.call(&unknown, 1, &[t.0.literal(0.25), t.0.literal(-3.5)]).unwrap();
    let float = crate::world::stand_in(&unknown, 1, &[0.25, -3.5]);
    assert!(value.signed_distance(float).abs() < 1e-15);
}
