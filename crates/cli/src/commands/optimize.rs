//! `nestegg optimize`: the main job, for one kernel; [`super::folder`] does it for many.
//!
//! What `--report` asks for goes to standard output where the result does not, else to standard error; with `--report json` so does what
//! went wrong.

use std::collections::BTreeMap;
use std::path::Path;

use nestegg_cache::{Cache, Fetched, Kept, Patience, key_of_run};
use nestegg_driver::config::Config;
use nestegg_driver::emit::{self, Product};
use nestegg_driver::explain::picture::draw;
use nestegg_driver::problem;
use nestegg_driver::report::{Report, WIDTH};
use nestegg_driver::rules::warnings;
use nestegg_driver::trace::to_lines;
use nestegg_driver::{Notation, Optimized};
use nestegg_ir::Program;
use nestegg_span::Source;
use serde_json::{Value, json};

use crate::args::{Emit, OptimizeArgs, ReportFormat, path_of};
use crate::commands::folder;
use crate::commands::tune;
use crate::config::{Input, OptimizeConfig, UsageError};
use crate::exit::ExitStatus;
use crate::files::{self, Output, STDIN};
use crate::kernels;
use crate::progress::Progress;
use crate::terminal::{self, Failure, Stream};

pub fn run(args: OptimizeArgs) -> Result<ExitStatus, Failure> {
    let (input, format) = (args.input.clone(), args.report);
    let has_place = path_of(args.output.as_deref()).is_some() || input.is_dir();
    let stream = if has_place { Stream::Output } else { Stream::Error };
    let res = OptimizeConfig::new(args).map_err(Failed::from).and_then(|config| {
        warnings(&config.driver.rules).into_iter().for_each(|warning| terminal::show(&warning.into()));
        threads(&config)?.install(|| match &config.input {
            Input::One(path) => one(path, &config, stream),
            Input::Folder(path) => Ok(folder::run(path, &config)?),
        })
    });
    match res {
        Ok(status) => Ok(status),
        Err(failed) if format == ReportFormat::Json => {
            let Failure::Error(status, report) = &failed.failure else { return Err(failed.failure) };
            let story = serde_json::to_string_pretty(&failed.to_json(&input)).expect("text keys and plain values");
            stream.tell(&(story + "\n"))?;
            if stream == Stream::Output {
                terminal::show(report);
            }
            Ok(*status)
        }
        Err(failed) => Err(failed.failure),
    }
}

/// The threads that work is done on.
fn threads(config: &OptimizeConfig) -> Result<rayon::ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(config.n_threads.map_or(0, std::num::NonZeroUsize::get))
        .build()
        .map_err(|error| Failure::Error(ExitStatus::BadInput, miette::miette!("cannot start threads: {error}")))
}

fn one(path: &Path, config: &OptimizeConfig, stream: Stream) -> Result<ExitStatus, Failed> {
    if let Some(output) = &config.output {
        files::check_place(output).map_err(Failure::from)?;
    }
    let sources = kernels::all(path, &config.data)?;
    if sources.len() > 1 {
        check_several(path, &sources, config)?;
    }
    let progress = Progress::start(sources.len(), config.shows_progress);
    let waiting = || progress.say("another process works on this kernel");
    let mut all = Vec::with_capacity(sources.len());
    for source in &sources {
        let done = match optimized(source, config, &progress, Patience::Wait(&waiting))? {
            Fetched::Kept(done) | Fetched::Made(done) => done,
            Fetched::Busy => unreachable!("who waits is answered"),
        };
        all.push(done);
        progress.advance();
    }
    drop(progress);
    all.iter().for_each(|done| warn(&done.report));
    let kernel = all.first().map(|done| done.report.kernel.clone());
    let write = || {
        let products = products_of_file(path, &all)?;
        let mut written = match &config.output {
            Some(output) => OptimizeConfig::outputs(output, products.clone()),
            None => Vec::new(),
        };
        let trace: String = all.iter().map(|done| done.trace.as_str()).collect();
        written.extend(config.trace.iter().map(|path| Output { path: path.clone(), text: trace.clone() }));
        files::write_all(&written)?;
        if config.output.is_none() {
            for product in products.iter().filter(|product| !product.is_companion) {
                terminal::print(&product.text)?;
            }
        }
        let width = stream.width().map_or(WIDTH, |width| width.min(WIDTH));
        let texts = all.iter().map(|done| match config.report {
            ReportFormat::Text => done.report.to_text(width),
            ReportFormat::Json => done.report.to_json() + "\n",
            ReportFormat::Html => done.page.clone().unwrap_or_default(),
            ReportFormat::None => String::new(),
        });
        let between = if config.report == ReportFormat::Text { "\n" } else { "" };
        stream.tell(&texts.collect::<Vec<_>>().join(between))
    };
    write().map_err(|failure| Failed { kernel, failure })?;
    Ok(ExitStatus::Done)
}

