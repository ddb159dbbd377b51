//! Columnar plans that fall back to rows.

use super::{TAG, conf, is_immaterial, rounded, scope, threshold};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::price;
use crate::plan::scan::{Format, Scan, scans};
use crate::plan::{SqlView, names};
use std::collections::{BTreeMap, BTreeSet};

const KIND: &str = "fallbackToRows";

const MIN_SCAN_SHARE: Threshold =
    threshold("fallback_min_scan_share", 0.1, "Share of its stage's time that a scan by rows must take.");
const MIN_ROWS: Threshold =
    threshold("fallback_min_rows", 100_000.0, "Rows that the scan must give to be looked at.");
const BATCH_GAIN: Threshold = threshold(
    "fallback_batch_gain",
    0.6,
    "Share of a scan's time that reading column batches instead of rows is taken to save at most.",
);

/// Columnar plans that fall back to rows.
pub static FALLBACK_TO_ROWS: Detector = Detector {
    tag: TAG,
    title: "Fallback to rows",
    types: &[FindingType {
        name: KIND,
        what: "Work that could be done on column batches is done row by row.",
    }],
    thresholds: &[MIN_SCAN_SHARE, MIN_ROWS, BATCH_GAIN],
    checks: &[Check::Sql(check)],
    what: "A Parquet or ORC scan read row by row (`Batched: false`) where Spark has a vectorised reader; or, with a native \
engine (Photon, RAPIDS, Gluten, Comet), operators of a query ran in Spark's own engine, with a conversion between columns \
and rows at each border.",
    rule: "A Parquet or ORC scan that is not batched gives at least `fallback_min_rows` rows and takes at least `fallback_min_scan_share` of its stage's time; or a \
final plan that has operators of a native engine and of Spark, with at least one conversion between them.",
    why: "The vectorised reader decodes thousands of values of a column at once; by rows every value passes through several \
virtual calls. At each border of a native engine all rows are copied and converted.",
    fix: "Scan fewer columns: above `spark.sql.codegen.maxFields` (100) Spark leaves batches. Do not switch off \
`spark.sql.parquet.enableVectorizedReader` or `spark.sql.orc.enableVectorizedReader`. For nested columns set \
`spark.sql.parquet.enableNestedColumnVectorizedReader=true` (3.3 and later, on by default from 3.4), and select the nested \
field instead of the whole struct: `SELECT address.city FROM t`. With a native engine replace what it does not support: \
Python UDFs and rare functions by built-in ones.",
    limits: "The gain of the vectorised reader depends on the types; the saving ranges from nothing to \
`fallback_batch_gain` of the scan. What conversions of native engines cost is not measured.",
};

/// What Spark's operators are in a plan of a native engine and do no work worth a native one.
const NEUTRAL: &[&str] =
    &["Union", "Coalesce", "LocalTableScan", "Range", "ReusedExchange", "ReusedSubquery", "Subquery"];

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    if names::has_native(&view.nodes) {
        check_native(context, view, sink);
        return;
    }
    // What such an engine ran bears other names; a plan without any is not known to be Spark's own.
    if context.is_native {
        return;
    }
    for scan in scans(view) {
        let has_reader = matches!(scan.format, Format::Parquet | Format::Orc | Format::Delta);
        let has_rows = scan.rows.is_some_and(|rows| rows as f64 >= context.get(&MIN_ROWS));
        if has_reader && has_rows && scan.is_batched == Some(false) && !scan.is_bookkeeping {
            check_scan(context, view, &scan, sink);
        }
    }
}

