//! Large recordings of a real application, kept beside the repository, with known truths.

use crate::laws::{lines, opened};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::inspect::inspect;
use emberscope_jfr::notes::NoteKind;
use emberscope_jfr::open::{Recording, open};
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::{TaskInterval, TaskQuery, TaskTable};
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/jfr");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("not checked: there are no recordings at {}", root.display());
    None
}

pub(crate) fn recordings(root: &Path, names: &[&str]) -> Vec<Recording> {
    names.iter().flat_map(|name| open(root.join(name).to_str().unwrap()).unwrap()).collect()
}

pub(crate) fn all(root: &Path, names: &[&str], event: FlameEvent) -> Profile {
    fold(&recordings(root, names), &Request::all(event), &TaskTable::default()).unwrap()
}

/// Weight of stacks that hold a method.
pub(crate) fn with(profile: &Profile, method: &str) -> i64 {
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
        assert!(profile.notes.is_empty(), "{:?}", profile.notes);
    }
}

#[test]
fn allocations_and_locks_of_async_profiler() {
    let Some(root) = root() else { return };
    for (file, events, sum, of_method, locks) in [
        ("ap/ap-exec-0.jfr", 3371, 7.06985e9, 6.64168e9, 9),
        ("ap/ap-exec-1.jfr", 3304, 6.92899e9, 6.59974e9, 7),
        ("ap/ap-driver.jfr", 372, 795_176_152.0, 0.0, 84),
    ] {
        let alloc = all(&root, &[file], FlameEvent::Alloc);
        assert_eq!(alloc.events, events, "{file}");
        // The truths are written down with six digits.
        let is_near = |weight: i64, truth: f64| (weight as f64 - truth).abs() <= truth * 1e-6;
        assert!(is_near(alloc.tree.sum(), sum), "{file}: {}", alloc.tree.sum());
        let allocated = with(&alloc, "io.sfw.Work.allocLots");
        assert!(is_near(allocated, of_method), "{file}: {allocated}");
        assert_eq!(all(&root, &[file], FlameEvent::Lock).events, locks, "{file}");
    }
}

/// Folded stacks of another reader: internal names, a suffix for the kind of each frame, and hidden classes
/// with their addresses.
#[test]
fn stacks_are_those_of_another_reader() {
    let Some(root) = root() else { return };
    let text = std::fs::read_to_string(root.join("ap/ap-exec-0.wall.collapsed")).unwrap();
    let mut theirs: BTreeMap<String, i64> = BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let frames = stack.split(';').map(last_name).collect::<Vec<_>>().join(";");
        *theirs.entry(frames).or_default() += weight.parse::<i64>().unwrap();
    }
    let mut ours: BTreeMap<String, i64> = BTreeMap::new();
    for line in lines(&all(&root, &["ap/ap-exec-0.jfr"], FlameEvent::Wall), ViewLimits::NONE) {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let frames = stack.split(';').map(last_name).collect::<Vec<_>>().join(";");
        *ours.entry(frames).or_default() += weight.parse::<i64>().unwrap();
    }
    let differing: Vec<_> =
        theirs.iter().filter(|(stack, weight)| ours.get(*stack) != Some(weight)).collect();
    let share = differing.iter().map(|(_, weight)| **weight).sum::<i64>() as f64 / 201_428.0;
    assert!(share == 0.0, "{} of {}: {:?}", differing.len(), theirs.len(), differing.first());
    assert_eq!(theirs.len(), ours.len());
}

