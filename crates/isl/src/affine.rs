//! Affine expressions, constraints and bounds as plain data over names, free of isl.
//!
//! # Invariants
//! [`Affine::terms`] is sorted by name, names are distinct, no coefficient is zero; [`Affine::floors`] is sorted, its floors are distinct,
//! no coefficient is zero and each denominator is at least 2. The constructors keep this, so equal data are equal expressions
//! (not conversely: `floor((2i)/4)` and `floor(i/2)` are different data). Arithmetic is checked: what exceeds 64 bits is an error.

use std::fmt::{self, Display, Formatter};

use crate::error::{Error, Result};

/// `constant + Σ coefficient·name + Σ coefficient·floor(…)`, with integer coefficients.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Affine {
    /// The constant term.
    pub constant: i64,
    /// Name and coefficient, by name.
    pub terms: Vec<(String, i64)>,
    /// Integer divisions and their coefficients.
    pub floors: Vec<(Floor, i64)>,
}

/// `floor(numerator / denominator)`, rounded towards minus infinity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Floor {
    /// What is divided.
    pub numerator: Box<Affine>,
    /// The divisor, at least 2.
    pub denominator: i64,
}

fn add(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or_else(|| Error::Overflow(format!("{a} + {b}")))
}

fn multiply(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or_else(|| Error::Overflow(format!("{a} * {b}")))
}

/// Merges two sorted lists of terms.
fn merge<K: Ord + Clone>(a: &[(K, i64)], b: &[(K, i64)]) -> Result<Vec<(K, i64)>> {
    let mut all: Vec<(K, i64)> = a.iter().chain(b).cloned().collect();
    all.sort_by(|x, y| x.0.cmp(&y.0));
    let mut merged: Vec<(K, i64)> = Vec::with_capacity(all.len());
    for (key, coefficient) in all {
        match merged.last_mut() {
            Some(last) if last.0 == key => last.1 = add(last.1, coefficient)?,
            _ => merged.push((key, coefficient)),
        }
    }
    merged.retain(|term| term.1 != 0);
    Ok(merged)
}

impl Affine {
    /// A number.
    pub fn constant(value: i64) -> Affine {
        Affine { constant: value, ..Affine::default() }
    }

    /// A dimension or parameter.
    pub fn var(name: &str) -> Affine {
        Affine { terms: vec![(name.to_string(), 1)], ..Affine::default() }
    }

    /// `constant + Σ coefficient·name`; a name may occur more than once.
    ///
    /// # Errors
    /// A coefficient that exceeds 64 bits.
    pub fn new(constant: i64, terms: impl IntoIterator<Item = (String, i64)>) -> Result<Affine> {
        let terms: Vec<_> = terms.into_iter().collect();
        Ok(Affine { constant, terms: merge(&terms, &[])?, floors: Vec::new() })
    }

    /// `floor(self / denominator)`, simplified where the denominator is 1 or divides every part.
    ///
    /// # Errors
    /// A denominator below 1.
    pub fn floor_div(&self, denominator: i64) -> Result<Affine> {
        if denominator < 1 {
            return Err(Error::Isl(format!("division by {denominator}")));
        }
        let divides = |c: i64| c % denominator == 0;
        if self.terms.iter().all(|t| divides(t.1)) && self.floors.iter().all(|f| divides(f.1)) {
            return Ok(Affine {
                constant: self.constant.div_euclid(denominator),
                terms: self.terms.iter().map(|(n, c)| (n.clone(), c / denominator)).collect(),
                floors: self.floors.iter().map(|(f, c)| (f.clone(), c / denominator)).collect(),
            });
        }
        let floor = Floor { numerator: Box::new(self.clone()), denominator };
        Ok(Affine { floors: vec![(floor, 1)], ..Affine::default() })
    }

    /// `ceil(self / denominator)`, which is `floor((self + denominator - 1) / denominator)`.
    ///
    /// # Errors
    /// A denominator below 1, or a constant that exceeds 64 bits.
    pub fn ceil_div(&self, denominator: i64) -> Result<Affine> {
        self.add(&Affine::constant(denominator.saturating_sub(1)))?.floor_div(denominator)
    }

    /// `self + other`.
    ///
    /// # Errors
    /// A coefficient that exceeds 64 bits.
    pub fn add(&self, other: &Affine) -> Result<Affine> {
        Ok(Affine {
            constant: add(self.constant, other.constant)?,
            terms: merge(&self.terms, &other.terms)?,
            floors: merge(&self.floors, &other.floors)?,
        })
    }

    /// `self - other`.
    ///
    /// # Errors
    /// A coefficient that exceeds 64 bits.
    pub fn sub(&self, other: &Affine) -> Result<Affine> {
        self.add(&other.scale(-1)?)
    }

    /// `factor * self`.
    ///
    /// # Errors
    /// A coefficient that exceeds 64 bits.
    pub fn scale(&self, factor: i64) -> Result<Affine> {
        if factor == 0 {
            return Ok(Affine::default());
        }
        let mut scaled = self.clone();
        scaled.constant = multiply(scaled.constant, factor)?;
        for (_, coefficient) in &mut scaled.terms {
            *coefficient = multiply(*coefficient, factor)?;
        }
        for (_, coefficient) in &mut scaled.floors {
            *coefficient = multiply(*coefficient, factor)?;
        }
        Ok(scaled)
    }

