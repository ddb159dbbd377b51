//! Statements over small tables, without the process.

mod gaps;
mod joins;

use crate::failure::Problem;
use crate::output::{Pipe, Writer};
use crate::session::Session;
use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use emberscope_sql_protocol::{self as protocol, Column, File, Format, Frame, Limits, Table};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

const LIMITS: Limits = Limits { memory_bytes: 1 << 30, spill_bytes: 1 << 20, timeout_ms: None, threads: 2 };
const STAGE: &[(&str, &str)] = &[
    ("stageId", "INT"),
    ("execCpuNs", "BIGINT"),
    ("names", "ARRAY<STRUCT<nodeName: STRING, metrics: MAP<STRING, STRING>>>"),
    ("ids", "ARRAY<INT>"),
    ("applicationId", "STRING"),
];

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn table(name: &str, columns: &[(&str, &str)], files: Vec<File>) -> Table {
    let columns = columns.iter().map(|(name, ty)| Column { name: (*name).to_owned(), ty: (*ty).to_owned() });
    Table { name: name.to_owned(), columns: columns.collect(), files }
}

fn file(path: &Path, directories: &[(&str, &str)]) -> File {
    let format =
        if path.extension().is_some_and(|e| e == "parquet") { Format::Parquet } else { Format::Ndjson };
    File {
        path: path.display().to_string(),
        bytes: std::fs::metadata(path).unwrap().len(),
        format,
        directories: directories
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        is_own: false,
    }
}

fn rows(place: &Path, name: &str, lines: &[&str]) -> std::path::PathBuf {
    let path = place.join(name);
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    path
}

/// The answer, a line a row, values parted by `|`, after a line of names.
fn answer(tables: Vec<Table>, sql: &str) -> Result<Vec<String>, Problem> {
    let session = Session::open(tables, &LIMITS)?;
    let buffer = Buffer::default();
    let pipe = Pipe::new(buffer.clone());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(session.answer(sql, Some(100), &mut Writer::new(&pipe)))?;
    let bytes = buffer.0.lock().unwrap().clone();
    let (mut frames, mut stream) = (bytes.as_slice(), Vec::new());
    while let Some(Frame::Arrow(piece)) = protocol::read(&mut frames).unwrap() {
        stream.extend(piece);
    }
    let reader = StreamReader::try_new(stream.as_slice(), None).unwrap();
    let names: Vec<String> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut lines = vec![names.join("|")];
    let options = FormatOptions::new().with_null("null");
    for batch in reader {
        let batch = batch.unwrap();
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            lines.push(values.join("|"));
        }
    }
    Ok(lines)
}

/// Message and place of a failure.
type Told = (String, Option<(u64, u64)>);

/// Over one table `stage` of three rows.
fn told(sql: &str) -> Result<Vec<String>, Told> {
    let place = tempfile::tempdir().unwrap();
    let path = rows(
        place.path(),
        "stage-reports-0.json",
        &[
            r#"{"stageId":1,"execCpuNs":10,"names":[{"nodeName":"Join","metrics":{"rows":"2"}},{"nodeName":"Scan","metrics":{}}],"ids":[1,2],"applicationId":"a"}"#,
            r#"{"stageId":2,"execCpuNs":15,"names":[],"ids":[2],"applicationId":"a"}"#,
            r#"{"stageId":3,"execCpuNs":null,"names":null,"ids":null,"applicationId":"b"}"#,
        ],
    );
    answer(vec![table("stage", STAGE, vec![file(&path, &[])])], sql).map_err(|problem| {
        let failure = problem.into_failure();
        (failure.message, failure.position.map(|position| (position.line, position.column)))
    })
}

fn check(sql: &str, expected: &[&str]) {
    assert_eq!(told(sql).unwrap(), expected, "{sql}");
}

#[test]
fn numbers_as_in_spark() {
    check("SELECT 7 / 2 AS a, 7 DIV 2 AS b, 1 / 0 AS c, 7 % 0 AS d", &["a|b|c|d", "3.5|3|null|null"]);
    check("SELECT SUM(execCpuNs) / 10 AS x FROM stage", &["x", "2.5"]);
    check("SELECT ROUND(2.675, 2) AS a, FLOOR(-1.5) AS b, CEIL(1.2) AS c", &["a|b|c", "2.68|-2|2"]);
    check("SELECT PERCENTILE(execCpuNs, 0.5) AS p, MEDIAN(stageId) AS m FROM stage", &["p|m", "12.5|2.0"]);
    check("SELECT PERCENTILE(stageId, ARRAY(0.0, 1.0)) AS p FROM stage", &["p", "[1.0, 3.0]"]);
    check("SELECT PERCENTILE(execCpuNs, 0.5) AS p FROM stage WHERE stageId > 2", &["p", "null"]);
    check("SELECT STDDEV(execCpuNs) AS s FROM stage WHERE stageId = 1", &["s", "null"]);
    check("SELECT ROW_NUMBER() OVER (ORDER BY stageId) - 5 AS r FROM stage LIMIT 1", &["r", "-4"]);
}

