//! Real readers: Spark, DuckDB and pandas, where they are there.

use crate::base::{fixture, root, write};
use emberscope_report::{FileSinkOptions, Format, Report, snippets};
use std::path::PathBuf;
use std::process::Command;

fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let base = || std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("emberscope");
    std::env::var_os("EMBERSCOPE_CACHE").map_or_else(base, PathBuf::from)
}

/// A Python that can import `module`, in the cache's environment `venv`.
fn python(venv: &str, module: &str) -> Option<PathBuf> {
    let python = cache().join(venv).join("bin/python");
    let found = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    found.is_ok_and(|output| output.status.success()).then_some(python)
}

/// Two runs in both formats: one full of everything, one without a SQL execution.
fn write_both() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["sql-aqe-4.3.0", "executor-loss-4.3.0"] {
        let run = fixture(name);
        for format in [Format::Ndjson, Format::Parquet] {
            let options = FileSinkOptions { format, ..FileSinkOptions::default() };
            let place = dir.path().join(format.extension()).join(name).join("attempt=7");
            write(&run, Report::ALL, &place, options).unwrap();
        }
    }
    for format in [Format::Ndjson, Format::Parquet] {
        for name in ["sql-aqe-4.3.0", "executor-loss-4.3.0"] {
            let glob = dir.path().join(format.extension()).join(name).join("attempt=7");
            let glob = snippets::literal(&glob);
            let sql: Vec<String> =
                Report::ALL.iter().map(|report| snippets::view(*report, format, &glob)).collect();
            let file = dir.path().join(format!("{name}-{}.sql", format.extension()));
            std::fs::write(file, sql.join("\n\n")).unwrap();
        }
    }
    dir
}

fn check(python: &PathBuf, reader: &str, dir: &std::path::Path) {
    let output = Command::new(python)
        .arg(root().join("crates/emberscope-report/tests/readers.py"))
        .arg(reader)
        .arg(dir)
        .arg(root().join("docs/schema/emberscope-schema.json"))
        .env_remove("SPARK_HOME")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{reader}\n{out}\n{err}");
    eprintln!("{}", out.trim_end());
}

#[test]
fn spark_reads_both_formats() {
    if Command::new("java").arg("-version").output().is_err() {
        eprintln!("skipped: no Java");
        return;
    }
    let dir = write_both();
    for venv in ["venv-3.5.9", "venv-4.3.0"] {
        match python(venv, "pyspark") {
            Some(python) => check(&python, "spark", dir.path()),
            None => eprintln!("skipped: no pyspark in {venv} of the cache"),
        }
    }
}

#[test]
fn duckdb_and_pandas_read_both_formats() {
    let dir = write_both();
    for reader in ["duckdb", "pandas"] {
        match python("venv-readers", reader) {
            Some(python) => check(&python, reader, dir.path()),
            None => eprintln!("skipped: no {reader} in venv-readers of the cache"),
        }
    }
}
