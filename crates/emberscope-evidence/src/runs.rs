//! Runs that evidence without an event log makes: of a driver's log, or of a plan alone.

use crate::{Evidence, Named, SqlText};
use emberscope_log::input::Memory;
use emberscope_log::source::{KnownFrom, Provenance, RunSource, discover_input};
use emberscope_text::driver_log::DriverLog;
use emberscope_text::explain::{self, Explained};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Events that were made of a driver's log, and could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("the events of {name} cannot be packed: {error}")]
pub struct PackingError {
    /// The log, as shown to the user.
    pub name: String,
    /// Why not.
    #[source]
    pub error: io::Error,
}

/// The run that texts alone tell of: what the driver's log says, or else a plan in which nothing happened. A plan that
/// only the log has becomes evidence of its own. Empty where there is neither.
///
/// # Errors
/// When the events of the driver's log cannot be packed.
pub fn of_texts(evidence: &mut Evidence) -> Result<Vec<RunSource>, PackingError> {
    if let Some(log) = &mut evidence.driver_log {
        let printed = log.content.plan.as_deref().and_then(explain::parse);
        if !log.content.jobs.is_empty() || !log.content.stages.is_empty() {
            let plan = evidence.explain.as_ref().map(|plan| plan.content.clone()).or(printed);
            let runs = of_driver_log(log, plan.as_ref(), evidence.sql.as_ref())?;
            // The run has them now, and there may be millions.
            log.content.tasks = BTreeMap::new();
            return Ok(runs);
        }
        if let (None, Some(content)) = (&evidence.explain, printed) {
            evidence.explain = Some(Named { name: log.name.clone(), content });
        }
    }
    Ok(match &evidence.explain {
        Some(plan) => of_plan(plan, evidence.sql.as_ref()),
        None => Vec::new(),
    })
}

fn of_driver_log(
    log: &Named<DriverLog>,
    plan: Option<&Explained>,
    sql: Option<&Named<SqlText>>,
) -> Result<Vec<RunSource>, PackingError> {
    let content = &log.content;
    let mut notes = vec!["put together from the driver's log, not from an event log".to_owned()];
    notes.extend(content.notes.iter().cloned());
    let not_measured =
        ["metrics of tasks", "executors' cores", "settings", "SQL executions", "parents of stages"];
    let provenance = Provenance {
        known_from: KnownFrom::DriverLog,
        notes,
        not_measured: not_measured.iter().map(|what| (*what).to_owned()).collect(),
        ..Provenance::default()
    };
    let events = packed(|out| {
        content.write_events(out)?;
        match plan {
            Some(plan) => out.write_all(plan_event(plan, sql, content.first_ms).as_bytes()),
            None => Ok(()),
        }
    });
    let events = events.map_err(|error| PackingError { name: log.name.clone(), error })?;
    Ok(runs(&log.name, events, content.application_id.as_deref(), &provenance))
}

/// Events in zstd: the tasks of a large run are gigabytes of JSON.
fn packed(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    // JSON is written a sign at a time.
    let mut packed = io::BufWriter::new(zstd::Encoder::new(Vec::new(), 1)?);
    write(&mut packed)?;
    packed.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

fn of_plan(plan: &Named<Explained>, sql: Option<&Named<SqlText>>) -> Vec<RunSource> {
    let provenance = Provenance {
        known_from: KnownFrom::Explain,
        notes: vec!["a plan as EXPLAIN shows it: nothing ran".to_owned()],
        not_measured: ["everything that takes time".to_owned()].into(),
        ..Provenance::default()
    };
    runs(&plan.name, plan_event(&plan.content, sql, None).into_bytes(), None, &provenance)
}

/// A query with a plan, as an event.
fn plan_event(plan: &Explained, sql: Option<&Named<SqlText>>, time_ms: Option<i64>) -> String {
    let description = sql.map_or("EXPLAIN", |sql| sql.content.text.as_str());
    let start = serde_json::json!({
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 0,
        "description": description, "details": "", "physicalPlanDescription": "", "time": time_ms,
        "sparkPlanInfo": plan.plan_info(),
    });
    format!("{start}\n")
}

fn runs(name: &str, events: Vec<u8>, id: Option<&str>, provenance: &Provenance) -> Vec<RunSource> {
    let mut found = discover_input(Arc::new(Memory::new(name, events))).runs;
    for run in &mut found {
        run.app_id_hint = id.map(str::to_owned);
        run.provenance = provenance.clone();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let error = packed(|_| Err(io::Error::other("no more"))).unwrap_err();
        let error = PackingError { name: "driver.log".to_owned(), error };
        assert_eq!(error.to_string(), "the events of driver.log cannot be packed: no more");
        // Zstandard at once: what is written comes back.
        let bytes = packed(|out| out.write_all(b"{}\n")).unwrap();
        assert_eq!(zstd::decode_all(&bytes[..]).unwrap(), b"{}\n");
    }
}
