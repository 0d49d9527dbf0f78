//! `nestegg rules why-not`: why a rule does not fire on a kernel.

use nestegg_lab::why_not::why_not;

use crate::args::RulesWhyNotArgs;
use crate::commands::rules::UnknownName;
use crate::config::of_strategy;
use crate::exit::ExitStatus;
use crate::kernels;
use crate::terminal::{self, Failure};

pub fn run(args: &RulesWhyNotArgs) -> Result<ExitStatus, Failure> {
    let config = of_strategy(&args.strategy)?;
    let source = kernels::read(&args.kernel)?;
    let Some(answer) = why_not(&source, &config, &args.rule)? else {
        return Err(UnknownName { name: args.rule.clone() }.into());
    };
    terminal::print(&answer.text)?;
    Ok(ExitStatus::Done)
}
