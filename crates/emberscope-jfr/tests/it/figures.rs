//! What is known of the recordings beside the repository beside their stacks: chunks and flushes, counts of all
//! events, how tasks and samples meet, and the one thing that they are known to tell wrong.

use crate::laws::lines;
use crate::truth::{all, last_name, recordings, root, table, with};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::inspect::{Inventory, inspect};
use emberscope_jfr::notes::NoteKind;
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::tasks::TaskQuery;
use emberscope_jfr::view::ViewLimits;
use std::collections::BTreeMap;
use std::path::Path;

/// A recorder's files of one JVM, and what all readers agree on.
struct Jvm {
    files: &'static [&'static str],
    chunks: u64,
    checkpoints: u64,
    events: u64,
    tasks: usize,
}

const JVMS: &[Jvm] = &[
    Jvm { files: &["ap/ap-exec-0.jfr"], chunks: 6, checkpoints: 6, events: 15_772, tasks: 16 },
    Jvm { files: &["ap/ap-exec-1.jfr"], chunks: 6, checkpoints: 6, events: 15_847, tasks: 20 },
    Jvm { files: &["ap/ap-driver.jfr"], chunks: 7, checkpoints: 7, events: 20_649, tasks: 0 },
    Jvm { files: EXEC0, chunks: 7, checkpoints: 202, events: 4678, tasks: 19 },
    Jvm { files: EXEC1, chunks: 7, checkpoints: 205, events: 4729, tasks: 16 },
    Jvm { files: DRIVER, chunks: 11, checkpoints: 461, events: 9234, tasks: 0 },
];
const EXEC0: &[&str] =
    &["jdk/jdk-exec0-000.jfr", "jdk/jdk-exec0-001.jfr", "jdk/jdk-exec0-002.jfr", "jdk/jdk-exec0-003.jfr"];
const EXEC1: &[&str] =
    &["jdk/jdk-exec1-000.jfr", "jdk/jdk-exec1-001.jfr", "jdk/jdk-exec1-002.jfr", "jdk/jdk-exec1-003.jfr"];
const DRIVER: &[&str] = &[
    "jdk/jdk-driver-000.jfr",
    "jdk/jdk-driver-001.jfr",
    "jdk/jdk-driver-002.jfr",
    "jdk/jdk-driver-003.jfr",
    "jdk/jdk-driver-004.jfr",
    "jdk/jdk-driver-005.jfr",
];

fn inventory(root: &Path, files: &[&str]) -> Inventory {
    inspect(&recordings(root, files), &Selection::default()).unwrap()
}

#[test]
fn chunks_flushes_events_and_tasks() {
    let Some(root) = root() else { return };
    for jvm in JVMS {
        let found = inventory(&root, jvm.files);
        let got = (found.chunks, found.checkpoints, found.counts.values().sum::<u64>(), found.tasks.len());
        assert_eq!(got, (jvm.chunks, jvm.checkpoints, jvm.events, jvm.tasks), "{}", jvm.files[0]);
    }
    let file = "extra/ap-local-hot-no-debugnonsafepoints.jfr";
    assert_eq!(inventory(&root, &[file]).chunks, 1);
}

/// All counts of `jfr summary`, of which rows of zeros were left out.
#[test]
fn every_count_of_the_jdks_summary() {
    let Some(root) = root() else { return };
    for name in ["ap/ap-driver", "ap/ap-exec-0", "jdk/jdk-exec0-001", "jdk/jdk-exec0-002"] {
        let text = std::fs::read_to_string(root.join(format!("{name}.summary.txt"))).unwrap();
        let found = inventory(&root, &[&format!("{name}.jfr")]);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let mut chunks = 0;
        for line in text.lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["Chunks:", number] => chunks = number.parse().unwrap(),
                [event, count, _size] if event.contains('.') => {
                    _ = counts.insert(event, count.parse().unwrap());
                }
                _ => {}
            }
        }
        // These two are records of the format and no events.
        assert_eq!(counts.remove("jdk.CheckPoint"), Some(found.checkpoints), "{name}");
        assert_eq!(counts.remove("jdk.Metadata"), Some(chunks), "{name}");
        assert_eq!(found.chunks, chunks, "{name}");
        let ours: BTreeMap<&str, u64> =
            found.counts.iter().map(|(event, count)| (event.as_str(), *count)).collect();
        assert_eq!(ours, counts, "{name}");
    }
}

