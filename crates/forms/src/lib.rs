//! Whole-expression forms of kernels, each a function from a kernel in value form to an equal one.
//!
//! | form | what it does | equal |
//! | --- | --- | --- |
//! | [`linear_maps`] | writes stores as linear maps of scalar features, in straight-line code or over blocks of elements; or only their parts with few monomials | within the tolerance |
//! | [`paired_tables`] | runs bilinear stores over unordered pairs of inames | within rounding of tables |
//! | [`point_features`] | writes stores as sums over points of tables times features of the points | exactly |
//! | [`share_symmetric`] | computes stores of equal values once | exactly |
//! | [`eliminate_deltas`] | removes reductions over identity tables | exactly |
//! | [`split_digits`] | splits reduction inames of tensor-product rules into digits | exactly, or within the tolerance |
//! | [`even_odd`] | runs reductions of symmetric tables over half of the points | within the tolerance |
//! | [`tabulate`] | replaces temporaries of constants alone by tables | within rounding |
//! | [`separate`] | writes tables of tensor products as products of tables over one dimension | within the tolerance |
//! | [`traces`] | leaves out the columns that are zero in the table that a run-time number selects | exactly, or within the tolerance |
//! | [`interpolate`] | takes fewer products in sums over table columns that combine other columns | within the tolerance |
//!
//! Stores that a form replaces stay in the list of instructions but run nowhere: the caller eliminates dead code.
//!
//! # The engine
//! 1. `stores` chooses the stores and their *table inames*; `integrands` takes the stores apart.
//!    `families` puts inames in the place of run-time numbers that select tables, if that is asked for.
//! 2. `evaluate` brings their values to the multilinear normal form (`polynomial`), over tables in those inames
//!    (`table`) and monomials of scalar atoms (`atoms`); `distribute` first multiplies out the bodies of reductions.
//! 3. `columns` makes one column of numbers for each monomial and equates values within a stated tolerance; monomials
//!    with proportional columns are one feature, and dependent columns are made from the others. `moments` computes the
//!    coefficients in them by few sums.
//! 4. `write`, `components` and `blocks` write the map as straight-line code, as straight-line code in loops over
//!    components, or as loops; `scalars` writes the features. The solvers are those of `nestegg_solve`.
//!
//! The other forms use the first two steps, and `scalars`.
//! # Not done
//! No straight-line code where a reduction runs over products of run-time values at many points (geometry that is not
//! affine): [`paired_tables`], [`point_features`] and the contraction forms of the e-graph handle these.
//!
//! Source: Kirby
//! and Logg, "A compiler for variational forms", ACM TOMS 2006; Kirby, Logg, Scott and Terrel, "Topological
//! optimization of the evaluation of finite element matrices", SISC 2006 (relations between rows); Luporini, Ham and
//! Kelly, ACM TOMS 2017 (pre-evaluation).

mod atoms;
mod blocks;
mod columns;
mod components;
mod delta;
mod digits;
mod distribute;
mod elements;
mod evaluate;
mod even_odd;
mod families;
mod integrands;
mod interpolation;
mod moments;
mod nests;
mod pairs;
mod points;
mod polynomial;
mod powers;
mod scalars;
mod separated;
mod stores;
mod symmetry;
mod table;
mod tabulate;
mod traces;
mod write;

use nestegg_ir::LinearizedKernel;

use nestegg_ir::domains::DomainError;
use nestegg_ir::linearization::NestingError;

pub use delta::eliminate_deltas;
pub use digits::split_digits;
pub use even_odd::even_odd;
pub use integrands::monomial_counts;
pub use interpolation::interpolate;
pub use pairs::paired_tables;
pub use points::point_features;
pub use powers::{CommonRoots, common_roots};
pub use separated::separate;
pub use symmetry::share_symmetric;
pub use tabulate::tabulate;
pub use traces::traces;

/// How a linear map is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Straight-line code, one statement for each element.
    StraightLine,
    /// Loops over blocks of elements in which the same features count, with one table for each feature; symmetric elements once.
    Loops,
    /// One nest of loops over all elements of each store, with one table for each feature: more operations, but all of them in vectors.
    Dense,
}

