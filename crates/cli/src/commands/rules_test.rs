//! `nestegg rules test`: the tests of a folder, and of the folders in it.
//!
//! A test is a kernel with a line such as `# rules: fires=NAME`; the rule files beside it run too. Its result is compared with the
//! snapshot `NAME.expect`; a snapshot without its kernel fails. The exit status is 1 if a test fails. With `--update`, snapshots are
//! written anew, and only what a kernel itself says can fail.

use std::fs;
use std::path::{Path, PathBuf};

use nestegg_lab::snapshot::{self, Expected};
use rayon::prelude::*;

use crate::args::RulesTestArgs;
use crate::config::UsageError;
use crate::exit::ExitStatus;
use crate::files::{self, Output};
use crate::terminal::{self, Failure};

/// The ending of snapshots.
const SNAPSHOT: &str = "expect";

/// What became of one kernel.
struct Row {
    path: PathBuf,
    /// What is wrong, each in a sentence; or an error.
    wrong: Result<Vec<String>, Failure>,
    /// The snapshot to be written, where it is another one.
    snapshot: Option<String>,
}

pub fn run(args: &RulesTestArgs) -> Result<ExitStatus, Failure> {
    let kernels = with_ending(&args.folder, "knl");
    if kernels.is_empty() {
        return Err(UsageError::NoTests { path: args.folder.display().to_string() }.into());
    }
    let one = |path: &PathBuf| match test(path, args.update) {
        Ok((wrong, snapshot)) => Row { path: path.clone(), wrong: Ok(wrong), snapshot },
        Err(failure) => Row { path: path.clone(), wrong: Err(failure), snapshot: None },
    };
    let rows: Vec<Row> = kernels.par_iter().map(one).collect();
    let stale: Vec<PathBuf> = with_ending(&args.folder, SNAPSHOT)
        .into_iter()
        .filter(|snapshot| !snapshot.with_extension("knl").exists())
        .collect();
    let mut status = if stale.is_empty() { ExitStatus::Done } else { ExitStatus::Negative };
    let mut text = String::new();
    let (mut n_failed, mut outputs) = (0, Vec::new());
    for Row { path, wrong, snapshot } in rows {
        let name = path.display();
        let wrong = match wrong {
            Ok(wrong) => wrong,
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(Failure::Error(_, report)) => {
                terminal::show(&report);
                vec![report.to_string()]
            }
        };
        if !wrong.is_empty() {
            n_failed += 1;
            status = ExitStatus::Negative;
            text.push_str(&format!("{name}: FAILED\n"));
            wrong.iter().for_each(|reason| text.push_str(&format!("  {reason}\n")));
        }
        outputs.extend(snapshot.map(|text| Output { path: path.with_extension(SNAPSHOT), text }));
    }
    for path in stale {
        text.push_str(&format!("{}: FAILED\n  it is a snapshot of no kernel; remove it\n", path.display()));
    }
    let n = kernels.len();
    text.push_str(&format!(
        "{n} {}: {} passed, {n_failed} failed",
        if n == 1 { "test" } else { "tests" },
        n - n_failed
    ));
    let n_written = outputs.len();
    if args.update {
        files::write_all(&outputs)?;
        text.push_str(&format!("; {n_written} {} written", if n_written == 1 { "snapshot" } else { "snapshots" }));
    }
    terminal::print(&(text + "\n"))?;
    Ok(status)
}

/// Runs one test: what is wrong with it, and its snapshot if that is not the one on disk.
fn test(path: &Path, is_update: bool) -> Result<(Vec<String>, Option<String>), Failure> {
    let source = files::read(path)?;
    let expected = match Expected::read(&source.text) {
        Ok(expected) => expected,
        Err(error) => return Ok((vec![error.to_string()], None)),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut rules = Vec::new();
    for file in files::in_folder(folder, "rules")? {
        rules.push(files::read(&file)?);
    }
    let snapshot::Outcome { snapshot, mut wrong } = snapshot::run(&source, &rules, &expected)?;
    let known = fs::read_to_string(path.with_extension(SNAPSHOT)).ok();
    let is_new = known.as_ref() != Some(&snapshot);
    if is_new && !is_update {
        wrong.push(match known {
            None => "it has no snapshot; `--update` writes one".to_owned(),
            Some(known) => {
                let what =
                    snapshot::difference(&known, &snapshot).unwrap_or_else(|| "the ends of lines differ".to_owned());
                format!("{what}; `--update` writes it anew")
            }
        });
    }
    Ok((wrong, Some(snapshot).filter(|_| is_new)))
}

/// The files below a folder with that ending, sorted.
fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let paths = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}
