//! What nestegg promises on real kernels, for every kernel in `fixtures/`, each by itself.
//!
//! * `optimize`: at O1 it succeeds, is validated, and writes a dump that reads back: linearized, with the same arguments.
//! * `operations`: they are at most the published figure that O1 is measured by.
//! * `again/LEVEL`: the result is read and accepted again; optimizing it at the same level adds no operation, and `validate` finds it equal to the kernel.
//!   At O1 the same bytes come out twice. Kernels whose text is longer than [`SMALL`] are left out at O2 and O3, unless `NESTEGG_CORPUS=all` asks for them.
//! * `explained/LEVEL`: how the result came about is told, and every step of it holds. Kernels that are not small are left out as above, at O1 too.
//! * `unoptimized`: O0 gives a linearized dump with the same arguments and no more operations.
//! * `count`: the peers' own best programs count exactly as published.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_bench::fixtures::{self, Fixture};
use nestegg_bench::peers::{Peers, accepted_column};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::explain::{Verify, explain};
use nestegg_driver::report::Validated;
use nestegg_driver::validation::{Comparison, compare};
use nestegg_driver::{emit, optimize, parameters};
use nestegg_ir::{Kernel, Program};
use nestegg_span::Source;
use nestegg_tests::root;

/// The length in bytes of the text of a small kernel.
const SMALL: usize = 6_000;

