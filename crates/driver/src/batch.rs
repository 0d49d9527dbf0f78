//! The result for many elements at once, if it is asked for.
//!
//! # Input
//! The input kernel and its validated result, both for one element.
//! # Output
//! The result with its elements put together ([`nestegg_transform::batch`]), its reductions as loops, and the evidence that it is equal.
//! # Method
//! The input kernel is batched in the same way and compared with the batched result. A result that splits the kernel's own loop over elements
//! is compared with the input itself. So the optimizer and the transformation check each other; tests compare the transformation of
//! unoptimized kernels element by element.

use nestegg_ir::{Kernel, Licence, LinearizedKernel, Program};
use nestegg_schedule::realize_reductions_under;
use nestegg_time::{Constant, Machine};
pub use nestegg_transform::batch::WIDTHS;
use nestegg_transform::batch::{BatchError, BatchLayout, BatchOptions, Batched, Batching, batch, preferred_width};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::report::Validated;
use crate::validation::{Comparison, compare};

/// Bytes of the vectors that are filled where no machine is looked at.
const VECTOR_BYTES: u64 = 32;

/// How many elements are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// As many as take the least estimated time where time is made small; else as many as fill a vector with the widest float.
    #[default]
    Auto,
    /// So many, one of [`WIDTHS`].
    Lanes(u32),
}

impl std::str::FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let width = text.parse().ok().filter(|width| WIDTHS.contains(width));
        match width {
            Some(width) => Ok(Self::Lanes(width)),
            None if text == "auto" => Ok(Self::Auto),
            None => Err(format!("`{text}` is neither `auto` nor 1, 2, 4, 8 or 16")),
        }
    }
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Lanes(width) => width.fmt(f),
        }
    }
}

/// How elements are batched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchRequest {
    /// The number of lanes.
    pub width: Width,
    /// Arguments that all elements share.
    pub shared: Vec<String>,
    /// How the others lie in memory.
    pub layout: BatchLayout,
}

impl BatchRequest {
    /// The same with a number of lanes.
    pub(crate) fn of_width(&self, width: u32) -> Self {
        Self { width: Width::Lanes(width), ..self.clone() }
    }

    /// Whether there are several lanes, whatever takes the least time: callers must know how interleaved data lie before.
    pub(crate) fn has_lanes(&self) -> bool {
        match self.width {
            Width::Auto => self.layout == BatchLayout::Interleaved,
            Width::Lanes(width) => width > 1,
        }
    }

    /// The numbers of lanes of which the least estimated time chooses: one element after the other, or as many as fill a vector of the machine.
    pub(crate) fn widths(&self, kernel: &Kernel, machine: &Machine) -> Vec<u32> {
        match self.width {
            Width::Lanes(width) => vec![width],
            Width::Auto if self.has_lanes() => vec![preferred_width(kernel, VECTOR_BYTES)],
            Width::Auto => vec![1, preferred_width(kernel, machine[Constant::VectorBytes] as u64)],
        }
    }
}

/// The batch that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// The number of lanes.
    pub width: u32,
    /// The parameter that says how many elements there are, if the kernel is of one.
    pub parameter: Option<String>,
    /// The kernel's own loop over elements, if it has one.
    pub iname: Option<String>,
    /// Why the outermost loop of the kernel is not the loop over elements, where it could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the comparison with the input said.
    pub validation: Validated,
}

impl std::fmt::Display for BatchReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.width {
            1 => write!(f, "one element after the other")?,
            width => write!(f, "{width} elements at once")?,
        }
        if let Some(parameter) = &self.parameter {
            write!(f, ", `{parameter}` in all")?;
        }
        if let Some(iname) = &self.iname {
            write!(f, ", those of the loop over `{iname}`")?;
        }
        if let Some(reason) = &self.reason {
            write!(f, " (the outermost loop is not split: {reason})")?;
        }
        match &self.validation {
            Validated::Equal { evidence } => write!(f, "; validated: equal; {evidence}"),
            Validated::NotCompared { reason } => write!(f, "; not validated: {reason}"),
        }
    }
}

/// Puts the elements of a result together; `compared` tells whether it is compared with the input.
///
/// # Errors
/// If the kernel does not admit it, or the results differ.
pub(crate) fn together(
    input: &LinearizedKernel,
    result: &LinearizedKernel,
    request: &BatchRequest,
    (values, licence): (&[(String, i64)], Licence),
    compared: bool,
) -> Result<(Batched, BatchReport), Error> {
    let kernel = result.kernel.name.clone();
    let batched = put_together(result, request, licence, true)?;
    let width = batched.width;
    let program = Program::Linearized(batched.program.clone());
    if let [first, ..] = nestegg_ir::verify::verify(&program).as_slice() {
        let violations = first.violation.to_string();
        return Err(Error::Broken { pass: "batch", kernel: kernel.clone(), violations });
    }
    let mut report = BatchReport {
        width,
        parameter: None,
        iname: None,
        reason: None,
        validation: Validated::NotCompared { reason: "switched off".to_owned() },
    };
    let mut values = values.to_vec();
    let expected = match &batched.batching {
        Batching::InPlace { iname } => {
            report.iname = Some(iname.clone());
            input.clone()
        }
        Batching::Elements { parameter, reason } => {
            report.parameter = Some(parameter.clone());
            report.reason.clone_from(reason);
            // Whole blocks and a short one.
            values.push((parameter.clone(), i64::from(width) * 2 + 1));
            let options = BatchOptions {
                width,
                shared: request.shared.clone(),
                layout: request.layout,
                may_split: false,
                may_reorder: true,
            };
            batch(input, &options).map_err(|error| refused(&kernel, &error))?.program
        }
    };
    if compared {
        let found = compare(&Program::Linearized(expected), &program, &values)?;
        report.validation = match found {
            Comparison::Equal { evidence, .. } => Validated::Equal { evidence },
            Comparison::Different(difference) => {
                let difference = Box::new(difference);
                return Err(Error::NotEqual { kernel, difference, rules: vec!["batch".to_owned()], smallest: None });
            }
            Comparison::Stopped(error) => {
                return Err(Error::NotValidated { kernel, reason: error.to_string(), failures: Vec::new() });
            }
        };
    }
    Ok((batched, report))
}

/// A kernel with its elements put together, its reductions as loops; `may_split` tells whether a loop of it may be the loop over elements. If
/// the request leaves the number of lanes open, the widest float decides.
///
/// # Errors
/// If the kernel does not admit it.
pub fn put_together(
    program: &LinearizedKernel,
    request: &BatchRequest,
    licence: Licence,
    may_split: bool,
) -> Result<Batched, Error> {
    let kernel = &program.kernel.name;
    let width = match request.width {
        Width::Auto => preferred_width(&program.kernel, VECTOR_BYTES),
        Width::Lanes(width) => width,
    };
    let options = BatchOptions {
        width,
        shared: request.shared.clone(),
        layout: request.layout,
        may_split,
        may_reorder: licence != Licence::Strict,
    };
    let realized = realize_reductions_under(program.clone(), licence).map_err(|error| Error::Refused {
        pass: "realize",
        kernel: kernel.clone(),
        source: Box::new(error),
    })?;
    batch(&realized, &options).map_err(|error| refused(kernel, &error))
}

fn refused(kernel: &str, error: &BatchError) -> Error {
    Error::Batch { kernel: kernel.to_owned(), reason: error.to_string() }
}
