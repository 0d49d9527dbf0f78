//! `nestegg-bench model`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use miette::{Context, IntoDiagnostic, miette};
use nestegg_bench::fixtures::{self, Fixture};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_ir::{Kernel, LinearizedKernel};

use crate::CommonArgs;
use crate::measure::{Setup, times};

/// `nestegg-bench model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// A folder with peers' programs, as `GROUP/peer/NAME.json`
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Where measurements are kept: kernels that are there already are neither searched nor measured again
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// The compiler
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// Its flags
    #[arg(long, default_value = "-std=gnu11 -O3 -march=native -ffast-math")]
    flags: String,
    /// How many rounds
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    /// How long a function runs in one round, at least
    #[arg(long, value_name = "MS", default_value_t = 2)]
    milliseconds: u32,
    /// The value of a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, i64)>,
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is given as `name=value`")?;
    Ok((name.to_owned(), value.parse().map_err(|_| format!("`{value}` is not a whole number"))?))
}

/// One form of a kernel.
#[derive(Clone, Debug)]
struct Form {
    /// Where it comes from: `input`, `O1`, `O2`, `O3`, `peer`, or a result of O3's that was not taken.
    label: String,
    operations: u128,
    program: LinearizedKernel,
    /// Measured nanoseconds.
    measured: f64,
}

/// Runs the benchmark.
pub fn run(args: &ModelArgs) -> miette::Result<String> {
    let peers = match &args.peers {
        Some(folder) => fixtures::peer_programs(folder).into_diagnostic()?,
        None => Vec::new(),
    };
    let mut out = String::new();
    for fixture in args.common.chosen()? {
        let peer = peers.iter().find(|peer| peer.full_name() == fixture.full_name());
        match forms(&fixture, peer, args) {
            Ok(forms) => {
                for form in forms {
                    out += &format!("{} {} {} {:.1}\n", fixture.full_name(), form.label, form.operations, form.measured);
                }
            }
            Err(error) => {
                out += &format!("failed {}: {error:#}\n", fixture.full_name());
            }
        }
    }
    Ok(out)
}

/// All forms of a kernel, measured now or before.
fn forms(fixture: &Fixture, peer: Option<&Fixture>, args: &ModelArgs) -> miette::Result<Vec<Form>> {
    let kept = args.keep.as_ref().map(|folder| folder.join(&fixture.full_name()));
    if let Some(folder) = kept.as_ref().filter(|folder| folder.join("times.csv").is_file()) {
        return read(folder);
    }
    let mut forms = found(fixture, peer, args)?;
    let setup = Setup {
        cc: args.cc.clone(),
        flags: args.flags.clone(),
        n_rounds: args.rounds,
        milliseconds: args.milliseconds,
        parameters: args.parameters.clone(),
    };
    let programs: Vec<&LinearizedKernel> = forms.iter().map(|form| &form.program).collect();
    let times = times(&forms[0].program.kernel, &programs, &setup)?;
    for (idx, form) in forms.iter_mut().enumerate() {
        form.measured = times.rounds.iter().map(|round| round[idx]).fold(f64::INFINITY, f64::min);
    }
    if let Some(folder) = kept {
        write(&folder, &forms)?;
    }
    Ok(forms)
}

/// The input, the results at each level, all that the search finds at O3, and the peer's program.
fn found(fixture: &Fixture, peer: Option<&Fixture>, args: &ModelArgs) -> miette::Result<Vec<Form>> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
    let config = |level: &str| Config {
        strategy: Strategy::Named(level.to_owned()),
        validation: Validation::Off,
        parameters: args.parameters.clone(),
        ..Config::default()
    };
    let mut forms: Vec<Form> = Vec::new();
    let mut add = |label: &str, operations: u128, program: LinearizedKernel| {
        forms.push(Form { label: label.to_owned(), operations, program, measured: 0.0 });
    };
    let all = nestegg_driver::optimize_best(&source, &config("O3"), usize::MAX)?;
    add("input", all[0].report.before.total, input.clone());
    for level in ["O1", "O2"] {
        let one = nestegg_driver::optimize(&source, &config(level))?;
        add(level, one.report.after.total, one.program);
    }
    for (idx, one) in all.into_iter().enumerate() {
        let label = if idx == 0 { "O3".to_owned() } else { format!("O3:{}", one.report.seed.replace([' ', ','], "_")) };
        add(&label, one.report.after.total, one.program);
    }
    if let Some(peer) = peer {
        let source = peer.read().into_diagnostic()?;
        let read = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
        if interface(&read.kernel) == interface(&input.kernel) {
            let operations = nestegg_driver::count(&source, &args.parameters)?.total;
            add("peer", operations, read);
        }
    }
    Ok(forms)
}

/// Names and types of parameters and arguments.
fn interface(kernel: &Kernel) -> Vec<String> {
    let parameters = kernel.parameters.iter().map(|parameter| parameter.name.clone());
    let arguments = kernel.arguments().map(|array| format!("{} {}", kernel[array].name, kernel[array].dtype));
    parameters.chain(arguments).collect()
}

fn write(folder: &Path, forms: &[Form]) -> miette::Result<()> {
    fs::create_dir_all(folder).into_diagnostic()?;
    let mut lines = String::new();
    for (idx, form) in forms.iter().enumerate() {
        let text = nestegg_driver::emit::dump(&form.program).text;
        fs::write(folder.join(format!("{idx}.json")), text).into_diagnostic()?;
        lines += &format!("{},{},{}\n", form.label, form.operations, form.measured);
    }
    fs::write(folder.join("times.csv"), lines).into_diagnostic()
}

fn read(folder: &Path) -> miette::Result<Vec<Form>> {
    let text = fs::read_to_string(folder.join("times.csv")).into_diagnostic()?;
    let form = |(idx, line): (usize, &str)| {
        let path = folder.join(format!("{idx}.json"));
        let wrong = || miette!("`{}` is not what this command writes", folder.display());
        let [label, operations, measured] = line.split(',').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let source = nestegg_span::Source::new(
            path.display().to_string(),
            fs::read_to_string(&path).into_diagnostic().wrap_err_with(wrong)?,
        );
        Ok(Form {
            label: label.to_owned(),
            operations: operations.parse().map_err(|_| wrong())?,
            program: nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?,
            measured: measured.parse().map_err(|_| wrong())?,
        })
    };
    text.lines().enumerate().map(form).collect()
}
