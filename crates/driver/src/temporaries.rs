//! The meaning of each temporary of a result, for the report and for comments in C.

use indexmap::IndexMap;
use nestegg_ir::linearization::for_each_run;
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, Expr, ExprId, InsnId, InstructionKind, Item, Kernel, LinearizedKernel, Op};

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
    let sites = Sites::of(program);
    kernel
        .array_ids()
        .filter(|&array| kernel[array].is_temporary())
        .map(|array| Temporary {
            saved: saved.get(&kernel[array].name).copied(),
            ..temporary(kernel, array, &sites, values)
        })
        .collect()
}

/// The bytes that all temporaries take together which instructions write; `None` where a size is not known.
#[must_use]
pub fn bytes(program: &LinearizedKernel, values: &[(String, i64)]) -> Option<u128> {
    let kernel = &program.kernel;
    let mut temporaries = kernel.array_ids().filter(|&array| kernel[array].is_temporary());
    temporaries.try_fold(0_u128, |sum, array| sum.checked_add(bytes_of(kernel, array, values)?))
}

/// The names of the temporaries that take more than so many bytes, in order of declaration.
pub(crate) fn larger_than(program: &LinearizedKernel, values: &[(String, i64)], limit: u128) -> Vec<String> {
    let kernel = &program.kernel;
    let is_large = |array: ArrayId| bytes_of(kernel, array, values).is_some_and(|bytes| bytes > limit);
    let large = kernel.array_ids().filter(|&array| kernel[array].is_temporary() && is_large(array));
    large.map(|array| kernel[array].name.clone()).collect()
}

fn bytes_of(kernel: &Kernel, array: ArrayId, values: &[(String, i64)]) -> Option<u128> {
    size(kernel, array, values)?.checked_mul(u128::from(kernel[array].dtype.size()))
}

/// Whether the temporaries of a program take no more bytes than a limit, if there is one.
pub(crate) fn are_within(program: &LinearizedKernel, values: &[(String, i64)], limit: Option<u64>) -> bool {
    limit.is_none_or(|limit| bytes(program, values).is_some_and(|needed| needed <= u128::from(limit)))
}

fn temporary(kernel: &Kernel, array: ArrayId, sites: &Sites, values: &[(String, i64)]) -> Temporary {
    let writers = &sites.writers[array.index()];
    let loops = writers.first().map(|&insn| kernel[insn].within.as_slice()).unwrap_or_default();
    Temporary {
        name: kernel[array].name.clone(),
        dtype: kernel[array].dtype.to_string(),
        shape: kernel[array].shape.iter().map(|&size| excerpt(kernel, size)).collect(),
        size: size(kernel, array, values),
        loops: loops.iter().map(|&iname| kernel[iname].name.clone()).collect(),
        definition: definition(kernel, writers),
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

/// What a temporary is, from the instructions that write it, in their order: values, and sums over more inames than
/// the first writer has.
fn definition(kernel: &Kernel, writers: &[InsnId]) -> String {
    let Some((&first, later)) = writers.split_first() else { return "never written".to_owned() };
    let mut parts = vec![value(kernel, first)];
    for &insn in later {
        match summand(kernel, insn) {
            Some(summand) => {
                let more = kernel[insn].within.iter().filter(|iname| !kernel[first].within.contains(iname));
                let over: Vec<&str> = more.map(|&iname| kernel[iname].name.as_str()).collect();
                let sum = format!("sum([{}], {})", over.join(", "), excerpt(kernel, summand));
                let last = parts.last_mut().filter(|_| !over.is_empty());
                match last {
                    Some(last) if *last == "0.0" => *last = sum,
                    Some(last) => *last = format!("{last} + {sum}"),
                    None => parts.push(value(kernel, insn)),
                }
            }
            None => parts.push(value(kernel, insn)),
        }
    }
    parts.join("; then ")
}

/// The value that an instruction gives to what it writes.
fn value(kernel: &Kernel, insn: InsnId) -> String {
    match &kernel[insn].kind {
        InstructionKind::Assignment { expression, .. } => excerpt(kernel, *expression),
        InstructionKind::Call { function, .. } => format!("a result of {}", kernel[*function]),
        InstructionKind::Opaque { .. } => format!("opaque code {}", kernel[insn].id),
    }
}

/// What `t = t + e` adds, if the instruction is that.
fn summand(kernel: &Kernel, insn: InsnId) -> Option<ExprId> {
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return None };
    let Expr::Op { op: Op::Add, operands } = &kernel.exprs[*expression] else { return None };
    let is_itself = assignee.is_read_by(&kernel.exprs, *operands.first()?);
    (is_itself && operands.len() == 2).then(|| operands[1])
}

/// Who writes and who reads each array.
struct Sites {
    /// In the order in which they run.
    writers: Vec<Vec<InsnId>>,
    /// Instructions other than the writers, and conditions, that read it.
    n_readers: Vec<usize>,
}

impl Sites {
    fn of(program: &LinearizedKernel) -> Self {
        let kernel = &program.kernel;
        let mut writers = vec![Vec::new(); kernel.arrays.len()];
        let mut n_readers = vec![0; kernel.arrays.len()];
        let reads = nestegg_ir::order::arrays_read(kernel);
        for_each_run(&program.linearization, |insn, _| {
            let written = kernel[insn].written_arrays();
            for &array in &written {
                writers[array.index()].push(insn);
            }
            for array in reads[insn.index()].iter().filter(|array| !written.contains(array)) {
                n_readers[array.index()] += 1;
            }
        });
        for item in &program.linearization {
            if let Item::If(condition) = item {
                arrays_below(&kernel.exprs, [*condition]).into_iter().for_each(|array| n_readers[array.index()] += 1);
            }
        }
        Self { writers, n_readers }
    }
}
