//! `nestegg-bench model`: what the time model predicts beside what is measured.
//!
//! # Input
//! Fixtures; of each the input, the results at O1 and O2, everything that the search finds at O3 in each order of loops, and a peer's program where there is one.
//! # Output
//! For each kernel the measured times of the input, of the result with the fewest operations, of the one with the least predicted time, of the fastest, and of the peer's
//! program; the rank correlation of predicted and measured times, and the regret: the chosen over the fastest, the peer's left out. With
//! `--forms` every form. The means over kernels are those of the regret, geometric, and of the correlation.
//! # Method
//! All forms of a kernel are compiled with the same flags and run in turn; the least time over the rounds counts.

mod fit;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use miette::{Context, IntoDiagnostic, miette};
use nestegg_bench::fixtures::{self, Fixture};
use nestegg_codegen::c::COptions;
use nestegg_codegen::c::timing::{Compiler, Effort, times};
use nestegg_driver::config::{Config, CostModel, Strategy, Validation};
use nestegg_driver::emit::fast_options;
use nestegg_ir::{Kernel, Licence, LinearizedKernel};
use nestegg_time::{Machine, Profile, Timed};

use crate::CommonArgs;
use crate::statistics::{geometric_mean, largest, rank_correlation};
use crate::table::{ratio, table};

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
    /// The machine: a file, or one that comes with nestegg
    #[arg(long, default_value = nestegg_time::DEFAULT_MACHINE)]
    machine: String,
    /// List every form
    #[arg(long)]
    forms: bool,
    /// Measure again what is kept, without searching
    #[arg(long, requires = "keep")]
    again: bool,
    /// The compiler
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// Its flags [default: those of the machine]
    #[arg(long)]
    flags: Option<String>,
    /// How many rounds
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    /// How long a function runs in one round, at least
    #[arg(long, value_name = "MS", default_value_t = 2)]
    milliseconds: u32,
    /// How many elements calls go through in turn, as far as they fit a part of the first-level cache
    #[arg(long, default_value_t = 16)]
    elements: u32,
    /// Write a machine that is fitted to the forms, so that the fastest are chosen
    #[arg(long, value_name = "FILE")]
    fit: Option<PathBuf>,
    /// The value of a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = crate::parameter)]
    parameters: Vec<(String, i64)>,
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
    let machine = machine(args)?;
    let mut rows = Vec::new();
    let mut of_forms = Vec::new();
    let mut failures = Vec::new();
    let mut summary = Summary::default();
    let mut profiled: Vec<Vec<Timed>> = Vec::new();
    for fixture in args.common.chosen()? {
        let peer = peers.iter().find(|peer| peer.full_name() == fixture.full_name());
        let forms = forms(&fixture, peer, args, flags(args, &machine));
        let judged = forms.and_then(|forms| profiles(&forms, &args.parameters, &machine).map(|timed| (forms, timed)));
        match judged {
            Ok((forms, timed)) => {
                let judged = Judged::new(&forms, &timed, &machine);
                let is_own = |(form, timed): (&Form, Timed)| (form.label != PEER).then_some(timed);
                profiled.push(forms.iter().zip(timed).filter_map(is_own).collect());
                rows.push(judged.row(&fixture.full_name()));
                of_forms.extend(judged.forms.iter().map(|form| form.row(&fixture.full_name())));
                summary.add(&judged);
            }
            Err(error) => failures.push(format!("{}: {error:#}", fixture.full_name())),
        }
    }
    let header = [
        "kernel",
        "input ns",
        "fewest operations",
        "chosen",
        "fastest",
        "peer",
        "regret",
        "correlation",
        "chosen form",
    ];
    let mut text = format!("{} {}\n\n", args.cc, flags(args, &machine));
    text += &table(args.common.markdown, &header.map(str::to_owned), &rows);
    if args.forms {
        let header = ["kernel", "form", "operations", "measured ns", "predicted ns", "predicted/measured"];
        text += "\n";
        text += &table(args.common.markdown, &header.map(str::to_owned), &of_forms);
    }
    text += &summary.text();
    if let Some(file) = &args.fit {
        let fitted = fit::fitted(&machine, &profiled);
        fs::write(file, fitted.to_text()).into_diagnostic().wrap_err_with(|| file.display().to_string())?;
    }
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn flags<'a>(args: &'a ModelArgs, machine: &'a Machine) -> &'a str {
    args.flags.as_deref().unwrap_or(&machine.flags)
}