/// Whether what is asked for can be written of several kernels of one file: only C can, and a report for each.
fn check_several(path: &Path, sources: &[Source], config: &OptimizeConfig) -> Result<(), Failure> {
    if config.trace.is_some() || config.report == ReportFormat::Html {
        return Err(UsageError::OfOneKernel.into());
    }
    if sources.iter().any(|source| config.emit_for(source) != [Emit::C]) {
        let names: Result<Vec<Vec<String>>, _> = sources.iter().map(nestegg_driver::functions).collect();
        let names: Vec<String> = names?.into_iter().flatten().map(|name| format!("`{name}`")).collect();
        let file = path.display().to_string();
        return Err(UsageError::SeveralKernels { file, names: names.join(", ") }.into());
    }
    Ok(())
}

/// Everything that is written of the kernels of a file. C of kernels that came as C is their file, with these functions in place.
pub fn products_of_file(path: &Path, all: &[Done]) -> Result<Vec<Product>, Failure> {
    let is_c = |product: &&Product| product.extension == "c" && !product.is_companion;
    let mut in_place = Vec::new();
    for done in all {
        let product = done.products.iter().find(is_c);
        in_place.extend(product.map(|product| (done.report.kernel.clone(), product.clone())));
    }
    let mut products: Vec<Product> = all.iter().flat_map(|done| done.products.clone()).collect();
    if in_place.is_empty() || path == Path::new(STDIN) {
        return Ok(products);
    }
    let whole = files::read(&kernels::file(path))?;
    if Notation::of(&whole).is_some() {
        return Ok(products);
    }
    let placed = kernels::in_place(&whole, &in_place)?;
    // The file declares its functions, so that it needs no other header.
    products.retain(|product| !(product.is_companion || is_c(&product)));
    products.push(placed);
    Ok(products)
}

/// What was made of a kernel.
pub struct Done {
    /// Everything that is written of it.
    pub products: Vec<Product>,
    /// Its story.
    pub report: Report,
    /// The events of the run, as lines of JSON.
    pub trace: String,
    /// The story as a page, if that is asked for.
    pub page: Option<String>,
}

/// What went wrong with a kernel.
pub struct Failed {
    /// The kernel's name, if it could be read.
    kernel: Option<String>,
    /// What went wrong.
    pub failure: Failure,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { kernel: None, failure }
    }
}

impl Failed {
    /// The same for programs.
    pub fn to_json(&self, file: &Path) -> Value {
        let error = match &self.failure {
            Failure::Error(_, report) => problem::to_json(report.as_ref()),
            Failure::BrokenPipe => json!({ "code": "nestegg::broken_pipe", "message": "nobody reads the output" }),
        };
        json!({ "file": file.display().to_string(), "kernel": self.kernel, "error": error })
    }
}

/// Optimizes one kernel, or takes what is kept of it.
pub fn optimized(
    source: &Source,
    config: &OptimizeConfig,
    progress: &Progress,
    patience: Patience<'_>,
) -> Result<Fetched<Done>, Failed> {
    let driver = Config { watcher: progress.watcher(&source.name), ..config.driver.clone() };
    let failed = |failure| {
        let kernel = nestegg_driver::read(source).ok().map(|read| read.program.kernel().name.clone());
        Failed { kernel, failure }
    };
    let told = |mut done: Done| {
        if !config.tells_seconds {
            done.report.stages.clear();
        }
        done
    };
    // What is no kernel is told by the run itself.
    if let (Some(cache), Ok(read)) = (&config.cache, nestegg_driver::read(source)) {
        let fetched = kept(source, (cache, &read.program), config, &driver, patience).map_err(failed)?;
        if let Some(fetched) = fetched {
            return Ok(match fetched {
                Fetched::Kept(done) => Fetched::Kept(told(done)),
                Fetched::Made(done) => Fetched::Made(told(done)),
                Fetched::Busy => Fetched::Busy,
            });
        }
    }
    products(source, config, &driver).map(told).map(Fetched::Made).map_err(failed)
}

/// Extras are kept only if the run asks for them, under these names.
const PAGE: &str = "page";
const DOT: &str = "dot";
const TRACE: &str = "trace";
const TUNED: &str = "tuned";

