//! Files: rolled, replaced, recovered, and never half.

use crate::base::{fixture, names, rows, write};
use emberscope_report::sink::{Sink, write_run};
use emberscope_report::{FileSink, FileSinkOptions, Format, Recovered, Report, RunKey, recover};

const JOBS: &[Report] = &[Report::Job, Report::Stage];

fn visible(dir: &std::path::Path) -> Vec<String> {
    names(dir).into_iter().filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn files_roll_and_a_rerun_replaces_them() {
    let run = fixture("sql-aqe-4.3.0");
    let dir = tempfile::tempdir().unwrap();
    let small = FileSinkOptions { batch_size: 2, file_size_limit: 1500, ..FileSinkOptions::default() };
    write(&run, JOBS, dir.path(), small.clone()).unwrap();
    let first = visible(dir.path());
    assert!(first.len() > 6 && first.contains(&"job-reports-1.json".to_owned()), "{first:?}");
    let jobs = rows(dir.path(), Report::Job);
    assert_eq!(jobs.len(), run.jobs.len());
    write(&run, JOBS, dir.path(), small).unwrap();
    assert_eq!(visible(dir.path()), first);
    write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    assert_eq!(visible(dir.path()), ["job-reports-0.json", "stage-reports-0.json"]);
    let mut sorted = rows(dir.path(), Report::Job);
    sorted.sort_by_key(|row| row["jobId"].as_i64());
    assert_eq!(sorted, {
        let mut jobs = jobs;
        jobs.sort_by_key(|row| row["jobId"].as_i64());
        jobs
    });
    assert_eq!(names(dir.path()).iter().filter(|name| name.ends_with(".lock")).count(), 0);
}

#[test]
fn two_runs_share_a_directory() {
    let (one, two) = (fixture("rdd-4.3.0"), fixture("sql-aqe-3.5.9"));
    let dir = tempfile::tempdir().unwrap();
    write(&one, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    let before = std::fs::read(dir.path().join("job-reports-0.json")).unwrap();
    for _ in 0..2 {
        write(&two, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
        assert_eq!(std::fs::read(dir.path().join("job-reports-0.json")).unwrap(), before);
        assert_eq!(rows(dir.path(), Report::Job).len(), one.jobs.len() + two.jobs.len());
    }
    // A report that is not asked for stays; so does another format.
    write(&two, &[Report::Stage], dir.path(), FileSinkOptions::default()).unwrap();
    let parquet = FileSinkOptions { format: Format::Parquet, ..FileSinkOptions::default() };
    write(&two, JOBS, dir.path(), parquet).unwrap();
    assert_eq!(rows(dir.path(), Report::Job).len(), one.jobs.len() + two.jobs.len());
    assert_eq!(rows(dir.path(), Report::Stage).len(), one.stages.len() + two.stages.len());
}

#[test]
fn what_fails_leaves_what_was_there() {
    let run = fixture("rdd-4.3.0");
    let dir = tempfile::tempdir().unwrap();
    write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    let before = (names(dir.path()), rows(dir.path(), Report::Job));
    let sink = FileSink::open(dir.path(), &RunKey::of(&run), JOBS, FileSinkOptions::default()).unwrap();
    write_run(&run, JOBS, &sink, 2).unwrap();
    let busy = FileSink::open(dir.path(), &RunKey::of(&run), JOBS, FileSinkOptions::default());
    assert!(busy.is_err_and(|error| error.to_string().contains("another process is writing")));
    drop(sink);
    assert_eq!((names(dir.path()), rows(dir.path(), Report::Job)), before);
    let under_file = dir.path().join("job-reports-0.json/x");
    let error = write(&run, JOBS, &under_file, FileSinkOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("cannot be created") && error.hint().contains("a file stands"),
        "{error}"
    );
}

/// Leaves behind what a killed writer leaves.
fn kill_while_writing(dir: &std::path::Path, run: &emberscope_model::run::Run) {
    let options = FileSinkOptions { batch_size: 1, ..FileSinkOptions::default() };
    let sink = FileSink::open(dir, &RunKey::of(run), JOBS, options).unwrap();
    write_run(run, JOBS, &sink, 2).unwrap();
    let left: Vec<(std::path::PathBuf, Vec<u8>)> = names(dir)
        .into_iter()
        .filter(|name| name.ends_with(".inprogress") || name.ends_with(".manifest"))
        .map(|name| (dir.join(&name), std::fs::read(dir.join(name)).unwrap()))
        .collect();
    drop(sink);
    for (path, bytes) in left {
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn orphans_are_taken_over_or_written_again() {
    let run = fixture("rdd-4.3.0");
    let dir = tempfile::tempdir().unwrap();
    kill_while_writing(dir.path(), &run);
    assert!(visible(dir.path()).is_empty());
    let orphan = dir.path().join(".job-reports-0.json.inprogress");
    let mut bytes = std::fs::read(&orphan).unwrap();
    bytes.truncate(bytes.len() - 7);
    std::fs::write(&orphan, &bytes).unwrap();
    let found = recover(dir.path()).unwrap();
    assert_eq!(found.len(), 2);
    let cut = |one: &Recovered| matches!(one, Recovered::Lines { cut_bytes, rows, .. } if *cut_bytes > 0 && *rows == run.jobs.len() as u64 - 1);
    assert_eq!(found.iter().filter(|one| cut(one)).count(), 1, "{found:?}");
    assert_eq!(rows(dir.path(), Report::Job).len(), run.jobs.len() - 1);
    assert!(recover(dir.path()).unwrap().is_empty());
    // What was taken over is replaced, not doubled.
    write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    assert_eq!(rows(dir.path(), Report::Job).len(), run.jobs.len());
    // A rerun that died leaves the earlier reports as they are.
    kill_while_writing(dir.path(), &run);
    let found = recover(dir.path()).unwrap();
    assert!(
        found.iter().all(|one| matches!(one, Recovered::Superseded { .. })) && found.len() == 2,
        "{found:?}"
    );
    assert_eq!(rows(dir.path(), Report::Job).len(), run.jobs.len());
    assert!(!names(dir.path()).iter().any(|name| name.ends_with(".inprogress")));
}

#[test]
fn a_damaged_manifest_is_told() {
    let run = fixture("rdd-4.3.0");
    let dir = tempfile::tempdir().unwrap();
    write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    let manifest = names(dir.path()).into_iter().find(|name| name.ends_with(".manifest")).unwrap();
    let text = std::fs::read_to_string(dir.path().join(&manifest)).unwrap();
    for bad in ["{", &text.replace("job-reports-0.json", "../job-reports-0.json")] {
        std::fs::write(dir.path().join(&manifest), bad).unwrap();
        let error = write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap_err();
        assert!(error.to_string().contains("not a list of files"), "{error}");
    }
}

/// Waits until something holds; false when it never does.
fn comes(holds: impl Fn() -> bool) -> bool {
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(20) {
        if holds() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    false
}

#[test]
fn rows_reach_the_system_by_a_timer() {
    let run = fixture("rdd-4.3.0");
    for (every, expected) in [(std::time::Duration::from_millis(20), true), (HOUR, false)] {
        let dir = tempfile::tempdir().unwrap();
        let options =
            FileSinkOptions { batch_size: 1_000_000, flush_every: every, ..FileSinkOptions::default() };
        let sink = FileSink::open(dir.path(), &RunKey::of(&run), &[Report::Job], options).unwrap();
        emberscope_report::tables::produce(&run, Report::Job, &mut |batch| sink.write(batch)).unwrap();
        // Nothing more comes, and nobody closes the file.
        let written = || std::fs::metadata(dir.path().join(".job-reports-0.json.inprogress")).unwrap().len();
        assert_eq!(if expected { comes(|| written() > 0) } else { written() > 0 }, expected);
        Box::new(sink).close().unwrap();
        assert_eq!(rows(dir.path(), Report::Job).len(), run.jobs.len());
    }
}

const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

#[test]
fn closing_that_takes_too_long_is_told_and_loses_nothing() {
    let run = fixture("rdd-4.3.0");
    let dir = tempfile::tempdir().unwrap();
    let options = FileSinkOptions { close_timeout: std::time::Duration::ZERO, ..FileSinkOptions::default() };
    let error = write(&run, JOBS, dir.path(), options).unwrap_err();
    assert!(error.to_string().contains("not written after 0 s"), "{error}");
    assert!(error.hint().contains("--close-timeout"), "{}", error.hint());
    // It goes on beside: the files get their names later, or with the next report of the run.
    assert!(comes(|| !names(dir.path()).iter().any(|name| name.ends_with(".lock"))));
    assert_eq!(rows(dir.path(), Report::Job).len(), run.jobs.len());
    write(&run, JOBS, dir.path(), FileSinkOptions::default()).unwrap();
    assert_eq!(visible(dir.path()), ["job-reports-0.json", "stage-reports-0.json"]);
}

#[test]
fn two_writers_in_one_directory_at_once_lose_nothing() {
    let runs = [fixture("rdd-4.3.0"), fixture("sql-aqe-3.5.9")];
    let dir = tempfile::tempdir().unwrap();
    let small = FileSinkOptions { batch_size: 2, file_size_limit: 1500, ..FileSinkOptions::default() };
    std::thread::scope(|scope| {
        for run in &runs {
            scope.spawn(|| {
                for round in 0..8 {
                    let options = if round % 2 == 0 { small.clone() } else { FileSinkOptions::default() };
                    write(run, JOBS, dir.path(), options).unwrap();
                }
            });
        }
    });
    let count = |report| rows(dir.path(), report).len();
    assert_eq!(count(Report::Job), runs[0].jobs.len() + runs[1].jobs.len());
    assert_eq!(count(Report::Stage), runs[0].stages.len() + runs[1].stages.len());
    assert!(!names(dir.path()).iter().any(|name| name.ends_with(".inprogress")));
}

#[test]
fn threads_do_not_matter() {
    let run = fixture("sql-aqe-4.3.0");
    for format in [Format::Ndjson, Format::Parquet] {
        let files = |threads| {
            let dir = tempfile::tempdir().unwrap();
            let options = FileSinkOptions { format, ..FileSinkOptions::default() };
            let sink = FileSink::open(dir.path(), &RunKey::of(&run), Report::ALL, options).unwrap();
            write_run(&run, Report::ALL, &sink, threads).unwrap();
            let written = Box::new(sink).close().unwrap();
            let files = visible(dir.path()).into_iter();
            let files = files.map(|name| (std::fs::read(dir.path().join(&name)).unwrap(), name));
            (written, files.collect::<Vec<_>>())
        };
        let one = files(1);
        assert_eq!(one.1.len(), Report::ALL.len());
        for threads in [2, 5, 50] {
            assert!(files(threads) == one, "{format:?} {threads}");
        }
    }
}
