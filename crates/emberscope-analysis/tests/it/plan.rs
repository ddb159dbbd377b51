//! What plans tell of themselves, on logs of real Spark.

use crate::made::fixture;
use emberscope_analysis::context::Context;
use emberscope_analysis::plan::aqe;
use emberscope_analysis::plan::exchange::{Partitioning, exchanges};
use emberscope_analysis::plan::join::{JoinType, Strategy, joins};
use emberscope_analysis::plan::names::{PythonKind, python_kind};
use emberscope_analysis::plan::scan::{Format, Scan, scans};
use emberscope_analysis::plan::time::operators_time;
use emberscope_analysis::plan::write::{TargetKind, writes};
use emberscope_analysis::plan::{SqlView, operators_of_stage};
use emberscope_analysis::thresholds::Thresholds;
use emberscope_model::run::Run;

fn views(run: &Run) -> Vec<SqlView<'_>> {
    run.sql_executions.iter().filter_map(|execution| SqlView::of(run, execution)).collect()
}

/// Scans of data that ran, over all queries.
fn all_scans(run: &Run) -> Vec<Scan> {
    let views = views(run);
    let scans = views.iter().flat_map(scans);
    scans.filter(|scan| scan.format.is_stored() && !scan.is_bookkeeping && scan.rows.is_some()).collect()
}

#[test]
fn scans_of_every_format() {
    for version in ["3.5.9", "4.3.0"] {
        let run = fixture(&format!("formats-{version}"));
        let scans = all_scans(&run);
        let of = |format: Format| scans.iter().filter(|scan| scan.format == format).collect::<Vec<&Scan>>();
        for (format, pushed) in [(Format::Orc, 2), (Format::Csv, 2), (Format::Json, 2), (Format::Text, 2)] {
            let found = of(format);
            let filtered = found.iter().find(|scan| scan.pushed_filters.len() == pushed).unwrap();
            let relation = filtered.relation.as_deref().unwrap();
            assert_eq!(relation, format.name(), "{version}");
            assert!(filtered.location.as_deref().unwrap().ends_with(format.name()));
            assert_eq!(
                (filtered.files, filtered.is_partitioned),
                (Some(2), Some(false)),
                "{version} {relation}"
            );
            assert!(filtered.bytes.unwrap() > 0);
        }
        let jdbc = of(Format::Jdbc)[0];
        assert_eq!((jdbc.relation.as_deref(), jdbc.jdbc_partitions), (Some("ORDERS"), Some(1)));
        assert_eq!(jdbc.pushed_filters, ["*IsNotNull(ID)", "*GreaterThan(ID,50)"]);
        let parquet = of(Format::Parquet);
        let pruned = parquet.iter().find(|scan| !scan.partition_filters.is_empty()).unwrap();
        assert_eq!(pruned.partition_filters, ["isnotnull(day)", "(day = 1)"], "{version}");
        assert_eq!(
            (pruned.partitions, pruned.is_partitioned, pruned.partition_columns()),
            (Some(1), Some(true), vec!["day"])
        );
        assert_eq!(pruned.read_schema.as_deref(), Some("struct<id:bigint>"));
        let small = parquet.iter().find(|scan| scan.relation.as_deref() == Some("small")).unwrap();
        assert_eq!(small.files, Some(120));
        assert!(parquet.iter().any(|scan| scan.relation.as_deref() == Some("spark_catalog.default.made")));
    }
}

#[test]
fn table_formats() {
    let run = fixture("delta-3.5.9");
    let scans = all_scans(&run);
    let delta: Vec<&Scan> = scans.iter().filter(|scan| scan.format == Format::Delta).collect();
    assert!(delta.iter().any(|scan| scan.partition_filters == ["isnotnull(day)", "(day = 1)"]));
    assert!(delta.iter().any(|scan| scan.partition_filters.is_empty() && scan.is_partitioned == Some(true)));

    let run = fixture("iceberg-3.5.9");
    let scans = all_scans(&run);
    let iceberg: Vec<&Scan> = scans.iter().filter(|scan| scan.format == Format::Iceberg).collect();
    assert!(iceberg.iter().all(|scan| scan.relation.as_deref() == Some("lake.shop.orders")));
    let filters = ["day IS NOT NULL", "id IS NOT NULL", "day = 1", "id > 100"];
    assert!(iceberg.iter().any(|scan| scan.pushed_filters == filters));
}

#[test]
fn writes_name_their_targets() {
    let targets = |name: &str| {
        let run = fixture(name);
        let views = views(&run);
        let writes: Vec<_> = views.iter().flat_map(writes).collect();
        writes
            .into_iter()
            .map(|write| (write.kind, write.format, write.target, write.files))
            .collect::<Vec<_>>()
    };
    let formats = targets("formats-3.5.9");
    for format in ["parquet", "orc", "csv", "json", "text"] {
        let found = formats.iter().any(|(kind, written, target, files)| {
            *kind == Some(TargetKind::Path)
                && written.as_deref() == Some(format)
                && target.as_deref().is_some_and(|target| target.starts_with("file:/"))
                && files.is_some()
        });
        assert!(found, "{format}");
    }
    let iceberg = targets("iceberg-3.5.9");
    let table =
        (Some(TargetKind::Table), Some("iceberg".to_owned()), Some("lake.shop.orders".to_owned()), None);
    assert!(iceberg.contains(&table));
}