/// What is kept of a kernel, or is kept from now on; nothing if what is asked for cannot be written, which a run then says.
fn kept(
    source: &Source,
    (cache, program): (&Cache, &Program),
    config: &OptimizeConfig,
    driver: &Config,
    patience: Patience<'_>,
) -> Result<Option<Fetched<Done>>, Failure> {
    let kinds = config.emit_for(source);
    let (has_page, has_dot) = (config.report == ReportFormat::Html, kinds.contains(&Emit::Dot));
    let measured = (config.n_tuned > 1).then(|| tune::measured(config.n_tuned, driver));
    let mut more = Vec::new();
    more.extend(has_page.then_some((PAGE, "")));
    more.extend(has_dot.then_some((DOT, "")));
    more.extend(measured.as_deref().map(|measured| (TUNED, measured)));
    let key = key_of_run(program, driver, &more);
    let make = || {
        let optimized = result(source, config, driver)?;
        let mut extras = BTreeMap::new();
        if driver.traces {
            extras.insert(TRACE.to_owned(), to_lines(&optimized.events));
        }
        if has_page {
            let page = nestegg_lab::page::page(source, driver, &optimized).map_err(failure)?;
            extras.insert(PAGE.to_owned(), page);
        }
        if has_dot {
            extras.insert(DOT.to_owned(), draw(source, driver, &optimized).map_err(failure)?.to_dot());
        }
        Ok::<_, Failure>(Kept::new(source, &optimized, extras))
    };
    Ok(match Kept::fetch(cache, &key, source, patience, make)? {
        Fetched::Busy => Some(Fetched::Busy),
        Fetched::Kept(kept) => done(kept, &kinds).map(Fetched::Kept),
        Fetched::Made(kept) => done(kept, &kinds).map(Fetched::Made),
    })
}

/// The outputs that are asked for, from a kept result; nothing if one of them could not be written.
fn done(kept: Kept, kinds: &[Emit]) -> Option<Done> {
    let Kept { text, json, c, report, mut extras, .. } = kept;
    let product = |extension, text: &str| Product { extension, text: text.to_owned(), is_companion: false };
    let products = of_kinds(kinds, |kind| {
        Ok::<_, ()>(match kind {
            Emit::Dump => vec![product("json", &json)],
            Emit::Text => vec![product("knl", &text)],
            Emit::Dot => vec![product("dot", extras.get(DOT).ok_or(())?)],
            Emit::C | Emit::H => {
                let [source, header] = c.as_ref().map_err(drop)?;
                vec![product("c", source), Product { is_companion: true, ..product("h", header) }]
            }
        })
    });
    let products = products.ok()?;
    let trace = extras.remove(TRACE).unwrap_or_default();
    Some(Done { products, report, trace, page: extras.remove(PAGE) })
}

/// The products of all kinds, made one by one; of C and header alike both are made. The header accompanies the source, if that is written.
fn of_kinds<E>(kinds: &[Emit], mut make: impl FnMut(Emit) -> Result<Vec<Product>, E>) -> Result<Vec<Product>, E> {
    let mut products = Vec::new();
    for &kind in kinds {
        match kind {
            Emit::H if kinds.contains(&Emit::C) => {}
            Emit::H => {
                let headers = make(kind)?.into_iter().filter(|product| product.is_companion);
                products.extend(headers.map(|header| Product { is_companion: false, ..header }));
            }
            _ => products.extend(make(kind)?),
        }
    }
    Ok(products)
}

/// The result, or of several the fastest.
fn result(source: &Source, config: &OptimizeConfig, driver: &Config) -> Result<Optimized, Failure> {
    let best = nestegg_driver::optimize_best(source, driver, config.n_tuned).map_err(failure)?;
    if config.n_tuned == 1 {
        Ok(best.into_iter().next().expect("there is at least one"))
    } else {
        tune::fastest(best, driver)
    }
}

fn products(source: &Source, config: &OptimizeConfig, driver: &Config) -> Result<Done, Failure> {
    let optimized = result(source, config, driver)?;
    let program = optimized.runs();
    let products = of_kinds(&config.emit_for(source), |kind| {
        Ok::<_, Failure>(match kind {
            Emit::Dump => vec![emit::dump(program)],
            Emit::Text => vec![emit::text(program)],
            Emit::C | Emit::H => emit::c(&optimized).map_err(failure)?,
            Emit::Dot => {
                let text = draw(source, driver, &optimized).map_err(failure)?.to_dot();
                vec![Product { extension: "dot", text, is_companion: false }]
            }
        })
    })?;
    let page = match config.report {
        ReportFormat::Html => Some(nestegg_lab::page::page(source, driver, &optimized).map_err(failure)?),
        _ => None,
    };
    Ok(Done { products, trace: to_lines(&optimized.events), page, report: optimized.report })
}

/// Says which results are not right: the one that is written is another.
pub fn warn(report: &Report) {
    for failure in report.failures.iter().filter(|failure| failure.is_bug()) {
        terminal::show(&miette::Report::new(failure.clone()));
    }
}

/// What the driver could not do: the caller's input is at fault, or the result is.
fn failure(error: nestegg_driver::Error) -> Failure {
    let status = if error.is_wrong_result() { ExitStatus::FailedValidation } else { ExitStatus::BadInput };
    Failure::Error(status, miette::Report::new(error))
}
