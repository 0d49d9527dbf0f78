//! Values on demand: chosen elements of a kernel's outputs, evaluated backwards from where they are written, in any world.
//!
//! # Input
//! A linearized kernel with parameter values, as a [`Plan`]; the arguments' initial values as functions of the index ([`Data`]). No array is ever held, so a matrix
//! of 100000 by 100000 costs nothing.
//! # Output
//! For each element asked for its [`Value`] after the run, or the trap that it meets; which outcomes the decisions on the way had ([`Coverage`]); the steps taken.
//! # Method
//! A read of an element at a moment is the value of the last instance before it that writes the element and whose conditions hold
//! ([`search`]), or else the initial value. Expressions are cut into [`unit`]s, whose values are kept for each point of the inames that they depend on. Units and searches
//! wait for each other on a stack of their own: an accumulation over 100,000 points is a chain of as many frames.
//! Where indices of what is written are not affine, all instances of the writer are run through once for their indices.
//! # Complexity
//! Linear in the operations that the elements need, each unit once for each point; a search for each of its reads of written arrays.
//! # Not done
//! What no element asked for needs is not evaluated: a trap there goes unseen, and so does a write outside of its array. Opaque code is refused.

mod code;
mod coverage;
mod index;
mod lower;
mod memo;
mod node;
mod partition;
mod plan;
mod run;
mod search;
mod step;
mod unit;

use std::sync::Arc;

use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind};
use smallvec::SmallVec;

use crate::demand::index::ElementIndex;
use crate::demand::memo::Memo;
use crate::demand::run::Frame;
use crate::error::{Error, Trap};
use crate::memory::{Storage, table};
use crate::world::World;

pub(crate) use crate::demand::coverage::Coverage;
pub(crate) use crate::demand::plan::Plan;

/// Arguments of at most so many elements are drawn once.
const MAX_GIVEN: usize = 1 << 12;

/// The arguments' values at the start.
pub(crate) trait Data<F> {
    /// An element of an argument of a float dtype, rounded to it.
    fn float(&self, array: ArrayId, index: &[i64]) -> F;
    /// An element of an argument of an integer dtype or `bool`: within its range.
    fn int(&self, array: ArrayId, index: &[i64]) -> i64;
}

/// The value of an element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<F> {
    /// Of a float dtype.
    Float(F),
    /// Of an integer dtype or `bool`.
    Int(i64),
    /// Of a `write` argument, where the kernel does not write it.
    Unwritten,
}

/// Evaluates elements of one kernel on one set of data in one world; what it has evaluated it keeps.
///
/// ```ignore
/// let plan = Plan::new(&linearized, &parameters)?;
/// let mut demand = Demand::new(&Floats, &plan, &data);
/// let corner = demand.element(matrix, &[99_999, 99_999])?;
/// let seen = demand.coverage();
/// ```
pub(crate) struct Demand<'p, 'k, W: World, D> {
    world: &'p W,
    plan: &'p Plan<'k>,
    data: &'p D,
    literals: Vec<W::Float>,
    tables: Vec<Option<Storage<W::Float>>>,
    /// For each array the elements of an argument that were asked for, if these are not many.
    given: Vec<Vec<Option<W::Float>>>,
    memo: Memo<W::Float>,
    coverage: Coverage,
    indices: Vec<ElementIndex>,
    frames: Vec<Frame>,
    floats: Vec<W::Float>,
    ints: Vec<i64>,
    env: Vec<i64>,
    steps: u64,
    max_steps: u64,
    n_nested: usize,
}

