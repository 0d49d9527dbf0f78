//! Data to run kernels on: chosen so that they reach what the kernels decide on.
//!
//! # Input
//! The kernel whose arguments are wanted, and further kernels with the same arguments that will be run on the data.
//! # Output
//! A [`Plan`], and from it any number of [`DataSet`]s: each element of an argument is a function of the seed, the
//! [`Profile`], the argument's name and the position alone, so that arrays need not exist.
//! # Method
//! The kernels are read for what decides. Constants in comparisons and extrema become a *palette* of the arguments that reach
//! the comparison, through temporaries too: elements take the constant, its neighbours and numbers beyond it ([`decisions`]). Integers that serve
//! as indices take any value that keeps every access of the first kernel inside its array, element by element
//! ([`indices`]). Integers that divide or shift are small and positive.
//! # Complexity
//! Linear in the expressions of the kernels; an element costs the accesses that it is an index of.

mod decisions;
mod indices;
mod selectors;

use indexmap::IndexMap;
use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, Dtype, Kernel, Stored};

use crate::data::decisions::Decisions;
use crate::data::indices::Indices;
use crate::data::selectors::Selectors;
use crate::domain::Domains;
use crate::error::Error;
use crate::input::{Inputs, Values, dyadic, parameter_values};
use crate::memory::Layout;
use crate::source::Source;
use crate::world::{hash_text, hash_with, mix};

/// How small the small argument of [`Profile::Scaled`] is.
const SMALL: f64 = 1.0 / 4096.0;

/// Binary logarithm of how far integers go beyond the constants that they meet: inames and parameters may be added to these.
const BEYOND: u32 = 9;

/// How far floats are moved by a nudge, relative to them or to one: far beyond rounding, and far below what data differ by otherwise.
pub(crate) const NUDGE: f64 = 1.0 / (1_u64 << 33) as f64;

/// The same for float32.
pub(crate) const NUDGE_SINGLE: f64 = 1.0 / (1_u64 << 18) as f64;

/// What numbers look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Floats of size in [0.5, 2) and either sign.
    Signed,
    /// The same, all positive.
    Positive,
    /// Half of the elements as in `Signed`, half from the palette.
    Palette,
    /// Few small whole numbers: ties and zeros.
    Whole,
    /// Sizes over all magnitudes up to those of the palette, of either sign.
    Wide,
    /// As `Signed`, but the argument of this number, modulo how many there are, is small: a determinant of one and a little is positive.
    Scaled(usize),
    /// As `Signed`, and integers that select among few elements take the values of this number: see [`Selectors`].
    Selecting(u64),
    /// As `Palette`, but half of the elements of one argument of indices, the one of this number modulo how many there are, may leave the
    /// arrays that they are indices of: conditions may guard these accesses. The others stay inside, for no condition may guard theirs.
    Daring(usize),
}

impl Profile {
    /// Whether its numbers are what any kernel is made for: moderate in size, no zeros, no integers beyond what indices may be.
    pub(crate) fn is_tame(self) -> bool {
        matches!(self, Self::Signed | Self::Positive | Self::Selecting(_))
    }
}

/// What is known of one argument.
#[derive(Clone, Debug)]
struct Argument {
    array: ArrayId,
    layout: Layout,
    /// A hash of its name.
    hash: u64,
    /// How many arguments before it are only read, and are floats.
    number: usize,
    is_read: bool,
    is_writable: bool,
    palette: Vec<f64>,
    /// Binary logarithm of the largest magnitude that its palette asks for.
    reach: u32,
    /// Whether a divisor or the width of a shift is computed from it.
    is_divisor: bool,
}

/// How the arguments of a kernel are drawn.
pub(crate) struct Plan {
    arguments: Vec<Argument>,
    position: Vec<Option<usize>>,
    /// How many of them are read only and are floats.
    n_float: usize,
    indices: Indices,
    /// The arguments whose elements are indices.
    indexing: Vec<ArrayId>,
    selectors: Selectors,
    /// Parameters with their values.
    parameters: IndexMap<String, i64>,
    /// Whether a kernel decides on data: the palettes matter.
    pub(crate) decides: bool,
    /// Whether it decides on inames or parameters alone.
    pub(crate) decides_on_points: bool,
    /// Whether it reads integers, which may be indices: a few data sets may not tell them apart.
    pub(crate) reads_integers: bool,
}

/// One choice of data.
#[derive(Clone, Copy)]
pub(crate) struct DataSet<'p> {
    plan: &'p Plan,
    pub(crate) seed: u64,
    pub(crate) profile: Profile,
    /// Whether floats of writable arguments start at zero: what is added to them may be tiny.
    pub(crate) from_zero: bool,
    /// Floats are moved a little, in another way for each number but 0.
    nudge: u64,
}

