//! Texts around a query, and the runs that they tell of or lead to.

use super::remote;
use crate::cli::{EvidenceFiles, Reading};
use crate::exit::UsageError;
use crate::messages;
use crate::progress::Progress;
use emberscope_evidence::runs::of_texts;
use emberscope_evidence::{Evidence, Named, SqlText};
use emberscope_log::codec::{Decoder, StreamEnd};
use emberscope_log::input::{Input, LocalFile, Stdin};
use emberscope_log::source::RunSource;
use emberscope_source::credentials::Credentials;
use emberscope_text::driver_log::DriverLog;
use emberscope_text::explain;
use emberscope_text::kind::{TextKind, kind};
use emberscope_text::sql::{self, has_statement, outline};
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Texts that were read, and what to read with them.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) evidence: Evidence,
    pub(crate) reading: Reading,
}

/// Most bytes of a file of `EXPLAIN` output.
const MOST_EXPLAIN_BYTES: u64 = 64 << 20;
/// Bytes of a file by which it is told what it is.
const HEAD_BYTES: usize = 64 << 10;
/// How a note begins that says where a packed file broke off.
const READ_AS_FAR: &str = "the file was read as far as it goes";
/// Bytes of a log that are read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// How long an address that a log names is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many addresses of a log are tried.
const ADDRESSES: usize = 3;

/// Reads the files. Where no source was named, the driver's log is followed to the Spark UI, or is itself the run;
/// and the output of `EXPLAIN` is a run in which nothing happened.
pub(crate) fn gather(files: &EvidenceFiles, reading: &Reading) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered { evidence: Evidence::default(), reading: reading.clone() };
    let evidence = &mut gathered.evidence;
    if let Some(file) = &files.sql {
        let text = read("--sql-file", file, sql::MOST_BYTES as u64)?;
        let content = SqlText { outline: outline(&text), text };
        if !has_statement(&content.text, &content.outline) {
            let message = format!("--sql-file {}: there is no query in it", file.display());
            return Err(UsageError::new(message, meant(file, "give the statement as it was run")).into());
        }
        evidence.sql = Some(Named { name: shown(file), content });
    }
    if let Some(file) = &files.explain {
        let text = read("--explain", file, MOST_EXPLAIN_BYTES)?;
        let Some(content) = explain::parse(&text) else {
            let message = format!("--explain {}: there is no physical plan in it", file.display());
            let hint = meant(file, "give what `EXPLAIN FORMATTED SELECT ...` prints");
            return Err(UsageError::new(message, hint).into());
        };
        evidence.explain = Some(Named { name: shown(file), content });
    }
    if let Some(file) = &files.driver_log {
        let content = driver_log(reading, file).map_err(|error| unreadable("--driver-log", file, &error))?;
        let is_empty = content.jobs.is_empty() && content.stages.is_empty() && content.plan.is_none();
        let kind = head(file).as_deref().and_then(kind);
        // Event logs speak of plans and times, too; and what EXPLAIN prints has no times.
        let is_other = kind == Some(TextKind::EventLog) || content.dated_lines == 0;
        if (is_empty || is_other)
            && let Some(hint) = kind.and_then(hint_of)
        {
            let message = format!("--driver-log {}: it is no log of a driver", file.display());
            return Err(UsageError::new(message, hint).into());
        }
        evidence.driver_log = Some(Named { name: shown(file), content });
    }
    if reading.sources.is_empty() {
        gathered.without_source(files.follow)?;
    } else {
        gathered.reading.fallback = of_texts(&mut gathered.evidence)?;
    }
    Ok(gathered)
}

/// Reads the log of a driver, packed or not.
fn driver_log(reading: &Reading, file: &Path) -> std::io::Result<DriverLog> {
    let input: Arc<dyn Input> = match file.to_str() {
        Some("-") => Arc::new(Stdin::new()),
        _ => Arc::new(LocalFile::open(file)?),
    };
    let progress = Progress::of_bytes(reading.progress, file, input.len());
    let mut unpacked = Unpacked { decoder: Decoder::new(input)?, progress };
    let mut log = DriverLog::read(BufReader::with_capacity(BUFFER_BYTES, &mut unpacked))?;
    match unpacked.decoder.end() {
        Some(StreamEnd::Truncated { reason } | StreamEnd::Corrupt { reason }) => {
            log.notes.push(format!("{READ_AS_FAR}: {reason}"));
        }
        Some(StreamEnd::Complete) | None => {}
    }
    Ok(log)
}

/// A file as it is read and unpacked.
struct Unpacked {
    decoder: Decoder,
    progress: Progress,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.decoder.read(buffer);
        self.progress.at(self.decoder.raw_bytes());
        Ok(n)
    }
}

