//! Powers of one base that are whole powers of one root: `x**-0.75*x**1.25` needs the fourth root of `x` alone.
//!
//! # Why
//! A power costs five operations, and more time than twenty products; models of materials take many of one determinant.
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which such powers are whole powers of a common root: `sqrt(x)` or `sqrt(sqrt(x))` for halves and quarters, exactly, and `pow(x, 1.0/3.0)` and the like for
//! others, where the caller allows rounded exponents. No float is a third, so that `x**(5.0/3.0)` and `pow(x, 1.0/3.0)**5` differ by what rounding the exponents
//! leaves; the tolerance counts such exponents. `None` if nothing gets cheaper.
//! # Method
//! The exponents of a base are fractions with a common denominator; the greatest common divisor of their numerators, over that denominator, is the exponent of the root.
//! A group is rewritten if root and whole powers cost less than the powers, as [operations are counted](nestegg_ir::count).
//! Where the base is negative, neither has a value unless the root is odd; as everywhere, nothing is claimed there.
//! # Complexity
//! Linear in the expressions.

use indexmap::IndexMap;
use nestegg_ir::count::{POWER_OPERATIONS, whole_power_operations};
use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, ExprId, Exprs, Float, FunctionId, Instruction, Kernel, LinearizedKernel, Op};
use num_integer::Integer;
use rustc_hash::FxHashMap;

use crate::Tolerance;

/// No exponent is a fraction with a larger denominator.
const MAX_DENOMINATOR: i64 = 12;

/// Whole powers of a root are at most so high: each product rounds.
const MAX_POWER: i64 = 24;

/// How far an exponent may be from its fraction, relative to it: what a few operations on floats leave.
const MAX_CHANGE: f64 = 1e-15;

/// A kernel with powers of common roots.
#[derive(Clone, Debug)]
pub struct CommonRoots {
    /// The kernel.
    pub linearized: LinearizedKernel,
    /// What was done to exponents.
    pub tolerance: Tolerance,
    /// Whether some root depends on inames.
    pub varies: bool,
}

/// The kernel with powers of common roots; `None` if it has none that get cheaper. Exponents may be rounded if the caller says so.
#[must_use]
pub fn common_roots(linearized: &LinearizedKernel, may_round: bool) -> Option<CommonRoots> {
    let mut kernel = linearized.kernel.clone();
    let mut bases: IndexMap<ExprId, Vec<Power>> = IndexMap::new();
    let types = Types::infer(&kernel);
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
    for id in below(&kernel.exprs, roots) {
        let Some((base, exponent)) = power(&kernel, id) else { continue };
        let is_float = matches!(types.of(base), Type::Float32 | Type::Float64) && types.of(base) == types.of(id);
        if is_float && let Some(fraction) = Fraction::of(exponent) {
            bases.entry(base).or_default().push(Power { id, exponent, fraction });
        }
    }
    let mut powers: FxHashMap<ExprId, (Root, i64)> = FxHashMap::default();
    let mut tolerance = Tolerance::default();
    let mut varies = false;
    for (&base, of_base) in &bases {
        let Some(root) = Root::of(of_base) else { continue };
        let changes: Vec<f64> = of_base.iter().map(|power| root.change(power)).filter(|&change| change > 0.0).collect();
        if (!changes.is_empty() && !may_round) || !root.pays(&kernel, of_base) {
            continue;
        }
        varies |= below(&kernel.exprs, [base]).into_iter().any(|id| matches!(kernel.exprs[id], Expr::Iname(_)));
        tolerance.n_changed += changes.len();
        tolerance.largest_change = changes.into_iter().fold(tolerance.largest_change, f64::max);
        powers.extend(of_base.iter().map(|power| (power.id, (root, root.times(power.fraction)))));
    }
    if powers.is_empty() {
        return None;
    }
    let square_root = kernel.function("sqrt");
    kernel.rewrite(|exprs, old, new| match (powers.get(&old), new.children().first()) {
        (Some(&(root, times)), Some(&base)) => {
            let value = root.write(exprs, base, square_root);
            if times == 1 {
                return value;
            }
            let exponent = exprs.int(times);
            exprs.op(Op::Pow, [value, exponent])
        }
        _ => exprs.intern(new),
    });
    let linearized = LinearizedKernel { kernel, linearization: linearized.linearization.clone() };
    Some(CommonRoots { linearized, tolerance, varies })
}

/// A power whose exponent is a fraction.
struct Power {
    id: ExprId,
    /// The exponent as the kernel has it.
    exponent: f64,
    fraction: Fraction,
}

/// The base and the exponent of a power with a constant exponent; of a square root, too.
fn power(kernel: &Kernel, id: ExprId) -> Option<(ExprId, f64)> {
    let name = |function: FunctionId| kernel.functions[function.index()].as_str();
    let (base, exponent) = match &kernel.exprs[id] {
        Expr::Op { op: Op::Pow, operands } => (operands[0], operands[1]),
        Expr::Call { function, arguments } => match (name(*function), &**arguments) {
            ("sqrt", &[base]) => return Some((base, 0.5)),
            ("pow", &[base, exponent]) => (base, exponent),
            _ => return None,
        },
        _ => return None,
    };
    Some((base, kernel.exprs.literal(exponent)?))
}

/// A fraction in lowest terms that is no whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    numerator: i64,
    denominator: i64,
}

