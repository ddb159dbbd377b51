//! Memory and data on the way: SPILL, GC, SHFL.

use crate::eight_rules::warm;
use crate::made::{Made, MadeTask, fixture, of_kind, said, task};
use emberscope_analysis::finding::Worth;
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

const MIB: i64 = 1 << 20;

fn stage(tasks: Vec<MadeTask>) -> Made {
    let mut made = warm();
    made.job(None, &[tasks]);
    made
}

fn spilling(memory: i64, disk: i64, peak: i64) -> MadeTask {
    task(6000).shuffle_read(100 * MIB, 1_000_000).with(
        json!({"Memory Bytes Spilled": memory, "Disk Bytes Spilled": disk, "Peak Execution Memory": peak}),
    )
}

#[test]
fn spills_are_priced_by_memory_and_disk() {
    // 400 MiB in memory at 250 MB/s, 100 MiB on disk written and read at 200 MB/s: 2.7 s, below half of the task.
    let sink =
        said(&stage((0..16).map(|_| spilling(400 * MIB, 100 * MIB, 200 * MIB)).collect()).run(), "SPILL");
    let [claim] = of_kind(&sink, "spill")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.variant, Some("volume"));
    assert_eq!(claim.evidence["cost_ms"], 43_620);
    // Peak and spill together are three times what fitted.
    assert_eq!(claim.evidence["proposed_tasks"], 48);
    // Spilled, and never written: still serialized.
    let sink = said(&stage((0..16).map(|_| spilling(400 * MIB, 0, 200 * MIB)).collect()).run(), "SPILL");
    let [claim] = of_kind(&sink, "spill")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.evidence["cost_ms"], 26_843);
    let Worth::Replay { low, high } = &claim.worth else { panic!() };
    let factor = |edits: &[Edit]| match edits {
        [Edit::Scale { factors, .. }] => factors[0],
        _ => panic!("{edits:?}"),
    };
    // Careful: a quarter is counted on.
    assert!((1.0 - factor(low)) * 3.9 < 1.0 - factor(high));
}

#[test]
fn spills_of_few_tasks_are_skew_and_small_ones_are_nothing() {
    let mut tasks: Vec<MadeTask> = (0..16).map(|_| spilling(0, 0, 0)).collect();
    tasks[3] = spilling(900 * MIB, 200 * MIB, 200 * MIB);
    let sink = said(&stage(tasks).run(), "SPILL");
    let [claim] = of_kind(&sink, "spill")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.variant, Some("skew"));
    assert!(claim.recommendation.changes.iter().all(|change| !change.key.starts_with("spark.")));
    assert!(
        said(&stage((0..16).map(|_| spilling(MIB, MIB, MIB)).collect()).run(), "SPILL").claims().is_empty()
    );
    let real = said(&fixture("spill-4.3.0"), "SPILL");
    let [claim] = of_kind(&real, "spill")[..] else { panic!("{real:?}") };
    assert_eq!(claim.evidence["spilling_tasks"], 2);
}

#[test]
fn python_workers_spill_by_a_limit_of_their_own() {
    // They say next to nothing of it as in memory. (RDD, KiB of each task on disk)
    for (rdd, kib, fires) in
        [("PythonRDD", 2048, true), ("PythonRDD", 256, false), ("MapPartitionsRDD", 2048, false)]
    {
        let mut made = warm();
        made.rdd_name = rdd.to_owned();
        made.job(None, &[(0..16).map(|_| spilling(0, kib << 10, 0)).collect()]);
        let sink = said(&made.run(), "SPILL");
        assert_eq!(of_kind(&sink, "spill").len(), usize::from(fires), "{rdd} {kib}");
        for claim in sink.claims() {
            assert_eq!(claim.title, "16 of 16 tasks of stage 1 spill 32.0 MiB to disk in Python workers");
            assert_eq!(claim.evidence["cost_ms"], 6710);
            assert_eq!(claim.recommendation.changes[0].key, "spark.python.worker.memory");
            assert_eq!(claim.recommendation.changes[0].proposed.as_deref(), Some("2g"));
        }
    }
}

fn collecting(gc_ms: i64) -> Vec<MadeTask> {
    (0..32).map(|_| task(2000).shuffle_read(1000, 1000).with(json!({"JVM GC Time": gc_ms}))).collect()
}

#[test]
fn collections_are_counted_once_per_slot() {
    let sink = said(&stage(collecting(600)).run(), "GC");
    let [claim] = of_kind(&sink, "gc")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.variant, Some("high"));
    assert_eq!(claim.evidence["gc_ms"], 32 * 600);
    // Eight tasks at a time: the stage can save an eighth of the sum at most.
    assert_eq!(claim.evidence["slot_gc_ms"], 4 * 600);
    let Worth::Replay { high, .. } = &claim.worth else { panic!() };
    let [Edit::Scale { factors, .. }] = &high[..] else { panic!() };
    let saved_ms = (1.0 - f64::from(factors[0])) * 2009.0 * 4.0;
    assert!(saved_ms <= 2400.0 && saved_ms > 2000.0, "{saved_ms}");
    // Ten percent are usual.
    assert!(said(&stage(collecting(200)).run(), "GC").claims().is_empty());
}

