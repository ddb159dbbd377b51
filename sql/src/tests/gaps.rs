//! What Spark has and the engine does not, over a small table.

use super::{LIMITS, STAGE, check, file, rows, table, told};
use crate::output::{Pipe, Writer};
use crate::session::Session;
use emberscope_sql_protocol::{FailureKind, Limits};

#[test]
fn texts_have_backslashes() {
    check(r"SELECT 'it\'s' AS a, 'it''s' AS b, 'a\\b' AS c, '\u0041' AS d", &["a|b|c|d", r"it's|it's|a\b|A"]);
    check(r#"SELECT "say \"so\"" AS a, 'x' RLIKE '\\w' AS b"#, &["a|b", r#"say "so"|true"#]);
    check(r"SELECT 'it\'s'", &["it's", "it's"]);
    check(r"SELECT '50%' LIKE '50\%' AS a, '501' LIKE '50\%' AS b", &["a|b", "true|false"]);
    let (message, _) = told(r"SELECT 'it\'").unwrap_err();
    assert!(message.contains("Unterminated string literal"), "{message}");
}

#[test]
fn fields_of_anything() {
    check("SELECT NAMED_STRUCT('a', 1).a", &["a", "1"]);
    check("SELECT NAMED_STRUCT('a', NAMED_STRUCT('b', 2)).a.b AS x", &["x", "2"]);
    check("SELECT ELEMENT_AT(MAP('k', NAMED_STRUCT('z', 3)), 'k').z AS x", &["x", "3"]);
    check(r#"SELECT FROM_JSON('{"a":1}', 'STRUCT<a: INT>').a AS x"#, &["x", "1"]);
    check("SELECT names[0].nodeName AS x FROM stage WHERE stageId = 1", &["x", "Join"]);
    check("SELECT s.names[0].metrics['rows'] AS x FROM stage s WHERE s.stageId = 1", &["x", "2"]);
    check("SELECT ELEMENT_AT(names, 2).nodeName AS x FROM stage WHERE stageId = 1", &["x", "Scan"]);
    check("SELECT (SELECT MAX(NAMED_STRUCT('a', stageId)).a FROM stage) AS x", &["x", "3"]);
}

#[test]
fn lists_are_sorted() {
    check(
        "SELECT SORT_ARRAY(ARRAY(3, NULL, 1)) AS a, SORT_ARRAY(ARRAY(3, NULL, 1), false) AS b, \
         SORT_ARRAY(ARRAY(3, NULL, 1), true) AS c, ARRAY_SORT(ARRAY(3, NULL, 1)) AS d",
        &["a|b|c|d", "[null, 1, 3]|[3, 1, null]|[null, 1, 3]|[1, 3, null]"],
    );
    let (message, _) = told("SELECT SORT_ARRAY(ids, stageId) FROM stage").unwrap_err();
    assert_eq!(message, "sort_array takes a list, and true or false as it is written");
}

#[test]
fn json_by_path() {
    check(
        r#"SELECT GET_JSON_OBJECT('{"a": {"b": [1, "x"]}}', '$.a.b[1]') AS a, GET_JSON_OBJECT('{"a": 1}', '$.b') AS b"#,
        &["a|b", "x|null"],
    );
}

#[test]
fn rows_become_columns() {
    check(
        "SELECT * FROM (SELECT applicationId, stageId, execCpuNs FROM stage) \
         PIVOT (SUM(execCpuNs) FOR stageId IN (1, 2 AS two, 3)) ORDER BY applicationId",
        &["applicationId|1|two|3", "a|10|15|null", "b|null|null|null"],
    );
    check(
        "SELECT * FROM (SELECT applicationId, stageId, execCpuNs FROM stage) PIVOT (SUM(execCpuNs) AS s, \
         COUNT(*) AS n FOR applicationId IN ('a', 'b')) ORDER BY stageId",
        &["stageId|a_s|a_n|b_s|b_n", "1|10|1|null|null", "2|15|1|null|null", "3|null|null|null|1"],
    );
    let sql = "SELECT * FROM stage PIVOT (UPPER(stageId) FOR applicationId IN ('a'))";
    assert_eq!(told(sql).unwrap_err().0, "PIVOT takes aggregates: `upper(stageId)` is none");
}

#[test]
fn tables_are_described() {
    check("SHOW TABLES", &["namespace|tableName|isTemporary", "|stage|true"]);
    check("show tables like 'x*'", &["namespace|tableName|isTemporary"]);
    check(
        "DESCRIBE stage;",
        &[
            "col_name|data_type|comment",
            "stageId|int|null",
            "execCpuNs|bigint|null",
            "names|array<struct<nodeName:string,metrics:map<string,string>>>|null",
            "ids|array<int>|null",
            "applicationId|string|null",
        ],
    );
    check("SHOW COLUMNS IN STAGE", &["col_name", "stageId", "execCpuNs", "names", "ids", "applicationId"]);
}

#[test]
fn what_fails_when_it_runs_has_a_place() {
    let place = |sql: &str| told(sql).unwrap_err().1;
    assert_eq!(place("SELECT stageId,\n  SLICE(ids, 0, 1) FROM stage"), Some((2, 3)));
    assert_eq!(place("SELECT SEQUENCE(1, stageId, -1) FROM stage"), Some((1, 8)));
    assert_eq!(place("SELECT PERCENTILE(stageId, 2) FROM stage"), Some((1, 8)));
}

#[test]
fn a_sort_keeps_to_its_memory() {
    let limits = Limits { memory_bytes: 64 << 20, spill_bytes: 1 << 30, ..LIMITS };
    let place = tempfile::tempdir().unwrap();
    let path = rows(place.path(), "stage-reports-0.json", &[r#"{"stageId":1}"#]);
    let session = Session::open(vec![table("stage", STAGE, vec![file(&path, &[])])], &limits).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let sql = "SELECT n, CONCAT('a text that takes room in memory ', CAST(n AS STRING)) AS t FROM \
               (SELECT EXPLODE(SEQUENCE(1, 3000000)) AS n FROM stage) ORDER BY t DESC";
    let pipe = Pipe::new(std::io::sink());
    match runtime.block_on(session.answer(sql, None, &mut Writer::new(&pipe))) {
        Ok(done) => assert_eq!(done.rows, 3_000_000),
        Err(problem) => {
            let failure = problem.into_failure();
            assert_eq!(failure.kind, FailureKind::Memory, "{}", failure.message);
            assert_eq!(failure.message, "the query needs more memory than it may use");
        }
    }
}