impl Plan {
    /// Reads the kernels.
    ///
    /// # Errors
    /// A parameter without value and estimate, an unusable size, a domain that isl does not understand.
    pub(crate) fn new(kernel: &Kernel, others: &[&Kernel], given: &IndexMap<String, i64>) -> Result<Self, Error> {
        let values = parameter_values(kernel, given)?;
        let source = Source::new(kernel, &values)?;
        let mut decisions = Decisions::of(kernel, &source);
        for other in others {
            let values = parameter_values(other, given)?;
            decisions.join(Decisions::of(other, &Source::new(other, &values)?));
        }
        let (mut arguments, mut n_float) = (Vec::new(), 0);
        let mut position = vec![None; kernel.arrays.len()];
        for array in kernel.arguments() {
            let layout = Layout::of(&source, &kernel[array])?;
            let palette = decisions.palette(&layout.name);
            let largest = palette.iter().fold(1.0_f64, |all, value| all.max(value.abs()));
            position[array.index()] = Some(arguments.len());
            arguments.push(Argument {
                array,
                hash: hash_text(&layout.name),
                number: n_float,
                is_read: !matches!(kernel[array].kind, ArrayKind::Argument(ArgumentAccess::Write)),
                is_writable: kernel[array].is_writable(),
                reach: (largest.log2().ceil() as u32).clamp(1, 100),
                is_divisor: decisions.is_divisor(&layout.name),
                palette,
                layout,
            });
            let is_read = matches!(kernel[array].kind, ArrayKind::Argument(ArgumentAccess::Read));
            n_float += usize::from(is_read && kernel[array].dtype.is_float());
        }
        let indices = Indices::of(kernel, &source, &mut Domains::new(kernel, &values)?)?;
        let selecting = arguments.iter().filter(|argument| argument.is_read && !argument.layout.dtype.is_float());
        let selectors = Selectors::of(selecting.map(|argument| (argument.array, &argument.layout)), &indices);
        let parameters = kernel.parameters.iter().map(|parameter| parameter.name.clone()).zip(values).collect();
        let reads_integers = arguments.iter().any(|argument| argument.is_read && !argument.layout.dtype.is_float());
        let indexing = arguments.iter().map(|argument| argument.array).filter(|&it| indices.holds(it)).collect();
        let (decides, decides_on_points) = (decisions.any(), decisions.of_points());
        Ok(Self {
            arguments,
            position,
            n_float,
            indexing,
            indices,
            selectors,
            parameters,
            decides,
            decides_on_points,
            reads_integers,
        })
    }

    /// Whether all arguments that are read may be held as arrays.
    pub(crate) fn check_held(&self) -> Result<(), Error> {
        let mut read = self.arguments.iter().filter(|argument| argument.is_read);
        read.try_for_each(|argument| argument.layout.check_held())
    }

    pub(crate) fn data(&self, seed: u64, profile: Profile, from_zero: bool) -> DataSet<'_> {
        DataSet { plan: self, seed, profile, from_zero, nudge: 0 }
    }

    /// How many arguments [`Profile::Daring`] chooses from.
    pub(crate) fn n_daring(&self) -> usize {
        self.indexing.len()
    }

    /// How many data sets [`Profile::Selecting`] has.
    pub(crate) fn n_selections(&self) -> u64 {
        self.selectors.n_selections()
    }

    /// Every parameter with its value.
    pub(crate) fn parameters(&self) -> &IndexMap<String, i64> {
        &self.parameters
    }

    /// How many elements the arguments that are read have together.
    pub(crate) fn len(&self) -> usize {
        let read = self.arguments.iter().filter(|argument| argument.is_read);
        read.fold(0_usize, |sum, argument| sum.saturating_add(argument.layout.len))
    }
}