impl<'p, 'k, W: World, D: Data<W::Float>> Demand<'p, 'k, W, D> {
    /// Nothing is evaluated yet.
    pub(crate) fn new(world: &'p W, plan: &'p Plan<'k>, data: &'p D) -> Self {
        let kernel = plan.kernel;
        Self {
            world,
            plan,
            data,
            literals: plan.literals.iter().map(|&literal| world.literal(literal)).collect(),
            tables: kernel.arrays.iter().map(|array| table(world, array)).collect(),
            given: vec![Vec::new(); kernel.arrays.len()],
            memo: Memo::new(plan),
            coverage: Coverage::new(plan.decisions.len()),
            indices: (0..plan.n_indices).map(|_| ElementIndex::default()).collect(),
            frames: Vec::new(),
            floats: Vec::new(),
            ints: Vec::new(),
            env: vec![0; kernel.inames.len()],
            steps: 0,
            max_steps: u64::MAX,
            n_nested: 0,
        }
    }

    /// The same, but evaluation stops with [`Error::StepLimit`] when it has taken about so many steps in all.
    pub(crate) fn with_limit(mut self, max_steps: u64) -> Self {
        self.max_steps = max_steps;
        self
    }

    /// From here on evaluation stops with [`Error::StepLimit`] when it has taken about so many steps more.
    pub(crate) fn allow(&mut self, n_steps: u64) {
        self.max_steps = self.steps.saturating_add(n_steps);
    }

    /// The value of an element of a writable argument after the run.
    ///
    /// # Errors
    /// The trap that its evaluation meets, at the instruction and point; an index outside of the array; the limit of steps.
    pub(crate) fn element(&mut self, array: ArrayId, index: &[i64]) -> Result<Value<W::Float>, Error> {
        let element: SmallVec<[i64; 4]> = index.iter().copied().collect();
        if let Some(trap) = self.outside(array, &element) {
            let instruction = self.plan.kernel.name.clone();
            return Err(Error::Trap { instruction, point: crate::error::Point::default(), trap });
        }
        let place = self.plan.end;
        self.resolve(array, element, place, &[]).map_err(Arc::unwrap_or_clone)
    }

    /// Which outcomes decisions have had so far.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// How many operations, and values of loops in searches, there were so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    fn outside(&self, array: ArrayId, index: &[i64]) -> Option<Trap> {
        let shape = &self.plan.shapes[array.index()];
        let is_inside =
            index.len() == shape.len() && index.iter().zip(shape).all(|(&index, &extent)| 0 <= index && index < extent);
        let name = || self.plan.kernel[array].name.clone();
        (!is_inside).then(|| Trap::OutOfBounds { array: name(), index: index.to_vec() })
    }

    /// The value of an element before any instruction runs.
    fn initial(&mut self, array: ArrayId, index: &[i64]) -> Option<Value<W::Float>> {
        let of_array = &self.plan.kernel[array];
        match &of_array.kind {
            ArrayKind::Argument(ArgumentAccess::Write) | ArrayKind::Temporary => None,
            ArrayKind::Argument(_) if of_array.dtype.is_float() => Some(Value::Float(self.given(array, index))),
            ArrayKind::Argument(_) => Some(Value::Int(self.data.int(array, index))),
            ArrayKind::Table(_) => {
                let position = self.position(array, index);
                let storage = self.tables[array.index()].as_ref()?;
                match &storage.data {
                    crate::memory::Data::Floats(values) => Some(Value::Float(values.get(position)?.clone())),
                    crate::memory::Data::Ints(values) => Some(Value::Int(*values.get(position)?)),
                }
            }
        }
    }

    /// An element of an argument at the start; drawn once, if the argument is small.
    fn given(&mut self, array: ArrayId, index: &[i64]) -> W::Float {
        let len = self.plan.lens[array.index()];
        if len > MAX_GIVEN {
            return self.data.float(array, index);
        }
        let position = self.position(array, index);
        let known = &mut self.given[array.index()];
        if known.is_empty() {
            known.resize(len, None);
        }
        match known.get_mut(position) {
            Some(known) => known.get_or_insert_with(|| self.data.float(array, index)).clone(),
            None => self.data.float(array, index),
        }
    }

    fn position(&self, array: ArrayId, index: &[i64]) -> usize {
        let shape = &self.plan.shapes[array.index()];
        index.iter().zip(shape).fold(0, |position, (index, extent)| position * extent + index) as usize
    }
}

#[cfg(test)]
mod tests;
