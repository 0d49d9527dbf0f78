//! `nestegg validate`: whether two kernels compute the same values.

use nestegg_driver::parameters;
use nestegg_driver::validation::{Comparison, compare};

use crate::args::ValidateArgs;
use crate::exit::ExitStatus;
use crate::files;
use crate::terminal::{self, Failure};

/// A kernel that cannot be run cannot be compared.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the first kernel cannot be run")]
#[diagnostic(code(nestegg::cannot_run))]
struct Stopped(#[source] nestegg_interp::Error);

pub fn run(args: &ValidateArgs) -> Result<ExitStatus, Failure> {
    let a = nestegg_driver::read_defined(&files::read(&args.a)?, &args.parameters.values)?.program;
    let b = nestegg_driver::read_defined(&files::read(&args.b)?, &args.parameters.values)?.program;
    let assumed = parameters::assumed(a.kernel(), &args.parameters.values)?;
    match compare(&a, &b, &parameters::values(&assumed))? {
        Comparison::Equal { evidence } => {
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
