//! Spark's History Server as the referee: the bodies of its answers about the same logs, value by value.
//!
//! `referee/answers` holds what it said of every fixture, and `referee/answers/requests` what it said to
//! requests with all parameters; `referee/history_server.py` recorded them. `EMBERSCOPE_ANSWERS` names a
//! directory with fresh ones, which `.ci/run` asks a live server for; `EMBERSCOPE_CORPUS_ANSWERS` one about the
//! corpus beside the project, in place of those in the cache. A difference must be listed in [`DIFFERENCES`]
//! with its reason.

use crate::base::{Answer, fixtures, get, server};
use crate::differences::{DIFFERENCES, TIES};
use axum::Router;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Answers are compared as JSON, in which order of fields does not count.
#[derive(Default)]
struct Comparison {
    log: String,
    equal: u64,
    explained: BTreeMap<&'static str, u64>,
    differing: Vec<String>,
}

impl Comparison {
    fn value(&mut self, path: &str, ours: &Value, theirs: &Value) {
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) => {
                let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
                for key in keys.into_iter().filter(|key| !VOLATILE.contains(&key.as_str())) {
                    let path = format!("{path}.{key}");
                    match (ours.get(key), theirs.get(key)) {
                        (Some(ours), Some(theirs)) => self.value(&path, ours, theirs),
                        (ours, theirs) => self.differ(&path, &show(ours), &show(theirs)),
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
                let (ours, theirs) = if is_set(path) {
                    (sorted(ours), sorted(theirs))
                } else {
                    (ours.clone(), theirs.clone())
                };
                for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    self.value(&format!("{path}[{}]", name(theirs, at)), ours, theirs);
                }
                self.equal += u64::from(ours.is_empty());
            }
            _ if is_same(ours, theirs) => self.equal += 1,
            _ if path.ends_with(".value")
                && without_place(ours).is_some_and(|ours| Some(ours) == without_place(theirs)) =>
            {
                *self.explained.entry(TIES).or_default() += 1;
            }
            _ => self.differ(path, &ours.to_string(), &theirs.to_string()),
        }
    }

    fn differ(&mut self, path: &str, ours: &str, theirs: &str) {
        let known =
            DIFFERENCES.iter().find(|known| self.log.contains(known.log) && matches(known.path, path));
        match known {
            Some(known) => *self.explained.entry(known.reason).or_default() += 1,
            None => {
                let cut = |text: &str| text.chars().take(300).collect::<String>();
                self.differing.push(format!(
                    "{} {path}: ours {}, theirs {}",
                    self.log,
                    cut(ours),
                    cut(theirs)
                ));
            }
        }
    }
}

/// Whether all parts of `pattern`, set apart by `*`, come in `path` in their order.
fn matches(pattern: &str, path: &str) -> bool {
    let mut rest = path;
    pattern.split('*').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// What changes from server to server.
const VOLATILE: &[&str] = &[
    "lastUpdated",
    "lastUpdatedEpoch",
    "executorLogs",
    "logUrls",
    "attributes",
    "logSourceName",
    "logSourceFullPath",
];

/// Lists whose order means nothing.
fn is_set(path: &str) -> bool {
    ["stageIds", "rddIds", "jobTags", "partitions", "JobIds"].iter().any(|name| path.ends_with(name))
}

fn sorted(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    items.sort_by_key(|item| match item.as_u64() {
        Some(number) => format!("{number:012}"),
        None => item.to_string(),
    });
    items
}

fn is_same(ours: &Value, theirs: &Value) -> bool {
    ours == theirs || (ours.is_number() && ours.as_f64() == theirs.as_f64())
}

/// A metric's text before the stage and task that its largest value came from.
fn without_place(value: &Value) -> Option<&str> {
    value.as_str()?.split_once(" (stage ").map(|(before, _)| before)
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), Value::to_string)
}

