//! What is kept of a run: every text that can be asked for, and the story.

use std::collections::BTreeMap;

use nestegg_driver::batch::BatchRequest;
use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::emit;
use nestegg_driver::report::Report;
use nestegg_driver::{Notation, Optimized};
use nestegg_ir::Program;
use nestegg_span::Source;
use serde::{Deserialize, Serialize};

use crate::folder::{Cache, Fetched, Patience};
use crate::key::{Key, KeyWriter};

/// A result with its story.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// What the input was called, which only what went wrong on the way says again.
    file: String,
    /// The kernel in the text form.
    pub text: String,
    /// The kernel in JSON.
    pub json: String,
    /// The C source and its header, or why there is none.
    pub c: Result<[String; 2], String>,
    /// The story.
    pub report: Report,
    /// What else was asked for, by what it is: the key says so.
    pub extras: BTreeMap<String, String>,
}

impl Kept {
    /// Everything of a result.
    #[must_use]
    pub fn new(source: &Source, optimized: &Optimized, extras: BTreeMap<String, String>) -> Self {
        Self {
            file: source.name.to_string(),
            text: emit::text(optimized.runs()).text,
            json: emit::dump(optimized.runs()).text,
            c: c_of(optimized),
            report: optimized.report.clone(),
            extras,
        }
    }

    /// The result of that key, kept or made; see [`Cache::fetch`].
    ///
    /// # Errors
    /// What `make` answers.
    pub fn fetch<E>(
        cache: &Cache,
        key: &Key,
        source: &Source,
        patience: Patience<'_>,
        make: impl FnOnce() -> Result<Self, E>,
    ) -> Result<Fetched<Self>, E> {
        let decode = |bytes: &[u8]| {
            let kept: Self = ciborium::from_reader(bytes).ok()?;
            // What went wrong on the way is told with the name of the file.
            (kept.report.failures.is_empty() || *kept.file == *source.name).then_some(kept)
        };
        let encode = |kept: &Self| {
            let mut bytes = Vec::new();
            ciborium::into_writer(kept, &mut bytes).ok().map(|()| bytes)
        };
        cache.fetch(key, patience, decode, encode, make)
    }
}

/// The C source of a result and its header, or why there is none.
///
/// # Errors
/// What C has no words for, in words.
pub fn c_of(optimized: &Optimized) -> Result<[String; 2], String> {
    let products = emit::c(optimized).map_err(|error| in_words(&error))?;
    let of = |is_companion: bool| {
        let found = products.iter().find(|product| product.is_companion == is_companion);
        found.map(|product| product.text.clone()).unwrap_or_default()
    };
    Ok([of(false), of(true)])
}

/// An error with its causes.
fn in_words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_words(cause)),
        None => error.to_string(),
    }
}

/// The key of a run on a kernel: the kernel, not how it was spelled, and everything in the configuration that a result depends on. `more` says
/// what else is kept.
#[must_use]
pub fn key_of_run(program: &Program, config: &Config, more: &[(&str, &str)]) -> Key {
    // Without `..`: a new field has to say here whether results depend on it.
    let Config {
        strategy,
        rules,
        float,
        traps,
        cost,
        machine,
        machine_name,
        parameters,
        max_statements,
        memory,
        validation,
        judged,
        accuracy,
        batch,
        openmp,
        memory_probe: _,
        watcher: _,
        traces,
        keeps_lineage,
    } = config;
    let mut key = KeyWriter::of_this_program();
    key.field("kernel", &Notation::Json.write(program));
    match strategy {
        Strategy::Named(name) => key.field("strategy", name),
        Strategy::InFile(source) => file(&mut key, "strategy file", source),
        Strategy::NamedInFile(source, name) => {
            file(&mut key, "strategy file", source);
            key.field("strategy", name);
        }
    }
    rules.iter().for_each(|source| file(&mut key, "rules", source));
    key.field("float", &format!("{float:?}"));
    key.field("traps", &format!("{traps:?}"));
    key.field("cost", &format!("{cost:?}"));
    key.field("machine", &machine.to_text());
    key.field("machine name", machine_name);
    parameters.iter().for_each(|(name, value)| key.field(&format!("parameter {name}"), &value.to_string()));
    key.field("max statements", &format!("{max_statements:?}"));
    key.field("memory", &format!("{memory:?}"));
    key.field("validation", &format!("{validation:?} {judged:?}"));
    key.field("accuracy", &format!("{:?}", accuracy.map(f64::to_bits)));
    if let Some(BatchRequest { width, shared, layout }) = batch {
        key.field("batch", &format!("{width:?} {layout:?}"));
        shared.iter().for_each(|name| key.field("shared", name));
    }
    key.field("openmp", &openmp.to_string());
    key.field("traces", &format!("{traces} {keeps_lineage}"));
    more.iter().for_each(|(name, value)| key.field(&format!("more {name}"), value));
    key.finish()
}

