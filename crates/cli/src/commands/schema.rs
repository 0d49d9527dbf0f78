//! `nestegg schema`: the JSON schema of kernel dumps.

use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

pub fn run() -> Result<ExitStatus, Failure> {
    terminal::print(&nestegg_dump::json_schema())?;
    Ok(ExitStatus::Done)
}
