//! The bounds of a loop as C.
//!
//! # Input
//! isl's [`Bounds`](nestegg_isl::Bounds) of an iname in the projection of its domain.
//! # Output
//! The header of the loop, its guard, and the condition under which it may be entered. Divisions round as bounds need, whatever the sign;
//! where both sides of one cannot be negative it is C's own.
//! # Complexity
//! Linear in the bounds.

use nestegg_ir::{Dtype, InameId, Kernel};
use nestegg_isl as isl;

use super::helpers::Helpers;
use super::literal::long;
use super::loops::{Header, Loop, Loops};
use super::symbols::Symbols;
use super::text::{Precedence, Text};

/// Writes bounds; exists only while a loop is made.
pub(crate) struct Spelling<'a> {
    /// The kernel.
    pub(crate) kernel: &'a Kernel,
    /// Names.
    pub(crate) symbols: &'a Symbols,
    /// Helper functions used so far.
    pub(crate) helpers: &'a mut Helpers,
    /// What is known of the signs of inames and parameters.
    pub(crate) loops: &'a mut Loops,
}

impl Spelling<'_> {
    /// The loop over an iname.
    pub(crate) fn spell(&mut self, iname: InameId, bounds: &isl::Bounds) -> Result<Loop, isl::Error> {
        let dtype = self.symbols.iname_dtype(iname);
        let name = &self.symbols.inames[iname.index()];
        let lower = rounded(&bounds.lower, isl::Bound::ceil)?;
        let upper = rounded(&bounds.upper, isl::Bound::floor)?;
        let constants = (constant(&lower, true), constant(&upper, false));
        let start = self.extremum(&lower, true, dtype);
        let (start, step) = match &bounds.stride {
            None => (start, 1),
            Some(stride) => (self.aligned(start, constants.0, stride, dtype)?, stride.modulus),
        };
        let (end, is_inclusive) = match self.exclusive(&upper)? {
            Some(end) => (self.affine(&end, dtype), false),
            None => (self.extremum(&upper, false, dtype), true),
        };
        let header = Header { ty: dtype.c_name(), name: name.clone(), first: start.text, end, is_inclusive, step };
        let guard = if bounds.exact { None } else { Some(self.guard(&bounds.guard)) };
        let trip_count = match (constants, &bounds.stride, bounds.exact) {
            ((Some(from), Some(to)), None, true) => Some(to.saturating_sub(from).saturating_add(1).max(0)),
            _ => None,
        };
        Ok(Loop { header, entry: None, guard, trip_count, mark: None })
    }

    /// The bound after the last value, where that reads better than the last value.
    fn exclusive(&self, upper: &[Vec<isl::Affine>]) -> Result<Option<isl::Affine>, isl::Error> {
        match upper {
            [alternative] => match alternative.as_slice() {
                [last] if last.constant < 0 || last.as_constant().is_some() => {
                    last.add(&isl::Affine::constant(1)).map(Some)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The least or greatest alternative of the greatest or least bounds.
    fn extremum(&mut self, alternatives: &[Vec<isl::Affine>], lower: bool, dtype: Dtype) -> Text {
        let texts = alternatives
            .iter()
            .map(|bounds| {
                let texts = bounds.iter().map(|bound| self.affine(bound, dtype)).collect();
                self.helpers.extremum(!lower, texts, dtype)
            })
            .collect();
        self.helpers.extremum(lower, texts, dtype)
    }

    /// The first value at or after `start` on the stride.
    fn aligned(
        &mut self,
        start: Text,
        constant: Option<i64>,
        stride: &isl::Stride,
        dtype: Dtype,
    ) -> Result<Text, isl::Error> {
        if let (Some(first), Some(remainder)) = (constant, stride.remainder.as_constant()) {
            let off = (i128::from(remainder) - i128::from(first)).rem_euclid(i128::from(stride.modulus));
            if let Ok(first) = i64::try_from(i128::from(first) + off) {
                return Ok(long(first));
            }
        }
        let off = match (constant, stride.remainder.as_constant()) {
            (Some(0), _) => self.affine(&stride.remainder, dtype),
            (_, Some(0)) => Text::negation(start.clone()),
            _ => Text::difference(self.affine(&stride.remainder, dtype), start.clone()),
        };
        let off = self.helpers.floor_mod(off, long(stride.modulus), dtype, false);
        Ok(if constant == Some(0) { off } else { Text::sum(&[start, off]) })
    }

    /// One of the conjunctions holds.
    pub(crate) fn guard(&mut self, disjunction: &[isl::Conjunction]) -> String {
        let mut alternatives = Vec::with_capacity(disjunction.len());
        for conjunction in disjunction {
            let mut conditions = Vec::with_capacity(conjunction.len());
            for constraint in conjunction {
                conditions.push(self.condition(constraint));
            }
            alternatives.push(match conditions.len() {
                0 => return "true".to_owned(),
                1 => conditions.swap_remove(0),
                _ => Text::chain("&&", Precedence::And, Precedence::Comparison, &conditions),
            });
        }
        match alternatives.len() {
            0 => "false".to_owned(),
            1 => alternatives.swap_remove(0).text,
            _ => Text::chain("||", Precedence::Or, Precedence::Comparison, &alternatives).text,
        }
    }

    /// A constraint with positive coefficients on both sides, and the constant where no coefficient is.
    fn condition(&mut self, constraint: &isl::Constraint) -> Text {
        let affine = &constraint.affine;
        let mut sides = [isl::Affine::default(), isl::Affine::default()];
        for (name, coefficient) in &affine.terms {
            sides[usize::from(*coefficient < 0)].terms.push((name.clone(), coefficient.saturating_abs()));
        }
        for (floor, coefficient) in &affine.floors {
            sides[usize::from(*coefficient < 0)].floors.push((floor.clone(), coefficient.saturating_abs()));
        }
        let [mut left, mut right] = sides;
        let is_empty = |side: &isl::Affine| side.terms.is_empty() && side.floors.is_empty();
        let less = is_empty(&left) && !is_empty(&right);
        if is_empty(&right) || (!less && affine.constant < 0) {
            right.constant = affine.constant.saturating_neg();
        } else {
            left.constant = affine.constant;
        }
        let dtype = if self.is_wide(affine) { Dtype::Int64 } else { Dtype::Int32 };
        let operator = match (constraint.relation, less) {
            (isl::Relation::Equality, _) => "==",
            (isl::Relation::Inequality, false) => ">=",
            (isl::Relation::Inequality, true) => "<=",
        };
        if less {
            std::mem::swap(&mut left, &mut right);
        }
        let sides = [self.affine(&left, dtype), self.affine(&right, dtype)];
        Text::chain(operator, Precedence::Comparison, Precedence::Sum, &sides)
    }

    fn is_wide(&self, affine: &isl::Affine) -> bool {
        affine.names().into_iter().any(|name| self.symbols.integer(name).1)
    }

    /// An affine expression; `dtype` is that of the loop variable.
    pub(crate) fn affine(&mut self, affine: &isl::Affine, dtype: Dtype) -> Text {
        let mut terms = Vec::with_capacity(affine.terms.len() + affine.floors.len() + 1);
        for (name, coefficient) in &affine.terms {
            let name = Text::primary(self.symbols.integer(name).0);
            terms.push((name, *coefficient));
        }
        for (floor, coefficient) in &affine.floors {
            let numerator = self.affine(&floor.numerator, dtype);
            let plain = self.is_non_negative(&floor.numerator);
            let quotient = self.helpers.floor_div(numerator, long(floor.denominator), dtype, plain);
            terms.push((quotient, *coefficient));
        }
        // A positive term first reads better than a leading minus.
        if let Some(at) = terms.iter().position(|term| term.1 > 0) {
            let first = terms.remove(at);
            terms.insert(0, first);
        }
        let mut texts: Vec<Text> = terms
            .into_iter()
            .map(|(text, coefficient)| match coefficient {
                1 => text,
                -1 => Text::negation(text),
                _ => Text::product(&[long(coefficient), text]),
            })
            .collect();
        if affine.constant != 0 || texts.is_empty() {
            texts.push(long(affine.constant));
        }
        if texts.len() == 1 { texts.swap_remove(0) } else { Text::sum(&texts) }
    }

    fn is_non_negative(&mut self, affine: &isl::Affine) -> bool {
        affine.constant >= 0
            && affine.terms.iter().all(|term| term.1 >= 0 && self.loops.is_non_negative(self.kernel, &term.0))
            && affine
                .floors
                .iter()
                .all(|(floor, coefficient)| *coefficient >= 0 && self.is_non_negative(&floor.numerator))
    }
}

/// What must hold of outer values and parameters before the loop is entered: bounds are those of a domain's projection, and
/// hold only where it has points at all. `None` where the bounds themselves leave nothing to run elsewhere.
pub(crate) fn entry_condition(
    set: &isl::Set,
    around: &isl::Set,
    name: &str,
    outer: &[&str],
    bounds: &isl::Bounds,
) -> isl::Result<Option<Vec<isl::Conjunction>>> {
    let around = around.project_onto(outer)?;
    let inside = set.project_onto(outer)?;
    if around.is_subset(&inside)? {
        return Ok(None);
    }
    if let (true, [lower], [upper]) = (bounds.exact, bounds.lower.as_slice(), bounds.upper.as_slice()) {
        let names: Vec<&str> = outer.iter().copied().chain([name]).collect();
        let set = set.project_onto(&names)?;
        let parameters = set.param_names()?;
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let between = around.insert_dims(outer.len(), &[name])?.with_params(&parameters)?;
        let between = between.constrain(&conditions(name, lower, upper, bounds.stride.as_ref())?)?;
        if between.is_subset(&set)? {
            return Ok(None);
        }
    }
    inside.gist(&around)?.coalesce()?.constraints().map(Some)
}

/// What a loop's bounds and stride say of its variable.
fn conditions(
    name: &str,
    lower: &[isl::Bound],
    upper: &[isl::Bound],
    stride: Option<&isl::Stride>,
) -> isl::Result<Vec<isl::Constraint>> {
    let mut res = Vec::with_capacity(lower.len() + upper.len() + 1);
    for (bounds, sign) in [(lower, 1), (upper, -1)] {
        for bound in bounds {
            let distance = isl::Affine::var(name).scale(bound.denominator)?.sub(&bound.numerator)?;
            res.push(isl::Constraint::inequality(distance.scale(sign)?));
        }
    }
    if let Some(stride) = stride {
        let off = isl::Affine::var(name).sub(&stride.remainder)?;
        let multiple = off.floor_div(stride.modulus)?.scale(stride.modulus)?;
        res.push(isl::Constraint::equality(off.sub(&multiple)?));
    }
    Ok(res)
}

/// Bounds rounded to integers; of several numbers in one alternative only one is kept by [`constant`] rules.
fn rounded(
    alternatives: &[Vec<isl::Bound>],
    round: impl Fn(&isl::Bound) -> isl::Result<isl::Affine>,
) -> isl::Result<Vec<Vec<isl::Affine>>> {
    alternatives
        .iter()
        .map(|bounds| {
            let mut all = bounds.iter().map(&round).collect::<isl::Result<Vec<_>>>()?;
            all.sort();
            all.dedup();
            Ok(all)
        })
        .collect()
}

/// The value of a bound all of whose parts are numbers.
fn constant(alternatives: &[Vec<isl::Affine>], lower: bool) -> Option<i64> {
    let extremum =
        |values: Vec<i64>, least: bool| if least { values.into_iter().min() } else { values.into_iter().max() };
    let values = alternatives
        .iter()
        .map(|bounds| {
            let values = bounds.iter().map(isl::Affine::as_constant).collect::<Option<Vec<i64>>>()?;
            extremum(values, !lower)
        })
        .collect::<Option<Vec<i64>>>()?;
    extremum(values, lower)
}
