//! `nestegg optimize --tune N`: of the best results the one that is fastest when it runs.

use nestegg_codegen::c::CText;
use nestegg_codegen::c::timing::{Compiler, Effort, Function, times_of};
use nestegg_driver::Optimized;
use nestegg_driver::config::Config;
use nestegg_driver::emit::runs_in_c;
use nestegg_driver::parameters::for_runs;
use nestegg_driver::report::Tuned;

use crate::config::{N_SETS, compiler};
use crate::terminal::Failure;

/// Enough for medians that differ by a few percent.
const EFFORT: Effort = Effort { n_rounds: 15, milliseconds: 2, n_sets: N_SETS };

/// The fastest of results that hold, by the median of interleaved rounds; of equally fast ones the first.
pub fn fastest(mut best: Vec<Optimized>, config: &Config) -> Result<Optimized, Failure> {
    let written = |(idx, one): (usize, &Optimized)| runs_in_c(one, Some(&format!("timed{idx}")));
    let texts = best.iter().enumerate().map(written).collect::<Result<Vec<CText>, _>>()?;
    let Compiler { command, flags } = compiler(None, None, &config.machine);
    let functions: Vec<Function<'_>> = texts.iter().map(|text| Function { text, flags: &flags }).collect();
    let values: Vec<(String, i64)> =
        best[0].report.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.value)).collect();
    let values = for_runs(&best[0].program.kernel, &values);
    let rounds = times_of(&best[0].runs().kernel, &functions, &values, &command, EFFORT)?.rounds;
    let tuned: Vec<Tuned> = best
        .iter()
        .enumerate()
        .map(|(idx, one)| Tuned {
            seed: one.report.seed.clone(),
            operations: one.report.after.total,
            estimated: one.report.estimate.as_ref().map(|estimate| estimate.after),
            measured: median(rounds.iter().map(|round| round[idx]).collect()),
        })
        .collect();
    let at = (0..tuned.len()).min_by(|&a, &b| tuned[a].measured.total_cmp(&tuned[b].measured)).unwrap_or(0);
    let mut res = best.swap_remove(at);
    res.report.tuned = tuned;
    Ok(res)
}

/// What measurements depend on beside the kernel: how many results are measured, by which compiler with which flags, and on which machine.
pub fn measured(n_tuned: usize, config: &Config) -> String {
    let Compiler { command, flags } = compiler(None, None, &config.machine);
    format!("{n_tuned}\n{command}\n{flags}\n{}", gethostname::gethostname().to_string_lossy())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}
