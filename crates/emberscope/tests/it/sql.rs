//! Questions in SQL, as far as `emberscope-sql` is there to answer them.

#![expect(clippy::print_stdout, reason = "whoever reads the test's output must see what was skipped")]

use crate::base;
use crate::command::{Dir, show};
use crate::serve::Server;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program that answers; without it a test says so and ends.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("EMBERSCOPE_SQL").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_BIN_EXE_emberscope")).with_file_name("emberscope-sql");
    let found = named.into_iter().chain([beside]).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: no emberscope-sql; build it and name it in EMBERSCOPE_SQL");
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn fixture(name: &str) -> String {
    root().join("fixtures/logs").join(name).to_str().unwrap().to_owned()
}

fn command(dir: &Dir, args: &[&str]) -> Command {
    let mut command = dir.command(args);
    command.env("EMBERSCOPE_CACHE", dir.path().join("cache"));
    if let Some(program) = program() {
        command.env("EMBERSCOPE_SQL", program);
    }
    command
}

fn ask(dir: &Dir, args: &[&str]) -> Output {
    command(dir, &[&["sql"], args].concat()).output().unwrap()
}

pub(crate) fn rows(dir: &Dir, args: &[&str]) -> Vec<Value> {
    let output = ask(dir, &[args, &["--format", "ndjson"]].concat());
    assert!(output.status.success(), "{args:?} {}", show(&output));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn count(dir: &Dir, args: &[&str]) -> i64 {
    rows(dir, args)[0]["n"].as_i64().unwrap()
}

/// Whether two answers are the same but for the last bits of sums of doubles.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Asks all ready-made questions that Spark was asked (`referee/sql.py`) and compares.
fn compare(name: &str, sources: &[String]) -> usize {
    let kept = root().join("referee/sql").join(format!("{name}.json"));
    compare_with(&kept, sources, |question| vec!["--named", question])
}

/// Asks all that Spark was asked, by these words, and compares.
fn compare_with(kept: &Path, sources: &[String], words: fn(&str) -> Vec<&str>) -> usize {
    let dir = Dir::new(&[]);
    let name = kept.file_stem().unwrap().display();
    let kept = std::fs::read(kept).unwrap();
    let kept: serde_json::Map<String, Value> = serde_json::from_slice(&kept).unwrap();
    for (question, expected) in &kept {
        let mut args: Vec<&str> = sources.iter().map(String::as_str).collect();
        args.extend(words(question));
        args.push("--quiet");
        // The order of keys is that of the columns, which a parsed object loses: by names then.
        let columns: Vec<&str> =
            expected["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        let key = |row: &Vec<Value>| serde_json::to_string(row).unwrap();
        let output = ask(&dir, &[args.as_slice(), &["--format", "json"]].concat());
        assert!(output.status.success(), "{name} {question} {}", show(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut ours: Vec<Vec<Value>> = text
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| ordered_values(line.trim_end_matches(',')))
            .collect();
        let theirs = expected["rows"].as_array().unwrap();
        let mut theirs: Vec<Vec<Value>> = theirs.iter().map(|row| row.as_array().unwrap().clone()).collect();
        assert_eq!(ours.len(), theirs.len(), "{name} {question}");
        assert!(ours.iter().all(|row| row.len() == columns.len()), "{name} {question}");
        ours.sort_by_key(key);
        theirs.sort_by_key(key);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let same = ours.iter().zip(theirs).all(|(a, b)| is_same(a, b));
            assert!(same, "{name} {question}\nours  {ours:?}\nSpark {theirs:?}");
        }
    }
    kept.len()
}

/// The values of an object in the order they are written.
fn ordered_values(line: &str) -> Vec<Value> {
    struct Values(Vec<Value>);
    impl<'de> serde::Deserialize<'de> for Values {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Values;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                    let mut values = Vec::new();
                    while let Some((_, value)) = map.next_entry::<String, Value>()? {
                        values.push(value);
                    }
                    Ok(Values(values))
                }
            }
            from.deserialize_map(Visitor)
        }
    }
    serde_json::from_str::<Values>(line).unwrap().0
}

#[test]
fn answers_are_those_of_spark() {
    if program().is_none() {
        return;
    }
    let mut all = Vec::new();
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("referee/sql")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        if name != "all-runs" {
            compared += compare(&name, &[fixture(&name)]);
            all.push(fixture(&name));
        }
    }
    compared += compare("all-runs", &all);
    let of_dialect = [fixture("sql-aqe-4.3.0")];
    compared += compare_with(&root().join("referee/dialect.json"), &of_dialect, |statement| vec![statement]);
    println!("{compared} answers are those of Spark");
}

