//! What Perfetto demands of a trace: slices of a thread nest, every thread has a name, and nothing is lost.

use emberscope_analysis::context::Digests;
use emberscope_analysis::views::timeline::TimelineIndex;
use emberscope_export::perfetto;
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn run(fixture: &str) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(fixture);
    let found = discover(path.to_str().unwrap()).unwrap();
    load(&found.runs[0], ScanOptions::default(), ParseOptions::default(), &|_| {})
}

fn trace(run: &Run) -> Value {
    let mut out = Vec::new();
    perfetto::write(run, &TimelineIndex::of(run, &Digests::of(run)), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn slices_of_a_thread_do_not_overlap() {
    for fixture in [
        "sql-aqe-4.3.0",
        "executor-loss-4.3.0",
        "speculation-4.3.0",
        "nested-sql-4.3.0",
        "killed-plain-3.5.9",
        "empty-4.3.0",
    ] {
        let run = run(fixture);
        let trace = trace(&run);
        let mut threads: BTreeMap<(u64, u64), Vec<(i64, i64)>> = BTreeMap::new();
        let mut named: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let number = |name: &str| event[name].as_i64();
            let place = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            match event["ph"].as_str().unwrap() {
                "X" => {
                    let (from, length) = (number("ts").unwrap(), number("dur").unwrap());
                    assert!(from >= 0 && length >= 0, "{event}");
                    threads.entry(place).or_default().push((from, from + length));
                    *counts.entry(event["cat"].as_str().unwrap().to_owned()).or_default() += 1;
                }
                "M" if event["name"] == "thread_name" => _ = named.insert(place),
                "M" => {}
                "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number), "{event}"),
                "i" => assert_eq!(event["s"], "p"),
                other => panic!("an event of kind {other}"),
            }
        }
        for (place, spans) in &mut threads {
            assert!(named.contains(place), "{fixture} {place:?}");
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{fixture} {place:?}");
        }
        let tasks: usize = run.stages.iter().map(|stage| stage.tasks.rows()).sum();
        let count = |cat: &str| counts.get(cat).copied().unwrap_or(0);
        assert_eq!(count("task"), tasks, "{fixture}");
        assert_eq!(
            (count("sql"), count("job"), count("stage")),
            (run.sql_executions.len(), run.jobs.len(), run.stages.len()),
            "{fixture}"
        );
    }
}
