//! The eight rules of judging a Spark run, each with a log that would fool a tool without the rule.

use crate::made::{Made, MadeTask, of_kind, said, task};
use emberscope_analysis::finding::ChangeKind;
use serde_json::{Value, json};

/// A node of a plan.
pub(crate) fn node(name: &str, detail: &str, metric: u64, children: &[Value]) -> Value {
    json!({"nodeName": name, "simpleString": detail, "children": children, "metadata": {},
        "metrics": [{"name": "number of output rows", "accumulatorId": metric, "metricType": "sum"}]})
}

/// An exchange whose readers update its `records read`.
pub(crate) fn exchange(detail: &str, metric: u64, child: &Value) -> Value {
    json!({"nodeName": "Exchange", "simpleString": format!("Exchange {detail}"), "children": [child], "metadata": {},
        "metrics": [{"name": "shuffle records written", "accumulatorId": metric, "metricType": "sum"},
            {"name": "records read", "accumulatorId": metric + 1, "metricType": "sum"}]})
}

/// A sort-merge join of two shuffled scans under adaptive execution; the join's rows are metric 1.
pub(crate) fn join_plan(join: &str) -> Value {
    let side = |metric: u64, key: &str| {
        let scan = node("Scan parquet t", "FileScan parquet t", metric + 5, &[]);
        let sort = format!("Sort [{key} ASC NULLS FIRST]");
        let from = exchange(&format!("hashpartitioning({key}, 16), ENSURE_REQUIREMENTS"), metric + 1, &scan);
        node("Sort", &sort, metric, &[from])
    };
    let join = node("SortMergeJoin", join, 1, &[side(10, "k#1L"), side(20, "k#5L")]);
    json!({"nodeName": "AdaptiveSparkPlan", "simpleString": "AdaptiveSparkPlan isFinalPlan=true", "children": [join],
        "metadata": {}, "metrics": []})
}

/// A task of the join's stage: milliseconds, bytes and records read.
pub(crate) fn joins(run_ms: i64, bytes: i64, records: i64) -> MadeTask {
    let mut task = task(run_ms).shuffle_read(bytes, records);
    task.updates = vec![(1, records)];
    task
}

/// A run of Spark 3.5 with 4 executors of 2 cores whose executors have worked before.
pub(crate) fn warm() -> Made {
    let mut made = Made::new("3.5.1", 4, 2, &[]);
    made.job(None, &[(0..16).map(|_| task(200)).collect()]);
    made
}

fn sql_job(plan: &Value, stages: &[Vec<MadeTask>]) -> Made {
    let mut made = warm();
    made.sql(0, "query", plan, &json!({}));
    made.job(Some(0), stages);
    made.sql_end(0);
    made
}

/// One partition of a join with 21 times the records, in hardly more bytes than the others.
fn hot_without_bytes() -> Made {
    let mut tasks: Vec<MadeTask> = (0..15).map(|n| joins(900 + 10 * n, 1_000_000, 1000)).collect();
    tasks.push(joins(12_000, 1_240_000, 21_000));
    sql_job(&join_plan("SortMergeJoin [k#1L], [k#5L], Inner"), &[tasks])
}

#[test]
fn rule_1_skew_needs_records_and_duration_not_bytes_alone() {
    let skew = said(&hot_without_bytes().run(), "SKEW");
    let [claim] = of_kind(&skew, "skew")[..] else { panic!("{skew:?}") };
    assert_eq!(claim.evidence["records_ratio"], 21.0);
    assert_eq!(claim.evidence["bytes_ratio"], 1.24);
    assert_eq!(claim.evidence["hot_partitions"], 1);
    assert_eq!(claim.evidence["keys"], json!(["k"]));
    // Ten times the bytes in no more time is no skew.
    let mut tasks: Vec<MadeTask> = (0..15).map(|n| joins(900 + 10 * n, 1_000_000, 1000)).collect();
    tasks.push(joins(1000, 10_000_000, 1000));
    let even = sql_job(&join_plan("SortMergeJoin [k#1L], [k#5L], Inner"), &[tasks]);
    assert!(said(&even.run(), "SKEW").claims().is_empty());
}

