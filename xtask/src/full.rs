//! `cargo xtask full`: everything that CI does not run, one after the other, with a summary.

use crate::{bench, companion, fixtures, fuzz, referee, ui};
use anyhow::{Result, bail};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds to run each fuzz target
    #[arg(long, default_value_t = fuzz::DEFAULT_SECONDS)]
    fuzz_seconds: u64,
    /// Runs of each program in the benchmark
    #[arg(long, default_value_t = bench::DEFAULT_RUNS)]
    bench_runs: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    type Step<'a> = (&'a str, Box<dyn Fn() -> Result<()> + 'a>);
    let steps: [Step<'_>; 12] = [
        ("fixtures", Box::new(fixtures::check)),
        ("referee", Box::new(|| referee::run(&referee::Args::default()))),
        ("mcp tools", Box::new(referee::run_mcp_tools)),
        ("kerberos", Box::new(referee::run_kerberos)),
        ("answers", Box::new(referee::run_rest_findings)),
        ("limits of servers", Box::new(referee::run_rest_limits)),
        ("live UI", Box::new(referee::run_live_ui)),
        ("page", Box::new(|| ui::run(&ui::Args::tested()))),
        ("traces", Box::new(ui::open_traces)),
        ("companion", Box::new(|| companion::run(&companion::Args::of_all()))),
        ("fuzz", Box::new(|| fuzz::run(&fuzz::Args::of_seconds(args.fuzz_seconds)))),
        ("bench", Box::new(|| bench::run(&bench::Args::of_runs(args.bench_runs)?))),
    ];
    let mut told = Vec::new();
    for (name, step) in steps {
        println!("== {name}");
        let started = Instant::now();
        let result = step();
        let seconds = started.elapsed().as_secs();
        told.push(match &result {
            Ok(()) => format!("ok      {name:10} {seconds:6} s"),
            Err(error) => format!("FAILED  {name:10} {seconds:6} s  {error:#}"),
        });
    }
    println!("\n{}", told.join("\n"));
    if told.iter().any(|line| line.starts_with("FAILED")) {
        bail!("not everything passed");
    }
    Ok(())
}
