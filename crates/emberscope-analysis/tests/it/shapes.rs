//! Stages that do not fit the cores: SHAPE, PART, TINY, SLOW.

use crate::eight_rules::{exchange, joins, node, warm};
use crate::made::{Made, MadeTask, of_kind, said, task};
use emberscope_analysis::finding::Worth;
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

/// One task after a shuffle into one partition that AQE made of many.
fn coalesced() -> Value {
    let scan = node("Scan parquet t", "FileScan parquet t", 50, &[]);
    let read = json!({"nodeName": "AQEShuffleRead", "simpleString": "AQEShuffleRead coalesced", "metadata": {}, "metrics": [],
        "children": [exchange("hashpartitioning(k#1L, 16)", 20, &scan)]});
    let join = node("SortMergeJoin", "SortMergeJoin [k#1L], [k#5L], Inner", 1, &[read]);
    json!({"nodeName": "AdaptiveSparkPlan", "simpleString": "AdaptiveSparkPlan isFinalPlan=true", "children": [join],
        "metadata": {}, "metrics": []})
}

fn single_partition() -> Value {
    let scan = node("Scan parquet t", "FileScan parquet t", 50, &[]);
    node(
        "HashAggregate",
        "HashAggregate(keys=[], functions=[sum(v#1)])",
        1,
        &[exchange("SinglePartition", 20, &scan)],
    )
}

fn sql(plan: &Value, tasks: Vec<MadeTask>) -> Made {
    sql_under(plan, &json!({}), tasks)
}

/// Under settings of the query's own.
fn sql_under(plan: &Value, configs: &Value, tasks: Vec<MadeTask>) -> Made {
    let mut made = warm();
    made.sql(0, "query", plan, configs);
    made.job(Some(0), &[tasks]);
    made.sql_end(0);
    made
}

#[test]
fn one_task_that_aqe_left() {
    let sink = said(&sql(&coalesced(), vec![joins(20_000, 180_000, 16_000)]).run(), "SHAPE");
    let [claim] = of_kind(&sink, "stageShape")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.variant, Some("lowParallelism"));
    assert_eq!(claim.evidence["aqe_coalesced"], true);
    assert_eq!(claim.evidence["proposed_tasks"], 8);
    let [change] = &claim.recommendation.changes[..] else { panic!() };
    assert_eq!(change.key, "spark.sql.adaptive.coalescePartitions.minPartitionSize");
    assert_eq!(change.proposed.as_deref(), Some("21k"));
    let Worth::Replay { high, .. } = &claim.worth else { panic!() };
    assert!(matches!(high[..], [Edit::Resize { tasks: 8, .. }]));
}

#[test]
fn narrow_stages_that_are_as_they_must_be() {
    let idle = |ms| {
        // A run of a minute around it.
        let mut made = warm();
        made.job(None, &[(0..64).map(|_| task(6000)).collect()]);
        made.job(None, &[vec![task(ms).shuffle_read(1000, 8)]]);
        made.run()
    };
    // A short last step.
    assert!(said(&idle(1000), "SHAPE").claims().is_empty());
    assert_eq!(said(&idle(20_000), "SHAPE").claims().len(), 1);
    // A global aggregate cannot be split by a setting.
    let global = sql(&single_partition(), vec![joins(20_000, 180_000, 16_000)]);
    assert!(said(&global.run(), "SHAPE").claims().is_empty());
    // Half of the slots are in use.
    let mut half = warm();
    half.job(None, &[(0..4).map(|_| task(20_000).shuffle_read(1000, 1000)).collect()]);
    assert!(said(&half.run(), "SHAPE").claims().is_empty());
    // A cold executor, whose loading of classes no number of tasks divides.
    let mut cold = Made::new("3.5.1", 4, 2, &[]);
    cold.job(None, &[vec![MadeTask { deserialize_ms: 3000, ..task(1500) }]]);
    assert!(said(&cold.run(), "SHAPE").claims().is_empty());
}

