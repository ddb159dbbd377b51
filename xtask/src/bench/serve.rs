//! The server beside Spark's History Server, by `bench/serve.py`.

use super::logs::Log;
use crate::run::{self, script};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Builds the program as it is released and measures.
pub(crate) fn run(log: &Log, spark_home: &Path, runs: usize) -> Result<()> {
    let root = run::root();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run::run(cargo.current_dir(&root).args(["build", "--release", "--locked", "--package", "emberscope"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    run::run(
        script("bench/serve.py")
            .args(["--runs", &runs.to_string()])
            .arg("--log")
            .arg(&log.path)
            .arg("--spark")
            .arg(spark_home)
            .env("EMBERSCOPE", target.join("release/emberscope")),
    )
}
