//! `nestegg check`: reads kernels and reports everything that is wrong with them.

use crate::args::CheckArgs;
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

pub fn run(args: &CheckArgs) -> Result<ExitStatus, Failure> {
    let mut status = ExitStatus::Done;
    for path in &args.inputs {
        match kernels::all(path, &args.data) {
            Ok(sources) => {
                for source in sources {
                    match nestegg_driver::read_defined(&source, &[]) {
                        Ok(read) => {
                            let kernel = read.program.kernel();
                            terminal::print(&format!("{}: {} is well-formed\n", path.display(), kernel.name))?;
                        }
                        Err(error) => {
                            terminal::show(&miette::Report::new(error));
                            status = ExitStatus::BadInput;
                        }
                    }
                }
            }
            Err(Failure::Error(_, report)) => {
                terminal::show(&report);
                status = ExitStatus::BadInput;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(status)
}
