//! Results that are kept: the same kernel with the same options is optimized once, by however many processes.
//!
//! # Input
//! A [`Key`] of everything that a result depends on, and a way to make the result.
//! # Output
//! The result, to the byte what the first run made, and whether it was kept or is new.
//! # Method
//! A [`Cache`] is a folder with a file for each key, which is written beside its place and moved there. While a process makes a result
//! it holds a lock on a file beside it, which the system takes from a process that ends. An entry that is damaged is made again. Where a
//! file system has no locks, or a place cannot be written, results are right all the same and only made twice.
//! # Complexity
//! An entry is found by its name, and read once; nothing lists the folder but [`Cache::size`] and [`Cache::clear`].
//! # Not done
//! Entries never go away by themselves: they are small, and `nestegg cache clear` removes them. Errors are not kept.

mod folder;
mod kept;
mod key;

pub use folder::{Cache, CacheError, Fetched, Patience, Size};
pub use kept::{Kept, c_of, key_of_run};
pub use key::{Key, KeyWriter};
