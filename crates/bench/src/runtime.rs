//! stub
use crate::CommonArgs;
use clap::Args;
/// stub
#[derive(Debug, Args)]
pub struct RuntimeArgs {
    #[command(flatten)]
    common: CommonArgs,
}
/// stub
pub fn run(_args: &RuntimeArgs) -> miette::Result<String> {
    Ok(String::new())
}