    /// The coefficient of `name` outside floors; zero if it does not occur there.
    pub fn coefficient(&self, name: &str) -> i64 {
        self.terms.binary_search_by(|term| term.0.as_str().cmp(name)).map_or(0, |at| self.terms[at].1)
    }

    /// The value, if this is a number.
    pub fn as_constant(&self) -> Option<i64> {
        (self.terms.is_empty() && self.floors.is_empty()).then_some(self.constant)
    }

    /// The name, if this is one name and nothing else.
    pub fn as_var(&self) -> Option<&str> {
        match (self.constant, self.terms.as_slice(), self.floors.is_empty()) {
            (0, [(name, 1)], true) => Some(name),
            _ => None,
        }
    }

    /// All names that occur, those inside floors too, sorted and distinct.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut open = vec![self];
        while let Some(affine) = open.pop() {
            names.extend(affine.terms.iter().map(|term| term.0.as_str()));
            open.extend(affine.floors.iter().map(|floor| &*floor.0.numerator));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether `name` occurs, inside floors too.
    pub fn involves(&self, name: &str) -> bool {
        self.names().binary_search(&name).is_ok()
    }

    /// Replaces names by expressions, all at once.
    ///
    /// # Errors
    /// A coefficient that exceeds 64 bits.
    pub fn substitute(&self, replacement: &dyn Fn(&str) -> Option<Affine>) -> Result<Affine> {
        let mut sum = Affine::constant(self.constant);
        for (name, coefficient) in &self.terms {
            let value = replacement(name).unwrap_or_else(|| Affine::var(name));
            sum = sum.add(&value.scale(*coefficient)?)?;
        }
        for (floor, coefficient) in &self.floors {
            let value = floor.numerator.substitute(replacement)?.floor_div(floor.denominator)?;
            sum = sum.add(&value.scale(*coefficient)?)?;
        }
        Ok(sum)
    }

    /// The value where `value` gives that of each name; `None` if a name has none or 64 bits are exceeded.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let mut sum = i128::from(self.constant);
        for (name, coefficient) in &self.terms {
            sum = sum.checked_add(i128::from(*coefficient) * i128::from(value(name)?))?;
        }
        for (floor, coefficient) in &self.floors {
            let quotient = floor.numerator.evaluate(value)?.div_euclid(floor.denominator);
            sum = sum.checked_add(i128::from(*coefficient) * i128::from(quotient))?;
        }
        i64::try_from(sum).ok()
    }
}

impl From<i64> for Affine {
    fn from(value: i64) -> Affine {
        Affine::constant(value)
    }
}

impl Display for Floor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "floor(({})/{})", self.numerator, self.denominator)
    }
}

/// Prints in isl's notation: `2i - j + 3*floor((i + 1)/4) + 7`.
impl Display for Affine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut sign = |f: &mut Formatter<'_>, negative: bool| -> fmt::Result {
            let text = match (first, negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            first = false;
            f.write_str(text)
        };
        for (name, coefficient) in &self.terms {
            sign(f, *coefficient < 0)?;
            match coefficient.unsigned_abs() {
                1 => write!(f, "{name}")?,
                c => write!(f, "{c}{name}")?,
            }
        }
        for (floor, coefficient) in &self.floors {
            sign(f, *coefficient < 0)?;
            match coefficient.unsigned_abs() {
                1 => write!(f, "{floor}")?,
                c => write!(f, "{c}*{floor}")?,
            }
        }
        if self.constant != 0 || (self.terms.is_empty() && self.floors.is_empty()) {
            sign(f, self.constant < 0)?;
            write!(f, "{}", self.constant.unsigned_abs())?;
        }
        Ok(())
    }
}

/// Whether a constraint says `= 0` or `>= 0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// `affine = 0`.
    Equality,
    /// `affine >= 0`.
    Inequality,
}

/// One affine condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Constraint {
    /// The left-hand side.
    pub affine: Affine,
    /// What is said of it.
    pub relation: Relation,
}

impl Constraint {
    /// `affine = 0`.
    pub fn equality(affine: Affine) -> Constraint {
        Constraint { affine, relation: Relation::Equality }
    }

    /// `affine >= 0`.
    pub fn inequality(affine: Affine) -> Constraint {
        Constraint { affine, relation: Relation::Inequality }
    }

    /// Whether the constraint holds; `None` if a name has no value or 64 bits are exceeded.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<bool> {
        let left = self.affine.evaluate(value)?;
        Some(match self.relation {
            Relation::Equality => left == 0,
            Relation::Inequality => left >= 0,
        })
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::Equality => "=",
            Relation::Inequality => ">=",
        };
        write!(f, "{} {relation} 0", self.affine)
    }
}

/// Constraints that hold together: one convex piece of a set. No constraints: everything.
pub type Conjunction = Vec<Constraint>;
