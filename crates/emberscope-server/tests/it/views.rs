//! What the page's views ask for: equal to what other doors say of the same run, and never too large.

use crate::base::{Answer, fixtures, get, server};
use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// A server over one fixture, and its run's address.
pub(crate) struct Run {
    pub(crate) server: Router,
    pub(crate) id: String,
}

impl Run {
    pub(crate) fn of(fixture: &str) -> Run {
        Run::at(&fixtures().join("logs").join(fixture))
    }

    pub(crate) fn at(path: &std::path::Path) -> Run {
        let server = server(&[path]);
        let runs = get(&server, "/api/emberscope/v1/runs").json();
        Run { id: runs["runs"][0]["id"].as_str().unwrap().to_owned(), server }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        get(&self.server, &format!("/api/emberscope/v1/runs/{}/{path}", self.id))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.json()
    }

    /// What Spark's API says of the run's application.
    fn spark(&self, path: &str) -> Value {
        let application = self.json("summary")["application"]["id"].as_str().unwrap().to_owned();
        get(&self.server, &format!("/api/v1/applications/{application}/{path}")).json()
    }
}

fn sum(rows: &Value, pointer: &str) -> i64 {
    rows.as_array().unwrap().iter().filter_map(|row| row.pointer(pointer)?.as_i64()).sum()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name}: {value}"))
}

const RUNS: [&str; 6] = [
    "sql-aqe-4.3.0",
    "executor-loss-4.3.0",
    "failures-4.3.0",
    "speculation-4.3.0",
    "nested-sql-4.3.0",
    "killed-plain-3.5.9",
];

#[test]
fn lists_add_up_to_the_summary() {
    for fixture in RUNS {
        let run = Run::of(fixture);
        let totals = run.json("summary")["totals"].clone();
        let (jobs, stages) = (run.json("jobs"), run.json("stages"));
        let (executors, sql) = (run.json("executors"), run.json("sql"));
        assert_eq!(jobs["total"], totals["jobs"], "{fixture}");
        assert_eq!(stages["total"], totals["stage_attempts"], "{fixture}");
        assert_eq!(sql["total"], totals["sql_executions"], "{fixture}");
        for (rows, what) in [(&stages["stages"], "stages"), (&executors["executors"], "executors")] {
            assert_eq!(
                sum(rows, "/tasks/attempts"),
                totals["tasks"]["attempts"].as_i64().unwrap(),
                "{fixture} {what}"
            );
            assert_eq!(
                sum(rows, "/tasks/killed"),
                totals["tasks"]["killed"].as_i64().unwrap(),
                "{fixture} {what}"
            );
        }
        let work = |name: &str| totals["useful"][name].as_i64().unwrap_or(0);
        for name in ["run_time_ms", "input_bytes", "shuffle_read_bytes", "shuffle_write_records"] {
            assert_eq!(sum(&stages["stages"], &format!("/work/{name}")), work(name), "{fixture} {name}");
        }
        let all = |name: &str| totals["all_work"][name].as_i64().unwrap_or(0);
        assert_eq!(sum(&executors["executors"], "/work/run_time_ms"), all("run_time_ms"), "{fixture}");
        assert_eq!(
            sum(&stages["stages"], "/lost_time_ms"),
            totals["lost"]["attempt_time_ms"].as_i64().unwrap(),
            "{fixture}"
        );
        assert_eq!(
            sum(&jobs["jobs"], "/tasks/attempts"),
            sum(&stages["stages"], "/tasks/attempts"),
            "{fixture}"
        );
    }
}

#[test]
fn lists_agree_with_sparks_api() {
    let run = Run::of("sql-aqe-4.3.0");
    let ours = run.json("stages");
    for theirs in run.spark("stages").as_array().unwrap().iter().filter(|stage| stage["status"] != "SKIPPED")
    {
        let is_it = |row: &&Value| row["id"] == theirs["stageId"] && row["attempt"] == theirs["attemptId"];
        let row = list(&ours, "stages").iter().find(is_it).unwrap();
        assert_eq!(row["num_tasks"], theirs["numTasks"]);
        assert_eq!(row["work"]["run_time_ms"], theirs["executorRunTime"]);
        assert_eq!(row["work"]["shuffle_write_bytes"], theirs["shuffleWriteBytes"]);
    }
    let jobs = run.json("jobs");
    for theirs in run.spark("jobs").as_array().unwrap() {
        let row = list(&jobs, "jobs").iter().find(|row| row["id"] == theirs["jobId"]).unwrap();
        assert_eq!(row["stages"]["listed"], json!(list(theirs, "stageIds").len()));
        assert_eq!(row["status"] == "succeeded", theirs["status"] == "SUCCEEDED");
        assert_eq!(row["stages"]["skipped"], theirs["numSkippedStages"]);
    }
    let failed = run.json("jobs?status=failed");
    assert_eq!(failed["matched"], json!(0));
    assert_eq!(run.get("jobs?status=odd").status, StatusCode::BAD_REQUEST);
}

