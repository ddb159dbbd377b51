//! What the arguments of `emberscope report` mean.

use super::low::{FileFormatName, ReportArgs, SinkName, TableArgs};
use super::{Command, Reading, reading};
use crate::exit::UsageError;
use emberscope_report::destination::Destination;
use emberscope_report::{FileSinkOptions, Format, Report, ReportError};
use std::path::PathBuf;
use std::time::Duration;

/// What `report` needs to know.
#[derive(Debug)]
pub(crate) struct ReportOptions {
    /// What to read.
    pub(crate) reading: Reading,
    /// Tables.
    pub(crate) reports: Vec<Report>,
    /// Where rows go.
    pub(crate) target: ReportTarget,
    /// Whether to print view snippets.
    pub(crate) snippets: bool,
}

/// Where rows go.
#[derive(Debug)]
pub(crate) enum ReportTarget {
    /// Lines on standard output.
    Log,
    /// Files.
    Files { destination: Destination, options: FileSinkOptions },
}

/// What `report --recover` needs to know.
#[derive(Debug)]
pub(crate) struct RecoverOptions {
    /// Where to look.
    pub(crate) dir: PathBuf,
}

pub(super) fn mean(args: ReportArgs) -> anyhow::Result<Command> {
    if let Some(dir) = args.recover {
        return Ok(Command::Recover(RecoverOptions { dir }));
    }
    let (reports, target) = tables(&args.tables)?;
    let reading = reading(args.sources, &args.reading, &args.remote)?;
    Ok(Command::Report(ReportOptions { reading, reports, target, snippets: args.tables.snippets }))
}

/// The tables and where their rows go.
pub(super) fn tables(args: &TableArgs) -> anyhow::Result<(Vec<Report>, ReportTarget)> {
    let reports = reports(&args.reports, args.tasks)?;
    let target = match (args.sink, &args.out) {
        (SinkName::File, Some(out)) => ReportTarget::Files {
            destination: Destination::parse(out).map_err(usage)?,
            options: FileSinkOptions {
                format: match args.format {
                    Some(FileFormatName::Ndjson) | None => Format::Ndjson,
                    Some(FileFormatName::Parquet) => Format::Parquet,
                },
                batch_size: args.batch_size as usize,
                file_size_limit: args.file_size_limit,
                flush_every: args.flush_every,
                close_timeout: args.close_timeout,
            },
        },
        (SinkName::File, None) => {
            let hint = "add `--out DIR`, or `--sink log` for standard output";
            return Err(UsageError::new("nowhere to write to", hint).into());
        }
        (SinkName::Log, Some(_)) => {
            let hint = "leave `--out` out, or use `--sink file`";
            return Err(
                UsageError::new("`--sink log` writes to standard output, not to a directory", hint).into()
            );
        }
        (SinkName::Log, None) if args.format == Some(FileFormatName::Parquet) => {
            let hint = "leave `--format` out, or use `--out DIR` for files";
            return Err(UsageError::new("`--sink log` writes lines of JSON, not Parquet", hint).into());
        }
        (SinkName::Log, None) => ReportTarget::Log,
    };
    Ok((reports, target))
}

/// A mistake in the destination is one of the command line.
pub(crate) fn usage(error: ReportError) -> anyhow::Error {
    match error {
        ReportError::Destination { message, hint } => UsageError::new(message, hint).into(),
        other => other.into(),
    }
}

/// The chosen tables, in their own order and each once.
fn reports(names: &[String], tasks: bool) -> anyhow::Result<Vec<Report>> {
    let mut chosen: Vec<Report> = if names.is_empty() {
        Report::ALL.iter().copied().filter(|report| report.is_default()).collect()
    } else {
        let mut chosen = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            match Report::from_name(name) {
                Some(report) => chosen.push(report),
                None if name == "all" => chosen.extend(Report::ALL),
                None => {
                    let known: Vec<&str> = Report::ALL.iter().map(|report| report.name()).collect();
                    let hint = format!("known are {}, and all", known.join(", "));
                    return Err(UsageError::new(format!("no report is called `{name}`"), hint).into());
                }
            }
        }
        chosen
    };
    if tasks {
        chosen.push(Report::Task);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// `200MiB`, `64KiB`, `1GB`, `1000`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim().find(|c: char| !c.is_ascii_digit()).unwrap_or(text.trim().len());
    let (number, unit) = text.trim().split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err("a size is a number with KiB, MiB, GiB, KB, MB or GB, like 200MiB".to_owned()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    match bytes {
        Some(0) | None => Err("a size is a positive number, like 200MiB".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}

/// `10s`, `500ms`, `2min`, and as in Spark's own settings a bare number of milliseconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim().find(|c: char| !c.is_ascii_digit()).unwrap_or(text.trim().len());
    let (number, unit) = text.trim().split_at(digits);
    let factor = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err("a time is a number with ms, s, min or h, like 10s".to_owned()),
    };
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    ms.map(Duration::from_millis)
        .ok_or_else(|| "a time is a number with ms, s, min or h, like 10s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        for (text, bytes) in [("200MiB", 200 << 20), ("1000", 1000), ("1 KB", 1000), ("2g", 2 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "MiB", "1.5MiB", "3 parsecs", "99999999999999999999", "20000000000GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
        for (text, ms) in [("10s", 10_000), ("500", 500), ("2min", 120_000), ("0", 0)] {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert!(time("soon").is_err());
    }

    #[test]
    fn names_of_reports() {
        let names = |names: &[&str], tasks| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            reports(&names, tasks).map(|chosen| chosen.into_iter().map(Report::name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["stage", "job", "job"], false).unwrap(), ["job", "stage"]);
        assert_eq!(names(&["job"], true).unwrap(), ["job", "task"]);
        assert_eq!(names(&[], true).unwrap().len(), Report::ALL.len());
        assert!(!names(&[], false).unwrap().contains(&"task"));
        assert_eq!(names(&["all"], false).unwrap().len(), Report::ALL.len());
        assert!(names(&["jobs"], false).is_err());
    }
}
