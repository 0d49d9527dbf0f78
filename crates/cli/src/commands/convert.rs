//! `nestegg convert`: the same kernel in the other notation.

use std::path::Path;

use nestegg_driver::Notation;

use crate::args::{ConvertArgs, DataFormat, path_of};
use crate::exit::ExitStatus;
use crate::files::{self, Output};
use crate::kernels;
use crate::terminal::{self, Failure};

pub fn run(args: &ConvertArgs) -> Result<ExitStatus, Failure> {
    let source = kernels::read_with(&args.input, &args.data)?;
    let read = nestegg_driver::read(&source)?;
    let output = path_of(args.output.as_deref());
    let notation = match (args.to, output.and_then(Path::extension).and_then(|name| name.to_str())) {
        (Some(DataFormat::Json), _) | (None, Some("json")) => Notation::Json,
        (Some(DataFormat::Text), _) | (None, Some("knl")) => Notation::Text,
        (None, _) => Notation::of(&source).map_or(Notation::Text, Notation::other),
    };
    let text = notation.write(&read.program);
    match output {
        Some(path) => files::write_all(&[Output { path: path.to_owned(), text }])?,
        None => terminal::print(&text)?,
    }
    Ok(ExitStatus::Done)
}