#[test]
fn texts_as_in_spark() {
    check("SELECT CAST(1e10 AS STRING) AS a, STRING(2.0) AS b, \"c\" AS c", &["a|b|c", "1.0E10|2.0|c"]);
    check("SELECT CAST(ids AS STRING) AS a FROM stage LIMIT 1", &["a", "[1, 2]"]);
    check("SELECT 'a\\\\b' AS a, 'it''s' AS b", &["a|b", "a\\b|it's"]);
    check("SELECT applicationId RLIKE '^a' AS a FROM stage WHERE stageId = 1", &["a", "true"]);
}

#[test]
fn lists_maps_and_structs() {
    check("SELECT stageId FROM stage WHERE ARRAY_CONTAINS(ids, 2) ORDER BY 1", &["stageId", "1", "2"]);
    check(
        "SELECT ids[0] AS a, ELEMENT_AT(ids, 1) AS b, SIZE(ids) AS c FROM stage LIMIT 1",
        &["a|b|c", "1|1|2"],
    );
    check(
        "SELECT s.stageId, n.nodeName FROM stage s LATERAL VIEW EXPLODE(s.names) AS n WHERE n.nodeName LIKE '%Join%'",
        &["stageId|nodeName", "1|Join"],
    );
    check(
        "SELECT stageId, n.nodeName FROM stage LATERAL VIEW OUTER EXPLODE(names) t AS n ORDER BY stageId, nodeName",
        &["stageId|nodeName", "1|Join", "1|Scan", "2|null", "3|null"],
    );
    check(
        "SELECT k, v FROM stage LATERAL VIEW EXPLODE(names) t AS n LATERAL VIEW EXPLODE(n.metrics) AS k, v",
        &["k|v", "rows|2"],
    );
    check(
        "SELECT node.nodeName, FROM_JSON(TO_JSON(node.metrics), 'MAP<STRING, STRING>') AS metrics
           FROM (SELECT EXPLODE(names) AS node FROM stage) x WHERE node.nodeName = 'Join'",
        &["nodeName|metrics", "Join|{rows: 2}"],
    );
    check("SELECT n.metrics['rows'] AS r FROM stage LATERAL VIEW EXPLODE(names) AS n LIMIT 1", &["r", "2"]);
}

