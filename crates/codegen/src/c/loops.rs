//! Loop headers and guards.
//!
//! # Input
//! A kernel's domains, an iname, and the inames whose loops are open around it.
//! # Output
//! A `for` header that runs the iname over exactly the values that its domain has for the open inames, with a guard inside where
//! bounds and a stride do not say everything, and a condition around it where the domain has points for some outer values only and the
//! bounds do not say so.
//! # Method
//! isl's bounds of the projection ([`nestegg_isl::Set::loop_bounds`]); divisions round as the bounds need, whatever the sign. Inames
//! whose domains have nothing to do with this one are left out.
//! # Complexity
//! One projection for each (iname, connected open inames); kept.

use std::rc::Rc;

use nestegg_ir::domains::Domains;
use nestegg_ir::{Dtype, InameId, InameSet, InameTag, Kernel, ParameterId};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::error::CodegenError;
use super::helpers::Helpers;
use super::layout::Code;
use super::literal::long;
use super::symbols::Symbols;
use super::text::{Precedence, Text, type_name};

/// A loop as C.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// `for (…)`.
    pub(crate) head: String,
    /// What must hold around the loop.
    pub(crate) entry: Option<String>,
    /// What must hold besides, inside the loop.
    pub(crate) guard: Option<String>,
    /// How often it runs, where that is a number.
    pub(crate) trip_count: Option<i64>,
    /// What the loop is marked with in C.
    pub(crate) mark: Option<Mark>,
}

impl Loop {
    /// The loop with its guard and hints around a body.
    pub(crate) fn around(&self, body: Vec<Code>) -> Vec<Code> {
        let body = match &self.guard {
            Some(guard) => vec![Code::Block { head: format!("if ({guard})"), body }],
            None => body,
        };
        let mut res = Vec::new();
        match self.mark {
            Some(Mark::Vec) => res.push(Code::line(VEC)),
            Some(Mark::Unroll) if self.trip_count.is_some_and(|n| (1..=MAX_UNROLL).contains(&n)) => {
                res.push(Code::line(UNROLL));
            }
            Some(Mark::Parallel) => res.push(Code::Comment("iterations may run in parallel".to_owned())),
            Some(Mark::Unroll) | None => {}
        }
        res.push(Code::Block { head: self.head.clone(), body });
        match &self.entry {
            Some(entry) => vec![Code::Block { head: format!("if ({entry})"), body: res }],
            None => res,
        }
    }
}

/// The macro before a loop whose iterations do not depend on each other.
pub(crate) const VEC: &str = "NESTEGG_VEC";
/// The macro before a loop to be unrolled.
pub(crate) const UNROLL: &str = "NESTEGG_UNROLL";
/// The longest loop that is unrolled on request.
const MAX_UNROLL: i64 = 64;
/// What the macros are, where the compiler is known to take the hint without complaint.
pub(crate) const MARKS: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#define NESTEGG_VEC _Pragma(\"GCC ivdep\")
#define NESTEGG_UNROLL _Pragma(\"GCC unroll 64\")
#else
#define NESTEGG_VEC
#define NESTEGG_UNROLL
#endif
";

/// A hint to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// No iteration depends on another.
    Vec,
    /// Unroll fully.
    Unroll,
    /// Iterations may run in parallel; a comment only.
    Parallel,
}

/// Makes loops and keeps them.
#[derive(Debug)]
pub(crate) struct Loops {
    domains: Domains,
    known: FxHashMap<(InameId, InameSet), Rc<Loop>>,
    non_negative: FxHashMap<String, bool>,
}

