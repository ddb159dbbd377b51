//! What a scan reads: format, relation, filters, files. From the operator's texts and metrics alone.

use super::text::{bracketed, is_cut, items, last_part, list, split_top, without_ids};
use super::{OperatorClass, SqlView};
use serde_json::Value;
use std::borrow::Cow;

/// How the data is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Format {
    Parquet,
    Orc,
    Csv,
    Json,
    Text,
    Avro,
    Jdbc,
    Delta,
    Iceberg,
    Hudi,
    Hive,
    /// Rows that are made, not read: ranges, local rows, RDDs.
    Memory,
    Other,
}

impl Format {
    /// The word in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Orc => "orc",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Text => "text",
            Self::Avro => "avro",
            Self::Jdbc => "jdbc",
            Self::Delta => "delta",
            Self::Iceberg => "iceberg",
            Self::Hudi => "hudi",
            Self::Hive => "hive",
            Self::Memory => "memory",
            Self::Other => "other",
        }
    }

    /// Whether rows are read from somewhere, so that reading them again costs something.
    pub fn is_stored(self) -> bool {
        self != Self::Memory
    }

    /// Whether whole blocks can be skipped by statistics of columns.
    pub fn is_columnar(self) -> bool {
        matches!(self, Self::Parquet | Self::Orc | Self::Delta | Self::Iceberg | Self::Hudi)
    }

    /// Whether files are lines of text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Json | Self::Text)
    }

    fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let known = [
            ("delta", Self::Delta),
            ("iceberg", Self::Iceberg),
            ("hudi", Self::Hudi),
            ("parquet", Self::Parquet),
            ("orc", Self::Orc),
            ("csv", Self::Csv),
            ("json", Self::Json),
            ("avro", Self::Avro),
            ("text", Self::Text),
            ("jdbc", Self::Jdbc),
            ("hive", Self::Hive),
        ];
        known.iter().find(|(part, _)| text.contains(part)).map_or(Self::Other, |(_, format)| *format)
    }
}

/// A scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Its node.
    pub node: u32,
    /// How the data is stored.
    pub format: Format,
    /// The table's name, else the last part of the path, else the JDBC table.
    pub relation: Option<String>,
    /// The first path, or what stands for it; never cut.
    pub location: Option<String>,
    /// Columns it gives, partition columns included; as far as the log names them.
    pub columns: Vec<String>,
    /// Columns beside them, of which Spark says only how many there are.
    pub more_columns: u32,
    /// Filters on partition columns.
    pub partition_filters: Vec<String>,
    /// Filters on columns of the files, as Spark's expressions.
    pub data_filters: Vec<String>,
    /// Filters that the reader or the database was given.
    pub pushed_filters: Vec<String>,
    /// `ReadSchema`: the columns read from files.
    pub read_schema: Option<String>,
    /// Whether rows come in column batches; `None` when the log does not say.
    pub is_batched: Option<bool>,
    /// Whether the relation has partition columns; `None` when the log does not say.
    pub is_partitioned: Option<bool>,
    /// Whether the table is bucketed and read by buckets.
    pub is_bucketed: bool,
    /// Files read.
    pub files: Option<i64>,
    /// Their size, bytes. Right also where task metrics are not (Spark 4 with vectored reads).
    pub bytes: Option<i64>,
    /// Partitions read.
    pub partitions: Option<i64>,
    /// Listing and pruning in the driver, milliseconds.
    pub metadata_ms: Option<i64>,
    /// Rows.
    pub rows: Option<i64>,
    /// Tasks a JDBC read was cut into (`numPartitions`).
    pub jdbc_partitions: Option<u32>,
    /// Whether it reads a table format's own log, not data.
    pub is_bookkeeping: bool,
}

impl Scan {
    /// What is the same for every scan of the same data: format and place. `None` when the log does not
    /// name the place in full.
    pub fn identity(&self) -> Option<String> {
        let place = self.location.as_ref().or(self.relation.as_ref())?;
        Some(format!("{} {place}", self.format.name()))
    }

    /// Columns that are not in the files: those the relation is partitioned by, as far as the scan gives them.
    pub fn partition_columns(&self) -> Vec<&str> {
        let Some(schema) = self.read_schema.as_deref().filter(|_| self.is_partitioned == Some(true)) else {
            return Vec::new();
        };
        let schema = schema.replace('<', "(").replace('>', ")");
        let inside = schema.strip_prefix("struct(").and_then(|rest| rest.strip_suffix(')')).unwrap_or("");
        let fields = split_top(inside, ',');
        let in_files: Vec<&str> =
            fields.iter().map(|field| field.split(':').next().unwrap_or(field)).collect();
        self.columns.iter().map(String::as_str).filter(|column| !in_files.contains(column)).collect()
    }