/// The forms as the model sees them, with their times.
fn profiles(forms: &[Form], values: &[(String, i64)], machine: &Machine) -> miette::Result<Vec<Timed>> {
    let of = |form: &Form| {
        let assumed = nestegg_driver::parameters::assumed(&form.program.kernel, values)?;
        let values = nestegg_driver::parameters::values(&assumed);
        let profile = Profile::new(&form.program, &values, machine).into_diagnostic()?;
        Ok(Timed { profile, nanoseconds: form.measured })
    };
    forms.iter().map(of).collect()
}

fn machine(args: &ModelArgs) -> miette::Result<Machine> {
    let text = match Machine::built_in(&args.machine) {
        Some(text) => text.to_owned(),
        None => fs::read_to_string(&args.machine)
            .into_diagnostic()
            .wrap_err_with(|| format!("no machine `{}`", args.machine))?,
    };
    let source = nestegg_span::Source::new(args.machine.as_str(), text);
    Ok(Machine::read(&source).map_err(|error| *error)?)
}

/// A form with its prediction.
struct Predicted {
    label: String,
    operations: u128,
    measured: f64,
    predicted: f64,
}

impl Predicted {
    fn row(&self, kernel: &str) -> Vec<String> {
        vec![
            kernel.to_owned(),
            self.label.clone(),
            self.operations.to_string(),
            format!("{:.1}", self.measured),
            format!("{:.1}", self.predicted),
            format!("{:.2}", self.predicted / self.measured),
        ]
    }
}

/// A kernel's forms, all predicted.
struct Judged {
    forms: Vec<Predicted>,
}

const PEER: &str = "peer";

impl Judged {
    fn new(forms: &[Form], timed: &[Timed], machine: &Machine) -> Self {
        let predicted = |(form, timed): (&Form, &Timed)| Predicted {
            label: form.label.clone(),
            operations: form.operations,
            measured: form.measured,
            predicted: timed.profile.on(machine).nanoseconds,
        };
        Self { forms: forms.iter().zip(timed).map(predicted).collect() }
    }

    /// Our own form, the input included, that is the least by a measure; the first of equals.
    fn least(&self, measure: impl Fn(&Predicted) -> f64) -> &Predicted {
        let own = self.forms.iter().filter(|form| form.label != PEER);
        own.min_by(|a, b| measure(a).total_cmp(&measure(b))).expect("the input is one")
    }

    fn peer(&self) -> Option<f64> {
        self.forms.iter().find(|form| form.label == PEER).map(|form| form.measured)
    }

    fn chosen(&self) -> &Predicted {
        self.least(|form| form.predicted)
    }

    fn by_operations(&self) -> &Predicted {
        self.least(|form| form.operations as f64)
    }

    fn fastest(&self) -> f64 {
        self.least(|form| form.measured).measured
    }

    fn correlation(&self) -> Option<f64> {
        let of = |measure: fn(&Predicted) -> f64| self.forms.iter().map(measure).collect::<Vec<f64>>();
        rank_correlation(&of(|form| form.predicted), &of(|form| form.measured))
    }

    fn row(&self, name: &str) -> Vec<String> {
        let chosen = self.chosen();
        vec![
            name.to_owned(),
            format!("{:.1}", self.forms[0].measured),
            format!("{:.1}", self.by_operations().measured),
            format!("{:.1}", chosen.measured),
            format!("{:.1}", self.fastest()),
            self.peer().map_or_else(|| "-".to_owned(), |peer| format!("{peer:.1}")),
            format!("{:.2}", chosen.measured / self.fastest()),
            ratio(self.correlation()),
            chosen.label.clone(),
        ]
    }
}

/// Over all kernels.
#[derive(Default)]
struct Summary {
    regrets: Vec<f64>,
    of_operations: Vec<f64>,
    correlations: Vec<f64>,
    beside_peers: Vec<f64>,
    beside_input: Vec<f64>,
    all: (Vec<f64>, Vec<f64>),
}

