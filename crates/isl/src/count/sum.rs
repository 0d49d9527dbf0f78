//! Counting the integer solutions of a system by summing variables away.
//!
//! # Method
//! `total(system, p)` is the sum of the polynomial `p` over the solutions; the count is the total of 1. While variables are left:
//! - An equality with a unit coefficient replaces its variable. One without is first reduced by Euclid's algorithm: substituting
//!   `p - Σ q·v` for `p` is a bijection of the integers and leaves remainders as coefficients.
//! - If `p` is constant and the variables fall into groups without common constraints, the groups' counts are multiplied.
//! - A variable all of whose bounds have unit coefficients is summed: where the i-th lower bound is the greatest and the j-th
//!   upper bound the least (the first of equal ones), its sum is a polynomial in the others, by Faulhaber's formula.
//! - Otherwise bounds are rounded quotients: another variable is split by its residue modulo the divisor, or by its value if it has few.
//!   Before a split into many pieces isl says which values the variables really take.
//!
//! The recursion is as deep as there are variables, times the splits of each.

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::context::Context;
use crate::count::exact;
use crate::count::polynomial::Polynomial;
use crate::count::system::{Intervals, Row, System};
use crate::error::{Error, Result};

/// What a count may use.
pub(super) struct Limits<'a> {
    /// Where isl is asked.
    pub(super) context: &'a Context,
    /// Systems still allowed.
    pub(super) pieces: u64,
}

/// The number of solutions.
pub(super) fn count(system: System, limits: &mut Limits<'_>) -> Result<BigUint> {
    let one = Polynomial::constant(system.n(), BigRational::one());
    let total = total(system, one, limits)?;
    let whole = total.is_integer().then(|| total.to_integer().to_biguint()).flatten();
    whole.ok_or_else(|| Error::Isl(format!("a count came out as {total}")))
}

/// The sum of `summand` over the solutions.
fn total(mut system: System, mut summand: Polynomial, limits: &mut Limits<'_>) -> Result<BigRational> {
    limits.pieces =
        limits.pieces.checked_sub(1).ok_or_else(|| Error::LimitExceeded("too many pieces in a count".to_string()))?;
    if !system.normalize()? {
        return Ok(BigRational::zero());
    }
    while let Some(row) = system.equalities.pop() {
        use_equality(&mut system, &mut summand, row)?;
        if !system.normalize()? {
            return Ok(BigRational::zero());
        }
    }
    let constant = summand.as_constant();
    if system.live().next().is_none() {
        return Ok(constant.unwrap_or_else(BigRational::zero));
    }
    if let (Some(factor), Some(points)) = (&constant, system.points_of_box()) {
        return Ok(factor * BigRational::from_integer(points));
    }
    if let Some(factor) = constant {
        let groups = groups(&system);
        if groups.len() > 1 {
            let mut product = factor;
            for group in groups {
                let one = Polynomial::constant(system.n(), BigRational::one());
                product *= total(group, one, limits)?;
                if product.is_zero() {
                    break;
                }
            }
            return Ok(product);
        }
    }
    let intervals = system.intervals();
    let step = match choose(&system, &intervals)? {
        Some(step) => step,
        None => match split(&system, &intervals)? {
            step if step.pieces() <= MOST_VALUES => step,
            _ => match exact::intervals(limits.context, &system)? {
                Some(intervals) => split(&system, &intervals)?,
                None => return Ok(BigRational::zero()),
            },
        },
    };
    match step {
        Step::Sum(var) => sum_over(&system, var, &summand, limits),
        Step::Residues { var, modulus } => {
            let mut sum = BigRational::zero();
            for residue in 0..modulus {
                let mut value = Row::constant(system.n(), residue);
                value.coefficients[var] = modulus;
                let mut piece = system.clone();
                piece.substitute(var, &value)?;
                sum += total(piece, summand.substitute(var, &value), limits)?;
            }
            Ok(sum)
        }
        Step::Values { var, least, greatest } => {
            let mut sum = BigRational::zero();
            for number in least..=greatest {
                let value = Row::constant(system.n(), number);
                let mut piece = system.clone();
                piece.substitute(var, &value)?;
                piece.alive[var] = false;
                sum += total(piece, summand.substitute(var, &value), limits)?;
            }
            Ok(sum)
        }
    }
}

