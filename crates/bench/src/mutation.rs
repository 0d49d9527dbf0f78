//! Whether validation notices that a result is broken.
//!
//! # Input
//! A kernel, a level, and values of its parameters.
//! # Output
//! A [`Subject`]: the result of that level, and what it is compared with. [`Subject::trial`] says of a mutant of the result whether it is
//! [different](Trial::is_different) and whether validation [killed](Trial::is_killed) it.
//! # Method
//! Two judges that share no choice of data look at each mutant. [`Oracle`] runs it beside the result on data of many kinds at several sizes; `nestegg_driver::compare`
//! is validation itself. A mutant that only validation calls different counts as undistinguished: it may be equal, or the oracle's data may miss the difference.
//! The result is compared with its input, where validation calls these equal; with itself where it has computed tables, which are not exactly those of the input.
//! # Not done
//! Equality of mutants is not proved: what no data distinguishes may still be different.

mod data;
mod oracle;

use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::validation::{Comparison, compare};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_testgen::mutate::{Mutant, mutants};
pub use oracle::Oracle;

/// A result that is broken on purpose.
#[derive(Debug)]
pub struct Subject {
    /// The kernel's name.
    pub name: String,
    /// The level that made the result.
    pub level: String,
    /// What mutants are compared with: the input, or the result itself.
    pub reference: Program,
    /// The result.
    pub result: LinearizedKernel,
    /// Values of the parameters.
    pub values: Vec<(String, i64)>,
    /// Operations of the result at these values.
    pub operations: u128,
    oracle: Oracle,
}

/// What became of one mutant.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The oracle found data that tell it from the result.
    pub is_different: bool,
    /// Validation called it different.
    pub is_killed: bool,
}

/// Larger values of parameters are replaced by the first of these at which the kernel can be run.
const SMALLER: [i64; 3] = [8, 12, 20];

/// Results with more operations at the smallest of these sizes are not tried: each mutant is run many times.
const MAX_OPERATIONS: u128 = 20_000_000;

impl Subject {
    /// The result of a level for a kernel.
    ///
    /// # Errors
    /// In words, if the kernel cannot be optimized, or its result cannot be run on any data.
    pub fn new(source: &Source, level: &str, given: &[(String, i64)]) -> Result<Self, String> {
        let input = nestegg_driver::read(source).map_err(|error| error.to_string())?.program;
        let config = Config {
            strategy: Strategy::Named(level.to_owned()),
            parameters: given.to_vec(),
            ..Config::of_operations()
        };
        let optimized = nestegg_driver::optimize(source, &config).map_err(|error| error.to_string())?;
        let assumed: Vec<(String, i64)> =
            optimized.report.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.value)).collect();
        let result = Program::Linearized(optimized.program.clone());
        let capped = |cap: i64| -> Vec<(String, i64)> {
            assumed.iter().map(|(name, value)| (name.clone(), (*value).min(cap))).collect()
        };
        let operations = |values: &[(String, i64)]| -> Result<u128, String> {
            let count = nestegg_ir::count::count(&result, values).map_err(|error| error.to_string())?;
            Ok(u128::try_from(count.total()).unwrap_or(u128::MAX))
        };
        let least = operations(&capped(SMALLER[0]))?;
        if least > MAX_OPERATIONS {
            return Err(format!("its result has {least} operations, more than {MAX_OPERATIONS}"));
        }
        let mut candidates = SMALLER.into_iter().map(capped).chain([assumed.clone()]);
        let (values, oracle) = candidates
            .find_map(|values| Oracle::new(&result, &values).map(|oracle| (values, oracle)))
            .ok_or("its result cannot be run on any data")?;
        let operations = operations(&values)?;
        let reference = match compare(&input, &result, &values) {
            Ok(Comparison::Equal { .. }) => input,
            _ => result,
        };
        let (name, level) = (source.name.to_string(), level.to_owned());
        Ok(Self { name, level, reference, result: optimized.program, values, operations, oracle })
    }

    /// Mutants of the result, at most `per_family` of each family.
    #[must_use]
    pub fn mutants(&self, per_family: usize, seed: u64) -> Vec<Mutant> {
        mutants(&self.result, per_family, seed)
    }

    /// What becomes of a mutant of the result.
    ///
    /// # Errors
    /// In words, if validation cannot run the reference.
    pub fn trial(&self, mutant: &Mutant) -> Result<Trial, String> {
        let program = Program::Linearized(mutant.kernel.clone());
        let is_killed = match compare(&self.reference, &program, &self.values) {
            Ok(Comparison::Equal { .. }) => false,
            Ok(Comparison::Different(_)) => true,
            Ok(Comparison::Stopped(error)) => return Err(error.to_string()),
            Err(error) => return Err(error.to_string()),
        };
        Ok(Trial { is_different: self.oracle.tells_apart(&program), is_killed })
    }
}
