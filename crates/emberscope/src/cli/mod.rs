//! The command line: what was typed ([`low`]) and what it means ([`Command`]).

mod diagnose;
mod export;
mod flame;
mod follow;
mod low;
mod remote;
mod report;
mod serve;
mod sql;

use crate::exit::{Exit, UsageError};
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
pub(crate) use diagnose::{DiagnoseFormat, DiagnoseOptions, EvidenceFiles};
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::RunSource;
use emberscope_source::client::ClientOptions;
pub(crate) use export::{ExportFormat, ExportOptions};
pub(crate) use flame::{FlameFormat, FlameOptions, Moment, Wanted};
pub(crate) use follow::FollowOptions;
pub(crate) use report::{RecoverOptions, ReportOptions, ReportTarget, usage};
pub(crate) use serve::ServeOptions;
pub(crate) use sql::{Question, RowsFormat, SqlCommand, SqlOptions};

use low::{FormatName, LowArgs, LowCommand, ReadingArgs, RemoteArgs, ShowArgs};
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// Tell what runs were.
    Summary(ShowOptions),
    /// Tell what cost the time and what to change.
    Diagnose(Box<DiagnoseOptions>),
    /// Print a page of the reference, or the list of them.
    Docs(Option<String>),
    /// Tell what fills logs.
    Doctor(ShowOptions),
    /// Write a run as a file of other tools.
    Export(ExportOptions),
    /// Fold recordings into a flame graph.
    Flame(Box<FlameOptions>),
    /// Watch a running application.
    Follow(Box<FollowOptions>),
    /// Keep runs as tables.
    Report(ReportOptions),
    /// Take over what a dead writer left.
    Recover(RecoverOptions),
    /// Serve runs over HTTP.
    Serve(Box<ServeOptions>),
    /// Ask questions in SQL.
    Sql(Box<SqlCommand>),
    /// Print a completion script.
    Completions(Shell),
    /// Print the manual page, or write all of them into a directory.
    Man(Option<PathBuf>),
    /// Help, version or a usage error, already told.
    Told(Exit),
}

/// What a command that shows runs needs to know.
#[derive(Debug)]
pub(crate) struct ShowOptions {
    /// What to read.
    pub(crate) reading: Reading,
    /// How to write.
    pub(crate) format: Format,
    /// Where to; `None` is standard output.
    pub(crate) out: Option<PathBuf>,
}

/// What to read and how.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// As typed.
    pub(crate) sources: Vec<String>,
    /// Threads and blocks.
    pub(crate) scan: ScanOptions,
    /// Whether reading only a part is a failure.
    pub(crate) strict: bool,
    /// Whether progress may be shown.
    pub(crate) progress: bool,
    /// Whether only errors are told.
    pub(crate) quiet: bool,
    /// The query that is asked about, which a server need not list.
    pub(crate) sql_id: Option<u64>,
    /// Runs that were put together from other evidence, beside what the sources hold.
    pub(crate) extra: Vec<RunSource>,
    /// Runs that are taken where the sources give none.
    pub(crate) fallback: Vec<RunSource>,
    /// How to talk to servers.
    pub(crate) client: Box<ClientOptions>,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one object per run and line.
    Json,
}

/// The definition of the command line, for help, completions and manual pages.
pub(crate) fn command() -> clap::Command {
    LowArgs::command()
}

/// Reads the process's arguments.
pub(crate) fn parse() -> anyhow::Result<Command> {
    match LowArgs::try_parse() {
        Ok(args) => mean(args),
        Err(told) => {
            told.print()?;
            Ok(Command::Told(if told.use_stderr() { Exit::Usage } else { Exit::Done }))
        }
    }
}

/// The letters after the last point of a file's name, small; `None` where it has none, as in `report-3.5.9`.
fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
    ending.chars().any(|c| c.is_ascii_alphabetic()).then_some(ending)
}

/// A file whose name asks for a form that there is none of: better told than written in another.
fn no_form(path: &Path, what: &str, known: &str) -> UsageError {
    let ending = ending(path).unwrap_or_default();
    let message = format!("--out {}: no form of {what} goes by `.{ending}`", path.display());
    UsageError::new(message, format!("end it with {known}, or add --format"))
}

fn mean(args: LowArgs) -> anyhow::Result<Command> {
    Ok(match args.command {
        LowCommand::Summary(args) => Command::Summary(show_options(args)?),
        LowCommand::Diagnose(args) => Command::Diagnose(Box::new(diagnose::mean(*args)?)),
        LowCommand::Docs { name } => Command::Docs(name),
        LowCommand::Doctor(args) => Command::Doctor(show_options(args)?),
        LowCommand::Export(args) => Command::Export(export::mean(args)?),
        LowCommand::Flame(args) => Command::Flame(Box::new(flame::mean(*args)?)),
        LowCommand::Follow(args) => Command::Follow(Box::new(follow::mean(*args)?)),
        LowCommand::Report(args) => report::mean(*args)?,
        LowCommand::Serve(args) => Command::Serve(Box::new(serve::mean(*args)?)),
        LowCommand::Sql(args) => Command::Sql(Box::new(sql::mean(*args)?)),
        LowCommand::Completions { shell } => Command::Completions(shell),
        LowCommand::Man { out } => Command::Man(out),
    })
}

fn show_options(args: ShowArgs) -> anyhow::Result<ShowOptions> {
    let format = match (args.json, args.format) {
        (true, Some(FormatName::Text)) => {
            let message = "`--json` and `--format text` contradict each other";
            return Err(UsageError::new(message, "leave one of them out").into());
        }
        (true, _) | (_, Some(FormatName::Json)) => Format::Json,
        (false, _) => Format::Text,
    };
    Ok(ShowOptions {
        reading: reading(args.source.sources, &args.source.reading, &args.source.remote)?,
        format,
        out: args.out,
    })
}

fn reading(sources: Vec<String>, args: &ReadingArgs, remote: &RemoteArgs) -> anyhow::Result<Reading> {
    if sources.iter().filter(|source| *source == "-").count() > 1 {
        let message = "standard input (`-`) can be read only once";
        return Err(UsageError::new(message, "name it once").into());
    }
    let mut scan = ScanOptions::default();
    if let Some(threads) = args.threads {
        scan.threads = usize::from(threads);
    }
    if let Some(bytes) = args.chunk_size {
        scan.block_bytes = bytes as usize;
    }
    Ok(Reading {
        sources,
        scan,
        strict: args.strict,
        progress: !args.no_progress && !args.quiet,
        quiet: args.quiet,
        client: Box::new(remote::mean(remote)?),
        sql_id: None,
        extra: Vec::new(),
        fallback: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(args: &[&str]) -> anyhow::Result<Command> {
        mean(LowArgs::try_parse_from([&["emberscope"], args].concat())?)
    }

    #[test]
    fn definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn formats() {
        let format = |args: &[&str]| match meant(&[&["summary", "log"], args].concat()) {
            Ok(Command::Summary(options)) => Some(options.format),
            _ => None,
        };
        assert_eq!(format(&[]), Some(Format::Text));
        assert_eq!(format(&["--json"]), Some(Format::Json));
        assert_eq!(format(&["--format", "json"]), Some(Format::Json));
        assert_eq!(format(&["--json", "--format", "json"]), Some(Format::Json));
        assert_eq!(format(&["--json", "--format", "text"]), None);
        assert_eq!(format(&["--format", "yaml"]), None);
        assert_eq!(format(&["--threads", "0"]), None);
    }
}
