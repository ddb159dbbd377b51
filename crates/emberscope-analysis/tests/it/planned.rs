//! Plans made to order, and what detectors say of them.

use crate::made::{Made, MadeTask, of_kind, said, task};
use emberscope_analysis::detector::Sink;
use serde_json::{Value, json};

pub(crate) const MIB: i64 = 1 << 20;

/// An operator: name, text behind it, metrics (name, type, accumulator), children.
pub(crate) fn node(name: &str, rest: &str, metrics: &[(&str, &str, u64)], children: Vec<Value>) -> Value {
    let metrics: Vec<Value> = metrics
        .iter()
        .map(|(name, kind, id)| json!({"name": name, "accumulatorId": id, "metricType": kind}))
        .collect();
    let is_call = name.ends_with("Aggregate") || name.starts_with("TakeOrdered");
    let text = if is_call { format!("{name}{rest}") } else { format!("{name} {rest}") };
    let mut it = json!({"nodeName": name, "simpleString": text.trim(), "metadata": {}, "metrics": metrics});
    it["children"] = Value::Array(children);
    it
}

/// A file scan that counts rows by `rows`, files, bytes and partitions by the next accumulators.
pub(crate) fn scan(format: &str, path: &str, rest: &str, rows: u64) -> Value {
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
pub(crate) fn partitioned(rest: &str, rows: u64) -> Value {
    let mut it = scan("Parquet", "events", rest, rows);
    let metric = json!({"name": "number of partitions read", "accumulatorId": rows + 3, "metricType": "sum"});
    if let Some(metrics) = it["metrics"].as_array_mut() {
        metrics.push(metric);
    }
    it
}

pub(crate) fn driver_updates(sql: u64, updates: &[(u64, i64)]) -> Value {
    json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates", "executionId": sql,
        "accumUpdates": updates.iter().map(|(id, value)| json!([id, value])).collect::<Vec<Value>>()})
}

pub(crate) fn with(mut task: MadeTask, updates: &[(u64, i64)]) -> MadeTask {
    task.updates = updates.to_vec();
    task
}

/// Tasks that share the updates evenly.
pub(crate) fn tasks(count: i64, run_ms: i64, updates: &[(u64, i64)]) -> Vec<MadeTask> {
    let part: Vec<(u64, i64)> = updates.iter().map(|(id, value)| (*id, value / count)).collect();
    (0..count).map(|_| with(task(run_ms), &part)).collect()
}

pub(crate) struct Query {
    pub(crate) plan: Value,
    pub(crate) stages: Vec<Vec<MadeTask>>,
    pub(crate) driver: Vec<(u64, i64)>,
}

/// What a tag says of a run of 2 executors of 4 cores with these queries.
pub(crate) fn diagnosed(tag: &str, properties: &[(&str, &str)], queries: &[Query]) -> Sink {
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

pub(crate) fn one(plan: Value, stages: Vec<Vec<MadeTask>>, driver: Vec<(u64, i64)>) -> Sink {
    diagnosed("PLAN", &[], &[Query { plan, stages, driver }])
}

pub(crate) fn count(sink: &Sink, kind: &str) -> usize {
    of_kind(sink, kind).len()
}

pub(crate) fn exchange(rest: &str, id: u64, child: Value) -> Value {
    let metrics = [
        ("data size", "size", id),
        ("shuffle records written", "sum", id + 1),
        ("records read", "sum", id + 2),
    ];
    node("Exchange", rest, &metrics, vec![child])
}
