//! The same recordings by another reader, the crate `jfrs`: counts of all events, and stacks with their weights.

#[path = "../../examples/other_reader/jfrs.rs"]
mod other_reader;

use crate::fixtures::data;
use crate::laws::{lines, opened};
use crate::truth::{last_name, root};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Request, fold};
use emberscope_jfr::inspect::inspect;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::view::ViewLimits;
use std::collections::BTreeMap;
use std::io::Cursor;

/// Our own recordings by the event that is compared.
const FIXTURES: [(&str, FlameEvent, &str); 7] = [
    ("jdk17", FlameEvent::Cpu, "jdk.ExecutionSample"),
    ("jdk25", FlameEvent::Cpu, "jdk.CPUTimeSample"),
    ("jdk17", FlameEvent::Native, "jdk.NativeMethodSample"),
    ("async-cpu", FlameEvent::Cpu, "jdk.ExecutionSample"),
    ("async-wall", FlameEvent::Wall, "profiler.WallClockSample"),
    ("async-wall-each", FlameEvent::Wall, "jdk.ExecutionSample"),
    ("wall-sampler", FlameEvent::Wall, "io.emberscope.WallClockSample"),
];

#[test]
fn own_recordings() {
    for (name, event, type_name) in FIXTURES {
        compare(name, &data(&format!("{name}.jfr")), event, type_name);
    }
}

#[test]
fn recordings_of_an_application() {
    let Some(root) = root() else { return };
    for (dir, event, type_name) in [
        ("ap", FlameEvent::Wall, "profiler.WallClockSample"),
        ("jdk", FlameEvent::Cpu, "jdk.ExecutionSample"),
    ] {
        for entry in std::fs::read_dir(root.join(dir)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jfr") {
                compare(&path.display().to_string(), &std::fs::read(&path).unwrap(), event, type_name);
            }
        }
    }
}

fn compare(name: &str, bytes: &[u8], event: FlameEvent, type_name: &str) {
    let theirs = other_reader::read(Cursor::new(bytes), type_name).unwrap();
    let recordings = opened("x", bytes);
    assert_eq!(inspect(&recordings, &Selection::default()).unwrap().counts, theirs.counts, "{name}");
    let profile = fold(&recordings, &Request::all(event), &TaskTable::default()).unwrap();
    let mut ours = BTreeMap::new();
    for line in lines(&profile, ViewLimits::NONE) {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        add(&mut ours, stack.split(';').map(last_name), weight.parse().unwrap());
    }
    let mut by_them = BTreeMap::new();
    for (stack, weight) in &theirs.stacks {
        let frames = stack.split(';').map(|frame| match frame.rsplit_once('#') {
            Some((class, "")) => last_name(class.rsplit('/').next().unwrap_or(class)),
            Some((_, method)) => last_name(method),
            None => "[no stack]",
        });
        add(&mut by_them, frames, *weight);
    }
    let differing = ours.iter().find(|(stack, weight)| by_them.get(*stack) != Some(weight));
    assert_eq!(differing, None, "{name}");
    assert_eq!(ours.len(), by_them.len(), "{name}");
}

/// A stack that was cut has a mark of ours at its root.
fn add<'s>(sums: &mut BTreeMap<String, i64>, frames: impl Iterator<Item = &'s str>, weight: i64) {
    let frames: Vec<&str> = frames.filter(|frame| *frame != "[truncated]").collect();
    *sums.entry(frames.join(";")).or_default() += weight;
}
