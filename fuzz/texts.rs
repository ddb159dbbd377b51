//! The laws that the fuzz targets of texts and answers check, one function a target.
//!
//! The tests of `emberscope-rest` include this file and replay the committed corpora through it.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::sync::Arc;

use emberscope_log::block::ParseOptions;
use emberscope_log::event::plan::plan_with_serde;
use emberscope_log::input::Memory;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover_input;
use emberscope_model::load::load;
use emberscope_rest::{AnswerError, Answers, Wanted, collect};
use emberscope_text::driver_log::DriverLog;
use emberscope_text::explain;
use emberscope_text::sql::{Place, normalised, outline};
use serde_json::Value;

/// Panics when the input breaks the law.
pub(crate) type Check = fn(&[u8]);

/// Every target by its name.
#[allow(dead_code, reason = "a target uses its own function only")]
pub(crate) const TARGETS: &[(&str, Check)] =
    &[("answers", answers), ("driver_log", driver_log), ("explain", explain), ("sql_text", sql_text)];

/// A plan's tree is the one that its event holds, and parents come first.
pub(crate) fn explain(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(explained) = explain::parse(&text) else { return };
    assert!(!explained.operators.is_empty());
    for (at, operator) in explained.operators.iter().enumerate() {
        assert_eq!(operator.parent.is_none(), at == 0, "one root, and it is first");
        assert!(operator.parent.is_none_or(|parent| parent < at));
    }
    let tree = explained.tree();
    let event = explained.plan_info().to_string();
    let Ok(read) = plan_with_serde(event.as_bytes()) else {
        // JSON has a limit to its depth, which texts do not have.
        let depths = depths(&explained.operators);
        assert!(depths.iter().max().is_some_and(|depth| *depth > 40), "the event of a flat plan is refused");
        return;
    };
    assert_eq!(read.nodes.len(), tree.nodes.len());
    for (a, b) in read.nodes.iter().zip(&tree.nodes) {
        assert_eq!(a.parent, b.parent);
        assert_eq!(read.text(a.name), tree.text(b.name));
        assert_eq!(read.text(a.simple_string), tree.text(b.simple_string));
    }
}

fn depths(operators: &[explain::Operator]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::new();
    for operator in operators {
        depths.push(operator.parent.map_or(0, |parent| depths[parent] + 1));
    }
    depths
}

/// The reader's buffer does not matter, and whatever is made of a log is a log of events.
pub(crate) fn driver_log(data: &[u8]) {
    let read =
        |bytes: usize| DriverLog::read(BufReader::with_capacity(bytes, data)).expect("memory can be read");
    let events_of = |log: &DriverLog| {
        let mut events = Vec::new();
        log.write_events(&mut events).expect("memory can be written");
        events
    };
    let log = read(1 << 16);
    let events = events_of(&log);
    assert!(events == events_of(&read(7)), "the buffer matters");
    assert!(log.lines as usize <= data.len() + 1);
    if let Some(plan) = &log.plan {
        explain(plan.as_bytes());
    }
    if log.is_telling() {
        is_a_log(events);
    }
}

/// Loads events; every line has to be one.
fn is_a_log(events: Vec<u8>) {
    let found = discover_input(Arc::new(Memory::new("fuzz", events)));
    for source in &found.runs {
        let options = ScanOptions { threads: 1, ..ScanOptions::default() };
        let run = load(source, options, ParseOptions::default(), &|_| {});
        assert_eq!(run.trust.bad_lines.count, 0, "{:?}", run.trust.bad_lines.first);
    }
}

/// Clauses are places of the text, in order, and what a text means does not depend on its spaces.
pub(crate) fn sql_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = outline(&text);
    let lines: Vec<&str> = text.split('\n').collect();
    let is_in_text = |place: Place| {
        let line = usize::try_from(place.line).ok().and_then(|line| lines.get(line.checked_sub(1)?));
        // The end of a line counts as one more.
        line.is_some_and(|line| place.column >= 1 && place.column <= line.chars().count() as u64 + 1)
    };
    for fragment in &found.fragments {
        assert!(is_in_text(fragment.start) && is_in_text(fragment.end), "{fragment:?}");
        assert!(fragment.start <= fragment.end, "{fragment:?}");
    }
    assert!(found.fragments.is_sorted_by_key(|fragment| (fragment.start, fragment.end)));
    assert!(found.statements > 0 || found.fragments.is_empty());
    normalised(&text);
}

/// Answers by their paths, without parameters; and whether they come in pages.
struct Given {
    by_path: BTreeMap<String, Value>,
    has_pages: bool,
}

impl Answers for Given {
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError> {
        let path = path.split('?').next().unwrap_or_default();
        Ok(self.by_path.get(path).map(|value| value.to_string().into_bytes()))
    }

    fn has_pages(&self) -> bool {
        self.has_pages
    }
}

/// Whatever a server answers is refused or makes a log of events. The input is one object of answers by path.
pub(crate) fn answers(data: &[u8]) {
    let Ok(by_path) = serde_json::from_slice::<BTreeMap<String, Value>>(data) else { return };
    let mut given = Given { by_path, has_pages: false };
    for has_pages in [false, true] {
        given.has_pages = has_pages;
        if let Ok(made) = collect(&given, &Wanted { sql_id: Some(1), ..Wanted::default() }, &|_| {}) {
            is_a_log(made.events);
        }
    }
}
