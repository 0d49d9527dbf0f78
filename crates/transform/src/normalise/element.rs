//! Which instance of a writer wrote the element that is read.
//!
//! # Method
//! Index functions are affine; an equation per dimension. One in which a single loop of the writer is unknown, with a coefficient that
//! divides the rest, gives its value; what is left must vanish. Elements differ where an equation cannot hold, by constant bounds of the inames.
//! What that leaves open isl is asked, for affine functions ([`joint`]) and for those with divisions ([`reshape`]).

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{ExprId, InameId, InameSet};
use nestegg_isl as isl;
use smallvec::SmallVec;

use crate::normalise::joint::{self, Pair};
use crate::normalise::reshape;
use crate::ranges::{Answer, Ranges};
use crate::workspace::Workspace;

/// The constants among the indices of an element, by dimension.
pub(crate) type Constants = SmallVec<[Option<i64>; 4]>;

/// An element of an array, by index expressions and what affine functions they are.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) indices: Vec<ExprId>,
    pub(crate) affine: Vec<Option<Affine>>,
}

impl Element {
    /// The element at these indices.
    pub(crate) fn new(workspace: &Workspace, indices: &[ExprId]) -> Self {
        let affine = indices.iter().map(|&index| affine::of(&workspace.kernel.exprs, index)).collect();
        Self { indices: indices.to_vec(), affine }
    }

    /// Its constant indices.
    pub(crate) fn constants(&self) -> Constants {
        self.affine.iter().map(|affine| affine.as_ref().and_then(Affine::as_constant)).collect()
    }
}

/// The instances of a writer that write the element that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// None.
    Nothing,
    /// Those at which these loops of the writer have these values; exist wherever the element is read.
    At(Vec<(InameId, Value)>),
    /// Some, perhaps.
    Unknown,
}

/// The value of a loop of the writer at a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// An affine function.
    Affine(Affine),
    /// One with divisions, over the names of inames and parameters.
    Floors(isl::Affine),
}

/// One dimension: `inner + outer = 0`, `inner` over the writer's own loops.
struct Equation {
    inner: Affine,
    outer: Affine,
}

/// The loops around a writer and a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Loops {
    /// The writer's own.
    pub(crate) inner: InameSet,
    /// Those around both.
    pub(crate) common: InameSet,
}

impl Loops {
    /// Loops around both, as far as they bound the writer's own.
    pub(crate) fn bounding(&self, workspace: &Workspace) -> InameSet {
        let mut bounding = InameSet::new();
        for iname in self.inner.iter().filter(|iname| iname.index() < workspace.n_original_inames) {
            bounding.extend(workspace.domains.enclosing(iname).iter());
            bounding.extend(workspace.domains.dims_beside(iname).iter().copied());
        }
        bounding.intersection(&self.common)
    }

    fn pair(&self, workspace: &Workspace, dims: Vec<(Affine, Affine)>) -> Pair {
        Pair { dims, inner: self.inner.clone(), common: self.bounding(workspace) }
    }
}

/// The instances of a writer, with loops `inner` of its own, that write the element `read`. Other inames in `written` have the
/// values that they have at the read.
pub(crate) fn source(workspace: &Workspace, written: &Element, loops: &Loops, read: &Element) -> Source {
    let plain = plain_source(workspace, written, &loops.inner, read);
    if plain != Source::Unknown {
        return plain;
    }
    let joint = match comparable(workspace, written, &loops.inner, read) {
        Some(dims) => joint::source(workspace, &loops.pair(workspace, dims)),
        None => Source::Unknown,
    };
    if joint != Source::Unknown { joint } else { reshape::source(workspace, written, loops, read) }
}

/// The affine dimensions of both, unless dimensions that are not affine differ.
fn comparable(
    workspace: &Workspace,
    written: &Element,
    inner: &InameSet,
    read: &Element,
) -> Option<Vec<(Affine, Affine)>> {
    let mut dims = Vec::with_capacity(read.indices.len());
    for dim in 0..read.indices.len() {
        match (&written.affine[dim], &read.affine[dim]) {
            (Some(write), Some(read)) => dims.push((write.clone(), read.clone())),
            _ => {
                let index = written.indices[dim];
                let is_fixed = workspace.facts.free(index).iter().all(|&iname| !inner.contains(iname));
                if !is_fixed || index != read.indices[dim] {
                    return None;
                }
            }
        }
    }
    Some(dims)
}

