//! SQL texts, by their clauses.

use emberscope_text::sql::{Fragment, FragmentKind, normalised, outline};

fn of(text: &str, kind: FragmentKind) -> Vec<Fragment> {
    outline(text).fragments.into_iter().filter(|fragment| fragment.kind == kind).collect()
}

#[test]
fn clauses_of_a_real_query() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/explain-3.5.9/query.sql");
    let text = std::fs::read_to_string(path).unwrap();
    let found = outline(&text);
    assert_eq!((found.statements, found.notes.len()), (1, 0), "{:?}", found.notes);
    let shown: Vec<String> = found
        .fragments
        .iter()
        .map(|f| {
            format!(
                "{}:{}-{}:{} {:?} {} {:?}",
                f.start.line, f.start.column, f.end.line, f.end.column, f.kind, f.text, f.columns
            )
        })
        .collect();
    let expected = [
        "2:8-2:15 Aggregate count(*) []",
        "3:8-3:30 DistinctAggregate count(DISTINCT f.buyer) [\"buyer\"]",
        "4:8-4:20 Aggregate sum(f.amount) [\"amount\"]",
        "5:6-5:9 Table fact []",
        "6:6-6:8 Table dim []",
        "6:6-6:35 Join dim d ON f.item_id = d.item_id [\"item_id\"]",
        "7:7-7:53 Filter f.amount > (SELECT avg(amount) / 100 FROM fact) [\"amount\"]",
        "7:26-7:36 Aggregate avg(amount) [\"amount\"]",
        "7:49-7:52 Table fact []",
        "8:10-8:15 GroupBy d.name [\"name\"]",
        "9:10-9:15 OrderBy amount [\"amount\"]",
        "10:7-10:8 Limit 10 []",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn spark_s_own_forms() {
    let text = "WITH a AS (SELECT /*+ BROADCAST(b) */ k, row_number() OVER (PARTITION BY k ORDER BY ts DESC) r FROM db.t1)\n\
                INSERT OVERWRITE TABLE out SELECT DISTINCT a.k FROM a LEFT SEMI JOIN `db`.`t2` b USING (k)\n\
                LATERAL VIEW explode(xs) e AS x WHERE a.r = 1 DISTRIBUTE BY k";
    assert_eq!(of(text, FragmentKind::Window)[0].columns, ["k", "ts"]);
    assert_eq!(of(text, FragmentKind::Distinct).len(), 1);
    assert_eq!(of(text, FragmentKind::DistributeBy).len(), 1);
    let tables: Vec<String> =
        of(text, FragmentKind::Table).into_iter().flat_map(|table| table.tables).collect();
    assert!(tables.contains(&"db.t1".to_owned()) && tables.contains(&"db.t2".to_owned()), "{tables:?}");
}

#[test]
fn what_the_parser_refuses_is_read_by_keywords() {
    let text = "SELECT TRANSFORM(a) USING 'x' AS (b) FROM db.t\nJOIN u ON t.k = u.k2 GROUP BY a, b ORDER BY c ~~~ ???";
    let found = outline(text);
    assert_eq!(found.notes.len(), 1);
    let kinds: Vec<FragmentKind> = found.fragments.iter().map(|fragment| fragment.kind).collect();
    for kind in [FragmentKind::Table, FragmentKind::Join, FragmentKind::GroupBy, FragmentKind::OrderBy] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(of(text, FragmentKind::GroupBy)[0].columns, ["a", "b"]);
    assert_eq!(of(text, FragmentKind::Join)[0].tables, ["u"]);
}

#[test]
fn statements_of_a_script() {
    let found =
        outline("SET spark.sql.shuffle.partitions=10;\nUSE db;;\nSELECT k, sum(v) FROM t GROUP BY 1;\n");
    assert_eq!(found.statements, 3);
    assert_eq!(of("SELECT k, sum(v) FROM t GROUP BY 1", FragmentKind::GroupBy)[0].columns, ["k"]);
    assert!(
        found
            .fragments
            .iter()
            .any(|fragment| fragment.kind == FragmentKind::GroupBy && fragment.start.line == 3)
    );
}

#[test]
fn writings_of_one_query_are_equal() {
    assert_eq!(normalised("select A , b\nfrom T -- all\n;"), normalised("SELECT a, B FROM t"));
    assert_ne!(normalised("select 'A'"), normalised("select 'b'"));
}

#[test]
fn nothing_panics() {
    for text in
        ["", ";", "'", "SELECT (((((", "((((", "é ü 漢字 SELECT 'x' FROM 漢 GROUP BY é", "/* ", "SELECT `"]
    {
        outline(text);
    }
    outline(&"(".repeat(10_000));
    outline(&"SELECT ".repeat(10_000));
}

#[test]
fn statements_are_told_from_call_sites_and_words() {
    let is = |text: &str| emberscope_text::sql::has_statement(text, &outline(text));
    for text in [
        "SELECT a FROM t",
        "-- nightly\nWITH x AS (SELECT 1 a) SELECT * FROM x",
        "SET spark.sql.shuffle.partitions=10;\nINSERT INTO t SELECT * FROM u",
        "(SELECT a FROM t) UNION ALL SELECT b FROM u",
        "CREATE TABLE x AS SELECT a FROM t",
        "EXPLAIN FORMATTED SELECT a FROM t",
    ] {
        assert!(is(text), "{text}");
    }
    for text in [
        "",
        "collect at X.py:3",
        "create at X:1",
        "delete at A.java:9",
        "load the shop",
        "Spark Connect - x",
        "\0\u{1}",
    ] {
        assert!(!is(text), "{text}");
    }
}

#[test]
fn deep_statements_are_read_to_their_end() {
    let or = |n: usize| (0..n).map(|i| format!("x = {i}")).collect::<Vec<_>>().join(" OR ");
    let union = (0..2_000).map(|i| format!("SELECT {i} FROM t{i}")).collect::<Vec<_>>().join(" UNION ALL ");
    let nested = format!("SELECT {}1{} FROM t", "(".repeat(100_000), ")".repeat(100_000));
    for (text, notes, least) in [
        (format!("SELECT a FROM t WHERE {} ORDER BY b", or(4_000)), 0, 3),
        (format!("SELECT a FROM t WHERE {} ORDER BY b", or(100_000)), 1, 3),
        (union, 0, 2_000),
        (nested, 1, 1),
    ] {
        let found = outline(&text);
        assert_eq!(found.notes.len(), notes, "{:?}", found.notes);
        assert!(found.fragments.len() >= least, "{} of {}", found.fragments.len(), &text[..60]);
    }
}

#[test]
fn a_query_into_a_directory() {
    let text = "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' USING parquet OPTIONS (a 'b')\nWITH c AS (SELECT k FROM t)\nSELECT k, f(k) FROM c GROUP BY k";
    let found = outline(text);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let keys = of(text, FragmentKind::GroupBy);
    assert_eq!((keys[0].start.line, keys[0].columns.as_slice()), (3, &["k".to_owned()][..]));
    assert_eq!(found.calls.len(), 1);
    assert_eq!(
        (found.calls[0].text.as_str(), found.calls[0].tables.as_slice()),
        ("f(k)", &["f".to_owned()][..])
    );
}
