//! All folded stacks of a recording by Emberscope, and what the JDK's own reader takes for the same file.

use super::ours::Program;
use super::report::{median, verdict};
use super::usage::{self, Usage};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many times less CPU than printing the events all stacks are to take.
const GOAL: f64 = 10.0;

/// Measures both in turns.
pub(super) fn run(recording: &Path, runs: usize) -> Result<()> {
    let Ok(bytes) = std::fs::read(recording) else {
        println!("jfr: not measured, there is no recording at {}", recording.display());
        return Ok(());
    };
    println!("== recording of {:.1} MB", bytes.len() as f64 / 1e6);
    let program = Program::build()?;
    let (mut ours, mut printed, mut summed) = (Vec::new(), Vec::new(), Vec::new());
    for n in 1..=runs {
        let mut flame = Command::new(program.path());
        flame.args(["flame", "--format", "folded", "--event", "wall", "--quiet"]).arg(recording);
        ours.push(super::told("folded stacks", n, measure(flame)?));
        let mut print = Command::new("jfr");
        print.args(["print", "--json", "--stack-depth", "2048", "--events"]);
        print.arg("profiler.WallClockSample").arg(recording);
        printed.push(super::told("jfr print", n, measure(print)?));
        let mut summary = Command::new("jfr");
        summary.arg("summary").arg(recording);
        summed.push(super::told("jfr summary", n, measure(summary)?));
    }
    let cpu = |of: &[Usage]| median(of, |run| run.cpu_s);
    let (print, summary) = (cpu(&printed) / cpu(&ours), cpu(&summed) / cpu(&ours));
    let text = format!(
        "all stacks in {:.3} s of CPU: {print:.1} times less than `jfr print` of the same events, \
         {summary:.1} times less than `jfr summary`; goal {GOAL:.0} times less than `jfr print`",
        cpu(&ours)
    );
    println!("{}", verdict("jfr", print >= GOAL, &text));
    Ok(())
}

fn measure(mut command: Command) -> Result<Usage> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let name = command.get_program().to_owned();
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", name.display()))?;
    let (usage, status) = usage::finish(&mut child, started, None)?;
    if !status.success() {
        bail!("{}: {status}", name.display());
    }
    Ok(usage)
}
