//! Reports as their users and their accidents meet them.

use crate::base;
use crate::command::{Dir, show};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Every file below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with('.')
}

/// The lines of all results below a directory, by table.
fn rows(dir: &Path) -> BTreeMap<String, Vec<String>> {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files(dir).into_iter().filter(|path| !is_hidden(path)) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let table = name.split("-reports-").next().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{name} is cut");
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        rows.entry(table).or_default().extend(text.lines().map(str::to_owned));
    }
    rows.values_mut().for_each(|lines| lines.sort());
    rows
}

#[test]
fn a_report_and_its_tables() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let shown = dir.show(&["report", "app-1", "--out", "o", "--reports", "job,stage", "--tasks"]);
    assert!(shown.starts_with("exit code: 0"), "{shown}");
    let place = dir.path().join("o/applicationId=app-1/attempt=0");
    let task = std::fs::read_to_string(place.join("task-reports-0.json")).unwrap();
    assert!(
        task.starts_with(r#"{"stageId":0,"taskId":0,"taskDuration":1000,"taskLaunchTime":2100,"#),
        "{task}"
    );
    assert!(task.contains(r#""shuffleBytesWritten":400,"shuffleRecordsWritten":10"#), "{task}");
    let stage = std::fs::read_to_string(place.join("stage-reports-0.json")).unwrap();
    assert!(stage.contains(r#""execRunNs":900000000,"execJvmGcNs":10000000,"attempt":0"#), "{stage}");
    assert_eq!(rows(dir.path().join("o").as_path()).len(), 3);
    let log = dir.run(&["report", "app-1", "--sink", "log", "--reports", "job"]);
    let line: serde_json::Value = serde_json::from_slice(&log.stdout).unwrap();
    assert_eq!((&line["kind"], &line["report"]["jobId"]), (&"job".into(), &0.into()));
}

#[test]
fn mistakes() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("file", b"x")]);
    let cases: &[(&[&str], i32, &str)] = &[
        (&["app-1"], 2, "add `--out DIR`"),
        (&["app-1", "--out", "s3a://b/x"], 2, "s3a is not written to yet"),
        (&["app-1", "--out", "ftp://b/x"], 2, "unknown scheme ftp"),
        (&["app-1", "--out", "o/{{perfgazer.week}}"], 2, "{{perfgazer.now.year}}"),
        (&["app-1", "--out", "o/{{spark.nope}}"], 2, "no property spark.nope"),
        (&["app-1", "--out", "o", "--reports", "jobs"], 2, "known are job, sql"),
        (&["app-1", "--out", "o", "--file-size-limit", "0"], 2, "like 200MiB"),
        (&["app-1", "--out", "file/o"], 2, "a file stands where a directory should be"),
        (&["app-1", "--out", "/proc/o"], 2, "cannot be created"),
        (&["app-1", "--sink", "log", "--format", "parquet"], 2, "lines of JSON, not Parquet"),
        (&["none", "--out", "o"], 3, "none"),
        (&["--recover", "none"], 2, "no such directory"),
    ];
    for (args, code, text) in cases {
        let shown = dir.show(&[&["report"], *args].concat());
        assert!(
            shown.starts_with(&format!("exit code: {code}\n")) && shown.contains(text),
            "{args:?} {shown}"
        );
    }
    assert!(files(&dir.path().join("o")).is_empty());
}

#[test]
fn several_runs_have_their_own_directories() {
    let second = base::log().replace("app-1", "app-2");
    let dir = Dir::new(&[
        ("logs/app-1", base::log().as_bytes()),
        ("logs/app-2", second.as_bytes()),
        ("logs/app-1-cut", base::cut_log().as_bytes()),
    ]);
    let output = dir.run(&["report", "logs", "--out", "o", "--reports", "job,application"]);
    let shown = show(&output);
    assert!(shown.contains("with fewer events"), "{shown}");
    let rows = rows(&dir.path().join("o"));
    assert_eq!((rows["job"].len(), rows["application"].len()), (2, 2), "{shown}");
    assert!(rows["application"].iter().all(|row| row.contains(r#""status":"succeeded""#)));
}

/// The Parquet files of all results below a directory, by table: of one log they are always the same.
fn parquet_files(dir: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut found: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for path in files(dir).into_iter().filter(|path| !is_hidden(path)) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name} is cut");
        found.entry(name.split("-reports-").next().unwrap().to_owned()).or_default().push(bytes);
    }
    found.values_mut().for_each(|files| files.sort());
    found
}

/// A writer killed at any moment leaves no half file, and the next one writes every row once.
#[test]
fn fifty_kills() {
    kills(50, "ndjson", rows);
}

#[test]
fn twenty_kills_of_parquet() {
    kills(20, "parquet", parquet_files);
}

fn kills<T: PartialEq>(times: u32, format: &str, contents: impl Fn(&Path) -> T) {
    let dir = Dir::new(&[]);
    let out = dir.path().join("o");
    let log = fixture("sql-aqe-4.3.0");
    let args = [
        ["report", &log, "--out", "o", "--reports", "all", "--batch-size", "1"].as_slice(),
        &["--file-size-limit", "4KiB", "--format", format],
    ]
    .concat();
    // Another run's files in the same place.
    let other =
        dir.run(&["report", &fixture("rdd-4.3.0"), "--out", "o/{{spark.app.id}}", "--reports", "all"]);
    assert!(other.status.success());
    let others: Vec<(PathBuf, Vec<u8>)> =
        files(&out).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    let begun = Instant::now();
    let expected_dir = Dir::new(&[]);
    assert!(expected_dir.run(&args).status.success());
    let whole = begun.elapsed();
    let expected = contents(&expected_dir.path().join("o"));
    let own = out.join("applicationId=local-1796020181676");
    for n in 0..times {
        let mut child = dir.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(
            whole.as_micros() as u64 * u64::from(n * 37 % times) * 10 / u64::from(times * 9),
        ));
        _ = child.kill();
        child.wait().unwrap();
        // What has a final name is whole.
        contents(&own);
        if n % 10 == 9 {
            assert!(dir.run(&args).status.success());
            assert!(contents(&own) == expected, "rows differ after kill {n}");
        }
    }
    let left: Vec<PathBuf> = files(&own)
        .into_iter()
        .filter(|path| is_hidden(path) && !path.to_string_lossy().ends_with(".manifest"))
        .filter(|path| !path.to_string_lossy().ends_with(".lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    for (path, bytes) in others {
        assert!(std::fs::read(&path).unwrap() == bytes, "{path:?} was touched");
    }
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let second = base::log().replace("app-1", "app-2");
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("app-2", second.as_bytes())]);
    for round in 0..5 {
        let mut children: Vec<_> = ["app-1", "app-2"]
            .map(|log| ["report", log, "--out", "o", "--tasks", "--quiet"])
            .iter()
            .map(|args| dir.command(args).stdout(Stdio::null()).spawn().unwrap())
            .collect();
        assert!(children.iter_mut().all(|child| child.wait().unwrap().success()), "{round}");
        let rows = rows(&dir.path().join("o"));
        for table in ["application", "job", "task"] {
            let of = |app: &str| rows[table].iter().filter(|row| row.contains(app)).count();
            assert_eq!((of("app-1"), of("app-2")), (1, 1), "{table}");
        }
    }
}

