//! Joins of several runs, over one number and without it.

use super::{answer, file, table};
use crate::types;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::json::ReaderBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use emberscope_sql_protocol::Table;
use std::path::Path;
use std::sync::Arc;

const COLUMNS: &[(&str, &str)] = &[
    ("stageId", "INT"),
    ("attempt", "INT"),
    ("value", "BIGINT"),
    ("applicationId", "STRING"),
    ("applicationAttempt", "STRING"),
];

fn tables(place: &Path) -> Vec<Table> {
    let line = |stage: &str, attempt: u32, value: u32, id: &str, run: &str| {
        format!(
            r#"{{"stageId":{stage},"attempt":{attempt},"value":{value},"applicationId":{id},"applicationAttempt":{run}}}"#
        )
    };
    let make = |name: &str, lines: &[String]| {
        let fields = COLUMNS.iter().map(|(name, ty)| Field::new(*name, types::parse(ty).unwrap(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = ReaderBuilder::new(schema.clone()).build(lines.join("\n").as_bytes()).unwrap().next();
        let path = place.join(name);
        let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), schema, None).unwrap();
        writer.write(&batch.unwrap().unwrap()).unwrap();
        writer.close().unwrap();
        file(&path, &[])
    };
    let stages = [
        line("1", 0, 1, "\"a\"", "null"),
        line("2", 0, 2, "\"a\"", "null"),
        line("1", 0, 3, "\"a\"", "\"1\""),
        line("1", 0, 4, "\"b\"", "\"1\""),
        line("null", 0, 5, "\"b\"", "\"1\""),
        line("1", 0, 6, "null", "\"1\""),
        line("2147483647", 0, 7, "\"b\"", "\"1\""),
        line("-1", 0, 8, "\"b\"", "\"1\""),
    ];
    let tasks = [
        line("1", 0, 10, "\"a\"", "null"),
        line("1", 0, 11, "\"a\"", "null"),
        line("1", 1, 12, "\"a\"", "null"),
        line("2", 0, 13, "\"a\"", "\"1\""),
        line("1", 0, 14, "\"b\"", "\"1\""),
        line("null", 0, 15, "\"b\"", "\"1\""),
        line("1", 0, 16, "null", "\"1\""),
        line("2147483647", 0, 17, "\"b\"", "\"1\""),
        line("-1", 0, 18, "\"b\"", "\"1\""),
        line("1", 0, 19, "\"c\"", "null"),
    ];
    vec![
        table("stage", COLUMNS, vec![make("stages.parquet", &stages)]),
        table("task", COLUMNS, vec![make("tasks.parquet", &tasks)]),
    ]
}

fn join(kind: &str, id: &str, more: &str) -> String {
    format!(
        "SELECT s.value AS s, t.value AS t, s.applicationId AS a, t.applicationAttempt AS b FROM stage s \
         {kind} JOIN task t ON {id} AND s.applicationAttempt <=> t.applicationAttempt {more} ORDER BY s, t"
    )
}

#[test]
fn one_number_joins_as_many_columns_do() {
    let place = tempfile::tempdir().unwrap();
    let ask = |sql: &str| answer(tables(place.path()), sql).unwrap();
    let conditions = [
        "",
        "AND s.stageId = t.stageId",
        "AND s.stageId = t.stageId AND s.attempt = t.attempt",
        "AND s.stageId = t.stageId AND s.attempt = t.attempt AND s.value + t.value > 16",
        "AND s.stageId <= t.stageId",
    ];
    for kind in ["", "LEFT", "RIGHT", "FULL"] {
        for more in conditions {
            let one = join(kind, "s.applicationId = t.applicationId", more);
            // An expression is no column, and is left alone.
            let many = join(kind, "CONCAT(s.applicationId, '') = CONCAT(t.applicationId, '')", more);
            assert_eq!(ask(&one), ask(&many), "{one}");
            let plan = |sql: &str| ask(&format!("EXPLAIN {sql}")).join("\n");
            assert!(plan(&one).contains("run_key("), "{one}: {}", plan(&one));
            assert!(!plan(&many).contains("run_key("));
        }
    }
    // There would be too many numbers of two columns.
    let wide =
        join("", "s.applicationId = t.applicationId", "AND s.stageId = t.stageId AND s.value = t.value");
    assert!(!ask(&format!("EXPLAIN {wide}")).join("\n").contains("run_key("));
    // A condition leaves few runs, whose ids then tell which files to read.
    let few = "SELECT COUNT(*) AS n FROM stage s JOIN task t ON s.applicationId = t.applicationId WHERE s.value = 4";
    assert_eq!(ask(few), ["n", "4"]);
}
