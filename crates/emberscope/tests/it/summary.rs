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
