//! Findings from the answers of a History Server are those from the log, but for listed reasons.
//!
//! `referee/rest_findings.py` does the same with live servers, which answer more: the recordings have neither
//! environments nor texts of plans.

use crate::recorded::{Recorded, run_of};
use emberscope_analysis::context::Context;
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose_in};
use emberscope_analysis::finding::{Finding, Severity};
use emberscope_evidence::locate::{locate, working};
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_rest::{Wanted, collect};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn diagnosis(run: &Run) -> Diagnosis {
    let options = Options::default();
    diagnose_in(&Context::of(run, &options.thresholds), &options)
}

/// Severities by type and place; several of one place by their number.
fn found(diagnosis: &Diagnosis) -> BTreeMap<(String, String, usize), Severity> {
    let mut found = BTreeMap::new();
    for finding in &diagnosis.findings {
        let scope = &finding.scope;
        let place = format!(
            "{:?} {:?} {:?} {:?} {:?}",
            scope.stage_id, scope.stage_attempt, scope.sql_id, scope.executor_id, scope.job_id
        );
        let of = |n| (finding.kind.to_owned(), place.clone(), n);
        let n = (0..).find(|n| !found.contains_key(&of(*n))).unwrap();
        found.insert(of(n), finding.severity);
    }
    found
}

/// What differs for what the recordings lack and live servers answer: type, how, and the name of the fixture.
const NOT_RECORDED: [(&str, &str, &str); 3] = [
    // Environments.
    ("configAudit", "only log", ""),
    // Texts of plans, and with them what an exchange that is used again repeats.
    ("duplicatePlanSubtree", "only log", "plans-"),
    ("underBroadcast", "severity", "explain-"),
];

/// Why findings may differ: of a type, one way, in fixtures whose names begin so.
fn is_explained(reasons: &[Value], kind: &str, how: &str, fixture: &str) -> bool {
    reasons.iter().any(|reason| {
        let text = |name: &str| reason[name].as_str().unwrap();
        (text("type") == "*" || text("type") == kind)
            && text("how").split('|').any(|one| one == how)
            && text("fixtures").split('|').any(|one| fixture.starts_with(one))
    })
}

/// What a finding says of the rounding of its figures: half of the last digit of the smallest, 2.0 KiB or 1.0 s, at most.
fn rounding_error(finding: &Finding) -> Option<f64> {
    let error = finding.evidence.get("rounding_error_share")?.as_f64()?;
    assert!(error > 0.0 && error <= 0.05, "{error} {}", finding.title);
    Some(error)
}

#[test]
fn answers_give_the_findings_of_the_log() {
    let reasons = std::fs::read(root().join("referee/rest_differences.json")).unwrap();
    let reasons: Vec<Value> = serde_json::from_slice(&reasons).unwrap();
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("referee/answers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".json.zst"))
        .collect();
    files.sort();
    let (mut same, mut rounded, mut unexplained) = (0, 0, Vec::new());
    for file in files {
        let bytes = zstd::decode_all(std::fs::File::open(&file).unwrap()).unwrap();
        let recorded = Recorded(serde_json::from_slice(&bytes).unwrap());
        let Some(log) = recorded.0["log"].as_str() else { continue };
        let Ok(found_log) = discover(root().join("fixtures").join(log).to_str().unwrap()) else { continue };
        let [source] = &found_log.runs[..] else { continue };
        let Ok(made) = collect(&recorded, &Wanted::default(), &|_| {}) else { continue };
        let from_log = load(source, ScanOptions::default(), ParseOptions::default(), &|_| {});
        let (from_log, from_answers) = (diagnosis(&from_log), diagnosis(&run_of(&made)));
        rounded += from_answers.findings.iter().filter_map(rounding_error).count();
        assert_eq!(from_log.findings.iter().find_map(rounding_error), None, "a log rounds nothing");
        let (log, answers) = (found(&from_log), found(&from_answers));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for of in log.keys().chain(answers.keys()).collect::<BTreeSet<_>>() {
            let how = match (log.get(of), answers.get(of)) {
                (Some(a), Some(b)) if a == b => {
                    same += 1;
                    continue;
                }
                (Some(_), Some(_)) => "severity",
                (Some(_), None) => "only log",
                _ => "only answers",
            };
            let is_recorded = |(kind, way, fixture): &(&str, &str, &str)| {
                !(of.0 == *kind && how == *way && name.starts_with(fixture))
            };
            if !NOT_RECORDED.iter().all(is_recorded) {
                continue;
            }
            if !is_explained(&reasons, &of.0, how, &name) {
                unexplained.push(format!("{name}: {} ({how}) {}", of.0, of.1));
            }
        }
    }
    eprintln!("{same} findings are the same, {rounded} rest on rounded figures");
    assert!(rounded >= 2, "{rounded} findings rest on rounded figures");
    assert!(same > 60, "{same} findings are the same");
    assert!(
        unexplained.is_empty(),
        "{} differ without a reason:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
}

#[test]
fn a_command_is_found_with_the_query_that_it_runs() {
    let found = discover(root().join("fixtures/logs/delta-3.5.9").to_str().unwrap()).unwrap();
    let run = load(&found.runs[0], ScanOptions::default(), ParseOptions::default(), &|_| {});
    let options = Options::default();
    let context = Context::of(&run, &options.thresholds);
    let commands: Vec<_> =
        run.sql_executions.iter().filter(|one| one.is_root() && working(&run, one.id) != one.id).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let inside = run.sql_execution(working(&run, command.id)).unwrap();
        assert_eq!((inside.root_id, command.job_ids.len()), (Some(command.id), 0));
        assert!(!inside.job_ids.is_empty());
        let located = locate(&context, None, command.start_ms);
        assert_eq!(located.sql_id, Some(inside.id), "{}", located.reason);
    }
}
