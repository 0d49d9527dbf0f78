//! `nestegg-bench runtime`: the race. Our results beside their inputs and beside the best programs of other compilers, in time.
//!
//! # Input
//! Fixtures, programs of other compilers in `GROUP/peer/NAME.json`, C compilers, numbers of lanes.
//! # Output
//! For each compiler and each place of the data (in cache, or streaming from memory) a row for each kernel: nanoseconds for one element of the input, of the
//! peer's program and of ours, one at a time and in lanes; what the time model predicted; operations and bytes a second. Then geometric means and worst cases, the rank
//! correlation of predictions and measurements, and the peaks of the machine; with `--roofline` a picture of it all.
//! # Method
//! All functions of a kernel are linked into one program and called in turn, in rounds, so that what disturbs the machine disturbs all: see [`race`]. Ratios are medians of
//! those of the rounds.

mod kernels;
mod peaks;
mod race;
mod roofline;

use std::path::PathBuf;

use clap::Args;
use miette::IntoDiagnostic;
use nestegg_bench::fixtures::{self, Fixture, peer_programs};
use nestegg_driver::batch::Width;
use nestegg_driver::config::{Config, CostModel, Strategy};
use nestegg_ir::Kernel;

use crate::CommonArgs;
use crate::progress::bar;
use crate::statistics::{geometric_mean, largest, rank_correlation};
use crate::table::{ratio, table};

use peaks::Peaks;
use race::{Place, Race};

/// `nestegg-bench runtime`.
#[derive(Debug, Args)]
pub struct RuntimeArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// A folder with kernels in any notation, C among them, instead of the fixtures
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// The value of a parameter, where a kernel has it; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = crate::parameter)]
    parameters: Vec<(String, i64)>,
    /// The level or strategy
    #[arg(long, default_value = "O3")]
    level: String,
    /// Make operations small instead of time
    #[arg(long)]
    operations: bool,
    /// A folder with peers' programs, as `GROUP/peer/NAME.json` [default: that of the fixtures]
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// The compilers, with commas
    #[arg(long, value_delimiter = ',', default_value = "gcc")]
    cc: Vec<String>,
    /// Flags for inputs and peers' programs
    #[arg(long, default_value = "-std=gnu11 -O3 -march=native -ffast-math")]
    flags: String,
    /// Flags for ours [default: those of the machine]
    #[arg(long)]
    own_flags: Option<String>,
    /// Numbers of elements that are put together, with commas; `auto` leaves it to the time model, and the peer's to the widest float
    #[arg(long, value_name = "W", value_delimiter = ',')]
    batch: Vec<Width>,
    /// Let data come from memory, too: a mesh of up to 100,000 elements
    #[arg(long)]
    streaming: bool,
    /// How many rounds
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    /// How long a function runs in one round, at least
    #[arg(long, value_name = "MS", default_value_t = 2)]
    milliseconds: u32,
    /// Draw what was measured below the peaks of the machine, as SVG
    #[arg(long, value_name = "FILE")]
    roofline: Option<PathBuf>,
    /// A folder that keeps the C
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

impl RuntimeArgs {
    /// How the optimizer runs on a kernel.
    fn config(&self, kernel: &Kernel) -> Config {
        let cost = if self.operations { CostModel::Operations } else { CostModel::Time };
        let strategy = Strategy::Named(self.level.clone());
        let has = |name: &str| kernel.parameters.iter().any(|parameter| parameter.name == name);
        let parameters = self.parameters.iter().filter(|(name, _)| has(name)).cloned().collect();
        Config { strategy, cost, parameters, ..Config::default() }
    }
}

