//! Reads of elements that nothing has written.
//!
//! # Method
//! A write reaches a read if its instance runs earlier: in an earlier iteration of a loop around both, or in the same iteration of all of these and
//! earlier in the linearization. Plain writes, of the same element or of a whole range of inames of their own, are recognised; for the others isl takes the
//! elements that they write, loop by loop, from those that are read.

use std::cell::Cell;

use nestegg_isl as isl;

use super::Fault;
use super::sites::{Context, ContextId, Loop, Site, Sites};
use super::space::{Space, Witness};
use crate::affine::{Affine, Var};
use crate::domains::DomainError;
use crate::ids::{ArrayId, ExprId, InameId, InsnId};
use crate::kernel::{ArgumentAccess, ArrayKind};
use crate::linearization::Item;

/// How many writes isl takes from one read; of reads with more nothing is said.
const MAX_WRITES: usize = 32;
/// How many reads of a kernel isl looks at.
const MAX_QUESTIONS: usize = 1_000;

/// A write of an array.
#[derive(Debug)]
struct Write {
    insn: InsnId,
    position: usize,
    loops: Vec<Loop>,
    /// What it writes; `None` if that can be any element.
    element: Option<Vec<Affine>>,
    /// At which instances it may run.
    context: ContextId,
}

/// The writes of each array, in order.
#[derive(Debug)]
pub(super) struct Writers {
    writes: Vec<Vec<Write>>,
    /// How many more reads isl may look at.
    n_questions: Cell<usize>,
}

impl Writers {
    pub(super) fn new(space: &Space<'_>, sites: &mut Sites<'_>, linearization: &[Item]) -> Self {
        let kernel = space.kernel;
        let mut writes: Vec<Vec<Write>> = kernel.arrays.iter().map(|_| Vec::new()).collect();
        let mut loops: Vec<Loop> = Vec::new();
        let mut conditions: Vec<ExprId> = Vec::new();
        for (position, item) in linearization.iter().enumerate() {
            let insn = match *item {
                Item::For(iname) => {
                    loops.push(Loop { start: position, iname });
                    continue;
                }
                Item::End(_) => {
                    loops.pop();
                    continue;
                }
                Item::If(condition) => {
                    conditions.push(condition);
                    continue;
                }
                Item::EndIf => {
                    conditions.pop();
                    continue;
                }
                Item::Run(insn) => insn,
            };
            // A condition that is not affine may hold everywhere.
            let around = conditions.iter().chain(&kernel[insn].predicates).copied();
            let affine = around.filter(|&condition| sites.is_affine(condition)).map(|condition| (condition, true));
            let conditions = affine.collect();
            let inames = loops.iter().map(|open| open.iname).collect();
            let context = sites.intern(Context { inames, conditions });
            let assignees = kernel[insn].assignees();
            for (idx, array) in kernel[insn].written_arrays().into_iter().enumerate() {
                let element = assignees.get(idx).and_then(|assignee| space.element(&assignee.indices));
                writes[array.index()].push(Write { insn, position, loops: loops.clone(), element, context });
            }
        }
        Self { writes, n_questions: Cell::new(MAX_QUESTIONS) }
    }

    /// The first instance at which an access at a site, in one of its contexts, reads what nothing has written.
    pub(super) fn unwritten(
        &self,
        space: &Space<'_>,
        sites: &Sites<'_>,
        array: ArrayId,
        indices: &Option<Vec<Affine>>,
        (site, id): (&Site, ContextId),
    ) -> Option<(Fault, Witness)> {
        match space.kernel[array].kind {
            ArrayKind::Temporary | ArrayKind::Argument(ArgumentAccess::Write) => {}
            ArrayKind::Table(_) | ArrayKind::Argument(_) => return None,
        }
        let (writes, context) = (&self.writes[array.index()], sites.context(id));
        let mut earlier: Vec<(&Write, usize)> = Vec::new();
        for write in writes {
            let n_common = write.loops.iter().zip(&site.loops).take_while(|(own, other)| own == other).count();
            if write.position < site.position || n_common > 0 {
                earlier.push((write, n_common));
            }
        }
        let read = Read { space, sites, site, id, context, indices: indices.as_ref() };
        let is_written = |&&(write, n_common): &&(&Write, usize)| read.is_plainly_after(write, n_common);
        if space.is_never(context) || earlier.iter().rev().find(is_written).is_some() || earlier.len() > MAX_WRITES {
            return None;
        }
        if !earlier.is_empty()
            && (read.indices.is_none() || self.n_questions.replace(self.n_questions.get().saturating_sub(1)) == 0)
        {
            return None;
        }
        let witness = read.first_unwritten(&earlier).ok().flatten()?;
        Some((Fault::Uninitialised { writer: writes.first().map(|write| write.insn) }, witness))
    }
}

