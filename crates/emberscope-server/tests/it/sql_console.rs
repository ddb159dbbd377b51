//! The SQL console, as far as `emberscope-sql` is there to answer (`EMBERSCOPE_SQL`).

#![expect(clippy::print_stdout, reason = "whoever reads the test's output must see what was skipped")]

use crate::base::{fixtures, get, options, with};
use axum::Router;
use axum::http::{StatusCode, header};
use serde_json::{Value, json};

fn has_program() -> bool {
    let found = std::env::var_os("EMBERSCOPE_SQL").is_some_and(|path| !path.is_empty());
    if !found {
        println!("skipped: no emberscope-sql; build it and name it in EMBERSCOPE_SQL");
    }
    found
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn ask(server: &Router, runs: &str, statement: &str) -> Value {
    let path = format!("/api/emberscope/v1/sql-console?runs={runs}&statement={}", encoded(statement));
    get(server, &path).json()
}

#[test]
fn ready_made_questions_and_tables_are_listed() {
    let server = with(options(&[&fixtures().join("logs/rdd-4.3.0")]));
    let catalog = get(&server, "/api/emberscope/v1/sql-console/catalog").json();
    assert!(catalog["named"].as_array().unwrap().len() > 15);
    let tables = catalog["tables"].as_array().unwrap();
    assert!(
        tables
            .iter()
            .any(|table| table["name"] == "stage" && !table["columns"].as_array().unwrap().is_empty())
    );
    // Whether there is somebody to ask is known before anything is asked.
    assert_eq!(catalog["missing"].is_null(), has_program(), "{}", catalog["missing"]);
    let none = get(&server, "/api/emberscope/v1/sql-console?statement=SELECT%201");
    assert_eq!(none.status, StatusCode::BAD_REQUEST);
}

#[test]
fn statements_are_answered_from_tables() {
    if !has_program() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut options = options(&[&fixtures().join("logs/sql-aqe-4.3.0"), &fixtures().join("logs/rdd-4.3.0")]);
    options.cache = Some(place.path().to_owned());
    let server = with(options);
    let runs = get(&server, "/api/emberscope/v1/runs").json();
    let ids: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    for id in &ids {
        let totals = get(&server, &format!("/api/emberscope/v1/runs/{id}/summary")).json()["totals"].clone();
        let answer = ask(&server, id, "SELECT count(*) AS n FROM task");
        assert_eq!(answer["rows"], json!([[totals["tasks"]["attempts"]]]), "{answer}");
        assert_eq!(answer["columns"], json!([{ "name": "n", "type": "bigint" }]));
    }
    let both = ask(&server, "all", "SELECT DISTINCT applicationId FROM job ORDER BY 1");
    assert_eq!(both["rows"].as_array().unwrap().len(), 2, "{both}");
    let cut = get(
        &server,
        &format!(
            "/api/emberscope/v1/sql-console?runs=all&limit=3&statement={}",
            encoded("SELECT taskId, stageId FROM task")
        ),
    )
    .json();
    assert!(cut["rows"].as_array().is_some_and(|rows| rows.len() == 3), "{cut}");
    assert_eq!(cut["is_cut"], json!(true));
    let wrong = ask(&server, ids[0], "SELECT *\nFROM jib");
    assert_eq!(
        (&wrong["error"]["code"], &wrong["error"]["position"]["line"]),
        (&json!("statement"), &json!(2))
    );
    let writes = ask(&server, ids[0], "DROP TABLE job");
    assert_eq!(writes["error"]["code"], json!("read_only"), "{writes}");
    // The process is as warm as before.
    let named = format!("/api/emberscope/v1/sql-console?runs={}&named=jobs-by-cpu-usage", ids[0]);
    assert!(!get(&server, &named).json()["rows"].as_array().unwrap().is_empty());
    let csv = get(
        &server,
        &format!("/api/emberscope/v1/sql-console/file?runs={}&statement=SELECT%201%20AS%20a", ids[0]),
    );
    assert_eq!(
        (csv.text().as_str(), csv.header(header::CONTENT_TYPE)),
        ("a\n1\n", "text/csv; charset=utf-8")
    );
    assert!(csv.header(header::CONTENT_DISPOSITION).contains("answer.csv"));
}
