//! `cargo xtask ui`: the page that runs in the browser, built where the server finds it.

use crate::run::{release, root, run as run_command};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Check and test it too: types, layout maths, and every view in Chromium
    #[arg(long)]
    test: bool,
}

impl Args {
    /// Built and tested.
    pub(crate) fn tested() -> Args {
        Args { test: true }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let place = root().join("ui");
    if !is_installed(&place) {
        run_command(npm(&place).arg("ci"))?;
    }
    run_command(npm(&place).args(["run", if args.test { "test" } else { "build" }]))
}

/// Whether the packages are those of the lock file: npm writes its own copy of it last.
/// Exported traces in the trace viewer of Chrome.
pub(crate) fn open_traces() -> Result<()> {
    let place = root().join("ui");
    if !is_installed(&place) {
        run_command(npm(&place).arg("ci"))?;
    }
    let mut logs: Vec<PathBuf> = std::fs::read_dir(root().join("fixtures/logs"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().contains("-4.3.0"))
        .collect();
    logs.sort();
    let mut node = Command::new("node");
    node.current_dir(&place).arg("scripts/trace_viewer.mjs").args(logs);
    run_command(node.env("EMBERSCOPE_BIN", release()?))
}

fn is_installed(place: &Path) -> bool {
    let changed = |name: &str| -> Option<SystemTime> { place.join(name).metadata().ok()?.modified().ok() };
    changed("node_modules/.package-lock.json")
        .zip(changed("package-lock.json"))
        .is_some_and(|(is, ought)| is >= ought)
}

fn npm(place: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(place);
    command
}