#[test]
fn a_log_is_read_once() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let query = "SELECT COUNT(*) AS n FROM task WHERE status = 'succeeded'";
    assert_eq!(count(&dir, &["app-1", query]), 1);
    let entries = || std::fs::read_dir(dir.path().join("cache/tables")).unwrap().count();
    assert_eq!(entries(), 1);
    assert_eq!(count(&dir, &["app-1", query]), 1);
    assert_eq!(entries(), 1);
    // Damaged, it is made again.
    let entry = std::fs::read_dir(dir.path().join("cache/tables")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(entry.join("task-reports-0.parquet"), b"PAR1").unwrap();
    assert_eq!(count(&dir, &["app-1", query]), 1);
    // Another log under the same name is another one.
    std::fs::write(dir.path().join("app-1"), base::retried_log()).unwrap();
    assert_eq!(count(&dir, &["app-1", "SELECT COUNT(*) AS n FROM task"]), 3);
}

#[test]
fn logs_and_reports_together() {
    if program().is_none() {
        return;
    }
    let other = base::log().replace("app-1", "app-2");
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("app-2", other.as_bytes())]);
    for format in ["ndjson", "parquet"] {
        let report = dir.run(&["report", "app-2", "--out", "reports", "--tasks", "--format", format]);
        assert!(report.status.success(), "{}", show(&report));
    }
    // Both forms of one run are that run once.
    let n = "SELECT COUNT(*) AS n FROM job";
    assert_eq!(count(&dir, &["reports", n]), 1);
    assert_eq!(count(&dir, &["app-1", "reports", n]), 2);
    // A log and its own reports, too.
    assert_eq!(count(&dir, &["app-1", "app-2", "reports", n]), 2);
    let join = "SELECT COUNT(*) AS n FROM job j JOIN stage s ON ARRAY_CONTAINS(j.stages, s.stageId)";
    assert_eq!(count(&dir, &["app-1", "reports", join]), 4);
    let by_run = format!("{join} AND s.applicationId = j.applicationId");
    assert_eq!(count(&dir, &["app-1", "reports", &by_run]), 2);
    assert_eq!(rows(&dir, &["app-1", "reports", "--named", "jobs-by-cpu-usage"]).len(), 2);
}

#[test]
fn what_is_missing_is_told() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("cut", base::cut_log().as_bytes())]);
    let n = "SELECT COUNT(*) AS n FROM job";
    let of_summary = |args: &[&str]| {
        let output = dir.run(&[&["summary"], args].concat());
        String::from_utf8(output.stderr).unwrap()
    };
    let told = |args: &[&str]| {
        let output = ask(&dir, &[args, &[n, "--format", "csv"]].concat());
        let code = output.status.code().unwrap();
        (code, String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    // As `summary` says it: alone, beside a good one, and with --strict.
    let missing = of_summary(&["nofile"]);
    assert!(missing.starts_with("error: nofile") && missing.contains("hint"), "{missing}");
    assert_eq!(told(&["nofile"]), (3, String::new(), missing));
    let beside = of_summary(&["app-1", "nofile"]);
    assert!(beside.starts_with("warning: nofile"), "{beside}");
    assert_eq!(told(&["app-1", "nofile"]), (0, "n\n1\n".to_owned(), beside));
    assert_eq!(told(&["app-1", "nofile", "--quiet"]).2, "");
    let strict = told(&["app-1", "nofile", "--strict"]);
    assert_eq!((strict.0, strict.2), (4, of_summary(&["app-1", "nofile", "--strict"])));
    // A log that is cut: one line, from the cache as well.
    for _ in 0..2 {
        let (code, _, stderr) = told(&["cut"]);
        assert!(code == 0 && stderr.lines().count() == 1, "{code} {stderr}");
        assert!(stderr.starts_with("warning: cut is not whole: "), "{stderr}");
    }
    assert_eq!(told(&["cut", "--quiet"]).2, "");
    let strict = told(&["cut", "--strict"]);
    assert!(strict.0 == 4 && strict.2.starts_with("error: not whole: cut"), "{strict:?}");
}

#[test]
fn what_show_prints_can_be_asked() {
    if program().is_none() {
        return;
    }
    let retried = base::retried_log();
    let dir = Dir::new(&[
        ("app-1", retried.as_bytes()),
        ("app-2", base::log().replace("app-1", "app-2").as_bytes()),
    ]);
    let shown = String::from_utf8(dir.run(&["sql", "--show", "tasks-with-stage-and-job"]).stdout).unwrap();
    std::fs::write(dir.path().join("shown.sql"), &shown).unwrap();
    for sources in [&["app-1"][..], &["app-1", "app-2"]] {
        let from_file = ask(&dir, &[sources, &["-f", "shown.sql", "--format", "csv"]].concat());
        let named =
            ask(&dir, &[sources, &["--named", "tasks-with-stage-and-job", "--format", "csv"]].concat());
        assert!(from_file.status.success(), "{}", show(&from_file));
        // Its rows have no order.
        let lines = |output: &Output| {
            let mut lines: Vec<String> = show(output).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&from_file), lines(&named));
    }
    std::fs::write(dir.path().join("two.sql"), "SELECT 1; SELECT 2").unwrap();
    let two = show(&ask(&dir, &["app-1", "-f", "two.sql"]));
    assert!(two.starts_with("exit code: 2\n") && two.contains("there are 2 statements"), "{two}");
    // A name of no form of rows.
    let odd = show(&ask(&dir, &["app-1", "SELECT 1 AS x", "--out", "x.xyz"]));
    assert!(odd.starts_with("exit code: 2\n") && odd.contains("`.csv`, `.tsv`, `.json`"), "{odd}");
    assert!(!dir.path().join("x.xyz").exists());
    assert!(ask(&dir, &["app-1", "SELECT 1 AS x", "--out", "x.xyz", "--format", "csv"]).status.success());
}

