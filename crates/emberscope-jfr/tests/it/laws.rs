//! What holds for all bytes: no panic, sums that are exact, and more bytes never tell less.

use crate::made::{Made, recording};
use emberscope_jfr::export::folded;
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::heat::heat;
use emberscope_jfr::inspect::{inspect, threads};
use emberscope_jfr::notes::NoteKind;
use emberscope_jfr::open::{Recording, open_input};
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::tasks::{TaskInterval, TaskQuery, TaskTable};
use emberscope_jfr::tree::Limits;
use emberscope_jfr::view::{View, ViewLimits};
use emberscope_log::input::Memory;
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn opened(name: &str, bytes: &[u8]) -> Vec<Recording> {
    open_input(Arc::new(Memory::new(name, bytes)), name).unwrap_or_default()
}

fn wall(bytes: &[u8]) -> Profile {
    fold(&opened("x", bytes), &Request::all(FlameEvent::Wall), &TaskTable::default()).unwrap()
}

pub(crate) fn lines(profile: &Profile, limits: ViewLimits) -> Vec<String> {
    let mut out = Vec::new();
    folded(&View::of(profile, limits), &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// Weights of folded lines add up to the sum.
fn is_exact(profile: &Profile, limits: ViewLimits) -> bool {
    let weight = |line: &String| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap();
    lines(profile, limits).iter().map(weight).sum::<i64>() == profile.tree.sum()
}

#[test]
fn integers_of_both_lengths_tell_the_same() {
    let expected = ["root;leaf 40", "root;leaf;leaf 50", "root;other 10"];
    for compressed in [true, false] {
        let profile = wall(&recording(compressed));
        let mut lines = lines(&profile, ViewLimits::NONE);
        lines.sort();
        assert_eq!(lines, expected);
        assert_eq!((profile.events, profile.notes.len()), (6, 0));
    }
}

/// What fuzzing reached stays reached, and it starts from whole recordings; `EMBERSCOPE_UPDATE=1` writes
/// those anew.
#[test]
fn the_corpus_of_the_fuzzer_is_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/jfr");
    for (name, compressed) in [("whole", true), ("whole-fixed", false)] {
        let wanted = recording(compressed);
        if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
            std::fs::write(corpus.join(name), &wanted).unwrap();
        }
        assert!(std::fs::read(corpus.join(name)).is_ok_and(|bytes| bytes == wanted), "{name} is stale");
    }
    for entry in std::fs::read_dir(&corpus).unwrap() {
        let recordings = opened("x", &std::fs::read(entry.unwrap().path()).unwrap());
        for event in FlameEvent::ALL {
            let profile = fold(&recordings, &Request::all(*event), &TaskTable::default()).unwrap();
            assert!(is_exact(&profile, ViewLimits::NONE));
        }
        inspect(&recordings, &Selection::default()).unwrap();
    }
}

#[test]
fn a_cut_anywhere_never_tells_more() {
    for compressed in [true, false] {
        let whole = recording(compressed);
        let mut sum = 0;
        for cut in 0..=whole.len() {
            let profile = wall(&whole[..cut]);
            assert!(profile.tree.sum() >= sum, "{cut}: {} after {sum}", profile.tree.sum());
            sum = profile.tree.sum();
        }
        assert_eq!(sum, 100);
    }
}

#[test]
fn a_killed_recorder_keeps_what_it_flushed() {
    let mut made = Made::new(true);
    made.sample(5, 1, 1, 20);
    made.checkpoint(&[(1, &["leaf", "root"])]);
    // No pools tell of this one's stack.
    made.sample(6, 1, 2, 7);
    let bytes = [recording(true), made.unfinished(2000), recording(true)].concat();
    let profile = wall(&bytes);
    assert_eq!(profile.tree.sum(), 120);
    let kinds: Vec<NoteKind> = profile.notes.iter().map(|note| note.kind).collect();
    // The two chunks of the copy behind it are the first two again.
    assert_eq!(kinds, [NoteKind::UnfinishedChunk, NoteKind::RepeatedChunk]);
    assert_eq!(profile.notes[1].count, 2);
}

#[test]
fn bytes_between_chunks_are_passed_over() {
    let whole = recording(true);
    let second = whole.windows(4).skip(1).position(|bytes| bytes == b"FLR\0").unwrap() + 1;
    let bytes = [&whole[..second], b"nonsense FLR\0 and more", &whole[second..]].concat();
    let profile = wall(&bytes);
    assert_eq!(profile.tree.sum(), 100);
    assert_eq!(profile.notes[0].kind, NoteKind::ForeignBytes);
}

#[test]
fn packed_recordings_tell_the_same() {
    let plain = recording(true);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("a/profile-exec-3.jfr", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&plain).unwrap();
    zip.start_file("readme.txt", zip::write::SimpleFileOptions::default()).unwrap();
    let packed = [
        gzip.finish().unwrap(),
        zstd::encode_all(plain.as_slice(), 1).unwrap(),
        zip.finish().unwrap().into_inner(),
        lz4_frame(&plain),
    ];
    for bytes in &packed {
        assert_eq!(lines(&wall(bytes), ViewLimits::NONE), lines(&wall(&plain), ViewLimits::NONE));
        // Cut short, whatever was packed tells something or nothing, with a note.
        let cut = wall(&bytes[..bytes.len() - 9]);
        assert!(cut.tree.sum() <= 100);
    }
    assert_eq!(opened("x.zip", &packed[2])[0].executor, "3");
    assert!(open_input(Arc::new(Memory::new("x", &b"no recording"[..])), "x").is_err());
}