#[test]
fn cores_that_others_use_are_not_free() {
    // Two tasks while seven others of another stage run: the made log runs them one after the other, so the
    // second stage's times are moved onto the first's.
    let mut made = Made::new("3.5.1", 4, 2, &[]);
    made.job(None, &[(0..16).map(|_| task(200)).collect()]);
    let at = made.now;
    made.job(None, &[(0..6).map(|_| task(20_000).shuffle_read(1000, 1000)).collect()]);
    let end = made.now;
    made.now = at;
    made.job(None, &[(0..2).map(|_| task(20_000).shuffle_read(1000, 1000)).collect()]);
    made.now = end;
    assert!(said(&made.run(), "SHAPE").claims().is_empty());
}

#[test]
fn batches_of_a_cache_do_not_explode() {
    let written = json!({"Shuffle Write Metrics": {"Shuffle Bytes Written": 9_000_000, "Shuffle Write Time": 0,
        "Shuffle Records Written": 300_000}});
    let mut made = warm();
    made.job(None, &[(0..16).map(|_| task(900).input(90_000_000, 304).with(written.clone())).collect()]);
    assert!(said(&made.run(), "SHAPE").claims().is_empty());
}

#[test]
fn tiny_tasks_cost_their_start() {
    let tasks =
        |n: usize, run_ms: i64| (0..n).map(|_| task(run_ms).shuffle_read(100, 10)).collect::<Vec<_>>();
    let mut made = warm();
    made.job(None, &[tasks(2000, 5)]);
    let sink = said(&made.run(), "TINY");
    let [claim] = of_kind(&sink, "tinyTask")[..] else { panic!("{sink:?}") };
    // Launch to finish is 14 ms (5 of work), and the slot waits 1 ms.
    let overhead = claim.evidence["overhead_ms"].as_f64().unwrap();
    assert!((9.0..11.0).contains(&overhead), "{overhead}");
    assert_eq!(claim.evidence["proposed_tasks"], 20);
    // Long enough tasks, few tasks.
    for (n, run_ms) in [(2000, 400), (60, 5)] {
        let mut made = warm();
        made.job(None, &[tasks(n, run_ms)]);
        assert!(said(&made.run(), "TINY").claims().is_empty(), "{n} {run_ms}");
    }
}

#[test]
fn tasks_on_next_to_nothing_are_tiny() {
    let said_of = |bytes: i64, cpu_ms: i64| {
        let cpu = json!({"Executor CPU Time": cpu_ms * 1_000_000});
        let mut made = warm();
        made.job(None, &[(0..400).map(|_| task(180).input(bytes, 170).with(cpu.clone())).collect()]);
        let sink = said(&made.run(), "TINY");
        of_kind(&sink, "tinyTask").into_iter().map(|claim| claim.title.clone()).collect::<Vec<_>>()
    };
    // Starting costs little beside 180 ms, of which most is the price of opening and writing small blocks.
    assert_eq!(said_of(125_000, 30), ["Stage 1 runs 400 tasks of 180 ms on average, on 122 KiB each"]);
    assert!(said_of(4_000_000, 30).is_empty(), "that much takes its time");
    assert!(said_of(125_000, 150).is_empty(), "they compute");
    assert!(said_of(0, 30).is_empty(), "nothing is known of what they read");
}

#[test]
fn partition_sizes() {
    const MIB: i64 = 1 << 20;
    let even = |tasks: usize, bytes: i64, spilled: i64| {
        let spill = json!({"Memory Bytes Spilled": spilled, "Disk Bytes Spilled": spilled / 4});
        (0..tasks).map(|_| task(9000).shuffle_read(bytes, 1_000_000).with(spill.clone())).collect::<Vec<_>>()
    };
    let mut one_large = even(40, 60 * MIB, 0);
    one_large[7] = task(9000).shuffle_read(900 * MIB, 1_000_000);
    let cases = [
        (even(4, 400 * MIB, 0), Some(("tooFew", Some(13)))),
        (even(4, 2048 * MIB, 0), Some(("tooBig", Some(64)))),
        (even(40, 300 * MIB, 500 * MIB), Some(("tooBig", Some(94)))),
        (one_large, Some(("skewed", None))),
        (even(40, 100 * MIB, 0), None),
        (even(4, 10 * MIB, 0), None),
        (even(40, 300 * MIB, 0), None),
    ];
    for (tasks, expected) in cases {
        let mut made = warm();
        made.job(None, &[tasks]);
        let sink = said(&made.run(), "PART");
        let got = of_kind(&sink, "partitionSizing").first().map(|claim| {
            (claim.variant.unwrap(), claim.evidence.get("proposed_tasks").and_then(Value::as_u64))
        });
        assert_eq!(got, expected);
    }
    // Few and large: the cores without work are what it costs.
    let title = |tasks: usize, bytes: i64| {
        let mut made = warm();
        made.job(None, &[even(tasks, bytes, 0)]);
        said(&made.run(), "PART").claims()[0].title.clone()
    };
    assert_eq!(
        title(2, 2048 * MIB),
        "The 2 shuffle partitions of stage 1 are too few and too large: 2.0 GiB at the median, 6 of 8 slots had none for 9.0 s"
    );
    assert!(title(40, 2048 * MIB).ends_with("are too large: 2.0 GiB at the median, no task spills"));
}

