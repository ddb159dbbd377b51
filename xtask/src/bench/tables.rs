//! Tables of a run: all of them by Emberscope, the one of tasks by Spark SQL, from the same log.

use super::logs::Log;
use super::ours::Program;
use super::usage::{self, Usage};
use super::{report, told};
use crate::run;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Form of files, with the GB/s of decoded log to reach.
const FORMATS: [(&str, f64); 2] = [("parquet", 0.7), ("ndjson", 0.5)];
const SPARK_HEAP: &str = "4g";

/// Measures both programs in turns and prints what they took.
pub(crate) fn run(log: &Log, program: &Program, spark_home: &Path, runs: usize) -> Result<()> {
    println!("\ntables of {}: all twelve by Emberscope, task rows by Spark SQL", log.name);
    let mut lines = Vec::new();
    for (format, goal) in FORMATS {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for n in 1..=runs {
            mine.push(told("emberscope", n, ours(log, program, format)?));
            theirs.push(told("spark sql", n, spark(log, spark_home, format)?));
        }
        lines.extend(report::tables(log, format, goal, &mine, &theirs));
    }
    println!();
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn ours(log: &Log, program: &Program, format: &str) -> Result<Usage> {
    let place = tempfile::tempdir().context("a place for the tables")?;
    let mut command = Command::new(program.path());
    command
        .args(["report", "--tasks", "--quiet", "--format", format, "--out"])
        .arg(place.path())
        .arg(&log.path);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().context("cannot start Emberscope")?;
    let (usage, status) = usage::finish(&mut child, started, None)?;
    if !status.success() {
        bail!("emberscope report: {status}");
    }
    check(log, task_rows(place.path())?)?;
    Ok(usage)
}

fn check(log: &Log, rows: u64) -> Result<()> {
    if rows != log.counts.tasks {
        bail!("{rows} task rows were written, the log has {} tasks", log.counts.tasks);
    }
    Ok(())
}

/// Rows of the task table, as the list of a report's files says.
fn task_rows(dir: &Path) -> Result<u64> {
    let mut rows = 0;
    for entry in std::fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            rows += task_rows(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "manifest") {
            let manifest: Value = serde_json::from_slice(&std::fs::read(&path)?).context("list of files")?;
            let files = manifest["files"].as_array().into_iter().flatten();
            let of_tasks = files.filter(|file| file["report"] == "task");
            rows += of_tasks.filter_map(|file| file["rows"].as_u64()).sum::<u64>();
        }
    }
    Ok(rows)
}

/// Runs `spark-submit`, whose JVM starts the script and waits for it: so its usage is that of both.
fn spark(log: &Log, spark_home: &Path, format: &str) -> Result<Usage> {
    let place = tempfile::tempdir().context("a place for Spark's rows")?;
    let (told, said) = (place.path().join("told"), place.path().join("said"));
    let mut command = Command::new(spark_home.join("bin/spark-submit"));
    command
        .args(["--master", "local[*]", "--driver-memory", SPARK_HEAP])
        .args(["--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false"])
        .arg(run::root().join("bench/spark_tasks.py"))
        .arg(&log.path)
        .arg(place.path().join("rows"))
        .arg(if format == "parquet" { "parquet" } else { "json" })
        .env("SPARK_HOME", spark_home)
        .env("SPARK_LOCAL_IP", "127.0.0.1")
        .env("PYSPARK_PYTHON", python(spark_home))
        .stdin(Stdio::null())
        .stdout(File::create(&told)?)
        .stderr(File::create(&said)?);
    let started = Instant::now();
    let mut child = command.spawn().context("cannot start spark-submit")?;
    let (usage, status) = usage::finish(&mut child, started, None)?;
    let rows = std::fs::read_to_string(&told)?.lines().rev().find_map(|line| line.trim().parse().ok());
    match rows {
        Some(rows) if status.success() => check(log, rows)?,
        _ => bail!("spark-submit: {status}\n{}", std::fs::read_to_string(&said).unwrap_or_default()),
    }
    Ok(usage)
}

/// The interpreter of the environment in which Spark is installed.
fn python(spark_home: &Path) -> std::path::PathBuf {
    // venv/lib/python3.x/site-packages/pyspark
    spark_home.ancestors().nth(4).map_or_else(|| "python3".into(), |venv| venv.join("bin/python"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_the_lists() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let list =
            r#"{"files":[{"report":"task","rows":3},{"report":"job","rows":9},{"report":"task","rows":4}]}"#;
        std::fs::write(deep.join(".x.manifest"), list).unwrap();
        assert_eq!(task_rows(place.path()).unwrap(), 7);
        assert_eq!(python(Path::new("/v/lib/python3.11/site-packages/pyspark")), Path::new("/v/bin/python"));
    }
}
