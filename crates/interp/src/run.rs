//! Running a kernel on given arrays, in floats.

use indexmap::IndexMap;
use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, InsnId, Kernel, LinearizedKernel, Program};

use crate::error::Error;
use crate::field::Field;
use crate::float::Floats;
use crate::input::{Inputs, Values, data, parameter_values};
use crate::machine::{Watch, execute};
use crate::memory::{Data, Layout, Storage, empty};
use crate::plan::{Code, MAX_POINTS, compile};
use crate::world::Batch;

/// How far a run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// A run that evaluates more operations (index arithmetic and loads included) is stopped with an error.
    pub max_steps: u64,
}

impl RunOptions {
    /// The limit that is used where nothing else is asked for.
    pub const DEFAULT_MAX_STEPS: u64 = 50_000_000_000;
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { max_steps: Self::DEFAULT_MAX_STEPS }
    }
}

/// One array after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Output<V> {
    /// All elements.
    pub values: V,
    /// Which elements have a value; absent if all have. Elements of a `write` argument that the kernel did not write have none.
    pub is_set: Option<Vec<bool>>,
}

/// The writable arguments after a run, in the order of the arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs<V = Values> {
    /// By name.
    pub arrays: IndexMap<String, Output<V>>,
}

/// Runs a kernel in floats: float64 and float32 as C computes them.
///
/// # Errors
/// See [`Error`].
pub fn run(program: &Program, inputs: &Inputs, options: &RunOptions) -> Result<Outputs, Error> {
    let compiled = Compiled::new(program, &inputs.parameters)?;
    let memory = compiled.memory(&Floats, inputs)?;
    let memory = compiled.execute(&Floats, memory, options.max_steps)?;
    compiled.check_defined(&memory)?;
    let values = |data| match data {
        Data::Floats(values) => Values::Floats(values),
        Data::Ints(values) => Values::Ints(values),
    };
    Ok(compiled.outputs(memory, values))
}

/// Elements of an array in the prime field; integers and truth values are as in floats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValues {
    /// Elements of the field, for float dtypes.
    Elements(Vec<u64>),
    /// Of an integer dtype, or `bool`.
    Ints(Vec<i64>),
}

/// Runs a kernel in the field with [`PRIME`](crate::PRIME) elements: each given float is its exact dyadic rational; `seed` draws the
/// oracles that stand for functions and comparisons.
///
/// # Errors
/// See [`Error`]; [`Trap::NoInverse`](crate::Trap::NoInverse) is a division by zero that reaches an output,
/// which another seed may avoid.
pub fn run_field(
    program: &Program,
    inputs: &Inputs,
    seed: u64,
    options: &RunOptions,
) -> Result<Outputs<FieldValues>, Error> {
    let compiled = Compiled::new(program, &inputs.parameters)?;
    let world = Field { seed };
    let memory = compiled.memory(&world, inputs)?;
    let memory = compiled.execute(&world, memory, options.max_steps)?;
    compiled.check_defined(&memory)?;
    let values = |data| match data {
        Data::Floats(values) => FieldValues::Elements(values),
        Data::Ints(values) => FieldValues::Ints(values),
    };
    Ok(compiled.outputs(memory, values))
}

/// The arrays after a run, and the steps that it took.
pub(crate) type Counted<F> = (Vec<Storage<F>>, u64);

/// A kernel with its code.
pub(crate) struct Compiled {
    pub(crate) linearized: LinearizedKernel,
    pub(crate) code: Code,
}

impl Compiled {
    pub(crate) fn new(program: &Program, parameters: &IndexMap<String, i64>) -> Result<Self, Error> {
        Self::with_pieces(program, parameters, MAX_POINTS)
    }

    /// The same, but for how many points are evaluated at once.
    pub(crate) fn with_pieces(
        program: &Program,
        parameters: &IndexMap<String, i64>,
        max_points: u64,
    ) -> Result<Self, Error> {
        let linearized = program.clone().into_linearized()?;
        let values = parameter_values(&linearized.kernel, parameters)?;
        let code = compile(&linearized, &values, max_points)?;
        Ok(Self { linearized, code })
    }

    /// The same with a made-up meaning for functions that only the kernel's user knows.
    pub(crate) fn with_stand_ins(mut self) -> Self {
        for function in &mut self.code.functions {
            function.has_stand_in = true;
        }
        self
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.linearized.kernel
    }

