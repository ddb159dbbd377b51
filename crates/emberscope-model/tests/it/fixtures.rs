//! Logs of real Spark against an oracle: `fixtures/manifest.json`, computed from the raw JSON by an
//! independent program (`fixtures/check.py`).

use crate::base::options;
use emberscope_log::block::ParseOptions;
use emberscope_log::source::{RunSource, discover};
use emberscope_model::load::load;
use emberscope_model::run::JobStatus;
use emberscope_model::sql::SqlStatus;
use emberscope_model::summary::summarize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn manifest() -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(directory().join("manifest.json")).unwrap()).unwrap()
}

pub(crate) fn names() -> Vec<String> {
    manifest().iter().map(|fixture| fixture["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn fixture_source(name: &str) -> RunSource {
    let fixture = manifest().into_iter().find(|fixture| fixture["name"] == name).unwrap();
    source_of(&fixture)
}

fn source_of(fixture: &Value) -> RunSource {
    let path = directory().join(fixture["path"].as_str().unwrap());
    let mut found = discover(path.to_str().unwrap()).unwrap();
    assert_eq!(found.runs.len(), 1, "{path:?} {:?}", found.skipped);
    found.runs.remove(0)
}

/// The decoded bytes of all members of a fixture.
pub(crate) fn fixture_bytes(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    for member in fixture_source(name).members {
        let mut decoder = member.open().unwrap();
        loop {
            match decoder.read(&mut buffer) {
                0 => break,
                n => bytes.extend_from_slice(&buffer[..n]),
            }
        }
    }
    bytes
}

#[test]
fn agree_with_the_oracle() {
    let mut differences = Vec::new();
    let fixtures = manifest();
    assert!(fixtures.len() > 20);
    for fixture in &fixtures {
        let run = load(&source_of(fixture), options(), ParseOptions::default(), &|_| {});
        let summary = serde_json::to_value(summarize(&run)).unwrap();
        let expected = &fixture["expected"];
        let totals = &summary["totals"];
        let jobs_of = |status| run.jobs.iter().filter(|job| job.status == status).count();
        let sql_of = |status| run.sql_executions.iter().filter(|sql| sql.status == status).count();
        let ours = json!({
            "application_id": summary["application"]["id"],
            "start_time_ms": summary["application"]["start_time_ms"],
            "end_time_ms": run.application.has_end.then_some(run.application.end_ms),
            "decoded_bytes": run.trust.files.iter().map(|file| file.decoded_bytes).sum::<u64>(),
            "events": run.trust.events,
            // To the oracle a cut last line is a bad one.
            "bad_lines": run.trust.bad_lines.count + u64::from(run.trust.truncated_at.is_some()),
            "jobs": totals["jobs"],
            "jobs_succeeded": jobs_of(JobStatus::Succeeded),
            "jobs_failed": totals["jobs_failed"],
            "jobs_unfinished": jobs_of(JobStatus::Running),
            "stages": totals["stages"],
            "stage_attempts": totals["stage_attempts"],
            "stages_skipped": totals["stages_skipped"],
            "tasks": totals["tasks"],
            "useful_attempts": run.stages.iter().map(|stage| stage.tasks.useful().len()).sum::<usize>(),
            "sql": totals["sql_executions"],
            "sql_failed": sql_of(SqlStatus::Failed),
            "sql_unfinished": sql_of(SqlStatus::Running),
            "executors_added": run.executors.iter().filter(|executor| executor.added_ms.is_some()).count(),
            "executors_removed": run.executors.iter().filter(|executor| executor.removed_ms.is_some()).count(),
            "all_work": totals["all_work"],
            "useful": totals["useful"],
        });
        for (key, value) in ours.as_object().unwrap() {
            if expected.get(key).is_some_and(|expected| expected != value) {
                differences
                    .push(format!("{} {key}: ours {value}, oracle {}", fixture["name"], expected[key]));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
