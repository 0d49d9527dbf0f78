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

/// Two kernels that do nothing cannot be told apart.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the first kernel writes no element of any output {at}")]
#[diagnostic(code(nestegg::nothing_to_compare), help("`--param NAME=VALUE` chooses other sizes"))]
struct Nothing {
    at: String,
}

pub fn run(args: &ValidateArgs) -> Result<ExitStatus, Failure> {
    let a = nestegg_driver::read(&files::read(&args.a)?)?.program;
    let b = nestegg_driver::read(&files::read(&args.b)?)?.program;
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
        Comparison::Nothing { at } => Err(Nothing { at }.into()),
    }
}
