//! Arguments of `follow`.

use super::TableArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const FOLLOW_HELP: &str = "\
Examples:
  emberscope follow /var/log/spark-events/app-20240101-0001.inprogress
  emberscope follow eventlog_v2_app-1 --out reports --tasks
  tail -c +0 -f app-1 | emberscope follow - --no-findings --sink log --reports job,stage

LOG is the log that a running application writes: a file, the directory of a
rolled log, or `-` for standard input. It is read to its end: until its writer
renames it, the application ends, or the pipe is closed. Ctrl-C ends it sooner;
a second one at once.

With --out the tables of `emberscope report` are written while the run goes on:
a row appears, in files called .NAME.inprogress, when what it is about has
ended. At the end all tables are written from what is known then, so that the
files that stay are those that `emberscope report` makes of the finished log. Of
a follower that was killed, `report --recover DIR` takes over what it wrote.
Parquet has no readable half, and is written at the end.

A finding is told when two looks in a row saw it, and not before the run is ten
seconds old. `emberscope diagnose` tells more of the finished log.";

#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    /// Event log that is being written, or `-` for standard input
    #[arg(value_name = "LOG", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    /// Do not look for findings
    #[arg(long, help_heading = "Findings")]
    pub(crate) no_findings: bool,
    /// Only results and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Take it for the end when nothing came for so long
    #[arg(long, value_name = "TIME", value_parser = crate::cli::report::time, help_heading = "Reading")]
    pub(crate) idle_end: Option<std::time::Duration>,
    /// Memory beyond which the run is reported as far as it is known, and no more is read
    #[arg(long, value_name = "SIZE", value_parser = crate::cli::report::size, help_heading = "Reading")]
    pub(crate) memory: Option<u64>,
    /// Go on to the end of the input whatever signals come; for whoever starts this program for a Spark driver
    #[arg(long, help_heading = "Reading")]
    pub(crate) ignore_signals: bool,
    /// Threads that finish the run and write tables [default: one per core, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Reading")]
    pub(crate) threads: Option<u16>,
    /// Write the tables' directory and the SQL of their views to this file, as JSON, when both are known
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) announce: Option<PathBuf>,
}
