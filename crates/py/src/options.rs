//! The options of a run: what Python hands over, as the driver takes it.

use nestegg_driver::batch::{WIDTHS, Width};
use nestegg_driver::config::{BatchLayout, BatchRequest, Config, CostModel, Strategy, Validation};
use nestegg_ir::{Licence, Traps};
use nestegg_span::Source;
use nestegg_time::Machine;
use pyo3::prelude::*;

use crate::background::Stop;
use crate::problem::Problem;

/// A dictionary of this shape; files are pairs of name and text.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    level: String,
    level_file: Option<(String, String)>,
    rules: Vec<(String, String)>,
    float: Option<String>,
    traps: String,
    cost: String,
    machine: Option<String>,
    machine_file: Option<(String, String)>,
    parameters: Vec<(String, i64)>,
    max_statements: Option<u64>,
    memory: Option<u64>,
    accuracy: Option<f64>,
    /// `None`: one element at a time; 0: as many as take the least time.
    batch: Option<u32>,
    batch_shared: Vec<String>,
    batch_layout: String,
    validate: bool,
    /// Threads of the run; `None` for one on each processor.
    pub threads: Option<usize>,
}

impl Options {
    /// The configuration.
    ///
    /// # Errors
    /// If a word means nothing, or the machine file is wrong.
    pub fn into_config(self) -> Result<Config, Stop> {
        let (machine, machine_name) = machine(self.machine, self.machine_file)?;
        let float = match &self.float {
            None => None,
            Some(name) => {
                let known = Licence::ALL.map(Licence::name);
                Some(Licence::from_name(name).ok_or_else(|| unknown("float", name, &known))?)
            }
        };
        let batch = self.batch.map(|width| match width {
            0 => Ok(Width::Auto),
            width if WIDTHS.contains(&width) => Ok(Width::Lanes(width)),
            width => {
                let known = WIDTHS.map(|width| width.to_string());
                let known: Vec<&str> = known.iter().map(String::as_str).chain(["auto"]).collect();
                Err(unknown("batch", &width.to_string(), &known))
            }
        });
        let layout = chosen(
            "batch_layout",
            &self.batch_layout,
            &[("contiguous", BatchLayout::Contiguous), ("interleaved", BatchLayout::Interleaved)],
        )?;
        let shared = self.batch_shared;
        let batch = batch.transpose()?.map(|width| BatchRequest { width, shared, layout });
        Ok(Config {
            strategy: match self.level_file {
                None => Strategy::Named(self.level),
                Some((name, text)) if self.level.is_empty() => Strategy::InFile(Source::new(name, text)),
                Some((name, text)) => Strategy::NamedInFile(Source::new(name, text), self.level),
            },
            rules: self.rules.into_iter().map(|(name, text)| Source::new(name, text)).collect(),
            float,
            traps: chosen("traps", &self.traps, &[("ignore", Traps::Ignore), ("keep", Traps::Keep)])?,
            cost: chosen("cost", &self.cost, &[("operations", CostModel::Operations), ("time", CostModel::Time)])?,
            machine,
            machine_name,
            parameters: self.parameters,
            max_statements: self.max_statements,
            memory: self.memory,
            validation: if self.validate { Validation::Explained } else { Validation::Off },
            accuracy: self.accuracy,
            batch,
            ..Config::default()
        })
    }
}

/// The machine and what it is called.
fn machine(name: Option<String>, file: Option<(String, String)>) -> Result<(Machine, String), Stop> {
    let source = match (name, file) {
        (_, Some((name, text))) => Source::new(name, text),
        (Some(name), None) => match Machine::built_in(&name) {
            Some(text) => Source::new(name, text),
            None => return Err(unknown("machine", &name, &Machine::names().collect::<Vec<_>>())),
        },
        (None, None) => return Ok((Machine::default(), nestegg_time::DEFAULT_MACHINE.to_owned())),
    };
    let machine = Machine::read(&source).map_err(|error| Stop::Problem(Problem::new(error.as_ref())))?;
    Ok((machine, source.name.to_string()))
}

fn chosen<T: Copy>(option: &str, word: &str, choices: &[(&str, T)]) -> Result<T, Stop> {
    let found = choices.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| unknown(option, word, &choices.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

fn unknown(option: &str, word: &str, known: &[&str]) -> Stop {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    Stop::Problem(Problem::said(&format!("`{option}` cannot be `{word}`; it is one of {}", known.join(", "))))
}
