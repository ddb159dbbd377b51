//! Detectors of plans: each fires where it should, and is silent right beside.

use crate::made::{Made, MadeTask, fixture, of_kind, said, task};
use emberscope_analysis::detector::Sink;
use emberscope_analysis::finding::{Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

const MIB: i64 = 1 << 20;

/// An operator: name, text behind it, metrics (name, type, accumulator), children.
fn node(name: &str, rest: &str, metrics: &[(&str, &str, u64)], children: Vec<Value>) -> Value {
    let metrics: Vec<Value> = metrics
        .iter()
        .map(|(name, kind, id)| json!({"name": name, "accumulatorId": id, "metricType": kind}))
        .collect();
    let is_call = name.ends_with("Aggregate") || name.starts_with("TakeOrdered");
    let text = if is_call { format!("{name}{rest}") } else { format!("{name} {rest}") };
    json!({"nodeName": name, "simpleString": text.trim(), "children": children, "metadata": {}, "metrics": metrics})
}

/// A file scan that counts rows by `rows`, files, bytes and partitions by the next accumulators.
fn scan(format: &str, path: &str, rest: &str, rows: u64) -> Value {
    let batched = !rest.contains("Batched: false");
    let location = format!("InMemoryFileIndex(1 paths)[file:/data/{path}]");
    let mut it = node(
        &format!("Scan {}", format.to_lowercase()),
        "",
        &[
            ("number of output rows", "sum", rows),
            ("number of files read", "sum", rows + 1),
            ("size of files read", "size", rows + 2),
        ],
        Vec::new(),
    );
    it["simpleString"] = json!(format!(
        "FileScan {} [id#1L,s#2] Batched: {batched}, Format: {format}, Location: {location}, {rest}",
        format.to_lowercase()
    ));
    let list = |name: &str| {
        let at = rest.find(&format!("{name}: ["))? + name.len() + 2;
        Some(rest[at..=at + rest[at..].find(']')?].to_owned())
    };
    it["metadata"] = json!({"Location": location, "Format": format,
        "PartitionFilters": list("PartitionFilters").unwrap_or("[]".to_owned()),
        "PushedFilters": list("PushedFilters").unwrap_or("[]".to_owned()),
        "ReadSchema": "struct<id:bigint,s:string>"});
    it
}

/// A scan of a table with partitions.
fn partitioned(rest: &str, rows: u64) -> Value {
    let mut it = scan("Parquet", "events", rest, rows);
    let metric = json!({"name": "number of partitions read", "accumulatorId": rows + 3, "metricType": "sum"});
    it["metrics"].as_array_mut().unwrap().push(metric);
    it
}

fn driver_updates(sql: u64, updates: &[(u64, i64)]) -> Value {
    json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates", "executionId": sql,
        "accumUpdates": updates.iter().map(|(id, value)| json!([id, value])).collect::<Vec<Value>>()})
}

fn with(mut task: MadeTask, updates: &[(u64, i64)]) -> MadeTask {
    task.updates = updates.to_vec();
    task
}

/// Tasks that share the updates evenly.
fn tasks(count: i64, run_ms: i64, updates: &[(u64, i64)]) -> Vec<MadeTask> {
    let part: Vec<(u64, i64)> = updates.iter().map(|(id, value)| (*id, value / count)).collect();
    (0..count).map(|_| with(task(run_ms), &part)).collect()
}

struct Query {
    plan: Value,
    stages: Vec<Vec<MadeTask>>,
    driver: Vec<(u64, i64)>,
}

/// What a tag says of a run of 2 executors of 4 cores with these queries.
fn diagnosed(tag: &str, properties: &[(&str, &str)], queries: &[Query]) -> Sink {
    let mut made = Made::new("3.5.1", 2, 4, properties);
    for (id, query) in queries.iter().enumerate() {
        let id = id as u64;
        made.sql(id, "query", &query.plan, &json!({}));
        made.line(driver_updates(id, &query.driver));
        made.job(Some(id), &query.stages);
        made.sql_end(id);
    }
    said(&made.run(), tag)
}

fn one(plan: Value, stages: Vec<Vec<MadeTask>>, driver: Vec<(u64, i64)>) -> Sink {
    diagnosed("PLAN", &[], &[Query { plan, stages, driver }])
}

fn count(sink: &Sink, kind: &str) -> usize {
    of_kind(sink, kind).len()
}

