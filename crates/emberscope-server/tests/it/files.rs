//! What is answered as a file or as a stream: exports, events, and what the disk keeps.

use crate::base::{TOKEN, fixtures, get, options, with};
use crate::views::Run;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tower::ServiceExt;

#[test]
fn exports() {
    let run = Run::of("sql-aqe-4.3.0");
    let page = run.get("export?format=html");
    assert!(page.text().starts_with("<!") && page.header(header::CONTENT_TYPE).starts_with("text/html"));
    assert!(page.header(header::CONTENT_DISPOSITION).contains(".html\""));
    let trace = run.get("export?format=perfetto").json();
    let events = trace["traceEvents"].as_array().unwrap();
    let tasks = events.iter().filter(|event| event["cat"] == "task").count();
    assert_eq!(json!(tasks), run.json("summary")["totals"]["tasks"]["attempts"]);
    assert_eq!(trace["otherData"]["start_time_ms"], run.json("summary")["application"]["start_time_ms"]);
    assert_eq!(run.get("export?format=json").json(), run.json("findings"));
    assert_eq!(run.get("export?format=odd").status, StatusCode::BAD_REQUEST);
}

/// Events of a stream until `is_enough`.
fn events(run: &Run, is_enough: impl Fn(&[(String, Value)]) -> bool) -> Vec<(String, Value)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let request = Request::get(format!("/api/emberscope/v1/runs/{}/events", run.id))
            .header(header::HOST, "127.0.0.1:18480")
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
            .body(Body::empty())
            .unwrap();
        let response = run.server.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        let mut body = response.into_body();
        let (mut text, mut found) = (String::new(), Vec::new());
        while !is_enough(&found) {
            let frame = tokio::time::timeout(Duration::from_secs(60), body.frame()).await.unwrap();
            let bytes = frame.unwrap().unwrap().into_data().unwrap();
            text.push_str(std::str::from_utf8(&bytes).unwrap());
            while let Some((event, rest)) = text.split_once("\n\n") {
                if let Some((name, data)) = event.split_once("\ndata: ") {
                    let name = name.trim_start_matches("event: ").to_owned();
                    found.push((name, serde_json::from_str(data).unwrap()));
                }
                text = rest.to_owned();
            }
        }
        found
    })
}

#[test]
fn events_tell_when_a_run_is_read() {
    let run = Run::of("rdd-4.3.0");
    let found = events(&run, |found| found.iter().any(|(_, data)| data["is_read"] == json!(true)));
    assert_eq!((found[0].0.as_str(), &found[0].1["is_read"]), ("state", &json!(false)));
    assert_eq!(found.last().unwrap().1["status"], json!("succeeded"));
    assert_eq!(get(&run.server, "/api/emberscope/v1/runs/none/events").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_log_without_events_is_told_as_failed() {
    let place = tempfile::tempdir().unwrap();
    let line = "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"a\",\"App ID\":\"app-1\",\"Timestamp\":1700000000000,\"User\":\"u\"}\n";
    let log = place.path().join("app-1");
    std::fs::write(&log, line).unwrap();
    let run = Run::at(place.path());
    std::fs::write(&log, "nothing\n").unwrap();
    let found = events(&run, |found| found.last().is_some_and(|(name, _)| name == "failed"));
    assert!(found.last().unwrap().1["message"].as_str().unwrap().contains("no Spark event"), "{found:?}");
}

#[test]
fn a_run_on_disk_is_the_same_run() {
    let place = tempfile::tempdir().unwrap();
    let log = fixtures().join("logs/executor-loss-4.3.0");
    let server = || {
        let mut options = options(&[&log]);
        options.cache = Some(place.path().to_owned());
        with(options)
    };
    let first = server();
    let id = get(&first, "/api/emberscope/v1/runs").json()["runs"][0]["id"].as_str().unwrap().to_owned();
    let doors = ["summary", "findings", "stages", "executors", "timeline", "stages/0/0/tasks", "storage"];
    let ask = |server: &axum::Router, door: &str| {
        get(server, &format!("/api/emberscope/v1/runs/{id}/{door}")).json()
    };
    let read: Vec<Value> = doors.iter().map(|door| ask(&first, door)).collect();
    let kept = place.path().join("runs");
    let began = Instant::now();
    let is_kept =
        || std::fs::read_dir(&kept).unwrap().flatten().any(|entry| entry.path().join("entry.json").is_file());
    while !is_kept() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = server();
    for (door, read) in doors.iter().zip(&read) {
        assert_eq!(ask(&second, door), *read, "{door}");
    }
    let metrics = get(&second, "/metrics").text();
    assert!(
        metrics.contains("emberscope_reads_total 0") && metrics.contains("emberscope_reads_saved_total 1"),
        "{metrics}"
    );
}