/// What Spark 4.3 gives, in UTC and without ANSI mode, as `CAST(x AS STRING)`; an error is `None`.
const OF_SPARK: &[(&str, Option<&str>)] = &[
    (
        "date_format(timestamp_millis(1700000000123), 'yyyy-MM-dd HH:mm:ss.SSS')",
        Some("2023-11-14 22:13:20.123"),
    ),
    ("date_format(timestamp_millis(1700000000123), 'yy M d H m s S SS')", Some("23 11 14 22 13 20 1 12")),
    ("date_format(timestamp_millis(1700000000123), 'EEE MMM')", Some("Tue Nov")),
    ("date_format(timestamp_millis(1700000000123), 'hh:mm a')", Some("10:13 PM")),
    ("date_format(timestamp_millis(1700000000123), \"yyyy-MM-dd'T'HH:mm\")", Some("2023-11-14T22:13")),
    ("date_format(timestamp_millis(-1), 'yyyy-MM-dd HH:mm:ss.SSS')", Some("1969-12-31 23:59:59.999")),
    ("date_format('2024-01-02', 'yyyy')", Some("2024")),
    ("date_format(null, 'yyyy')", Some("null")),
    ("date_format(timestamp_millis(0), 'YYYY')", None),
    ("from_unixtime(1700000000)", Some("2023-11-14 22:13:20")),
    ("from_unixtime(1700000000, 'yyyy-MM-dd HH')", Some("2023-11-14 22")),
    ("concat('a', null)", Some("null")),
    ("concat('a', 1)", Some("a1")),
    ("concat('a', 1.0)", Some("a1.0")),
    ("concat(array(1, 2), array(3))", Some("[1, 2, 3]")),
    ("concat_ws(',', array('a', null, 'b'), 'c', null)", Some("a,b,c")),
    ("concat_ws(',', null, 'c')", Some("c")),
    ("concat_ws(null, 'a', 'c')", Some("null")),
    ("concat_ws(',', 1, 2)", Some("1,2")),
    ("reverse(array(1, 2, 3))", Some("[3, 2, 1]")),
    ("reverse('abc')", Some("cba")),
    ("log(10)", Some("2.302585092994046")),
    ("log(2, 8)", Some("3.0")),
    ("log(0)", Some("null")),
    ("ln(0)", Some("null")),
    ("log(1, 5)", Some("Infinity")),
    ("substr('hello', 0, 2)", Some("he")),
    ("substring('hello', 0)", Some("hello")),
    ("substr('hello', -3, 2)", Some("ll")),
    ("substr('hello', -10, 7)", Some("he")),
    ("substr('hello', 2, -1)", Some("")),
    ("substr(12345, 2, 2)", Some("23")),
    ("array_contains(array(1, null), 2)", Some("null")),
    ("array_contains(array(1, null), 1)", Some("true")),
    ("array_contains(array(1), 2)", Some("false")),
    ("array_contains(array('a', null), 'b')", Some("null")),
    ("element_at(array(1, 2), 0)", None),
    ("element_at(array(1, 2), -1)", Some("2")),
    ("element_at(array(1, 2), 3)", Some("null")),
    ("element_at(map('a', 1), 'b')", Some("null")),
    ("try_divide(1, 0)", Some("null")),
    ("try_divide(1, 2)", Some("0.5")),
    ("year(timestamp_millis(1700000000123))", Some("2023")),
    ("month(timestamp_millis(1700000000123))", Some("11")),
    ("day(timestamp_millis(1700000000123))", Some("14")),
    ("hour(timestamp_millis(1700000000123))", Some("22")),
    ("minute(timestamp_millis(1700000000123))", Some("13")),
    ("second(timestamp_millis(1700000000123))", Some("20")),
    ("hour(1700000000123)", None),
    ("date_add(date'2024-01-31', 1)", Some("2024-02-01")),
    ("date_add(timestamp_millis(1700000000123), 1)", Some("2023-11-15")),
    ("date_sub('2024-01-31', 1)", Some("2024-01-30")),
    ("datediff(date'2024-01-31', date'2024-01-01')", Some("30")),
    ("datediff(timestamp_millis(1700000000123), date'2024-01-01')", Some("-48")),
    ("unix_timestamp(timestamp_millis(1700000000123))", Some("1700000000")),
    ("unix_timestamp('2024-01-02 03:04:05')", Some("1704164645")),
    ("unix_timestamp('2024-01-02', 'yyyy-MM-dd')", Some("1704153600")),
    ("unix_timestamp(date'2024-01-02')", Some("1704153600")),
    ("unix_timestamp(timestamp_millis(-1))", Some("0")),
    ("split('a,b,,c', ',')", Some("[a, b, , c]")),
    ("split('a1b2c', '[0-9]')", Some("[a, b, c]")),
    ("split('a,b,c', ',', 2)", Some("[a, b,c]")),
    ("split('a,b,,', ',', 0)", Some("[a, b, , ]")),
    ("split('abc', '')", Some("[a, b, c]")),
    ("split(null, ',')", Some("null")),
    ("split('a.b', '\\\\.')", Some("[a, b]")),
    ("regexp_extract('job-123-x', '([a-z]+)-([0-9]+)', 2)", Some("123")),
    ("regexp_extract('job-123-x', '([a-z]+)-([0-9]+)')", Some("job")),
    ("regexp_extract('nope', '([0-9]+)', 1)", Some("")),
    ("regexp_extract('a', '(a)', 2)", None),
    ("regexp_extract('ab', '(a)(x)?b', 2)", Some("")),
    ("locate('l', 'hello')", Some("3")),
    ("locate('l', 'hello', 4)", Some("4")),
    ("locate('z', 'hello')", Some("0")),
    ("locate('', 'hello')", Some("1")),
    ("locate('l', 'hello', 0)", Some("0")),
    ("locate('é', 'caféé')", Some("4")),
    ("startswith('hello', 'he')", Some("true")),
    ("endswith('hello', 'lo')", Some("true")),
    ("slice(array(1, 2, 3, 4), 2, 2)", Some("[2, 3]")),
    ("slice(array(1, 2, 3, 4), -2, 2)", Some("[3, 4]")),
    ("slice(array(1, 2, 3, 4), 0, 2)", None),
    ("slice(array(1, 2, 3, 4), 5, 2)", Some("[]")),
    ("slice(array(1, 2, 3, 4), 2, -1)", None),
    ("slice(array(1, 2, 3, 4), -5, 2)", Some("[]")),
    ("sequence(1, 5)", Some("[1, 2, 3, 4, 5]")),
    ("sequence(5, 1)", Some("[5, 4, 3, 2, 1]")),
    ("sequence(1, 10, 3)", Some("[1, 4, 7, 10]")),
    ("sequence(1, 5, -1)", None),
    ("sequence(1, null)", Some("null")),
];