/// What both readers write in the same way: a method without its class, a function without its library.
pub(crate) fn last_name(frame: &str) -> &str {
    let suffixes = ["_[j]", "_[i]", "_[0]", "_[1]"];
    if let Some(frame) = suffixes.iter().find_map(|suffix| frame.strip_suffix(suffix)) {
        return frame.rsplit('.').next().unwrap_or(frame);
    }
    let end_of_library =
        frame.find(".so.").map(|at| at + 3).or(frame.ends_with(".so").then_some(frame.len()));
    let Some(end) = end_of_library else {
        let is_function = ["::", "@", " ", ".part.", ".constprop."].iter().any(|mark| frame.contains(mark));
        return if is_function { frame } else { frame.rsplit('.').next().unwrap_or(frame) };
    };
    let function = frame[end..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    if function.is_empty() { frame.rsplit('/').next().unwrap_or(frame) } else { function }
}

#[test]
fn recordings_of_the_jdk_that_overlap() {
    let Some(root) = root() else { return };
    for (jvm, files, events, samples, [hot, warm, alloc], tasks) in [
        ("exec0", 4, 4678, 867, [416, 164, 4], 19),
        ("exec1", 4, 4729, 885, [444, 140, 25], 16),
        ("driver", 6, 9234, 305, [0; 3], 0),
    ] {
        let names: Vec<String> = (0..files).map(|n| format!("jdk/jdk-{jvm}-00{n}.jfr")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cpu = all(&root, &names, FlameEvent::Cpu);
        assert_eq!(cpu.tree.sum(), samples, "{jvm}");
        assert_eq!(cpu.counts.values().sum::<u64>(), events, "{jvm}");
        for (method, weight) in [("hotLoop", hot), ("warmLoop", warm), ("allocLots", alloc)] {
            assert_eq!(with(&cpu, &format!("io.sfw.Work.{method}")), weight, "{jvm} {method}");
        }
        let repeated = cpu.notes.iter().filter(|note| note.kind == NoteKind::RepeatedChunk);
        assert_eq!(repeated.map(|note| note.count).sum::<u64>(), files - 1, "{jvm}");
        let inventory = inspect(&recordings(&root, &names), &Selection::default()).unwrap();
        assert_eq!(inventory.tasks.len(), tasks, "{jvm}");
        assert!(inventory.debug_non_safepoints.values().all(|is_on| !is_on));
    }
}

#[test]
fn samples_by_stage() {
    let Some(root) = root() else { return };
    let log = |dir: &str| std::fs::read_to_string(root.join(dir).join("eventlog-app.json")).unwrap();
    let ap: &[(u32, i64)] = &[(0, 1244), (3, 375), (6, 75), (9, 135), (11, 34), (12, 245), (13, 397)];
    let of_log = table(&log("ap"));
    // The executors' files hold spans of the same tasks.
    for (file, spans) in [("ap/ap-exec-0.jfr", 16), ("ap/ap-exec-1.jfr", 20)] {
        let inside = inspect(&recordings(&root, &[file]), &Selection::default()).unwrap().tasks;
        assert_eq!(inside.len(), spans, "{file}");
        let inside = TaskTable::new(inside);
        for stage in [0, 3, 9, 12] {
            let by_log = of_stage(&root, &[file], FlameEvent::Wall, &of_log, stage);
            let by_span = of_stage(&root, &[file], FlameEvent::Wall, &inside, stage);
            assert!((by_log - by_span).abs() <= 4, "{file} stage {stage}: {by_log} and {by_span}");
        }
    }
    for (stage, truth) in ap {
        let got = of_stage(&root, &["ap/ap-exec-0.jfr"], FlameEvent::Wall, &of_log, *stage);
        // The truths count by an interval that holds its end.
        assert!((got - truth).abs() <= 1, "stage {stage}: {got}, truth {truth}");
    }
    let ap: &[(u32, i64)] =
        &[(0, 1184), (2, 77), (3, 342), (5, 12), (6, 62), (8, 8), (9, 124), (12, 245), (13, 421)];
    for (stage, truth) in ap {
        let got = of_stage(&root, &["ap/ap-exec-1.jfr"], FlameEvent::Wall, &of_log, *stage);
        assert!((got - truth).abs() <= 1, "stage {stage}: {got}, truth {truth}");
    }
    let files =
        ["jdk/jdk-exec0-000.jfr", "jdk/jdk-exec0-001.jfr", "jdk/jdk-exec0-002.jfr", "jdk/jdk-exec0-003.jfr"];
    let of_jdk = table(&log("jdk"));
    let inside = TaskTable::new(inspect(&recordings(&root, &files), &Selection::default()).unwrap().tasks);
    for (stage, truth) in [(0, 620), (3, 178), (12, 6)] {
        let got = of_stage(&root, &files, FlameEvent::Cpu, &of_jdk, stage);
        assert!((got - truth).abs() <= 1, "stage {stage}: {got}, truth {truth}");
        // Events of the recording itself begin up to 21 ms beside those of the log.
        let got = of_stage(&root, &files, FlameEvent::Cpu, &inside, stage);
        assert!((got - truth).abs() <= 4, "stage {stage} by its own events: {got}, truth {truth}");
    }
}

/// Tasks of a log: their events tell stages, too, which the product takes from Spark's own events.
pub(crate) fn table(log: &str) -> TaskTable {
    let rows = log.lines().filter(|line| line.contains("javaThreadId")).map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        TaskInterval {
            // Standalone executors are called by number, files by the same.
            executor: event["executorId"].as_str().unwrap().to_owned(),
            thread: event["javaThreadId"].as_u64().unwrap(),
            start_ms: event["startTime"].as_i64().unwrap(),
            end_ms: event["endTime"].as_i64().unwrap(),
            task: event["taskId"].as_u64().unwrap(),
            stage: event["stageId"].as_u64().map(|stage| stage as u32),
            ..TaskInterval::default()
        }
    });
    TaskTable::new(rows.collect())
}