#[test]
fn a_heap_with_room_needs_no_more() {
    // With most of the time in collections the heap is full, whatever the samples of its peak say.
    for (gc_ms, peak, grows) in [(600, 950 * MIB, true), (600, 400 * MIB, false), (1400, 400 * MIB, true)] {
        let mut made = stage(collecting(gc_ms));
        made.line(json!({"Event": "SparkListenerStageExecutorMetrics", "Executor ID": "1", "Stage ID": 1,
            "Stage Attempt ID": 0, "Executor Metrics": {"JVMHeapMemory": peak}}));
        let sink = said(&made.run(), "GC");
        let [claim] = of_kind(&sink, "gc")[..] else { panic!("{sink:?}") };
        let proposes =
            claim.recommendation.changes.iter().any(|change| change.key == "spark.executor.memory");
        assert_eq!(proposes, grows);
        let Worth::Replay { low, .. } = &claim.worth else { panic!() };
        assert_eq!(!low.is_empty(), grows);
    }
}

#[test]
fn waiting_for_blocks_is_measured() {
    let reads = |wait_ms: i64, bytes: i64| -> Value {
        json!({"Shuffle Read Metrics": {"Remote Blocks Fetched": 100, "Local Blocks Fetched": 0, "Fetch Wait Time": wait_ms,
            "Remote Bytes Read": bytes, "Local Bytes Read": 0, "Total Records Read": 1000}})
    };
    let run = |wait_ms, bytes| stage((0..32).map(|_| task(2000).with(reads(wait_ms, bytes))).collect()).run();
    let sink = said(&run(700, 1 << 30), "SHFL");
    let [claim] = of_kind(&sink, "shuffle")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.evidence["wait_share"], 0.35);
    assert!(claim.title.contains("35 %"), "{}", claim.title);
    assert!(claim.recommendation.changes.iter().any(|change| change.key == "spark.reducer.maxSizeInFlight"));
    // Small blocks have another remedy.
    let sink = said(&run(700, 1000), "SHFL");
    assert!(of_kind(&sink, "shuffle")[0].recommendation.text.contains("fewer partitions"));
    // A gigabyte a task without waiting costs nothing.
    assert!(said(&run(10, 1 << 30), "SHFL").claims().is_empty());
}

/// A stage of 32 tasks under settings.
fn stage_under(properties: &[(&str, &str)], tasks: Vec<MadeTask>) -> Made {
    let mut made = Made::new("3.5.1", 2, 4, properties);
    made.job(None, &[tasks]);
    made
}

#[test]
fn settings_below_their_defaults_are_named_first() {
    let reads = json!({"Shuffle Read Metrics": {"Remote Blocks Fetched": 100, "Local Blocks Fetched": 0,
        "Fetch Wait Time": 700, "Remote Bytes Read": 1000, "Local Bytes Read": 0, "Total Records Read": 1000}});
    let waiting = || (0..32).map(|_| task(2000).with(reads.clone())).collect();
    let tight = [("spark.reducer.maxReqsInFlight", "1"), ("spark.reducer.maxSizeInFlight", "96m")];
    let sink = said(&stage_under(&tight, waiting()).run(), "SHFL");
    let [claim] = of_kind(&sink, "shuffle")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.evidence["fetch_limits"], "spark.reducer.maxReqsInFlight=1");
    let [change] = &claim.recommendation.changes[..] else { panic!("{claim:?}") };
    assert_eq!(
        (change.key.as_str(), change.proposed.as_deref()),
        ("spark.reducer.maxReqsInFlight", Some("2147483647"))
    );
    // As by default or more: nothing to say of it.
    let roomy = [("spark.reducer.maxSizeInFlight", "48m")];
    let sink = said(&stage_under(&roomy, waiting()).run(), "SHFL");
    assert!(!of_kind(&sink, "shuffle")[0].evidence.contains_key("fetch_limits"));
}

#[test]
fn a_heap_is_not_made_larger_to_hold_as_much() {
    const KEY: &str = "spark.executor.memory";
    for (now, proposed) in [("8g", Some("12g")), ("30g", None), ("40g", Some("60g"))] {
        let sink = said(&stage_under(&[(KEY, now)], collecting(600)).run(), "GC");
        let [claim] = of_kind(&sink, "gc")[..] else { panic!("{sink:?}") };
        let change = claim.recommendation.changes.iter().find(|change| change.key == KEY);
        assert_eq!(change.and_then(|change| change.proposed.as_deref()), proposed, "{now}");
        assert_eq!(
            claim.recommendation.text.contains("fewer cores per executor, or keep"),
            proposed.is_none()
        );
    }
}

#[test]
fn the_serial_collector_is_named() {
    let key = "spark.executor.extraJavaOptions";
    for (options, proposed) in
        [("-Xss4m -XX:+UseSerialGC", Some("-Xss4m -XX:+UseG1GC")), ("-XX:+UseParallelGC", None)]
    {
        let sink = said(&stage_under(&[(key, options)], collecting(600)).run(), "GC");
        let [claim] = of_kind(&sink, "gc")[..] else { panic!("{sink:?}") };
        let change = claim.recommendation.changes.iter().find(|change| change.key == key);
        assert_eq!(change.and_then(|change| change.proposed.as_deref()), proposed);
        assert_eq!(claim.recommendation.text.contains("serial collector"), proposed.is_some());
    }
}

#[test]
fn native_engines_are_not_measured() {
    let mut made = Made::new("3.5.1", 2, 4, &[("spark.plugins", "org.apache.gluten.GlutenPlugin")]);
    made.job(None, &[(0..16).map(|_| task(2000).shuffle_read(1 << 20, 1000)).collect()]);
    let run = made.run();
    for (tag, kind) in [("SPILL", "spill"), ("SHFL", "shuffle")] {
        let sink = said(&run, tag);
        assert!(sink.claims().is_empty());
        assert!(format!("{sink:?}").contains(&format!("NotChecked {{ kind: \"{kind}\"")), "{sink:?}");
    }
}
