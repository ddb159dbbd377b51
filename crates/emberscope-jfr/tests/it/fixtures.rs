//! Short recordings of two JDKs, against what the JDK's own reader counted (`tests/data/make.sh`).

use crate::laws::{lines, opened};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::hot::hot_frames;
use emberscope_jfr::inspect::inspect;
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::tasks::{TaskQuery, TaskTable};
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeMap;
use std::path::Path;

const NAMES: [&str; 2] = ["jdk17", "jdk25"];

pub(crate) fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

pub(crate) fn counts(name: &str) -> BTreeMap<String, u64> {
    let text = String::from_utf8(data(&format!("{name}.counts"))).unwrap();
    let pair = |line: &str| {
        let (name, count) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    text.lines().map(pair).filter(|(name, _): &(String, u64)| !is_structure(name)).collect()
}

/// Types and pools are records and no events.
fn is_structure(name: &str) -> bool {
    name.eq_ignore_ascii_case("jdk.checkpoint") || name == "jdk.Metadata"
}

pub(crate) fn folded(name: &str, event: FlameEvent, selection: Selection) -> Profile {
    let request = Request { selection, ..Request::all(event) };
    fold(&opened(name, &data(&format!("{name}.jfr"))), &request, &TaskTable::default()).unwrap()
}

pub(crate) fn with(profile: &Profile, method: &str) -> i64 {
    let view = View::of(profile, ViewLimits::NONE);
    hot_frames(&view).iter().filter(|hot| view.frames.name(hot.frame) == method).map(|hot| hot.total).sum()
}

#[test]
fn counts_are_those_of_the_jdk() {
    for name in NAMES {
        let recordings = opened(name, &data(&format!("{name}.jfr")));
        let inventory = inspect(&recordings, &Selection::default()).unwrap();
        assert_eq!(inventory.counts, counts(name), "{name}");
        assert!(inventory.notes.is_empty(), "{:?}", inventory.notes);
        assert_eq!(inventory.load.len() as u64, counts(name)["jdk.CPULoad"]);
        assert!(inventory.load.iter().all(|load| (0.0..=1.0).contains(&load.machine)));
        assert_eq!(inventory.pauses.len() as u64, counts(name)["jdk.GarbageCollection"]);
        assert!(!inventory.debug_non_safepoints[name]);
    }
}

#[test]
fn each_thread_does_what_it_is_called_after() {
    for name in NAMES {
        let thread =
            |text: &str| Selection { thread: Some(ThreadPattern::parse(text)), ..Selection::default() };
        let cpu = folded(name, FlameEvent::Cpu, thread("burner"));
        let (hot, warm) = (with(&cpu, "Burn.hot"), with(&cpu, "Burn.warm"));
        assert!(hot + warm > cpu.tree.sum() * 9 / 10, "{name}: {hot} + {warm} of {}", cpu.tree.sum());
        assert!(hot > 2 * warm && hot < 5 * warm, "{name}: {hot} to {warm}");
        let alloc = folded(name, FlameEvent::Alloc, thread("allocator"));
        assert!(with(&alloc, "Burn.allocate") > alloc.tree.sum() / 2);
        assert!(lines(&alloc, ViewLimits::NONE).iter().any(|line| line.contains(";byte[] ")));
        let sleep = folded(name, FlameEvent::Sleep, thread("sleeper"));
        assert_eq!(with(&sleep, "Burn.sleep"), sleep.tree.sum());
        let lock = folded(name, FlameEvent::Lock, thread("locker*"));
        assert!(with(&lock, "Burn.contend") > 0);
        // A static method's lock is its class.
        assert!(lines(&lock, ViewLimits::NONE)[0].contains(";Burn.contend;java.lang.Class "));
        let io = folded(name, FlameEvent::Io, thread("reader"));
        assert!(with(&io, "Burn.files") > 0);
    }
}

#[test]
fn events_count_once_whoever_measured_them() {
    for name in NAMES {
        let of = |event| folded(name, event, Selection::default());
        let counted = |name_of: &str| counts(name).get(name_of).copied().unwrap_or(0);
        // Where both samplers ran, samples by CPU time count.
        let cpu = match counted("jdk.CPUTimeSample") {
            0 => counted("jdk.ExecutionSample"),
            more => more,
        };
        assert_eq!(of(FlameEvent::Cpu).events, cpu, "{name}");
        assert_eq!(of(FlameEvent::Native).events, counted("jdk.NativeMethodSample"));
        assert_eq!(of(FlameEvent::Alloc).events, counted("jdk.ObjectAllocationSample"));
        assert_eq!(of(FlameEvent::Io).events, counted("jdk.FileRead"));
        let sleeps = counted("jdk.ThreadSleep") + counted("jdk.JavaMonitorWait");
        assert_eq!(of(FlameEvent::Sleep).events, sleeps);
        assert_eq!(of(FlameEvent::Lock).events, counted("jdk.JavaMonitorEnter") + counted("jdk.ThreadPark"));
        assert_eq!(of(FlameEvent::Wall).events + of(FlameEvent::Live).events, 0);
    }
}

#[test]
fn tasks_inside_a_recording_choose_samples() {
    for name in NAMES {
        let recordings = opened(name, &data(&format!("{name}.jfr")));
        let tasks = inspect(&recordings, &Selection::default()).unwrap().tasks;
        assert_eq!(tasks.len() as u64, counts(name)["test.Task"]);
        let table = TaskTable::new(tasks);
        let of = |tasks: TaskQuery| {
            let selection = Selection { tasks, ..Selection::default() };
            let request = Request { selection, ..Request::all(FlameEvent::Cpu) };
            fold(&recordings, &request, &table).unwrap().tree.sum()
        };
        let all = of(TaskQuery { stage: Some((7, Some(1))), ..TaskQuery::default() });
        let parts: i64 = (0..4)
            .map(|partition| of(TaskQuery { partition: Some(partition), ..TaskQuery::default() }))
            .sum();
        assert!(all > 0, "{name}");
        // A sample within the millisecond in which one task ends and the next begins may be of both.
        assert!((all..=all + 3).contains(&parts), "{name}: {parts} of {all}");
        assert_eq!(of(TaskQuery { stage: Some((7, Some(0))), ..TaskQuery::default() }), 0);
    }
}

#[test]
fn a_cut_recording_never_tells_more() {
    for name in NAMES {
        let whole = data(&format!("{name}.jfr"));
        let sum = |bytes: &[u8]| {
            let request = Request::all(FlameEvent::Sleep);
            fold(&opened(name, bytes), &request, &TaskTable::default()).unwrap().events
        };
        let mut events = 0;
        for cut in (0..whole.len()).step_by(4001).chain([whole.len()]) {
            let told = sum(&whole[..cut]);
            assert!(told >= events, "{name} at {cut}: {told} after {events}");
            events = told;
        }
        assert_eq!(events, sum(&whole));
    }
}

/// The CPU's samples, stack by stack, as the JDK prints them (`tests/data/print.py`).
#[test]
fn stacks_are_those_that_the_jdk_prints() {
    for (name, event) in [("jdk17", "execution"), ("jdk25", "cpu-time")] {
        let printed = String::from_utf8(data(&format!("{name}.{event}.folded"))).unwrap();
        let mut theirs: BTreeMap<String, i64> = BTreeMap::new();
        for line in printed.lines() {
            let (stack, number) = line.rsplit_once(' ').unwrap();
            // The JDK writes the addresses of hidden classes, which differ from run to run.
            let frames = stack.split(';').map(|frame| match frame.find("$$Lambda") {
                Some(at) => {
                    format!("{}$$Lambda.{}", &frame[..at], frame.rsplit('.').next().unwrap_or_default())
                }
                None => frame.to_owned(),
            });
            *theirs.entry(frames.collect::<Vec<_>>().join(";")).or_default() +=
                number.parse::<i64>().unwrap();
        }
        let ours = lines(&folded(name, FlameEvent::Cpu, Selection::default()), ViewLimits::NONE);
        let ours: BTreeMap<String, i64> = ours
            .iter()
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(stack, number)| (stack.to_owned(), number.parse().unwrap()))
            .collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

/// Three hundred samples of one thread, by the sampler of `jvm/`.
#[test]
fn our_own_sampler_counts_as_the_wall_clock() {
    let profile = folded("wall-sampler", FlameEvent::Wall, Selection::default());
    assert_eq!(with(&profile, "java.lang.Thread.getStackTrace"), 300);
    assert_eq!(with(&profile, "io.emberscope.T.main"), 300);
}
