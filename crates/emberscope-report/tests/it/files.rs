//! Files: rolled, replaced, recovered, and never half.

use crate::base::{fixture, names, rows, write};
use emberscope_report::sink::write_run;
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