fn exchange(rest: &str, id: u64, child: Value) -> Value {
    let metrics = [
        ("data size", "size", id),
        ("shuffle records written", "sum", id + 1),
        ("records read", "sum", id + 2),
    ];
    node("Exchange", rest, &metrics, vec![child])
}

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
    // 300 ms of each 1 009 ms map task were writing; 500 ms of each 2 009 ms join task the large side's
    // sort and 50 ms the small side's.
    let Worth::Replay { low, .. } = &claim.worth else { panic!() };
    let factor = |place: (u32, u32)| {
        low.iter().find_map(|edit| match edit {
            Edit::ScaleAll { place: at, factor } if *at == place => Some((factor * 1000.0).round() / 1000.0),
            _ => None,
        })
    };
    assert_eq!(factor((0, 0)), Some(0.703));
    assert_eq!(factor((2, 0)), Some(0.726));
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
    assert_eq!(claim.title, "2.0 GiB of dims are broadcast, 60 s of it in the driver alone");
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
    assert_eq!(claim.title, "BroadcastNestedLoopJoin compares 40 000 with 20 000 rows pair by pair");
    assert_eq!(claim.evidence["pairs"], 8e8);
    assert!(matches!(&claim.worth, Worth::Replay { low, high } if !low.is_empty() && !high.is_empty()));
    // Every pair is wanted: nothing is sure.
    let all = loop_join(40_000, 20_000, 800_000_000, "");
    assert!(matches!(&of_kind(&all, "nestedLoopJoin")[0].worth, Worth::Replay { low, .. } if low.is_empty()));
    // One row to compare with; few pairs.
    assert_eq!(count(&loop_join(400_000_000, 1, 800, ", (a#1 < b#2)"), "nestedLoopJoin"), 0);
    assert_eq!(count(&loop_join(1000, 1000, 800, ", (a#1 < b#2)"), "nestedLoopJoin"), 0);
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
    assert_eq!(claim.title, "Join on k makes 40 million rows of 1.0 million and 200 000 (40 for each)");
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

#[test]
fn all_rows_in_one_task() {
    let run = |above: &str, rest: &str, rows: i64, tasks_after: i64, ms: i64| {
        let scan = scan("Parquet", "t", "", 10);
        let plan = node(
            above,
            "[row_number() AS n#9], [id#1 ASC]",
            &[],
            vec![node("Sort", "[id#1 ASC]", &[], vec![exchange(rest, 20, scan)])],
        );
        one(
            plan,
            vec![
                tasks(8, 500, &[(20, rows * 8), (21, rows), (10, rows)]),
                tasks(tasks_after, ms, &[(22, rows)]),
            ],
            Vec::new(),
        )
    };
    let single = "SinglePartition, ENSURE_REQUIREMENTS";
    let sink = run("Window", single, 800_000, 1, 9000);
    let claim = of_kind(&sink, "singlePartition")[0];
    assert_eq!(claim.title, "800 000 rows go through one task for 9.0 s while 8 could run");
    assert_eq!(claim.evidence["cause"], "window");
    assert!(
        matches!(&claim.worth, Worth::Replay { low, high } if low.is_empty() && matches!(high[0], Edit::Resize { tasks: 8, .. }))
    );
    assert_eq!(
        of_kind(&run("Project", "SinglePartition, REPARTITION_BY_NUM", 800_000, 1, 9000), "singlePartition")
            [0]
        .evidence["cause"],
        "repartition"
    );
    for (above, rest, rows, after, ms) in [
        // The last step of a global aggregate.
        ("HashAggregate", single, 8, 1, 9000),
        // Quick, or not alone, or by a key.
        ("Window", single, 800_000, 1, 300),
        ("Window", "hashpartitioning(k#1, 8), ENSURE_REQUIREMENTS", 800_000, 1, 9000),
        ("Window", single, 800_000, 8, 9000),
    ] {
        assert_eq!(
            count(&run(above, rest, rows, after, ms), "singlePartition"),
            0,
            "{above} {rest} {rows} {after} {ms}"
        );
    }
}

