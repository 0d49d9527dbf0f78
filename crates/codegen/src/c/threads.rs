//! Loops whose iterations OpenMP may give to several threads.
//!
//! # Input
//! Loops whose iterations have nothing in common, as the caller knows, with the temporaries that each thread needs for itself.
//! # Output
//! A pragma for the outermost of them, for compilers with OpenMP.
//! # Not done
//! What comes from the heap is there once: a loop whose threads would each need some of it is left alone, and loops inside it are looked at.

use nestegg_ir::{ArrayId, InameId, ParameterId};

use super::arrays::{Copy, Storage};
use super::layout::Code;
use super::statements::Temporaries;
use super::temporaries::Place;
use super::writer::Writer;

/// A loop whose iterations may run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Which of the loops in the linearization, in their order.
    pub nth: usize,
    /// Temporaries that each thread needs for itself.
    pub private: Vec<ArrayId>,
    /// The parameter from whose value on threads are worth their start; `None` if they always are.
    pub from: Option<(ParameterId, i64)>,
}

/// The state of [`Writer`] that says which loop comes next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads {
    loops: Vec<Parallel>,
    n_visited: usize,
    is_inside: bool,
}

impl Threads {
    pub(crate) fn new(loops: Vec<Parallel>) -> Self {
        Self { loops, ..Self::default() }
    }

    /// Whether no loop goes to threads.
    pub(crate) fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The next loop is not written as a loop.
    pub(crate) fn pass(&mut self) {
        self.n_visited += 1;
    }
}

impl Writer<'_> {
    /// Enters the next loop of the linearization: the lines before it, if its iterations go to threads.
    pub(crate) fn enter_loop(&mut self, iname: InameId, temporaries: &Temporaries) -> Vec<Code> {
        let nth = self.threads.n_visited;
        self.threads.pass();
        let found = self.threads.loops.iter().find(|parallel| parallel.nth == nth && !self.threads.is_inside);
        let Some((private, from)) =
            found.and_then(|one| Some((self.private(iname, &one.private, temporaries)?, one.from)))
        else {
            return Vec::new();
        };
        self.threads.is_inside = true;
        let clause = |(name, list): (&str, Vec<String>)| match list.is_empty() {
            true => String::new(),
            false => format!(" {name}({})", list.join(", ")),
        };
        let mut clauses: String = private.into_iter().map(clause).collect();
        if let Some((parameter, least)) = from {
            clauses += &format!(" if({} >= {least})", self.symbols.parameters[parameter.index()]);
        }
        let lines = ["#ifdef _OPENMP".to_owned(), format!("#pragma omp parallel for{clauses}"), "#endif".to_owned()];
        lines.into_iter().map(Code::Raw).collect()
    }

    /// Leaves a loop that began with these lines.
    pub(crate) fn leave_loop(&mut self, lines: &[Code]) {
        if !lines.is_empty() {
            self.threads.is_inside = false;
        }
    }

    /// What each thread needs for itself, by clause; `None` if some of it comes from the heap.
    fn private(
        &self,
        iname: InameId,
        arrays: &[ArrayId],
        temporaries: &Temporaries,
    ) -> Option<[(&'static str, Vec<String>); 2]> {
        let (mut fresh, mut zero) = (Vec::new(), Vec::new());
        for &array in arrays {
            let Some(declared) = temporaries.declarations.get(&array) else { continue };
            match (declared.place, self.arrays.layout(array).storage) {
                // It is declared inside of the loop.
                (Place::At { .. }, _) => {}
                (Place::Top, Storage::Heap) => return None,
                (Place::Top, _) => {
                    let list = if declared.is_conditional { &mut zero } else { &mut fresh };
                    list.push(self.symbols.arrays[array.index()].clone());
                }
            }
        }
        if let Some(lanes) = self.lanes.as_ref().filter(|lanes| lanes.block == iname) {
            for array in self.kernel.arguments() {
                let Some(Copy { name, layout, rest, rest_on_heap, .. }) = self.arrays.copies.get(&array) else {
                    continue;
                };
                let has_rest = lanes.limit.is_some();
                if layout.storage == Storage::Heap || (has_rest && *rest_on_heap) {
                    return None;
                }
                fresh.push(name.clone());
                fresh.extend(has_rest.then(|| rest.clone()));
            }
        }
        Some([("private", fresh), ("firstprivate", zero)])
    }
}
