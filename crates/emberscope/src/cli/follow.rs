//! What the arguments of `emberscope follow` mean.

use super::low::{FollowArgs, SinkName};
use super::report::{ReportTarget, tables};
use emberscope_log::scan::ScanOptions;
use emberscope_report::Report;
use std::path::PathBuf;
use std::time::Duration;

/// What `follow` needs to know.
#[derive(Debug)]
pub(crate) struct FollowOptions {
    /// The log, as typed.
    pub(crate) source: String,
    /// Threads.
    pub(crate) scan: ScanOptions,
    /// Tables, and where their rows go; `None` where nothing is to be written.
    pub(crate) tables: Option<(Vec<Report>, ReportTarget)>,
    /// Time after which rows go out, however few they are.
    pub(crate) flush_every: Duration,
    /// Whether to print view snippets.
    pub(crate) snippets: bool,
    /// Whether to look for findings.
    pub(crate) findings: bool,
    /// Whether only results and errors are told.
    pub(crate) quiet: bool,
    /// How long the log may not grow.
    pub(crate) idle_end: Option<Duration>,
    /// Resident bytes beyond which reading ends.
    pub(crate) memory: Option<u64>,
    /// Whether signals are ignored.
    pub(crate) ignore_signals: bool,
    /// Where directory and views are told.
    pub(crate) announce: Option<PathBuf>,
}

pub(super) fn mean(args: FollowArgs) -> anyhow::Result<FollowOptions> {
    let mut scan = ScanOptions::default();
    if let Some(threads) = args.threads {
        scan.threads = usize::from(threads);
    }
    let wants_tables = args.tables.out.is_some() || args.tables.sink == SinkName::Log;
    Ok(FollowOptions {
        source: args.source,
        scan,
        tables: if wants_tables { Some(tables(&args.tables)?) } else { None },
        flush_every: args.tables.flush_every,
        snippets: args.tables.snippets,
        findings: !args.no_findings,
        quiet: args.quiet,
        idle_end: args.idle_end,
        memory: args.memory,
        ignore_signals: args.ignore_signals,
        announce: args.announce,
    })
}
