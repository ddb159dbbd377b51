//! `emberscope summary`.

use crate::base;
use crate::command::{Dir, show};
use insta::assert_snapshot;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn text_of_a_whole_log() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    assert_snapshot!(dir.show(&["summary", "app-1"]));
}

#[test]
fn text_on_a_wide_terminal() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.command(&["summary", "app-1"]).env("COLUMNS", "110").output().unwrap();
    assert_snapshot!(show(&output));
}

#[test]
fn text_of_a_cut_log() {
    let dir = Dir::new(&[("app-1.inprogress", base::cut_log().as_bytes())]);
    assert_snapshot!(dir.show(&["summary", "app-1.inprogress"]));
}

#[test]
fn text_of_a_log_with_a_broken_line() {
    let dir = Dir::new(&[("app-1", base::broken_log().as_bytes())]);
    assert_snapshot!(dir.show(&["summary", "app-1"]));
}

#[test]
fn text_of_lost_work() {
    let dir = Dir::new(&[("app-1", base::retried_log().as_bytes())]);
    assert_snapshot!(dir.show(&["summary", "app-1"]));
}

#[test]
fn json_of_a_whole_log() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["summary", "app-1", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_json_snapshot!(value);
}

#[test]
fn names_cannot_move_the_cursor() {
    let log = base::log().replace(r#""App Name":"base""#, r#""App Name":"a\u001b[2J\nb""#);
    let dir = Dir::new(&[("app-1", log.as_bytes())]);
    let shown = dir.show(&["summary", "app-1"]);
    assert!(shown.contains("a\u{fffd}[2J\u{fffd}b  app-1"), "{shown}");
}

#[test]
fn no_text_of_a_log_reaches_the_terminal_raw() {
    let odd = r"\u001b[31m\u202e";
    let long = "x".repeat(5000);
    let log = base::log()
        .replace(r#""3.5.1""#, &format!(r#""3.5{odd}""#))
        .replace(r#""User":"ember""#, &format!(r#""User":"{odd}{long}""#))
        .replace(r#""App ID":"app-1""#, &format!(r#""App ID":"{odd}{long}","App Attempt ID":"{odd}{long}""#))
        + &format!(r#"{{"Event":"{odd}{long}"}}"#)
        + "\n"
        + &format!("{odd}{long}\u{1b}[2J\n");
    let dir = Dir::new(&[("app-1", log.as_bytes())]);
    for command in ["summary", "doctor"] {
        for variables in [&[][..], &[("COLUMNS", "120")]] {
            let output = dir.command(&[command, "app-1"]).envs(variables.iter().copied()).output().unwrap();
            let shown = show(&output);
            assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
            assert!(shown.lines().all(|line| line.chars().count() <= 125), "{shown}");
        }
    }
}

#[test]
fn the_cluster_is_told() {
    let first = |master: &str| {
        let settings = format!(
            r#"{{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{{"spark.master":"{master}"}}}}"#
        );
        let mut lines = base::lines();
        lines.insert(2, settings);
        let dir = Dir::new(&[("app-1", lines.join("\n").as_bytes())]);
        let output = dir.run(&["summary", "app-1"]);
        String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().to_owned()
    };
    assert!(first("local[2]").starts_with("Spark 3.5.1 · local mode, 2 cores · user ember"));
    assert!(first("spark://h:7077").contains(" · standalone cluster, 2 cores per executor · "));
    assert!(first("k8s://https://h").contains(" · Kubernetes, 2 cores per executor · "));
}

#[test]
fn blank_names_and_unknown_times() {
    let lines = base::lines();
    let log = format!(
        "{}\n{}\n",
        lines[0], r#"{"Event":"SparkListenerApplicationStart","App Name":"","App ID":"","User":""}"#
    );
    let dir = Dir::new(&[("app-1", log.as_bytes())]);
    let output = String::from_utf8(dir.run(&["summary", "app-1"]).stdout).unwrap();
    let head: Vec<&str> = output.lines().take(2).collect();
    assert!(head[0].starts_with("(no application id)  "), "{output}");
    assert_eq!(head[1], "Spark 3.5.1 · start unknown · duration unknown");
}

#[test]
fn colour_by_demand_and_not_against_a_wish() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = dir.command(&["summary", "app-1"]);
        command.envs(variables.iter().copied());
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn the_result_depends_on_neither_threads_nor_chunks_nor_codec() {
    let log = base::retried_log();
    let packed = zstd::encode_all(log.as_bytes(), 1).unwrap();
    let dir = Dir::new(&[("app-1", log.as_bytes()), ("z/app-1", &packed)]);
    let json = |args: &[&str]| {
        let output = dir.run(&[&["summary", "--json"], args].concat());
        let mut value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        value["source"].take();
        value["trust"]["files"].take();
        value
    };
    let expected = json(&["app-1", "--threads", "1"]);
    assert_eq!(json(&["app-1", "--threads", "4", "--chunk-size", "7"]), expected);
    assert_eq!(json(&["app-1", "--chunk-size", "200"]), expected);
    assert_eq!(json(&["z/app-1"]), expected);
}

#[test]
fn a_file_appears_whole() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["summary", "app-1", "--json", "--out", "out.json"]);
    assert_eq!(show(&output), "exit code: 0\n----- stdout -----\n----- stderr -----\n");
    let written = std::fs::read(dir.path().join("out.json")).unwrap();
    assert_eq!(written, dir.run(&["summary", "app-1", "--json"]).stdout);
    let names: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let log = base::log();
    let files: Vec<(String, String)> =
        (0..2000).map(|n| (format!("logs/app-{n}"), log.replace("app-1", &format!("app-{n}")))).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, log)| (name.as_str(), log.as_bytes())).collect();
    let dir = Dir::new(&files);
    let mut child = dir
        .command(&["summary", "--json", "logs"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(show(&output), "exit code: 0\n----- stdout -----\n----- stderr -----\n");
}