#[test]
fn operators_that_copy_rows() {
    let run = |name: &str, rows: i64, out: i64| {
        let plan =
            node(name, "[..]", &[("number of output rows", "sum", 5)], vec![scan("Parquet", "t", "", 10)]);
        one(plan, vec![tasks(8, 3000, &[(10, rows), (5, out)])], Vec::new())
    };
    let sink = run("Expand", 1_000_000, 8_000_000);
    assert_eq!(
        of_kind(&sink, "expandExplosion")[0].title,
        "Grouping sets or distinct counts make 8.0 million rows of 1.0 million (8.0 for each)"
    );
    assert_eq!(count(&run("Generate", 1_000_000, 20_000_000), "expandExplosion"), 1);
    assert_eq!(count(&run("Expand", 1_000_000, 2_000_000), "expandExplosion"), 0);
    assert_eq!(count(&run("Expand", 1000, 100_000), "expandExplosion"), 0);
    assert_eq!(count(&run("Filter", 1_000_000, 8_000_000), "expandExplosion"), 0);
}

fn filtered(scan: Value, condition: &str, rows: i64, kept: i64, partitions: i64) -> Sink {
    let plan = node("Filter", condition, &[("number of output rows", "sum", 5)], vec![scan]);
    one(
        plan,
        vec![tasks(8, 3000, &[(10, rows), (5, kept)])],
        vec![(11, 40), (12, 4000 * MIB), (13, partitions)],
    )
}

#[test]
fn partitioned_tables_that_are_read_whole() {
    let whole = "PartitionFilters: [], PushedFilters: []";
    let sink = filtered(partitioned(whole, 10), "(year(ts#5) = 2024)", 8_000_000, 80_000, 365);
    let claim = of_kind(&sink, "missingPruning")[0];
    assert_eq!(
        claim.title,
        "parquet events is read whole (365 partitions, 3.9 GiB) and 1 % of its rows are kept"
    );
    // The same scan is not also reported for its filter.
    assert_eq!(count(&sink, "missingPushdown"), 0);
    let pruned = "PartitionFilters: [isnotnull(day#3), (day#3 = 1)], PushedFilters: []";
    assert_eq!(
        count(&filtered(partitioned(pruned, 10), "(id#1 = 1)", 8_000_000, 80_000, 365), "missingPruning"),
        0
    );
    assert_eq!(
        count(&filtered(partitioned(whole, 10), "(id#1 > 1)", 8_000_000, 7_000_000, 365), "missingPruning"),
        0
    );
    assert_eq!(
        count(&filtered(partitioned(whole, 10), "(id#1 > 1)", 8_000_000, 80_000, 1), "missingPruning"),
        0
    );
    assert_eq!(
        count(
            &filtered(scan("Parquet", "flat", whole, 10), "(id#1 > 1)", 8_000_000, 80_000, 365),
            "missingPruning"
        ),
        0
    );
}

#[test]
fn filters_that_are_not_pushed_down() {
    let nulls = "PartitionFilters: [], PushedFilters: [IsNotNull(id)]";
    let cast = "(isnotnull(id#1) AND (cast(id#1 as string) = 7))";
    let run = |format: &str, scanned: &str, condition: &str, kept: i64| {
        filtered(scan(format, "flat", scanned, 10), condition, 8_000_000, kept, 0)
    };
    let sink = run("Parquet", nulls, cast, 100);
    let claim = of_kind(&sink, "missingPushdown")[0];
    assert_eq!(
        claim.title,
        "parquet flat gives 8.0 million rows of which under 1 % pass the filter that it was not given"
    );
    let pushed = "PartitionFilters: [], PushedFilters: [IsNotNull(id), EqualTo(id,7)]";
    assert_eq!(count(&run("Parquet", pushed, "(id#1 = 7)", 100), "missingPushdown"), 0);
    assert_eq!(count(&run("Parquet", nulls, cast, 7_000_000), "missingPushdown"), 0);
    assert_eq!(count(&run("CSV", nulls, cast, 100), "missingPushdown"), 0);
    let bloom = "(isnotnull(id#1) AND might_contain(Subquery subquery#3, xxhash64(id#1)))";
    assert_eq!(count(&run("Parquet", nulls, bloom, 100), "missingPushdown"), 0);
}

