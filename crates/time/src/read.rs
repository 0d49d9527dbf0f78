//! Reads machine files.
//!
//! # Input
//! Lines `name = value`; `#` begins a comment, except in `flags`. Every [`Constant`] is there once, and so are `compiler` and `flags`.
//! # Output
//! The machine, or the first thing that is wrong with the file, with its place.

use std::sync::Arc;

use miette::{Diagnostic, NamedSource};
use nestegg_span::{Source, Span};

use crate::machine::{Constant, Machine};

/// What is wrong with a machine file.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Diagnostic)]
pub enum MachineError {
    /// A line that is no definition.
    #[error("this line is no definition")]
    #[diagnostic(code(machine::no_definition), help("constants are defined as `load = 0.08`"))]
    NoDefinition {
        /// The file.
        #[source_code]
        file: NamedSource<Arc<str>>,
        /// The line.
        #[label("no `=` here")]
        at: Span,
    },
    /// A name that no machine has.
    #[error("machines have no constant `{name}`")]
    #[diagnostic(code(machine::unknown_constant), help("{help}"))]
    Unknown {
        /// The file.
        #[source_code]
        file: NamedSource<Arc<str>>,
        /// The name.
        name: String,
        /// The place.
        #[label("unknown")]
        at: Span,
        /// The most similar name.
        help: String,
    },
    /// A constant that is defined twice.
    #[error("`{name}` is defined twice")]
    #[diagnostic(code(machine::defined_twice), help("remove one of the two"))]
    Twice {
        /// The file.
        #[source_code]
        file: NamedSource<Arc<str>>,
        /// The name.
        name: String,
        /// The second place.
        #[label("again here")]
        at: Span,
        /// The first place.
        #[label("defined here")]
        first: Span,
    },
    /// A constant that is not defined.
    #[error("`{name}` is not defined")]
    #[diagnostic(code(machine::not_defined), help("it says: {doc}; `nestegg calibrate` writes a whole file"))]
    Missing {
        /// The file.
        #[source_code]
        file: NamedSource<Arc<str>>,
        /// The name.
        name: &'static str,
        /// What it says.
        doc: &'static str,
    },
    /// A value that is no number, or none that the constant may have.
    #[error("`{name}` cannot be `{value}`")]
    #[diagnostic(code(machine::value), help("it is a number from {least} to {most}: {doc}"))]
    Value {
        /// The file.
        #[source_code]
        file: NamedSource<Arc<str>>,
        /// The name.
        name: &'static str,
        /// The value.
        value: String,
        /// Its place.
        #[label("out of its range, or no number")]
        at: Span,
        /// The least value.
        least: f64,
        /// The greatest value.
        most: f64,
        /// What it says.
        doc: &'static str,
    },
}

/// The words before the constants.
const COMPILER: &str = "compiler";
const FLAGS: &str = "flags";

impl Machine {
    /// Reads a machine file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(source: &Source) -> Result<Self, Box<MachineError>> {
        let file = || source.named_source();
        let mut values: Vec<Option<(f64, Span)>> = vec![None; Constant::ALL.len()];
        let mut words: [Option<(String, Span)>; 2] = [None, None];
        let mut start = 0;
        for line in source.text.split_inclusive('\n') {
            let begins = start;
            start += line.len();
            let content =
                if line.trim_start().starts_with(FLAGS) { line } else { line.split('#').next().unwrap_or("") };
            if content.trim().is_empty() {
                continue;
            }
            let span = |part: &str| {
                let from = begins + (part.as_ptr() as usize - line.as_ptr() as usize);
                Span::new(from as u32, (from + part.len()) as u32)
            };
            let Some((name, value)) = content.split_once('=') else {
                return Err(Box::new(MachineError::NoDefinition { file: file(), at: span(content.trim()) }));
            };
            let (name, value) = (name.trim(), value.trim());
            let twice = |first: Span| {
                Box::new(MachineError::Twice { file: file(), name: name.to_owned(), at: span(name), first })
            };
            if let Some(word) = [COMPILER, FLAGS].iter().position(|word| *word == name) {
                if let Some((_, first)) = words[word] {
                    return Err(twice(first));
                }
                words[word] = Some((value.to_owned(), span(name)));
                continue;
            }
            let Some(idx) = Constant::ALL.iter().position(|constant| constant.name() == name) else {
                let near = Constant::ALL.iter().map(|known| known.name()).chain([COMPILER, FLAGS]);
                let near = near.max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
                let help = format!("did you mean `{}`?", near.unwrap_or_default());
                return Err(Box::new(MachineError::Unknown {
                    file: file(),
                    name: name.to_owned(),
                    at: span(name),
                    help,
                }));
            };
            if let Some((_, first)) = values[idx] {
                return Err(twice(first));
            }
            let constant = Constant::ALL[idx];
            let (least, most) = constant.range();
            let number = value.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
            let Some(number) = number else {
                let (name, doc, value) = (constant.name(), constant.doc(), value.to_owned());
                let at = if value.is_empty() {
                    span(name_of(content))
                } else {
                    span(content.split_once('=').map_or("", |(_, v)| v.trim()))
                };
                return Err(Box::new(MachineError::Value { file: file(), name, value, at, least, most, doc }));
            };
            values[idx] = Some((number, span(name)));
        }
        let missing = |name, doc| Box::new(MachineError::Missing { file: file(), name, doc });
        let [compiler, flags] = words;
        let (compiler, _) = compiler.ok_or_else(|| missing(COMPILER, "the command of the compiler"))?;
        let (flags, _) = flags.ok_or_else(|| missing(FLAGS, "the flags of the compiler"))?;
        let of = |(constant, value): (&Constant, Option<(f64, Span)>)| {
            value.map(|(value, _)| value).ok_or_else(|| missing(constant.name(), constant.doc()))
        };
        let values = std::iter::zip(Constant::ALL, values).map(of).collect::<Result<Vec<f64>, Box<MachineError>>>()?;
        Ok(Self::new(compiler, flags, values))
    }
}

/// What stands before the sign.
fn name_of(line: &str) -> &str {
    line.split('=').next().unwrap_or_default().trim()
}
