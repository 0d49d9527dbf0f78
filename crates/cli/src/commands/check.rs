//! `nestegg check`: reads kernels and reports everything that is wrong with them.

use crate::args::CheckArgs;
use crate::exit::ExitStatus;
use crate::files;
use crate::terminal::{self, Failure};

pub fn run(args: &CheckArgs) -> Result<ExitStatus, Failure> {
    let mut status = ExitStatus::Done;
    for path in &args.inputs {
        let read = files::read(path).map_err(miette::Report::new);
        let res = read.and_then(|source| nestegg_driver::read_defined(&source, &[]).map_err(miette::Report::new));
        match res {
            Ok(read) => {
                let kernel = read.program.kernel();
                terminal::print(&format!("{}: {} is well-formed\n", path.display(), kernel.name))?;
            }
            Err(report) => {
                terminal::show(&report);
                status = ExitStatus::BadInput;
            }
        }
    }
    Ok(status)
}