#[test]
fn input_that_cannot_be_split() {
    let run = |format: &str, files: i64, bytes: i64, count: i64, ms: i64| {
        one(
            scan(format, "logs", "", 10),
            vec![tasks(count, ms, &[(10, 8_000_000)])],
            vec![(11, files), (12, bytes)],
        )
    };
    let sink = run("CSV", 1, 2048 * MIB, 1, 30_000);
    let claim = of_kind(&sink, "unsplittableInput")[0];
    assert_eq!(claim.title, "csv logs of 2.0 GiB is read by one task for 30 s while 8 could run");
    assert!(
        matches!(&claim.worth, Worth::Replay { low, high } if matches!(low[0], Edit::Resize { tasks: 4, .. }) && matches!(high[0], Edit::Resize { tasks: 8, .. }))
    );
    for (format, files, bytes, count_, ms) in [
        ("CSV", 1, 2048 * MIB, 16, 30_000),
        ("Parquet", 1, 2048 * MIB, 1, 30_000),
        ("CSV", 1, 2 * MIB, 1, 30_000),
        ("CSV", 16, 2048 * MIB, 16, 30_000),
        ("CSV", 1, 2048 * MIB, 1, 100),
    ] {
        assert_eq!(
            count(&run(format, files, bytes, count_, ms), "unsplittableInput"),
            0,
            "{format} {files} {bytes} {count_} {ms}"
        );
    }
}

#[test]
fn a_single_connection_to_a_database() {
    let mut jdbc = node(
        "Scan JDBCRelation(ORDERS) [numPartitions=1]",
        "",
        &[("number of output rows", "sum", 10)],
        Vec::new(),
    );
    jdbc["simpleString"] = json!(
        "Scan JDBCRelation(ORDERS) [numPartitions=1] [ID#1] PushedFilters: [], ReadSchema: struct<ID:int>"
    );
    let sink = one(jdbc, vec![tasks(1, 20_000, &[(10, 8_000_000)])], Vec::new());
    assert_eq!(
        of_kind(&sink, "unsplittableInput")[0].title,
        "jdbc ORDERS is read by one task for 20 s while 8 could run"
    );
}

#[test]
fn python_row_by_row() {
    let run = |name: &str, rows: i64, cpu_share: i64| {
        let plan = node(
            name,
            "[score(id#1L)#4], [pythonUDF0#13]",
            &[("data sent to Python workers", "size", 6)],
            vec![scan("Parquet", "t", "", 10)],
        );
        let busy = json!({"Executor CPU Time": 40_000 * cpu_share * 1000});
        let stage =
            (0..8).map(|_| with(task(4000).with(busy.clone()), &[(10, rows / 8), (6, 1000)])).collect();
        one(plan, vec![stage], Vec::new())
    };
    let sink = run("BatchEvalPython", 8_000_000, 20);
    let claim = of_kind(&sink, "pythonUdf")[0];
    assert_eq!(claim.title, "score in Python takes 26 s (80 %) of its stages for 8.0 million rows");
    assert!(
        claim
            .recommendation
            .changes
            .iter()
            .any(|change| change.key == "spark.sql.execution.pythonUDF.arrow.enabled")
    );
    // A built-in may be slower than the Python it replaces.
    assert!(matches!(&claim.worth, Worth::Replay { low, .. } if low.is_empty()));
    assert_eq!(count(&run("ArrowEvalPython", 8_000_000, 20), "pythonUdf"), 0);
    assert_eq!(count(&run("BatchEvalPython", 8_000_000, 95), "pythonUdf"), 0);
    // Starting the workers takes long whatever they do.
    assert_eq!(count(&run("BatchEvalPython", 80, 20), "pythonUdf"), 0);
}

#[test]
fn scans_by_rows_and_engines_that_fall_back() {
    let run = |rest: &str, rows: i64| {
        one(scan("Parquet", "wide", rest, 10), vec![tasks(8, 3000, &[(10, rows)])], Vec::new())
    };
    assert_eq!(
        of_kind(&run("Batched: false", 800_000), "fallbackToRows")[0].title,
        "parquet wide is read row by row, not in column batches"
    );
    assert_eq!(count(&run("", 800_000), "fallbackToRows"), 0);
    assert_eq!(count(&run("Batched: false", 800), "fallbackToRows"), 0);

    let python = node(
        "BatchEvalPython",
        "[f(a#1)#2], [p#3]",
        &[("data sent to Python workers", "size", 5)],
        vec![node(
            "GpuColumnarToRow",
            "",
            &[],
            vec![node("GpuProject", "", &[("total time", "nsTiming", 6)], Vec::new())],
        )],
    );
    let mixed = node("GpuHashAggregate", "", &[], vec![node("GpuRowToColumnar", "", &[], vec![python])]);
    let sink = one(mixed, vec![tasks(8, 3000, &[(5, 8000), (6, 8000)])], Vec::new());
    assert_eq!(
        of_kind(&sink, "fallbackToRows")[0].title,
        "1 operators ran outside of rapids: BatchEvalPython"
    );
    let native = node(
        "GpuColumnarToRow",
        "",
        &[],
        vec![node("GpuProject", "", &[("total time", "nsTiming", 6)], Vec::new())],
    );
    assert_eq!(count(&one(native, vec![tasks(8, 3000, &[(6, 8000)])], Vec::new()), "fallbackToRows"), 0);
}

