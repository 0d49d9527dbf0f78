//! `nestegg cache`: how much a cache holds, where the default one is, and an end to what is in it.

use std::path::PathBuf;

use nestegg_cache::{Cache, Size};

use crate::args::CacheCommand;
use crate::config::UsageError;
use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

pub fn run(command: CacheCommand) -> Result<ExitStatus, Failure> {
    let text = match command {
        CacheCommand::Folder => format!("{}\n", place(None)?.display()),
        CacheCommand::Size { folder } => {
            let place = place(folder)?;
            // Asking makes no folder.
            let size = if place.exists() { Cache::open(&place)?.size() } else { Size::default() };
            told(size)
        }
        CacheCommand::Clear { folder } => {
            let place = place(folder)?;
            let size = if place.exists() { Cache::open(&place)?.clear()? } else { Size::default() };
            format!("removed {}", told(size))
        }
    };
    terminal::print(&text)?;
    Ok(ExitStatus::Done)
}

fn place(given: Option<PathBuf>) -> Result<PathBuf, UsageError> {
    given.or_else(Cache::default_folder).ok_or(UsageError::NoCacheFolder)
}

fn told(size: Size) -> String {
    let plural = if size.entries == 1 { "result" } else { "results" };
    format!("{} {plural}, {} bytes\n", size.entries, size.bytes)
}
