//! `nestegg explain`: how a result came about.

use nestegg_driver::explain::{Verify, explain};

use crate::args::{DataFormat, ExplainArgs};
use crate::config::of_strategy;
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

/// A value that the result has not.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("`{kernel}` has no value `{name}`")]
#[diagnostic(
    code(nestegg::unknown_value),
    help("without a name, all values are explained: what instructions store, and temporaries")
)]
struct UnknownValue {
    kernel: String,
    name: String,
}

pub fn run(args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let config = of_strategy(&args.strategy)?;
    let source = kernels::read_with(&args.kernel, &args.data)?;
    let verify = if args.verify { Verify::Yes } else { Verify::No };
    let explanation = explain(&source, &config, verify)?;
    let is_wrong = explanation.verified.is_some_and(|verified| verified.wrong > 0);
    let unknown = |name: &str| UnknownValue { kernel: explanation.kernel.clone(), name: name.to_owned() };
    let text = match args.format {
        DataFormat::Text => {
            let value = args.value.as_deref();
            explanation.to_text(value).ok_or_else(|| unknown(value.unwrap_or_default()))?
        }
        DataFormat::Json => {
            let told = match &args.value {
                Some(value) => explanation.clone().only(value).ok_or_else(|| unknown(value))?,
                None => explanation.clone(),
            };
            serde_json::to_string_pretty(&told).expect("text keys and plain values") + "\n"
        }
    };
    terminal::print(&text)?;
    Ok(if is_wrong { ExitStatus::Negative } else { ExitStatus::Done })
}
