//! Estimates, and how they are made.

use std::collections::BTreeMap;
use std::fmt;

use nestegg_ir::affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::inline::inline_substitutions;
use nestegg_ir::linearization::{NestingError, conditions_mut, to_tree};
use nestegg_ir::{InsnId, LinearizedKernel, Program, data_bounds};

use crate::axes::{Axes, axes};
use crate::machine::{Constant, Machine};
use crate::nest::{Builder, value};
use crate::shape::{Sized, cost, shared};

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// A substitution rule that is not what rules are.
    #[error("substitution rules cannot be inlined: {0}")]
    Inline(String),
    /// Loops that do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// A domain that cannot be counted.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

/// What bounds a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Sums and products.
    Arithmetic,
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Quotients and roots.
    Quotients,
    /// The number of instructions.
    Issue,
    /// Elements that are put together to vectors.
    Lanes,
    /// Each iteration waits for the one before.
    Chain,
    /// Calls of functions.
    Calls,
    /// Caches or memory.
    Memory,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arithmetic => "arithmetic",
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::Quotients => "quotients",
            Self::Issue => "issue",
            Self::Lanes => "lanes",
            Self::Chain => "chain",
            Self::Calls => "calls",
            Self::Memory => "memory",
        })
    }
}

/// One loop that is left after unrolling, or the code outside all loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopEstimate {
    pub(crate) at: usize,
    pub(crate) parent: usize,
    /// How often it is entered in one iteration of the loop around it.
    pub entries: f64,
    /// Nanoseconds of entering it once, with the loops inside.
    pub nanoseconds: f64,
    /// Of these, its own.
    pub own: f64,
    /// Iterations, each time it is entered.
    pub trips: f64,
    /// Vector lanes; 1 for none.
    pub lanes: f64,
    /// What its own time is spent on.
    pub bound: Bound,
}

/// The time that one run of a kernel takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds of one run.
    pub nanoseconds: f64,
    /// The code outside all loops, then each loop that is not unrolled, with the names of the inames of the loops around it and its own.
    pub loops: Vec<(String, LoopEstimate)>,
}

/// One line for each loop.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1} ns", self.nanoseconds)?;
        for (name, one) in &self.loops {
            let name = if name.is_empty() { "outside" } else { name };
            writeln!(
                f,
                "  {name}: {:.1} ns each time, bound by {}, {} iterations, {} lanes",
                one.own, one.bound, one.trips, one.lanes
            )?;
        }
        Ok(())
    }
}

/// What a kernel does, before a machine is chosen; several machines can be asked of one.
#[derive(Clone, Debug)]
pub struct Profile {
    sized: Sized,
    names: Vec<String>,
}

impl Profile {
    /// The profile of a kernel, as compilers see it that may or may not reassociate and fuse operations.
    ///
    /// # Errors
    /// If its rules, loops or domains are not what they should be, or a parameter that matters has no value.
    pub fn new(program: &LinearizedKernel, values: &[(String, i64)], machine: &Machine) -> Result<Self, EstimateError> {
        let mut program = program.clone();
        if data_bounds::has_open_inames(&program.kernel)
            && let Some(unguarded) = data_bounds::unguarded(&Program::Linearized(program.clone()))
            && let Program::Linearized(unguarded) = unguarded.program
        {
            // Loops end where data say; they are not tested at each point.
            program = unguarded;
        }
        if !program.kernel.substitutions.is_empty() {
            let mut conditions = conditions_mut(&mut program.linearization);
            inline_substitutions(&mut program.kernel, &mut conditions)
                .map_err(|error| EstimateError::Inline(error.to_string()))?;
        }
        let kernel = &program.kernel;
        let tree = to_tree(&program.linearization)?;
        let domains = Domains::new(&nestegg_isl::Context::new(), kernel)?.with_values(values);
        let may = |constant| machine[constant] >= 0.5;
        let vector_bytes = machine[Constant::VectorBytes] as u64;
        let compiler = (may(Constant::Reassociates), may(Constant::Fuses), vector_bytes);
        let builder = Builder::new(kernel, &domains, values, compiler);
        let nest = builder.nest(&tree)?;
        let extents = |array: &nestegg_ir::Array| -> Option<Vec<u64>> {
            let extent = |&extent: &_| value(kernel, &affine::of(&kernel.exprs, extent)?, values);
            array.shape.iter().map(|size| Some(extent(size)?.max(0).unsigned_abs())).collect()
        };
        let bytes = |array: &nestegg_ir::Array| {
            let size = extents(array).map_or(1.0, |extents| extents.into_iter().map(|extent| extent as f64).product());
            size * array.element_size() as f64
        };
        let strides = |array: &nestegg_ir::Array| {
            let extents = extents(array)?;
            let mut res = vec![1_u64; extents.len()];
            for axis in (1..extents.len()).rev() {
                res[axis - 1] = res[axis].checked_mul(extents[axis])?;
            }
            Some(res)
        };
        let mut names = vec![String::new(); nest.loops.len()];
        for (idx, one) in nest.loops.iter().enumerate() {
            for &child in &one.children {
                let name = &nest.loops[child].name;
                names[child] = if names[idx].is_empty() { name.clone() } else { format!("{} {name}", names[idx]) };
            }
        }
        let sized = Sized {
            bytes: kernel.arrays.iter().map(bytes).collect(),
            element: kernel.arrays.iter().map(nestegg_ir::Array::element_size).collect(),
            is_local: kernel.arrays.iter().map(nestegg_ir::Array::is_temporary).collect(),
            is_table: kernel.arrays.iter().map(|array| array.table().is_some()).collect(),
            strides: kernel.arrays.iter().map(strides).collect(),
            nest,
        };
        Ok(Self { sized, names })
    }

    /// The time on a machine.
    #[must_use]
    pub fn on(&self, machine: &Machine) -> Estimate {
        let loops = cost(&self.sized, machine);
        let nanoseconds = loops.first().map_or(0.0, |whole| whole.nanoseconds);
        let loops = loops.into_iter().map(|one| (self.names[one.at].clone(), one)).collect();
        Estimate { nanoseconds, loops }
    }

    /// The axes along which the loops go that compilers can put into lanes: those of temporaries and tables that would be better last in memory.
    #[must_use]
    pub fn axes(&self, machine: &Machine) -> Axes {
        axes(&self.sized, machine)
    }

    /// The nanoseconds of one run, shared among the instructions. Each loop's own time goes to the instructions in it, in proportion to how long the operations of each
    /// would take one after another. The shares add up to the estimate, but for the call and for loops in which no instruction does anything.
    #[must_use]
    pub fn by_instruction(&self, machine: &Machine) -> BTreeMap<InsnId, f64> {
        shared(&self.sized, &cost(&self.sized, machine), machine)
    }
}

/// The time that one run of a kernel takes on a machine.
///
/// # Errors
/// Those of [`Profile::new`].
pub fn estimate(
    program: &LinearizedKernel,
    values: &[(String, i64)],
    machine: &Machine,
) -> Result<Estimate, EstimateError> {
    Ok(Profile::new(program, values, machine)?.on(machine))
}
