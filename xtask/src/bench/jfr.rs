//! All folded stacks of a recording by Emberscope, by another reader in Rust, and what the JDK's own takes for the
//! same file.

use super::ours::Program;
use super::report::{median, verdict};
use super::usage::{self, Usage};
use crate::run;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many times less CPU than printing the events all stacks are to take.
const GOAL: f64 = 10.0;
/// Size of the large recording.
const LARGE_BYTES: u64 = 1_000_000_000;
/// Memory that it may take.
const LARGE_MEMORY: u64 = 200_000_000;
/// Offsets of numbers in a chunk's header.
const SIZE: usize = 8;
const START_NS: usize = 32;
const DURATION_NS: usize = 40;

/// Measures both in turns.
pub(super) fn run(recording: &Path, runs: usize) -> Result<()> {
    let Ok(bytes) = std::fs::read(recording) else {
        println!("jfr: not measured, there is no recording at {}", recording.display());
        return Ok(());
    };
    println!("== recording of {:.1} MB", bytes.len() as f64 / 1e6);
    let program = Program::build()?;
    let other = other_reader()?;
    let (mut ours, mut theirs, mut printed, mut summed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for n in 1..=runs {
        let mut flame = Command::new(program.path());
        flame.args(["flame", "--format", "folded", "--event", "wall", "--quiet"]).arg(recording);
        ours.push(super::told("folded stacks", n, measure(flame)?));
        let mut folded = Command::new(&other);
        folded.arg(recording);
        theirs.push(super::told("jfrs", n, measure(folded)?));
        let mut print = Command::new("jfr");
        print.args(["print", "--json", "--stack-depth", "2048", "--events"]);
        print.arg("profiler.WallClockSample").arg(recording);
        printed.push(super::told("jfr print", n, measure(print)?));
        let mut summary = Command::new("jfr");
        summary.arg("summary").arg(recording);
        summed.push(super::told("jfr summary", n, measure(summary)?));
    }
    let cpu = |of: &[Usage]| median(of, |run| run.cpu_s);
    let times = |of: &[Usage]| cpu(of) / cpu(&ours);
    let print = times(&printed);
    let text = format!(
        "all stacks in {:.3} s of CPU: {print:.1} times less than `jfr print` of the same events, \
         {:.1} times less than `jfr summary`, {:.1} times less than `jfrs`; goal {GOAL:.0} times less than `jfr print`",
        cpu(&ours),
        times(&summed),
        times(&theirs)
    );
    println!("{}", verdict("jfr", print >= GOAL, &text));
    large(&program, &bytes)
}

/// The program that folds a recording with the crate `jfrs`.
fn other_reader() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(run::root());
    run::run(build.args(["build", "--release", "-p", "emberscope-jfr", "--example", "other_reader"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| run::root().join("target"), PathBuf::from);
    Ok(target.join("release/examples/other_reader"))
}

/// The same chunks again and again, each later than the one before, must not take more memory than a few.
fn large(program: &Program, bytes: &[u8]) -> Result<()> {
    let place = tempfile::tempdir().context("no directory for the large recording")?;
    let file = place.path().join("profile-exec-1.jfr");
    let size = write_repeated(bytes, LARGE_BYTES, &file)?;
    println!("== recording of {:.2} GB, the same chunks at later times", size as f64 / 1e9);
    for form in ["folded", "json"] {
        let mut flame = Command::new(program.path());
        flame.args(["flame", "--event", "wall", "--quiet", "--format", form]).arg(&file);
        let used = super::told(form, 1, measure(flame)?);
        let text = format!(
            "{form}: {:.2} GB/s of CPU, {:.0} MB at most; goal {:.0} MB",
            size as f64 / 1e9 / used.cpu_s,
            used.peak_bytes as f64 / 1e6,
            LARGE_MEMORY as f64 / 1e6
        );
        println!("{}", verdict("jfr large", used.peak_bytes <= LARGE_MEMORY, &text));
    }
    Ok(())
}

/// Writes the chunks of a recording until there are so many bytes, and tells how many. Only the times in the headers
/// differ, from which all others count.
fn write_repeated(bytes: &[u8], least: u64, to: &Path) -> Result<u64> {
    let long = |chunk: &[u8], at: usize| {
        chunk.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_be_bytes)
    };
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while rest.starts_with(b"FLR\0") {
        let size = usize::try_from(long(rest, SIZE)).unwrap_or(0);
        let Some((chunk, more)) = rest.split_at_checked(size).filter(|_| size > 0) else { break };
        chunks.push(chunk);
        rest = more;
    }
    let Some(first) = chunks.first() else { bail!("there is no whole chunk in the recording") };
    let from = long(first, START_NS);
    let span = chunks.iter().map(|chunk| long(chunk, START_NS) + long(chunk, DURATION_NS) - from).max();
    let mut out = BufWriter::new(File::create(to)?);
    let (mut written, mut shift) = (0, 0);
    while written < least {
        for chunk in &chunks {
            out.write_all(&chunk[..START_NS])?;
            out.write_all(&(long(chunk, START_NS) + shift).to_be_bytes())?;
            out.write_all(&chunk[START_NS + 8..])?;
            written += chunk.len() as u64;
        }
        shift += span.unwrap_or(0).max(1);
    }
    out.flush()?;
    Ok(written)
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