#[test]
fn retried_stages_count_once() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[]);
    let log = fixture("executor-loss-4.3.0");
    let counted = "SELECT COUNT(*) AS n FROM job j, task t WHERE ARRAY_CONTAINS(j.stages, t.stageId)";
    let joined = "SELECT COUNT(*) AS n FROM job j JOIN stage s ON ARRAY_CONTAINS(j.stages, s.stageId)
        JOIN task t ON t.stageId = s.stageId AND t.stageAttempt = s.attempt";
    assert_eq!(count(&dir, &[&log, counted]), count(&dir, &[&log, joined]));
    // The form for one run and that for several say the same.
    let several = dir.run(&["sql", "--show", "skew-detection"]).stdout;
    let several = String::from_utf8(several).unwrap();
    let several = several.split("-- The same of several runs").nth(1).unwrap();
    let by =
        |row: &Value| (row["jobId"].to_string(), row["stageId"].to_string(), row["taskCount"].to_string());
    let mut one: Vec<_> = rows(&dir, &[&log, "--named", "skew-detection"]).iter().map(by).collect();
    let mut many: Vec<_> = rows(&dir, &[&log, several]).iter().map(by).collect();
    one.sort();
    many.sort();
    assert_eq!(one, many);
}

#[test]
fn two_applications_with_one_id() {
    if program().is_none() {
        return;
    }
    // A day later, under the same id.
    let other = base::log().replace("\"Timestamp\":1000", "\"Timestamp\":900");
    let dir = Dir::new(&[("a", base::log().as_bytes()), ("b", other.as_bytes())]);
    let output = ask(&dir, &["a", "b", "SELECT COUNT(DISTINCT runId) AS n FROM job", "--format", "csv"]);
    let shown = show(&output);
    assert!(shown.starts_with("exit code: 0\n----- stdout -----\nn\n2\n"), "{shown}");
    assert!(shown.contains("join on runId too"), "{shown}");
}