#[test]
fn functions_as_in_spark() {
    let mut wrong = Vec::new();
    for (sql, expected) in OF_SPARK {
        let got = told(&format!("SELECT CAST({sql} AS STRING) AS x"));
        let is_same = match (&got, expected) {
            (Ok(lines), Some(expected)) => lines[1] == *expected,
            (Err(_), None) => true,
            _ => false,
        };
        if !is_same {
            wrong.push(format!("{sql}: {got:?}, Spark {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    check(
        "SELECT MODE(applicationId) AS a, MODE(execCpuNs) FILTER (WHERE stageId > 2) AS b FROM stage",
        &["a|b", "a|null"],
    );
    check("SELECT SUBSTR(applicationId, stageId) AS a FROM stage ORDER BY stageId", &["a", "a", "", ""]);
}

#[test]
fn names_in_any_case_and_nulls_first() {
    check("select STAGEID, `execcpuns` from STAGE S where s.Stageid = 3", &["stageId|execCpuNs", "3|null"]);
    check("SELECT execCpuNs AS Cpu FROM stage ORDER BY cpu", &["Cpu", "null", "10", "15"]);
    check("SELECT execCpuNs FROM stage ORDER BY execCpuNs DESC", &["execCpuNs", "15", "10", "null"]);
    check("SELECT COUNT(*), COUNT(*) FROM stage", &["COUNT(*)|COUNT(*) (2)", "3|3"]);
    check("WITH X AS (SELECT stageId AS Id FROM stage) SELECT id FROM x WHERE ID < 2;", &["Id", "1"]);
}

#[test]
fn mistakes_have_places() {
    let place = |sql: &str| told(sql).unwrap_err().1;
    assert_eq!(place("SELECT nonsense FROM stage"), Some((1, 8)));
    assert_eq!(place("SELECT 1\nFROM stag"), Some((2, 6)));
    assert_eq!(place("SELEC 1"), Some((1, 1)));
    assert_eq!(place("SELECT 1; SELECT 2"), Some((1, 11)));
    assert_eq!(place("SELECT foo(stageId) FROM stage"), Some((1, 8)));
    for odd in
        ["", ";", "SELECT", "SELECT (", "SELECT * FROM stage LATERAL VIEW x", "SELECT \u{0}", "SELECT '"]
    {
        assert!(told(odd).is_err(), "{odd}");
    }
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(told(&deep).is_err());
}

#[test]
fn calls_with_too_few_arguments_are_refused() {
    for name in [
        "substring",
        "locate",
        "split",
        "concat_ws",
        "regexp_extract",
        "log10",
        "slice",
        "element_at",
        "round",
        "percentile",
        "to_json",
        "from_json",
        "date_add",
        "date_format",
        "year",
        "array_contains",
        "array_max",
        "sequence",
    ] {
        let (message, _) = told(&format!("SELECT {name}() FROM stage")).unwrap_err();
        assert!(!message.is_empty() && !message.contains("panic"), "{name}: {message}");
    }
}

#[test]
fn mistakes_are_told_in_words() {
    let failure = |sql: &str| {
        let problem = answer(vec![table("stage", STAGE, Vec::new()), table("job", STAGE, Vec::new())], sql);
        let failure = problem.unwrap_err().into_failure();
        format!("{} / {}", failure.message, failure.hint.unwrap_or_default())
    };
    let tables = "the tables are job, stage";
    assert_eq!(
        failure("SELECT * FROM jobs"),
        format!("there is no table `jobs` / did you mean `job`? {tables}")
    );
    let schema = failure("SELECT * FROM information_schema.tables");
    assert!(schema.ends_with(tables) && !schema.contains("datafusion"), "{schema}");
    assert_eq!(failure("SELECT * FORM job"), "`FORM` is not expected here / did you mean FROM?");
    assert_eq!(failure("SELECT 1; SELECT 2"), "`SELECT` is not expected here / one statement at a time");
    assert_eq!(failure("DESCRIBE jobs"), format!("there is no table `jobs` / did you mean `job`? {tables}"));
    let known = "SHOW TABLES, SHOW COLUMNS IN table and DESCRIBE table are";
    assert_eq!(failure("SHOW FUNCTIONS"), format!("this SHOW is not answered / {known}"));
    let engine = regex::Regex::new(r"Ident \{|Int64|Int32|Utf8|Float64|List\(|Physical plan|datafusion|__|coerc|No function matches|array_has|unnest|Internal").unwrap();
    for sql in [
        "SELECT stageId FROM job WHERE stageId IN (SELECT 1) OR EXISTS (SELECT 1)",
        "SELECT SUM(1, 2)",
        "SELECT 1 + ARRAY(1)",
        "SELECT STDDEV(names) FROM stage",
        "SELECT ARRAY_CONTAINS(stageId, 1) FROM stage",
        "SELECT EXPLODE(stageId) FROM stage",
        "SELECT UPPER() FROM stage",
        "SELECT FROM_JSON(stageId) FROM stage",
        "SELECT DATE_FORMAT(stageId, 1, 2) FROM stage",
        "SELECT * FROM stage WHERE stageId",
        "SELECT PERCENTILE(names, 0.5) FROM stage",
        "SELECT SUBSTRING() FROM stage",
        "SELECT stageId = ids FROM stage",
        "SELECT nosuch(stageId) FROM stage",
    ] {
        if answer(vec![table("job", STAGE, Vec::new()), table("stage", STAGE, Vec::new())], sql).is_ok() {
            continue;
        }
        let told = failure(sql);
        assert!(!engine.is_match(&told), "{sql}: {told}");
    }
}

#[test]
fn nothing_but_reading() {
    for statement in [
        "DROP TABLE stage",
        "INSERT INTO stage VALUES (1)",
        "CREATE TABLE x AS SELECT 1",
        "SELECT * INTO x FROM stage",
        "COPY stage TO '/tmp/x'",
        "SET x = 1",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "EXPLAIN INSERT INTO stage VALUES (1)",
    ] {
        assert!(told(statement).is_err(), "{statement}");
    }
}

#[test]
fn directories_become_columns() {
    let place = tempfile::tempdir().unwrap();
    // As PerfGazer writes: the run is told by its directories only.
    let one = rows(place.path(), "one.json", &[r#"{"stageId":1}"#]);
    let two = rows(place.path(), "two.json", &[r#"{"stageId":1}"#]);
    let empty = rows(place.path(), "empty.json", &[]);
    let files = vec![
        file(&one, &[("date", "2026-11-30"), ("applicationId", "a"), ("n", "1")]),
        file(&two, &[("date", "2026-12-01"), ("applicationId", "b"), ("n", "2")]),
        file(&empty, &[("date", "2026-12-02"), ("applicationId", "c"), ("n", "3")]),
    ];
    let tables = || vec![table("stage", STAGE, files.clone())];
    let sql = "SELECT stageId, applicationId, date, n + 1 AS m FROM stage ORDER BY n";
    assert_eq!(
        answer(tables(), sql).unwrap(),
        ["stageId|applicationId|date|m", "1|a|2026-11-30|2", "1|b|2026-12-01|3"]
    );
    let join = "SELECT COUNT(*) AS c FROM stage x JOIN stage y ON x.applicationId = y.applicationId AND x.stageId = y.stageId";
    assert_eq!(answer(tables(), join).unwrap(), ["c", "2"]);
}

#[test]
fn columns_that_a_file_lacks_are_null() {
    let place = tempfile::tempdir().unwrap();
    let old = place.path().join("old.parquet");
    let schema = Arc::new(Schema::new(vec![Field::new("stageId", DataType::Int64, true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![7]))]).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&old).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let new = rows(place.path(), "new.json", &[r#"{"stageId":8,"execCpuNs":1,"later":true}"#]);
    let tables = || {
        vec![table("stage", STAGE, vec![file(&old, &[]), file(&new, &[])]), table("job", STAGE, Vec::new())]
    };
    let sql = "SELECT stageId, execCpuNs, ids FROM stage WHERE stageId > 0 ORDER BY stageId";
    assert_eq!(answer(tables(), sql).unwrap(), ["stageId|execCpuNs|ids", "7|null|null", "8|1|null"]);
    assert_eq!(answer(tables(), "SELECT COUNT(*) AS c FROM job").unwrap(), ["c", "0"]);
}
