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
use nestegg_ir::{ExprId, InameId, InameSet, InameTag, Kernel, ParameterId};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::bounds::{Spelling, entry_condition};
use super::error::CodegenError;
use super::helpers::Helpers;
use super::layout::Code;
use super::literal::long;
use super::symbols::Symbols;
use super::text::{Precedence, Text};

/// A loop as C.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// From where to where it runs.
    pub(crate) header: Header,
    /// What must hold around the loop.
    pub(crate) entry: Option<String>,
    /// What must hold besides, inside the loop.
    pub(crate) guard: Option<String>,
    /// How often it runs, where that is a number.
    pub(crate) trip_count: Option<i64>,
    /// What the loop is marked with in C.
    pub(crate) mark: Option<Mark>,
}

/// The header of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// The type of the iname.
    pub(crate) ty: &'static str,
    /// The iname.
    pub(crate) name: String,
    /// Its first value.
    pub(crate) first: String,
    /// The value after the last one, or the last.
    pub(crate) end: Text,
    /// Whether [`Header::end`] is the last value.
    pub(crate) is_inclusive: bool,
    /// From one value to the next.
    pub(crate) step: i64,
}

impl Header {
    /// `for (…)`.
    pub(crate) fn head(&self) -> String {
        let step = if self.step == 1 {
            format!("++{}", self.name)
        } else {
            format!("{} += {}", self.name, long(self.step).text)
        };
        format!("for ({}; {}; {step})", self.declaration(), self.condition())
    }

    /// `for (…)` over the values that are left, of a loop whose iname is declared around it.
    pub(crate) fn rest(&self) -> String {
        format!("for (; {}; ++{})", self.condition(), self.name)
    }

    /// `for (…)` over `n` values at once while so many are left, of a loop of step one whose iname is declared around it.
    pub(crate) fn in_steps(&self, n: usize) -> String {
        format!("for (; {}; {} += {n})", self.has_left(n), self.name)
    }

    /// The iname with its first value.
    pub(crate) fn declaration(&self) -> String {
        format!("{} {} = {}", self.ty, self.name, self.first)
    }

    /// Whether `n` values of a loop of step one are left, of which there is at least one.
    pub(crate) fn has_left(&self, n: usize) -> String {
        let least = if self.is_inclusive { n - 1 } else { n };
        format!("{} - {} >= {least}", self.end.at_least(Precedence::Sum), self.name)
    }

    fn condition(&self) -> String {
        let operator = if self.is_inclusive { "<=" } else { "<" };
        format!("{} {operator} {}", self.name, self.end.at_least(Precedence::Sum))
    }
}

impl Loop {
    /// The loop with its guard and hints around a body.
    pub(crate) fn around(&self, body: Vec<Code>) -> Vec<Code> {
        self.after(Vec::new(), body)
    }

    /// The loop without a guard in two parts: iterations that leave the iname at the next one, and the rest, if there is one.
    pub(crate) fn in_two(&self, first: Vec<Code>, rest: Option<Vec<Code>>) -> Vec<Code> {
        let mut body = vec![Code::line(format!("{};", self.header.declaration()))];
        body.extend(first);
        body.extend(rest.map(|rest| Code::Block { head: self.header.rest(), body: rest }));
        let head = self.entry.as_ref().map_or_else(String::new, |entry| format!("if ({entry})"));
        vec![Code::Block { head, body }]
    }

    /// The same, with lines right before it.
    pub(crate) fn after(&self, lines: Vec<Code>, body: Vec<Code>) -> Vec<Code> {
        let body = match &self.guard {
            Some(guard) => vec![Code::Block { head: format!("if ({guard})"), body }],
            None => body,
        };
        let mut res = Vec::new();
        match self.mark {
            // Iterations in any order are not iterations without dependences (`x += …`), which `ivdep` would promise.
            Some(Mark::Vec) => res.push(Code::Comment("iterations may run in vector lanes".to_owned())),
            Some(Mark::Unroll) if self.trip_count.is_some_and(|n| (1..=MAX_UNROLL).contains(&n)) => {
                res.push(Code::line(UNROLL));
            }
            Some(Mark::Parallel) if lines.is_empty() => {
                res.push(Code::Comment("iterations may run in parallel".to_owned()))
            }
            Some(Mark::Unroll | Mark::Parallel) | None => {}
        }
        res.extend(lines);
        res.push(Code::Block { head: self.header.head(), body });
        match &self.entry {
            Some(entry) => vec![Code::Block { head: format!("if ({entry})"), body: res }],
            None => res,
        }
    }
}