#[test]
fn rule_2_a_cold_executor_is_no_data_skew() {
    // The first stage of a run: a task in each slot loads classes for three seconds, all read the same.
    let mut made = Made::new("3.5.1", 4, 2, &[]);
    let mut tasks: Vec<MadeTask> = (0..64).map(|_| task(400).shuffle_read(1000, 1000)).collect();
    for cold in &mut tasks[..8] {
        cold.deserialize_ms = 2500;
        cold.run_ms = 1500;
    }
    made.job(None, &[tasks]);
    let run = made.run();
    for tag in ["SKEW", "STRAG", "HOST"] {
        assert!(said(&run, tag).claims().is_empty(), "{tag}");
    }
    // One fresh executor among warm ones is a straggler with that cause, and no skew either.
    let mut made = warm();
    made.line(json!({"Event": "SparkListenerExecutorAdded", "Timestamp": made.now, "Executor ID": "5",
        "Executor Info": {"Host": "h5", "Total Cores": 2, "Log Urls": {}}}));
    let mut tasks: Vec<MadeTask> = (0..64).map(|_| task(400).shuffle_read(1000, 1000)).collect();
    tasks[3].deserialize_ms = 4000;
    tasks[3].info = json!({"Executor ID": "5", "Host": "h5"});
    made.job(None, &[tasks]);
    let run = made.run();
    assert!(said(&run, "SKEW").claims().is_empty());
    let stragglers = said(&run, "STRAG");
    let [claim] = of_kind(&stragglers, "straggler")[..] else { panic!("{stragglers:?}") };
    assert_eq!(claim.evidence["cause"], "cold_executor");
}

/// `SELECT k, sum(v) .. GROUP BY k` with a partial aggregation before the shuffle.
fn grouping(functions: &str, partial: &str, keys: &str) -> Value {
    let scan = node("Scan parquet t", "FileScan parquet t", 40, &[]);
    let before =
        node("HashAggregate", &format!("HashAggregate(keys=[{keys}], functions=[{partial}])"), 30, &[scan]);
    let shuffle = exchange(&format!("hashpartitioning({keys}, 16)"), 20, &before);
    node("HashAggregate", &format!("HashAggregate(keys=[k#1], functions=[{functions}])"), 1, &[shuffle])
}

#[test]
fn rule_3_partial_aggregation_hides_a_hot_key() {
    // Three quarters of the input have one key; after the partial sums each map task sends one row for it.
    let maps: Vec<MadeTask> = (0..8).map(|_| task(1000).input(50_000_000, 500_000)).collect();
    let mut reduces: Vec<MadeTask> = (0..15).map(|_| joins(20, 300, 1)).collect();
    reduces.push(joins(60, 4000, 8));
    let run = sql_job(&grouping("sum(v#2)", "partial_sum(v#2)", "k#1"), &[maps, reduces]).run();
    assert!(said(&run, "SKEW").claims().is_empty());
    // Where the hot group stays large in spite of it, the advice is not to aggregate in two steps once more.
    let mut reduces: Vec<MadeTask> = (0..15).map(|_| joins(400, 300_000, 20)).collect();
    reduces.push(joins(9000, 9_000_000, 20));
    let run = sql_job(&grouping("collect_list(v#2)", "partial_collect_list(v#2)", "k#1"), &[reduces]).run();
    let skew = said(&run, "SKEW");
    let [claim] = of_kind(&skew, "skew")[..] else { panic!("{skew:?}") };
    assert_eq!(claim.evidence["partial_aggregation"], true);
    assert!(
        claim.recommendation.text.contains("combined before the shuffle"),
        "{}",
        claim.recommendation.text
    );
    assert_eq!(claim.evidence["aqe_split"], "notJoin");
}

#[test]
fn rule_4_count_distinct_has_two_stages() {
    // The hot item is spread by the first shuffle, whose keys hold the buyer too; the second is small.
    let plan = grouping("count(distinct buyer#2)", "partial_count(distinct buyer#2)", "k#1, buyer#2");
    let first: Vec<MadeTask> = (0..16).map(|n| joins(800 + 20 * n, 1_000_000, 10_000)).collect();
    let mut second: Vec<MadeTask> = (0..15).map(|_| task(15).shuffle_read(500, 10)).collect();
    second.push(task(45).shuffle_read(6000, 128));
    let run = sql_job(&plan, &[first, second]).run();
    assert!(said(&run, "SKEW").claims().is_empty());
    // A hot pair is hot, and told by both keys.
    let mut first: Vec<MadeTask> = (0..15).map(|_| joins(800, 1_000_000, 10_000)).collect();
    first.push(joins(9000, 11_000_000, 120_000));
    let skew = said(&sql_job(&plan, &[first]).run(), "SKEW");
    let [claim] = of_kind(&skew, "skew")[..] else { panic!("{skew:?}") };
    assert_eq!(claim.evidence["keys"], json!(["k", "buyer"]));
    assert!(claim.recommendation.text.contains("approx_count_distinct"), "{}", claim.recommendation.text);
}

