//! Fixtures as runs, runs as files.

use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_report::sink::{Sink, write_run};
use emberscope_report::{FileSink, FileSinkOptions, Report, ReportError, RunKey};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The only run of a log.
pub(crate) fn run_of(log: &Path) -> Run {
    let found = discover(log.to_str().unwrap()).unwrap();
    assert_eq!(found.runs.len(), 1, "{log:?}");
    let parse = ParseOptions { keep_plan_text: true, ..ParseOptions::default() };
    load(&found.runs[0], ScanOptions { threads: 1, ..ScanOptions::default() }, parse, &|_| {})
}

pub(crate) fn fixture(name: &str) -> Run {
    run_of(&root().join("fixtures/logs").join(name))
}

/// Writes tables of a run to a directory.
pub(crate) fn write(
    run: &Run,
    reports: &[Report],
    dir: &Path,
    options: FileSinkOptions,
) -> Result<(), ReportError> {
    let sink = FileSink::open(dir, &RunKey::of(run), reports, options)?;
    write_run(run, reports, &sink, 2)?;
    Box::new(sink).close().map(|_| ())
}

/// Names in a directory, sorted; hidden ones too.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// All rows of a table's NDJSON files in a directory.
pub(crate) fn rows(dir: &Path, report: Report) -> Vec<Value> {
    let mut rows = Vec::new();
    for name in names(dir) {
        if name.starts_with(&format!("{}-reports-", report.name())) && name.ends_with(".json") {
            let text = std::fs::read_to_string(dir.join(name)).unwrap();
            assert!(text.is_empty() || text.ends_with('\n'));
            rows.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
    }
    rows
}
