//! What each temporary of a result is, for the report and for comments in C.

use indexmap::IndexMap;
use nestegg_ir::{ArrayId, InsnId, InstructionKind, Kernel, LinearizedKernel};

use crate::excerpt::excerpt;
use crate::parameters;
use crate::report::Temporary;

/// Describes every temporary that instructions write, in order of declaration; `saved` says what selection knows of some.
#[must_use]
pub fn describe(
    program: &LinearizedKernel,
    values: &[(String, i64)],
    saved: &IndexMap<String, u128>,
) -> Vec<Temporary> {
    let kernel = &program.kernel;
    let sites = Sites::of(kernel);
    kernel
        .array_ids()
        .filter(|&array| kernel[array].is_temporary())
        .map(|array| Temporary {
            saved: saved.get(&kernel[array].name).copied(),
            ..temporary(kernel, array, &sites, values)
        })
        .collect()
}

fn temporary(kernel: &Kernel, array: ArrayId, sites: &Sites, values: &[(String, i64)]) -> Temporary {
    let writers = &sites.writers[array.index()];
    let loops = writers.first().map(|&insn| kernel[insn].within.as_slice()).unwrap_or_default();
    let definition: Vec<String> = writers.iter().map(|&insn| definition(kernel, insn)).collect();
    Temporary {
        name: kernel[array].name.clone(),
        dtype: kernel[array].dtype.to_string(),
        shape: kernel[array].shape.iter().map(|&size| excerpt(kernel, size)).collect(),
        size: size(kernel, array, values),
        loops: loops.iter().map(|&iname| kernel[iname].name.clone()).collect(),
        definition: definition.join("; "),
        uses: sites.n_readers[array.index()],
        saved: None,
    }
}

/// The number of elements, where the sizes are affine in parameters.
fn size(kernel: &Kernel, array: ArrayId, values: &[(String, i64)]) -> Option<u128> {
    kernel[array].shape.iter().try_fold(1_u128, |size, &dim| {
        size.checked_mul(u128::try_from(parameters::evaluate(kernel, dim, values)?).ok()?)
    })
}

/// The value that an instruction gives to what it writes, in the text form.
fn definition(kernel: &Kernel, insn: InsnId) -> String {
    match &kernel[insn].kind {
        InstructionKind::Assignment { expression, .. } => excerpt(kernel, *expression),
        InstructionKind::Call { function, .. } => format!("a result of {}", kernel[*function]),
        InstructionKind::Opaque { .. } => format!("opaque code {}", kernel[insn].id),
    }
}

/// Who writes and who reads each array.
struct Sites {
    writers: Vec<Vec<InsnId>>,
    /// Instructions other than the writers that read it.
    n_readers: Vec<usize>,
}

impl Sites {
    fn of(kernel: &Kernel) -> Self {
        let mut writers = vec![Vec::new(); kernel.arrays.len()];
        let mut n_readers = vec![0; kernel.arrays.len()];
        let reads = nestegg_ir::order::arrays_read(kernel);
        for insn in kernel.insn_ids() {
            let written = kernel[insn].written_arrays();
            for &array in &written {
                writers[array.index()].push(insn);
            }
            for array in reads[insn.index()].iter().filter(|array| !written.contains(array)) {
                n_readers[array.index()] += 1;
            }
        }
        Self { writers, n_readers }
    }
}
