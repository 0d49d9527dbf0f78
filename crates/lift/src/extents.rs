//! Extents that C does not declare: the smallest that hold all accesses.
//!
//! # Input
//! The accesses to the first dimension of an array, each with what holds where it happens.
//! # Output
//! One more than the greatest index: a number, or an expression in the parameters.
//! # Method
//! isl's bounds of each set of indices, in which an entry of a table of constants is any number between its least and its greatest; over several accesses the maximum,
//! where none is certainly the greatest.
//! # Complexity
//! One set for each different access; accesses at numbers need none.

use std::rc::Rc;

use nestegg_ir::Op;
use nestegg_isl::{Affine, Context, Set};
use nestegg_span::Span;
use rustc_hash::FxHashSet;

use crate::problem::{self, Lifted};
use crate::term::{Kind, Term};

/// The name of an index in sets.
const INDEX: &str = "nestegg_index";

/// What names of entries of tables begin with in sets.
pub(crate) const ENTRY: &str = "nestegg_entry";

/// An access to the first dimension of an array.
#[derive(Debug)]
pub(crate) struct Access {
    /// The array.
    pub(crate) array: usize,
    /// The index, if it is affine.
    pub(crate) index: Option<Affine>,
    /// What holds where it happens, in isl's notation.
    pub(crate) context: String,
    /// The inames, parameters and entries of tables in that.
    pub(crate) names: Vec<String>,
    /// Where it is.
    pub(crate) at: Span,
}

/// The extent of an array that is accessed so.
pub(crate) fn extent(
    context: &Context,
    array: &str,
    accesses: &[&Access],
    is_parameter: &dyn Fn(&str) -> bool,
) -> Lifted<Rc<Term>> {
    let at = accesses.first().map(|access| access.at).unwrap_or_default();
    let mut greatest: Vec<Affine> = Vec::new();
    let mut seen: FxHashSet<(&Affine, &str)> = FxHashSet::default();
    for access in accesses {
        let Some(index) = &access.index else {
            return Err(problem::no_extent(array, "this subscript is not affine", access.at));
        };
        if !seen.insert((index, &access.context)) {
            continue;
        }
        let bounds = match index.as_constant() {
            Some(value) if value < 0 => return Err(negative(array, access.at)),
            Some(_) => vec![index.clone()],
            None => greatest_of(context, array, access, index, is_parameter)?,
        };
        bounds.into_iter().for_each(|bound| add(&mut greatest, bound));
    }
    let sizes: Vec<Rc<Term>> = greatest
        .iter()
        .map(|bound| bound.add(&Affine::constant(1)).ok().and_then(|size| of_affine(&size, at)))
        .collect::<Option<_>>()
        .ok_or_else(|| problem::no_extent(array, "it is too large", at))?;
    Ok(match sizes.as_slice() {
        [] => Term::int(1, at),
        [only] => only.clone(),
        _ => Term::op(Op::Max, sizes, at),
    })
}

fn negative(array: &str, at: Span) -> Box<nestegg_dump::ReadError> {
    problem::no_extent(array, "this subscript can be negative", at)
}

/// Adds a bound, unless one is there that is certainly as great.
fn add(greatest: &mut Vec<Affine>, bound: Affine) {
    let difference = |a: &Affine, b: &Affine| a.sub(b).ok().and_then(|difference| difference.as_constant());
    if greatest.iter().any(|known| difference(known, &bound).is_some_and(|difference| difference >= 0)) {
        return;
    }
    greatest.retain(|known| difference(known, &bound).is_none());
    greatest.push(bound);
}

/// The greatest index of an access: the maximum over these.
fn greatest_of(
    context: &Context,
    array: &str,
    access: &Access,
    index: &Affine,
    is_parameter: &dyn Fn(&str) -> bool,
) -> Lifted<Vec<Affine>> {
    let too_hard = |_| problem::no_extent(array, "isl gives up", access.at);
    let mut names: Vec<&str> = access.names.iter().map(String::as_str).collect();
    names.extend(index.names());
    names.sort_unstable();
    names.dedup();
    let (parameters, inames): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_parameter(name));
    let inside = format!("{} and {INDEX} = {index}", access.context);
    let inside = if inames.is_empty() { inside } else { format!("exists {} : {inside}", inames.join(", ")) };
    let text = format!("[{}] -> {{ [{INDEX}] : {inside} }}", parameters.join(", "));
    let set = Set::parse(context, &text).map_err(too_hard)?;
    if set.is_empty().map_err(too_hard)? {
        return Ok(Vec::new());
    }
    if parameters.is_empty() {
        let (least, most) = (set.dim_min_val(INDEX).map_err(too_hard)?, set.dim_max_val(INDEX).map_err(too_hard)?);
        return match (least, most) {
            (Some(0..), Some(most)) => Ok(vec![Affine::constant(most)]),
            (Some(_), _) => Err(negative(array, access.at)),
            _ => Err(problem::no_extent(array, "it has no greatest subscript", access.at)),
        };
    }
    let bounds = set.loop_bounds(INDEX, &[]).map_err(too_hard)?;
    let mut res = Vec::new();
    for alternative in bounds.upper {
        // Any of these bounds is large enough; the one with the fewest names is the plainest.
        let floors: Vec<Affine> =
            alternative.iter().map(nestegg_isl::Bound::floor).collect::<Result<_, _>>().map_err(too_hard)?;
        res.extend(floors.into_iter().min_by_key(|bound| (bound.floors.len(), bound.terms.len(), bound.constant)));
    }
    Ok(res)
}

/// An affine expression of parameters.
fn of_affine(affine: &Affine, at: Span) -> Option<Rc<Term>> {
    let mut terms: Vec<Rc<Term>> = Vec::new();
    let scaled = |factor: i64, term: Rc<Term>| match factor {
        1 => term,
        _ => Term::op(Op::Mul, vec![Term::int(factor, at), term], at),
    };
    for (name, coefficient) in &affine.terms {
        terms.push(scaled(*coefficient, Term::new(Kind::Name(name.clone()), at)));
    }
    for (floor, coefficient) in &affine.floors {
        let quotient = vec![of_affine(&floor.numerator, at)?, Term::int(floor.denominator, at)];
        terms.push(scaled(*coefficient, Term::op(Op::FloorDiv, quotient, at)));
    }
    if affine.constant > 0 || terms.is_empty() {
        terms.push(Term::int(affine.constant, at));
    }
    let sum = match terms.as_slice() {
        [only] => only.clone(),
        _ => Term::op(Op::Add, terms, at),
    };
    if affine.constant >= 0 || sum.as_int().is_some() {
        return Some(sum);
    }
    Some(Term::op(Op::Sub, vec![sum, Term::int(affine.constant.checked_neg()?, at)], at))
}
