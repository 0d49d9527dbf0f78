//! The questions of [`element`](super::element) that plain reasoning leaves open, put to isl.
//!
//! # Method
//! One set over the inames of the reader and, under other names, the writer's own loops, at which both touch the same element. Nothing is
//! written if it is empty. One instance wrote each element that is read if every point of the reader occurs and the equalities
//! that isl finds give the writer's loops.
//! # Complexity
//! A few operations of isl on a set with as many dimensions as there are loops around both, bounded by the operation limit of the workspace; each
//! question is put once.
//! # Not done
//! Inames that this crate made are not known to isl here; conditions on reader and writer are not used.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::DomainError;
use nestegg_ir::{InameId, InameSet};
use nestegg_isl as isl;

use crate::normalise::element::{Source, Value};
use crate::workspace::Workspace;

/// A writer's element and a reader's: index functions, the writer's own loops among the inames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    /// Pairs of index functions, written and read.
    pub(crate) dims: Vec<(Affine, Affine)>,
    /// The writer's own loops.
    pub(crate) inner: InameSet,
    /// Loops around both, as far as they bound the writer's own.
    pub(crate) common: InameSet,
}

/// An answer to either question.
#[derive(Clone, Debug)]
pub(crate) enum JointAnswer {
    /// Which instances wrote the element.
    Source(Source),
    /// Whether an earlier iteration may have written it.
    IsCarried(bool),
}

/// The instances of the writer that write the element.
pub(crate) fn source(work: &Workspace, pair: &Pair) -> Source {
    let key = (pair.clone(), None);
    if let Some(JointAnswer::Source(known)) = work.joint_answers.borrow().get(&key) {
        return known.clone();
    }
    // Where isl gives up, nothing is known.
    let res = find_source(work, pair).unwrap_or(Source::Unknown);
    work.joint_answers.borrow_mut().insert(key, JointAnswer::Source(res.clone()));
    res
}

/// Whether an iteration of the loop over `iname` before the reader's may write the element.
pub(crate) fn may_be_carried(work: &Workspace, pair: &Pair, iname: InameId) -> bool {
    let key = (pair.clone(), Some(iname));
    if let Some(&JointAnswer::IsCarried(known)) = work.joint_answers.borrow().get(&key) {
        return known;
    }
    let res = find_carried(work, pair, iname).unwrap_or(true);
    work.joint_answers.borrow_mut().insert(key, JointAnswer::IsCarried(res));
    res
}

fn find_source(work: &Workspace, pair: &Pair) -> Result<Source, DomainError> {
    let Some(meeting) = Meeting::new(work, pair, None)? else { return Ok(Source::Unknown) };
    if meeting.set.is_empty()? {
        return Ok(Source::Nothing);
    }
    let reader_dims = meeting.reader.dim_names()?;
    let dims: Vec<&str> = reader_dims.iter().map(String::as_str).collect();
    if !meeting.reader.is_subset(&meeting.set.project_onto(&dims)?)? {
        return Ok(Source::Unknown);
    }
    let pieces = meeting.set.detect_equalities()?.coalesce()?.constraints()?;
    let [piece] = pieces.as_slice() else { return Ok(Source::Unknown) };
    let mut solved = Vec::new();
    for iname in pair.inner.iter().filter(|&iname| occurs(pair, iname)) {
        let own = primed(work, iname);
        let value =
            piece.iter().filter(|constraint| constraint.relation == isl::Relation::Equality).find_map(|found| {
                let coefficient = found.affine.coefficient(&own);
                let is_own = found.affine.names().iter().all(|name| *name == own || !name.ends_with(PRIME));
                (coefficient.abs() == 1 && found.affine.floors.is_empty() && is_own)
                    .then(|| unknown_of(work, &found.affine, &own, -coefficient))
                    .flatten()
            });
        match value {
            Some(value) => solved.push((iname, Value::Affine(value))),
            None => return Ok(Source::Unknown),
        }
    }
    Ok(Source::At(solved))
}