#[test]
fn long_even_stages_are_slow_only_if_nothing_else_is_wrong() {
    let stage = |metrics: Value| {
        let mut made = warm();
        made.job(
            None,
            &[(0..16).map(|_| task(500_000).shuffle_read(1000, 1000).with(metrics.clone())).collect()],
        );
        said(&made.run(), "SLOW").claims().len()
    };
    assert_eq!(stage(json!({})), 1);
    assert_eq!(stage(json!({"Memory Bytes Spilled": 1_000_000})), 0);
    assert_eq!(stage(json!({"JVM GC Time": 100_000})), 0);
}

#[test]
fn files_that_cannot_be_cut() {
    let plan = exchange("hashpartitioning(a#1, 8)", 10, &node("Scan csv", "FileScan csv [a#1]", 1, &[]));
    let by_setting = "spark.sql.files.maxPartitionBytes";
    // Of small splits more may be read than is in them: files are read through buffers.
    for (bytes, limit, key) in [
        (900 << 20, "128m", "input files"),
        (100 << 20, "128m", by_setting),
        (900 << 10, "16k", by_setting),
        (9 << 20, "16k", "input files"),
    ] {
        let mut only = task(20_000).input(bytes, 100_000);
        only.updates = vec![(1, 100_000)];
        let sink = said(&sql_under(&plan, &json!({by_setting: limit}), vec![only]).run(), "SHAPE");
        let [claim] = of_kind(&sink, "stageShape")[..] else { panic!("{sink:?}") };
        let whole = "a format that can be split";
        assert_eq!(claim.recommendation.text.contains(whole), key == "input files", "{bytes} {limit}");
        assert!(claim.recommendation.changes.iter().all(|change| change.key == key), "{claim:?}");
    }
}

#[test]
fn a_spill_of_one_partition_is_not_made_smaller_by_more() {
    const MIB: i64 = 1 << 20;
    let spilling = task(6000).shuffle_read(100 * MIB, 1_000_000).with(
        json!({"Memory Bytes Spilled": 400 * MIB, "Disk Bytes Spilled": 100 * MIB, "Peak Execution Memory": 200 * MIB}),
    );
    let spilling = MadeTask { updates: vec![(1, 1000), (21, 1_000_000)], ..spilling };
    let advice = |plan: &Value, tasks: usize| {
        let sink = said(&sql(plan, vec![spilling.clone(); tasks]).run(), "SPILL");
        let [claim] = sink.claims() else { panic!("{sink:?}") };
        (claim.title.clone(), claim.recommendation.text.clone())
    };
    let (title, text) = advice(&single_partition(), 1);
    assert!(title.starts_with("The only task of stage 1 spills 400 MiB (100 MiB on disk)"), "{title}");
    assert!(text.starts_with("Give the task more memory") && !text.contains("smaller:"), "{text}");
    let (title, text) = advice(&coalesced(), 4);
    assert!(title.starts_with("4 of 4 tasks of stage 1 spill"), "{title}");
    assert!(
        text.starts_with("Make the partitions about 3 times smaller: ") && !text.contains("(AQE"),
        "{text}"
    );
}