#[test]
fn huge_plans_that_take_long_to_make() {
    let run = |nodes: usize, wait_ms: i64| {
        let leaf = node("Range", "(0, 10)", &[("number of output rows", "sum", 5)], Vec::new());
        let branches = (0..nodes).map(|n| node("Project", &format!("[id#1 AS c{n}#2]"), &[], Vec::new()));
        let plan = node("Union", "", &[], std::iter::once(leaf).chain(branches).collect());
        let mut made = Made::new("3.5.1", 2, 4, &[]);
        made.sql(0, "query", &plan, &json!({})).wait(wait_ms);
        made.job(Some(0), &[tasks(8, 1000, &[(5, 800)])]);
        made.sql_end(0);
        said(&made.run(), "PLAN")
    };
    assert_eq!(
        of_kind(&run(600, 20_000), "hugePlan")[0].title,
        "A plan of 602 operators took 20 s before its first job"
    );
    assert_eq!(count(&run(6, 20_000), "hugePlan"), 0);
    assert_eq!(count(&run(600, 100), "hugePlan"), 0);
}

#[test]
fn small_files_of_real_spark() {
    let sink = said(&fixture("formats-3.5.9"), "PLAN");
    let mut found: Vec<(Option<&str>, &str)> =
        of_kind(&sink, "smallFiles").iter().map(|claim| (claim.variant, claim.title.as_str())).collect();
    found.sort();
    assert_eq!(
        found,
        [
            (Some("read"), "parquet small reads 120 files of 521 B on average"),
            (Some("write"), "Writing small makes 120 files of 521 B on average")
        ]
    );
    // As many files, but large ones; few small ones.
    let run = |files: i64, bytes: i64| {
        one(scan("Parquet", "t", "", 10), vec![tasks(8, 3000, &[(10, 800)])], vec![(11, files), (12, bytes)])
    };
    assert_eq!(count(&run(1500, 10 * MIB), "smallFiles"), 1);
    assert_eq!(count(&run(1500, 150_000 * MIB), "smallFiles"), 0);
    assert_eq!(count(&run(50, MIB), "smallFiles"), 0);
}

/// An aggregate over a scan; `id` numbers its accumulators.
fn grouped(path: &str, filter: &str, functions: &str, id: u64) -> Value {
    let scan = scan("JSON", path, "PartitionFilters: [], PushedFilters: []", id);
    let filter = node("Filter", filter, &[("number of output rows", "sum", id + 4)], vec![scan]);
    let partial = node(
        "HashAggregate",
        &format!("(keys=[k#1], functions=[partial_{functions}])"),
        &[("number of output rows", "sum", id + 5)],
        vec![filter],
    );
    node(
        "HashAggregate",
        &format!("(keys=[k#1], functions=[{functions}])"),
        &[("number of output rows", "sum", id + 6)],
        vec![partial],
    )
}

fn rows(id: u64) -> Vec<(u64, i64)> {
    vec![(id, 8000), (id + 4, 800), (id + 5, 80), (id + 6, 80)]
}

#[test]
fn the_same_part_twice_in_one_query() {
    let run = |right: Value, second: u64| {
        let plan = node("Union", "", &[], vec![grouped("t", "(v#2 > 5)", "sum(v#2)", 100), right]);
        one(plan, vec![tasks(8, 2000, &rows(100)), tasks(8, 2000, &rows(second))], Vec::new())
    };
    let sink = run(grouped("t", "(v#7 > 5)", "sum(v#7)", 200), 200);
    let claim = of_kind(&sink, "duplicatePlanSubtree")[0];
    assert_eq!(claim.title, "The same 4 operators over t run 2 times in one query");
    assert!(
        matches!(&claim.worth, Worth::Replay { high, .. } if *high == vec![Edit::Drop { place: (1, 0) }])
    );
    // Other data, another literal, the same operator shown twice, a random function.
    assert_eq!(count(&run(grouped("u", "(v#7 > 5)", "sum(v#7)", 200), 200), "duplicatePlanSubtree"), 0);
    assert_eq!(count(&run(grouped("t", "(v#7 > 6)", "sum(v#7)", 200), 200), "duplicatePlanSubtree"), 0);
    assert_eq!(count(&run(grouped("t", "(v#7 > 5)", "sum(v#7)", 100), 100), "duplicatePlanSubtree"), 0);
    assert_eq!(
        count(
            &run(node("ReusedExchange", "[k#1], Exchange SinglePartition", &[], Vec::new()), 200),
            "duplicatePlanSubtree"
        ),
        0
    );
    let random = |id| grouped("t", "(rand(5) > 5)", "sum(v#7)", id);
    let plan = node("Union", "", &[], vec![random(100), random(200)]);
    assert_eq!(
        count(
            &one(plan, vec![tasks(8, 2000, &rows(100)), tasks(8, 2000, &rows(200))], Vec::new()),
            "duplicatePlanSubtree"
        ),
        0
    );
}

