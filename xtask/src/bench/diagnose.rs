//! What `diagnose` costs beside `summary` on the same log.

use super::logs::Log;
use super::ours::Program;
use super::report::{median, verdict};
use super::usage::{self, Usage};
use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `diagnose` may add to `summary`, as a share of its CPU time.
const MAY_ADD: f64 = 0.3;

/// Measures both in turns.
pub(super) fn run(log: &Log, program: &Program, runs: usize) -> Result<()> {
    let (mut summary, mut diagnose) = (Vec::new(), Vec::new());
    for n in 1..=runs {
        summary.push(super::told("summary", n, program.measure(log)?));
        diagnose.push(super::told("diagnose", n, measure(log, program)?));
    }
    let added = |of: fn(&Usage) -> f64| median(&diagnose, of) / median(&summary, of) - 1.0;
    let (wall, cpu) = (added(|run| run.wall_s), added(|run| run.cpu_s));
    // Plans are parsed lazily by a summary: their analysis may cost as much again.
    let goal = if log.counts.tasks >= 100_000 { MAY_ADD } else { 1.0 };
    let text = format!(
        "diagnose adds {:.0} % CPU and {:.0} % wall time to summary, goal {:.0} % CPU",
        cpu * 100.0,
        wall * 100.0,
        goal * 100.0
    );
    println!("{}", verdict(log.name, cpu <= goal, &text));
    Ok(())
}

fn measure(log: &Log, program: &Program) -> Result<Usage> {
    let mut command = Command::new(program.path());
    command.args(["diagnose", "--format", "json"]).arg(&log.path).stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.path().display()))?;
    let (usage, status) = usage::finish(&mut child, started, None)?;
    if !status.success() {
        bail!("{} diagnose: {status}", program.path().display());
    }
    Ok(usage)
}
