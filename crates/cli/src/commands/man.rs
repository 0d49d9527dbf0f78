//! `nestegg man`: manual pages, one for each command.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::ExitStatus;
use crate::files::{self, Output};
use crate::terminal::Failure;

pub fn run(folder: &Path) -> Result<ExitStatus, Failure> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    pages_of(&command, "", &mut pages)?;
    fs::create_dir_all(folder).map_err(|source| files::write_error(folder, source))?;
    let outputs: Vec<Output> =
        pages.into_iter().map(|(name, text)| Output { path: folder.join(format!("{name}.1")), text }).collect();
    files::write_all(&outputs)?;
    Ok(ExitStatus::Done)
}

/// The names and texts of the pages of a command and of those in it.
fn pages_of(command: &Command, before: &str, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    let name = format!("{before}{}", command.get_name());
    let mut text = Vec::new();
    Man::new(command.clone().name(name.clone())).render(&mut text).map_err(|error| Failure::from(Unwritten(error)))?;
    pages.push((name.clone(), String::from_utf8_lossy(&text).into_owned()));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        pages_of(inner, &format!("{name}-"), pages)?;
    }
    Ok(())
}

/// A page that cannot be made.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot make a manual page")]
#[diagnostic(code(nestegg::man))]
struct Unwritten(#[source] std::io::Error);
