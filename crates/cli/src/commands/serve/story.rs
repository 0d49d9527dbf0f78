//! What came of a kernel with the rules beside it, or what is wrong.
//!
//! A story is named by a hash of all that it is made of, so that it is made once for each version of that, and an old one is never taken for a new one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_driver::problem::{Problem, problems};
use nestegg_driver::{Optimized, optimize, rules};
use nestegg_span::Source;
use quick_cache::sync::Cache;
use serde::Serialize;

use super::folder::File;
use crate::args::StrategyArgs;
use crate::config::{licence, read_rules, strategy};
use crate::files::FileError;
use crate::terminal::Failure;

/// So many stories are remembered.
const MAX_STORIES: usize = 32;

/// The columns of errors.
const WIDTH: usize = 90;

/// A file, or why it cannot be read.
type Read = Result<File, FileError>;

/// Stories, each made when it is asked for first.
pub(super) struct Stories {
    args: StrategyArgs,
    made: Cache<String, Arc<Story>>,
}

/// What came of one version of the files.
pub(super) struct Story {
    /// In a few words.
    pub(super) told: Told,
    /// The page, if there is a result.
    pub(super) page: Option<String>,
}

/// A story in a few words.
#[derive(Serialize)]
pub(super) struct Told {
    /// What it is made of, as a hash.
    version: String,
    /// Operations before and after; `None` if something is wrong.
    operations: Option<[u128; 2]>,
    /// The rules that fired, as in reports.
    rules: Option<String>,
    /// The levels that can be chosen: those that come with nestegg, then those of the rule files.
    levels: Vec<String>,
    /// What is wrong, and what may be.
    problems: Vec<Shown>,
}

/// A problem, and how a terminal shows it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    problem: Problem,
    text: String,
}

/// What is wrong; errors come before warnings.
#[derive(Default)]
struct Wrong(Vec<Shown>);

impl Wrong {
    fn add(&mut self, diagnostic: &dyn Diagnostic) {
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
        let mut text = String::new();
        // A text that cannot be drawn is left out; the message says the same.
        let _ = handler.render_report(&mut text, diagnostic);
        // The drawing shows all at once, so it stands under the first.
        self.0
            .extend(problems(diagnostic).into_iter().map(|problem| Shown { problem, text: std::mem::take(&mut text) }));
    }
}

impl Stories {
    /// # Errors
    /// If there is no such level, or the rule files of the command line cannot be read.
    pub(super) fn new(args: StrategyArgs) -> Result<Self, Failure> {
        let res = Self { args, made: Cache::new(MAX_STORIES) };
        strategy(&res.args.level)?;
        read_rules(&res.args.rules)?;
        Ok(res)
    }

    /// The level of the command line.
    pub(super) fn level(&self) -> &str {
        &self.args.level
    }

    /// The name of the story of these files at a level, which is that of the command line if it is empty.
    pub(super) fn version(&self, kernel: &Read, level: &str, rules: &[Read]) -> String {
        let mut hasher = DefaultHasher::new();
        level.hash(&mut hasher);
        for file in [kernel].into_iter().chain(rules) {
            match file {
                Ok(File { source }) => source.hash(&mut hasher),
                Err(error) => error.to_string().hash(&mut hasher),
            }
        }
        match self.given() {
            Ok((strategy, given)) => (format!("{strategy:?}"), given).hash(&mut hasher),
            Err(failure) => format!("{failure:?}").hash(&mut hasher),
        }
        format!("{:016x}", hasher.finish())
    }

    /// The files of the command line, as they are now.
    fn given(&self) -> Result<(Strategy, Vec<Source>), Failure> {
        Ok((strategy(&self.args.level)?, read_rules(&self.args.rules)?))
    }

    /// The story of these files; who asks while it is being made waits for it.
    pub(super) fn of(&self, kernel: &Read, level: &str, rules: &[Read]) -> Arc<Story> {
        let version = self.version(kernel, level, rules);
        let make = || Ok::<_, std::convert::Infallible>(Arc::new(self.make(version.clone(), kernel, level, rules)));
        match self.made.get_or_insert_with(&version, make) {
            Ok(story) => story,
            Err(never) => match never {},
        }
    }

    fn make(&self, version: String, kernel: &Read, level: &str, rules: &[Read]) -> Story {
        let mut wrong = Wrong::default();
        let mut files = Vec::new();
        for file in rules {
            match file {
                Ok(file) => files.push(file.source.clone()),
                Err(error) => wrong.add(error),
            }
        }
        let mut told = Told { version, operations: None, rules: None, levels: Vec::new(), problems: Vec::new() };
        let mut page = None;
        match (self.given(), kernel) {
            (Ok((of_args, given)), Ok(kernel)) => {
                files.splice(0..0, given);
                let strategy = if level.is_empty() { of_args } else { Strategy::Named(level.to_owned()) };
                let book = rules::rule_book(&files);
                let known = book.or_else(|_| rules::rule_book(&[])).unwrap_or_default();
                told.levels = known.strategies.keys().map(ToString::to_string).collect();
                if wrong.0.is_empty() {
                    let config = Config {
                        strategy,
                        rules: files.clone(),
                        float: self.args.float.map(licence),
                        parameters: self.args.parameters.values.clone(),
                        validation: Validation::Explained,
                        traces: true,
                        keeps_lineage: true,
                        ..Config::of_operations()
                    };
                    page = self.run(&kernel.source, &config, &mut told, &mut wrong);
                }
                rules::warnings(&files).iter().for_each(|warning| wrong.add(warning));
            }
            (Err(Failure::Error(_, report)), _) => wrong.add(report.as_ref()),
            (Err(Failure::BrokenPipe), _) => {}
            (_, Err(error)) => wrong.add(error),
        }
        told.problems = wrong.0;
        Story { told, page }
    }

    /// Optimizes, and answers the page.
    fn run(&self, source: &Source, config: &Config, told: &mut Told, wrong: &mut Wrong) -> Option<String> {
        let paged = optimize(source, config).and_then(|optimized| {
            let page = nestegg_lab::page::page(source, config, &optimized)?;
            Ok((page, optimized))
        });
        match paged {
            Ok((page, Optimized { report, .. })) => {
                told.operations = Some([report.before.total, report.after.total]);
                let fired: Vec<String> = report.rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
                told.rules = Some(if fired.is_empty() { "none".to_owned() } else { fired.join(", ") });
                report.failures.iter().filter(|failure| failure.is_bug()).for_each(|failure| wrong.add(failure));
                Some(page)
            }
            Err(error) => {
                wrong.add(&error);
                None
            }
        }
    }
}
