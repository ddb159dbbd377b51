//! SQL over many runs: Emberscope, Spark and DuckDB on the same files, by `bench/sql.py`.

use crate::run::{self, script};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Builds both programs as they are released and measures.
pub(crate) fn run(bench: &Path, runs: usize) -> Result<()> {
    let root = run::root();
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run::run(cargo().current_dir(&root).args(["build", "--release", "--locked", "--package", "emberscope"]))?;
    let of_sql = run::cache()?.join("target-sql");
    let manifest = root.join("sql/Cargo.toml");
    run::run(
        cargo()
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(manifest)
            .env("CARGO_TARGET_DIR", &of_sql),
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let cache = bench.parent().context("the directory of the benchmark")?;
    run::run(
        script("bench/sql.py")
            .args(["--runs", &runs.to_string()])
            .arg("--cache")
            .arg(cache)
            .env("EMBERSCOPE", target.join("release/emberscope"))
            .env("EMBERSCOPE_SQL", of_sql.join("release/emberscope-sql")),
    )
}
