//! What recorders do that a reader might not expect, one test each. Others are elsewhere: integers and strings in
//! `src/wire.rs`, ticks and old versions in `src/header.rs`, names in `src/names.rs`, batches in `src/select.rs`;
//! flushed pools, cuts, packing and parts that overlap in `laws.rs`, `truth.rs` and `figures.rs`.

use crate::fixtures::{counts, data, folded, with};
use crate::laws::{lines, opened};
use crate::made::{Made, START_NS, recording};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::frames::FrameKind;
use emberscope_jfr::inspect::{inspect, threads};
use emberscope_jfr::notes::NoteKind;
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::view::ViewLimits;
use std::collections::BTreeMap;

const ASYNC: [&str; 5] = ["async-cpu", "async-wall", "async-wall-each", "async-live", "async-malloc"];

fn of(bytes: &[u8], event: FlameEvent) -> Profile {
    fold(&opened("x", bytes), &Request::all(event), &TaskTable::default()).unwrap()
}

fn wall(bytes: &[u8]) -> Profile {
    of(bytes, FlameEvent::Wall)
}

fn sorted(profile: &Profile) -> Vec<String> {
    let mut lines = lines(profile, ViewLimits::NONE);
    lines.sort();
    lines
}

fn kinds(profile: &Profile) -> Vec<NoteKind> {
    profile.notes.iter().map(|note| note.kind).collect()
}

/// Ids of types differ between recorders, versions, and with `jfrsync` from chunk to chunk of one file.
#[test]
fn ids_of_types_differ_from_chunk_to_chunk() {
    let names = ["jdk17", "async-wall", "jdk25", "wall-sampler", "async-cpu"];
    let files: Vec<Vec<u8>> = names.iter().map(|name| data(&format!("{name}.jfr"))).collect();
    let together = files.concat();
    let mut sum = BTreeMap::new();
    for bytes in &files {
        for (event, count) in inspect(&opened("x", bytes), &Selection::default()).unwrap().counts {
            *sum.entry(event).or_insert(0) += count;
        }
    }
    assert_eq!(inspect(&opened("x", &together), &Selection::default()).unwrap().counts, sum);
    for event in FlameEvent::ALL {
        // What is alive is what the last chunk that tells says.
        let parts: i64 = files.iter().map(|bytes| of(bytes, *event).tree.sum()).sum();
        assert_eq!(of(&together, *event).tree.sum(), parts, "{event:?}");
    }
}

/// All counts of async-profiler's recordings, as the JDK's own reader prints them.
#[test]
fn counts_of_async_profiler() {
    for name in ASYNC {
        let inventory = inspect(&opened(name, &data(&format!("{name}.jfr"))), &Selection::default()).unwrap();
        assert_eq!(inventory.counts, counts(name), "{name}");
        assert!(inventory.notes.is_empty(), "{name}: {:?}", inventory.notes);
        assert!(inventory.debug_non_safepoints[name], "{name} switches it on");
        // Arguments of the JVM may hold secrets.
        assert!(!format!("{inventory:?}").contains("agentpath"), "{name}");
    }
}

/// `jdk.ExecutionSample` is the CPU's, and of each sample by the wall clock without batches, too.
#[test]
fn samples_of_the_cpu_and_of_the_wall_clock_in_one_event() {
    for (name, cpu, of_wall) in [
        ("async-cpu", counts("async-cpu")["jdk.ExecutionSample"], 0),
        ("async-wall-each", 0, counts("async-wall-each")["jdk.ExecutionSample"]),
        ("async-wall", 0, counts("async-wall")["profiler.WallClockSample"]),
    ] {
        assert_eq!(folded(name, FlameEvent::Cpu, Selection::default()).events, cpu, "{name}");
        assert_eq!(folded(name, FlameEvent::Wall, Selection::default()).events, of_wall, "{name}");
    }
    // A batch is one event of many samples: 1,578 by what the JDK prints.
    assert_eq!(folded("async-wall", FlameEvent::Wall, Selection::default()).tree.sum(), 1578);
    let state = |state: &str| Selection { state: Some(state.to_owned()), ..Selection::default() };
    for name in ["async-wall", "async-wall-each"] {
        let (ran, slept) = (
            folded(name, FlameEvent::Wall, state("runnable")),
            folded(name, FlameEvent::Wall, state("sleeping")),
        );
        assert!(with(&ran, "Burn.hot") > 0 && with(&slept, "Burn.hot") == 0, "{name}");
        assert!(with(&slept, "Burn.sleep") > with(&ran, "Burn.sleep"), "{name}");
    }
}

/// Sums by what the JDK prints: buffers of threads for allocations, objects alive at the end, and blocks of memory
/// that were not given back, whose events do not stand in the order of their time.
#[test]
fn memory_of_async_profiler() {
    for (name, event, bytes) in [
        ("async-cpu", FlameEvent::Alloc, 95_420_480),
        ("async-live", FlameEvent::Live, 6_452_056),
        ("async-malloc", FlameEvent::Malloc, 131_976),
    ] {
        assert_eq!(folded(name, event, Selection::default()).tree.sum(), bytes, "{name}");
    }
}

