//! Arguments of `flame` as typed.

use super::ReadingArgs;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const FLAME_HELP: &str = "\
Examples:
  emberscope flame profile-exec-1.jfr
  emberscope flame profiles/ --event wall --state runnable --out wall.html
  emberscope flame profiles/ --log app-1 --stage 14.0 --out stage14.html
  emberscope flame profiles/ --log app-1 --stage 14 --against stage=12 --out diff.html
  emberscope flame profile-exec-1.jfr --event alloc --format folded > alloc.folded
  emberscope flame profile-exec-1.jfr --format pprof --out cpu.pb.gz

Events:
  cpu     samples of running threads (ExecutionSample, CPUTimeSample)
  wall    samples of all threads, running or not (async-profiler)
  alloc   bytes allocated
  lock    time waiting for monitors and parked
  sleep   time in Thread.sleep and Object.wait
  io      time reading and writing files and sockets
  native  samples of threads in native methods
  malloc  native memory that was not given back, bytes
  live    objects that outlived collections, bytes

A FILE is a recording of the JDK's recorder or of async-profiler, as it is or packed with
gzip, zstd, lz4 or zip, a directory of them, or `-`. Whose it is its name tells:
profile-driver.jfr, profile-exec-ID.jfr, rotated parts profile-exec-ID.N.jfr.

Tasks are known by executor, Java thread and time: from events in the event log of --log
that say which thread ran which task, or from spans and task events in the recordings.
Folded stacks, pprof, speedscope and Firefox hold everything unless limits are given; top
frames are counted before any limit; HTML and JSON leave out what is below 0.01 %. What is
left out stays in the sums, as [other].";

#[derive(Debug, Args)]
pub(in crate::cli) struct FlameArgs {
    /// Recording: file, directory, archive, or `-` for standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(in crate::cli) files: Vec<String>,
    /// What the graph is of [default: the first of them that was recorded]
    #[arg(long, value_name = "EVENT", value_enum)]
    pub(in crate::cli) event: Option<FlameEventName>,
    /// Event log with the application's tasks
    #[arg(long, value_name = "SOURCE", value_hint = ValueHint::AnyPath, help_heading = "Samples")]
    pub(in crate::cli) log: Option<String>,
    /// Samples of tasks of this stage, or this attempt of it
    #[arg(long, value_name = "N[.A]", value_parser = crate::cli::diagnose::stage, help_heading = "Samples")]
    pub(in crate::cli) stage: Option<(u32, Option<u32>)>,
    /// Samples of tasks of this partition
    #[arg(long, value_name = "N", help_heading = "Samples")]
    pub(in crate::cli) partition: Option<u32>,
    /// Samples of this task attempt, by its id
    #[arg(long, value_name = "ID", help_heading = "Samples")]
    pub(in crate::cli) task: Option<u64>,
    /// Samples of these executors, by comma; `driver` is one
    #[arg(long, value_name = "IDS", value_delimiter = ',', help_heading = "Samples")]
    pub(in crate::cli) executor: Vec<String>,
    /// Samples of this Java thread id, or of threads whose name has this part; `*` is anything
    #[arg(long, value_name = "ID|NAME", help_heading = "Samples")]
    pub(in crate::cli) thread: Option<String>,
    /// Samples of threads in this state, such as `runnable` or `sleeping`
    #[arg(long, value_name = "STATE", help_heading = "Samples")]
    pub(in crate::cli) state: Option<String>,
    /// Samples from this time on: 2026-01-31T12:00:00Z, epoch milliseconds, or +90s after the start
    #[arg(long, value_name = "TIME", value_parser = crate::cli::flame::moment, help_heading = "Samples")]
    pub(in crate::cli) from: Option<crate::cli::flame::Moment>,
    /// Samples before this time
    #[arg(long, value_name = "TIME", value_parser = crate::cli::flame::moment, help_heading = "Samples")]
    pub(in crate::cli) to: Option<crate::cli::flame::Moment>,
    /// Compare with other samples: stage, partition, task, executor, thread, state, from, to, as KEY=VALUE
    /// by comma; what is not named is as above
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', help_heading = "Samples")]
    pub(in crate::cli) against: Vec<String>,
    /// Share below which subtrees are summed up as others, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::flame::share, help_heading = "Limits")]
    pub(in crate::cli) min_fraction: Option<f64>,
    /// Nodes that are kept: the heaviest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(in crate::cli) max_nodes: Option<u32>,
    /// Frames that are kept from the root on
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(in crate::cli) max_depth: Option<u32>,
    /// Form of the output [default: by the name of --out, else top]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub(in crate::cli) format: Option<FlameFormatName>,
    /// Write to a file, which appears when it is whole
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(in crate::cli) out: Option<PathBuf>,
    /// Frames in the table of `top`
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Output")]
    pub(in crate::cli) rows: u32,
    #[command(flatten)]
    pub(in crate::cli) reading: ReadingArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FlameEventName {
    /// Samples of running threads
    Cpu,
    /// Samples of all threads
    Wall,
    /// Bytes allocated
    Alloc,
    /// Time waiting for locks
    Lock,
    /// Time in sleep and wait
    Sleep,
    /// Time reading and writing
    Io,
    /// Samples in native methods
    Native,
    /// Native memory not given back
    Malloc,
    /// Objects that outlived collections
    Live,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FlameFormatName {
    /// The hottest frames, for people
    Top,
    /// A line for each stack: `root;...;leaf weight`
    Folded,
    /// For programs; one object
    Json,
    /// One page with the graph, that needs no network
    Html,
    /// For `pprof`, gzipped
    Pprof,
    /// For speedscope.app
    Speedscope,
    /// For profiler.firefox.com, with all samples and their times
    Firefox,
}
