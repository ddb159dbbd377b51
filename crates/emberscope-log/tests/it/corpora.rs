//! What fuzzing has found once, replayed on every run of the tests.

// The targets' own file, so that both check the same laws.
#[path = "../../../../fuzz/checks.rs"]
mod checks;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Targets of crates that depend on this one: their own tests replay them.
const ELSEWHERE: [&str; 5] = ["answers", "driver_log", "explain", "jfr", "sql_text"];

#[test]
fn every_fuzz_target_is_replayed() {
    let here = checks::TARGETS.iter().map(|(name, _)| *name);
    let known: BTreeSet<String> = here.chain(ELSEWHERE).map(str::to_owned).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), known);
    assert_eq!(names(&fuzz().join("corpus")), known);
}

#[test]
fn corpora_of_the_fuzz_targets() {
    for (target, check) in checks::TARGETS {
        let corpus = fuzz().join("corpus").join(target);
        let mut inputs: Vec<PathBuf> =
            fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for input in inputs {
            let data = fs::read(&input).unwrap();
            if std::panic::catch_unwind(|| check(&data)).is_err() {
                panic!("{} fails", input.display());
            }
        }
    }
}