    /// The arrays at the start: arguments that are read as given.
    pub(crate) fn memory<W: Batch>(&self, world: &W, inputs: &Inputs) -> Result<Vec<Storage<W::Float>>, Error> {
        let kernel = self.kernel();
        self.code.layouts.iter().try_for_each(Layout::check_held)?;
        let mut memory = empty(world, kernel, &self.code.layouts);
        for array in kernel.arguments() {
            if matches!(kernel[array].kind, ArrayKind::Argument(ArgumentAccess::Write)) {
                continue;
            }
            let layout = &self.code.layouts[array.index()];
            let wrong = |reason: String| Error::Input { name: layout.name.clone(), reason };
            let values = inputs.arrays.get(&layout.name).ok_or_else(|| wrong("it has no values".to_owned()))?;
            if values.len() != layout.len {
                return Err(wrong(format!("it has {} elements, not {}", values.len(), layout.len)));
            }
            let data = data(values, (layout.dtype, layout.stored), |value| world.literal(value)).map_err(wrong)?;
            memory[array.index()] = Storage::full(data);
        }
        Ok(memory)
    }

    pub(crate) fn execute<W: Batch>(
        &self,
        world: &W,
        memory: Vec<Storage<W::Float>>,
        max_steps: u64,
    ) -> Result<Vec<Storage<W::Float>>, Error> {
        self.execute_counted(world, memory, max_steps).map(|(memory, _)| memory)
    }

    /// The same, and the steps that it took.
    pub(crate) fn execute_counted<W: Batch>(
        &self,
        world: &W,
        memory: Vec<Storage<W::Float>>,
        max_steps: u64,
    ) -> Result<Counted<W::Float>, Error> {
        let mut watch = Watch::default();
        let memory = execute(world, self.kernel(), &self.code, memory, max_steps, &mut watch)?;
        Ok((memory, watch.n_steps))
    }

    /// The instruction that writes an element last.
    pub(crate) fn last_writer<W: Batch>(
        &self,
        world: &W,
        memory: Vec<Storage<W::Float>>,
        max_steps: u64,
        (array, position): (ArrayId, usize),
    ) -> Result<Option<InsnId>, Error> {
        let mut watch = Watch::of(array, position);
        execute(world, self.kernel(), &self.code, memory, max_steps, &mut watch)?;
        Ok(watch.last_writer)
    }

    /// Whether all that the run wrote into arguments has a value.
    fn check_defined<F>(&self, memory: &[Storage<F>]) -> Result<(), Error> {
        let kernel = self.kernel();
        let mut writable = kernel.arguments().filter(|&array| kernel[array].is_writable());
        match writable.find_map(|array| memory[array.index()].undefined.values().next()) {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    fn outputs<F, V>(&self, memory: Vec<Storage<F>>, values: impl Fn(Data<F>) -> V) -> Outputs<V> {
        let kernel = self.kernel();
        let arrays = kernel
            .array_ids()
            .zip(memory)
            .filter(|(array, _)| kernel[*array].is_argument() && kernel[*array].is_writable())
            .map(|(array, storage)| {
                let is_set = storage.is_set.filter(|is_set| !is_set.iter().all(|&is_set| is_set));
                (kernel[array].name.clone(), Output { values: values(storage.data), is_set })
            })
            .collect();
        Outputs { arrays }
    }
}

#[cfg(test)]
mod tests {
    use nestegg_testgen::{Knobs, generate_seed};

    use super::*;

    /// An array as bits, in which what is not a number is itself.
    type Bits = (Vec<u64>, Option<Vec<bool>>);

    /// The outputs with so many points at once.
    fn outputs(program: &Program, inputs: &Inputs, max_points: u64) -> Result<Vec<Bits>, Error> {
        let compiled = Compiled::with_pieces(program, &inputs.parameters, max_points)?;
        let memory = compiled.memory(&Floats, inputs)?;
        let memory = compiled.execute(&Floats, memory, RunOptions::DEFAULT_MAX_STEPS)?;
        let bits = |data| match data {
            Data::Floats(values) => values.into_iter().map(f64::to_bits).collect(),
            Data::Ints(values) => values.into_iter().map(|value| value as u64).collect(),
        };
        Ok(compiled.outputs(memory, bits).arrays.into_values().map(|output| (output.values, output.is_set)).collect())
    }

    /// In pieces of one point every loop of the linearization is run as it stands.
    #[test]
    fn the_size_of_pieces_does_not_matter() {
        for (name, knobs) in Knobs::presets() {
            for seed in 0..150 {
                let generated = generate_seed(seed, &knobs);
                let program = &generated.program;
                let parameters = generated.parameters.iter().cloned().collect();
                let inputs = Inputs::random(program.kernel(), &parameters, seed);
                let inputs = inputs.unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
                let one = outputs(program, &inputs, 1).unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
                for max_points in [2, 7, 64, MAX_POINTS] {
                    let many = outputs(program, &inputs, max_points);
                    let text = || nestegg_dump::write_text(program);
                    assert!(many.as_ref() == Ok(&one), "{name} {seed} {max_points}: {one:?} {many:?}\n{}", text());
                }
            }
        }
    }
}