/// How an item of a list is called.
fn name(item: &Value, at: usize) -> String {
    let id = ["jobId", "taskId", "nodeId", "id", "blockName"].iter().find_map(|key| item.get(key));
    match (item.get("stageId"), item.get("attemptId"), id) {
        (Some(stage), Some(attempt), _) => format!("{stage}.{attempt}"),
        (_, _, Some(id)) => id.to_string(),
        _ => at.to_string(),
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap()
}

fn answers(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".json.zst"));
    files.sort();
    files
}

fn directory() -> PathBuf {
    let fresh = std::env::var_os("EMBERSCOPE_ANSWERS").map(PathBuf::from);
    fresh.unwrap_or_else(|| fixtures().join("../referee/answers"))
}

/// Logs of other origin and what the History Server said of them, where both are at hand.
fn corpus() -> Option<(PathBuf, PathBuf)> {
    let logs = fixtures().join("../../shared/corpus");
    let answers = std::env::var_os("EMBERSCOPE_CORPUS_ANSWERS")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/emberscope/answers/4.3.0")))?;
    if logs.exists() && answers.join("requests").exists() {
        return Some((logs, answers));
    }
    eprintln!("no corpus beside the project, or no answers about it in the cache: nothing was compared");
    None
}

/// The server's answers about one log below `logs`, beside those recorded.
fn compare_answer(logs: &Path, theirs: &Value) -> Comparison {
    let log = theirs["log"].as_str().unwrap();
    let server = server(&[&logs.join(log)]);
    let mut comparison = Comparison { log: log.to_owned(), ..Comparison::default() };
    let listed = get(&server, "/api/v1/applications").json();
    let app = &listed[0];
    let attempt = app["attempts"][0]["attemptId"].as_str();
    let id = app["id"].as_str().unwrap_or_else(|| panic!("{log} is not listed"));
    let root = format!("/api/v1/applications/{id}");
    let below = attempt.map_or_else(|| root.clone(), |attempt| format!("{root}/{attempt}"));
    let ask = |path: &str| get(&server, &format!("{below}/{path}")).json();

    let one = get(&server, &root).json();
    comparison.value("application.id", &one["id"], &theirs["application"]["id"]);
    comparison.value("application.name", &one["name"], &theirs["application"]["name"]);
    comparison.value("attempt", &one["attempts"][0], &theirs["application"]["attempt"]);
    comparison.value("jobs", &ask("jobs"), &theirs["jobs"]);
    let mut stages = ask("stages").as_array().unwrap().clone();
    stages.reverse();
    comparison.value("stages", &stages.into(), &theirs["stages"]);
    for (key, tasks) in theirs["tasks"].as_object().unwrap() {
        let ours = ask(&format!("stages/{key}/taskList?offset=0&length=1000000"));
        comparison.value(&format!("tasks {key}"), &ours, tasks);
        let summary = &theirs["task_summary"][key];
        if !summary.is_null() {
            let ours = ask(&format!("stages/{key}/taskSummary?quantiles=0.0,0.25,0.5,0.75,1.0"));
            comparison.value(&format!("task summary {key}"), &ours, summary);
        }
    }
    comparison.value("executors", &ask("allexecutors"), &theirs["executors"]);
    comparison.value("rdds", &ask("storage/rdd"), &theirs["rdds"]);
    let sql = ask("sql?details=true&planDescription=false&offset=0&length=100000");
    comparison.value("sql", &sql, &theirs["sql"]);
    let profiles = &ask("environment")["resourceProfiles"];
    comparison.value("resource profiles", profiles, &theirs["resource_profiles"]);
    comparison
}

/// Requests with all parameters, and faulty ones.
fn compare_requests(logs: &Path, recorded: &Value) -> Comparison {
    let log = recorded["log"].as_str().unwrap();
    let server = server(&[&logs.join(log)]);
    let listed = get(&server, "/api/v1/applications").json();
    let id = listed[0]["id"].as_str().unwrap();
    let attempt = listed[0]["attempts"][0]["attemptId"].as_str();
    let below = attempt.map_or_else(|| id.to_owned(), |attempt| format!("{id}/{attempt}"));
    let mut comparison = Comparison { log: log.to_owned(), ..Comparison::default() };
    for (asked, reply) in recorded["replies"].as_object().unwrap() {
        let path = if asked.is_empty() { String::new() } else { format!("/{asked}") };
        compare_reply(&mut comparison, &server, &format!("/api/v1/applications/{below}{path}"), asked, reply);
    }
    comparison
}

