//! `cargo xtask referee`: what Spark's own History Server says about the fixtures, recorded again.

use crate::run::{run as run_command, script};
use anyhow::Result;

#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// A fixture, or the start of its name; all when left out
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let names = args.only.iter().flat_map(|name| ["--only", name]);
    run_command(script("referee/history_server.py").args(names))?;
    run_command(&mut script("referee/compare.py"))
}