    /// How a person would call it: `parquet orders`.
    pub fn label(&self) -> String {
        match &self.relation {
            Some(relation) => format!("{} {relation}", self.format.name()),
            None => format!("{} data", self.format.name()),
        }
    }

    /// Mean size of its files, bytes.
    pub fn mean_file_bytes(&self) -> Option<f64> {
        let files = self.files.filter(|files| *files > 0)?;
        Some(self.bytes? as f64 / files as f64)
    }
}

/// All scans of a plan that ran outside of cached plans, in pre-order.
pub fn scans(view: &SqlView<'_>) -> Vec<Scan> {
    (0..view.nodes.len() as u32)
        .filter(|node| !view.is_cached_plan(*node))
        .filter_map(|node| scan(view, node))
        .collect()
}

/// The scan at a node; `None` for other operators and for scans of cached data.
pub fn scan(view: &SqlView<'_>, node: u32) -> Option<Scan> {
    let it = view.nodes.get(node as usize)?;
    let is_memory = matches!(it.name.as_str(), "Range" | "LocalTableScan");
    if it.class != OperatorClass::Scan && !is_memory {
        return None;
    }
    let metadata: Value = serde_json::from_str(&it.metadata).unwrap_or_default();
    let field = |name: &str| -> Option<Cow<'_, str>> {
        match metadata.get(name).and_then(Value::as_str) {
            Some(text) => Some(Cow::Owned(text.to_owned())),
            None => list(&it.detail, name).map(|inside| Cow::Owned(format!("[{inside}]"))),
        }
    };
    let filters = |name: &str| field(name).map(|text| items(&text)).unwrap_or_default();
    let location_text = metadata
        .get("Location")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .or_else(|| after(&it.detail, "Location: ").map(str::to_owned));
    let index = location_text.as_deref().map(|text| text.split(['(', '[']).next().unwrap_or("").to_owned());
    let total = |names: &[&str]| names.iter().find_map(|name| view.total(node, name));
    let has_partition_metric = it.metrics.iter().any(|(name, _, _)| name == "number of partitions read");
    let format = format_of(&it.name, &it.detail, &metadata, index.as_deref());
    let mut scan = Scan {
        node,
        format,
        relation: None,
        location: location_text.as_deref().and_then(first_path),
        columns: columns(&it.detail),
        more_columns: more_columns(&it.detail),
        partition_filters: filters("PartitionFilters"),
        data_filters: filters("DataFilters"),
        pushed_filters: filters("PushedFilters"),
        read_schema: metadata
            .get("ReadSchema")
            .and_then(Value::as_str)
            .or_else(|| after(&it.detail, "ReadSchema: "))
            .filter(|schema| !is_cut(schema))
            .map(str::to_owned),
        is_batched: if it.detail.contains("Batched: true") {
            Some(true)
        } else {
            it.detail.contains("Batched: false").then_some(false)
        },
        // Spark gives a file scan this metric exactly when its relation has partition columns.
        is_partitioned: (index.is_some() && !it.metrics.is_empty()).then_some(has_partition_metric),
        is_bucketed: it.detail.contains("SelectedBucketsCount")
            || metadata.get("SelectedBucketsCount").is_some(),
        files: total(&["number of files read", "number of files", "number of result data files"]),
        bytes: total(&["size of files read", "total data file size (bytes)", "size of files read (bytes)"]),
        partitions: total(&["number of partitions read"]),
        metadata_ms: total(&["metadata time", "metadata time (ms)", "total planning duration (ms)"]),
        rows: total(&["number of output rows"]),
        jdbc_partitions: after(&it.detail, "numPartitions=")
            .and_then(|text| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()),
        is_bookkeeping: it.detail.contains("_delta_log")
            || it.name.contains("Delta Table State")
            || index.as_deref().is_some_and(|index| index.contains("DeltaLogFileIndex")),
    };
    if scan.format == Format::Iceberg {
        scan.pushed_filters = iceberg_filters(&it.detail);
    }
    scan.relation = relation(&it.name, &it.detail, &scan);
    Some(scan)
}

fn format_of(name: &str, detail: &str, metadata: &Value, index: Option<&str>) -> Format {
    // Delta and Hudi read Parquet files through an index of their own.
    if index.is_some_and(|index| {
        index.contains("Delta") || index.contains("Tahoe") || index.contains("CdcAddFile")
    }) {
        return Format::Delta;
    }
    if index.is_some_and(|index| index.contains("Hoodie")) {
        return Format::Hudi;
    }
    if name.contains("JDBC") {
        return Format::Jdbc;
    }
    if matches!(name, "Range" | "LocalTableScan" | "Scan")
        || name.contains("ExistingRDD")
        || name.contains("OneRowRelation")
    {
        return Format::Memory;
    }
    if name.starts_with("Scan hive") || name.starts_with("HiveTableScan") {
        return Format::Hive;
    }
    if let Some(format) = metadata.get("Format").and_then(Value::as_str) {
        return Format::parse(format);
    }
    if let Some(format) = after(detail, "Format: ") {
        return Format::parse(format.split([',', ' ']).next().unwrap_or(""));
    }
    // `BatchScan lake.db.table[..] lake.db.table (branch=null) [filters=.., groupedBy=]` is Iceberg's.
    if name.contains("BatchScan")
        && (detail.contains("groupedBy=") || detail.contains("[filters=") || detail.contains("Iceberg"))
    {
        return Format::Iceberg;
    }
    Format::parse(name)
}

