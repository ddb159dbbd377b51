//! Detectors of joins: each fires where it should, and is silent right beside.

use crate::made::{Made, MadeTask, of_kind, said, task};
use crate::planned::{MIB, Query, count, diagnosed, driver_updates, exchange, node, one, scan, tasks, with};
use emberscope_analysis::detector::Sink;
use emberscope_analysis::finding::Worth;
use emberscope_analysis::replay::Edit;
use serde_json::json;

/// A sort-merge join of two shuffled tables: `join` is its text, the sizes are those of the exchanges.
fn merge_join(join: &str, left: i64, right: i64, how: &str) -> Query {
    let side = |id: u64, name: &str| {
        let scan = scan("Parquet", name, "PartitionFilters: [], PushedFilters: []", id + 10);
        node(
            "Sort",
            "[k#1 ASC]",
            &[("sort time", "timing", id + 5)],
            vec![exchange(&format!("hashpartitioning(k#1, 8), {how}"), id, scan)],
        )
    };
    let plan = node(
        "SortMergeJoin",
        join,
        &[("number of output rows", "sum", 99)],
        vec![side(100, "facts"), side(200, "dims")],
    );
    let write = |run_ms| {
        task(run_ms).with(json!({"Shuffle Write Metrics": {"Shuffle Bytes Written": 1000, "Shuffle Write Time": 300_000_000, "Shuffle Records Written": 10}}))
    };
    let map = |id: u64, bytes: i64| -> Vec<MadeTask> {
        (0..8).map(|_| with(write(1000), &[(id, bytes / 8), (id + 1, 1000), (id + 10, 1000)])).collect()
    };
    let reduce = tasks(8, 2000, &[(99, 8000), (102, 8000), (202, 800), (105, 4000), (205, 400)]);
    Query { plan, stages: vec![map(100, left), map(200, right), reduce], driver: Vec::new() }
}

#[test]
fn a_join_that_shuffles_to_meet_a_small_side_is_priced_by_what_the_shuffle_takes() {
    let query = merge_join("[k#1], [k#2], Inner", 800 * MIB, 6 * MIB, "ENSURE_REQUIREMENTS");
    let sink = diagnosed("PLAN", &[("spark.sql.autoBroadcastJoinThreshold", "1MB")], &[query]);
    let claim = of_kind(&sink, "underBroadcast")[0];
    assert_eq!(claim.title, "Join on k shuffles 800 MiB to meet 6.0 MiB of dims");
    assert_eq!(claim.evidence["cause"], "aboveThreshold");
    let setting =
        claim.recommendation.changes.iter().find(|change| change.key.starts_with("spark.")).unwrap();
    assert_eq!((setting.current.as_deref(), setting.proposed.as_deref()), (Some("1MB"), Some("10MB")));
    // 300 ms of each 1 009 ms map task were writing, and three quarters of its 1 000 ms are the exchange's by rows; 500 ms
    // of each 2 009 ms join task were the large side's sort and 50 ms the small side's. In between lies what is
    // not timed, of which half counts.
    let Worth::Replay { low, .. } = &claim.worth else { panic!() };
    let factor = |place: (u32, u32)| {
        low.iter().find_map(|edit| match edit {
            Edit::ScaleAll { place: at, factor } if *at == place => Some((factor * 1000.0).round() / 1000.0),
            _ => None,
        })
    };
    assert_eq!(factor((0, 0)), Some(0.48));
    assert_eq!(factor((2, 0)), Some(0.365));
}

