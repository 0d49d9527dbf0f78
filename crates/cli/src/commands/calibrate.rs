//! `nestegg calibrate`: makes a machine file by timing small kernels.
//!
//! Each is compiled with the user's compiler and flags, and runs in many short rounds; the fastest counts, for whatever disturbs a machine only makes it
//! slower. [`nestegg_time::calibrated`] turns the times into constants.

use std::path::Path;

use nestegg_codegen::c::timing::{Effort, times};
use nestegg_driver::emit::fast_options;
use nestegg_ir::Licence;
use nestegg_span::Source;
use nestegg_time::{Machine, Profile, Timed, calibrated, misfit, probes};

use crate::args::{CalibrateArgs, path_of};
use crate::config::{N_SETS, compiler};
use crate::exit::ExitStatus;
use crate::files::{self, Output};
use crate::progress::Progress;
use crate::terminal::{self, Failure, Stream};

/// Short rounds, of which some are not disturbed.
const EFFORT: Effort = Effort { n_rounds: 25, milliseconds: 1, n_sets: N_SETS };

pub fn run(args: CalibrateArgs) -> Result<ExitStatus, Failure> {
    let output = path_of(args.output.as_deref()).map(Path::to_owned);
    if let Some(output) = &output {
        files::check_place(output)?;
    }
    let start = Machine::default();
    let compiler = compiler(args.cc, args.flags, &start);
    let probes = probes();
    let progress = Progress::start(probes.len(), !args.quiet);
    let mut programs = Vec::with_capacity(probes.len());
    for probe in &probes {
        let read = nestegg_driver::read(&Source::new(probe.name.as_str(), probe.text.as_str()));
        let broken = |error: miette::Report| Failure::Error(ExitStatus::BadInput, error);
        let program = read.map_err(|error| broken(miette::Report::new(error)))?.program;
        let program = program.into_linearized().map_err(|error| broken(miette::miette!("{error}")))?;
        let options = fast_options(&program, Licence::default());
        let rounds = times(&[(&program, options)], &[], &compiler, EFFORT)?.rounds;
        programs.push((program, rounds.iter().map(|round| round[0]).fold(f64::INFINITY, f64::min)));
        progress.advance();
    }
    drop(progress);
    let timed = |machine: &Machine| {
        let profile = |(program, nanoseconds): &(nestegg_ir::LinearizedKernel, f64)| {
            let profile = Profile::new(program, &[], machine).ok()?;
            Some(Timed { profile, nanoseconds: *nanoseconds })
        };
        programs.iter().filter_map(profile).collect::<Vec<Timed>>()
    };
    let mut machine = calibrated(&start, &timed);
    machine.compiler = compiler.command;
    machine.flags = compiler.flags;
    let mut text = format!("# Made by `nestegg calibrate`.\n{}", machine.to_text());
    let timed = timed(&machine);
    text += "\n# Kernels that were timed: nanoseconds measured and estimated.\n";
    for (probe, one) in probes.iter().zip(&timed) {
        let estimated = one.profile.on(&machine).nanoseconds;
        text += &format!("# {:<18} {:>12.1} {estimated:>12.1}\n", probe.name, one.nanoseconds);
    }
    let off = misfit(&machine, &timed).exp();
    match output {
        Some(path) => files::write_all(&[Output { path, text }])?,
        None => terminal::print(&text)?,
    }
    if !args.quiet {
        let said =
            format!("{} kernels timed; estimates are off by a factor of {off:.2} (root mean square)\n", programs.len());
        Stream::Error.tell(&said)?;
    }
    Ok(ExitStatus::Done)
}
