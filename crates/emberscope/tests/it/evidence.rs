//! What somebody has who has no event log: an address, a query, the output of EXPLAIN, the log of a driver.

use crate::base;
use crate::command::{Dir, show};
use crate::serve::Server;
use serde_json::Value;
use std::path::{Path, PathBuf};

const PARTS: [&str; 8] = [
    "## 1. Conclusion",
    "## 2. Overview and timeline",
    "## 3. Skew and long tails",
    "## 4. Plan and SQL",
    "## 5. Configuration and risks",
    "## 6. Suggestions",
    "## 7. Evidence and its limits",
    "## 8. To be checked elsewhere",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of one real query, as `fixtures/scenarios/explain.py` made them.
fn dir() -> Dir {
    let data = root().join("crates/emberscope-text/tests/data");
    let read = |name: &str| std::fs::read(data.join(name)).unwrap();
    Dir::new(&[
        ("q.sql", &read("explain-3.5.9/query.sql")),
        ("e.txt", &read("explain-3.5.9/formatted.txt")),
        ("run.log", &read("explain-3.5.9/driver.log")),
    ])
}

fn report(dir: &Dir, args: &[&str]) -> (String, Value) {
    let output = dir.run(&[&["diagnose", "--out", "report.md", "--json", "report.json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", show(&output));
    let text = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    let mut from = 0;
    for part in PARTS {
        from += text[from..].find(part).unwrap_or_else(|| panic!("{part} is missing in\n{text}"));
    }
    let json = std::fs::read(dir.path().join("report.json")).unwrap();
    (text, serde_json::from_slice(&json).unwrap())
}

/// `EMBERSCOPE_UPDATE=1` writes the schema anew.
#[test]
fn the_schema_is_the_committed_one_and_reports_keep_to_it() {
    let wanted = emberscope_evidence::schema::json_schema().to_value();
    let text = serde_json::to_string_pretty(&wanted).unwrap() + "\n";
    let path = root().join("docs/schema/evidence_report.schema.json");
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{} is stale", path.display());
    let log = root().join("fixtures/logs/sql-aqe-3.5.9");
    let dir = dir();
    for args in [
        &["--explain", "e.txt", "--sql-file", "q.sql"][..],
        &["--log", "run.log", "--sql-file", "q.sql", "--explain", "e.txt"],
        &[log.to_str().unwrap(), "--sql-file", "q.sql", "--sql-id", "3"],
        &[log.to_str().unwrap(), "--exec-time", "2026-11-30T06:29:28Z"],
    ] {
        let (_, json) = report(&dir, args);
        let errors = crate::schema::errors(&wanted, &json["evidence_report"]);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn explain_and_sql_alone_give_the_plan_and_its_clauses() {
    let (text, json) = report(&dir(), &["--explain", "e.txt", "--sql-file", "q.sql"]);
    let evidence = &json["evidence_report"];
    assert_eq!(evidence["run_kind"], "explain");
    let mapping = evidence["mapping"].as_array().unwrap();
    let join = mapping.iter().find(|one| one["operator"] == "SortMergeJoin").unwrap();
    assert_eq!(join["fragment"]["start"], serde_json::json!({ "line": 6, "column": 6 }));
    assert_eq!((join["confidence"].as_str(), join["rows"].as_i64()), (Some("high"), None));
    assert!(text.contains("nothing ran: no times, no rows, no skew can be told"));
    assert!(text.contains("Everything about time"));
}

#[test]
fn the_log_of_a_driver_and_sql_give_stages() {
    let dir = dir();
    let (text, json) = report(&dir, &["--log", "run.log", "--sql-file", "q.sql", "--explain", "e.txt"]);
    let evidence = &json["evidence_report"];
    assert_eq!(evidence["run_kind"], "driver_log");
    let stages = evidence["stages"].as_array().unwrap();
    assert!(stages.len() >= 7, "{stages:?}");
    assert!(stages.iter().all(|stage| stage["running_ms"].is_i64() && stage["run_time_ms"].is_null()));
    assert!(!evidence["mapping"].as_array().unwrap().is_empty());
    assert!(text.contains("no metrics of tasks"));
    assert!(text.contains("The evidence has no settings"));
    let types =
        |list: &str| json[list].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    let (clean, not_checked): (Vec<&str>, Vec<&str>) = (types("clean_checks"), types("not_checked"));
    for kind in ["gc", "shuffle", "skew", "stageSlowness", "underBroadcast"] {
        assert!(!clean.contains(&kind) && not_checked.contains(&kind), "{kind}");
    }
    assert!(clean.contains(&"failures"), "{clean:?}");
    let nothing = Dir::new(&[("empty.log", b"hello\n".as_slice())]);
    let output = show(&nothing.run(&["diagnose", "--driver-log", "empty.log"]));
    assert!(output.starts_with("exit code: 2") && output.contains("level INFO"), "{output}");
}

#[test]
fn logs_of_drivers_are_unpacked_and_read_from_a_pipe() {
    let dir = dir();
    let plain = std::fs::read(dir.path().join("run.log")).unwrap();
    let packed = zstd::encode_all(plain.as_slice(), 3).unwrap();
    let half = &packed[..packed.len() / 2];
    let packed = Dir::new(&[
        ("run.log.zst", packed.as_slice()),
        ("cut.zst", &[packed.as_slice(), half].concat()),
        ("nothing.zst", half),
    ]);
    let jobs = |json: &Value| json["evidence_report"]["stages"].as_array().unwrap().len();
    let (_, expected) = report(&dir, &["--driver-log", "run.log"]);
    let (_, unpacked) = report(&packed, &["--driver-log", "run.log.zst"]);
    assert_eq!(unpacked["findings"], expected["findings"]);
    assert_eq!(jobs(&unpacked), jobs(&expected));
    let (text, cut) = report(&packed, &["--driver-log", "cut.zst"]);
    assert!(text.contains("read as far as it goes") && jobs(&cut) == jobs(&expected), "{text}");
    let nothing = show(&packed.run(&["diagnose", "--driver-log", "nothing.zst"]));
    assert!(nothing.starts_with("exit code: 2") && nothing.contains("read as far as it goes"), "{nothing}");
    let mut command = dir.command(&["diagnose", "--driver-log", "-", "--format", "json"]);
    let input = std::fs::File::open(dir.path().join("run.log")).unwrap();
    let output = command.stdin(input).output().unwrap();
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(piped["findings"], expected["findings"]);
}

#[test]
fn an_event_log_and_a_time_find_the_execution() {
    let log = root().join("fixtures/logs/sql-aqe-3.5.9");
    let dir = dir();
    let (text, json) = report(&dir, &[log.to_str().unwrap(), "--exec-time", "2026-11-30T06:29:28Z"]);
    let evidence = &json["evidence_report"];
    let id = evidence["sql_id"].as_u64().unwrap();
    assert_eq!(evidence["located"]["sql_id"].as_u64(), Some(id));
    assert!(text.contains("from the given time"), "{text}");
    assert!(json["findings"].is_array() && json["trust"].is_object());
    let wrong = dir.run(&["diagnose", log.to_str().unwrap(), "--sql-file", "q.sql", "--format", "json"]);
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(told.contains("no execution is like the text") && told.contains("--sql-id"), "{told}");
}

#[test]
fn an_address_and_an_execution_give_everything() {
    let logs = root().join("fixtures/logs/sql-aqe-3.5.9");
    let dir = dir();
    let server = Server::start(&dir, &[logs.to_str().unwrap()]);
    let address = format!("http://{}/history/local-1796020155255/SQL/execution/?id=3", server.address());
    let refused = show(&dir.run(&["diagnose", &address]));
    assert!(refused.starts_with("exit code: 3") && refused.contains("--token"), "{refused}");
    let options = ["--token", "of-the-test", "--sql-file", "q.sql", "--url"];
    let (text, json) = report(&dir, &[&options[..], &[&address]].concat());
    let evidence = &json["evidence_report"];
    assert_eq!((evidence["run_kind"].as_str(), evidence["sql_id"].as_u64()), (Some("event_log"), Some(3)));
    assert!(!evidence["stages"].as_array().unwrap().is_empty());
    assert!(!text.contains("of-the-test") && !json.to_string().contains("of-the-test"));
    let html =
        dir.run(&["diagnose", &address, "--token", "of-the-test", "--sql-file", "q.sql", "--out", "r.html"]);
    assert_eq!(html.status.code(), Some(0), "{}", show(&html));
    let page = std::fs::read_to_string(dir.path().join("r.html")).unwrap();
    assert!(page.contains("<h2>4. Plan and SQL</h2>") && !page.contains("of-the-test"));
}

#[test]
fn a_summary_over_http_is_that_of_the_file() {
    let dir = Dir::new(&[("logs/app-1", base::log().as_bytes()), ("token", b"of-the-test\n")]);
    let server = Server::start(&dir, &["logs"]);
    let address = format!("http://{}/api/v1/applications/app-1", server.address());
    let json = |args: &[&str]| -> Value {
        let output = dir.run(&[&["summary", "--json"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", show(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (near, far) = (json(&["logs/app-1"]), json(&[&address, "--token", "@token"]));
    assert_eq!((&near["application"], &near["totals"]), (&far["application"], &far["totals"]));
}

#[test]
fn runs_of_other_servers_are_served() {
    let dir = Dir::new(&[]);
    save_answers(&dir, "explain-4.3.0");
    let logs = root().join("fixtures/logs/sql-aqe-3.5.9");
    let far = Server::start(&dir, &[logs.to_str().unwrap()]);
    let address = format!("http://{}/history/local-1796020155255/", far.address());
    let near = Server::start(&dir, &[&address, "answers", "--token", "of-the-test"]);
    assert!(near.told[0].starts_with("Serving 2 runs at "), "{:?}", near.told);
    let body = |server: &Server, path: &str| {
        let answer = server.get(path);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    // Of answers the trust line tells what they are, not of the events that were made of them.
    let runs: Value = serde_json::from_str(&body(&near, "/api/emberscope/v1/runs")).unwrap();
    let of =
        runs["runs"].as_array().unwrap().iter().find(|run| run["application_id"] == "local-1796078478535");
    let id = of.unwrap()["id"].as_str().unwrap();
    let trust: Value =
        serde_json::from_str(&body(&near, &format!("/api/emberscope/v1/runs/{id}/trust"))).unwrap();
    assert_eq!((&trust["read"][0], &trust["read"][1]), (&"saved answers".into(), &FILES.into()), "{trust}");
    let text = show(&dir.run(&["diagnose", "answers"]));
    assert!(text.contains(&format!("saved answers · {FILES} · JSON ")), "{text}");
    let jobs = "/api/v1/applications/local-1796020155255/jobs";
    assert_eq!(body(&near, jobs), body(&far, jobs));
    let of_answers = "/api/v1/applications/local-1796078478535";
    assert!(body(&near, &format!("{of_answers}/jobs")).contains("\"jobId\":0"));
    // What was put together from answers is no event log to be downloaded.
    assert!(near.get(&format!("{of_answers}/logs")).starts_with("HTTP/1.1 404"));
    let dead = show(&dir.run(&["serve", "http://127.0.0.1:1/history/application_1_2/", "--no-browser"]));
    assert!(dead.starts_with("exit code: 3") && dead.contains("127.0.0.1:1"), "{dead}");
}

/// How many files [`save_answers`] makes of `explain-4.3.0`: five lists, and tasks of seven stages.
const FILES: &str = "12 files";

/// Answers of a History Server about a fixture, saved as files.
fn save_answers(dir: &Dir, fixture: &str) {
    let file = root().join(format!("referee/answers/{fixture}.json.zst"));
    let recorded: Value =
        serde_json::from_slice(&zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap()).unwrap();
    let place = dir.path().join("answers");
    let save = |name: String, value: &Value| {
        let path = place.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    };
    let app = &recorded["application"];
    save(
        "application.json".to_owned(),
        &serde_json::json!({ "id": app["id"], "name": app["name"], "attempts": [app["attempt"]] }),
    );
    for (name, field) in
        [("jobs", "jobs"), ("stages", "stages"), ("sql", "sql"), ("allexecutors", "executors")]
    {
        save(format!("{name}.json"), &recorded[field]);
    }
    for (key, tasks) in recorded["tasks"].as_object().unwrap() {
        save(format!("stages/{key}/taskList.json"), tasks);
    }
}

#[test]
fn of_a_log_and_answers_the_log_is_used_and_says_so() {
    let dir = dir();
    save_answers(&dir, "explain-4.3.0");
    let log = root().join("fixtures/logs/explain-4.3.0");
    let json = |sources: &[&str]| -> (Value, String) {
        let output = dir.run(
            &[&["diagnose", "--format", "json", "--submitted-at", "2026-11-30T22:42:00Z"], sources].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", show(&output));
        let told = String::from_utf8(output.stderr).unwrap();
        (serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("more than one run: {told}")), told)
    };
    let (alone, _) = json(&[log.to_str().unwrap()]);
    let (answers, _) = json(&["answers"]);
    assert_eq!(answers["evidence_report"]["run_kind"], "monitoring_api");
    for sources in [[log.to_str().unwrap(), "answers"], ["answers", log.to_str().unwrap()]] {
        let (both, told) = json(&sources);
        assert_eq!(both["evidence_report"]["run_kind"], "event_log");
        assert_eq!(both["findings"], alone["findings"]);
        assert!(told.contains("answers is the same application: its event log"), "{told}");
        assert!(
            both["trust"]["notes"].to_string().contains("answers tells of the same application"),
            "{}",
            both["trust"]
        );
    }
    // A log that was cut says what the server knows beyond it.
    let bytes = zstd::decode_all(
        std::fs::File::open(std::fs::read_dir(&log).unwrap().next().unwrap().unwrap().path()).unwrap(),
    )
    .unwrap();
    let name = std::fs::read_dir(&log).unwrap().next().unwrap().unwrap().file_name();
    std::fs::write(dir.path().join(&name), &bytes[..bytes.len() * 3 / 5]).unwrap();
    let (cut, _) = json(&[name.to_str().unwrap(), "answers"]);
    let notes = cut["trust"]["notes"].to_string();
    assert!(
        notes.contains(
            "answers tells of the same application and knows 13 task attempts, of which this log has"
        ),
        "{notes}"
    );
}

#[test]
fn where_the_address_does_not_help_the_texts_do() {
    let dir = dir();
    let dead = "http://127.0.0.1:1/history/application_1_2/";
    for (texts, kind) in [
        (&["--driver-log", "run.log", "--sql-file", "q.sql"][..], "driver_log"),
        (&["--explain", "e.txt", "--sql-file", "q.sql"], "explain"),
    ] {
        let (text, json) = report(&dir, &[&["--url", dead], texts].concat());
        assert_eq!(json["evidence_report"]["run_kind"], kind);
        assert!(text.contains("this is all there is: ") && text.contains("127.0.0.1:1"), "{text}");
    }
    let log = root().join("fixtures/logs/explain-3.5.9");
    let (_, json) = report(&dir, &["--url", dead, log.to_str().unwrap(), "--sql-file", "q.sql"]);
    assert_eq!(json["evidence_report"]["run_kind"], "event_log");
    let alone = show(&dir.run(&["diagnose", "--url", dead, "--sql-file", "q.sql"]));
    assert!(alone.starts_with("exit code: 3"), "{alone}");
}

#[test]
fn a_log_that_has_the_statement_needs_no_file() {
    let log = root().join("fixtures/logs/explain-3.5.9");
    let dir = dir();
    let (text, json) = report(&dir, &[log.to_str().unwrap(), "--sql-file", "q.sql"]);
    let id = json["evidence_report"]["sql_id"].as_u64().unwrap();
    assert!(
        text.contains("it alone is like the text, with a score of 1.00")
            || text.contains("with this very text"),
        "{text}"
    );
    let (text, without) = report(
        &dir,
        &[log.to_str().unwrap(), "--sql-id", &id.to_string(), "--submitted-at", "2026-11-30T22:40:00Z"],
    );
    let join = |json: &Value| {
        let mapping = json["evidence_report"]["mapping"].as_array().unwrap();
        mapping.iter().find(|one| one["operator"] == "SortMergeJoin").unwrap()["fragment"]["start"].clone()
    };
    assert_eq!(join(&json), serde_json::json!({ "line": 6, "column": 6 }));
    assert_eq!(join(&without), join(&json));
    assert!(text.contains("in the execution's description"), "{text}");
}

#[test]
fn thresholds_of_locating_can_be_set() {
    let log = root().join("fixtures/logs/explain-3.5.9");
    let dir = dir();
    std::fs::write(
        dir.path().join("near.sql"),
        "SELECT d.name, count(*) FROM fact f JOIN dim d ON f.item_id = d.item_id GROUP BY d.name",
    )
    .unwrap();
    std::fs::write(dir.path().join("strict.toml"), "[LOCATE]\nlikely_share = 0.99\n").unwrap();
    let near = [log.to_str().unwrap(), "--sql-file", "near.sql"];
    let (_, json) = report(&dir, &near);
    assert!(json["evidence_report"]["sql_id"].is_u64());
    let (_, json) = report(&dir, &[&near[..], &["--thresholds", "strict.toml"]].concat());
    assert_eq!(json["evidence_report"]["sql_id"], Value::Null);
    assert!(!json["evidence_report"]["located"]["candidates"].as_array().unwrap().is_empty());
}

#[test]
fn the_address_in_a_log_is_asked_only_if_it_is_its_own() {
    let dir = Dir::new(&[("logs/app-1", base::log().as_bytes())]);
    let server = Server::start(&dir, &["logs", "--open"]);
    let lines = |id: &str, words: &str| {
        format!(
            "26/11/30 19:49:40 INFO SparkContext: Running Spark version 4.3.0\n\
             26/11/30 19:49:41 INFO StandaloneSchedulerBackend: Connected to Spark cluster with app ID {id}\n\
             26/11/30 19:49:41 INFO {words} http://{}/history/app-1\n\
             26/11/30 19:49:42 INFO DAGScheduler: Got job 4 (count at X:1) with 2 output partitions\n\
             26/11/30 19:49:43 INFO DAGScheduler: Job 4 finished: count at X:1, took 1.0 s\n",
            server.address()
        )
    };
    let other = "app-20260101000000-0007";
    let kind = |name: &str, log: String, more: &[&str]| {
        std::fs::write(dir.path().join(name), log).unwrap();
        let (_, json) = report(&dir, &[&["--driver-log", name], more].concat());
        json["evidence_report"]["run_kind"].as_str().unwrap().to_owned()
    };
    let ui = "SparkUI: Bound SparkUI to 0.0.0.0, and started at";
    // Neither another application that has the port by now, nor what a program happens to name.
    assert_eq!(kind("other.log", lines(other, ui), &[]), "driver_log");
    assert_eq!(kind("program.log", lines("none", "Airflow: see"), &[]), "driver_log");
    assert_eq!(kind("own.log", lines("none", ui), &["--no-follow"]), "driver_log");
    assert_eq!(kind("own.log", lines("none", ui), &[]), "event_log");
}

#[test]
fn what_is_no_run_is_told_with_what_to_do() {
    let dir = dir();
    let log = root().join("fixtures/logs/sql-aqe-3.5.9");
    let inside = std::fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
    for (args, words) in [
        (&["diagnose", "run.log"][..], "--driver-log"),
        (&["diagnose", "--driver-log", inside.to_str().unwrap()], "it is an event log"),
        (&["diagnose", "--driver-log", "e.txt"], "--explain"),
        (&["diagnose", "host:18080/history/app-1"], "begin it with http://"),
        (&["diagnose", log.to_str().unwrap(), "--sql-id", "99"], "there are SQL executions 0"),
    ] {
        let output = show(&dir.run(args));
        assert!(!output.starts_with("exit code: 0") && output.contains(words), "{output}");
    }
    // A plan is no run that has died.
    let (text, json) = report(&dir, &["--explain", "e.txt"]);
    assert!(text.contains("A plan, not a run") && text.contains("What the plan alone tells"), "{text}");
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
    let (text, _) = report(&dir, &["--log", "run.log"]);
    assert!(text.contains("No cause can be told, since the log has no task metrics; stage "), "{text}");
}
