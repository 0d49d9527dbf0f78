//! Runs every filetest: `tests/<command>/*.knl`, and the kernels in `tests/error/` that are no text.
//!
//! A file's header says which commands run on it ([`nestegg_tests::header`]); what they answer is compared with the
//! `.snap` file beside it. A `.snap` without its kernel, or of a kernel whose commands answer nothing, fails the run.
//! To write the snapshots anew: `INSTA_UPDATE=always cargo test --release -p nestegg-tests --test filetests`.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_span::Source;
use nestegg_tests::header::{self, TestCommand};
use nestegg_tests::{commands, files, root};

/// Kernels with errors need not be text that can hold a header; the folder says what is run.
const ERROR_FOLDER: &str = "error";

fn main() {
    let arguments = Arguments::from_args();
    let folder = root().join("tests");
    let tested = tested_files(&folder);
    let mut trials: Vec<Trial> = tested
        .iter()
        .map(|path| {
            let (folder, path) = (folder.clone(), path.clone());
            Trial::test(trial_name(&folder, &path), move || run(&folder, &path))
        })
        .collect();
    trials.push(Trial::test("snapshots_belong_to_kernels", move || no_stale_snapshots(&folder, &tested)));
    libtest_mimic::run(&arguments, trials).exit();
}

fn tested_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder, &["knl"]);
    found.extend(files(&folder.join(ERROR_FOLDER), &["json"]));
    found
}

/// `convert/weighted_mass`; errors in JSON keep their ending, for a `.knl` of the same name may be there too.
fn trial_name(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
    name.strip_suffix(".knl").map(str::to_owned).unwrap_or(name)
}

fn run(folder: &Path, path: &Path) -> Result<(), Failed> {
    let bytes = fs::read(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (source, commands) = match Source::from_bytes(name.as_str(), &bytes) {
        Ok(source) if name.ends_with(".knl") => {
            let commands = header::parse(&source.text)?;
            (source, commands)
        }
        Ok(source) => (source, vec![check_command()]),
        Err(error) => (error.source, vec![check_command()]),
    };
    let mut sections = Vec::new();
    for command in &commands {
        let answer =
            commands::run(command, &source, &bytes).map_err(|error| format!("{}: {error}", command.title()))?;
        if let Some(answer) = answer {
            sections.push(if commands.len() == 1 { answer } else { format!("## {}\n{answer}", command.title()) });
        }
    }
    if !sections.is_empty() {
        compare(folder, path, &sections.join("\n"))?;
    }
    Ok(())
}

fn check_command() -> TestCommand {
    TestCommand { name: "check".to_owned(), options: Default::default() }
}

fn compare(folder: &Path, path: &Path, text: &str) -> Result<(), Failed> {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(path.parent().unwrap_or(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.remove_input_file();
    let name = snapshot_name(path);
    let res = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        settings.bind(|| insta::assert_snapshot!(name, text));
    }));
    res.map_err(|_| Failed::from("the snapshot differs; see above"))
}

fn snapshot_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".knl").unwrap_or(&name).to_owned()
}

fn no_stale_snapshots(folder: &Path, tested: &[PathBuf]) -> Result<(), Failed> {
    let wanted: Vec<PathBuf> = tested.iter().map(|path| path.with_file_name(snapshot_name(path) + ".snap")).collect();
    let stale: Vec<String> = files(folder, &["snap"])
        .into_iter()
        .filter(|snap| !wanted.contains(snap) || !answers_something(snap, tested, &wanted))
        .map(|snap| trial_name(folder, &snap))
        .collect();
    if stale.is_empty() { Ok(()) } else { Err(format!("snapshots of nothing: {}", stale.join(", ")).into()) }
}

/// Whether the kernel of a snapshot has a command that answers something.
fn answers_something(snap: &Path, tested: &[PathBuf], wanted: &[PathBuf]) -> bool {
    let Some(idx) = wanted.iter().position(|path| path == snap) else { return false };
    let Ok(text) = fs::read_to_string(&tested[idx]) else { return true };
    match header::parse(&text) {
        Ok(commands) => commands.iter().any(|command| commands::answers(&command.name)),
        Err(_) => true,
    }
}