#[test]
fn joins_that_cannot_or_need_not_be_broadcast() {
    let needs = "ENSURE_REQUIREMENTS";
    for (join, left, right, how, fires) in [
        ("[k#1], [k#2], Inner", 800 * MIB, 6 * MIB, needs, 1),
        ("[k#1], [k#2], LeftOuter", 800 * MIB, 6 * MIB, needs, 1),
        // The small side is the one whose rows must all come out.
        ("[k#1], [k#2], LeftOuter", 6 * MIB, 800 * MIB, needs, 0),
        ("[k#1], [k#2], FullOuter", 800 * MIB, 6 * MIB, needs, 0),
        // Both are large, or nearly the same.
        ("[k#1], [k#2], Inner", 800 * MIB, 700 * MIB, needs, 0),
        ("[k#1], [k#2], Inner", 12 * MIB, 6 * MIB, needs, 0),
        // Nothing to save.
        ("[k#1], [k#2], Inner", 100_000, 1000, needs, 0),
        // The program asked for the shuffle.
        ("[k#1], [k#2], Inner", 800 * MIB, 6 * MIB, "REPARTITION_BY_COL", 0),
    ] {
        let sink = diagnosed("PLAN", &[], &[merge_join(join, left, right, how)]);
        assert_eq!(count(&sink, "underBroadcast"), fires, "{join} {left} {right} {how}");
    }
    // It would not fit beside what else is in memory.
    let query = merge_join("[k#1], [k#2], Inner", 80 * 1024 * MIB, 300 * MIB, needs);
    assert_eq!(count(&diagnosed("PLAN", &[("spark.executor.memory", "1g")], &[query]), "underBroadcast"), 0);
}

#[test]
fn joins_of_native_engines_are_not_checked() {
    let plan = node("GpuShuffledHashJoin", "[k#1], [k#2], Inner", &[], Vec::new());
    let sink = one(plan, vec![tasks(4, 1000, &[])], Vec::new());
    assert_eq!(count(&sink, "underBroadcast"), 0);
    assert!(format!("{sink:?}").contains("NotChecked { kind: \"underBroadcast\""));
}

#[test]
fn broadcasts_that_are_too_large() {
    let run = |bytes: i64, build_ms: i64| {
        let metrics =
            [("data size", "size", 50), ("time to build", "timing", 51), ("time to broadcast", "timing", 52)];
        let table = scan("Parquet", "dims", "", 60);
        let broadcast = node("BroadcastExchange", "HashedRelationBroadcastMode(..)", &metrics, vec![table]);
        let facts = scan("Parquet", "facts", "", 70);
        let join = node(
            "BroadcastHashJoin",
            "[k#1], [k#2], Inner, BuildRight, false",
            &[("number of output rows", "sum", 80)],
            vec![facts, broadcast],
        );
        one(join, vec![tasks(8, 2000, &[(80, 800)])], vec![(50, bytes), (51, build_ms), (52, build_ms)])
    };
    let sink = run(2048 * MIB, 30_000);
    let claim = of_kind(&sink, "overBroadcast")[0];
    assert_eq!(claim.title, "2.0 GiB of dims are broadcast, 1 min 00 s of it in the driver alone");
    assert_eq!(claim.evidence["is_hinted"], true);
    assert_eq!(count(&run(20 * MIB, 100), "overBroadcast"), 0);
    assert_eq!(count(&run(200 * MIB, 10), "overBroadcast"), 0);
    assert_eq!(count(&run(200 * MIB, 1000), "overBroadcast"), 1);
}

fn loop_join(left: i64, right: i64, out: i64, condition: &str) -> Sink {
    let range =
        |id: u64| node("Range", &format!("(0, {id})"), &[("number of output rows", "sum", id)], Vec::new());
    let broadcast = node(
        "BroadcastExchange",
        "IdentityBroadcastMode",
        &[("number of output rows", "sum", 12)],
        vec![range(11)],
    );
    let join = node(
        "BroadcastNestedLoopJoin",
        &format!("BuildRight, Inner{condition}"),
        &[("number of output rows", "sum", 13)],
        vec![range(10), broadcast],
    );
    one(join, vec![tasks(8, 4000, &[(10, left), (13, out)])], vec![(12, right)])
}

