//! What the arguments of `emberscope diagnose` mean.

use super::low::{DiagnoseArgs, DiagnoseFormatName, FailOnName};
use super::{Reading, ending, no_form, reading};
use crate::exit::UsageError;
use emberscope_analysis::finding::Severity;
use emberscope_analysis::reference;
use emberscope_source::address::Address;
use std::path::{Path, PathBuf};

/// What `diagnose` needs to know.
#[derive(Debug)]
pub(crate) struct DiagnoseOptions {
    /// What to read.
    pub(crate) reading: Reading,
    /// What there is beside it.
    pub(crate) evidence: EvidenceFiles,
    /// Tags to check; empty = all.
    pub(crate) only: Vec<String>,
    /// The SQL execution that is asked for.
    pub(crate) sql_id: Option<u64>,
    /// The stage that is asked for.
    pub(crate) stage: Option<(u32, Option<u32>)>,
    /// Directories of recordings.
    pub(crate) recordings: Vec<String>,
    /// File of thresholds.
    pub(crate) thresholds: Option<PathBuf>,
    /// Level of findings to fail for.
    pub(crate) fail_on: Option<Severity>,
    /// What is shown, if anything but [`DiagnoseOptions::json_file`].
    pub(crate) target: Option<Target>,
    /// Where JSON goes beside that.
    pub(crate) json_file: Option<PathBuf>,
    /// Whether text shows everything.
    pub(crate) all: bool,
}

/// Where a diagnosis goes and how.
#[derive(Debug)]
pub(crate) struct Target {
    /// Form.
    pub(crate) format: DiagnoseFormat,
    /// File; `None` is standard output.
    pub(crate) out: Option<PathBuf>,
}

/// A form of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiagnoseFormat {
    /// For people, on a terminal.
    Text,
    /// For people, in a ticket.
    Markdown,
    /// For programs.
    Json,
    /// A page.
    Html,
}

/// What there is beside the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvidenceFiles {
    /// The query.
    pub(crate) sql: Option<PathBuf>,
    /// When it was submitted, epoch milliseconds.
    pub(crate) submitted_ms: Option<i64>,
    /// Output of `EXPLAIN`.
    pub(crate) explain: Option<PathBuf>,
    /// Log of the driver.
    pub(crate) driver_log: Option<PathBuf>,
    /// Whether the address of the Spark UI in that log may be asked.
    pub(crate) follow: bool,
}

impl EvidenceFiles {
    /// Whether there is any.
    pub(crate) fn is_any(&self) -> bool {
        self.sql.is_some()
            || self.submitted_ms.is_some()
            || self.explain.is_some()
            || self.driver_log.is_some()
    }
}

pub(super) fn mean(mut args: DiagnoseArgs) -> anyhow::Result<DiagnoseOptions> {
    args.sources.extend(args.url.take());
    let evidence = EvidenceFiles {
        sql: args.sql_file.take(),
        submitted_ms: args.submitted_at,
        explain: args.explain.take(),
        driver_log: args.driver_log.take(),
        follow: !args.no_follow,
    };
    if args.sources.is_empty() && evidence.explain.is_none() && evidence.driver_log.is_none() {
        let named = match &args.json {
            Some(Some(file)) => format!("`--json {}` names the file to write", file.display()),
            _ => "nothing was named to read".to_owned(),
        };
        let hint = "put the log before it: `emberscope diagnose LOG --json`";
        return Err(UsageError::new(format!("{named}, and there is no log to read"), hint).into());
    }
    let is_bare = matches!(args.json, Some(None));
    let json_file = args.json.flatten();
    let format = args.format.map(|format| match format {
        DiagnoseFormatName::Text => DiagnoseFormat::Text,
        DiagnoseFormatName::Markdown => DiagnoseFormat::Markdown,
        DiagnoseFormatName::Json => DiagnoseFormat::Json,
        DiagnoseFormatName::Html => DiagnoseFormat::Html,
    });
    if is_bare && format.is_some_and(|format| format != DiagnoseFormat::Json) {
        let message = "`--json` and another `--format` contradict each other";
        return Err(UsageError::new(message, "name a file for the JSON: `--json FILE`").into());
    }
    if let (Some(json), Some(out)) = (&json_file, &args.out)
        && json == out
    {
        let message = format!("`--json` and `--out` name the same file: {}", out.display());
        return Err(UsageError::new(message, "name two files, or leave one of them out").into());
    }
    if let Some(file) = &json_file {
        keep_logs_safe(file)?;
    }
    let is_shown = format.is_some() || args.out.is_some() || is_bare || json_file.is_none();
    let format = match format {
        Some(format) => format,
        None if is_bare => DiagnoseFormat::Json,
        None => args.out.as_deref().map_or(Ok(DiagnoseFormat::Text), by_name)?,
    };
    let target = is_shown.then_some(Target { format, out: args.out });
    // The page of a query or stage in the Spark UI is about that.
    let page = match &args.sources[..] {
        [only] => Address::parse(only),
        _ => None,
    };
    let sql_id = args.sql_id.or_else(|| page.as_ref()?.sql_id);
    let stage = args.stage.or_else(|| page.as_ref()?.stage);
    let mut reading = reading(args.sources, &args.reading, &args.remote)?;
    reading.sql_id = sql_id;
    Ok(DiagnoseOptions {
        reading,
        evidence,
        only: known(&args.only)?,
        sql_id,
        stage,
        recordings: args.jfr,
        thresholds: args.thresholds,
        fail_on: args.fail_on.map(|level| match level {
            FailOnName::Critical => Severity::Critical,
            FailOnName::Warning => Severity::Warning,
        }),
        target,
        json_file,
        all: args.all,
    })
}

