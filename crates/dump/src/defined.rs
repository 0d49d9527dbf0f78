//! Refuses kernels that certainly compute with what is not there.
//!
//! # Input
//! A kernel that was read, its source, and values for parameters.
//! # Output
//! Nothing; or an error for each access that is certainly outside of its array, or reads what nothing has written.
//! # Method
//! [`nestegg_ir::definedness`] finds them; here they get their places and words.
//! # Not done
//! What depends on data: the interpreter tells at run time.

use nestegg_ir::definedness::{Accessed, Fault, Undefined, undefined};
use nestegg_ir::verify::Place;
use nestegg_ir::{Expr, InameId, Kernel};
use nestegg_span::Source;

use crate::Read;
use crate::error::{Errors, ReadError, ReadErrors};
use crate::text::access_text;

/// Longer accesses are shown without their indices; the source is shown beside them.
const MAX_ACCESS: usize = 60;

/// Refuses a kernel with accesses that fail in every run. `given` are values of parameters, before the kernel's estimates.
///
/// # Errors
/// One for each such access.
pub fn check_defined(source: &Source, read: &Read, given: &[(String, i64)]) -> Result<(), Box<ReadErrors>> {
    let kernel = read.program.kernel();
    // A kernel without an order, or with domains that isl refuses, is not read.
    let Ok(linearized) = read.program.clone().into_linearized() else { return Ok(()) };
    let Ok(found) = undefined(&linearized, given) else { return Ok(()) };
    let mut errors = Errors::default();
    for undefined in &found {
        errors.push(error(kernel, read, undefined));
    }
    errors.finish(source).map_or(Ok(()), |errors| Err(Box::new(errors)))
}

fn error(kernel: &Kernel, read: &Read, undefined: &Undefined) -> ReadError {
    let array = &kernel[undefined.array];
    let (indices, at) = match (undefined.access, undefined.place) {
        (Accessed::Read(id), place) => {
            // What a substitution rule with parameters was made into is not an expression of the kernel.
            let indices = match (id.index() < kernel.exprs.len()).then(|| &kernel.exprs[id]) {
                Some(Expr::Access { indices, .. }) => Some(&**indices),
                _ => None,
            };
            (indices, read.spans.expression(place, id).unwrap_or_else(|| read.spans.of(place)))
        }
        (Accessed::Write(idx), Place::Instruction(insn)) => {
            (Some(&*kernel[insn].assignees()[idx].indices), read.spans.assignee(insn, idx))
        }
        (Accessed::Write(_), place) => (None, read.spans.of(place)),
    };
    let access = indices.map(|indices| access_text(kernel, undefined.array, indices));
    let access = access.filter(|text| text.len() <= MAX_ACCESS).unwrap_or_else(|| format!("{}[…]", array.name));
    let at_instance = instance(kernel, &undefined.instance);
    match undefined.fault {
        Fault::OutOfBounds { dim, index, extent } => ReadError::OutOfBounds {
            access,
            array: array.name.clone(),
            at_instance,
            index,
            dim,
            at,
            help: out_of_bounds(kernel, undefined, (dim, extent)),
        },
        Fault::Uninitialised { writer } => {
            let help = match writer {
                None => format!(
                    "nothing writes `{}`: give it a value first, or make it an argument that is read",
                    array.name
                ),
                Some(writer) => format!(
                    "`{}` writes `{}`, but later or at other instances: write each element before it is read",
                    kernel[writer].id, array.name
                ),
            };
            ReadError::Uninitialised { access, at_instance, at, help }
        }
    }
}

/// What the dimension holds, and the ways out.
fn out_of_bounds(kernel: &Kernel, undefined: &Undefined, (dim, extent): (usize, i64)) -> String {
    let array = &kernel[undefined.array];
    let sizes = kernel.exprs.reachable(array.shape.get(dim).copied());
    let parameters = undefined.parameters.iter().filter(|(parameter, _)| {
        sizes.iter().any(|&id| matches!(kernel.exprs[id], Expr::Parameter(own) if own == *parameter))
    });
    let parameters: Vec<String> =
        parameters.map(|(parameter, value)| format!("{} = {value}", kernel[*parameter].name)).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!(", for {},", parameters.join(", ")) };
    let is_unstated = array.shape.get(dim).is_some_and(|&size| kernel.is_unstated(size));
    let holds = match extent {
        _ if is_unstated => format!("dimension {dim} of `{}` begins at 0", array.name),
        ..=0 => format!("dimension {dim} of `{}`{parameters} has no elements", array.name),
        1 => format!("dimension {dim} of `{}`{parameters} has the index 0 only", array.name),
        n => format!("dimension {dim} of `{}`{parameters} has the indices 0 to {}", array.name, n - 1),
    };
    format!("{holds}: change the bounds of the loop or the shape, or put the access under a condition")
}

/// ` at i = 3, j = 0`; nothing without inames.
fn instance(kernel: &Kernel, instance: &[(InameId, i64)]) -> String {
    let values: Vec<String> =
        instance.iter().map(|(iname, value)| format!("{} = {value}", kernel[*iname].name)).collect();
    if values.is_empty() { String::new() } else { format!(" at {}", values.join(", ")) }
}