#[test]
fn joins_and_their_sides() {
    let run = fixture("plans-3.5.9");
    let views = views(&run);
    let joins: Vec<_> = views.iter().flat_map(joins).collect();
    let of = |strategy: Strategy| joins.iter().filter(|join| join.strategy == strategy).collect::<Vec<_>>();
    let merge = of(Strategy::SortMerge);
    assert_eq!((merge[0].join_type, merge[0].keys_label()), (Some(JoinType::Inner), "k".to_owned()));
    assert_eq!((merge[0].rows, merge[0].rows_in), (Some(40_000), [Some(40_000), Some(500)]));
    assert_eq!(merge[1].join_type, Some(JoinType::LeftOuter));
    let nested = of(Strategy::NestedLoop);
    assert_eq!(
        (nested[0].condition.as_deref(), nested[0].rows_in),
        (Some("(k < k)"), [Some(2000), Some(500)])
    );
    assert_eq!(nested[1].join_type, Some(JoinType::Cross));
    // 4 000 rows of 20 keys on both sides.
    assert_eq!(of(Strategy::ShuffledHash)[0].rows, Some(4000 * 4000 / 20));
}

#[test]
fn exchanges_and_what_adaptive_execution_made_of_them() {
    let run = fixture("sql-aqe-3.5.9");
    let views = views(&run);
    let decisions: Vec<_> = views.iter().map(|view| aqe::decisions(&run, view)).collect();
    let changes: Vec<_> = decisions.iter().flat_map(|decisions| &decisions.joins).collect();
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].from, changes[0].to), (Strategy::SortMerge, Strategy::BroadcastHash));
    let coalesced =
        decisions.iter().flat_map(|decisions| &decisions.reads).find(|read| read.read.is_coalesced).unwrap();
    assert_eq!((coalesced.planned_partitions, coalesced.read.partitions), (Some(6), Some(1)));
    assert_eq!(decisions.iter().map(|decisions| decisions.skew_splits.len()).sum::<usize>(), 1);
    let single = views
        .iter()
        .flat_map(exchanges)
        .find(|exchange| exchange.partitioning == Partitioning::Single)
        .unwrap();
    assert!(!single.is_user && single.partitions == Some(1) && !single.writers.is_empty());
    let run = fixture("sql-noaqe-3.5.9");
    let decisions: Vec<_> = self::views(&run).iter().map(|view| aqe::decisions(&run, view)).collect();
    assert!(decisions.iter().all(|decisions| !decisions.is_adaptive && decisions.reads.is_empty()));
}

#[test]
fn a_stage_says_what_it_does_and_by_which_keys() {
    let run = fixture("plans-3.5.9");
    let thresholds = Thresholds::default();
    let context = Context::of(&run, &thresholds);
    let labels: Vec<String> = context
        .stages
        .iter()
        .filter_map(|digest| {
            let view = context.sql_view(digest.sql_id?)?;
            operators_of_stage(&view, (digest.id, digest.attempt)).label(&view)
        })
        .collect();
    for expected in
        ["join by k", "scan of parquet big", "window by k", "aggregation by k", "repartition by n"]
    {
        assert!(labels.iter().any(|label| label.contains(expected)), "{expected}: {labels:?}");
    }
}

#[test]
fn operators_share_the_time_of_their_stage() {
    for name in ["plans-3.5.9", "python-udf-4.3.0", "sql-aqe-4.3.0", "executor-loss-4.3.0", "spill-4.3.0"] {
        let run = fixture(name);
        let thresholds = Thresholds::default();
        let context = Context::of(&run, &thresholds);
        for digest in &context.stages {
            let Some(view) = digest.sql_id.and_then(|id| context.sql_view(id)) else { continue };
            let times = operators_time(&context, &view, digest);
            let sum: f64 = times.iter().map(|time| time.ms).sum();
            assert!(
                times.is_empty() || (sum - digest.counted.run_ms as f64).abs() < 1.0,
                "{name} {}",
                digest.id
            );
            assert!(times.iter().all(|time| (0.0..=1.0).contains(&time.share)), "{name} {}", digest.id);
        }
    }
}

#[test]
fn python_operators() {
    let run = fixture("python-udf-3.5.9");
    let views = views(&run);
    let mut kinds: Vec<_> =
        views.iter().flat_map(|view| &view.nodes).filter_map(|node| python_kind(&node.name)).collect();
    kinds.dedup();
    assert!(
        kinds.contains(&PythonKind::Pickled)
            && kinds.contains(&PythonKind::Arrow)
            && kinds.contains(&PythonKind::Grouped)
    );
}
