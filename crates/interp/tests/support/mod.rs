//! Kernels from text, and runs of them on given data.
#![allow(dead_code)]

use indexmap::IndexMap;
use nestegg_dump::read;
use nestegg_interp::{Error, FieldValues, Inputs, Outputs, RunOptions, Trap, Values, run, run_field};
use nestegg_ir::Program;
use nestegg_span::Source;

/// The kernel of a text.
pub fn kernel(text: &str) -> Program {
    let text = if text.starts_with("kernel") { text.to_owned() } else { format!("kernel k\n{text}") };
    match read(&Source::new("k.knl", text.as_str())) {
        Ok(read) => read.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// Inputs by name.
pub fn inputs(arrays: &[(&str, Values)]) -> Inputs {
    let arrays = arrays.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
    Inputs { parameters: IndexMap::new(), arrays }
}

pub fn floats(values: &[f64]) -> Values {
    Values::Floats(values.to_vec())
}

pub fn ints(values: &[i64]) -> Values {
    Values::Ints(values.to_vec())
}

pub fn run_text(text: &str, given: &[(&str, Values)]) -> Result<Outputs, Error> {
    run(&kernel(text), &inputs(given), &RunOptions::default())
}

/// The output `y` of a kernel.
pub fn y(text: &str, given: &[(&str, Values)]) -> Values {
    match run_text(text, given) {
        Ok(outputs) => outputs.arrays["y"].values.clone(),
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// The output `y` in the field.
pub fn y_in_field(text: &str, given: &[(&str, Values)]) -> FieldValues {
    match run_field(&kernel(text), &inputs(given), 7, &RunOptions::default()) {
        Ok(outputs) => outputs.arrays["y"].values.clone(),
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// The trap that ends a run, with its place in words.
pub fn trap(text: &str, given: &[(&str, Values)]) -> (String, Trap) {
    match run_text(text, given) {
        Err(Error::Trap { instruction, point, trap }) => (format!("{instruction} {point}").trim_end().to_owned(), trap),
        other => panic!("{other:?}\n{text}"),
    }
}

/// `y = expr` with `a`, `b`, `c` of one dtype.
pub fn scalar_kernel(dtype: &str, result: &str, expr: &str) -> String {
    format!(
        "arg a : {dtype} read\narg b : {dtype} read\narg c : {dtype} read\narg y : {result} write\ny = {expr}  {{id=s}}\n"
    )
}

pub fn abc(values: &[f64; 3]) -> Vec<(&'static str, Values)> {
    ["a", "b", "c"].into_iter().zip(values).map(|(name, &value)| (name, floats(&[value]))).collect()
}

pub fn abc_ints(values: &[i64; 3]) -> Vec<(&'static str, Values)> {
    ["a", "b", "c"].into_iter().zip(values).map(|(name, &value)| (name, ints(&[value]))).collect()
}

pub fn kernel_of_json(text: &str) -> Program {
    match read(&Source::new("k.json", text)) {
        Ok(read) => read.program,
        Err(errors) => panic!("{errors:?}"),
    }
}
