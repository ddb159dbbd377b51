//! What fuzzing has found once in texts and answers, replayed on every run of the tests.

// The targets' own file, so that both check the same laws.
#[path = "../../../../fuzz/texts.rs"]
mod texts;

use std::path::{Path, PathBuf};

#[test]
fn corpora_of_the_fuzz_targets() {
    for (target, check) in texts::TARGETS {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let mut inputs: Vec<PathBuf> =
            std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for input in inputs {
            let data = std::fs::read(&input).unwrap();
            if std::panic::catch_unwind(|| check(&data)).is_err() {
                panic!("{} fails", input.display());
            }
        }
    }
}
