//! `nestegg completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

pub fn run(shell: Shell) -> Result<ExitStatus, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "nestegg", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}