fn main() {
    let arguments = Arguments::from_args();
    let folder = root().join("fixtures");
    let wants_all = std::env::var("NESTEGG_CORPUS").is_ok_and(|wish| wish == "all");
    let mut trials = Vec::new();
    for fixture in fixtures::fixtures(&folder).expect("the fixtures are there") {
        let name = fixture.full_name();
        let is_chosen = wants_all || fixture.read().is_ok_and(|source| source.text.len() <= SMALL);
        let fixture = Arc::new((fixture, folder.clone()));
        let mut add = |what: &str, test: fn(&Path, &Fixture) -> Result<(), Failed>| {
            let fixture = Arc::clone(&fixture);
            trials.push(Trial::test(format!("{what}/{name}"), move || test(&fixture.1, &fixture.0)));
        };
        add("optimize", optimizes);
        add("operations", stays_within_figure);
        add("again/O1", |_, fixture| is_stable(fixture, "O1"));
        if is_chosen {
            add("explained/O1", |_, fixture| is_explained(fixture, "O1"));
            add("explained/O2", |_, fixture| is_explained(fixture, "O2"));
            add("again/O2", |_, fixture| is_stable(fixture, "O2"));
            add("again/O3", |_, fixture| is_stable(fixture, "O3"));
        }
        if wants_all {
            add("explained/O3", |_, fixture| is_explained(fixture, "O3"));
        }
        add("unoptimized", keeps_at_o0);
    }
    for program in fixtures::peer_programs(&folder).expect("the peers' programs are there") {
        let folder = folder.clone();
        let name = program.full_name();
        trials.push(Trial::test(format!("count/{name}"), move || counts_as_published(&folder, &program)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn optimizes(_: &Path, fixture: &Fixture) -> Result<(), Failed> {
    let source = fixture.read()?;
    let optimized = optimized(&source, "O1", Validation::On)?;
    if let Some(failure) = optimized.report.failures.iter().find(|failure| failure.is_bug()) {
        return Err(failure.to_string().into());
    }
    check_dump(&source, &emit::dump(&optimized.program).text)?;
    match &optimized.report.validation {
        Validated::Equal { .. } => Ok(()),
        Validated::NotCompared { reason } => Err(format!("not validated: {reason}").into()),
    }
}

fn stays_within_figure(folder: &Path, fixture: &Fixture) -> Result<(), Failed> {
    let ours = optimized(&fixture.read()?, "O1", Validation::Off)?.report.after.total as f64;
    let figure = Peers::read(folder, fixture.group)?.figure(&fixture.name, accepted_column(fixture.group));
    match figure {
        Some(figure) if ours > figure => {
            Err(format!("{ours} operations, the figure is {figure}: {:.3}", ours / figure).into())
        }
        // A few published tables have gaps.
        Some(_) | None => Ok(()),
    }
}

fn is_stable(fixture: &Fixture, level: &str) -> Result<(), Failed> {
    let source = fixture.read()?;
    let first = optimized(&source, level, Validation::Off)?;
    let text = emit::dump(&first.program).text;
    if level == "O1" && emit::dump(&optimized(&source, level, Validation::Off)?.program).text != text {
        return Err("a second run wrote other bytes".into());
    }
    let written = Source::new("again.json", text.as_str());
    equal(&source, &written)?;
    let again = optimized(&written, level, Validation::Off)?;
    if again.report.after.total > first.report.after.total {
        let (first, again) = (first.report.after.total, again.report.after.total);
        return Err(format!("optimizing the result adds operations: {first} -> {again}").into());
    }
    equal(&source, &Source::new("twice.json", emit::dump(&again.program).text))
}

/// What `nestegg validate` says is that two kernels are equal.
fn is_explained(fixture: &Fixture, level: &str) -> Result<(), Failed> {
    let config = Config { strategy: Strategy::Named(level.to_owned()), ..Config::of_operations() };
    let explanation = explain(&fixture.read()?, &config, Verify::Yes)?;
    match explanation.verified {
        Some(verified) if verified.wrong == 0 => Ok(()),
        _ => Err(explanation.to_text(None).unwrap_or_default().into()),
    }
}

fn equal(first: &Source, second: &Source) -> Result<(), Failed> {
    let read =
        |source: &Source| nestegg_driver::read(source).map_err(|error| format!("{:?}", miette::Report::new(error)));
    let (first, second) = (read(first)?.program, read(second)?.program);
    let assumed = parameters::assumed(first.kernel(), &[]).map_err(|error| error.to_string())?;
    match compare(&first, &second, &parameters::values(&assumed)).map_err(|error| error.to_string())? {
        Comparison::Equal { .. } => Ok(()),
        other => Err(format!("the result is not equal: {other:?}").into()),
    }
}

fn keeps_at_o0(_: &Path, fixture: &Fixture) -> Result<(), Failed> {
    let source = fixture.read()?;
    let optimized = optimized(&source, "O0", Validation::Off)?;
    check_dump(&source, &emit::dump(&optimized.program).text)?;
    if optimized.report.after.total > optimized.report.before.total {
        return Err("O0 adds operations".into());
    }
    Ok(())
}

fn counts_as_published(folder: &Path, program: &Fixture) -> Result<(), Failed> {
    let counted = nestegg_driver::count(&program.read()?, &[]).map_err(|error| error.to_string())?.total as f64;
    // Of some kernels the program of another mode than the best is there; it says which.
    let meta: serde_json::Value = serde_json::from_str(&program.read()?.text).map_err(|error| error.to_string())?;
    let mode = meta["meta"]["mode"].as_str().unwrap_or("best");
    match Peers::read(folder, program.group)?.figure(&program.name, mode) {
        Some(published) if published != counted => Err(format!("counted {counted}, published {published}").into()),
        Some(_) => Ok(()),
        None => Err("no figure".into()),
    }
}

fn optimized(source: &Source, level: &str, validation: Validation) -> Result<nestegg_driver::Optimized, Failed> {
    let config = Config { strategy: Strategy::Named(level.to_owned()), validation, ..Config::of_operations() };
    optimize(source, &config).map_err(|error| format!("{:?}", miette::Report::new(error)).into())
}

/// The text is a dump with a linearization, of the same arguments in the same order.
fn check_dump(input: &Source, text: &str) -> Result<(), Failed> {
    let read =
        |source: &Source| nestegg_driver::read(source).map_err(|error| format!("{:?}", miette::Report::new(error)));
    let (input, output) = (read(input)?.program, read(&Source::new("output.json", text))?.program);
    if !matches!(output, Program::Linearized(_)) {
        return Err("the output has no linearization".into());
    }
    let (before, after) = (arguments(input.kernel()), arguments(output.kernel()));
    if before == after { Ok(()) } else { Err(format!("arguments were {before:?}, are {after:?}").into()) }
}

fn arguments(kernel: &Kernel) -> Vec<String> {
    kernel
        .arguments()
        .map(|array| format!("{} {} {}", kernel[array].name, kernel[array].dtype, kernel[array].shape.len()))
        .collect()
}