impl Loops {
    /// The loops of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Result<Self, CodegenError> {
        let domains = Domains::new(&isl::Context::new(), kernel)?;
        Ok(Self { domains, known: FxHashMap::default(), non_negative: FxHashMap::default() })
    }

    /// The loop over `iname` inside loops over `open`.
    pub(crate) fn of(
        &mut self,
        kernel: &Kernel,
        symbols: &Symbols,
        helpers: &mut Helpers,
        iname: InameId,
        open: &[InameId],
    ) -> Result<Rc<Loop>, CodegenError> {
        let component = symbols.component[iname.index()];
        let outer: InameSet = open
            .iter()
            .copied()
            .filter(|&other| other != iname && symbols.component[other.index()] == component)
            .collect();
        if let Some(known) = self.known.get(&(iname, outer.clone())) {
            return Ok(known.clone());
        }
        let mut all = outer.clone();
        all.insert(iname);
        let name = kernel[iname].name.as_str();
        let failed = |error| CodegenError::Bounds { iname: name.to_owned(), error };
        let outer_names: Vec<&str> = outer.iter().map(|other| kernel[other].name.as_str()).collect();
        let set = self.domains.of(&all)?;
        let around = self.domains.of(&outer)?;
        let bounds = set.loop_bounds(name, &outer_names).map_err(failed)?;
        let entry = entry_condition(&set, &around, name, &outer_names, &bounds).map_err(failed)?;
        let mut spelling = Spelling { kernel, symbols, helpers, loops: self };
        let mut res = spelling.spell(iname, &bounds).map_err(failed)?;
        if let Some(entry) = entry {
            res.entry = Some(spelling.guard(&entry));
            res.trip_count = None;
        }
        res.mark = mark(&kernel[iname].tags);
        let res = Rc::new(res);
        self.known.insert((iname, outer), res.clone());
        Ok(res)
    }

    /// Whether an iname or parameter, by name, is never negative.
    fn is_non_negative(&mut self, kernel: &Kernel, name: &str) -> bool {
        if let Some(&known) = self.non_negative.get(name) {
            return known;
        }
        let res = match kernel.iname_ids().find(|&iname| kernel[iname].name == name) {
            Some(iname) => self.iname_is_non_negative(iname, name),
            None => self.parameter_is_non_negative(name),
        };
        self.non_negative.insert(name.to_owned(), res);
        res
    }

    fn iname_is_non_negative(&self, iname: InameId, name: &str) -> bool {
        let least = self.domains.of(&[iname].into_iter().collect()).and_then(|set| Ok(set.dim_min_val(name)?));
        matches!(least, Ok(Some(least)) if least >= 0)
    }

    fn parameter_is_non_negative(&self, name: &str) -> bool {
        let Some(assumptions) = self.domains.assumptions() else { return false };
        isl::Set::parse(self.domains.context(), &format!("[{name}] -> {{ : {name} >= 0 }}"))
            .and_then(|set| assumptions.is_subset(&set))
            .unwrap_or(false)
    }

    /// Whether an iname is never negative.
    pub(crate) fn non_negative_iname(&mut self, kernel: &Kernel, iname: InameId) -> bool {
        self.is_non_negative(kernel, &kernel[iname].name)
    }

    /// Whether a parameter is never negative.
    pub(crate) fn non_negative_parameter(&mut self, kernel: &Kernel, parameter: ParameterId) -> bool {
        self.is_non_negative(kernel, &kernel[parameter].name)
    }
}

fn mark(tags: &[InameTag]) -> Option<Mark> {
    tags.iter()
        .filter_map(|tag| match tag {
            InameTag::Vec => Some(Mark::Vec),
            InameTag::Unroll => Some(Mark::Unroll),
            InameTag::Parallel => Some(Mark::Parallel),
            InameTag::Sequential => None,
        })
        .min()
}

/// What must hold of outer values and parameters before the loop is entered: bounds are those of a domain's projection, and
/// hold only where it has points at all. `None` where the bounds themselves leave nothing to run elsewhere.
fn entry_condition(
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

/// Writes bounds; exists only while a loop is made.
struct Spelling<'a> {
    kernel: &'a Kernel,
    symbols: &'a Symbols,
    helpers: &'a mut Helpers,
    loops: &'a mut Loops,
}

impl Spelling<'_> {
    fn spell(&mut self, iname: InameId, bounds: &isl::Bounds) -> Result<Loop, isl::Error> {
        let dtype = self.symbols.iname_dtype(iname);
        let name = &self.symbols.inames[iname.index()];
        let lower = rounded(&bounds.lower, isl::Bound::ceil)?;
        let upper = rounded(&bounds.upper, isl::Bound::floor)?;
        let constants = (constant(&lower, true), constant(&upper, false));
        let start = self.extremum(&lower, true, dtype);
        let (start, step) = match &bounds.stride {
            None => (start, format!("++{name}")),
            Some(stride) => {
                (self.aligned(start, constants.0, stride, dtype)?, format!("{name} += {}", long(stride.modulus).text))
            }
        };
        let end = match self.exclusive(&upper)? {
            Some(end) => format!("{name} < {}", self.affine(&end, dtype).at_least(Precedence::Sum)),
            None => format!("{name} <= {}", self.extremum(&upper, false, dtype).at_least(Precedence::Sum)),
        };
        let head = format!("for ({} {name} = {}; {end}; {step})", type_name(dtype), start.text);
        let guard = if bounds.exact { None } else { Some(self.guard(&bounds.guard)) };
        let trip_count = match (constants, &bounds.stride, bounds.exact) {
            ((Some(from), Some(to)), None, true) => Some(to.saturating_sub(from).saturating_add(1).max(0)),
            _ => None,
        };
        Ok(Loop { head, entry: None, guard, trip_count, mark: None })
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
    fn guard(&mut self, disjunction: &[isl::Conjunction]) -> String {
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
    fn affine(&mut self, affine: &isl::Affine, dtype: Dtype) -> Text {
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
