//! `cargo xtask fixtures`: the committed logs, made again by real Spark.

use crate::run::{run as run_command, script};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A fixture, or the start of its name; all when left out
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Compare the committed logs with the manifest, and make nothing
    #[arg(long, conflicts_with = "only")]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check {
        return check();
    }
    let names = args.only.iter().flat_map(|name| ["--only", name]);
    run_command(script("fixtures/make.py").args(names))
}

/// Compares the committed logs with the manifest.
pub(crate) fn check() -> Result<()> {
    run_command(&mut script("fixtures/check.py"))
}
