//! Sources that are no logs, or not quite.

use crate::base;
use crate::command::{Dir, show};
use insta::assert_snapshot;
use std::process::Stdio;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";
const PARQUET: &[u8] = b"PAR1\x15\x04\x15\x10\x15\x14\x4c\x15\x02\x15\0\x12PAR1";

#[test]
fn each_unusable_source_has_a_message() {
    let packed_text = zstd::encode_all(b"hello\n".as_slice(), 1).unwrap();
    let dir = Dir::new(&[
        ("empty", b"".as_slice()),
        ("picture.png", PNG),
        ("table.parquet", PARQUET),
        ("text.zst", &packed_text),
        ("notes.txt", b"hello\nworld\n"),
    ]);
    std::fs::create_dir(dir.path().join("emptydir")).unwrap();
    let sources = [
        "missing",
        "empty",
        "emptydir",
        "picture.png",
        "table.parquet",
        "text.zst",
        "notes.txt",
        "missing/below",
        "",
        "hdfs://nn/logs/app-1",
        "s3a://bucket/app-1",
        "https://127.0.0.1:9/app-1",
        "dbfs:/logs/app-1",
    ];
    let shown: Vec<String> =
        sources.iter().map(|source| format!("$ {source}\n{}", dir.show(&["summary", source]))).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_directory_with_bad_files_gives_the_good_ones() {
    let log = base::log();
    let dir = Dir::new(&[
        ("logs/app-1", log.as_bytes()),
        ("logs/deep/app-2", log.replace("app-1", "app-2").as_bytes()),
        ("logs/empty", b""),
        ("logs/picture.png", PNG),
        ("logs/notes.txt", b"hello\n"),
    ]);
    let output = dir.run(&["summary", "--json", "logs"]);
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, 2);
    assert_snapshot!(show(&std::process::Output { stdout: Vec::new(), ..output }));
    let quiet = dir.run(&["summary", "--quiet", "--json", "logs"]);
    assert!(quiet.stderr.is_empty());
}

#[test]
fn quiet_and_the_files_of_hadoop() {
    let dir = Dir::new(&[("none/picture.png", PNG), ("logs/.app-1.crc", b"crc"), ("logs/_SUCCESS", b"")]);
    let quiet = dir.run(&["summary", "-q", "none"]);
    let expected = "error: none: no event log in it\n  hint: event logs";
    assert!(String::from_utf8(quiet.stderr).unwrap().starts_with(expected));
    std::fs::write(dir.path().join("logs/app-1"), base::log()).unwrap();
    assert!(dir.run(&["summary", "logs"]).stderr.is_empty());
}

#[test]
fn a_copy_is_told_and_not_shown_twice() {
    let log = base::log();
    let packed = zstd::encode_all(log.as_bytes(), 1).unwrap();
    let dir = Dir::new(&[("a/app-1", log.as_bytes()), ("b/copy", log.as_bytes()), ("c/app-1.zstd", &packed)]);
    let output = dir.run(&["summary", "--json", "."]);
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    let expected = "note: ./b/copy is a copy of ./a/app-1: the same run, shown once\n\
                    note: ./c/app-1.zstd is a copy of ./a/app-1: the same run, shown once\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

#[test]
fn attempts_of_one_application_are_two_runs() {
    let attempt = |attempt: &str| {
        base::log()
            .replace(r#""App ID":"app-1""#, &format!(r#""App ID":"app-1","App Attempt ID":"{attempt}""#))
    };
    let dir = Dir::new(&[("app-1_1", attempt("1").as_bytes()), ("app-1_2", attempt("2").as_bytes())]);
    let output = dir.run(&["summary", "--json", "app-1_1", "app-1_2"]);
    let attempts: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["application"]["attempt_id"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(attempts, ["1", "2"]);
    assert!(output.stderr.is_empty());
}

#[test]
fn exit_codes() {
    let dir = Dir::new(&[
        ("app-1", base::log().as_bytes()),
        ("broken", base::broken_log().as_bytes()),
        ("cut", base::cut_log().as_bytes()),
        ("picture.png", PNG),
    ]);
    let cases: &[(&[&str], i32)] = &[
        (&["summary", "app-1"], 0),
        (&["summary", "--strict", "app-1"], 0),
        (&["summary", "broken"], 0),
        (&["summary", "--strict", "broken"], 4),
        (&["summary", "--strict", "cut"], 4),
        (&["summary", "app-1", "missing"], 0),
        (&["summary", "--strict", "app-1", "missing"], 4),
        (&["summary", "missing"], 3),
        (&["summary", "picture.png"], 3),
        (&["doctor", "missing"], 3),
        (&["summary"], 2),
        (&["summary", "--json", "--format", "text", "app-1"], 2),
        (&["summary", "--threads", "0", "app-1"], 2),
        (&["summary", "-", "-"], 2),
        (&["nonsense"], 2),
        (&["summary", "app-1", "--out", "missing/out"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["man"], 0),
        (&["completions", "zsh"], 0),
    ];
    for (args, code) in cases {
        let output = dir.run(args);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {}", show(&output));
    }
}

#[test]
fn a_source_that_is_missing_beside_a_good_one_is_a_warning() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("picture.png", PNG)]);
    for missing in ["missing", "picture.png"] {
        let starts = |args: &[&str], word: &str, code: i32| {
            let output = dir.run(args);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.starts_with(&format!("{word}: {missing}: ")), "{args:?}: {stderr}");
            assert_eq!(output.status.code(), Some(code), "{args:?}");
        };
        starts(&["diagnose", missing, "app-1"], "warning", 0);
        starts(&["summary", missing, "app-1"], "warning", 0);
        starts(&["summary", missing], "error", 3);
        let strict = show(&dir.run(&["summary", missing, "app-1", "--strict"]));
        assert!(
            strict.starts_with("exit code: 4") && strict.contains(&format!("\nerror: {missing}: ")),
            "{strict}"
        );
    }
}

#[test]
fn standard_input() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let file = std::fs::File::open(dir.path().join("app-1")).unwrap();
    let output = dir.command(&["summary", "--json", "-"]).stdin(Stdio::from(file)).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["application"]["duration_ms"], 3000);
}

#[test]
fn help() {
    let dir = Dir::new(&[]);
    for command in ["summary", "doctor", "completions", "man"] {
        let output = dir.run(&[command, "--help"]);
        assert!(String::from_utf8(output.stdout).unwrap().contains("Examples:"), "{command}");
    }
    assert_snapshot!(dir.show(&["--help"]));
}

#[test]
fn manual_pages() {
    let dir = Dir::new(&[]);
    let output = dir.run(&["man", "--out", "man1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("note: wrote man1/emberscope.1\n"));
    let version = concat!("emberscope ", env!("CARGO_PKG_VERSION"));
    for page in ["emberscope.1", "emberscope-summary.1", "emberscope-doctor.1", "emberscope-man.1"] {
        let text = std::fs::read_to_string(dir.path().join("man1").join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(version), "{page}: {text}");
        assert!(text.contains("EXAMPLES") && text.contains(".nf\n") && !text.contains("EXTRA"), "{page}");
        // Every page that is named is written.
        let named = text.split("emberscope\\-").skip(1).filter_map(|rest| rest.split_once("(1)"));
        for (name, _) in named.filter(|(name, _)| name.chars().all(char::is_alphabetic)) {
            assert!(dir.path().join(format!("man1/emberscope-{name}.1")).exists(), "{name}");
        }
    }
    assert_eq!(dir.run(&["man"]).stdout, std::fs::read(dir.path().join("man1/emberscope.1")).unwrap());
}
