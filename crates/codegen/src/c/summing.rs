//! Loops that run in vector lanes although they add to scalars or call functions.
//!
//! # Input
//! Loops whose iterations have nothing in common but such scalars, as the caller knows.
//! # Output
//! An OpenMP pragma, which compilers obey with `-fopenmp-simd`: each lane has a sum of its own, and the lanes are added up after the loop. Declarations tell the
//! compiler which functions of `math.h` glibc has for vectors.
//! # Not done
//! A loop stays unmarked if C declares a lane's temporary outside of it, or keeps one of the scalars in a vector of two.

use nestegg_ir::calls::OF_VECTORS;
use nestegg_ir::linearization::runs_in;
use nestegg_ir::{ArrayId, InameId, LoopTree, SummingLoop};
use rustc_hash::FxHashSet;

use super::layout::Code;
use super::statements::Temporaries;
use super::temporaries::Place;
use super::writer::Writer;

/// How the mark begins.
pub(crate) const MARK: &str = "#pragma omp simd";

/// Keeps compilers that ignore the pragma from warning about it.
pub(crate) const QUIET: &str = "\
/* Without -fopenmp-simd, `omp simd` says nothing. */
#if defined(__clang__)
#pragma clang diagnostic ignored \"-Wunknown-pragmas\"
#pragma clang diagnostic ignored \"-Wpass-failed\"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"
#endif
";

/// Declares the vector functions among some words; empty if there are none.
pub(crate) fn vector_calls(words: &FxHashSet<&str>) -> String {
    let mut lines = String::new();
    for (name, n_arguments) in OF_VECTORS {
        for (suffix, ty) in [("", "double"), ("f", "float")] {
            let name = format!("{name}{suffix}");
            if words.contains(name.as_str()) {
                let list = vec![ty; n_arguments].join(", ");
                let attribute = "__attribute__((__simd__(\"notinbranch\")))";
                lines += &if is_joined(&name, words) {
                    let own = format!("nestegg_{name}");
                    let constant = "__attribute__((__const__))";
                    format!("{attribute} {constant} {ty} {own}({list}) __asm__(\"{name}\");\n#define {name} {own}\n")
                } else {
                    format!("{attribute} {ty} {name}({list});\n")
                };
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

/// Whether gcc joins calls of this function with others among the words: a sine and a cosine of one argument become one call, for which there is no vector function.
/// By another name it does not know them.
fn is_joined(name: &str, words: &FxHashSet<&str>) -> bool {
    let other = match name.split_at_checked(3) {
        Some(("sin", suffix)) => format!("cos{suffix}"),
        Some(("cos", suffix)) => format!("sin{suffix}"),
        _ => return false,
    };
    words.contains(other.as_str())
}

impl Writer<'_> {
    /// What is known of a loop that can run in lanes although it adds to scalars or calls functions; `None` for other loops.
    pub(crate) fn summing_of(
        &self,
        iname: InameId,
        body: &[LoopTree],
        temporaries: &Temporaries,
    ) -> Option<SummingLoop> {
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
        Some(summing.clone())
    }

    /// The pragma before a loop that runs in lanes although it adds to scalars or calls functions.
    pub(crate) fn mark_of_sums(&self, summing: &SummingLoop) -> Code {
        if summing.sums.is_empty() {
            return Code::Raw(MARK.to_owned());
        }
        let names: Vec<&str> = summing.sums.iter().map(|sum| self.symbols.arrays[sum.index()].as_str()).collect();
        Code::Raw(format!("{MARK} reduction(+:{})", names.join(", ")))
    }
}
