//! Detectors of scans, exchanges and other operators: each fires where it should, and is silent right beside.

use crate::made::{Made, fixture, of_kind, said, task};
use crate::planned::{MIB, count, driver_updates, exchange, node, one, partitioned, scan, tasks, with};
use emberscope_analysis::detector::Sink;
use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_analysis::finding::{Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

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
    assert_eq!(claim.title, "800,000 rows go through one task for 9.0 s while 8 could run");
    assert_eq!(claim.evidence["cause"], "window");
    assert!(
        matches!(&claim.worth, Worth::Replay { low, high } if matches!(low[0], Edit::Resize { tasks: 4, .. }) && matches!(high[0], Edit::Resize { tasks: 8, .. }))
    );
    // What few rows need so long for is slow for each of them.
    assert_eq!(count(&run("Window", single, 9000, 1, 9000), "singlePartition"), 1);
    assert_eq!(
        of_kind(&run("Project", "SinglePartition, REPARTITION_BY_NUM", 800_000, 1, 9000), "singlePartition")
            [0]
        .evidence["cause"],
        "repartition"
    );
    // One partition was asked for before slow work on few rows.
    assert_eq!(
        count(&run("Project", "SinglePartition, REPARTITION_BY_NUM", 9000, 1, 9000), "singlePartition"),
        1
    );
    for (above, rest, rows, after, ms) in [
        // The last step of a global aggregate.
        ("HashAggregate", single, 8, 1, 9000),
        ("HashAggregate", single, 9000, 1, 9000),
        ("Window", single, 500, 1, 9000),
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
    assert!(
        matches!(&of_kind(&sink, "expandExplosion")[0].worth, Worth::Replay { low, .. } if low.is_empty())
    );
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
    // A table of a few kilobytes is read in no time.
    let plan = node(
        "Filter",
        "(year(ts#5) = 2024)",
        &[("number of output rows", "sum", 5)],
        vec![partitioned(whole, 10)],
    );
    let tiny = one(plan, vec![tasks(8, 3000, &[(10, 8000), (5, 80)])], vec![(11, 40), (12, 4000), (13, 40)]);
    assert_eq!(count(&tiny, "missingPruning"), 0);
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
fn rows_that_fit_into_few_partitions() {
    // What works on the rows between the scan and the filter goes with them; one partition of forty holds
    // as many as are kept, or many, or a few rows that may lie anywhere.
    for (kept, is_likely) in [(200_000, true), (1_600_000, false), (200, false)] {
        let whole = "PartitionFilters: [], PushedFilters: []";
        let slow = node("Project", "[reflect(a.B, f, id#1) AS n#9]", &[], vec![partitioned(whole, 10)]);
        let sink = filtered(slow, "(n#9 = 1)", 8_000_000, kept, 40);
        let Worth::Replay { low, high } = &of_kind(&sink, "missingPruning")[0].worth else { panic!() };
        assert_eq!(!low.is_empty(), is_likely, "{kept}");
        let factor = |edits: &[Edit]| match edits[0] {
            Edit::ScaleAll { factor, .. } => factor,
            _ => 0.0,
        };
        assert!(factor(high) < 0.25, "{high:?}");
    }
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
    assert_eq!(claim.title, "csv logs of 2.0 GiB is read by one task for 30.0 s while 8 could run");
    assert!(
        matches!(&claim.worth, Worth::Replay { low, high } if matches!(low[0], Edit::Resize { tasks: 4, .. }) && matches!(high[0], Edit::Resize { tasks: 8, .. }))
    );
    // One small file with much work behind it comes in one piece, compressed or not.
    let small = run("CSV", 1, 2 * MIB, 1, 30_000);
    assert_eq!(of_kind(&small, "unsplittableInput")[0].evidence["expected_tasks"], 8);
    for (format, files, bytes, count_, ms) in [
        ("CSV", 1, 2048 * MIB, 16, 30_000),
        ("Parquet", 1, 2048 * MIB, 1, 30_000),
        ("CSV", 1, 2 * MIB, 1, 4000),
        ("CSV", 3, 2 * MIB, 1, 30_000),
        ("Parquet", 1, 2 * MIB, 1, 30_000),
        ("CSV", 8, 2 * MIB, 8, 30_000),
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
fn input_in_one_piece_explains_the_shape_of_its_stage() {
    let plan = scan("CSV", "logs", "", 10);
    let mut made = Made::new("3.5.1", 2, 4, &[]);
    made.sql(0, "query", &plan, &json!({}));
    made.line(driver_updates(0, &[(11, 1), (12, 2 * MIB)]));
    made.job(Some(0), &[tasks(1, 30_000, &[(10, 8_000_000)])]);
    made.sql_end(0);
    let diagnosis = diagnose(&made.run(), &Options::default());
    let finding = |kind: &str| diagnosis.findings.iter().find(|finding| finding.kind == kind).unwrap();
    assert_eq!(finding("unsplittableInput").part_of, None);
    assert_eq!(finding("stageShape").part_of.as_ref(), Some(&finding("unsplittableInput").id));
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
        "jdbc ORDERS is read by one task for 20.0 s while 8 could run"
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
    assert_eq!(claim.title, "score in Python takes 25.6 s (80 %) of its stages for 8.0 million rows");
    assert!(
        claim
            .recommendation
            .changes
            .iter()
            .any(|change| change.key == "spark.sql.execution.pythonUDF.arrow.enabled")
    );
    // A built-in may be slower than the Python it replaces.
    assert!(matches!(&claim.worth, Worth::Replay { low, .. } if low.is_empty()));
    // Batches already: a fact where they take most of the time, and nothing to switch.
    let sink = run("ArrowEvalPython", 8_000_000, 20);
    let claim = of_kind(&sink, "pythonUdf")[0];
    assert_eq!((claim.variant, claim.severity), (Some("arrow"), Some(Severity::Info)));
    assert!(matches!(claim.worth, Worth::None));
    assert!(!claim.recommendation.changes.iter().any(|change| change.key.starts_with("spark.")));
    assert_eq!(count(&run("ArrowEvalPython", 8_000_000, 60), "pythonUdf"), 0);
    assert_eq!(count(&run("BatchEvalPython", 8_000_000, 95), "pythonUdf"), 0);
    // Starting the workers takes long whatever they do.
    assert_eq!(count(&run("BatchEvalPython", 80, 20), "pythonUdf"), 0);
}

#[test]
fn a_python_function_that_the_optimizer_copied() {
    // (one above the other, saves)
    for (is_stacked, saves) in [(true, true), (false, false)] {
        let python =
            |below: Vec<Value>| node("ArrowEvalPython", "[score(id#1L)#4], [pythonUDF0#13]", &[], below);
        let read = || vec![scan("Parquet", "t", "", 10)];
        let plan = if is_stacked {
            python(vec![node("Filter", "(pythonUDF0#13 > 10)", &[], vec![python(read())])])
        } else {
            node("Union", "", &[], vec![python(read()), python(read())])
        };
        let busy = json!({"Executor CPU Time": 800_000_000});
        let stage = (0..8).map(|_| with(task(4000).with(busy.clone()), &[(10, 1_000_000)])).collect();
        let sink = one(plan, vec![stage], Vec::new());
        let claim = of_kind(&sink, "pythonUdf")[0];
        assert!(claim.title.ends_with("evaluated in 2 places"), "{}", claim.title);
        assert_eq!(matches!(claim.worth, Worth::Replay { .. }), saves, "{is_stacked}: {claim:?}");
        assert_eq!(claim.severity.is_none(), saves);
        assert_eq!(claim.recommendation.text.contains("asNondeterministic"), saves);
    }
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
        "A plan of 602 operators took 20.0 s before its first job"
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