#[test]
fn a_stage_and_what_is_below_it() {
    let run = Run::of("executor-loss-4.3.0");
    let stage = run.json("stages/0/0");
    assert_eq!(stage["stage"]["tasks"]["attempts"], json!(10));
    let distributions = run.json("stages/0/0/distributions?attempts=all&bars=7");
    assert_eq!(distributions["total"], json!(10));
    for one in list(&distributions, "distributions") {
        let counted = sum(&one["bars"], "/attempts");
        assert_eq!(json!(counted), one["attempts"], "{one}");
        assert!(list(one, "bars").len() <= 7);
        assert_eq!(one["attempts"].as_i64().unwrap() + one["not_measured"].as_i64().unwrap(), 10);
    }
    let run_time = run.json("stages/0/0/distributions?metric=run_time_ms");
    let total = &run_time["distributions"][0]["total"];
    assert_eq!(*total, stage["stage"]["work"]["run_time_ms"]);
    let scatter = run.json("stages/0/0/scatter?x=run_time_ms&y=duration_ms&attempts=all");
    assert_eq!(scatter["attempts"], json!(list(&scatter, "points").len()));
    assert_eq!(scatter["is_sample"], json!(false));
    for by in ["host", "executor"] {
        let places = run.json(&format!("stages/0/0/hosts?by={by}"));
        assert_eq!(sum(&places["places"], "/tasks/attempts"), 10);
    }
    let failures = run.json("stages/0/0/failures");
    let unsuccessful = run.json("stages/0/0/tasks?status=failed,killed,resubmitted");
    assert_eq!(json!(sum(&failures["groups"], "/attempts")), unsuccessful["matched"], "{failures}");
    for (bad, status) in [
        ("stages/0/0/distributions?metric=colour", StatusCode::BAD_REQUEST),
        ("stages/0/0/scatter?x=colour", StatusCode::BAD_REQUEST),
        ("stages/0/0/hosts?by=colour", StatusCode::BAD_REQUEST),
        ("stages/77/0", StatusCode::NOT_FOUND),
        ("stages/0/0/distributions?scale=odd", StatusCode::BAD_REQUEST),
        ("stages/x/0", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(run.get(bad).status, status, "{bad}");
    }
}

#[test]
fn tasks_are_filtered_and_sorted() {
    let run = Run::of("executor-loss-4.3.0");
    let ask = |query: &str| run.json(&format!("stages/0/0/tasks?{query}"));
    let column = |window: &Value, name: &str| -> Vec<i64> {
        let columns = list(window, "columns");
        let values = &columns.iter().find(|column| column["name"] == name).unwrap()["values"];
        values.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect()
    };
    let sorted = column(&ask("sort=-duration_ms&columns=duration_ms"), "duration_ms");
    assert!(sorted.is_sorted_by(|a, b| a >= b) && sorted.len() == 10, "{sorted:?}");
    let middle = sorted[4];
    let long = ask(&format!("min_duration_ms={middle}"));
    assert_eq!(long["matched"], json!(sorted.iter().filter(|ms| **ms >= middle).count()));
    let counted = ask("counted=true")["matched"].as_i64().unwrap();
    let lost = ask("counted=false")["matched"].as_i64().unwrap();
    assert_eq!(counted + lost, 10);
    assert_eq!(ask("q=no-such-host")["matched"], json!(0));
    assert_eq!(ask("from_ms=0")["matched"], json!(10));
    assert_eq!(ask("to_ms=-1")["matched"], json!(0));
    let errors = Run::of("failures-4.3.0");
    let failed = errors.json("stages?status=failed");
    let (id, attempt) = (&failed["stages"][0]["id"], &failed["stages"][0]["attempt"]);
    let window = errors.json(&format!("stages/{id}/{attempt}/tasks?status=failed&columns=error&sort=error"));
    let values = &window["columns"][0]["values"];
    assert!(values.as_array().unwrap().iter().all(Value::is_string), "{window}");
}

#[test]
fn storage_configuration_and_reference() {
    let cache = Run::of("cache-4.3.0").json("storage");
    assert!(!list(&cache, "rdds").is_empty(), "{cache}");
    let run = Run::of("sql-noaqe-4.3.0");
    let configuration = run.json("configuration");
    assert_eq!(configuration["defaults_of_version"], json!("4.3"));
    let setting = |key: &str| {
        list(&configuration, "spark").iter().find(|row| row["key"] == key).cloned().unwrap_or(Value::Null)
    };
    let adaptive = setting("spark.sql.adaptive.enabled");
    assert_eq!((&adaptive["value"], &adaptive["default"]), (&json!("false"), &json!("true")), "{adaptive}");
    let speculation = setting("spark.speculation");
    assert_eq!((&speculation["origin"], &speculation["value"]), (&json!("default"), &json!("false")));
    let index = get(&run.server, "/api/emberscope/v1/reference").json();
    for page in list(&index, "pages") {
        let tag = page["tag"].as_str().unwrap();
        let page = get(&run.server, &format!("/api/emberscope/v1/reference/{tag}")).json();
        assert!(page["markdown"].as_str().unwrap().contains("## "), "{tag}");
    }
    let missing = get(&run.server, "/api/emberscope/v1/reference/NOSUCH");
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}
