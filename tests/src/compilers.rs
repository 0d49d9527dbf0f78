//! The C compilers of this machine.

use std::fs;
use std::process::Command;

/// Compilers that emitted C must pass without a warning; those that are not there are left out, but one must be.
const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// What "without a warning" means.
const FLAGS: [&str; 6] = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];

/// Checks that every compiler takes the text of a source (`c`) or header (`h`).
///
/// # Errors
/// What the first compiler that does not take it says; or that there is no compiler.
pub fn accept(extension: &str, text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("kernel").with_extension(extension);
    fs::write(&path, text).map_err(|error| error.to_string())?;
    let mut is_compiled = false;
    for compiler in COMPILERS {
        let Ok(output) = Command::new(compiler).args(FLAGS).args(["-x", "c"]).arg(&path).output() else { continue };
        if !output.status.success() {
            return Err(format!("{compiler} says:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        is_compiled = true;
    }
    if is_compiled { Ok(()) } else { Err("there is neither gcc nor clang".to_owned()) }
}