/// A read that may come too early.
struct Read<'a> {
    space: &'a Space<'a>,
    sites: &'a Sites<'a>,
    site: &'a Site,
    id: ContextId,
    context: &'a Context,
    indices: Option<&'a Vec<Affine>>,
}

impl Read<'_> {
    /// Whether a write, with so many loops in common, plainly comes before the read at each of its instances, or may write anything there.
    fn is_plainly_after(&self, write: &Write, n_common: usize) -> bool {
        let Some(element) = &write.element else { return true };
        let conditions = &self.sites.context(write.context).conditions;
        let is_under = conditions.is_empty()
            || write.loops.len() == n_common
                && conditions.iter().all(|condition| self.context.conditions.contains(condition));
        let Some(indices) = self.indices else { return false };
        if write.position >= self.site.position || !is_under {
            return false;
        }
        let mut own: Vec<InameId> = write.loops[n_common..].iter().map(|open| open.iname).collect();
        for (written, read) in element.iter().zip(indices) {
            let Some(at) = written.inames().find_map(|iname| own.iter().position(|&other| other == iname)) else {
                if written != read {
                    return false;
                }
                continue;
            };
            let iname = own.swap_remove(at);
            let is_shift = written.terms == [(Var::Iname(iname), 1)];
            let range = self.space.free_range(iname).filter(|_| is_shift);
            let Some(((least, greatest), (low, high))) = range.zip(self.space.interval(read)) else { return false };
            if low.checked_sub(written.constant).is_none_or(|low| low < least)
                || high.checked_sub(written.constant).is_none_or(|high| high > greatest)
            {
                return false;
            }
        }
        own.into_iter().all(|iname| self.space.free_range(iname).is_some())
    }

    /// The first instance at which none of the writes, each with its number of common loops, can have written the element.
    fn first_unwritten(&self, writes: &[(&Write, usize)]) -> Result<Option<Witness>, DomainError> {
        let Some(all) = self.space.set(self.id, self.context) else { return Ok(None) };
        let mut unwritten = all.clone();
        for (write, n_common) in writes {
            if unwritten.is_empty()? {
                return Ok(None);
            }
            let Some(written) = self.written_before(&all, write, *n_common)? else { return Ok(None) };
            unwritten = unwritten.subtract(&written)?;
        }
        self.space.witness(self.context, &all, &unwritten)
    }

    /// The instances of the read before which the write may have written the element; `None` if that cannot be told.
    fn written_before(&self, all: &isl::Set, write: &Write, n_common: usize) -> Result<Option<isl::Set>, DomainError> {
        let (Some(indices), Some(element)) = (self.indices, &write.element) else { return Ok(None) };
        let context = self.sites.context(write.context);
        let Some(instances) = self.space.set(write.context, context) else { return Ok(None) };
        let kernel = self.space.kernel;
        let name = |iname: InameId| kernel[iname].name.clone();
        let earlier = |iname: InameId| format!("earlier__{}", kernel[iname].name);
        let renamed: Vec<String> = context.inames.iter().map(earlier).collect();
        let renamed: Vec<&str> = renamed.iter().map(String::as_str).collect();
        let mut pairs = isl::Set::combine(&[all.clone(), instances.with_dim_names(&renamed)?])?;
        for (written, read) in element.iter().zip(indices) {
            let difference = self.space.named(written, &earlier)?.sub(&self.space.named(read, &name)?)?;
            pairs = self.space.where_it_is(&pairs, difference, isl::Relation::Equality)?;
        }
        let names = all.dim_names()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut res = isl::Set::empty(all.context(), &[], &names)?;
        for open in &self.site.loops[..n_common] {
            // Values of the loop at the read less those at the write.
            let later = isl::Affine::var(&name(open.iname)).sub(&isl::Affine::var(&earlier(open.iname)))?;
            let at_least_one = later.sub(&isl::Affine::constant(1))?;
            let before = self.space.where_it_is(&pairs, at_least_one, isl::Relation::Inequality)?;
            res = res.union(&before.project_onto(&names)?)?;
            pairs = self.space.where_it_is(&pairs, later, isl::Relation::Equality)?;
        }
        if write.position < self.site.position {
            res = res.union(&pairs.project_onto(&names)?)?;
        }
        Ok(Some(res))
    }
}