impl DataSet<'_> {
    /// All arguments that are read, as arrays.
    pub(crate) fn inputs(&self) -> Inputs {
        let mut arrays = IndexMap::new();
        for argument in self.plan.arguments.iter().filter(|argument| argument.is_read) {
            let positions = 0..argument.layout.len;
            let values = if argument.layout.dtype.is_float() {
                Values::Floats(positions.map(|position| self.float_of(argument, position)).collect())
            } else {
                Values::Ints(positions.map(|position| self.int_of(argument, position)).collect())
            };
            arrays.insert(argument.layout.name.clone(), values);
        }
        Inputs { parameters: self.plan.parameters.clone(), arrays }
    }

    /// The same, with each float moved by about [`NUDGE`], in another way for each number but 0.
    pub(crate) fn nudged(self, nudge: u64) -> Self {
        Self { nudge, ..self }
    }

    fn hash(&self, argument: &Argument, position: usize) -> u64 {
        hash_with(hash_with(self.seed, argument.hash), position as u64)
    }

    fn argument(&self, array: ArrayId) -> Option<&Argument> {
        self.plan.arguments.get(self.plan.position[array.index()]?)
    }

    fn float_of(&self, argument: &Argument, position: usize) -> f64 {
        if self.from_zero && argument.is_writable {
            return 0.0;
        }
        let hash = self.hash(argument, position);
        let value = dyadic(hash, if argument.layout.dtype == Dtype::Float32 { 20 } else { 40 });
        let choice = mix(hash ^ 0x51ab);
        let value = match self.profile {
            Profile::Signed | Profile::Selecting(_) => value,
            Profile::Positive => value.abs(),
            Profile::Scaled(small) if self.plan.n_float > 0 && argument.number == small % self.plan.n_float => {
                value * SMALL
            }
            Profile::Scaled(_) => value,
            Profile::Palette | Profile::Daring(_) => match argument.palette.as_slice() {
                [] => value,
                _ if choice & 1 == 0 => value,
                palette => beside(palette[(choice >> 8) as usize % palette.len()], (choice >> 1) % 8, value),
            },
            Profile::Whole => self.whole(choice) as f64,
            Profile::Wide => {
                let exponent = (choice % (2 * u64::from(argument.reach) + 3)) as i32 - argument.reach as i32 - 1;
                value * 2.0_f64.powi(exponent)
            }
        };
        let is_single = argument.layout.dtype == Dtype::Float32;
        let value = if self.nudge == 0 {
            value
        } else {
            let part = if is_single { NUDGE_SINGLE } else { NUDGE };
            value + dyadic(hash_with(hash, self.nudge), 20) * part * value.abs().max(1.0)
        };
        if is_single { f64::from(value as f32) } else { value }
    }

    fn int_of(&self, argument: &Argument, position: usize) -> i64 {
        let value = self.any_int_of(argument, position);
        match argument.layout.stored.map(Stored::range) {
            None => value,
            // An unsigned number takes the size of a negative one.
            Some((least, greatest)) => (if value < least { value.saturating_abs() } else { value }).min(greatest),
        }
    }

    fn any_int_of(&self, argument: &Argument, position: usize) -> i64 {
        let hash = self.hash(argument, position);
        let choice = mix(hash ^ 0x51ab);
        if argument.layout.dtype == Dtype::Bool {
            return (hash & 1) as i64;
        }
        if let Profile::Selecting(number) = self.profile
            && let Some(value) = self.plan.selectors.value(argument.array, position, number)
        {
            return value;
        }
        if let Some((mut lower, mut upper)) = self.plan.indices.range(argument.array, &argument.layout.index(position))
        {
            if let Profile::Daring(number) = self.profile
                && self.plan.indexing.get(number % self.plan.indexing.len().max(1)) == Some(&argument.array)
                && mix(hash ^ 0xda12) & 1 == 1
            {
                (lower, upper) = (lower.saturating_sub(3), upper.saturating_add(3));
            }
            let width = upper.saturating_sub(lower).saturating_add(1) as u64;
            return match choice % 5 {
                0 => lower,
                1 => upper,
                _ => lower.saturating_add((mix(hash) % width) as i64),
            };
        }
        if argument.is_divisor {
            return 1 + (mix(hash) % 7) as i64;
        }
        let whole = |palette: &[f64]| palette[(choice >> 8) as usize % palette.len()].clamp(-1e9, 1e9) as i64;
        match self.profile {
            // A zero would hide what it is multiplied with.
            Profile::Signed | Profile::Selecting(_) | Profile::Positive | Profile::Scaled(_) => {
                1 + (mix(hash) % 8) as i64
            }
            Profile::Palette | Profile::Daring(_) if choice & 1 == 1 && !argument.palette.is_empty() => {
                whole(&argument.palette) + (choice >> 1) as i64 % 3 - 1
            }
            Profile::Palette | Profile::Daring(_) => (mix(hash) % 9) as i64 - 4,
            Profile::Whole => self.whole(choice),
            Profile::Wide => {
                let size = 1_u64 << (mix(hash) % u64::from((argument.reach + BEYOND).min(30)));
                let value = (choice % size) as i64;
                if hash & 1 == 0 { value } else { -value }
            }
        }
    }

    /// A whole number: of two, three or more that this data set has.
    fn whole(&self, choice: u64) -> i64 {
        let n_values = [7, 2, 3, 5][(mix(self.seed) % 4) as usize];
        (choice % n_values) as i64 - (n_values / 2) as i64
    }

    /// The argument of that name.
    pub(crate) fn array(&self, name: &str) -> Option<ArrayId> {
        self.plan.arguments.iter().find(|argument| argument.layout.name == name).map(|argument| argument.array)
    }

    /// A float of an argument before the run.
    pub(crate) fn float(&self, array: ArrayId, index: &[i64]) -> f64 {
        let argument = self.argument(array);
        argument.map_or(0.0, |argument| self.float_of(argument, argument.layout.position(index)))
    }

    /// An integer or truth value of an argument before the run.
    pub(crate) fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        let argument = self.argument(array);
        argument.map_or(0, |argument| self.int_of(argument, argument.layout.position(index)))
    }
}

/// A number at, next to, near, or beyond a constant.
fn beside(constant: f64, which: u64, random: f64) -> f64 {
    let step = constant.abs().max(1.0) * 2.0_f64.powi(-20);
    // The neighbours of zero would underflow in any product.
    let least = 2.0_f64.powi(-50);
    match which {
        0 => constant,
        1 if constant == 0.0 => least,
        2 if constant == 0.0 => -least,
        1 => constant.next_up(),
        2 => constant.next_down(),
        3 => constant + step * random.abs(),
        4 => constant - step * random.abs(),
        5 => constant + random * constant.abs().max(1.0) / 4.0,
        6 => -constant,
        _ => constant * random,
    }
}
