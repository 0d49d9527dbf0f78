//! The tests of the Python package: `python/test` makes an environment with pinned packages and runs them there.
//!
//! They get the extension module that Cargo built for this test, and random kernels with data that are safe to run them on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use indexmap::IndexMap;
use nestegg_dump::write_json;
use nestegg_interp::{Inputs, Values};
use nestegg_testgen::{Generated, Knobs, generate_seed};
use serde_json::{Value, json};

/// Random kernels of each kind where nobody asks for more; `NESTEGG_LOOPY_SEEDS` does.
const N_SEEDS: u64 = 6;

/// Sets of data for each of them.
const N_DATA: u64 = 2;

#[test]
fn python_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is there");
    let target = target();
    let kernels = target.join("python/random");
    write_kernels(&kernels);
    let name = format!("{}nestegg_core{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let status = Command::new(root.join("python/test"))
        .env("NESTEGG_CORE", extension(&target, &name))
        .env("NESTEGG_ENVIRONMENT", target.join("python/environment"))
        .env("NESTEGG_RANDOM_KERNELS", &kernels)
        .status()
        .expect("`python/test` is a program");
    assert!(status.success(), "the tests of the Python package failed");
}

/// The folder that Cargo builds into.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("a test knows where it is");
    // target/PROFILE/deps/python-HASH
    program.ancestors().nth(3).expect("tests are three folders below").to_owned()
}

/// The extension module that belongs to this test: the newest one.
fn extension(target: &Path, name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a test knows where it is");
    let profile = program.ancestors().nth(2).expect("tests are two folders below");
    let built = profile.join("deps").join(name);
    assert!(built.exists(), "{} is not in {}", name, target.display());
    built
}

/// Writes random kernels, each in a file with the values of its parameters and sets of arguments.
fn write_kernels(folder: &Path) {
    let n_seeds = std::env::var("NESTEGG_LOOPY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(N_SEEDS);
    if folder.exists() {
        fs::remove_dir_all(folder).expect("an old folder can be removed");
    }
    fs::create_dir_all(folder).expect("a folder can be made");
    for (kind, knobs) in Knobs::presets() {
        for seed in 0..n_seeds {
            let generated = generate_seed(seed, &knobs);
            let text = with_data(&generated).to_string();
            fs::write(folder.join(format!("{kind}_{seed}.json")), text).expect("a file can be written");
        }
    }
}

fn with_data(Generated { program, parameters, .. }: &Generated) -> Value {
    let kernel = program.kernel();
    let values: IndexMap<String, i64> = parameters.iter().cloned().collect();
    let data: Vec<Value> = (0..N_DATA)
        .filter_map(|seed| Inputs::random(kernel, &values, seed).ok())
        .map(|inputs| inputs.arrays.iter().map(|(name, values)| (name.clone(), numbers(values))).collect())
        .collect();
    json!({ "kernel": write_json(program), "sizes": values, "data": data })
}

fn numbers(values: &Values) -> Value {
    match values {
        Values::Floats(numbers) => json!(numbers),
        Values::Ints(numbers) => json!(numbers),
    }
}