impl Gathered {
    /// Finds a run where none was named.
    fn without_source(&mut self, is_followed: bool) -> anyhow::Result<()> {
        let evidence = &mut self.evidence;
        if let Some(log) = evidence.driver_log.as_ref().filter(|_| is_followed)
            && let Some(runs) = follow(&log.content, &self.reading, &mut evidence.notes)
        {
            self.reading.extra = runs;
            return Ok(());
        }
        self.reading.extra = of_texts(evidence)?;
        if self.reading.extra.is_empty() {
            let name = evidence.driver_log.as_ref().map_or("", |log| log.name.as_str());
            let cut = evidence.driver_log.iter().flat_map(|log| &log.content.notes);
            let cut = cut.filter(|note| note.starts_with(READ_AS_FAR)).map(|note| format!(" ({note})"));
            let cut: String = cut.collect();
            let message = format!("--driver-log {name}: no job, no stage and no plan is in it{cut}");
            let hint = "Spark logs jobs at the level INFO; or name the run's address or its event log";
            return Err(UsageError::new(message, hint).into());
        }
        Ok(())
    }
}

/// The run behind an address in a log, asked without credentials: the user did not name that host.
fn follow(log: &DriverLog, reading: &Reading, notes: &mut Vec<String>) -> Option<Vec<RunSource>> {
    let mut asking = reading.clone();
    asking.client.credentials = Credentials::default();
    asking.client.limits.connect = PATIENCE;
    asking.client.limits.idle = asking.client.limits.idle.min(PATIENCE);
    asking.client.limits.retries = 0;
    for address in log.ui_addresses.iter().take(ADDRESSES) {
        match remote::fetch(&asking, address) {
            Ok(found) if !found.runs.is_empty() && !may_be(&found.runs, log) => {
                // Ports are used again, by whoever comes next.
                let id = log.application_id.as_deref().unwrap_or("not named");
                notes.push(format!("at the address in the log is another application than {id}: {address}"));
            }
            Ok(found) if !found.runs.is_empty() => {
                if !reading.quiet {
                    messages::note(&format!("the log leads to {address}, which answers"), None);
                }
                if log.application_id.is_none() {
                    notes.push(format!(
                        "the log names no application: whether the one at {address} is its own is not known"
                    ));
                }
                return Some(found.runs);
            }
            Ok(_) => notes.push(format!("the address in the log has no run: {address}")),
            Err((message, _)) => notes.push(format!("the address in the log does not help: {message}")),
        }
    }
    None
}

/// Whether runs can be what the log is about: not if it names another application.
fn may_be(runs: &[RunSource], log: &DriverLog) -> bool {
    let id = log.application_id.as_deref();
    id.is_none() || runs.iter().any(|run| run.app_id_hint.as_deref() == id)
}

/// What the user may have meant with a file.
pub(crate) fn meant(file: &Path, otherwise: &str) -> String {
    head(file).as_deref().and_then(kind).and_then(hint_of).unwrap_or(otherwise).to_owned()
}

fn hint_of(kind: TextKind) -> Option<&'static str> {
    Some(match kind {
        TextKind::EventLog => "it is an event log: name it without an option",
        TextKind::Packed => {
            "it is compressed: an event log is named without an option, other texts are unpacked first"
        }
        TextKind::WebPage => "it is a web page: save the text itself",
        TextKind::DriverLog => "it is the log of a driver: give it with --driver-log",
        TextKind::Plan => "it is what EXPLAIN prints: give it with --explain",
        TextKind::Statement => "it is SQL: give it with --sql-file",
    })
}

/// The beginning of a file, unpacked.
fn head(file: &Path) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(Arc::new(LocalFile::open(file).ok()?)).ok()?;
    let mut bytes = vec![0; HEAD_BYTES];
    let n = decoder.read(&mut bytes);
    bytes.truncate(n);
    Some(bytes)
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

fn read(option: &str, file: &Path, most: u64) -> anyhow::Result<String> {
    let opened: std::io::Result<Box<dyn Read>> = match file.to_str() {
        Some("-") => Ok(Box::new(std::io::stdin())),
        _ => std::fs::File::open(file).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut bytes = Vec::new();
    opened
        .and_then(|opened| opened.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(option, file, &error))?;
    if bytes.len() as u64 > most {
        let message = format!("{option} {}: larger than {most} bytes", file.display());
        return Err(UsageError::new(message, "cut out the part that is meant").into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(option: &str, file: &Path, error: &std::io::Error) -> anyhow::Error {
    UsageError::new(format!("{option} {}: {error}", file.display()), "name a file that may be read").into()
}