/// Since the file of `--json` is optional, `--json LOG1 LOG2` would write over a log: what is there must
/// be empty or look like JSON of ours.
fn keep_logs_safe(file: &Path) -> anyhow::Result<()> {
    let Ok(meta) = std::fs::metadata(file) else { return Ok(()) };
    if !meta.is_file() || meta.len() == 0 {
        return Ok(());
    }
    let mut start = [0u8; 18];
    let is_ours = std::fs::File::open(file)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start))
        .is_ok_and(|()| start == *br#"{"schema_version":"#);
    if is_ours {
        return Ok(());
    }
    let message = format!("--json {}: that file exists and is no diagnosis", file.display());
    let hint = "`--json FILE` names the file to write; put logs before it, or use `--format json`";
    Err(UsageError::new(message, hint).into())
}

/// The form that a file's name asks for.
fn by_name(path: &Path) -> Result<DiagnoseFormat, UsageError> {
    let Some(ending) = ending(path) else { return Ok(DiagnoseFormat::Text) };
    match ending.as_str() {
        "md" | "markdown" => Ok(DiagnoseFormat::Markdown),
        "json" | "ndjson" | "jsonl" => Ok(DiagnoseFormat::Json),
        "html" | "htm" => Ok(DiagnoseFormat::Html),
        "txt" | "text" | "log" | "out" => Ok(DiagnoseFormat::Text),
        _ => Err(no_form(path, "a diagnosis", "`.txt`, `.md`, `.json` or `.html`")),
    }
}

/// The chosen tags, all of which must be known.
fn known(only: &[String]) -> anyhow::Result<Vec<String>> {
    let tags = reference::tags();
    only.iter()
        .map(|name| name.trim())
        .map(|name| match tags.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
            Some(tag) => Ok((*tag).to_owned()),
            None => {
                let message = format!("--only: no check has the tag `{name}`");
                Err(UsageError::new(message, format!("known are {}", tags.join(", "))).into())
            }
        })
        .collect()
}

/// `2026-11-02T08:06:50Z`, `2026-11-02 08:06:50` (UTC), or epoch milliseconds.
pub(super) fn moment(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let zoned = || text.parse::<jiff::Timestamp>().ok();
    let civil = || {
        let time: jiff::civil::DateTime = text.parse().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(time).ok()
    };
    let epoch = text.parse::<i64>().ok();
    let parsed = epoch.or_else(|| zoned().or_else(civil).map(|time| time.as_millisecond()));
    parsed.ok_or_else(|| "a time is like 2026-11-02T08:06:50Z, in UTC where it names no zone".to_owned())
}

/// `14`, `14.1`.
pub(super) fn stage(text: &str) -> Result<(u32, Option<u32>), String> {
    let parsed = match text.split_once('.') {
        Some((id, attempt)) => id.parse().ok().zip(attempt.parse().ok().map(Some)),
        None => text.parse().ok().map(|id| (id, None)),
    };
    parsed.ok_or_else(|| "a stage is a number, or number and attempt like 14.1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(moment("2026-11-30T19:49:42Z"), Ok(1_796_068_182_000));
        assert_eq!(moment("2026-11-30 19:49:42"), Ok(1_796_068_182_000));
        assert_eq!(moment("1796068182000"), Ok(1_796_068_182_000));
        assert!(moment("noon").is_err());
    }

    #[test]
    fn stages() {
        assert_eq!(stage("14"), Ok((14, None)));
        assert_eq!(stage("14.1"), Ok((14, Some(1))));
        for text in ["", ".", "14.", ".1", "1.2.3", "-1", "x"] {
            assert!(stage(text).is_err(), "{text}");
        }
    }

    #[test]
    fn forms_by_name() {
        let cases = [
            ("a.MD", Some(DiagnoseFormat::Markdown)),
            ("a.html", Some(DiagnoseFormat::Html)),
            ("a.jsonl", Some(DiagnoseFormat::Json)),
            ("a.txt", Some(DiagnoseFormat::Text)),
            ("report-3.5.9", Some(DiagnoseFormat::Text)),
            ("/dev/fd/3", Some(DiagnoseFormat::Text)),
            ("-", Some(DiagnoseFormat::Text)),
            ("a.pdf", None),
        ];
        for (name, form) in cases {
            assert_eq!(by_name(Path::new(name)).ok(), form, "{name}");
        }
    }
}