/// Eliminates a variable by an equality, or makes its coefficients smaller and puts it back.
fn use_equality(system: &mut System, summand: &mut Polynomial, row: Row) -> Result<()> {
    let Some(var) = row.variables().min_by_key(|at| row.coefficients[*at].unsigned_abs()) else {
        return Ok(());
    };
    let coefficient = row.coefficients[var];
    let value = if coefficient.abs() == 1 {
        let mut value = row.scale(-coefficient)?;
        value.coefficients[var] = 0;
        system.alive[var] = false;
        value
    } else {
        let mut value = Row::constant(system.n(), 0);
        for other in row.variables() {
            value.coefficients[other] = -row.coefficients[other].div_euclid(coefficient);
        }
        value.coefficients[var] = 1;
        system.equalities.push(row);
        value
    };
    system.substitute(var, &value)?;
    *summand = summand.substitute(var, &value);
    Ok(())
}

/// The groups of live variables that no constraint connects, each with its constraints.
fn groups(system: &System) -> Vec<System> {
    let mut group_of: Vec<usize> = (0..system.n()).collect();
    for row in &system.inequalities {
        let mut variables = row.variables().map(|var| group_of[var]);
        let Some(first) = variables.next() else { continue };
        let others: Vec<usize> = variables.collect();
        for group in &mut group_of {
            if others.contains(group) {
                *group = first;
            }
        }
    }
    let mut representatives: Vec<usize> = system.live().map(|var| group_of[var]).collect();
    representatives.sort_unstable();
    representatives.dedup();
    let of_group = |group: usize| System {
        alive: (0..system.n()).map(|var| system.alive[var] && group_of[var] == group).collect(),
        equalities: Vec::new(),
        inequalities: system
            .inequalities
            .iter()
            .filter(|row| row.variables().any(|var| group_of[var] == group))
            .cloned()
            .collect(),
    };
    representatives.into_iter().map(of_group).collect()
}

/// What to do next.
enum Step {
    /// Sum a variable, all of whose coefficients are units.
    Sum(usize),
    /// Split by the residue of a variable.
    Residues { var: usize, modulus: i128 },
    /// Split by the value of a variable.
    Values { var: usize, least: i128, greatest: i128 },
}

impl Step {
    /// The number of systems that a split makes.
    fn pieces(&self) -> i128 {
        match self {
            Step::Sum(_) => 1,
            Step::Residues { modulus, .. } => *modulus,
            Step::Values { least, greatest, .. } => greatest.saturating_sub(*least).saturating_add(1),
        }
    }
}

/// A variable with more values than this is not split by value where it can be summed; a split into more pieces is worth asking isl first.
const MOST_VALUES: i128 = 16;

/// The variable with the fewest regions among those that can be summed, or values among those with few. Ties: the last variable,
/// for inner loops have the simpler bounds. `None` if there is neither.
fn choose(system: &System, intervals: &Intervals) -> Result<Option<Step>> {
    let mut best: Option<(i128, Step)> = None;
    for var in system.live() {
        let coefficients = || system.inequalities.iter().map(|row| row.coefficients[var]).filter(|c| *c != 0);
        let lower = coefficients().filter(|c| *c > 0).count();
        let upper = coefficients().filter(|c| *c < 0).count();
        if lower == 0 || upper == 0 {
            return Err(Error::Unbounded);
        }
        let regions = i128::try_from(lower * upper).unwrap_or(i128::MAX);
        if coefficients().all(|c| c.abs() == 1) && best.as_ref().is_none_or(|(cost, _)| regions <= *cost) {
            best = Some((regions, Step::Sum(var)));
        }
        if let (Some(least), Some(greatest)) = intervals[var] {
            let values = greatest.saturating_sub(least).saturating_add(1).max(1);
            if values <= MOST_VALUES && best.as_ref().is_none_or(|(cost, _)| values < *cost) {
                best = Some((values, Step::Values { var, least, greatest }));
            }
        }
    }
    Ok(best.map(|(_, step)| step))
}

