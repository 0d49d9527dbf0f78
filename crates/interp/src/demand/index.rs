//! Which instances of a writer write an element, where its indices are not affine.
//!
//! All instances are run through in their order, once. An index may depend on what earlier instances write, by a search in the part of the index that is already
//! there. An instance whose index has no value may have written any element.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::demand::plan::{Target, Writer, instances};
use crate::demand::search::{Candidate, Instance, Limit};
use crate::demand::{Data, Demand, Value};
use crate::error::Error;
use crate::world::World;

/// A writer with such indices may have so many instances.
const MAX_INSTANCES: usize = 1 << 22;

/// Indices may wait for each other so deep.
const MAX_NESTED: usize = 100;

#[derive(Debug, Default)]
pub(super) struct ElementIndex {
    is_started: bool,
    n_loops: usize,
    /// The instances, one after the other.
    points: Vec<i64>,
    by_element: FxHashMap<SmallVec<[i64; 4]>, Vec<u32>>,
    /// Instances whose index has no value, and why.
    failed: Vec<(u32, Arc<Error>)>,
}

impl ElementIndex {
    fn point(&self, idx: u32) -> &[i64] {
        &self.points[idx as usize * self.n_loops..(idx as usize + 1) * self.n_loops]
    }

    /// The last instance within the limit that writes the element, or may do so.
    pub(super) fn latest(&self, element: &[i64], limit: &Limit) -> Option<Candidate> {
        let sure = self.by_element.get(element).and_then(|of_element| {
            let n_before = of_element.partition_point(|&idx| limit.admits(self.point(idx)));
            n_before.checked_sub(1).map(|at| of_element[at])
        });
        let n_failed = self.failed.partition_point(|&(idx, _)| limit.admits(self.point(idx)));
        let failed = n_failed.checked_sub(1).map(|at| &self.failed[at]);
        match (sure, failed) {
            (sure, Some((idx, error))) if sure.is_none_or(|sure| sure < *idx) => {
                Some((self.point(*idx).iter().copied().collect(), Some(Arc::clone(error))))
            }
            (Some(sure), _) => Some((self.point(sure).iter().copied().collect(), None)),
            (None, _) => None,
        }
    }
}

impl<W: World, D: Data<W::Float>> Demand<'_, '_, W, D> {
    /// Makes sure that the index of a writer is there, or under way.
    pub(super) fn prepare(&mut self, writer: &Writer, number: usize) -> Result<(), Error> {
        if self.indices[number].is_started {
            return Ok(());
        }
        let plan = self.plan;
        let too_many = |reason: &str| Error::Unsupported {
            instruction: plan.kernel.name.clone(),
            reason: format!("{reason}: indices that are not affine are followed up to {MAX_INSTANCES} instances"),
        };
        if self.n_nested == MAX_NESTED {
            return Err(too_many("computed indices depend on one another"));
        }
        let points = instances(writer, plan.kernel.inames.len(), MAX_INSTANCES);
        let points = points.ok_or_else(|| too_many("a loop is too long"))?;
        let n_loops = writer.loops.len();
        let n_points = points.len().checked_div(n_loops).unwrap_or(1);
        self.indices[number] = ElementIndex { is_started: true, n_loops, points, ..ElementIndex::default() };
        self.n_nested += 1;
        let res = self.fill(writer, number, n_points);
        self.n_nested -= 1;
        if res.is_err() {
            self.indices[number] = ElementIndex::default();
        }
        res
    }

    fn fill(&mut self, writer: &Writer, number: usize, n_points: usize) -> Result<(), Error> {
        for idx in 0..n_points {
            let point: Instance = self.indices[number].point(idx as u32).iter().copied().collect();
            let mut element: SmallVec<[i64; 4]> = SmallVec::new();
            let mut failure = None;
            for target in &writer.targets {
                match target {
                    Target::Affine { constant, terms } => element.push(
                        terms.iter().fold(*constant, |sum, term| sum.wrapping_add(term.1.wrapping_mul(point[term.0]))),
                    ),
                    Target::Computed(unit) => match self.unit_value(unit, &point) {
                        Ok(Value::Int(index)) => element.push(index),
                        Ok(_) => element.push(-1),
                        Err(error @ Error::Trap { .. }) => {
                            failure = Some(error);
                            break;
                        }
                        Err(error) => return Err(error),
                    },
                }
            }
            let index = &mut self.indices[number];
            match failure {
                Some(error) => index.failed.push((idx as u32, Arc::new(error))),
                None => index.by_element.entry(element).or_default().push(idx as u32),
            }
        }
        Ok(())
    }
}
