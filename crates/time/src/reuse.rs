//! How much else is touched between two accesses to a temporary.
//!
//! # Why
//! A plane that one nest fills and the next one reads is still in cache, whatever the size of the grid; what is overwritten in each iteration of a loop never gets further than that.
//! # Input
//! A nest with its arrays.
//! # Output
//! For each temporary the bytes that the loop around all its accesses touches in one iteration.
//! # Method
//! An access touches as many elements as the loops inside that loop, over whose inames it moves, have iterations.
//! # Complexity
//! Linear in accesses times the depth of loops, for each loop that is the innermost around a temporary's accesses.
//! # Source
//! Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (1970), for what distances between uses mean.

use rustc_hash::FxHashMap;

use crate::body::Reference;
use crate::packing::around;
use crate::shape::{Sized, stride};

/// Between its accesses, how many bytes are touched, its own included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Between {
    /// Until an element is read; `None` if no loop is around all accesses.
    pub(crate) reads: Option<f64>,
    /// Until it is written again; `None` if it stays as it is.
    pub(crate) writes: Option<f64>,
}

/// For each array, what is touched between its accesses.
pub(crate) fn between(kernel: &Sized, parents: &[usize]) -> Vec<Between> {
    let loops = &kernel.nest.loops;
    let mut scopes: Vec<Option<usize>> = vec![None; kernel.bytes.len()];
    for (at, reference) in references(kernel) {
        let scope = &mut scopes[reference.array.index()];
        *scope = Some(scope.map_or(at, |scope| common(parents, scope, at)));
    }
    let mut moves = vec![false; kernel.bytes.len()];
    for (_, reference) in references(kernel) {
        let Some(scope) = scopes[reference.array.index()] else { continue };
        let mut outer = path(parents, scope).filter_map(|at| loops[at].iname);
        moves[reference.array.index()] |= outer.any(|iname| stride(reference, iname) != Some(0));
    }
    let mut volumes: FxHashMap<usize, f64> = FxHashMap::default();
    let mut res = vec![Between::default(); kernel.bytes.len()];
    for (array, scope) in scopes.into_iter().enumerate() {
        let Some(scope) = scope.filter(|&scope| scope != 0 && kernel.is_local[array]) else { continue };
        let volume = *volumes.entry(scope).or_insert_with(|| volume(kernel, parents, scope));
        res[array] = Between { reads: Some(volume), writes: (!moves[array]).then_some(volume) };
    }
    res
}

/// All accesses, with the loops in which they are.
fn references(kernel: &Sized) -> impl Iterator<Item = (usize, &Reference)> {
    let loops = kernel.nest.loops.iter().enumerate();
    loops.flat_map(|(at, one)| one.work.loads.iter().chain(&one.work.stores).map(move |reference| (at, reference)))
}

/// A loop and those around it, from the inside out.
fn path(parents: &[usize], at: usize) -> impl Iterator<Item = usize> {
    std::iter::once(at).chain(around(parents, at))
}

/// The innermost loop around two; zero, the whole, if there is none.
fn common(parents: &[usize], a: usize, b: usize) -> usize {
    let around: Vec<usize> = path(parents, a).collect();
    path(parents, b).find(|at| around.contains(at)).unwrap_or(0)
}

/// How many bytes an iteration of a loop touches.
fn volume(kernel: &Sized, parents: &[usize], scope: usize) -> f64 {
    let loops = &kernel.nest.loops;
    let mut touched: Vec<f64> = vec![0.0; kernel.bytes.len()];
    for (at, reference) in references(kernel) {
        if !path(parents, at).any(|at| at == scope) {
            continue;
        }
        let inside = path(parents, at).take_while(|&at| at != scope);
        let moves = |&at: &usize| loops[at].iname.is_none_or(|iname| stride(reference, iname) != Some(0));
        let n_elements: f64 = inside.filter(moves).map(|at| loops[at].trips).product();
        let array = reference.array.index();
        let bytes = (n_elements * kernel.element[array] as f64).min(kernel.bytes[array]);
        touched[array] = touched[array].max(bytes);
    }
    touched.iter().sum()
}