/// The split for the variable whose rounded bounds need the fewest residues or values in all. With coarse intervals moduli multiply
/// where a few values would do, which is why a large split is decided on exact ones.
fn split(system: &System, intervals: &Intervals) -> Result<Step> {
    let pieces_of = |var: usize, modulus: i128| match intervals[var] {
        (Some(least), Some(greatest)) => modulus.min(greatest.saturating_sub(least).saturating_add(1).max(1)),
        _ => modulus,
    };
    let mut best: Option<(i128, usize, i128)> = None;
    for var in system.live() {
        let mut moduli: Vec<i128> = vec![1; system.n()];
        for row in system.inequalities.iter().filter(|row| row.coefficients[var].abs() > 1) {
            let divisor = row.coefficients[var].abs();
            for other in row.variables().filter(|other| *other != var) {
                moduli[other] = moduli[other].lcm(&(divisor / divisor.gcd(&row.coefficients[other])));
            }
        }
        let mut cost: i128 = 1;
        let mut least: Option<(i128, usize, i128)> = None;
        for other in (0..system.n()).filter(|other| moduli[*other] > 1) {
            let pieces = pieces_of(other, moduli[other]);
            cost = cost.saturating_mul(pieces);
            if least.is_none_or(|(fewest, ..)| pieces < fewest) {
                least = Some((pieces, other, moduli[other]));
            }
        }
        if let Some((_, other, modulus)) = least
            && best.is_none_or(|(lowest, ..)| cost <= lowest)
        {
            best = Some((cost, other, modulus));
        }
    }
    let (_, var, modulus) = best.ok_or_else(|| Error::Isl("a count has nothing to split".to_string()))?;
    Ok(match intervals[var] {
        (Some(least), Some(greatest)) if greatest.saturating_sub(least) < modulus => {
            Step::Values { var, least, greatest }
        }
        _ => Step::Residues { var, modulus },
    })
}

/// Sums a variable whose bounds have unit coefficients, region by region.
fn sum_over(system: &System, var: usize, summand: &Polynomial, limits: &mut Limits<'_>) -> Result<BigRational> {
    let mut base = system.clone();
    base.alive[var] = false;
    base.inequalities.retain(|row| row.coefficients[var] == 0);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for row in system.inequalities.iter().filter(|row| row.coefficients[var] != 0) {
        let sign = row.coefficients[var];
        let mut bound = row.scale(-sign)?;
        bound.coefficients[var] = 0;
        if sign > 0 { lower.push(bound) } else { upper.push(bound) }
    }
    let prefix = summand.prefix_sum(var);
    let mut sum = BigRational::zero();
    for (i, least) in lower.iter().enumerate() {
        let mut below = least.clone();
        below.constant -= 1;
        let up_to_below = prefix.substitute(var, &below);
        for (j, greatest) in upper.iter().enumerate() {
            let mut region = base.clone();
            region.inequalities.push(greatest.add_scaled(least, -1)?);
            for (k, other) in lower.iter().enumerate().filter(|(k, _)| *k != i) {
                let mut margin = least.add_scaled(other, -1)?;
                margin.constant -= i128::from(k < i);
                region.inequalities.push(margin);
            }
            for (k, other) in upper.iter().enumerate().filter(|(k, _)| *k != j) {
                let mut margin = other.add_scaled(greatest, -1)?;
                margin.constant -= i128::from(k < j);
                region.inequalities.push(margin);
            }
            let value = prefix.substitute(var, greatest).sub(&up_to_below);
            sum += total(region, value, limits)?;
        }
    }
    Ok(sum)
}