impl Fraction {
    /// The fraction with the least denominator that a float stands for.
    fn of(value: f64) -> Option<Self> {
        if value.fract() == 0.0 || value.abs() > (MAX_POWER / 2) as f64 {
            return None;
        }
        (2..=MAX_DENOMINATOR).find_map(|denominator| {
            let numerator = (value * denominator as f64).round();
            let change = (numerator / denominator as f64 - value).abs();
            (change <= MAX_CHANGE * value.abs()).then_some(Self { numerator: numerator as i64, denominator })
        })
    }
}

/// The root that powers of one base have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Root(Fraction);

impl Root {
    /// `None` if some power of it would be too high.
    fn of(powers: &[Power]) -> Option<Self> {
        let fractions = || powers.iter().map(|power| power.fraction);
        let denominator = fractions().fold(1, |known: i64, next| known.lcm(&next.denominator));
        let of_denominator = |fraction: Fraction| fraction.numerator * (denominator / fraction.denominator);
        let divisor = fractions().map(of_denominator).fold(0, |known, next| known.gcd(&next));
        let n_negative = fractions().filter(|fraction| fraction.numerator < 0).count();
        let numerator = match denominator {
            2 | 4 => 1,
            // Where most powers are quotients, the root is a quotient, too.
            _ if 2 * n_negative > powers.len() => -divisor,
            _ => divisor,
        };
        let root = Self(Fraction { numerator, denominator });
        fractions().all(|fraction| root.times(fraction).abs() <= MAX_POWER).then_some(root)
    }

    /// Which power of the root a power is.
    fn times(self, power: Fraction) -> i64 {
        power.numerator * self.0.denominator / (power.denominator * self.0.numerator)
    }

    /// The exponent of the root.
    fn exponent(self) -> f64 {
        self.0.numerator as f64 / self.0.denominator as f64
    }

    /// How far a power is from what the root gives, relative to its exponent.
    fn change(self, power: &Power) -> f64 {
        (self.times(power.fraction) as f64).mul_add(self.exponent(), -power.exponent).abs() / power.exponent.abs()
    }

    /// Whether the root and its powers cost less than the powers do now.
    fn pays(self, kernel: &Kernel, powers: &[Power]) -> bool {
        let cost = |power: &Power| match kernel.exprs[power.id] {
            Expr::Call { ref arguments, .. } if arguments.len() == 1 => 1,
            _ => POWER_OPERATIONS,
        };
        let now: u64 = powers.iter().map(cost).sum();
        let of_root = self.n_square_roots().map_or(POWER_OPERATIONS, u64::from);
        let whole = |power: &Power| whole_power_operations(self.times(power.fraction));
        of_root + powers.iter().map(whole).sum::<u64>() < now
    }

    /// How many square roots one after the other it is; `None` if it is something else.
    fn n_square_roots(self) -> Option<u32> {
        matches!(self.0.denominator, 2 | 4).then(|| self.0.denominator.ilog2())
    }

    fn write(self, exprs: &mut Exprs, base: ExprId, square_root: FunctionId) -> ExprId {
        if let Some(n) = self.n_square_roots() {
            return (0..n).fold(base, |value, _| {
                exprs.intern(Expr::Call { function: square_root, arguments: Box::new([value]) })
            });
        }
        let exponent = exprs.float(Float::new(self.exponent()).expect("a quotient of small numbers is finite"));
        exprs.op(Op::Pow, [base, exponent])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(value: f64) -> Option<(i64, i64)> {
        Fraction::of(value).map(|fraction| (fraction.numerator, fraction.denominator))
    }

    fn root(exponents: &[f64]) -> Option<(f64, Vec<i64>)> {
        let power = |&exponent: &f64| {
            let fraction = Fraction::of(exponent).expect("the exponent is a fraction");
            Power { id: ExprId::new(0), exponent, fraction }
        };
        let powers: Vec<Power> = exponents.iter().map(power).collect();
        let root = Root::of(&powers)?;
        Some((root.exponent(), powers.iter().map(|power| root.times(power.fraction)).collect()))
    }

    #[test]
    fn floats_are_fractions() {
        assert_eq!(fraction(-0.6666666666666666), Some((-2, 3)));
        assert_eq!(fraction(1.6666666666666665), Some((5, 3)));
        assert_eq!(fraction(0.75), Some((3, 4)));
        assert_eq!(fraction(2.0), None);
        assert_eq!(fraction(0.3333), None);
        assert_eq!(fraction(f64::NAN), None);
        assert_eq!(fraction(f64::INFINITY), None);
    }

    #[test]
    fn powers_have_the_greatest_root() {
        assert_eq!(root(&[0.5, 1.5]), Some((0.5, vec![1, 3])));
        assert_eq!(root(&[1.5]), Some((0.5, vec![3])));
        assert_eq!(root(&[-0.25, -1.25, 0.5]), Some((0.25, vec![-1, -5, 2])));
        assert_eq!(root(&[2.0 / 3.0, 4.0 / 3.0]), Some((2.0 / 3.0, vec![1, 2])));
        assert_eq!(root(&[-2.0 / 3.0, -5.0 / 3.0]), Some((-1.0 / 3.0, vec![2, 5])));
        assert_eq!(root(&[0.1, 5.0 / 11.0]), None);
    }
}
