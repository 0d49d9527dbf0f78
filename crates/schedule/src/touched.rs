//! What one side touches of several loops, or of a body, that run one after the other.
//!
//! Accesses with different constants at one index never meet, so that stores to thousands of elements by their numbers are not compared each
//! with each: the others of an array are found by the constants at their indices.

use nestegg_ir::ArrayId;
use nestegg_ir::affine::Affine;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::{Access, Touch};

/// What one side touches: for each array the accesses by what they do, each once.
#[derive(Default)]
pub(crate) struct Touched<'i> {
    pub(crate) by_array: FxHashMap<ArrayId, Vec<(Touch, Known<'i>)>>,
    seen: FxHashSet<&'i Access>,
}

impl<'i> Touched<'i> {
    /// Whether this side, which comes first, keeps its order with the other: every two accesses to one array that may meet commute or satisfy `keep`.
    pub(crate) fn keeps_order(&self, later: &[Access], keep: impl Fn(&Access, &Access) -> bool) -> bool {
        later.iter().all(|b| {
            let others = self.by_array.get(&b.array).into_iter().flatten();
            let mut ordered = others.filter(|(touch, _)| !touch.commutes(b.touch));
            ordered.all(|(_, known)| known.that_may_meet(b).all(|a| keep(a, b)))
        })
    }

    /// Takes notice of what a loop touches.
    pub(crate) fn add(&mut self, accesses: &'i [Access]) {
        for access in accesses {
            if !self.seen.insert(access) {
                continue;
            }
            let of_array = self.by_array.entry(access.array).or_default();
            match of_array.iter_mut().find(|(touch, _)| *touch == access.touch) {
                Some((_, known)) => known.add(access),
                None => {
                    let mut known = Known::default();
                    known.add(access);
                    of_array.push((access.touch, known));
                }
            }
        }
    }
}

/// Accesses to one array.
#[derive(Default)]
pub(crate) struct Known<'i> {
    all: Vec<&'i Access>,
    /// Those of which nothing is known.
    anywhere: Vec<&'i Access>,
    /// For each dimension the others by the constant that the index is.
    by_constant: Vec<FxHashMap<Option<i64>, Vec<&'i Access>>>,
}

impl<'i> Known<'i> {
    fn add(&mut self, access: &'i Access) {
        self.all.push(access);
        let Some(indices) = &access.indices else {
            self.anywhere.push(access);
            return;
        };
        self.by_constant.resize_with(indices.len(), FxHashMap::default);
        for (index, accesses) in indices.iter().zip(&mut self.by_constant) {
            accesses.entry(constant(index.as_deref())).or_default().push(access);
        }
    }

    /// The accesses that an access does not miss by a constant index: all others are never to the same element.
    pub(crate) fn that_may_meet(&self, access: &Access) -> impl Iterator<Item = &'i Access> {
        let indices = access.indices.iter().flat_map(|indices| indices.iter());
        let fixed = self.by_constant.iter().zip(indices).find_map(|(known, index)| {
            constant(index.as_deref()).map(|value| [known.get(&None), known.get(&Some(value))])
        });
        let lists = match fixed {
            Some([unknown, same]) => [Some(&self.anywhere), unknown, same],
            None => [Some(&self.all), None, None],
        };
        lists.into_iter().flatten().flatten().copied()
    }
}

/// An index that is the same everywhere.
fn constant(index: Option<&Affine>) -> Option<i64> {
    index.and_then(Affine::as_constant)
}