/// Queries that do something of their own with a part.
fn cached(parts: Vec<(Value, u64)>, above: &str) -> Sink {
    let queries: Vec<Query> = parts
        .into_iter()
        .enumerate()
        .map(|(n, (part, id))| {
            let plan = if above.is_empty() {
                part
            } else {
                node(
                    "Project",
                    &format!("[{above}{n}]"),
                    &[],
                    vec![node("TakeOrderedAndProject", &format!("(limit={n})"), &[], vec![part])],
                )
            };
            Query { plan, stages: vec![tasks(8, 2000, &rows(id))], driver: Vec::new() }
        })
        .collect();
    diagnosed("CACHE", &[], &queries)
}

#[test]
fn several_queries_compute_the_same() {
    let parts = || {
        vec![
            (grouped("t", "(v#2 > 5)", "sum(v#2)", 100), 100),
            (grouped("t", "(v#9 > 5)", "max(v#9)", 200), 200),
        ]
    };
    let sink = cached(parts(), "use");
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.variant, claim.title.as_str()),
        (Some("composite"), "2 queries compute the same 4 operators over t")
    );
    assert_eq!(claim.evidence["sql_ids"], json!([0, 1]));
    // Another filter, other data.
    for (path, filter) in [("t", "(v#9 > 6)"), ("u", "(v#9 > 5)")] {
        let mut parts = parts();
        parts[1].0 = grouped(path, filter, "sum(v#9)", 200);
        assert_eq!(count(&cached(parts, "use"), "cachingOpportunity"), 0, "{path} {filter}");
    }
}

#[test]
fn a_query_that_is_run_again_is_noted_only() {
    let parts = vec![
        (grouped("t", "(v#2 > 5)", "sum(v#2)", 100), 100),
        (grouped("t", "(v#9 > 5)", "sum(v#9)", 200), 200),
    ];
    let sink = cached(parts, "");
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.severity, claim.title.as_str()),
        (Some(Severity::Info), "The same query over t runs 2 times")
    );
    assert!(matches!(claim.worth, Worth::None));
}

#[test]
fn a_relation_that_many_queries_read() {
    let run = |count: u64, bytes: i64| {
        let queries: Vec<Query> = (0..count)
            .map(|n| Query {
                plan: node(
                    "Filter",
                    &format!("(id#1 > {n})"),
                    &[("number of output rows", "sum", n * 100 + 5)],
                    vec![scan("CSV", "wide", "", n * 100 + 10)],
                ),
                stages: vec![tasks(8, 2000, &[(n * 100 + 10, 8000), (n * 100 + 5, 800)])],
                driver: vec![(n * 100 + 11, 10), (n * 100 + 12, bytes)],
            })
            .collect();
        diagnosed("CACHE", &[], &queries)
    };
    let sink = run(3, 900 * MIB);
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.variant, claim.title.as_str()),
        (Some("relation"), "3 queries read csv wide (900 MiB)")
    );
    assert_eq!(count(&run(2, 900 * MIB), "cachingOpportunity"), 0);
    assert_eq!(count(&run(3, MIB), "cachingOpportunity"), 0);
}

#[test]
fn data_that_changes_in_between_is_not_cached() {
    let sink = said(&fixture("delta-3.5.9"), "CACHE");
    assert_eq!(count(&sink, "cachingOpportunity"), 0, "{:?}", sink.claims());
    // What is read from a cache, and micro-batches of a stream.
    for name in ["cache-3.5.9", "cache-4.3.0", "nested-sql-4.3.0", "streaming-3.5.9", "streaming-4.3.0"] {
        let sink = said(&fixture(name), "CACHE");
        assert_eq!(count(&sink, "cachingOpportunity"), 0, "{name}: {:?}", sink.claims());
    }
}