/// A frame of one block that is stored as it is; blocks that are packed are tested where they are unpacked.
fn lz4_frame(plain: &[u8]) -> Vec<u8> {
    // Blocks of up to 64 KiB that do not refer to others; the last byte is the checksum of the two before it.
    let head = b"\x04\x22\x4d\x18\x60\x40\x82";
    let stored = (plain.len() as u32 | 1 << 31).to_le_bytes();
    [&head[..], &stored, plain, &[0; 4]].concat()
}

#[test]
fn selections_are_parts_of_the_whole() {
    let bytes = recording(true);
    let selected = |selection: Selection, tasks: &TaskTable| {
        let request = Request { selection, ..Request::all(FlameEvent::Wall) };
        fold(&opened("profile-exec-1.jfr", &bytes), &request, tasks).unwrap().tree.sum()
    };
    let none = TaskTable::default();
    let thread = |text: &str| Selection { thread: Some(ThreadPattern::parse(text)), ..Selection::default() };
    assert_eq!(selected(thread("10"), &none), 40);
    assert_eq!(selected(thread("thread 3"), &none), 50);
    assert_eq!(selected(thread("thread*"), &none), 100);
    let state = |state: &str| Selection { state: Some(state.to_owned()), ..Selection::default() };
    assert_eq!((selected(state("runnable"), &none), selected(state("sleeping"), &none)), (100, 0));
    let executor = |id: &str| Selection { executors: vec![id.to_owned()], ..Selection::default() };
    assert_eq!((selected(executor("1"), &none), selected(executor("2"), &none)), (100, 0));
    // Ticks 5, 6 and 7 after the start: half-open.
    let start = crate::made::START_NS;
    let range =
        |from, to| Selection { from_ns: Some(start + from), to_ns: Some(start + to), ..Selection::default() };
    assert_eq!(selected(range(6, 7), &none), 10);
    assert_eq!(selected(range(5, 6), &none) + selected(range(6, 8), &none), 100);
    let task = TaskInterval {
        executor: "1".to_owned(),
        thread: 20,
        start_ms: start / 1_000_000,
        end_ms: start / 1_000_000,
        task: 4,
        stage: Some(2),
        ..TaskInterval::default()
    };
    let tasks = TaskTable::new(vec![task]);
    let of_task = |task| Selection {
        tasks: TaskQuery { task: Some(task), ..TaskQuery::default() },
        ..Selection::default()
    };
    assert_eq!((selected(of_task(4), &tasks), selected(of_task(5), &tasks)), (10, 0));
}

#[test]
fn the_number_of_threads_shows_in_nothing() {
    let files: Vec<Vec<u8>> = (0..7)
        .map(|file| {
            let mut made = Made::new(true);
            for sample in 0..20 {
                made.sample(sample, 1 + sample % 3, 1 + (sample * file) % 4, 1 + sample);
            }
            let stacks: [(i64, &[&str]); 4] =
                [(1, &["a", "r"]), (2, &["b", "a", "r"]), (3, &["c"]), (4, &["b", "c", "r"])];
            made.checkpoint(&stacks);
            made.finish(file * 1000)
        })
        .collect();
    let recordings: Vec<Recording> = files
        .iter()
        .enumerate()
        .flat_map(|(n, bytes)| opened(&format!("profile-exec-{n}.jfr"), bytes))
        .collect();
    for max_nodes in [usize::MAX, 4] {
        let limits = Limits { max_nodes, ..Limits::NONE };
        let of = |threads| {
            let request = Request {
                threads,
                limits,
                keep_samples: true,
                keep_heat: true,
                ..Request::all(FlameEvent::Wall)
            };
            let profile = fold(&recordings, &request, &TaskTable::default()).unwrap();
            assert!(is_exact(&profile, ViewLimits::NONE));
            let samples = profile.samples.as_ref().unwrap();
            let heat = heat(&profile).unwrap();
            assert_eq!(heat.rows.len(), 7);
            assert_eq!(heat.rows.iter().flat_map(|row| &row.weights).sum::<i64>(), profile.tree.sum());
            (lines(&profile, ViewLimits::NONE), samples.nodes.clone(), samples.times_ns.clone())
        };
        assert_eq!(of(1), of(5));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sums_are_exact_whatever_is_left_out(
        min_fraction in 0.0f64..1.0,
        max_nodes in 1usize..6,
        max_depth in 0usize..4,
    ) {
        let profile = wall(&recording(true));
        let limits = ViewLimits { min_fraction, max_nodes, max_depth };
        prop_assert!(is_exact(&profile, limits));
        let view = View::of(&profile, limits);
        prop_assert!(view.nodes.len() <= 2 * max_nodes);
        prop_assert!(view.nodes.iter().all(|node| node.depth as usize <= max_depth + 1));
    }

    #[test]
    fn damaged_recordings_do_not_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        compressed in any::<bool>(),
    ) {
        let mut bytes = recording(compressed);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let recordings = opened("x", &bytes);
        for event in FlameEvent::ALL {
            let profile = fold(&recordings, &Request::all(*event), &TaskTable::default()).unwrap();
            prop_assert!(is_exact(&profile, ViewLimits::NONE));
        }
        inspect(&recordings, &Selection::default()).unwrap();
        threads(&recordings, &Selection::default()).unwrap();
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut chunk = b"FLR\0\0\x02\0\x01".to_vec();
        chunk.extend(bytes);
        let recordings = opened("x", &chunk);
        inspect(&recordings, &Selection::default()).unwrap();
    }
}
