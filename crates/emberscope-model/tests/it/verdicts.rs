//! Every log opens with the verdict that a person gave it after looking: `expected/*.txt`.
//!
//! `EMBERSCOPE_UPDATE=1` writes the files anew; look at the difference before committing it.

use crate::base::options;
use crate::fixtures::directory;
use emberscope_log::block::ParseOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::summary::summarize;
use emberscope_model::trust::FileStatus;
use std::fmt::Write;
use std::path::Path;

/// One line per run and per path that is none.
fn verdicts(directory: &Path) -> String {
    let found = discover(directory.to_str().unwrap()).unwrap();
    let relative = |path: &str| {
        path.strip_prefix(directory.to_str().unwrap()).unwrap_or(path).trim_start_matches('/').to_owned()
    };
    let mut lines: Vec<String> = Vec::new();
    for source in &found.runs {
        let run = load(source, options(), ParseOptions::default(), &|_| {});
        let totals = summarize(&run).totals;
        let whole = run.trust.files.iter().all(|file| file.status == FileStatus::Ok);
        let mut line = format!(
            "{}: {} {:?}, {} {}, jobs {} ({} failed), stages {} ({} attempts, {} skipped), tasks {} of {} attempts, sql {}",
            relative(&source.label),
            if whole { "ok" } else { "partial" },
            run.application.status,
            run.trust.engine,
            run.application.spark_version.as_deref().unwrap_or("?"),
            totals.jobs,
            totals.jobs_failed,
            totals.stages,
            totals.stage_attempts,
            totals.stages_skipped,
            totals.tasks.succeeded,
            totals.tasks.attempts,
            totals.sql_executions,
        );
        for file in run.trust.files.iter().filter(|file| file.status != FileStatus::Ok) {
            let _ = write!(line, "; {}", file.reason.as_deref().unwrap_or("?"));
        }
        lines.push(line);
    }
    for skipped in &found.skipped {
        lines.push(format!("{}: {:?}, {}", relative(&skipped.path), skipped.status, skipped.reason));
    }
    lines.sort();
    lines.join("\n") + "\n"
}

fn assert_verdicts(directory: &Path, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/expected").join(expected);
    let ours = verdicts(directory);
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&file, &ours).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    for (ours, expected) in ours.lines().zip(expected.lines()) {
        assert_eq!(ours, expected);
    }
    assert_eq!(ours.lines().count(), expected.lines().count());
}

#[test]
fn of_every_fixture() {
    assert_verdicts(&directory().join("logs"), "fixtures.txt");
}

#[test]
fn of_every_log_of_the_corpus() {
    let corpus = directory().join("../../shared/corpus");
    if corpus.exists() {
        assert_verdicts(&corpus, "corpus.txt");
    } else {
        eprintln!("no corpus beside the project: its verdicts were not checked");
    }
}