/// Threads of the VM have no name of Java's and no id of it.
#[test]
fn threads_without_java() {
    let recordings = opened("x", &data("async-wall.jfr"));
    let found = threads(&recordings, &Selection::default()).unwrap();
    let of_vm = found.iter().filter(|thread| thread.java_id == 0);
    let named: Vec<&str> = of_vm.clone().map(|thread| thread.name.as_str()).collect();
    assert!(named.contains(&"VM Thread") && named.iter().all(|name| !name.is_empty()), "{named:?}");
    let by_name = Selection { thread: Some(ThreadPattern::parse("VM Thread")), ..Selection::default() };
    assert!(folded("async-wall", FlameEvent::Wall, by_name).tree.sum() > 0);
}

/// The JDK writes where pools are with every flush; the state in the header says that it is not done.
#[test]
fn a_chunk_that_was_flushed_and_not_closed() {
    let mut bytes = recording(true);
    bytes[64] = 1;
    let profile = wall(&bytes);
    assert_eq!((profile.tree.sum(), kinds(&profile)), (100, vec![NoteKind::UnfinishedChunk]));
}

/// The last byte of the header has more bits than the one for compressed integers.
#[test]
fn the_last_chunk_says_so() {
    let mut bytes = recording(true);
    bytes[67] |= 2;
    assert_eq!((wall(&bytes).tree.sum(), wall(&bytes).notes.len()), (100, 0));
}

#[test]
fn records_of_unknown_types_are_passed_over_and_a_size_of_zero_is_the_end() {
    for compressed in [true, false] {
        let mut made = Made::new(compressed);
        made.unknown();
        made.sample(1, 1, 1, 20);
        made.unknown();
        made.sample(2, 1, 1, 5);
        made.checkpoint(&[(1, &["leaf", "root"])]);
        made.stop();
        made.sample(3, 1, 1, 100);
        let profile = wall(&made.finish(0));
        assert_eq!((profile.tree.sum(), profile.notes.len()), (25, 0));
        assert_eq!(profile.counts.values().sum::<u64>(), 2);
    }
}

/// async-profiler numbers its pools from a high base, which differs from recording to recording.
#[test]
fn keys_use_all_bits() {
    for key in [1 << 33, i64::MAX, -2] {
        let mut made = Made::new(true);
        made.sample(1, 1, key, 20);
        made.checkpoint(&[(key, &["leaf", "root"])]);
        assert_eq!(sorted(&wall(&made.finish(0))), ["root;leaf 20"]);
    }
}

/// Pools are flushed again and again; what comes last counts.
#[test]
fn a_key_that_is_there_twice() {
    let mut made = Made::new(true);
    made.sample(1, 1, 1, 20);
    made.checkpoint(&[(1, &["before", "root"])]);
    made.checkpoint(&[(1, &["leaf", "root"])]);
    assert_eq!(sorted(&wall(&made.finish(0))), ["root;leaf 20"]);
}

#[test]
fn samples_without_a_stack() {
    let mut made = Made::new(true);
    made.sample(1, 1, 0, 20);
    made.sample(2, 1, 7, 5);
    made.checkpoint(&[(1, &["leaf", "root"])]);
    let profile = wall(&made.finish(0));
    assert_eq!(sorted(&profile), ["[no stack] 25"]);
    assert_eq!(kinds(&profile), [NoteKind::NoStack]);
    assert_eq!(profile.notes[0].count, 2);
}

#[test]
fn stacks_that_the_recorder_cut() {
    let mut made = Made::new(true);
    made.sample(1, 1, 1, 20);
    made.checkpoint(&[(1, &["leaf", "middle", "..."])]);
    let profile = wall(&made.finish(0));
    assert_eq!(sorted(&profile), ["[truncated];middle;leaf 20"]);
    assert_eq!(kinds(&profile), [NoteKind::TruncatedStack]);
}

/// Recorders number kinds of frames differently; their names are the same.
#[test]
fn kinds_of_frames_go_by_name() {
    let mut made = Made::new(true);
    made.sample(1, 1, 1, 20);
    made.checkpoint(&[(1, &["kernel", "native", "root"])]);
    let profile = wall(&made.finish(0));
    let kind = |name: &str| {
        let id = (0..profile.frames.len() as u32).find(|id| profile.frames.name(*id) == name).unwrap();
        profile.frames.kind(id)
    };
    assert_eq!(
        [kind("kernel"), kind("native"), kind("root")],
        [FrameKind::Kernel, FrameKind::Native, FrameKind::Java]
    );
}

/// The way back from pools to those before them must not go round in circles, nor on.
#[test]
fn pools_that_lead_nowhere() {
    for lie in [0, 3, 1 << 20] {
        let mut made = Made::new(true);
        made.sample(1, 1, 1, 20);
        made.checkpoint(&[(1, &["leaf", "root"])]);
        made.mislead(lie);
        made.checkpoint(&[(2, &["other"])]);
        let profile = wall(&made.finish(0));
        assert!(profile.tree.sum() == 20 || kinds(&profile).contains(&NoteKind::DamagedChunk), "{lie}");
    }
}

/// Ticks are nanoseconds where the recorder takes them from the system, and those of the processor elsewhere.
#[test]
fn ticks_of_a_processor() {
    let mut made = Made::new(true);
    made.sample(1000 + 30, 1, 1, 20);
    made.sample(1000 + 300, 1, 1, 5);
    made.checkpoint(&[(1, &["leaf", "root"])]);
    let mut bytes = made.finish(1000);
    bytes[56..64].copy_from_slice(&3_000_000_000i64.to_be_bytes());
    assert_eq!(wall(&bytes).times_ns, Some((START_NS + 10, START_NS + 100)));
}
