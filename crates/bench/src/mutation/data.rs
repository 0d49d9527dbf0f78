//! Arguments of many kinds for one kernel.
//!
//! # Input
//! A kernel, values of its parameters, a [`Kind`], a seed.
//! # Output
//! Arguments on which the kernel runs to its end.
//! # Method
//! Floats are drawn by kind. Integers are drawn likewise, and if the kernel does not run on them, because they are indices, each is moved
//! away from a number that is safe as far as the kernel still runs: halves of an array at a time, then halves of these.
//! Nothing of this is shared with validation but the shapes of arrays and the safe numbers.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, Values, run};
use nestegg_ir::{Expr, Kernel, Number, Program};
use nestegg_testgen::{Choices, Seeded};

/// What numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Real numbers between -2 and 2.
    Plain,
    /// Small whole numbers: many are equal, many are zero.
    Dense,
    /// The constants of the kernel and numbers just beside them.
    Constants,
    /// Positive real numbers: roots and logarithms are defined.
    Positive,
    /// Two numbers only, so that ties are the rule.
    Ties,
    /// Numbers of every magnitude up to 1e12.
    Magnitudes,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Plain, Self::Dense, Self::Constants, Self::Positive, Self::Ties, Self::Magnitudes];
}

/// Runs of the kernel that look for legal integers, at most.
const MAX_RUNS: usize = 200;

/// A run is stopped here.
pub(super) const LIMIT: RunOptions = RunOptions { max_steps: 400_000_000 };

/// Arguments of a kind; `None` if the kernel runs on none that are found.
pub(super) fn inputs(program: &Program, parameters: &IndexMap<String, i64>, kind: Kind, seed: u64) -> Option<Inputs> {
    let safe = Inputs::random(program.kernel(), parameters, seed).ok()?;
    let mut draw = Draw {
        choices: Seeded::new(seed.wrapping_mul(31) + kind as u64),
        kind,
        constants: constants(program.kernel()),
    };
    let mut floats = safe.clone();
    for values in floats.arrays.values_mut() {
        if let Values::Floats(values) = values {
            values.iter_mut().for_each(|value| *value = draw.float());
        }
    }
    let is_bool = |name: &str| {
        program.kernel().arrays.iter().any(|array| array.name == name && array.dtype == nestegg_ir::Dtype::Bool)
    };
    let integers: Vec<String> = safe
        .arrays
        .iter()
        .filter(|(name, values)| matches!(values, Values::Ints(_)) && !is_bool(name))
        .map(|(name, _)| name.clone())
        .collect();
    let mut free = floats.clone();
    for name in &integers {
        if let Some(Values::Ints(values)) = free.arrays.get_mut(name) {
            values.iter_mut().for_each(|value| *value = draw.integer());
        }
    }
    let runs = |inputs: &Inputs| run(program, inputs, &LIMIT).is_ok();
    if runs(&free) {
        return Some(free);
    }
    if integers.is_empty() || !runs(&floats) {
        return None;
    }
    let mut climb = Climb { inputs: floats, n_runs: 0, runs: &runs };
    let largest = climb.inputs.arrays.values().map(Values::len).max().unwrap_or(0).min(64) as u64;
    for name in &integers {
        let len = climb.inputs.arrays[name].len();
        let drawn: Vec<i64> = (0..len).map(|_| draw.choices.below(largest + 8) as i64 - 4).collect();
        climb.replace(name, &drawn, 0, len);
    }
    Some(climb.inputs)
}

/// A search for integers on which a kernel runs.
struct Climb<'a> {
    inputs: Inputs,
    n_runs: usize,
    runs: &'a dyn Fn(&Inputs) -> bool,
}

impl Climb<'_> {
    /// Takes over what was drawn for the elements from `low` to `high`, as far as the kernel runs on it.
    fn replace(&mut self, name: &str, drawn: &[i64], low: usize, high: usize) {
        if low >= high || self.n_runs >= MAX_RUNS {
            return;
        }
        self.n_runs += 1;
        let mut next = self.inputs.clone();
        if let Some(Values::Ints(values)) = next.arrays.get_mut(name) {
            values[low..high].copy_from_slice(&drawn[low..high]);
        }
        if (self.runs)(&next) {
            self.inputs = next;
        } else if high - low > 1 {
            let middle = usize::midpoint(low, high);
            self.replace(name, drawn, low, middle);
            self.replace(name, drawn, middle, high);
        }
    }
}

/// The literals of a kernel.
fn constants(kernel: &Kernel) -> Vec<f64> {
    let literals = kernel.exprs.iter().filter_map(|(_, expr)| match expr {
        Expr::Number(Number::Float(value)) => Some(value.get()),
        Expr::Number(Number::Int(value)) => Some(*value as f64),
        _ => None,
    });
    let bits: BTreeSet<u64> = literals.map(f64::to_bits).collect();
    bits.into_iter().map(f64::from_bits).collect()
}

struct Draw {
    choices: Seeded,
    kind: Kind,
    constants: Vec<f64>,
}

impl Draw {
    /// A number between 0 and 1, with 30 bits.
    fn unit(&mut self) -> f64 {
        self.choices.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    fn float(&mut self) -> f64 {
        match self.kind {
            Kind::Plain => 4.0 * self.unit() - 2.0,
            Kind::Dense => self.choices.below(7) as f64 - 3.0,
            Kind::Constants => self.beside_constant(),
            Kind::Positive => 0.05 + 3.0 * self.unit(),
            Kind::Ties => [1.0, -0.5][self.choices.below(2) as usize],
            Kind::Magnitudes => {
                let sign = if self.choices.below(2) == 0 { 1.0 } else { -1.0 };
                sign * 10_f64.powf(20.0 * self.unit() - 8.0)
            }
        }
    }

    /// A constant, a number beside it, or one that mutants may have in its place.
    fn beside_constant(&mut self) -> f64 {
        if self.constants.is_empty() || self.choices.below(4) == 0 {
            return 4.0 * self.unit() - 2.0;
        }
        let constant = self.constants[self.choices.below(self.constants.len() as u64) as usize];
        match self.choices.below(9) {
            0 | 1 => constant,
            2 => constant.next_up(),
            3 => constant.next_down(),
            4 => constant + 0.5,
            5 => constant - 0.5,
            6 => constant + 1.0,
            7 => 1.5 * constant,
            _ => 30.0 * constant,
        }
    }

    fn integer(&mut self) -> i64 {
        match self.kind {
            Kind::Constants => self.beside_constant().clamp(-2e9, 2e9) as i64,
            Kind::Dense | Kind::Ties => self.choices.below(5) as i64 - 2,
            Kind::Positive => self.choices.below(9) as i64,
            Kind::Plain => self.choices.below(41) as i64 - 20,
            Kind::Magnitudes => self.choices.below(1 << 21) as i64 - (1 << 20),
        }
    }
}