fn of_stage(root: &Path, files: &[&str], event: FlameEvent, tasks: &TaskTable, stage: u32) -> i64 {
    let query = TaskQuery { stage: Some((stage, None)), ..TaskQuery::default() };
    let selection = Selection { tasks: query, ..Selection::default() };
    let request = Request { selection, ..Request::all(event) };
    fold(&recordings(root, files), &request, tasks).unwrap().tree.sum()
}

#[test]
fn one_jvm_in_local_mode() {
    let Some(root) = root() else { return };
    let file = "extra/ap-local-hot-no-debugnonsafepoints.jfr";
    let profile = all(&root, &[file], FlameEvent::Wall);
    assert_eq!(profile.tree.sum(), 151_479);
    for (method, weight) in [
        ("org.apache.spark.executor.Executor$TaskRunner.run", 1885),
        ("io.sfw.Work.hotLoop", 1353),
        ("io.sfw.Work.warmLoop", 469),
    ] {
        assert_eq!(with(&profile, method), weight, "{method}");
    }
    let inventory = inspect(&recordings(&root, &[file]), &Selection::default()).unwrap();
    assert!(inventory.debug_non_safepoints.values().all(|is_on| !is_on));
}

#[test]
fn a_recording_that_is_being_written() {
    let Some(root) = root() else { return };
    let profile = all(&root, &["extra/ap-local-hot-inflight.jfr"], FlameEvent::Wall);
    assert_eq!(profile.tree.sum(), 26015);
    let kinds: Vec<NoteKind> = profile.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::UnfinishedChunk]);
}

#[test]
fn a_recording_cut_in_the_middle_gives_its_whole_chunks() {
    let Some(root) = root() else { return };
    let bytes = std::fs::read(root.join("ap/ap-driver.jfr")).unwrap();
    // In the fifth chunk: four are whole.
    let starts: Vec<usize> = memchr::memmem::find_iter(&bytes, b"FLR\0\0\x02").collect();
    let cut = opened("x", &bytes[..starts[4] + (starts[5] - starts[4]) / 2]);
    let profile = fold(&cut, &Request::all(FlameEvent::Wall), &TaskTable::default()).unwrap();
    assert_eq!(profile.tree.sum(), 225_724);
    assert_eq!(profile.notes[0].kind, NoteKind::UnfinishedChunk);
}
