//! `nestegg validate`: whether two kernels compute the same values.

use nestegg_driver::parameters;
use nestegg_driver::validation::{Comparison, Subject, compare};

use crate::args::ValidateArgs;
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

/// A kernel that cannot be run cannot be compared.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the first kernel cannot be run")]
#[diagnostic(code(nestegg::cannot_run))]
struct Stopped(#[source] nestegg_interp::Error);

pub fn run(args: &ValidateArgs) -> Result<ExitStatus, Failure> {
    let given = &args.parameters.values;
    let mut sources = [kernels::read(&args.a)?, kernels::read(&args.b)?];
    // Data are those of the kernel that says what is right, unless only the other is a print.
    let print = sources.iter().position(nestegg_prints::is_print).unwrap_or_default();
    sources[print] = kernels::with_data(sources[print].clone(), &args.data)?;
    let a = nestegg_driver::read_defined(&sources[0], given)?;
    let b = nestegg_driver::read_defined(&sources[1], given)?;
    let assumed = parameters::assumed(a.program.kernel(), given)?;
    match compare(Subject::of(&sources[0], &a), Subject::of(&sources[1], &b), &parameters::values(&assumed))? {
        Comparison::Equal { evidence, .. } => {
            terminal::print(&format!("equal; {evidence}\n"))?;
            Ok(ExitStatus::Done)
        }
        Comparison::Different(difference) => {
            terminal::print(&format!("not equal; {difference}\n"))?;
            Ok(ExitStatus::Negative)
        }
        Comparison::Stopped(error) => Err(Stopped(error).into()),
    }
}
