//! `nestegg run`: the reference interpreter on random or given arguments.
//!
//! Arguments are a JSON object: names to (nested lists of) numbers or truth values. What the kernel writes is
//! printed in the same form. What is not given is random, by the seed.

use std::path::Path;

use indexmap::IndexMap;
use nestegg_driver::parameters;
use nestegg_interp::{Inputs, Output, RunOptions, Values};
use nestegg_ir::{Array, Dtype, Kernel, unstated};
use serde_json::Value;

use crate::args::RunArgs;
use crate::exit::ExitStatus;
use crate::files;
use crate::kernels;
use crate::terminal::{self, Failure};

/// What is wrong with given arguments, or with the run.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum RunError {
    #[error("`{path}` is not JSON: {message}")]
    #[diagnostic(code(run::not_json))]
    NotJson { path: String, message: String },
    #[error("`{path}` holds no object")]
    #[diagnostic(code(run::no_object), help("arguments are an object: names to (nested lists of) numbers"))]
    NoObject { path: String },
    #[error("the kernel reads no argument `{name}`")]
    #[diagnostic(code(run::unknown_argument))]
    UnknownArgument {
        name: String,
        #[help]
        help: String,
    },
    #[error("argument `{name}` is not {expected}")]
    #[diagnostic(code(run::wrong_argument))]
    WrongArgument { name: String, expected: String },
    #[error("the kernel cannot be run")]
    #[diagnostic(code(run::stopped))]
    Stopped(#[from] nestegg_interp::Error),
}

pub fn run(args: &RunArgs) -> Result<ExitStatus, Failure> {
    let source = kernels::read_with(&args.input, &args.data)?;
    let program = nestegg_driver::read_defined(&source, &args.parameters.values)?.program;
    let kernel = program.kernel();
    let assumed = parameters::assumed(kernel, &args.parameters.values)?;
    let values = parameters::for_runs(kernel, &parameters::values(&assumed));
    let parameters: IndexMap<String, i64> = values.into_iter().collect();
    let mut inputs = Inputs::random(kernel, &parameters, args.seed).map_err(RunError::from)?;
    if let Some(path) = &args.arguments {
        give(kernel, &mut inputs, path)?;
        widen_ends(kernel, &mut inputs);
    }
    let options = RunOptions { max_steps: RunOptions::DEFAULT_MAX_STEPS };
    let outputs = nestegg_interp::run(&program, &inputs, &options).map_err(RunError::from)?;
    let mut lines = Vec::new();
    for (name, output) in &outputs.arrays {
        let array = kernel.arrays.iter().find(|array| array.name == *name);
        let shape = array.map(|array| extents(kernel, array, &parameters)).unwrap_or_default();
        lines.push(format!("{}: {}", Value::from(name.as_str()), nested(output, &shape)));
    }
    terminal::print(&format!("{{{}}}\n", lines.join(",\n ")))?;
    Ok(ExitStatus::Done)
}

/// Replaces random arguments by those in a file.
fn give(kernel: &Kernel, inputs: &mut Inputs, path: &Path) -> Result<(), Failure> {
    let source = files::read(path)?;
    let path = source.name.to_string();
    let parsed: Value = serde_json::from_str(&source.text)
        .map_err(|error| RunError::NotJson { path: path.clone(), message: error.to_string() })?;
    let Value::Object(given) = parsed else { return Err(RunError::NoObject { path }.into()) };
    for (name, value) in given {
        let array = kernel.arrays.iter().find(|array| array.name == name);
        let (Some(array), Some(slot)) = (array, inputs.arrays.get_mut(&name)) else {
            return Err(unknown(inputs, name).into());
        };
        let n_elements = slot.len();
        *slot = values(array, &value, n_elements).ok_or_else(|| RunError::WrongArgument {
            name,
            expected: format!("{n_elements} numbers of dtype {}, row-major in lists", array.dtype),
        })?;
    }
    Ok(())
}

/// Loops that data end are as long as the given data make them.
fn widen_ends(kernel: &Kernel, inputs: &mut Inputs) {
    let integers = inputs.arrays.values().filter_map(|values| match values {
        Values::Ints(values) => Some(values),
        Values::Floats(_) => None,
    });
    let range = integers.flatten().fold((0, 0), |(least, greatest), &value| (value.min(least), value.max(greatest)));
    let known: Vec<(String, i64)> = inputs.parameters.iter().map(|(name, value)| (name.clone(), *value)).collect();
    for (name, end) in unstated::ends_with(kernel, &known, range) {
        inputs.parameters.insert(name, end);
    }
}

fn unknown(inputs: &Inputs, name: String) -> RunError {
    let known: Vec<String> = inputs.arrays.keys().map(|name| format!("`{name}`")).collect();
    RunError::UnknownArgument { name, help: format!("it reads {}", known.join(", ")) }
}

/// The numbers of nested lists in order, if there are as many as the array has elements, of its dtype.
fn values(array: &Array, value: &Value, n_elements: usize) -> Option<Values> {
    let mut flat = Vec::with_capacity(n_elements);
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(elements) => pending.extend(elements.iter().rev()),
            scalar => flat.push(scalar),
        }
    }
    if flat.len() != n_elements {
        return None;
    }
    if array.dtype.is_float() {
        return flat.into_iter().map(Value::as_f64).collect::<Option<_>>().map(Values::Floats);
    }
    let whole = |value: &Value| match value {
        Value::Bool(truth) if array.dtype == Dtype::Bool => Some(i64::from(*truth)),
        Value::Number(number) => number.as_i64(),
        _ => None,
    };
    flat.into_iter().map(whole).collect::<Option<_>>().map(Values::Ints)
}

/// The extents of an array under parameter values; empty where they cannot be told, and then it is printed flat.
fn extents(kernel: &Kernel, array: &Array, parameters: &IndexMap<String, i64>) -> Vec<usize> {
    let values: Vec<(String, i64)> = parameters.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let extent = |&size| usize::try_from(parameters::evaluate(kernel, size, &values)?).ok();
    array.shape.iter().map(extent).collect::<Option<_>>().unwrap_or_default()
}

/// The elements as nested lists; those that the kernel did not set are `null`.
fn nested(output: &Output<Values>, shape: &[usize]) -> String {
    let is_set = |idx: usize| output.is_set.as_ref().is_none_or(|is_set| is_set[idx]);
    let element = |idx: usize| match &output.values {
        _ if !is_set(idx) => "null".to_owned(),
        Values::Floats(values) if values[idx].is_finite() => format!("{:?}", values[idx]),
        Values::Floats(values) => format!("\"{}\"", values[idx]),
        Values::Ints(values) => values[idx].to_string(),
    };
    let mut texts: Vec<String> = (0..output.values.len()).map(element).collect();
    for &extent in shape.iter().rev() {
        if extent == 0 {
            return "[]".to_owned();
        }
        texts = texts.chunks(extent).map(|row| format!("[{}]", row.join(", "))).collect();
    }
    match texts.as_slice() {
        [text] => text.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}