fn plain_source(workspace: &Workspace, written: &Element, inner: &InameSet, read: &Element) -> Source {
    let ranges = &workspace.ranges;
    let mut is_known = true;
    let mut equations = Vec::with_capacity(read.indices.len());
    for dim in 0..read.indices.len() {
        match (&written.affine[dim], &read.affine[dim]) {
            (Some(write), Some(read)) => match equation(write, inner, read) {
                Some(equation) => equations.push(equation),
                None => is_known = false,
            },
            _ => {
                let index = written.indices[dim];
                let is_fixed = workspace.facts.free(index).iter().all(|&iname| !inner.contains(iname));
                is_known &= is_fixed && index == read.indices[dim];
            }
        }
    }
    let mut solved: Vec<(InameId, Affine)> = Vec::new();
    while !equations.is_empty() {
        if equations.iter().any(|equation| cannot_hold(ranges, equation)) {
            return Source::Nothing;
        }
        equations.retain(|equation| !(equation.inner.terms.is_empty() && equation.outer == Affine::default()));
        let found = equations.iter().enumerate().find_map(|(idx, equation)| Some((idx, solve(equation)?)));
        let Some((idx, (iname, value))) = found else {
            is_known &= equations.is_empty();
            break;
        };
        equations.swap_remove(idx);
        for equation in &mut equations {
            let var = Var::Iname(iname);
            let coefficient = equation.inner.coefficient(var);
            equation.inner.terms.retain(|term| term.0 != var);
            match equation.outer.plus(&value, coefficient) {
                Some(outer) => equation.outer = outer,
                None => return Source::Unknown,
            }
        }
        solved.push((iname, value));
    }
    for (iname, value) in &solved {
        match ranges.containment(*iname, value) {
            Answer::Always => {}
            Answer::Never => return Source::Nothing,
            Answer::Unknown => is_known = false,
        }
    }
    if !is_known {
        return Source::Unknown;
    }
    Source::At(solved.into_iter().map(|(iname, value)| (iname, Value::Affine(value))).collect())
}

fn equation(write: &Affine, inner: &InameSet, read: &Affine) -> Option<Equation> {
    let is_inner = |var: Var| matches!(var, Var::Iname(iname) if inner.contains(iname));
    let (own, rest) = write.terms.iter().copied().partition(|term| is_inner(term.0));
    let outer = Affine { constant: write.constant, terms: rest }.plus(read, -1)?;
    Some(Equation { inner: Affine { constant: 0, terms: own }, outer })
}

fn cannot_hold(ranges: &Ranges, equation: &Equation) -> bool {
    let (inner, outer) = (ranges.interval(&equation.inner), ranges.interval(&equation.outer));
    let add = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
    add(inner.0, outer.0).is_some_and(|least| least > 0)
        || add(inner.1, outer.1).is_some_and(|greatest| greatest < 0)
        || has_remainder(equation)
}

/// Whether all coefficients have a common divisor that the constant lacks.
fn has_remainder(equation: &Equation) -> bool {
    let terms = equation.inner.terms.iter().chain(&equation.outer.terms);
    let divisor = terms.fold(0, |divisor: u64, term| gcd(divisor, term.1.unsigned_abs()));
    divisor != 0 && !equation.outer.constant.unsigned_abs().is_multiple_of(divisor)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn solve(equation: &Equation) -> Option<(InameId, Affine)> {
    let [(Var::Iname(iname), coefficient)] = equation.inner.terms.as_slice() else { return None };
    let divide = |value: i64| match value.checked_rem(*coefficient)? {
        0 => value.checked_div(*coefficient)?.checked_neg(),
        _ => None,
    };
    let terms = equation.outer.terms.iter().map(|&(var, value)| Some((var, divide(value)?)));
    Some((*iname, Affine { constant: divide(equation.outer.constant)?, terms: terms.collect::<Option<_>>()? }))
}

/// Whether an earlier iteration of the loop over `iname` may write the element that is read in this one. `inner` are
/// the writer's loops from that one inwards.
pub(crate) fn may_be_carried(
    workspace: &Workspace,
    written: &Element,
    iname: InameId,
    loops: &Loops,
    read: &Element,
) -> bool {
    let inner = &loops.inner;
    let affine =
        || written.affine.iter().zip(&read.affine).filter_map(|(write, read)| write.as_ref().zip(read.as_ref()));
    let is_refuted = affine().any(|(write, read)| {
        equation(write, inner, read).is_some_and(|equation| is_not_earlier(&workspace.ranges, &equation, iname))
    });
    // A dimension that is not affine may hold anything; the others must refute alone.
    let dims = || affine().map(|(write, read)| (write.clone(), read.clone())).collect();
    let is_scalar = read.indices.is_empty() || affine().next().is_none();
    !is_refuted && (is_scalar || joint::may_be_carried(workspace, &loops.pair(workspace, dims()), iname))
}

/// Whether the equation holds for no earlier value of `iname`: `inner` has it as the writer sees it, `outer` as the
/// reader does.
fn is_not_earlier(ranges: &Ranges, equation: &Equation, iname: InameId) -> bool {
    if cannot_hold(ranges, equation) {
        return true;
    }
    let here = Affine::var(Var::Iname(iname));
    let [(Var::Iname(writers), coefficient)] = equation.inner.terms.as_slice() else { return false };
    if *writers != iname {
        return false;
    }
    // coefficient·(writer's - reader's) + distance = 0
    let distance = equation.outer.plus(&here, *coefficient).and_then(|affine| affine.as_constant());
    distance.is_some_and(|distance| match distance.checked_rem(*coefficient) {
        Some(0) => distance.checked_div(*coefficient).is_some_and(|later| later <= 0),
        Some(_) => true,
        None => false,
    })
}
