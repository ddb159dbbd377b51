//! Our own API and the pages.

use crate::base::{Answer, fixtures, get, server};
use axum::Router;
use axum::http::{StatusCode, header};
use serde_json::{Value, json};

fn losses() -> Router {
    server(&[&fixtures().join("logs/executor-loss-4.3.0")])
}

fn only_run(server: &Router) -> String {
    get(server, "/api/emberscope/v1/runs").json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

fn column<'a>(window: &'a Value, name: &str) -> &'a Value {
    let columns = window["columns"].as_array().unwrap();
    &columns.iter().find(|column| column["name"] == name).unwrap()["values"]
}

#[test]
fn the_list_is_searched_sorted_and_cut() {
    let server = server(&[&fixtures().join("logs")]);
    let list = |query: &str| get(&server, &format!("/api/emberscope/v1/runs?{query}")).json();
    let all = list("limit=1000");
    assert!(all["total"].as_u64().unwrap() > 50);
    assert_eq!(all["total"], all["matched"]);
    let names = |list: &Value| -> Vec<String> {
        list["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["name"].as_str().unwrap_or("").to_owned())
            .collect()
    };
    let found = list("q=EXECUTOR%20loss&limit=1000");
    assert!(names(&found).iter().all(|name| name == "executor loss") && names(&found).len() == 3);
    let mut sorted = names(&list("sort=name&limit=1000"));
    assert!(sorted.is_sorted());
    sorted.reverse();
    assert_eq!(names(&list("sort=-name&limit=1000")), sorted);
    assert_eq!(names(&list("offset=3&limit=2")), names(&all)[3..5]);
    let bad = get(&server, "/api/emberscope/v1/runs?sort=colour");
    assert_eq!((bad.status, &bad.json()["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")));
}

#[test]
fn doors_agree() {
    let server = losses();
    let id = only_run(&server);
    let ask = |path: &str| get(&server, &format!("/api/emberscope/v1/runs/{id}/{path}")).json();
    let (summary, findings, attribution) = (ask("summary"), ask("findings"), ask("attribution"));
    assert_eq!(summary["application"], findings["application"]);
    assert_eq!(attribution, findings["attribution"]);
    assert_eq!(attribution["wall"]["total_ms"], summary["application"]["duration_ms"]);
    let spark = get(&server, "/api/v1/applications").json();
    assert_eq!(spark[0]["attempts"][0]["duration"], summary["application"]["duration_ms"]);
    let run = get(&server, &format!("/api/emberscope/v1/runs/{id}")).json();
    assert_eq!((&run["status"], &run["is_read"]), (&json!("succeeded"), &json!(true)));
    assert_eq!(run["headline"], findings["verdict"]["headline"]);
    assert_eq!(run["core_ms"], summary["totals"]["executors"]["allocated_core_ms"]);
    let counted: u64 =
        ["critical", "warning", "info"].iter().map(|name| run["findings"][name].as_u64().unwrap()).sum();
    assert_eq!(counted as usize, findings["findings"].as_array().unwrap().len());
}

#[test]
fn a_window_of_tasks() {
    let server = losses();
    let id = only_run(&server);
    let ask = |query: &str| get(&server, &format!("/api/emberscope/v1/runs/{id}/stages/0/0/tasks{query}"));
    let all = ask("").json();
    assert_eq!((&all["total"], &all["matched"]), (&json!(10), &json!(10)));
    let slowest = ask("?sort=-executor_run_time_ms&limit=2&columns=task_id,executor_run_time_ms").json();
    assert_eq!(column(&slowest, "executor_run_time_ms").as_array().unwrap().len(), 2);
    assert_eq!(slowest["columns"].as_array().unwrap().len(), 2);
    let resubmitted = ask("?status=resubmitted").json();
    assert_eq!(resubmitted["matched"], json!(3));
    assert_eq!(column(&ask("?executor=2").json(), "executor").as_array().unwrap()[0], json!("2"));
    assert_eq!(ask("?executor=none").json()["matched"], json!(0));
    for (bad, status) in [
        ("?sort=colour", StatusCode::BAD_REQUEST),
        ("?columns=task_id,colour", StatusCode::BAD_REQUEST),
        ("?status=odd", StatusCode::BAD_REQUEST),
        ("?limit=many", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(ask(bad).status, status, "{bad}");
    }
    let missing = get(&server, &format!("/api/emberscope/v1/runs/{id}/stages/99/0/tasks"));
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[test]
fn pages_hold_text_of_logs_as_text() {
    let place = tempfile::tempdir().unwrap();
    let hostile = "<script>alert(1)</script>";
    let log = format!(
        "{{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.0.0\"}}\n\
         {{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"{hostile}\",\"App ID\":\"app-{hostile}\",\
         \"Timestamp\":1000,\"User\":\"{hostile}\"}}\n\
         {{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":4000}}\n"
    );
    std::fs::write(place.path().join("app-1"), log).unwrap();
    let server = server(&[place.path()]);
    let list = get(&server, "/list?q=%22%3E%3Cscript%3E");
    assert!(!list.text().contains("<script>") && list.text().contains("No run matches"), "{}", list.text());
    let list = get(&server, "/list");
    assert!(!list.text().contains(hostile) && list.text().contains("&lt;script&gt;"));
    assert!(list.header(header::CONTENT_SECURITY_POLICY).contains("script-src 'self'"));
    let run: Answer = get(&server, &format!("/runs/{}", only_run(&server)));
    assert_eq!(run.status, StatusCode::OK);
    assert!(!run.text().contains(hostile));
    let policy = run.header(header::CONTENT_SECURITY_POLICY);
    assert!(policy.contains("'sha256-") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(run.text().contains("href=\"/\""));
    assert_eq!(get(&server, "/runs/none").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_run_is_listed_as_failed_before_it_is_read() {
    let server = server(&[&fixtures().join("logs")]);
    let listed =
        || get(&server, "/api/emberscope/v1/runs?limit=1000").json()["runs"].as_array().unwrap().clone();
    let before = listed();
    let mut failed = 0;
    for run in &before {
        let id = run["id"].as_str().unwrap();
        assert_eq!(run["is_read"], false, "{run}");
        let summary = get(&server, &format!("/api/emberscope/v1/runs/{id}/summary")).json();
        let status = &summary["application"]["status"];
        // What the last job and the application's end tell is the same as what the whole log does.
        let told = if status == "succeeded" { "ended" } else { status.as_str().unwrap() };
        assert_eq!(run["status"], told, "{}", run["name"]);
        assert_eq!(run["end_time_ms"].is_null(), status == "incomplete", "{run}");
        failed += usize::from(told == "failed");
    }
    assert!(before.len() > 50 && failed > 0, "{} runs, {failed} failed", before.len());
}
