//! `cargo xtask companion`: builds what Spark loads, and runs it on real Spark.

use crate::run::{root, run as run_command, script};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Spark 3.4, 3.5 and 4.3, local and a cluster, instead of the short part that CI runs
    #[arg(long)]
    full: bool,
    /// Measure what it costs on a job of 50,000 short tasks
    #[arg(long, conflicts_with = "full")]
    overhead: bool,
}

impl Args {
    /// Everything but the measurement.
    pub(crate) fn of_all() -> Self {
        Args { full: true, overhead: false }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run_command(Command::new(cargo).current_dir(&root).args(["build", "--release", "-p", "emberscope"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    run_command(&mut Command::new(root.join("jvm/build.sh")))?;
    let mut tests = script("jvm/tests/companion.py");
    tests.arg("--binary").arg(target.join("release/emberscope"));
    tests.arg("--jar").arg(root.join("jvm/target/emberscope-spark.jar"));
    tests.args(args.full.then_some("--full")).args(args.overhead.then_some("--overhead"));
    run_command(&mut tests)
}