#[test]
fn nested_loops_are_counted_by_pairs() {
    let sink = loop_join(40_000, 20_000, 800, ", (a#1 < b#2)");
    let claim = of_kind(&sink, "nestedLoopJoin")[0];
    assert_eq!(claim.title, "BroadcastNestedLoopJoin compares 40,000 with 20,000 rows pair by pair");
    assert_eq!(claim.evidence["pairs"], 8e8);
    assert!(matches!(&claim.worth, Worth::Replay { low, high } if !low.is_empty() && !high.is_empty()));
    // Every pair is wanted: nothing is sure.
    let all = loop_join(40_000, 20_000, 800_000_000, "");
    assert!(matches!(&of_kind(&all, "nestedLoopJoin")[0].worth, Worth::Replay { low, .. } if low.is_empty()));
    // The comparing is all of the time, however few rows come in.
    let Worth::Replay { high, .. } = &claim.worth else { panic!() };
    assert!(matches!(high[0], Edit::ScaleAll { factor, .. } if factor < 0.05), "{high:?}");
    // One row to compare with; few pairs.
    assert_eq!(count(&loop_join(400_000_000, 1, 800, ", (a#1 < b#2)"), "nestedLoopJoin"), 0);
    assert_eq!(count(&loop_join(1000, 1000, 800, ", (a#1 < b#2)"), "nestedLoopJoin"), 0);
}

/// A cartesian product of few rows, and what stands right above it.
fn product(rows: i64, out: i64, above: Option<i64>, other_ms: i64) -> Sink {
    let range =
        |id: u64| node("Range", &format!("(0, {id})"), &[("number of output rows", "sum", id)], Vec::new());
    let rows_out = |id: u64| [("number of output rows", "sum", id)];
    let mut plan = node("CartesianProduct", "", &rows_out(13), vec![range(10), range(11)]);
    if above.is_some() {
        plan = node("HashAggregate", "(keys=[], functions=[partial_sum(x#1)])", &rows_out(14), vec![plan]);
    }
    let sorts = [("sort time", "timing", 15)];
    let plan = node("Sort", "[x#1 ASC]", &sorts, vec![plan]);
    one(
        plan,
        vec![tasks(8, 4000, &[(10, rows), (11, rows), (13, out), (14, above.unwrap_or(0)), (15, other_ms)])],
        Vec::new(),
    )
}

#[test]
fn products_of_few_rows_are_judged_by_their_time() {
    let sink = product(2200, 4_840_000, Some(16), 0);
    let claim = of_kind(&sink, "nestedLoopJoin")[0];
    assert_eq!(claim.title, "CartesianProduct compares 2,200 with 2,200 rows pair by pair");
    // All that works on the pairs goes, and half of it in any case: they are put together right above.
    assert!(
        matches!(&claim.worth, Worth::Replay { low, high } if matches!(
            (&low[0], &high[0]),
            (Edit::ScaleAll { factor: low, .. }, Edit::ScaleAll { factor: high, .. }) if *low < 0.6 && *high < 0.1
        )),
        "{claim:?}"
    );
    let all = product(2200, 4_840_000, None, 0);
    assert!(matches!(&of_kind(&all, "nestedLoopJoin")[0].worth, Worth::Replay { low, .. } if low.is_empty()));
    // Few rows come out.
    assert_eq!(count(&product(2200, 20_000, Some(16), 0), "nestedLoopJoin"), 0);
    assert_eq!(count(&product(700, 490_000, Some(16), 0), "nestedLoopJoin"), 0);
}

