//! Texts around a query, and the runs that they tell of or lead to.

use super::remote;
use crate::cli::{EvidenceFiles, Reading};
use crate::exit::UsageError;
use crate::messages;
use emberscope_evidence::{Evidence, Named, SqlText};
use emberscope_log::input::Memory;
use emberscope_log::source::{Provenance, RunSource, discover_input};
use emberscope_source::credentials::Credentials;
use emberscope_text::driver_log::DriverLog;
use emberscope_text::explain::{self, Explained};
use emberscope_text::sql::{self, outline};
use std::io::BufReader;
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
        evidence.sql = Some(Named { name: shown(file), content });
    }
    if let Some(file) = &files.explain {
        let text = read("--explain", file, MOST_EXPLAIN_BYTES)?;
        let Some(content) = explain::parse(&text) else {
            let message = format!("--explain {}: there is no physical plan in it", file.display());
            return Err(UsageError::new(message, "give what `EXPLAIN FORMATTED SELECT ...` prints").into());
        };
        evidence.explain = Some(Named { name: shown(file), content });
    }
    if let Some(file) = &files.driver_log {
        let opened = std::fs::File::open(file).and_then(|file| DriverLog::read(BufReader::new(file)));
        let content = opened.map_err(|error| unreadable("--driver-log", file, &error))?;
        evidence.driver_log = Some(Named { name: shown(file), content });
    }
    if reading.sources.is_empty() {
        gathered.without_source()?;
    }
    Ok(gathered)
}

impl Gathered {
    /// Finds a run where none was named.
    fn without_source(&mut self) -> anyhow::Result<()> {
        let evidence = &mut self.evidence;
        if let Some(log) = &evidence.driver_log {
            if let Some(runs) = follow(&log.content, &self.reading, &mut evidence.notes) {
                self.reading.extra = runs;
                return Ok(());
            }
            if !log.content.jobs.is_empty() || !log.content.stages.is_empty() {
                let plan = evidence.explain.as_ref().map(|plan| plan.content.clone());
                let plan = plan.or_else(|| log.content.plan.as_deref().and_then(explain::parse));
                self.reading.extra = run_of_log(log, plan.as_ref(), evidence.sql.as_ref());
                return Ok(());
            }
            if evidence.explain.is_none()
                && let Some(content) = log.content.plan.as_deref().and_then(explain::parse)
            {
                evidence.explain = Some(Named { name: log.name.clone(), content });
            }
        }
        if let Some(plan) = &evidence.explain {
            self.reading.extra = run_of_plan(plan, evidence.sql.as_ref());
            return Ok(());
        }
        let name = evidence.driver_log.as_ref().map_or("", |log| log.name.as_str());
        let message = format!("--driver-log {name}: no job, no stage and no plan is in it");
        let hint = "Spark logs jobs at the level INFO; or name the run's address or its event log";
        Err(UsageError::new(message, hint).into())
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
            Ok(found) if !found.runs.is_empty() => {
                if !reading.quiet {
                    messages::note(&format!("the log leads to {address}, which answers"), None);
                }
                return Some(found.runs);
            }
            Ok(_) => notes.push(format!("the address in the log has no run: {address}")),
            Err((message, _)) => notes.push(format!("the address in the log does not help: {message}")),
        }
    }
    None
}

fn run_of_log(
    log: &Named<DriverLog>,
    plan: Option<&Explained>,
    sql: Option<&Named<SqlText>>,
) -> Vec<RunSource> {
    let content = &log.content;
    let mut notes = vec!["put together from the driver's log, not from an event log".to_owned()];
    notes.extend(content.notes.iter().cloned());
    let not_measured =
        ["metrics of tasks", "executors' cores", "settings", "SQL executions", "parents of stages"];
    let provenance = Provenance {
        notes,
        not_measured: not_measured.iter().map(|what| (*what).to_owned()).collect(),
        ..Provenance::default()
    };
    let mut events = content.to_events();
    if let Some(plan) = plan {
        events.extend_from_slice(plan_event(plan, sql, content.first_ms).as_bytes());
    }
    runs(&log.name, events, content.application_id.as_deref(), &provenance)
}

/// A query with a plan, as an event.
fn plan_event(plan: &Explained, sql: Option<&Named<SqlText>>, time_ms: Option<i64>) -> String {
    let description = sql.map_or("EXPLAIN", |sql| sql.content.text.as_str());
    let start = serde_json::json!({
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 0,
        "description": description, "details": "", "physicalPlanDescription": "", "time": time_ms.unwrap_or(0),
        "sparkPlanInfo": plan.plan_info(),
    });
    format!("{start}\n")
}

fn run_of_plan(plan: &Named<Explained>, sql: Option<&Named<SqlText>>) -> Vec<RunSource> {
    let provenance = Provenance {
        notes: vec!["a plan as EXPLAIN shows it: nothing ran".to_owned()],
        not_measured: ["everything that takes time".to_owned()].into(),
        ..Provenance::default()
    };
    runs(&plan.name, plan_event(&plan.content, sql, None).into_bytes(), None, &provenance)
}

fn runs(name: &str, events: Vec<u8>, id: Option<&str>, provenance: &Provenance) -> Vec<RunSource> {
    let mut found = discover_input(Arc::new(Memory::new(name, events))).runs;
    for run in &mut found {
        run.app_id_hint = id.map(str::to_owned);
        run.provenance = provenance.clone();
    }
    found
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

fn read(option: &str, file: &Path, most: u64) -> anyhow::Result<String> {
    let size = std::fs::metadata(file).map_err(|error| unreadable(option, file, &error))?.len();
    if size > most {
        let message = format!("{option} {}: larger than {most} bytes", file.display());
        return Err(UsageError::new(message, "cut out the part that is meant").into());
    }
    let bytes = std::fs::read(file).map_err(|error| unreadable(option, file, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(option: &str, file: &Path, error: &std::io::Error) -> anyhow::Error {
    UsageError::new(format!("{option} {}: {error}", file.display()), "name a file that may be read").into()
}