/// The macro before a loop to be unrolled.
pub(crate) const UNROLL: &str = "NESTEGG_UNROLL";
/// The longest loop that is unrolled on request.
const MAX_UNROLL: i64 = 64;
/// What the macro is, where the compiler is known to take the hint without complaint.
pub(crate) const MARKS: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#define NESTEGG_UNROLL _Pragma(\"GCC unroll 64\")
#else
#define NESTEGG_UNROLL
#endif
";

/// A hint to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Iterations may run in vector lanes; a comment only.
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

    /// Whether two elements of one array are [never the same](Domains::are_different) in the same iterations of the loops `outer`.
    pub(crate) fn are_different(&self, kernel: &Kernel, one: &[ExprId], other: &[ExprId], outer: &[InameId]) -> bool {
        self.domains.are_different(&kernel.exprs, one, other, outer)
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

    /// The number of lanes, and the last lane of a last block where blocks may be short; `None` if the lanes do not begin at 0 and end there.
    pub(crate) fn lanes(&self, kernel: &Kernel, lane: InameId, block: InameId) -> Option<(i64, Option<isl::Affine>)> {
        let set = self.domains.of(&[lane, block].into_iter().collect()).ok()?;
        let bounds = set.loop_bounds(&kernel[lane].name, &[&kernel[block].name]).ok()?;
        let ([lower], [upper]) = (bounds.lower.as_slice(), bounds.upper.as_slice()) else { return None };
        let [lower] = lower.as_slice() else { return None };
        if bounds.stride.is_some() || !bounds.exact || lower.ceil().ok()?.as_constant() != Some(0) {
            return None;
        }
        let upper: Vec<isl::Affine> = upper.iter().map(isl::Bound::floor).collect::<Result<_, _>>().ok()?;
        let (constant, other): (Vec<_>, Vec<_>) = upper.into_iter().partition(|bound| bound.as_constant().is_some());
        let [last] = constant.as_slice() else { return None };
        let mut other = other.into_iter();
        let limit = other.next();
        other.next().is_none().then_some((last.as_constant()?.checked_add(1)?, limit))
    }

    /// The least and the greatest value of an iname, where these are numbers.
    pub(crate) fn range(&self, kernel: &Kernel, iname: InameId) -> Option<(i64, i64)> {
        let name = &kernel[iname].name;
        let set = self.domains.of(&[iname].into_iter().collect()).ok()?;
        Some((set.dim_min_val(name).ok()??, set.dim_max_val(name).ok()??))
    }

    /// The same, if the iname takes all values between them whatever other inames are.
    pub(crate) fn box_of(&self, kernel: &Kernel, iname: InameId) -> Option<(i64, i64)> {
        let domain = &kernel[kernel[iname].domain];
        let (low, high) = self.range(kernel, iname)?;
        if !domain.enclosing.is_empty() {
            return None;
        }
        let name = &kernel[iname].name;
        let others: Vec<&str> = domain.inames.iter().map(|&other| kernel[other].name.as_str()).collect();
        let set = self.domains.set(kernel[iname].domain);
        let whole =
            isl::Set::parse(self.domains.context(), &format!("{{ [{name}] : {low} <= {name} <= {high} }}")).ok()?;
        let product = match others.len() {
            1 => whole,
            _ => isl::Set::combine(&[whole, set.project_out(&[name]).ok()?]).ok()?.project_onto(&others).ok()?,
        };
        product.is_subset(set).ok()?.then_some((low, high))
    }

    /// Whether an iname or parameter, by name, is never negative.
    pub(crate) fn is_non_negative(&mut self, kernel: &Kernel, name: &str) -> bool {
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
