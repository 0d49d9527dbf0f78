//! Which instance of a writer wrote an element, where indices have divisions or several loops of the writer in one dimension.
//!
//! # Method
//! As in [`joint`](super::joint) one set of isl's over the points of the reader and the loops of the writer at which both touch the same element.
//! Each loop of the writer is an upper bound of its own, rounded down, or a side of an equation, if isl proves that it has no other value: of `4*p + q = r`, where
//! `q` is below 4, `p = r//4`, and then `q = r - 4*(r//4)`.
//! # Complexity
//! A few operations of isl for each loop, bounded by the operation limit of the workspace; each question is put once.
//! # Not done
//! Solutions that are several pieces.

use nestegg_ir::affine::Var;
use nestegg_ir::domains::DomainError;
use nestegg_ir::{ExprId, InameId, InameSet};
use nestegg_isl as isl;

use crate::normalise::element::{Element, Loops, Source, Value};
use crate::normalise::joint::primed;
use crate::workspace::Workspace;

/// The indices of a writer and of a reader, and the loops around them.
pub(crate) type Question = (Vec<ExprId>, Vec<ExprId>, Loops);

/// The instances of the writer that write the element.
pub(super) fn source(work: &Workspace, written: &Element, loops: &Loops, read: &Element) -> Source {
    if !is_candidate(written, loops, read) {
        return Source::Unknown;
    }
    let key = (written.indices.clone(), read.indices.clone(), loops.clone());
    if let Some(known) = work.reshape_answers.borrow().get(&key) {
        return known.clone();
    }
    // Where isl gives up, nothing is known.
    let res = find(work, written, loops, read).ok().flatten().unwrap_or(Source::Unknown);
    work.reshape_answers.borrow_mut().insert(key, res.clone());
    res
}

/// Whether there is anything here that the other ways to find a source cannot see.
fn is_candidate(written: &Element, loops: &Loops, read: &Element) -> bool {
    let has_several = written.affine.iter().flatten().any(|affine| {
        affine.terms.iter().filter(|(var, _)| matches!(var, Var::Iname(iname) if loops.inner.contains(*iname))).count()
            > 1
    });
    has_several || written.affine.iter().chain(&read.affine).any(Option::is_none)
}

fn find(work: &Workspace, written: &Element, loops: &Loops, read: &Element) -> Result<Option<Source>, DomainError> {
    let functions = |element: &Element| -> Option<Vec<isl::Affine>> {
        element.indices.iter().map(|&index| work.quasi_affine(index)).collect()
    };
    let (Some(writes), Some(reads)) = (functions(written), functions(read)) else { return Ok(None) };
    let inner_names: Vec<(InameId, &str)> =
        loops.inner.iter().map(|iname| (iname, work.kernel[iname].name.as_str())).collect();
    let is_inner = |name: &str| inner_names.iter().any(|(_, inner)| *inner == name);
    let mut reader = loops.bounding(work);
    for name in reads
        .iter()
        .flat_map(isl::Affine::names)
        .chain(writes.iter().flat_map(isl::Affine::names).filter(|name| !is_inner(name)))
    {
        reader.extend(work.kernel.iname_ids().find(|&iname| work.kernel[iname].name == name));
    }
    let common: InameSet = loops.bounding(work);
    if reader.iter().chain(loops.inner.iter()).any(|iname| iname.index() >= work.n_original_inames) {
        return Ok(None);
    }
    let reader = work.domains.of(&reader)?;
    let mut writer = work.domains.of(&loops.inner.union(&common))?;
    for &(iname, name) in &inner_names {
        writer = writer.rename_dim(name, &primed(work, iname))?;
    }
    let mut set = isl::Set::combine(&[reader.clone(), writer])?;
    let rename = |name: &str| {
        let (iname, _) = inner_names.iter().find(|(_, inner)| *inner == name)?;
        Some(isl::Affine::var(&primed(work, *iname)))
    };
    let mut constraints = Vec::with_capacity(reads.len());
    for (write, read) in writes.iter().zip(&reads) {
        constraints.push(isl::Constraint::equality(write.substitute(&rename)?.sub(read)?));
    }
    let known: Vec<String> = set.dim_names()?.into_iter().chain(set.param_names()?).collect();
    let missing: Vec<&str> = constraints
        .iter()
        .flat_map(|constraint| constraint.affine.names())
        .filter(|name| !known.iter().any(|known| known == name))
        .collect();
    set = set.with_params(&missing)?.constrain(&constraints)?;
    if set.is_empty()? {
        return Ok(Some(Source::Nothing));
    }
    let mut outer = reader.dim_names()?;
    let dims: Vec<&str> = outer.iter().map(String::as_str).collect();
    if !reader.is_subset(&set.project_onto(&dims)?)? {
        return Ok(None);
    }
    let occurs = |name: &str| writes.iter().any(|write| write.involves(name));
    let mut open: Vec<(InameId, String)> =
        inner_names.iter().filter(|(_, name)| occurs(name)).map(|&(iname, _)| (iname, primed(work, iname))).collect();
    let mut solved: Vec<(InameId, String, isl::Affine)> = Vec::new();
    while !open.is_empty() {
        let mut found = None;
        for (at, (_, name)) in open.iter().enumerate() {
            if let Some(value) = value_of(&set, name, &outer, &solved)? {
                found = Some((at, value));
                break;
            }
        }
        let Some((at, value)) = found else { return Ok(None) };
        let (iname, name) = open.remove(at);
        outer.push(name.clone());
        solved.push((iname, name, value));
    }
    Ok(Some(Source::At(solved.into_iter().map(|(iname, _, value)| (iname, Value::Floors(value))).collect())))
}

/// The only value of a dimension, as a function of the reader's.
fn value_of(
    set: &isl::Set,
    name: &str,
    outer: &[String],
    solved: &[(InameId, String, isl::Affine)],
) -> Result<Option<isl::Affine>, DomainError> {
    let outer: Vec<&str> = outer.iter().map(String::as_str).collect();
    let bounds = set.loop_bounds(name, &outer)?;
    let [uppers] = bounds.upper.as_slice() else { return Ok(None) };
    let mut candidates = uppers.iter().map(isl::Bound::floor).collect::<Result<Vec<_>, _>>()?;
    for constraint in bounds.guard.iter().flatten() {
        // `name` alone on one side, where the coefficient allows it.
        let coefficient = constraint.affine.coefficient(name);
        let rest = constraint.affine.sub(&isl::Affine::var(name).scale(coefficient)?)?;
        if constraint.relation == isl::Relation::Equality && coefficient.abs() == 1 && !rest.involves(name) {
            candidates.push(rest.scale(-coefficient)?);
        }
    }
    for candidate in candidates {
        let of_solved = |name: &str| solved.iter().find(|(_, own, _)| own == name).map(|(_, _, value)| value.clone());
        let value = candidate.substitute(&of_solved)?;
        let equality = isl::Constraint::equality(isl::Affine::var(name).sub(&value)?);
        if set.is_subset(&set.constrain_by(&equality)?)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
