//! The command line of nestegg.
//!
//! # Input
//! Arguments, files, standard input.
//! # Output
//! The product on standard output or in the files named by `-o`; everything else on standard error. Files are
//! written in full or not at all. The exit code is 0 for done, 1 for a negative answer, 2 for bad input or usage, 3
//! where no result holds; after 2 and 3 no output file is written.
//! # Method
//! Arguments ([`args`]) are converted once into a checked configuration ([`config`]); commands ([`commands`]) call the
//! driver, which touches no files. Errors become text here and nowhere else.

mod args;
mod commands;
mod config;
mod exit;
mod files;
mod kernels;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::exit::ExitStatus;
use crate::terminal::Failure;

/// E-graphs are many small vectors that live and die together, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help is an error to clap too; if nobody reads it, there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { ExitStatus::BadInput.into() } else { ExitStatus::Done.into() };
        }
    };
    match run(cli.command) {
        Ok(status) => status.into(),
        Err(Failure::BrokenPipe) => ExitStatus::Done.into(),
        Err(Failure::Error(status, report)) => {
            terminal::show(&report);
            status.into()
        }
    }
}

fn run(command: Command) -> Result<ExitStatus, Failure> {
    match command {
        Command::Optimize(args) => commands::optimize::run(*args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Count(args) => commands::count::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Rules(args) => commands::rules::run(&args),
        Command::Ablate(args) => commands::ablate::run(&args),
        Command::Lsp { stdio: _ } => commands::lsp::run(),
        Command::Serve(args) => commands::serve::run(args),
        Command::Cache { command } => commands::cache::run(command),
        Command::Calibrate(args) => commands::calibrate::run(args),
        Command::Schema => commands::schema::run(),
        Command::Cflags { openmp } => commands::cflags::run(openmp),
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Man { folder } => commands::man::run(&folder),
    }
}
