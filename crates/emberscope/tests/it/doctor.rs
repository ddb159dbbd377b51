//! `emberscope doctor`.

use crate::base;
use crate::command::Dir;
use insta::assert_snapshot;

/// The base log as a Spark of another version writes it, with settings and with more in it.
fn log(version: &str, settings: &str, more: &[&str]) -> String {
    let mut lines = base::lines();
    lines[0] = lines[0].replace("3.5.1", version);
    lines.insert(
        1,
        format!(r#"{{"Event":"SparkListenerEnvironmentUpdate","JVM Information":{{}},"Spark Properties":{{{settings}}}}}"#),
    );
    let end = lines.len() - 1;
    lines.splice(end..end, more.iter().map(|line| (*line).to_owned()));
    lines.join("\n") + "\n"
}

/// The settings that are advised for a log.
fn advised(log: &str) -> Vec<String> {
    let packed = zstd::encode_all(log.as_bytes(), 1).unwrap();
    advised_for(&packed)
}

fn advised_for(bytes: &[u8]) -> Vec<String> {
    let dir = Dir::new(&[("app-1", bytes)]);
    let output = dir.run(&["doctor", "--format", "json", "app-1"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let advice = value["advice"].as_array().unwrap();
    advice
        .iter()
        .map(|advice| {
            let text = |key: &str| advice[key].as_str().unwrap().to_owned();
            format!("{}={}", text("setting"), text("proposed"))
        })
        .collect()
}

const METRICS: &str = r#""spark.eventLog.logStageExecutorMetrics":"true""#;

#[test]
fn text_of_a_whole_log() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    assert_snapshot!(dir.show(&["doctor", "app-1"]));
}

#[test]
fn json_of_a_whole_log() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["doctor", "--format", "json", "app-1"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_json_snapshot!(value);
}

#[test]
fn events_add_up_to_the_log() {
    let log = base::log();
    let dir = Dir::new(&[("app-1", log.as_bytes())]);
    let output = dir.run(&["doctor", "--format", "json", "--chunk-size", "50", "app-1"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes: u64 =
        value["events"].as_array().unwrap().iter().map(|event| event["bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, log.len() as u64);
}

#[test]
fn compression_is_advised_where_it_is_off() {
    let plain = |version: &str, settings: &str| advised_for(log(version, settings, &[]).as_bytes());
    assert_eq!(plain("3.5.1", METRICS), ["spark.eventLog.compress=true"]);
    assert_eq!(
        plain("3.5.1", &format!(r#"{METRICS},"spark.eventLog.compress":"false""#)),
        ["spark.eventLog.compress=true"]
    );
    // On, and yet plain text: somebody unpacked it.
    assert!(plain("3.5.1", &format!(r#"{METRICS},"spark.eventLog.compress":"true""#)).is_empty());
    assert!(plain("4.1.0", METRICS).is_empty());
    assert_eq!(advised(&log("3.5.1", METRICS, &[])), Vec::<String>::new());
}

#[test]
fn settings_are_advised_only_for_versions_that_have_them() {
    let metrics = "spark.eventLog.logStageExecutorMetrics=true";
    assert_eq!(advised(&log("3.5.1", "", &[])), [metrics]);
    assert!(advised(&log("2.4.8", "", &[])).is_empty());
    assert!(advised(&log("3.5.1", METRICS, &[])).is_empty());
}

#[test]
fn accumulators_that_repeat_metrics() {
    let accumulables: Vec<String> = (0..50)
        .map(|id| {
            format!(r#"{{"ID":{id},"Name":"internal.metrics.m{id}","Update":1,"Value":1,"Internal":true}}"#)
        })
        .collect();
    let with = |version: &str, settings: &str| {
        let log = log(version, settings, &[]);
        advised(
            &log.replace(r#""Accumulables":[]"#, &format!(r#""Accumulables":[{}]"#, accumulables.join(","))),
        )
    };
    let expected = "spark.eventLog.includeTaskMetricsAccumulators=false";
    assert_eq!(with("4.0.0", METRICS), [expected]);
    assert!(with("3.5.1", METRICS).is_empty());
    let off = format!(r#"{METRICS},"spark.eventLog.includeTaskMetricsAccumulators":"false""#);
    assert!(with("4.0.0", &off).is_empty());
}

#[test]
fn plans_that_are_long() {
    let plan = |length: usize| {
        format!(
            r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":0,"description":"q","details":"","physicalPlanDescription":"== Physical Plan ==\n* Scan (1)\n\n\n(1) Scan\n{}","sparkPlanInfo":{{"nodeName":"Scan","simpleString":"Scan","children":[],"metadata":{{}},"metrics":[]}},"time":2000}}"#,
            "x".repeat(length)
        )
    };
    let (short, long) = (plan(2000), plan(100_000));
    assert_eq!(advised(&log("3.5.1", METRICS, &[&short])), ["spark.sql.ui.explainMode=simple"]);
    assert_eq!(
        advised(&log("3.5.1", METRICS, &[&long])),
        ["spark.sql.ui.explainMode=simple", "spark.sql.maxPlanStringLength=64k"]
    );
    let set =
        format!(r#"{METRICS},"spark.sql.ui.explainMode":"simple","spark.sql.maxPlanStringLength":"200k""#);
    assert!(advised(&log("3.5.1", &set, &[&long])).is_empty());
}

#[test]
fn block_updates_on_and_off() {
    let update = r#"{"Event":"SparkListenerBlockUpdated","Block Updated Info":{"Block Manager ID":{"Executor ID":"1","Host":"h1","Port":1},"Block ID":"rdd_0_0","Storage Level":{"Use Disk":false,"Use Memory":true,"Deserialized":true,"Replication":1},"Memory Size":1,"Disk Size":0}}"#;
    let setting = r#""spark.eventLog.logBlockUpdates.enabled":"true""#;
    assert_eq!(
        advised(&log("3.5.1", &format!("{METRICS},{setting}"), &[update])),
        ["spark.eventLog.logBlockUpdates.enabled=false"]
    );
    let cached = log("3.5.1", METRICS, &[]).replace(
        r#""RDD Info":[]"#,
        r#""RDD Info":[{"RDD ID":0,"Name":"r","Parent IDs":[],"Storage Level":{"Use Disk":false,"Use Memory":true,"Deserialized":true,"Replication":1},"Number of Partitions":1,"Number of Cached Partitions":1,"Memory Size":1,"Disk Size":0}]"#,
    );
    assert_eq!(advised(&cached), ["spark.eventLog.logBlockUpdates.enabled=true"]);
}

#[test]
fn repeated_events_are_counted() {
    let lines = base::lines();
    let dir = Dir::new(&[("app-1", log("3.5.1", METRICS, &[&lines[6], &lines[8]]).as_bytes())]);
    let output = dir.run(&["doctor", "--format", "json", "app-1"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["log"]["repeated_events"], 2);
}