fn check_scan(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, sink: &mut Sink) {
    let parts = price::parts_of(context, view, &BTreeSet::from([scan.node]));
    let places = price::places(&parts);
    let most = parts.iter().map(|part| part.share).fold(0.0, f64::max);
    if most < context.get(&MIN_SCAN_SHARE) || is_immaterial(context, &places) {
        return;
    }
    let conf = conf(context, view);
    let reader = if scan.format == Format::Orc { "orc" } else { "parquet" };
    let switch = format!("spark.sql.{reader}.enableVectorizedReader");
    let is_off = conf.bool(&switch) == Some(false);
    let it = &view.nodes[scan.node as usize];
    let schema = if it.metadata.is_empty() { &it.detail } else { &it.metadata };
    let is_nested = ["array<", "map<", ":struct<"].iter().any(|kind| schema.contains(kind));
    let fields = scan.columns.len() + scan.more_columns as usize;
    let nested_key = format!("spark.sql.{reader}.enableNestedColumnVectorizedReader");
    let (advice, change) = if is_off {
        (
            "The vectorised reader was switched off for this query; switch it on.",
            conf.propose(&switch, "true"),
        )
    } else if is_nested {
        let is_known = conf.version() >= crate::config::Version(3, 3);
        let change = is_known.then(|| conf.propose(&nested_key, "true")).flatten();
        (
            "Nested columns are read by rows here: let the vectorised reader read them, or select only the nested fields that are needed.",
            change,
        )
    } else {
        ("Select fewer columns: very wide scans are read by rows.", None)
    };
    let mut claim = Claim::new(
        KIND,
        scope(view, scan.node),
        format!("{} is read row by row, not in column batches", scan.label()),
    )
    .evidence("format", scan.format.name())
    .evidence("columns", fields)
    .evidence("is_nested", is_nested)
    .evidence("rows", scan.rows.unwrap_or(0))
    .evidence("scan_share", rounded(most))
    .advice(advice);
    claim = match change {
        Some(change) => claim.change(change),
        None => claim.change(Change::code("columns", "fewer columns, without whole structs")),
    };
    claim.nature = if is_off { Nature::Configuration } else { Nature::Code };
    claim.subject = scan.relation.clone().unwrap_or_default();
    claim.confidence = if is_off { Confidence::High } else { Confidence::Low };
    claim.validate =
        "After the change the scan must say `Batched: true`; compare its `scan time`.".to_owned();
    claim.worth = Worth::Replay { low: Vec::new(), high: price::without(&parts, context.get(&BATCH_GAIN)) };
    claim.stages = places;
    sink.claim(claim);
}

fn check_native(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    let conversions = view.nodes.iter().filter(|node| is_conversion(&node.name)).count();
    let mut fallen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut places = Vec::new();
    let mut engine = "native";
    for node in view.nodes.iter().filter(|node| !node.in_cached_plan) {
        if let Some(name) = names::native_engine(&node.name) {
            engine = name;
        } else if is_work(&node.name) {
            *fallen.entry(node.name.as_str()).or_default() += 1;
            places.extend(node.stages.stages.iter().copied());
        }
    }
    places.sort_unstable();
    places.dedup();
    // A conversion at the top only hands the result to the driver.
    if fallen.is_empty() || conversions < 2 || is_immaterial(context, &places) {
        return;
    }
    let list: Vec<String> = fallen
        .iter()
        .map(|(name, count)| if *count > 1 { format!("{name} ({count})") } else { (*name).to_owned() })
        .collect();
    let some = list.iter().take(3).cloned().collect::<Vec<String>>().join(", ");
    let mut claim = Claim::new(
        KIND,
        scope(view, 0),
        format!("{} operators ran outside of {engine}: {some}", fallen.values().sum::<u32>()),
    )
    .evidence("engine", engine)
    .evidence("operators", list.join(", "))
    .evidence("conversions", conversions)
    .advice(format!("Replace what {engine} does not support, Python functions first, so that the rows stay in column batches."))
    .change(Change::code("operators", "operators and functions that the engine supports"));
    claim.nature = Nature::Code;
    claim.subject = engine.to_owned();
    claim.confidence = Confidence::Medium;
    claim.validate = "The engine's explain output names each operator's reason for falling back.".to_owned();
    claim.worth = Worth::None;
    claim.stages = places;
    sink.claim(claim);
}

fn is_conversion(name: &str) -> bool {
    ["ColumnarToRow", "RowToColumnar", "RowToArrow", "ArrowToRow", "RowToVelox"]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether an operator is one of Spark's that does work.
fn is_work(name: &str) -> bool {
    let is_leaf_of_plan = names::is_wrapper(name) || NEUTRAL.contains(&name) || is_conversion(name);
    let is_adapter = name.starts_with("AQEShuffleRead")
        || name.starts_with("Execute ")
        || name.contains("Limit")
        || name == "WriteFiles";
    !is_leaf_of_plan
        && !is_adapter
        && !name.contains("Scan")
        && !name.contains("Exchange")
        && !name.contains("Command")
}