fn find_carried(work: &Workspace, pair: &Pair, iname: InameId) -> Result<bool, DomainError> {
    Ok(match Meeting::new(work, pair, Some(iname))? {
        Some(meeting) => !meeting.set.is_empty()?,
        None => true,
    })
}

/// What ends the names of the writer's loops.
const PRIME: &str = "__writer";

/// The writer's name of an iname.
pub(super) fn primed(work: &Workspace, iname: InameId) -> String {
    format!("{}{PRIME}", work.kernel[iname].name)
}

fn occurs(pair: &Pair, iname: InameId) -> bool {
    pair.dims.iter().any(|(written, _)| written.coefficient(Var::Iname(iname)) != 0)
}

/// The points at which writer and reader touch the same element.
struct Meeting {
    set: isl::Set,
    reader: isl::Set,
}

impl Meeting {
    /// With `earlier`, only where the writer is in an earlier iteration of that loop. `None` if an iname is not isl's.
    fn new(work: &Workspace, pair: &Pair, earlier: Option<InameId>) -> Result<Option<Self>, DomainError> {
        let mut reader: InameSet = pair.dims.iter().flat_map(|(_, read)| read.inames()).collect();
        let outer = pair.dims.iter().flat_map(|(written, _)| written.inames());
        reader.extend(outer.filter(|&iname| !pair.inner.contains(iname)));
        reader.extend(earlier);
        let is_new = |iname: InameId| iname.index() >= work.n_original_inames;
        if reader.iter().chain(pair.inner.iter()).any(is_new) {
            return Ok(None);
        }
        reader.extend(pair.common.iter());
        let writer = pair.inner.union(&pair.common);
        let reader = work.domains.of(&reader)?;
        let mut writer = work.domains.of(&writer)?;
        for iname in pair.inner.iter() {
            writer = writer.rename_dim(&work.kernel[iname].name, &primed(work, iname))?;
        }
        let mut set = isl::Set::combine(&[reader.clone(), writer])?;
        let rename = |name: &str| {
            let iname = pair.inner.iter().find(|&iname| work.kernel[iname].name == name)?;
            Some(isl::Affine::var(&primed(work, iname)))
        };
        let mut constraints = Vec::new();
        for (written, read) in &pair.dims {
            let written = work.domains.affine(written)?.substitute(&rename)?;
            constraints.push(isl::Constraint::equality(written.sub(&work.domains.affine(read)?)?));
        }
        if let Some(iname) = earlier {
            let here = isl::Affine::var(&work.kernel[iname].name);
            let there = isl::Affine::var(&primed(work, iname));
            constraints.push(isl::Constraint::inequality(here.sub(&there)?.sub(&isl::Affine::constant(1))?));
        }
        let names: Vec<String> = set.dim_names()?.into_iter().chain(set.param_names()?).collect();
        let missing: Vec<String> = constraints
            .iter()
            .flat_map(|constraint| constraint.affine.names())
            .filter(|name| !names.iter().any(|known| known == name))
            .map(str::to_owned)
            .collect();
        set = set.with_params(&missing.iter().map(String::as_str).collect::<Vec<_>>())?;
        let set = set.constrain(&constraints)?;
        Ok(Some(Self { set, reader }))
    }
}

/// `own` from `affine = 0`, in which its coefficient is `-factor`: the rest times `factor`.
fn unknown_of(work: &Workspace, affine: &isl::Affine, own: &str, factor: i64) -> Option<Affine> {
    let mut res = Affine::constant(affine.constant.checked_mul(factor)?);
    for (name, coefficient) in affine.terms.iter().filter(|(name, _)| name != own) {
        let iname = work.kernel.iname_ids().find(|&iname| work.kernel[iname].name == *name).map(Var::Iname);
        let var = iname.or_else(|| {
            let mut parameters = work.kernel.parameter_ids();
            parameters.find(|&parameter| work.kernel[parameter].name == *name).map(Var::Parameter)
        })?;
        res = res.plus(&Affine::var(var), coefficient.checked_mul(factor)?)?;
    }
    Some(res)
}