/// What becomes of sums of scalars that a product multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// They are multiplied out, and the solver looks for other ones.
    Expanded,
    /// Each is one value: what nearly cancels, as minors of matrices do, cancels before it is multiplied, and loses no digits.
    Kept,
}

/// What becomes of a table that a run-time number selects, `T[f[0], q, j]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// Each of its elements is a run-time value.
    Scalars,
    /// Its members are multiplied and summed as numbers, one for each value of the selector. Without such a table there is no form.
    Families,
}

/// Whose features the solver writes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Those of all stores that are summed over the same points: what they have in common is found.
    Together,
    /// Those of each store: smaller systems are solved better. Without two stores over the same points there is no form.
    Apart,
}

/// Which parts of the form are used, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How the map is written down.
    pub shape: Shape,
    /// Whose features the solver of polynomial systems gets at once, in [`point_features`].
    pub stores: Stores,
    /// What becomes of sums that are multiplied. With [`Sums::Kept`] there is no form where none is.
    pub sums: Sums,
    /// Columns that depend on others are made from them.
    pub basis: bool,
    /// Coefficients that several factors are multiplied with enter by their moments.
    pub moments: bool,
    /// A row may be made from another by their difference.
    pub row_differences: bool,
    /// Pairs that occur in several rows are computed once.
    pub pairs: bool,
    /// Common factors and sums of the features are computed once.
    pub scalars: bool,
    /// Straight-line code of more statements is not made.
    pub max_statements: usize,
    /// What is of more monomials stays a sum over points, beside the map; `None` to take stores whole.
    pub max_monomials: Option<u64>,
    /// What becomes of tables that run-time numbers select.
    pub selected: Selected,
}

impl Options {
    /// The number of statements that is allowed where nothing else is asked for.
    pub const DEFAULT_MAX_STATEMENTS: usize = 2_000;
}

/// What the tolerance for tables changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// How many numbers were replaced by another of their cluster, or rounded.
    pub n_changed: usize,
    /// The largest change, as a fraction of the largest magnitude of its column.
    pub largest_change: f64,
}

impl Tolerance {
    /// What two steps changed, one after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            n_changed: self.n_changed + other.n_changed,
            largest_change: self.largest_change.max(other.largest_change),
        }
    }
}

/// A kernel whose stores are linear maps.
#[derive(Clone, Debug)]
pub struct LinearMaps {
    /// The kernel.
    pub linearized: LinearizedKernel,
    /// How many stores became linear maps.
    pub n_stores: usize,
    /// How many features they have together.
    pub n_features: usize,
    /// What was done to numbers.
    pub tolerance: Tolerance,
}

/// Why a kernel could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// Loops and conditions do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// A domain cannot be used.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

/// The kernel with its stores as linear maps; `None` if none of them is one within the limits.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn linear_maps(linearized: &LinearizedKernel, options: &Options) -> Result<Option<LinearMaps>, FormError> {
    let parts = match options.max_monomials {
        Some(limit) => match integrands::split(linearized, limit)? {
            Some(parts) => Some(parts),
            None => return Ok(None),
        },
        None => None,
    };
    let linearized = parts.as_ref().map_or(linearized, |parts| &parts.0);
    let found = match options.selected {
        Selected::Scalars => stores::find(linearized)?,
        Selected::Families => match families::with_inames(linearized)? {
            Some((linearized, selectors)) => stores::find_with(&linearized, selectors)?,
            None => None,
        },
    };
    let Some(mut found) = found else { return Ok(None) };
    if let Some((_, few)) = &parts {
        found.stores.retain(|store| few.contains(&store.insn));
    }
    found.evaluator.algebra.sums = options.sums;
    let columns = columns::of_stores(&mut found, options);
    if columns.maps.is_empty() || !found.evaluator.algebra.has_form() {
        return Ok(None);
    }
    Ok(write::write(found, columns, options))
}