fn compare_reply(comparison: &mut Comparison, server: &Router, path: &str, asked: &str, reply: &Value) {
    let ours: Answer = get(server, path);
    let asked = format!("GET {asked}");
    comparison.value(&format!("{asked} status"), &json!(ours.status.as_u16()), &reply["status"]);
    let kind = ours.header(axum::http::header::CONTENT_TYPE);
    match kind {
        "application/json" => comparison.value(&asked, &ours.json(), &reply["body"]),
        "text/plain" => comparison.value(&asked, &json!(ours.text()), &reply["body"]),
        _ => comparison.value(&format!("{asked} type"), &json!(kind), &reply["type"]),
    }
}

fn settle(comparisons: &[Comparison]) {
    let equal: u64 = comparisons.iter().map(|comparison| comparison.equal).sum();
    let mut explained: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, times) in comparisons.iter().flat_map(|comparison| &comparison.explained) {
        *explained.entry(reason).or_default() += times;
    }
    let differing: Vec<&String> = comparisons.iter().flat_map(|comparison| &comparison.differing).collect();
    eprintln!(
        "{} logs, {equal} values equal, {} explained",
        comparisons.len(),
        explained.values().sum::<u64>()
    );
    for (reason, times) in &explained {
        eprintln!("  {times:6} {reason}");
    }
    let shown: Vec<&str> = differing.iter().take(400).map(|line| line.as_str()).collect();
    assert!(differing.is_empty(), "{} values differ:\n{}", differing.len(), shown.join("\n"));
}

#[test]
fn every_answer_about_every_fixture() {
    let comparisons: Vec<Comparison> =
        answers(&directory()).iter().map(|answer| compare_answer(&fixtures(), &read(answer))).collect();
    assert!(comparisons.len() > 50);
    settle(&comparisons);
}

#[test]
fn all_parameters_and_faulty_requests() {
    let requests = answers(&directory().join("requests"));
    let (listings, requests): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|path| path.ends_with("listing.json.zst"));
    let mut comparisons: Vec<Comparison> =
        requests.iter().map(|path| compare_requests(&fixtures(), &read(path))).collect();
    for listing in listings.iter().map(|path| read(path)) {
        let logs: Vec<PathBuf> = listing["logs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|log| fixtures().join(log.as_str().unwrap()))
            .collect();
        let server = server(&logs.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        let mut comparison = Comparison { log: "listing".to_owned(), ..Comparison::default() };
        for entry in get(&server, "/api/v1/applications").json().as_array().unwrap() {
            // Ends of packed logs are known once they were read.
            get(&server, &format!("/api/v1/applications/{}", entry["id"].as_str().unwrap()));
        }
        for (asked, reply) in listing["replies"].as_object().unwrap() {
            compare_reply(&mut comparison, &server, &format!("/api/v1/{asked}"), asked, reply);
        }
        comparisons.push(comparison);
    }
    assert!(comparisons.len() > 8);
    settle(&comparisons);
}

#[test]
fn every_answer_about_the_corpus() {
    let Some((logs, recorded)) = corpus() else { return };
    let comparisons: Vec<Comparison> =
        answers(&recorded).iter().map(|answer| compare_answer(&logs, &read(answer))).collect();
    assert!(comparisons.len() > 20);
    settle(&comparisons);
}

#[test]
fn all_parameters_over_the_corpus() {
    let Some((logs, recorded)) = corpus() else { return };
    let comparisons: Vec<Comparison> =
        answers(&recorded.join("requests")).iter().map(|path| compare_requests(&logs, &read(path))).collect();
    assert!(comparisons.len() > 20);
    settle(&comparisons);
}