/// Runs the race.
pub fn run(args: &RuntimeArgs) -> miette::Result<String> {
    let peers = peer_programs(args.peers.as_ref().unwrap_or(&args.common.fixtures)).into_diagnostic()?;
    let fixtures = match &args.kernels {
        Some(folder) => args.common.chosen_of(fixtures::others(folder).into_diagnostic()?),
        None => args.common.chosen()?,
    };
    let places: &[Place] = if args.streaming { &[Place::Cache, Place::Memory] } else { &[Place::Cache] };
    let progress = bar("kernels", fixtures.len())?;
    let mut failures = Vec::new();
    let mut races: Vec<Vec<Race>> = args.cc.iter().flat_map(|_| places).map(|_| Vec::new()).collect();
    for fixture in fixtures {
        let peer = peers.iter().find(|peer| peer.full_name() == fixture.full_name());
        match kernels::contestants(&fixture, peer, args) {
            Ok(contestants) => {
                let runs = args.cc.iter().flat_map(|cc| places.iter().map(move |&place| (cc, place)));
                for (of_run, (cc, place)) in races.iter_mut().zip(runs) {
                    match race::race(&contestants, cc, place, args) {
                        Ok(race) => of_run.extend(race),
                        Err(error) => failures.push(failure(&fixture, &error)),
                    }
                }
            }
            Err(error) => failures.push(failure(&fixture, &error)),
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let mut text = String::new();
    let runs = args.cc.iter().flat_map(|cc| places.iter().map(move |&place| (cc, place)));
    for (races, (cc, place)) in races.iter().zip(runs) {
        let peaks = Peaks::measured(cc, args)?;
        text += &story(races, cc, place, &peaks, args);
        if let Some(path) = &args.roofline {
            roofline::draw(&numbered(path, cc, place, args), &format!("{cc}, {place}"), races, &peaks)?;
        }
    }
    if !failures.is_empty() {
        text += &format!("failed:\n  {}\n", failures.join("\n  "));
    }
    Ok(text)
}

fn failure(fixture: &Fixture, error: &miette::Report) -> String {
    format!("{}: {error:#}", fixture.full_name())
}

/// The file of a picture: where there are several, the compiler and the place are a part of the name.
fn numbered(path: &std::path::Path, cc: &str, place: Place, args: &RuntimeArgs) -> PathBuf {
    if args.cc.len() == 1 && !args.streaming {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let cc = cc.rsplit('/').next().unwrap_or(cc);
    path.with_file_name(format!("{stem}-{cc}-{}.svg", place.word()))
}

/// A ratio of a race, where it has one.
type Ratio = fn(&Race) -> Option<f64>;

/// The table of one compiler and place, and what it comes to.
fn story(races: &[Race], cc: &str, place: Place, peaks: &Peaks, args: &RuntimeArgs) -> String {
    let mut header: Vec<String> =
        ["kernel", "elements", "input", "peer", "ours", "predicted", "ours/input", "ours/peer"]
            .map(String::from)
            .to_vec();
    for who in ["peer", "ours"] {
        header.extend(args.batch.iter().map(|width| format!("{who}, {width}")));
    }
    if !args.batch.is_empty() {
        header.extend(["lanes/peer", "lanes/peer's lanes"].map(String::from));
    }
    header.extend(["Gop/s", "GB/s"].map(String::from));
    let rows: Vec<Vec<String>> = races.iter().map(|race| row(race, args)).collect();
    let level = &args.level;
    let mut text = format!("{cc}, data in {place}, level {level}; nanoseconds for one element, medians\n\n");
    text += &table(args.common.markdown, &header, &rows);
    let ratios: [(&str, Ratio); 4] = [
        ("ours over the input", |race| Some(race.ours.over_input)),
        ("ours over the peer", |race| race.ours.over_peer),
        ("the best of ours in lanes over the peer", |race| race.best_lanes().and_then(|best| best.over_peer)),
        ("the best of ours in lanes over the best of the peer's in lanes", Race::lanes_over_lanes),
    ];
    text += "\n";
    for (name, of) in ratios {
        let values: Vec<f64> = races.iter().filter_map(of).collect();
        if !values.is_empty() {
            let (mean, worst) = (ratio(geometric_mean(&values)), ratio(largest(&values)));
            text += &format!("{name}: geometric mean {mean}, worst {worst}, {} kernels\n", values.len());
        }
    }
    let (predicted, measured): (Vec<f64>, Vec<f64>) = races.iter().map(|race| (race.predicted, race.ours.time)).unzip();
    if place == Place::Cache {
        text += &format!(
            "rank correlation of predicted and measured: {}\n",
            ratio(rank_correlation(&predicted, &measured))
        );
    }
    text += &format!("peaks: {:.1} Gop/s, {:.1} GB/s\n\n", peaks.operations, peaks.bandwidth);
    text
}

fn row(race: &Race, args: &RuntimeArgs) -> Vec<String> {
    let dash = || "-".to_owned();
    let time = |time: f64| format!("{time:.1}");
    let mut row = vec![
        race.name.clone(),
        race.n_elements.to_string(),
        time(race.input.time),
        race.peer.as_ref().map_or_else(dash, |peer| time(peer.time)),
        time(race.ours.time),
        time(race.predicted),
        ratio(Some(race.ours.over_input)),
        ratio(race.ours.over_peer),
    ];
    for lanes in [&race.peer_lanes, &race.own_lanes] {
        row.extend((0..args.batch.len()).map(|at| lanes.get(at).map_or_else(dash, |one| time(one.time))));
    }
    if !args.batch.is_empty() {
        row.push(ratio(race.best_lanes().and_then(|best| best.over_peer)));
        row.push(ratio(race.lanes_over_lanes()));
    }
    let best = race.best();
    row.push(format!("{:.1}", best.operations / best.time));
    row.push(format!("{:.1}", race.bytes / best.time));
    row
}