#[test]
fn forms_of_answers() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let query = "SELECT j.jobId, s.stageId, t.stageId, j.stages, j.groupId FROM job j, stage s, task t";
    let written = |format: &str| {
        let output = ask(&dir, &["app-1", query, "--format", format]);
        assert!(output.status.success(), "{}", show(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        written("json"),
        "[\n{\"jobId\":0,\"s.stageId\":0,\"t.stageId\":0,\"stages\":[0],\"groupId\":null}\n]\n"
    );
    assert_eq!(written("csv"), "jobId,stageId,stageId,stages,groupId\n0,0,0,[0],\n");
    assert_eq!(written("tsv"), "jobId\tstageId\tstageId\tstages\tgroupId\n0\t0\t0\t[0]\t\n");
    let table = written("table");
    assert!(table.starts_with("jobId  stageId  stageId  stages  groupId\n"), "{table}");
    for name in ["a.parquet", "a.arrow", "a.csv"] {
        assert!(ask(&dir, &["app-1", query, "--out", name]).status.success());
    }
    assert!(std::fs::read(dir.path().join("a.parquet")).unwrap().starts_with(b"PAR1"));
    assert_eq!(std::fs::read_to_string(dir.path().join("a.csv")).unwrap(), written("csv"));
    assert_eq!(written("ndjson").lines().count(), 1);
    let none = ask(&dir, &["app-1", "SELECT jobId FROM job WHERE jobId < 0", "--format", "json"]);
    assert_eq!(none.stdout, b"[]\n");
}

#[test]
fn mistakes_and_limits_are_told() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let told = |args: &[&str]| show(&ask(&dir, args));
    insta::assert_snapshot!("sql_no_such_column", told(&["app-1", "SELECT jobIdd\nFROM job"]));
    insta::assert_snapshot!("sql_read_only", told(&["app-1", "DROP TABLE job"]));
    let endless = "SELECT COUNT(*) FROM generate_series(1, 1000000000000) a";
    insta::assert_snapshot!("sql_timeout", told(&["app-1", endless, "--timeout", "500ms"]));
    let large = "SELECT ARRAY_AGG(a.value) FROM generate_series(1, 1000000000000) a";
    insta::assert_snapshot!("sql_memory", told(&["app-1", large, "--memory", "300MiB"]));
    let cut = told(&[
        "app-1",
        "SELECT a.value FROM generate_series(1, 50) a",
        "--max-rows",
        "3",
        "--format",
        "csv",
    ]);
    insta::assert_snapshot!("sql_cut", cut);
    // An answer that fails leaves no file.
    let failed = ask(&dir, &["app-1", endless, "--timeout", "200ms", "--out", "x.csv"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(!dir.path().join("x.csv").exists());
}

#[test]
#[cfg(unix)]
fn it_stops_at_once() {
    if program().is_none() {
        return;
    }
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let endless = "SELECT COUNT(*) FROM generate_series(1, 1000000000000) a";
    let start = || {
        // A shell starts what runs beside it deaf to Ctrl-C, and the tests may be such.
        let inner = command(&dir, &[]);
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(inner.get_program());
        command.args(["sql", "app-1", endless, "--timeout", "60s"]).current_dir(dir.path());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        child
    };
    let kill =
        |signal: &str, pid: u32| Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    let answering = |parent: u32| -> Option<u32> {
        let output = Command::new("pgrep").args(["-P", &parent.to_string()]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    let child = start();
    let process = answering(child.id());
    let began = Instant::now();
    kill("-INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success() && began.elapsed() < Duration::from_secs(2));
    if let Some(process) = process {
        std::thread::sleep(Duration::from_millis(300));
        let exists = Path::new("/proc")
            .join(process.to_string())
            .join("fd")
            .read_dir()
            .is_ok_and(|mut d| d.next().is_some());
        assert!(!exists, "{process} goes on");
    }
    // The other way round: the one that answers is killed.
    let child = start();
    let process = answering(child.id());
    kill("-KILL", process.unwrap_or(child.id()));
    let shown = show(&child.wait_with_output().unwrap());
    if process.is_some() {
        assert!(shown.starts_with("exit code: 1\n") && shown.contains("SIGKILL"), "{shown}");
    }
}

#[test]
fn without_the_program_it_says_how_to_get_it() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let mut command = dir.command(&["sql", "app-1", "SELECT 1 AS x"]);
    command.env("EMBERSCOPE_SQL", dir.path().join("none"));
    let shown = show(&command.output().unwrap());
    assert!(shown.starts_with("exit code: 2\n"), "{shown}");
    assert!(shown.contains("which is no file") && shown.contains("cargo build --release"), "{shown}");
    // The page is told before anybody asks.
    let server = Server::start_with(&dir, &["app-1"], &[("EMBERSCOPE_SQL", "/nowhere/emberscope-sql")]);
    let catalog = server.get("/api/emberscope/v1/sql-console/catalog");
    assert!(catalog.contains("\"missing\":{\"message\":\"EMBERSCOPE_SQL names /nowhere/"), "{catalog}");
    // What has nothing to do with it works all the same.
    let list = dir.run(&["sql", "--list"]);
    assert!(String::from_utf8(list.stdout).unwrap().contains("skew-detection"));
    let shown = dir.show(&["sql", "--show", "sql-by-spill", "--param", "limit=5"]);
    assert!(shown.contains("LIMIT 5;"), "{shown}");
    let shown = dir.show(&["sql", "--snippets", "."]);
    assert!(shown.starts_with("exit code: 2\n") && shown.contains("no reports in it"), "{shown}");
}
