//! Accesses outside of their array.

use std::cell::RefCell;

use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::Fault;
use super::sites::{Context, ContextId};
use super::space::{Space, Witness};
use crate::affine::Affine;
use crate::domains::DomainError;
use crate::ids::{ArrayId, ExprId, InameId};

/// Stands for an extent that the kernel does not state: only indices below zero are outside.
const UNSTATED: i64 = 1 << 62;

/// What an access is asked: its context, an index and the extent.
type Question = (ContextId, Affine, Affine);

/// The extents of arrays.
#[derive(Debug)]
pub(super) struct Extents {
    /// For each array the number of elements in each dimension, where it is known.
    shapes: Vec<Vec<Option<Affine>>>,
    answers: RefCell<FxHashMap<Question, Option<Witness>>>,
}

impl Extents {
    pub(super) fn new(space: &Space<'_>) -> Self {
        let arrays = space.kernel.arrays.iter();
        let extent = |&size: &ExprId| match space.kernel.is_unstated(size) {
            true => Some(Affine::constant(UNSTATED)),
            false => space.extent(size),
        };
        let shapes = arrays.map(|array| array.shape.iter().map(extent).collect()).collect();
        Self { shapes, answers: RefCell::default() }
    }

    /// The first instance in a context at which an index is outside of its dimension.
    pub(super) fn outside(
        &self,
        space: &Space<'_>,
        array: ArrayId,
        indices: &Option<Vec<Affine>>,
        id: ContextId,
        context: &Context,
    ) -> Option<(Fault, Witness)> {
        let indices = indices.as_ref()?;
        for (dim, (index, extent)) in indices.iter().zip(&self.shapes[array.index()]).enumerate() {
            let Some(extent) = extent else { continue };
            if is_inside(space, index, extent) || space.is_never(context) {
                continue;
            }
            let question = (id, index.clone(), extent.clone());
            let known = self.answers.borrow().get(&question).cloned();
            let witness = known.unwrap_or_else(|| {
                let all = space.set(id, context);
                let found = all.and_then(|all| first_outside(space, context, &all, index, extent).ok().flatten());
                self.answers.borrow_mut().insert(question, found.clone());
                found
            });
            let Some(witness) = witness else { continue };
            if let (Some(index), Some(extent)) = (witness.value(index), witness.value(extent)) {
                return Some((Fault::OutOfBounds { dim, index, extent }, witness));
            }
        }
        None
    }
}

/// Whether intervals show that the index is never outside.
fn is_inside(space: &Space<'_>, index: &Affine, extent: &Affine) -> bool {
    let room = extent.plus(index, -1).and_then(|room| space.interval(&room));
    let least = space.interval(index).map(|(low, _)| low);
    room.is_some_and(|(low, _)| low > 0) && least.is_some_and(|low| low >= 0)
}

fn first_outside(
    space: &Space<'_>,
    context: &Context,
    all: &isl::Set,
    index: &Affine,
    extent: &Affine,
) -> Result<Option<Witness>, DomainError> {
    let name = |iname: InameId| space.kernel[iname].name.clone();
    let (index, extent) = (space.named(index, &name)?, space.named(extent, &name)?);
    let below = isl::Affine::constant(-1).sub(&index)?;
    let above = index.sub(&extent)?;
    let below = space.where_it_is(all, below, isl::Relation::Inequality)?;
    let above = space.where_it_is(all, above, isl::Relation::Inequality)?;
    space.witness(context, all, &below.union(&above)?)
}