/// Stacks with the class at their end, by `jfrconv --alloc --total` in bytes.
#[test]
fn allocations_are_those_of_another_reader() {
    let Some(root) = root() else { return };
    let profile = all(&root, &["ap/ap-exec-0.jfr"], FlameEvent::Alloc);
    assert_eq!(ours(&profile), theirs(&root.join("ap/ap-exec-0.alloc-bytes.collapsed")));
}

/// `jfrconv --lock` counts events, we the time they took: stacks and their numbers are the same.
#[test]
fn locks_are_those_of_another_reader() {
    let Some(root) = root() else { return };
    let profile = all(&root, &["ap/ap-exec-0.jfr"], FlameEvent::Lock);
    let theirs = theirs(&root.join("ap/ap-exec-0.lock.collapsed"));
    assert_eq!(theirs.values().sum::<i64>() as u64, profile.events);
    assert_eq!(ours(&profile).into_keys().collect::<Vec<_>>(), theirs.into_keys().collect::<Vec<_>>());
}

fn ours(profile: &Profile) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    lines(profile, ViewLimits::NONE).iter().for_each(|line| add(line, &mut sums));
    sums
}

fn theirs(path: &Path) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    std::fs::read_to_string(path).unwrap().lines().for_each(|line| add(line, &mut sums));
    sums
}

fn add(line: &str, sums: &mut BTreeMap<String, i64>) {
    let (stack, weight) = line.rsplit_once(' ').unwrap();
    let (frames, class) = stack.rsplit_once(';').unwrap();
    let class = class.strip_suffix("_[i]").unwrap_or(class);
    // Those of lambdas have a number and an address, which we leave out.
    let class = class.find("$$Lambda").map_or(class, |at| &class[..at + "$$Lambda".len()]);
    let frames: Vec<&str> = frames.split(';').map(last_name).collect();
    *sums.entry(format!("{};{class}", frames.join(";"))).or_default() += weight.parse::<i64>().unwrap();
}

