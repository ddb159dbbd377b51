//! `cargo xtask fuzz`: runs the fuzz targets for a while and keeps small corpora.
//!
//! Corpora are committed (`fuzz/corpus/<target>`), and the tests of `emberscope-log` replay them on a
//! stable compiler, so what fuzzing reached once stays reached in CI.

mod seeds;

use crate::run::{self, output, run as run_command};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds for each target when not told otherwise.
pub(crate) const DEFAULT_SECONDS: u64 = 600;
/// Bytes that the corpus of one target may have.
const CORPUS_BYTES: u64 = 200_000;
/// A line of a task end is about 6 kB.
const INPUT_BYTES: u64 = 16_384;
/// A single input that takes longer is a finding.
const INPUT_SECONDS: u64 = 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds to run each target
    #[arg(long, default_value_t = DEFAULT_SECONDS)]
    seconds: u64,
    /// A target; all when left out
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,
    /// The sanitizer; `none` is faster, and finds all that safe code can do wrong
    #[arg(long, default_value = "address")]
    sanitizer: String,
}

impl Args {
    /// All targets for so many seconds each.
    pub(crate) fn of_seconds(seconds: u64) -> Args {
        Args { seconds, only: Vec::new(), sanitizer: "address".to_owned() }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    install()?;
    let targets = targets()?;
    if let Some(unknown) = args.only.iter().find(|name| !targets.contains(name)) {
        bail!("no target {unknown}; there are {}", targets.join(", "));
    }
    let mut failed = Vec::new();
    for target in targets.iter().filter(|name| args.only.is_empty() || args.only.contains(name)) {
        println!("== {target}");
        let corpus = run::root().join("fuzz/corpus").join(target);
        fs::create_dir_all(&corpus)?;
        // Seeds are pieces of the fixtures: a second corpus, which is read and not kept.
        let seeds = tempfile::tempdir().context("a place for seeds")?;
        seeds::plant(target, seeds.path())?;
        let limits = [
            format!("-max_total_time={}", args.seconds),
            format!("-max_len={INPUT_BYTES}"),
            format!("-timeout={INPUT_SECONDS}"),
        ];
        let mut command = cargo_fuzz("run");
        command.args(["--sanitizer", &args.sanitizer, target]);
        command.arg(&corpus).arg(seeds.path()).arg("--").args(limits);
        if let Err(error) = run_command(&mut command) {
            // The reproducer is in `fuzz/artifacts`; the other targets are still of interest.
            println!("{target}: {error:#}");
            failed.push(target.as_str());
            continue;
        }
        run_command(cargo_fuzz("cmin").args(["--sanitizer", &args.sanitizer, target]))?;
        let (kept, bytes) = shrink(&corpus)?;
        println!("{target}: {kept} inputs, {bytes} bytes kept");
    }
    if !failed.is_empty() {
        bail!("crashes in {}; see fuzz/artifacts", failed.join(", "));
    }
    Ok(())
}

fn cargo_fuzz(command: &str) -> Command {
    let mut cargo = nightly_cargo();
    cargo.args(["fuzz", command]);
    cargo
}

fn nightly_cargo() -> Command {
    let mut cargo = Command::new("rustup");
    cargo.current_dir(run::root()).args(["run", "nightly", "cargo"]);
    cargo
}

/// Installs the nightly compiler and `cargo-fuzz` where they are missing.
fn install() -> Result<()> {
    let works = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    if !works(nightly_cargo().arg("--version")) {
        run_command(Command::new("rustup").args([
            "toolchain",
            "install",
            "nightly",
            "--profile",
            "minimal",
        ]))?;
    }
    if !works(nightly_cargo().args(["fuzz", "--version"])) {
        run_command(Command::new("cargo").args(["install", "--locked", "cargo-fuzz"]))?;
    }
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    Ok(output(&mut cargo_fuzz("list"))?.lines().map(|line| line.trim().to_owned()).collect())
}

/// The files of a corpus with their sizes.
fn files(corpus: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = fs::read_dir(corpus).with_context(|| format!("cannot list {}", corpus.display()))?;
    entries
        .map(|entry| Ok((entry.as_ref().map_or(0, |e| e.metadata().map_or(0, |m| m.len())), entry?.path())))
        .collect()
}

/// Removes the largest inputs until the rest is small enough for the repository.
fn shrink(corpus: &Path) -> Result<(usize, u64)> {
    let mut files = files(corpus)?;
    files.sort();
    let mut bytes: u64 = files.iter().map(|(len, _)| len).sum();
    while bytes > CORPUS_BYTES
        && let Some((len, path)) = files.pop()
    {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        bytes -= len;
    }
    Ok((files.len(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_inputs_go_first() {
        let place = tempfile::tempdir().unwrap();
        for (name, len) in [("a", 150_000), ("b", 90_000), ("c", 5)] {
            fs::write(place.path().join(name), vec![0; len]).unwrap();
        }
        assert_eq!(shrink(place.path()).unwrap(), (2, 90_005));
    }
}