#[test]
fn rule_5_aqe_goes_by_size() {
    let skew = said(&hot_without_bytes().run(), "SKEW");
    let [claim] = of_kind(&skew, "skew")[..] else { panic!("{skew:?}") };
    assert_eq!(claim.evidence["aqe_split"], "belowThreshold");
    // No threshold would make AQE see a key that does not stand out by bytes.
    assert!(claim.recommendation.changes.iter().all(|change| change.kind != ChangeKind::Conf));
    // One that stands out by bytes is below the threshold only.
    let mut tasks: Vec<MadeTask> = (0..15).map(|_| joins(900, 2 << 20, 1000)).collect();
    tasks.push(joins(12_000, 60 << 20, 30_000));
    let skew = said(&sql_job(&join_plan("SortMergeJoin [k#1L], [k#5L], Inner"), &[tasks]).run(), "SKEW");
    let [claim] = of_kind(&skew, "skew")[..] else { panic!("{skew:?}") };
    let threshold = claim
        .recommendation
        .changes
        .iter()
        .find(|change| change.key == "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes")
        .unwrap();
    assert_eq!(threshold.proposed.as_deref(), Some("30m"));
}

#[test]
fn rule_6_more_partitions_never_dilute_one_hot_key() {
    for partitions in [16, 200] {
        let mut tasks: Vec<MadeTask> = (1..partitions).map(|_| joins(900, 1_000_000, 1000)).collect();
        tasks.push(joins(30_000, 30_000_000, 30_000));
        let run = sql_job(&join_plan("SortMergeJoin [k#1L], [k#5L], Inner"), &[tasks]).run();
        let skew = said(&run, "SKEW");
        let [claim] = of_kind(&skew, "skew")[..] else { panic!("{partitions}: {skew:?}") };
        assert_eq!(claim.evidence["hot_partitions"], 1, "{partitions}");
        for tag in ["SKEW", "PART", "SHAPE"] {
            let sink = said(&run, tag);
            let changes = sink.claims().iter().flat_map(|claim| &claim.recommendation.changes);
            assert!(changes.into_iter().all(|change| change.key != "spark.sql.shuffle.partitions"), "{tag}");
        }
    }
}

#[test]
fn rule_7_wall_much_greater_than_task_time_is_scheduling() {
    // Submitted, then nothing for a minute: the stage is long, its tasks are not.
    let mut made = warm();
    made.job(None, &[(0..8).map(|_| task(300).shuffle_read(1000, 1000)).collect()]);
    let mut lines = made;
    let now = lines.now;
    let info = json!({"Stage ID": 900, "Stage Attempt ID": 0, "Stage Name": "late", "Number of Tasks": 1, "RDD Info": [],
        "Parent IDs": [], "Details": "", "Accumulables": [], "Submission Time": now});
    lines.line(
        json!({"Event": "SparkListenerJobStart", "Job ID": 900, "Submission Time": now, "Stage Infos": [info],
        "Stage IDs": [900], "Properties": {}}),
    );
    lines.line(json!({"Event": "SparkListenerStageSubmitted", "Stage Info": info, "Properties": {}}));
    let launch = now + 60_000;
    lines.line(json!({"Event": "SparkListenerTaskEnd", "Stage ID": 900, "Stage Attempt ID": 0, "Task Type": "ResultTask",
        "Task End Reason": {"Reason": "Success"}, "Task Info": {"Task ID": 9000, "Index": 0, "Attempt": 0, "Launch Time": launch,
        "Executor ID": "1", "Host": "h1", "Locality": "ANY", "Speculative": false, "Getting Result Time": 0,
        "Finish Time": launch + 440, "Failed": false, "Killed": false, "Accumulables": []},
        "Task Metrics": {"Executor Deserialize Time": 2, "Executor Run Time": 430, "Executor CPU Time": 1, "JVM GC Time": 0}}));
    lines.now = launch + 500;
    let run = lines.run();
    for tag in ["SKEW", "STRAG", "SHAPE", "SLOW", "PART", "TINY"] {
        let sink = said(&run, tag);
        assert!(sink.claims().is_empty(), "{tag}: {:?}", sink.claims());
    }
}

#[test]
fn rule_8_a_join_explodes_only_when_rows_multiply() {
    let writes = |records: i64| {
        json!({"Shuffle Write Metrics": {"Shuffle Bytes Written": records * 10, "Shuffle Write Time": 0,
            "Shuffle Records Written": records}})
    };
    // As many rows as the fact table has, in many times the bytes: distribution, no explosion.
    let same: Vec<MadeTask> = (0..16).map(|_| joins(900, 10_000, 100_000).with(writes(100_000))).collect();
    let plan = join_plan("SortMergeJoin [k#1L], [k#5L], Inner");
    assert!(said(&sql_job(&plan, &[same]).run(), "SHAPE").claims().is_empty());
    let more: Vec<MadeTask> = (0..16).map(|_| joins(900, 1_000_000, 10_000).with(writes(200_000))).collect();
    let shape = said(&sql_job(&plan, &[more]).run(), "SHAPE");
    let [claim] = of_kind(&shape, "stageShape")[..] else { panic!("{shape:?}") };
    assert_eq!(claim.variant, Some("dataExplosion"));
    assert_eq!(claim.evidence["records_ratio"], 20.0);
}