#[test]
fn a_broadcast_delays_the_job_that_waits_for_it() {
    let metrics =
        [("data size", "size", 50), ("time to build", "timing", 51), ("time to broadcast", "timing", 52)];
    let broadcast = node(
        "BroadcastExchange",
        "HashedRelationBroadcastMode(..)",
        &metrics,
        vec![scan("Parquet", "dims", "", 60)],
    );
    let join = node(
        "BroadcastHashJoin",
        "[k#1], [k#2], Inner, BuildRight, false",
        &[("number of output rows", "sum", 80)],
        vec![scan("Parquet", "facts", "", 70), broadcast],
    );
    let mut made = Made::new("3.5.1", 2, 4, &[]);
    made.sql(0, "query", &join, &json!({}));
    made.line(driver_updates(0, &[(50, 300 * MIB), (51, 1500), (52, 500)]));
    made.job(Some(0), &[tasks(8, 2000, &[(60, 800)])]);
    made.wait(2100);
    made.job(Some(0), &[tasks(8, 2000, &[(70, 800), (80, 800)])]);
    made.job(Some(0), &[tasks(1, 100, &[])]);
    made.sql_end(0);
    let sink = said(&made.run(), "PLAN");
    let Worth::Replay { low, high } = &of_kind(&sink, "overBroadcast")[0].worth else { panic!() };
    assert_eq!(low[0], Edit::JobSooner { job: 1, by_ms: 1000 });
    assert_eq!(high[0], Edit::JobSooner { job: 1, by_ms: 2000 });
}

#[test]
fn only_joins_that_give_many_more_rows_than_they_take_explode() {
    let run = |left: i64, right: i64, out: i64| {
        let side = |id: u64| {
            let scan = scan("Parquet", "t", "", id);
            node("Sort", "[k#1 ASC]", &[], vec![scan])
        };
        let join = node(
            "SortMergeJoin",
            "[k#1], [k#2], Inner",
            &[("number of output rows", "sum", 5)],
            vec![side(10), side(20)],
        );
        one(join, vec![tasks(8, 4000, &[(10, left), (20, right), (5, out)])], Vec::new())
    };
    let sink = run(1_000_000, 200_000, 40_000_000);
    let claim = of_kind(&sink, "joinExplosion")[0];
    assert_eq!(claim.title, "Join on k makes 40 million rows of 1.0 million and 200,000 (40 for each)");
    let aggregated = |condition: &str| {
        let rows = |id: u64| [("number of output rows", "sum", id)];
        let sides = vec![scan("Parquet", "t", "", 10), scan("Parquet", "u", "", 20)];
        let join = node("SortMergeJoin", &format!("[k#1], [k#2], Inner{condition}"), &rows(5), sides);
        let plan = node("HashAggregate", "(keys=[], functions=[partial_sum(x#1)])", &rows(6), vec![join]);
        let updates = [(10, 1_000_000), (20, 200_000), (5, 40_000_000), (6, 8)];
        let sink = one(plan, vec![tasks(8, 4000, &updates)], Vec::new());
        matches!(&of_kind(&sink, "joinExplosion")[0].worth, Worth::Replay { low, .. } if !low.is_empty())
    };
    assert!(claim.recommendation.text.ends_with("make one side unique before the join."));
    // A condition that picks pairs shows that they are wanted: to drop rows of a key would change the result.
    let sides = vec![scan("Parquet", "t", "", 10), scan("Parquet", "u", "", 20)];
    let rows = [("number of output rows", "sum", 5)];
    let picked = node("SortMergeJoin", "[k#1], [k#2], Inner, (a#3 < b#4)", &rows, sides);
    let updates = [(10, 1_000_000), (20, 200_000), (5, 40_000_000)];
    let sink = one(picked, vec![tasks(8, 4000, &updates)], Vec::new());
    let advice = &of_kind(&sink, "joinExplosion")[0].recommendation;
    assert!(
        advice.text.contains("k repeats on both sides, and (a < b) leaves many pairs"),
        "{}",
        advice.text
    );
    assert!(advice.changes.iter().all(|change| !change.proposed.as_deref().unwrap_or("").contains("unique")));
    // Pairs that are put together again right above are not wanted, unless the keys are only buckets.
    assert!(aggregated(""));
    assert!(!aggregated(", ((x#1 >= lo#2) AND (x#1 <= hi#2))"));
    for (left, right, out) in [
        // A fact table and its dimension, however many rows.
        (40_000_000, 200_000, 40_000_000),
        // Not much, and nothing.
        (1_000_000, 200_000, 3_000_000),
        (100, 100, 10_000),
        (0, 0, 0),
    ] {
        assert_eq!(count(&run(left, right, out), "joinExplosion"), 0, "{left} {right} {out}");
    }
}
