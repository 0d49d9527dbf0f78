//! Loops that run in vector lanes although they add to scalars.
//!
//! # Input
//! Loops whose iterations have nothing in common but such scalars, as the caller knows.
//! # Output
//! A mark of OpenMP, which compilers heed with `-fopenmp-simd`: each lane has a sum of its own, and these are added up after the loop. Functions of `math.h` get
//! a declaration that says which of them glibc has for vectors.
//! # Not done
//! A loop whose scalars or whose lanes' own temporaries are no variables of the loop in C is left alone.

use nestegg_ir::linearization::runs_in;
use nestegg_ir::{ArrayId, InameId, InsnId, LoopTree};
use rustc_hash::FxHashSet;

use super::layout::Code;
use super::statements::Temporaries;
use super::temporaries::Place;
use super::writer::Writer;

/// A loop that may run in vector lanes although it adds to scalars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summing {
    /// The iname.
    pub iname: InameId,
    /// An instruction in the loop, to tell it from other loops over the iname.
    pub insn: InsnId,
    /// The scalars that it adds to.
    pub sums: Vec<ArrayId>,
    /// Temporaries that each lane needs for itself.
    pub private: Vec<ArrayId>,
}

/// Compilers that do not know the mark are not to complain.
pub(crate) const QUIET: &str = "\
/* Without -fopenmp-simd, `omp simd` says nothing. */
#if defined(__clang__)
#pragma clang diagnostic ignored \"-Wunknown-pragmas\"
#pragma clang diagnostic ignored \"-Wpass-failed\"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"
#endif
";

/// The functions that glibc has for vectors of doubles since 2.22; those of floats have an `f`.
const OF_VECTORS: &[(&str, usize)] = &[("cos", 1), ("exp", 1), ("log", 1), ("pow", 2), ("sin", 1)];

/// Declarations of the functions for vectors that some words name; nothing if there are none.
pub(crate) fn vector_calls(words: &FxHashSet<&str>) -> String {
    let mut lines = String::new();
    for (name, n_arguments) in OF_VECTORS {
        for (suffix, ty) in [("", "double"), ("f", "float")] {
            let name = format!("{name}{suffix}");
            if words.contains(name.as_str()) {
                let list = vec![ty; *n_arguments].join(", ");
                lines += &format!("__attribute__((__simd__(\"notinbranch\"))) {ty} {name}({list});\n");
            }
        }
    }
    if lines.is_empty() {
        return lines;
    }
    format!(
        "/* glibc has these for vectors, right to a few units in the last place. */\n#if defined(__GNUC__) && !defined(__clang__) && \
         defined(__x86_64__) && defined(__GLIBC_PREREQ) && !defined(__FAST_MATH__)\n#if __GLIBC_PREREQ(2, 22)\n{lines}#endif\n#endif\n"
    )
}

impl Writer<'_> {
    /// The line before a loop that adds to scalars in lanes; nothing before others.
    pub(crate) fn mark_of_sums(&self, iname: InameId, body: &[LoopTree], temporaries: &Temporaries) -> Option<Code> {
        let candidates = self.summing.iter().filter(|summing| summing.iname == iname);
        let runs = runs_in(body);
        let summing = candidates.into_iter().find(|summing| runs.contains(&summing.insn))?;
        let is_inside = |array: &ArrayId| match temporaries.declarations.get(array) {
            Some(declared) => matches!(declared.place, Place::At { .. }),
            None => true,
        };
        if self.lanes.is_some()
            || !summing.private.iter().all(is_inside)
            || summing.sums.iter().chain(&summing.private).any(|&array| self.arrays.is_held(array))
        {
            return None;
        }
        let names: Vec<&str> = summing.sums.iter().map(|sum| self.symbols.arrays[sum.index()].as_str()).collect();
        Some(Code::Raw(format!("{MARK} reduction(+:{})", names.join(", "))))
    }
}

/// How the mark begins.
pub(crate) const MARK: &str = "#pragma omp simd";
