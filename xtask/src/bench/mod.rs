//! `cargo xtask bench`: how fast Emberscope and Spark's History Server read the same large log.
//!
//! The logs are made once, by real Spark (`logs`), and kept. Both programs start cold (a new process)
//! on a file that the page cache holds, and take turns, so that noise of the machine hits both.

mod diagnose;
mod jfr;
mod logs;
mod ours;
mod report;
mod serve;
mod server;
mod sql;
mod tables;
mod usage;

use crate::run;
use anyhow::Result;
use logs::Log;
use report::Row;
use std::path::PathBuf;

/// Runs of each program when not told otherwise.
pub(crate) const DEFAULT_RUNS: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure; everything when left out
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Runs of each program on each log
    #[arg(long, default_value_t = DEFAULT_RUNS, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..1000))]
    runs: usize,
    /// A recording of Java Flight Recorder, for the part `jfr`
    #[arg(long, value_name = "FILE", default_value = "../shared/jfr/ap/ap-driver.jfr")]
    recording: PathBuf,
    /// Where the logs are made and kept [default: ~/.cache/emberscope/bench]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Seconds real Spark may take to make tasks; the rest is multiplied
    #[arg(long, default_value_t = 480)]
    spark_seconds: u64,
}

impl Args {
    /// The whole benchmark with so many runs.
    pub(crate) fn of_runs(runs: usize) -> Result<Args> {
        Ok(Args {
            only: Vec::new(),
            runs,
            recording: "../shared/jfr/ap/ap-driver.jfr".into(),
            cache: None,
            spark_seconds: 480,
        })
    }
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Emberscope on the plain log of many tasks
    Plain,
    /// Emberscope on the same log packed with zstd
    Zstd,
    /// Emberscope on the log of large plans
    Plans,
    /// The History Server on the logs of many tasks
    Server,
    /// All tables of the plain log by Emberscope, and its task rows by Spark SQL
    Tables,
    /// What `diagnose` costs beside `summary`, on the plain log and on that of large plans
    Diagnose,
    /// The server beside the History Server: first answer about the plain log, opening it again, 10,000 logs, 20 clients
    Serve,
    /// SQL over 10 million task rows by Emberscope, Spark and DuckDB; only when asked for, since it builds the
    /// query engine
    Sql,
    /// Folded stacks of a recording by Emberscope, and its events by the JDK's own reader
    Jfr,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let wants = |part| args.only.is_empty() || args.only.contains(&part);
    if wants(Part::Jfr) {
        jfr::run(&run::root().join(&args.recording), args.runs)?;
        if args.only == [Part::Jfr] {
            return Ok(());
        }
    }
    let only_server = args.only == [Part::Server];
    let cache = match &args.cache {
        Some(cache) => cache.clone(),
        None => run::cache()?.join("bench"),
    };
    if args.only.contains(&Part::Sql) {
        sql::run(&cache, args.runs)?;
        if args.only == [Part::Sql] {
            return Ok(());
        }
    }
    let maker = logs::Maker::new(&cache, args.spark_seconds)?;
    let mut chosen: Vec<Log> = Vec::new();
    let mut of_tables = None;
    let mut of_serve = None;
    let mut of_diagnose = Vec::new();
    if wants(Part::Plain)
        || wants(Part::Zstd)
        || wants(Part::Server)
        || wants(Part::Tables)
        || wants(Part::Diagnose)
        || wants(Part::Serve)
    {
        let [plain, zstd] = maker.tasks()?;
        of_serve = wants(Part::Serve).then(|| plain.clone());
        of_tables = wants(Part::Tables).then(|| plain.clone());
        of_diagnose.extend(wants(Part::Diagnose).then(|| plain.clone()));
        chosen.extend((wants(Part::Plain) || only_server).then_some(plain));
        chosen.extend((wants(Part::Zstd) || only_server).then_some(zstd));
    }
    if wants(Part::Plans) || wants(Part::Diagnose) {
        let plans = maker.plans()?;
        of_diagnose.extend(wants(Part::Diagnose).then(|| plans.clone()));
        chosen.extend(wants(Part::Plans).then_some(plans));
    }
    let program = if only_server { None } else { Some(ours::Program::build()?) };
    let spark = maker.spark_home()?;

    report::print_machine();
    let mut rows = Vec::new();
    for log in &chosen {
        log.print();
        log.warm()?;
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for n in 1..=args.runs {
            if let Some(program) = &program {
                mine.push(told("emberscope", n, program.measure(log)?));
            }
            if wants(Part::Server) && log.for_server {
                theirs.push(told("history server", n, server::measure(log, &spark)?));
            }
        }
        rows.push(Row { log, mine, theirs });
    }
    if !rows.is_empty() {
        report::print(&rows);
    }
    if let (Some(log), Some(program)) = (&of_tables, &program) {
        log.warm()?;
        tables::run(log, program, &spark, args.runs)?;
    }
    if let Some(log) = &of_serve {
        log.warm()?;
        serve::run(log, &spark, args.runs)?;
    }
    for (log, program) in of_diagnose.iter().zip(program.iter().cycle()) {
        log.print();
        log.warm()?;
        diagnose::run(log, program, args.runs)?;
    }
    Ok(())
}

/// Says what a run took at once: the whole takes minutes.
fn told(who: &str, n: usize, usage: usage::Usage) -> usage::Usage {
    println!(
        "  run {n} {who:14} {:8.2} s wall {:8.2} s CPU {:8.1} MB",
        usage.wall_s,
        usage.cpu_s,
        usage.peak_bytes as f64 / 1e6
    );
    usage
}
