//! Progress bars, for people who wait.

use indicatif::{ProgressBar, ProgressStyle};
use miette::IntoDiagnostic;

/// A bar of so many steps.
pub fn bar(what: &'static str, len: usize) -> miette::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}").into_diagnostic()?;
    Ok(ProgressBar::new(len as u64).with_style(style).with_message(what))
}