impl Summary {
    fn add(&mut self, judged: &Judged) {
        let chosen = judged.chosen().measured;
        self.regrets.push(chosen / judged.fastest());
        self.of_operations.push(judged.by_operations().measured / judged.fastest());
        self.correlations.extend(judged.correlation());
        self.beside_peers.extend(judged.peer().map(|peer| chosen / peer));
        self.beside_input.push(chosen / judged.forms[0].measured);
        self.all.0.extend(judged.forms.iter().map(|form| form.predicted));
        self.all.1.extend(judged.forms.iter().map(|form| form.measured));
    }

    fn text(&self) -> String {
        let line = |name: &str, values: &[f64]| {
            format!("{name}: geometric mean {}, worst {}\n", ratio(geometric_mean(values)), ratio(largest(values)))
        };
        let mean = self.correlations.iter().sum::<f64>() / self.correlations.len().max(1) as f64;
        format!("\n{} kernels, {} forms\n", self.regrets.len(), self.all.0.len())
            + &line("chosen by time over the fastest form", &self.regrets)
            + &line("chosen by operations over the fastest form", &self.of_operations)
            + &line("chosen by time over the peer's form", &self.beside_peers)
            + &line("chosen by time over the input", &self.beside_input)
            + &format!(
                "rank correlation of predicted and measured: mean {mean:.3} of kernels, {} of all forms\n",
                ratio(rank_correlation(&self.all.0, &self.all.1))
            )
    }
}

/// All forms of a kernel, measured now or before.
fn forms(fixture: &Fixture, peer: Option<&Fixture>, args: &ModelArgs, flags: &str) -> miette::Result<Vec<Form>> {
    let kept = args.keep.as_ref().map(|folder| folder.join(fixture.full_name()));
    if let Some(folder) = kept.as_ref().filter(|folder| folder.join("times.csv").is_file()) {
        let forms = read(folder)?;
        return if args.again { measured(forms, kept, args, flags) } else { Ok(forms) };
    }
    measured(found(fixture, peer, args)?, kept, args, flags)
}

/// The forms with their times, which are kept.
fn measured(mut forms: Vec<Form>, kept: Option<PathBuf>, args: &ModelArgs, flags: &str) -> miette::Result<Vec<Form>> {
    let compiler = Compiler { command: args.cc.clone(), flags: flags.to_owned() };
    let effort = Effort { n_rounds: args.rounds, milliseconds: args.milliseconds, n_sets: args.elements };
    let programs = forms.iter().map(|form| &form.program);
    let programs: Vec<(&LinearizedKernel, COptions)> =
        programs.map(|program| (program, fast_options(program, Licence::default()))).collect();
    let times = times(&programs, &args.parameters, &compiler, effort)?;
    for (idx, form) in forms.iter_mut().enumerate() {
        form.measured = times.rounds.iter().map(|round| round[idx]).fold(f64::INFINITY, f64::min);
    }
    if let Some(folder) = kept {
        write(&folder, &forms)?;
    }
    Ok(forms)
}

/// The input, the results at lower levels, all that the search finds at O3 in each order of loops, and the peer's program.
fn found(fixture: &Fixture, peer: Option<&Fixture>, args: &ModelArgs) -> miette::Result<Vec<Form>> {
    let source = fixture.read().into_diagnostic()?;
    let input = nestegg_driver::read(&source)?.program.into_linearized().into_diagnostic()?;
    let config = |level: &str, cost: CostModel| Config {
        strategy: Strategy::Named(level.to_owned()),
        validation: Validation::Off,
        parameters: args.parameters.clone(),
        cost,
        ..Config::default()
    };
    let mut forms: Vec<Form> = Vec::new();
    let mut add = |label: &str, operations: u128, program: LinearizedKernel| {
        forms.push(Form { label: label.to_owned(), operations, program, measured: 0.0 });
    };
    let all = nestegg_driver::optimize_best(&source, &config("O3", CostModel::Time), usize::MAX)?;
    add("input", all[0].report.before.total, input.clone());
    for level in ["O1", "O2"] {
        let one = nestegg_driver::optimize(&source, &config(level, CostModel::Operations))?;
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
