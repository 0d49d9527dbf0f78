//! `nestegg count`: floating-point operations, by kind and by loop depth.

use crate::args::{CountArgs, DataFormat};
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

pub fn run(args: &CountArgs) -> Result<ExitStatus, Failure> {
    let source = kernels::read_with(&args.input, &args.data)?;
    let counted = nestegg_driver::count(&source, &args.parameters.values)?;
    terminal::print(&match args.format {
        DataFormat::Text => counted.to_text(),
        DataFormat::Json => {
            serde_json::to_string_pretty(&counted).expect("counts are plain data with text keys") + "\n"
        }
    })?;
    Ok(ExitStatus::Done)
}
