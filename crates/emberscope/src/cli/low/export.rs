//! Arguments of `export` as typed.

use super::SourceArgs;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const EXPORT_HELP: &str = "\
Examples:
  emberscope export app-20240101-0001.zstd --format perfetto --out trace.json
                                       open it at ui.perfetto.dev
  emberscope export app-20240101-0001.zstd --out report.html

Perfetto shows SQL executions, jobs and stages as tracks, task attempts on the
slots of their executors, with the parts of their time, and cores as counters.
chrome://tracing reads the same file. HTML is the page that `diagnose --out
report.html` writes. Secrets are masked.";

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    /// Form of the file [default: by the name of --out, else perfetto]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(in crate::cli) format: Option<ExportFormatName>,
    /// Write to a file, which appears when it is whole
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(in crate::cli) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExportFormatName {
    /// One page that needs no network
    Html,
    /// A trace for ui.perfetto.dev and chrome://tracing
    Perfetto,
}