fn file(key: &mut KeyWriter, what: &str, source: &Source) {
    key.field(what, &source.name);
    key.field("text", &source.text);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const KERNEL: &str = "\
kernel twice
domain { [i] : 0 <= i < 4 }
arg A : float64[4] write
arg B : float64[4] read
for i
  A[i] = 2*B[i] + B[i]
end
";

    fn read(text: &str) -> (Source, Program) {
        let source = Source::new("twice.knl", text);
        let read = nestegg_driver::read(&source).unwrap_or_else(|error| panic!("{error:?}"));
        (source, read.program)
    }

    #[test]
    fn keys_are_of_kernels_and_options() {
        let (_, program) = read(KERNEL);
        let (_, respelled) = read(&KERNEL.replace("2*B[i] + B[i]", "( 2 * B[i] ) + B[i]"));
        let (_, other) = read(&KERNEL.replace("2*B", "3*B"));
        let config = Config::default();
        let key = key_of_run(&program, &config, &[]);
        assert_eq!(key, key_of_run(&respelled, &config, &[]));
        let different = [
            key_of_run(&other, &config, &[]),
            key_of_run(&program, &Config { strategy: Strategy::Named("O2".to_owned()), ..Config::default() }, &[]),
            key_of_run(&program, &Config { rules: vec![Source::new("a.rules", "")], ..Config::default() }, &[]),
            key_of_run(&program, &Config { parameters: vec![("n".to_owned(), 3)], ..Config::default() }, &[]),
            key_of_run(&program, &Config { accuracy: Some(f64::INFINITY), ..Config::default() }, &[]),
            key_of_run(&program, &config, &[("tuned", "2")]),
        ];
        assert!(different.iter().all(|other| *other != key), "{different:?}");
    }

    #[test]
    fn what_is_kept_is_what_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let (source, program) = read(KERNEL);
        let config = Config::default();
        let key = key_of_run(&program, &config, &[]);
        let fetch = |make: &dyn Fn() -> Kept| {
            let made = || Ok::<_, Infallible>(make());
            let fetched = Kept::fetch(&cache, &key, &source, Patience::Wait(&|| ()), made).unwrap();
            match fetched {
                Fetched::Made(kept) => (kept, false),
                Fetched::Kept(kept) => (kept, true),
                Fetched::Busy => panic!("nobody else works here"),
            }
        };
        let make = || {
            let optimized = nestegg_driver::optimize(&source, &config).unwrap_or_else(|error| panic!("{error:?}"));
            let mut kept = Kept::new(&source, &optimized, BTreeMap::from([("trace".to_owned(), "a\nb".to_owned())]));
            // Figures that JSON has no words for.
            if let Some(family) = kept.report.accuracy.as_mut().and_then(|accuracy| accuracy.families.first_mut()) {
                family.ratio = f64::INFINITY;
            }
            kept
        };
        let (made, was_kept) = fetch(&make);
        assert!(!was_kept);
        let (kept, was_kept) = fetch(&|| panic!("it is kept"));
        assert!(was_kept);
        assert_eq!(format!("{made:?}"), format!("{kept:?}"));
        assert_eq!(made.report.to_json(), kept.report.to_json());
    }
}