/// The text behind a label, up to the end.
fn after<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    text.find(label).map(|at| &text[at + label.len()..])
}

/// The first path of `InMemoryFileIndex(1 paths)[file:/a, file:/b]`; `None` when it was cut.
fn first_path(location: &str) -> Option<String> {
    let (inside, _) = bracketed(&location[location.find('[')?..])?;
    let path = inside.split(", ").next()?.trim();
    (!path.is_empty() && !path.ends_with("...")).then(|| path.to_owned())
}

/// The columns of `FileScan parquet db.t[a#1,b#2L] Batched: ..`.
fn columns(detail: &str) -> Vec<String> {
    let Some(open) = detail.find('[') else { return Vec::new() };
    // `Scan JDBCRelation(T) [numPartitions=1] [A#1,B#2]` has its options in the first brackets.
    let open = match detail[open..].starts_with("[numPartitions") {
        true => detail[open + 1..].find('[').map_or(open, |next| open + 1 + next),
        false => open,
    };
    let Some((inside, _)) = bracketed(&detail[open..]) else { return Vec::new() };
    split_top(inside, ',').into_iter().filter(|column| !is_cut(column)).map(without_ids).collect()
}

/// The number in `[a#1, b#2, ... 76 more fields]`.
fn more_columns(detail: &str) -> u32 {
    let more = || detail.split(" more fields").next()?.rsplit("... ").next()?.parse().ok();
    if detail.contains(" more fields") { more().unwrap_or(0) } else { 0 }
}

fn iceberg_filters(detail: &str) -> Vec<String> {
    let Some(text) = after(detail, "[filters=") else { return Vec::new() };
    let end = text.find(", groupedBy").or_else(|| text.find(']')).unwrap_or(text.len());
    split_top(&text[..end], ',').into_iter().map(str::to_owned).collect()
}

fn relation(name: &str, detail: &str, scan: &Scan) -> Option<String> {
    if scan.format == Format::Jdbc {
        let (inside, _) = bracketed(&name[name.find('(')?..])?;
        return Some(jdbc_table(inside));
    }
    if scan.format == Format::Memory {
        return None;
    }
    // `Scan parquet db.table`, `BatchScan lake.db.table`, `Scan hive db.table`.
    let mut words = name.split_whitespace().filter(|word| !word.ends_with("Scan"));
    let first = words.next();
    let named = if name.contains("BatchScan") { first } else { words.next() };
    let table = named.filter(|word| !word.starts_with("file:") && !word.contains('@'));
    match (table, &scan.location) {
        (Some(table), _) => Some(table.to_owned()),
        (None, Some(path)) => Some(last_part(path).to_owned()),
        (None, None) => detail_path(detail),
    }
}

/// The last part of a path that the detail has and that was not cut.
fn detail_path(detail: &str) -> Option<String> {
    let word = detail.split([' ', ',', '[', ']']).find(|word| word.contains(":/"))?;
    (!word.ends_with("...")).then(|| last_part(word).to_owned())
}

/// The table of a JDBC relation: its name, or the first one behind FROM of a query.
fn jdbc_table(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')').collect();
    let from = words.iter().position(|word| word.eq_ignore_ascii_case("from"));
    from.and_then(|at| words[at + 1..].iter().find(|word| !word.is_empty()))
        .map_or(text, |word| word)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_scans() {
        assert_eq!(
            first_path("InMemoryFileIndex(2 paths)[s3a://b/x, s3a://b/y]").as_deref(),
            Some("s3a://b/x")
        );
        assert_eq!(first_path("InMemoryFileIndex(1 paths)[file:/tmp/long..."), None);
        assert_eq!(columns("Scan JDBCRelation(T) [numPartitions=1] [A#1,B#2] PushedFilters: []"), ["A", "B"]);
        assert_eq!(columns("FileScan parquet db.t[a#1,b#2L] Batched: true"), ["a", "b"]);
        assert_eq!(jdbc_table("(select a from shop.orders where x) t"), "shop.orders");
        assert_eq!(jdbc_table("ORDERS"), "ORDERS");
        assert_eq!(
            iceberg_filters(
                "BatchScan l.t[id#1] l.t (branch=null) [filters=id IS NOT NULL, id > 1, groupedBy=] RuntimeFilters: []"
            ),
            ["id IS NOT NULL", "id > 1"]
        );
    }
}
