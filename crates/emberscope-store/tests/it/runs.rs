//! Runs that were kept are, at every door, the runs that were read.

use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::{RunSource, discover};
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_model::summary::summarize;
use emberscope_store::RunCache;
use std::path::{Path, PathBuf};

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs")
}

fn source(path: &Path) -> RunSource {
    discover(path.to_str().unwrap()).unwrap().runs.remove(0)
}

fn read(source: &RunSource) -> Run {
    let parse = ParseOptions { keep_plan_text: true, without_cursor: false };
    load(source, ScanOptions::default(), parse, &|_| {})
}

/// All that a run says; plans are looked up.
fn told(run: &Run) -> String {
    let plans: Vec<String> = run
        .sql_executions
        .iter()
        .flat_map(|execution| &execution.versions)
        .map(|version| {
            format!("{:?} {:?}", run.plan_tree(version), version.text.map(|text| run.blob_text(text)))
        })
        .collect();
    let metrics: Vec<_> = run.sql_executions.iter().map(|execution| run.sql_metrics(execution)).collect();
    format!(
        "{:#?}",
        (
            (&run.source, run.content_hash, &run.application, &run.environment, &run.jobs, &run.stages),
            (&run.unsubmitted_stages, &run.executors, &run.resource_profiles, &run.sql_executions),
            (&run.streams, &run.connect, &run.storage.rdds, &run.storage.cached, run.storage.blocks()),
            (run.storage.block_updates, &run.storage.broadcasts, &run.failures, &run.task_errors),
            (&run.exclusions, &run.task_threads, run.strings.texts(), &run.trust, plans, metrics),
        )
    )
}

#[test]
fn what_comes_back_is_what_was_kept() {
    let place = tempfile::tempdir().unwrap();
    let cache = RunCache::at(&place.path().join("runs"), u64::MAX).unwrap();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(logs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 50);
    for path in paths {
        let source = source(&path);
        let run = read(&source);
        let key = cache.key(&source).unwrap();
        assert!(cache.find(&key).is_none());
        cache.keep(&key, &run).unwrap();
        let kept = cache.find(&key).unwrap();
        assert_eq!(told(&kept), told(&run), "{path:?}");
        assert_eq!(summarize(&kept), summarize(&run), "{path:?}");
        let options = Options::default();
        let (ours, theirs) = (diagnose(&kept, &options), diagnose(&run, &options));
        assert_eq!(
            serde_json::to_string(&ours).unwrap(),
            serde_json::to_string(&theirs).unwrap(),
            "{path:?}"
        );
        // What came back can be kept as well.
        cache.keep(&key, &kept).unwrap();
        assert_eq!(told(&cache.find(&key).unwrap()), told(&run), "{path:?}");
    }
}

#[test]
fn what_is_damaged_counts_as_missing() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("runs");
    let cache = RunCache::at(&root, u64::MAX).unwrap();
    let source = source(&logs().join("sql-aqe-4.3.0"));
    let run = read(&source);
    let key = cache.key(&source).unwrap();
    cache.keep(&key, &run).unwrap();
    let entry = std::fs::read_dir(&root).unwrap().next().unwrap().unwrap().path();
    let file = entry.join("run.bin");
    let whole = std::fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 200 + 1) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&file, &damaged).unwrap();
        assert!(cache.find(&key).is_none(), "byte {at}");
    }
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(cache.find(&key).is_none());
    std::fs::write(&file, &whole).unwrap();
    assert!(cache.find(&key).is_some());
    // Damaged plans are no plans, and no reason to fail.
    let plans = entry.join("plans.bin");
    let mut bytes = std::fs::read(&plans).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&plans, &bytes).unwrap();
    let kept = cache.find(&key).unwrap();
    assert!(kept.sql_executions.iter().all(|one| kept.final_plan(one).is_none()));
    // Made again, it is whole again.
    cache.keep(&key, &run).unwrap();
    assert_eq!(told(&cache.find(&key).unwrap()), told(&run));
}

#[test]
fn a_log_that_changed_is_another() {
    let place = tempfile::tempdir().unwrap();
    let cache = RunCache::at(&place.path().join("runs"), u64::MAX).unwrap();
    let log = place.path().join("app-1");
    let line = "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"a\",\"App ID\":\"app-1\",\"Timestamp\":1700000000000,\"User\":\"u\"}\n";
    std::fs::write(&log, line).unwrap();
    let before = source(&log);
    cache.keep(&cache.key(&before).unwrap(), &read(&before)).unwrap();
    assert!(cache.find(&cache.key(&before).unwrap()).is_some());
    let more = format!("{line}{{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":1700000009000}}\n");
    std::fs::write(&log, more).unwrap();
    assert!(cache.find(&cache.key(&source(&log)).unwrap()).is_none());
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("runs");
    let cache = RunCache::at(&root, u64::MAX).unwrap();
    let source = source(&logs().join("rdd-4.3.0"));
    cache.keep(&cache.key(&source).unwrap(), &read(&source)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let entry = std::fs::read_dir(&root).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&root), mode(&entry)), (0o700, 0o700));
    for file in std::fs::read_dir(entry).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}
