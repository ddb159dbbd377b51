//! Large recordings of a real application, kept beside the repository, with known truths.

use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::open::{Recording, open};
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::view::{View, ViewLimits};
use std::path::{Path, PathBuf};

fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/jfr");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("not checked: there are no recordings at {}", root.display());
    None
}

fn recordings(root: &Path, names: &[&str]) -> Vec<Recording> {
    names.iter().flat_map(|name| open(root.join(name).to_str().unwrap()).unwrap()).collect()
}

fn all(root: &Path, names: &[&str], event: FlameEvent) -> Profile {
    fold(&recordings(root, names), &Request::all(event), &TaskTable::default()).unwrap()
}

/// Weight of stacks that hold a method.
fn with(profile: &Profile, method: &str) -> i64 {
    let view = View::of(profile, ViewLimits::NONE);
    let hot = emberscope_jfr::hot::hot_frames(&view);
    hot.iter().filter(|hot| view.frames.name(hot.frame) == method).map(|hot| hot.total).sum()
}

#[test]
fn wall_samples_of_async_profiler() {
    let Some(root) = root() else { return };
    for (file, events, sum, [hot, warm, alloc, lock, sleep]) in [
        ("ap/ap-exec-0.jfr", 12226, 201_428, [107, 33, 342, 46, 101]),
        ("ap/ap-exec-1.jfr", 12367, 202_862, [79, 32, 311, 47, 99]),
        ("ap/ap-driver.jfr", 20022, 537_075, [0; 5]),
    ] {
        let profile = all(&root, &[file], FlameEvent::Wall);
        assert_eq!((profile.events, profile.tree.sum()), (events, sum), "{file}");
        for (method, weight) in [
            ("hotLoop", hot),
            ("warmLoop", warm),
            ("allocLots", alloc),
            ("contended", lock),
            ("sleepy", sleep),
        ] {
            assert_eq!(with(&profile, &format!("io.sfw.Work.{method}")), weight, "{file} {method}");
        }
        println!("{file}: {:?}", profile.notes);
    }
}
