//! What a query writes and where.

use super::text::{bracketed, is_cut, split_top};
use super::{OperatorClass, SqlView};

/// What kind of place data is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A path.
    Path,
    /// A table.
    Table,
    /// A table in a database.
    Jdbc,
    /// Nowhere or to a sink of a program: `noop`, `foreachBatch`, memory.
    Sink,
}

/// A write of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTarget {
    /// Its node.
    pub node: u32,
    /// Spark's name of the command.
    pub command: String,
    /// Format, in small letters, where the text has it.
    pub format: Option<String>,
    /// What kind of place.
    pub kind: Option<TargetKind>,
    /// Table or path; `None` rather than a part of it.
    pub target: Option<String>,
    /// Whether the command is one whose text is understood.
    pub is_recognized: bool,
    /// Files written.
    pub files: Option<i64>,
    /// Bytes written.
    pub bytes: Option<i64>,
    /// Rows written.
    pub rows: Option<i64>,
    /// Partitions of the table written.
    pub partitions: Option<i64>,
    /// Commit in the driver, milliseconds.
    pub commit_ms: Option<i64>,
}

/// All writes of a plan, in pre-order.
pub fn writes(view: &SqlView<'_>) -> Vec<WriteTarget> {
    (0..view.nodes.len() as u32).filter_map(|node| write(view, node)).collect()
}

/// Commands that write and whose names do not say so to [`OperatorClass`].
const COMMANDS: &[&str] = &[
    "CreateDataSourceTableAsSelect",
    "CreateHiveTableAsSelect",
    "CreateTableAsSelect",
    "ReplaceTableAsSelect",
    "SaveIntoDataSource",
    "MergeInto",
    "MergeRows",
    "DeleteCommand",
    "UpdateCommand",
    "ReplaceData",
    "WriteDelta",
    "OptimizeTable",
];

/// The write at a node; `None` for other operators.
pub fn write(view: &SqlView<'_>, node: u32) -> Option<WriteTarget> {
    let it = view.nodes.get(node as usize)?;
    let command = it.name.strip_prefix("Execute ").unwrap_or(&it.name);
    let is_write = it.class == OperatorClass::Write || COMMANDS.iter().any(|known| command.contains(known));
    // `WriteFiles` is the part of a command that runs on the executors.
    if !is_write || command == "WriteFiles" || command == "MergeRows" || view.is_cached_plan(node) {
        return None;
    }
    let total = |names: &[&str]| names.iter().find_map(|name| view.total(node, name));
    let (kind, target, format) = target(command, it.detail.trim_start_matches("Execute "));
    Some(WriteTarget {
        node,
        command: command.to_owned(),
        is_recognized: target.is_some() || kind.is_some(),
        format,
        kind,
        target,
        files: total(&["number of written files", "number of added data files"]),
        bytes: total(&["written output", "bytes of written output"]),
        rows: total(&["number of output rows"]),
        partitions: total(&["number of dynamic part"]),
        commit_ms: total(&["job commit time"]),
    })
}

type Target = (Option<TargetKind>, Option<String>, Option<String>);

fn target(command: &str, detail: &str) -> Target {
    let arguments = detail.strip_prefix(command).unwrap_or(detail).trim();
    let parts = split_top(arguments, ',');
    let first = parts.first().copied().unwrap_or("");
    let whole = |text: &str| (!text.is_empty() && !is_cut(text)).then(|| text.to_owned());
    if command.starts_with("InsertIntoHadoopFsRelation") {
        // Path, overwrite-if-exists, format, options, mode, ..., table identifier.
        let format = parts
            .iter()
            .copied()
            .skip(1)
            .find(|part| !part.starts_with('[') && !matches!(*part, "true" | "false"));
        return (Some(TargetKind::Path), whole(first), format.map(str::to_ascii_lowercase));
    }
    if first.starts_with('`') {
        let table = first.split_whitespace().next().unwrap_or(first).replace('`', "");
        let format = command.contains("Hive").then(|| "hive".to_owned());
        return (Some(TargetKind::Table), whole(&table), format);
    }
    if command.starts_with("SaveIntoDataSource") {
        let is_delta = detail.contains("delta");
        let is_jdbc = detail.contains("Jdbc");
        let options =
            arguments.find('[').and_then(|at| bracketed(&arguments[at..])).map_or("", |(inside, _)| inside);
        let option = |name: &str| {
            split_top(options, ',').into_iter().find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        return if is_jdbc {
            (Some(TargetKind::Jdbc), option("dbtable").and_then(whole), Some("jdbc".to_owned()))
        } else {
            let format = is_delta.then(|| "delta".to_owned());
            (option("path").map(|_| TargetKind::Path), option("path").and_then(whole), format)
        };
    }
    if let Some(at) = detail.find("IcebergWrite(table=") {
        let table = detail[at + "IcebergWrite(table=".len()..].split([',', ')']).next().unwrap_or("");
        return (Some(TargetKind::Table), whole(table), Some("iceberg".to_owned()));
    }
    if detail.contains("noop") || detail.contains("ForeachBatch") || detail.contains("MicroBatchWrite") {
        return (Some(TargetKind::Sink), None, None);
    }
    (None, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_writes() {
        let text = |text: &str| Some(text.to_owned());
        for (command, detail, expected) in [
            (
                "InsertIntoHadoopFsRelationCommand",
                "InsertIntoHadoopFsRelationCommand file:/tmp/e2e/job1, false, Parquet, [path=/tmp/e2e/job1], Overwrite, [id]",
                (Some(TargetKind::Path), text("file:/tmp/e2e/job1"), text("parquet")),
            ),
            (
                "InsertIntoHadoopFsRelationCommand",
                "InsertIntoHadoopFsRelationCommand s3://b/t, false, [day#3], Parquet, [path=s3://b/t], Append, [id]",
                (Some(TargetKind::Path), text("s3://b/t"), text("parquet")),
            ),
            (
                "CreateDataSourceTableAsSelectCommand",
                "CreateDataSourceTableAsSelectCommand `default`.`final_results`, Overwrite, [col1]",
                (Some(TargetKind::Table), text("default.final_results"), None),
            ),
            (
                "WriteToDataSourceV2",
                "WriteToDataSourceV2 MicroBatchWrite[epoch: 0, writer: x.noop.NoopStreamingWrite$@4a]",
                (Some(TargetKind::Sink), None, None),
            ),
            (
                "AppendData",
                "AppendData org.x.Lambda@1, IcebergWrite(table=lake.db.t, format=PARQUET)",
                (Some(TargetKind::Table), text("lake.db.t"), text("iceberg")),
            ),
        ] {
            assert_eq!(target(command, detail), expected, "{detail}");
        }
    }
}