/// Time of tasks by stage, ms, and samples at 10 ms; together with those outside any task they are all of the
/// thread's.
#[test]
fn tasks_and_samples_meet() {
    let Some(root) = root() else { return };
    let of_log = table(&std::fs::read_to_string(root.join("ap/eventlog-app.json")).unwrap());
    for (executor, outside, stages) in [
        (
            "0",
            533,
            &[
                (0, 1244, 12_726),
                (3, 375, 3963),
                (6, 75, 885),
                (9, 135, 1438),
                (11, 34, 329),
                (12, 245, 2445),
                (13, 397, 4126),
            ][..],
        ),
        (
            "1",
            522,
            &[
                (0, 1184, 12_192),
                (2, 77, 825),
                (3, 342, 3563),
                (5, 12, 132),
                (6, 62, 828),
                (8, 8, 86),
                (9, 124, 1399),
                (12, 245, 2472),
                (13, 421, 4404),
            ][..],
        ),
    ] {
        let files = recordings(&root, &[&format!("ap/ap-exec-{executor}.jfr")]);
        let rows = || of_log.rows().iter().filter(|row| row.executor == executor);
        let ran: Vec<u32> = {
            let mut ids: Vec<u32> = rows().filter_map(|row| row.stage).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        assert_eq!(ran, stages.iter().map(|(stage, ..)| *stage).collect::<Vec<_>>());
        let mut inside = 0;
        for (stage, samples, task_ms) in stages {
            let of_stage = rows().filter(|row| row.stage == Some(*stage));
            let ms: i64 = of_stage.clone().map(|row| row.end_ms - row.start_ms).sum();
            assert_eq!(ms, *task_ms, "executor {executor}, stage {stage}");
            let query = TaskQuery { stage: Some((*stage, None)), ..TaskQuery::default() };
            let selection = Selection { tasks: query, ..Selection::default() };
            let request = Request { selection, ..Request::all(FlameEvent::Wall) };
            let got = fold(&files, &request, &of_log).unwrap().tree.sum();
            assert!((got - samples).abs() <= 1, "executor {executor}, stage {stage}: {got} of {samples}");
            // A long stage is seen at nearly every tick of 10 ms.
            let seen = *samples as f64 * 10.0 / *task_ms as f64;
            assert!(*task_ms < 3000 || (0.93..=1.0).contains(&seen), "stage {stage}: {seen}");
            inside += got;
        }
        let thread = rows().next().unwrap().thread;
        assert!(rows().all(|row| row.thread == thread), "one core, one thread");
        let selection = Selection { thread: Some(ThreadPattern::Id(thread)), ..Selection::default() };
        let request = Request { selection, keep_samples: true, ..Request::all(FlameEvent::Wall) };
        let of_thread = fold(&files, &request, &of_log).unwrap();
        let all_of_thread = of_thread.tree.sum();
        assert_eq!(all_of_thread, stages.iter().map(|(_, samples, _)| samples).sum::<i64>() + outside);

        // No batch of samples goes beyond its task: counted by where they begin, in milliseconds as the log has
        // them, tasks have as many.
        let samples = of_thread.samples.as_ref().unwrap();
        let begins_inside = |time_ns: i64| {
            rows().any(|row| (row.start_ms..=row.end_ms).contains(&time_ns.div_euclid(1_000_000)))
        };
        let by_begin: i64 = samples
            .times_ns
            .iter()
            .zip(&samples.weights)
            .filter(|(time, _)| begins_inside(**time))
            .map(|(_, weight)| weight)
            .sum();
        for got in [by_begin, inside] {
            let off = all_of_thread - got - outside;
            assert!(off.abs() <= 3, "executor {executor}: {off} too many outside of tasks");
        }
    }
}

/// The same tasks by the recorder's own events, which begin up to 21 ms beside those of the log.
#[test]
fn tasks_of_a_recording_are_those_of_the_log() {
    let Some(root) = root() else { return };
    let of_log = table(&std::fs::read_to_string(root.join("jdk/eventlog-app.json")).unwrap());
    for (files, tasks, stages) in
        [(EXEC0, 19, &[(0, 12_194), (3, 3572), (12, 5807)][..]), (EXEC1, 16, &[(0, 11_551)][..])]
    {
        let found = inventory(&root, files).tasks;
        assert_eq!(found.len(), tasks);
        for task in &found {
            let same = of_log.rows().iter().find(|row| row.task == task.task).unwrap();
            assert_eq!((&same.executor, same.thread), (&task.executor, task.thread));
            let off = (same.start_ms - task.start_ms).abs();
            assert!(off <= 21, "task {}: {off} ms", task.task);
        }
        for (stage, ms) in stages {
            let rows = of_log.rows().iter().filter(|row| row.executor == found[0].executor);
            let of_stage = rows.filter(|row| row.stage == Some(*stage));
            assert_eq!(of_stage.map(|row| row.end_ms - row.start_ms).sum::<i64>(), *ms, "stage {stage}");
        }
    }
}

/// Parts of one recording overlap by a chunk, byte for byte.
#[test]
fn parts_share_a_chunk() {
    let Some(root) = root() else { return };
    let chunks = |file: &str| -> Vec<Vec<u8>> {
        let mut bytes = std::fs::read(root.join(file)).unwrap();
        let mut chunks = Vec::new();
        while !bytes.is_empty() {
            let size = i64::from_be_bytes(bytes[8..16].try_into().unwrap());
            let rest = bytes.split_off(size as usize);
            chunks.push(std::mem::replace(&mut bytes, rest));
        }
        chunks
    };
    for files in [EXEC0, EXEC1, DRIVER] {
        for pair in files.windows(2) {
            let (first, second) = (chunks(pair[0]), chunks(pair[1]));
            assert!(first.last() == second.first(), "{} and {}", pair[0], pair[1]);
        }
    }
}

/// Threads that sleep or wait for a lock are nowhere in what the JDK samples of the CPU; events of their own tell.
#[test]
fn sleepers_are_not_on_the_cpu() {
    let Some(root) = root() else { return };
    for files in [EXEC0, EXEC1] {
        let (cpu, sleep) = (all(&root, files, FlameEvent::Cpu), all(&root, files, FlameEvent::Sleep));
        for method in ["contended", "sleepy"] {
            let name = format!("io.sfw.Work.{method}");
            assert_eq!(with(&cpu, &name), 0, "{method}");
            // 15 or 20 ms a row, of which an executor had some dozens.
            assert!(with(&sleep, &name) > 300_000_000, "{method}: {}", with(&sleep, &name));
        }
    }
}

#[test]
fn the_open_chunk_of_a_recording_that_is_being_written() {
    let Some(root) = root() else { return };
    let file = "extra/ap-local-hot-inflight.jfr";
    let bytes = std::fs::read(root.join(file)).unwrap();
    let start = memchr::memmem::rfind(&bytes, b"FLR\0\0\x02").unwrap();
    let long = |at: usize| i64::from_be_bytes(bytes[start + at..start + at + 8].try_into().unwrap());
    // Size, checkpoint and metadata as async-profiler leaves them until the chunk is done.
    assert_eq!((bytes.len() - start, long(8), long(16), long(24)), (9841, 1 << 30, 0, 0));
    let found = inventory(&root, &[file]);
    assert_eq!(found.chunks, 2);
    let [note] = &found.notes[..] else { panic!("{:?}", found.notes) };
    assert_eq!(note.kind, NoteKind::UnfinishedChunk);
    assert!(note.first.contains(&format!("offset {start} ")), "{}", note.first);
}

/// With `DebugNonSafepoints` the compiler labels a loop with the method it was inlined into: 40,000 rounds of the
/// two loops a row, and one `max`, which gets seven times as many samples. Without it they have their 3 to 1.
#[test]
fn inlined_loops_are_told_under_another_name() {
    let Some(root) = root() else { return };
    let of_log = table(&std::fs::read_to_string(root.join("ap/eventlog-app.json")).unwrap());
    let selection = Selection {
        tasks: TaskQuery { stage: Some((0, None)), ..TaskQuery::default() },
        ..Selection::default()
    };
    let request = Request { selection, ..Request::all(FlameEvent::Wall) };
    let profile = fold(&recordings(&root, &["ap/ap-exec-0.jfr"]), &request, &of_log).unwrap();
    let view = emberscope_jfr::view::View::of(&profile, ViewLimits::NONE);
    let hot = emberscope_jfr::hot::hot_frames(&view);
    assert!(view.frames.name(hot[0].frame).ends_with(".hashAgg_doAggregate_max_0$"));
    assert_eq!(hot[0].own, 916);
    assert_eq!(with(&profile, "io.sfw.Work.hotLoop") + with(&profile, "io.sfw.Work.warmLoop"), 140);
    assert!(inventory(&root, &["ap/ap-exec-0.jfr"]).debug_non_safepoints.values().all(|is_on| *is_on));
    let file = "extra/ap-local-hot-no-debugnonsafepoints.jfr";
    for (files, event) in
        [(EXEC0, FlameEvent::Cpu), (EXEC1, FlameEvent::Cpu), (&[file][..], FlameEvent::Wall)]
    {
        let profile = all(&root, files, event);
        let ratio =
            with(&profile, "io.sfw.Work.hotLoop") as f64 / with(&profile, "io.sfw.Work.warmLoop") as f64;
        assert!((2.5..3.5).contains(&ratio), "{}: {ratio}", files[0]);
    }
}
