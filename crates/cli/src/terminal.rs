//! Standard output for the product, standard error for everything else.

use std::io::{self, Write};

use terminal_size::{Width, terminal_size_of};

use crate::exit::ExitStatus;

/// Why a command ends early.
#[derive(Debug)]
pub enum Failure {
    /// Nobody reads standard output any more; that is the reader's choice, not an error.
    BrokenPipe,
    /// Something to be reported.
    Error(ExitStatus, miette::Report),
}

impl Failure {
    /// An error in what the user gave.
    pub fn bad_input(error: impl miette::Diagnostic + Send + Sync + 'static) -> Self {
        Self::Error(ExitStatus::BadInput, miette::Report::new(error))
    }
}

impl<E: miette::Diagnostic + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::bad_input(error)
    }
}

/// Where a story goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, where it does not hold the product.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    /// Its columns, where it is a terminal.
    pub fn width(self) -> Option<usize> {
        let size = match self {
            Self::Output => terminal_size_of(io::stdout()),
            Self::Error => terminal_size_of(io::stderr()),
        };
        size.map(|(Width(columns), _)| usize::from(columns).max(MIN_WIDTH))
    }

    /// Writes a story.
    pub fn tell(self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Output => print(text),
            Self::Error => {
                eprint(text);
                Ok(())
            }
        }
    }
}

/// Terminals that say they are narrower are not believed.
const MIN_WIDTH: usize = 40;

/// Writes the product.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
        Err(error) => {
            let report = miette::miette!(code = "nestegg::cannot_write", "cannot write to standard output: {error}");
            Err(Failure::Error(ExitStatus::BadInput, report))
        }
    }
}

/// Writes what is not the product. There is nobody to tell if that fails.
pub fn eprint(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Shows an error with the places that it is about.
pub fn show(report: &miette::Report) {
    eprint(&format!("{report:?}\n"));
}
