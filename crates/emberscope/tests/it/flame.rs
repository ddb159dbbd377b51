//! `emberscope flame`.

use crate::base;
use crate::command::{Dir, show};
use crate::schema;
use serde_json::Value;
use std::path::Path;

const RECORDINGS: [&str; 2] = ["jdk17.jfr", "jdk25.jfr"];

fn dir() -> Dir {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emberscope-jfr/tests/data");
    let bytes = RECORDINGS.map(|name| std::fs::read(data.join(name)).unwrap());
    let mut log = base::log();
    // Says that the driver's thread of that id ran task 0, all the time.
    log.push_str(
        "{\"Event\":\"org.apache.spark.profiler.SparkProfilerTaskThreadEvent\",\"taskId\":0,\
         \"executorId\":\"driver\",\"javaThreadId\":1,\"startTime\":0,\"endTime\":4000000000000}\n",
    );
    Dir::new(&[
        ("jdk17.jfr", &bytes[0]),
        ("many/profile-exec-1.jfr", &bytes[0]),
        ("many/profile-exec-2.jfr", &bytes[1]),
        ("log", log.as_bytes()),
        ("text.jfr", b"no recording"),
    ])
}

fn stdout(dir: &Dir, args: &[&str]) -> String {
    let output = dir.run(args);
    assert_eq!(output.status.code(), Some(0), "{}", show(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn failure(dir: &Dir, args: &[&str], code: i32) -> String {
    let output = dir.run(args);
    assert_eq!(output.status.code(), Some(code), "{}", show(&output));
    String::from_utf8(output.stderr).unwrap()
}

fn json(dir: &Dir, args: &[&str]) -> Value {
    serde_json::from_str(&stdout(dir, &[&["flame", "--format", "json"], args].concat())).unwrap()
}

/// The schema as committed, against the types; `EMBERSCOPE_UPDATE=1` writes it anew.
#[test]
fn the_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/flame.schema.json");
    let wanted = serde_json::to_string_pretty(&emberscope_jfr::export::schema()).unwrap() + "\n";
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == wanted, "docs/schema/flame.schema.json is stale: run with EMBERSCOPE_UPDATE=1");
}

#[test]
fn all_forms_tell_the_same_sum() {
    let dir = dir();
    let folded = stdout(&dir, &["flame", "jdk17.jfr", "--event", "sleep", "--format", "folded"]);
    let sum: i64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
    let graph = json(&dir, &["jdk17.jfr", "--event", "sleep"]);
    assert_eq!(schema::errors(&emberscope_jfr::export::schema(), &graph), Vec::<String>::new());
    assert_eq!(graph["sum"], sum);
    assert_eq!(graph["unit"], "nanoseconds");
    let own = graph["nodes"]["own"].as_array().unwrap();
    assert_eq!(own.iter().map(|own| own.as_i64().unwrap()).sum::<i64>(), sum);
    let speedscope: Value = serde_json::from_str(&stdout(
        &dir,
        &["flame", "jdk17.jfr", "--event", "sleep", "--format", "speedscope"],
    ))
    .unwrap();
    let profile = &speedscope["profiles"][0];
    assert_eq!((&profile["endValue"], &profile["unit"]), (&Value::from(sum), &Value::from("nanoseconds")));
    assert_eq!(profile["samples"].as_array().unwrap().len(), profile["weights"].as_array().unwrap().len());
    let firefox: Value = serde_json::from_str(&stdout(
        &dir,
        &["flame", "jdk17.jfr", "--event", "sleep", "--format", "firefox"],
    ))
    .unwrap();
    let weights = firefox["threads"].as_array().unwrap().iter().flat_map(|thread| {
        thread["samples"]["weight"].as_array().unwrap().iter().map(|weight| weight.as_f64().unwrap())
    });
    assert!((weights.sum::<f64>() - sum as f64 / 1e6).abs() < 1e-3);
}

#[test]
fn limits_leave_sums_alone() {
    let dir = dir();
    let whole = json(&dir, &["jdk17.jfr", "--event", "lock"]);
    let cut = json(&dir, &["jdk17.jfr", "--event", "lock", "--max-depth", "2", "--max-nodes", "3"]);
    assert_eq!(whole["sum"], cut["sum"]);
    assert_eq!(cut["nodes"]["total"][0], cut["sum"]);
    assert!(cut["left_out"]["weight"].as_i64().unwrap() > 0);
    let names = cut["frames"]["name"].as_array().unwrap();
    assert!(names.contains(&Value::from("[other]")), "{names:?}");
}

#[test]
fn the_top_names_methods_and_the_page_holds_the_graph() {
    let dir = dir();
    let top = stdout(&dir, &["flame", "jdk17.jfr", "--thread", "burner", "--rows", "3"]);
    assert!(top.starts_with("cpu of jdk17.jfr, thread burner\n"), "{top}");
    assert!(top.contains("Burn.spin"), "{top}");
    stdout(&dir, &["flame", "jdk17.jfr", "--out", "page.html"]);
    let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert!(page.contains("id=\"flame\"") && page.contains("Burn.spin"));
    assert!(!page.contains("<script src"));
}

#[test]
fn executors_tasks_and_comparisons() {
    let dir = dir();
    let of = |args: &[&str]| json(&dir, args)["sum"].as_i64().unwrap();
    let all = of(&["many", "--event", "sleep"]);
    let one = of(&["many", "--event", "sleep", "--executor", "1"]);
    let two = of(&["many", "--event", "sleep", "--executor", "2"]);
    assert!(one > 0 && two > 0 && one + two == all);
    let both = json(&dir, &["many", "--event", "sleep", "--executor", "1", "--against", "executor=2"]);
    assert_eq!((both["sum"].as_i64(), both["baseline_sum"].as_i64()), (Some(one), Some(two)));
    // The recording says itself which thread ran which task of stage 7, attempt 1.
    let stage = of(&["many", "--event", "cpu", "--stage", "7.1"]);
    assert!(stage > 0 && stage < of(&["many", "--event", "cpu"]));
    let first = of(&["jdk17.jfr", "--event", "sleep", "--to", "+500ms"]);
    let rest = of(&["jdk17.jfr", "--event", "sleep", "--from", "+500ms"]);
    assert_eq!(first + rest, of(&["jdk17.jfr", "--event", "sleep"]));
}

#[test]
fn what_is_not_there_is_told() {
    let dir = dir();
    let told = failure(&dir, &["flame", "jdk17.jfr", "--event", "wall"], 3);
    assert!(told.contains("no `wall`") && told.contains("recorded are cpu ("), "{told}");
    let told = failure(&dir, &["flame", "many", "--executor", "9"], 2);
    assert!(told.contains("no recording is of executor `9`") && told.contains("1, 2"), "{told}");
    let told = failure(&dir, &["flame", "jdk17.jfr", "--thread", "nobody"], 2);
    assert!(told.contains("no thread is `nobody`"), "{told}");
    let told = failure(&dir, &["flame", "jdk17.jfr", "--stage", "99"], 2);
    assert!(told.contains("no task"), "{told}");
    let told = failure(&dir, &["flame", "text.jfr"], 3);
    assert!(told.contains("no recording of Java Flight Recorder"), "{told}");
    let told = failure(&dir, &["flame", "jdk17.jfr", "--against", "stage"], 2);
    assert!(told.contains("a value is missing"), "{told}");
    failure(&dir, &["flame", "jdk17.jfr", "--out", "jdk17.jfr"], 2);
}

#[test]
fn damage_is_told_and_fails_only_when_asked() {
    let dir = dir();
    let whole = std::fs::read(dir.path().join("jdk17.jfr")).unwrap();
    std::fs::write(dir.path().join("cut.jfr"), &whole[..whole.len() * 9 / 10]).unwrap();
    let output = dir.run(&["flame", "cut.jfr", "jdk17.jfr", "--event", "sleep"]);
    assert_eq!(output.status.code(), Some(0), "{}", show(&output));
    let told = failure(&dir, &["flame", "cut.jfr", "jdk17.jfr", "--event", "sleep", "--strict"], 4);
    assert!(told.contains("not finished"), "{told}");
}