#[test]
fn closing_that_takes_too_long_fails_and_the_next_report_is_whole() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let args = ["report", "app-1", "--out", "o", "--tasks"];
    let shown = dir.show(&[&args[..], &["--close-timeout", "0"]].concat());
    assert!(shown.starts_with("exit code: 1\n"), "{shown}");
    assert!(shown.contains("not written after 0 s") && shown.contains("raise --close-timeout"), "{shown}");
    assert!(dir.run(&args).status.success());
    let rows = rows(&dir.path().join("o"));
    assert_eq!((rows["job"].len(), rows["task"].len()), (1, 1));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let dir = Dir::new(&[]);
    let log = fixture("sql-aqe-4.3.0");
    assert!(dir.run(&["report", &log, "--out", "o"]).status.success());
    let before = rows(&dir.path().join("o"));
    for format in ["ndjson", "parquet"] {
        let script = format!(
            "ulimit -f 4; exec {} report {log} --out o --tasks --format {format}",
            env!("CARGO_BIN_EXE_emberscope")
        );
        let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
        let shown = show(&output);
        assert!(shown.starts_with("exit code: 1\n"), "{shown}");
        assert!(shown.contains("cannot be written") && shown.contains("the disk or a limit"), "{shown}");
        assert!(rows(&dir.path().join("o")) == before, "{format}");
        assert!(!files(dir.path()).iter().any(|path| path.to_string_lossy().contains("inprogress")));
    }
}
