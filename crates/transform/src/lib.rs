//! `Kernel` → `Kernel` passes that are not rewrites.
//!
//! - [`normalise()`] brings a kernel to value form, in which each read of a temporary is the value that reaches it.
//! - [`share_shifted`] stores values that recur at shifts, or under other inames, in arrays.
//! - [`fold_constants`] computes constants.
//! - [`join_domains`] joins domains, [`join_reductions`] reductions that are added up, [`flatten_sums`] nested sums.
//! - [`align_loops`] gives one iname to loops over equally long ranges, [`share_interleaved`] to short loops that add to elements between each other's.
//! - [`add_recurrences_last`] adds last what the iteration before has computed.
//! - [`split_long_sums`] makes long sums in loops sums of partial sums, which do not wait for each other.
//! - [`replace_by_scalars`] keeps elements in scalars while loops write them.
//! - [`recompute`] computes values again instead of storing them.
//! - [`reduce_strength`] computes quotients and powers from what they share.
//! - [`summing_loops`] are loops that may run in vector lanes although they add to scalars, [`loops_in_threads`] all that may run in lanes.
//! - [`look_right`] lets values of triangular solves go to all that need them as soon as they are known.
//! - [`write_out_triangles`] writes out loops around others whose bounds depend on them, and [`write_out_sums`] short loops inside of loops that add to elements.
//! - [`coalesce_triangles`] makes them loops over the points of both, along which arrays are packed.
//! - [`pad_rows`] makes short loops as long as vectors, along rows that repeat their last element.
//! - [`store_last`] gives stores to elements that lie apart a loop of their own, [`call_first`] calls that cannot run in lanes.
//! - [`write_out_components`] writes out sums over components, [`unroll`] short loops; [`roll_up`] rolls loops up again that were written out, [`roll_up_sums`] sums.
//! - [`factor_sums`] finds common factors, [`multiply_out`] multiplies them out.
//! - [`slice_tables`] takes stacks of tables apart.
//! - [`restrict_to_bands`] runs sums over the bands of their tables.
//! - [`parts`] are stores that share nothing, [`apart`] stores that can be searched apart although they share values.
//! - [`OneElement`] is what a loop over elements does for one of them.
//! - [`without_loops_of_one`] replaces inames by their only values.
//! - [`eliminate_dead`] removes instructions that no result needs, [`eliminate_empty`] those that never run.
//! - [`in_doubles`] replaces float32 by float64.
//! - [`coefficients()`] separates numbers from a kernel.
#![warn(missing_docs)]

mod accumulation;
mod alias;
mod align;
mod apart;
mod band;
pub mod batch;
mod bound;
mod bound_loops;
mod calls_first;
mod coalesce;
mod coefficients;
mod coerce;
mod compact;
mod dead;
mod decided;
mod depends;
mod empty;
mod factor_sums;
mod facts;
mod find;
mod flatten_sums;
pub mod fold;
mod free_factors;
mod in_two;
mod independent;
mod index_sets;
mod innermost;
mod interleave;
mod join_domains;
mod join_reductions;
mod join_stores;
mod loop_inames;
mod loops;
mod memory;
mod merge_digits;
mod multiply_out;
mod nest;
pub mod normalise;
mod once;
mod one_element;
mod pad;
pub mod parallel;
mod partial_sums;
mod parts;
mod predicates;
mod quasi;
mod ranges;
mod recompute;
mod recurrences;
mod rename;
mod right_looking;
mod roll_up;
mod scalars;
pub mod shift;
mod slice_tables;
pub mod split_at_zeros;
mod stores_last;
mod strength;
mod substitute;
mod summing;
mod table_pool;
mod unroll;
mod updates;
mod widen;
mod workspace;
mod write_out;
mod write_out_loops;

pub use align::align_loops;
pub use apart::apart;
pub use band::restrict_to_bands;
pub use bound::name_bound_inames;
pub use bound_loops::bound_loops;
pub use calls_first::call_first;
pub use coalesce::coalesce_triangles;
pub use coefficients::{Coefficients, coefficients, with_coefficients};
pub use dead::eliminate_dead;
pub use empty::eliminate_empty;
pub use factor_sums::factor_sums;
pub use flatten_sums::flatten_sums;
pub use fold::{Folded, fold_constants};
pub use free_factors::free_factors;
pub use index_sets::split_index_sets;
pub use interleave::share_interleaved;
pub use join_domains::join_domains;
pub use join_reductions::join_reductions;
pub use multiply_out::{EqualTerms, Opened, multiply_out};
pub use nest::NestError;
pub use normalise::{NormaliseError, normalise, normalise_keeping, normalise_under};
pub use once::without_loops_of_one;
pub use one_element::OneElement;
pub use pad::pad_rows;
pub use partial_sums::split_long_sums;
pub use parts::parts;
pub use recompute::recompute;
pub use recurrences::add_recurrences_last;
pub use right_looking::look_right;
pub use roll_up::{roll_up, roll_up_sums};
pub use scalars::replace_by_scalars;
pub use shift::{ShiftError, share_shifted};
pub use slice_tables::slice_tables;
pub use split_at_zeros::{SplitError, SplitOptions, isolate_stores, split_at_zeros};
pub use stores_last::store_last;
pub use strength::reduce_strength;
pub use summing::{loops_in_threads, summing_loops};
pub use unroll::unroll;
pub use updates::write_as_updates;
pub use widen::in_doubles;
pub use write_out::write_out_components;
pub use write_out_loops::{write_out_sums, write_out_triangles};
