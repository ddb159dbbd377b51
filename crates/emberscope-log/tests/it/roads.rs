use emberscope_log::block::{Block, ParseOptions, ParsedBlock, parse_block};
use emberscope_log::codec::Decoder;
use emberscope_log::columns::TaskStatus;
use emberscope_log::event::Event;
use emberscope_log::event::task::TaskRow;
use emberscope_log::input::LocalFile;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn parse(bytes: &[u8], without_cursor: bool) -> ParsedBlock {
    let block = Block {
        seq: 0,
        member: 0,
        buffer: bytes.to_vec(),
        len: bytes.len(),
        member_end: None,
        elided_lines: 0,
        is_overlong: false,
    };
    parse_block(&block, ParseOptions { keep_plan_text: true, without_cursor })
}

/// A row with its texts and updates, so that rows of different blocks compare.
fn row_facts(block: &ParsedBlock, row: &TaskRow) -> String {
    use emberscope_log::columns::{TASK_COLUMNS, Unit};
    let values: Vec<String> = TASK_COLUMNS
        .iter()
        .filter_map(|def| {
            let value = row.get(def.column)?;
            let shown = match def.unit {
                Unit::Text => block.sink.strings.text(value as u32).to_owned(),
                _ => value.to_string(),
            };
            Some(format!("{}={shown}", def.name))
        })
        .collect();
    let updates = &block.sink.accumulators[row.accumulators.start as usize..row.accumulators.end as usize];
    format!("{}.{} {} {values:?} {updates:?}", row.stage_id, row.stage_attempt, row.is_result_task)
}

fn facts(block: &ParsedBlock) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(block.task_ends.iter().map(|row| row_facts(block, row)));
    facts.extend(
        block
            .task_starts
            .iter()
            .map(|start| row_facts(block, &TaskRow::of_start(start, TaskStatus::Running))),
    );
    for (line, event) in &block.others {
        match event {
            Event::SqlStart(plan) | Event::SqlPlanUpdate(plan) => {
                let mut plan = plan.clone();
                let tree = plan.plan.take();
                facts.push(format!("{line} {plan:?}"));
                for node in tree.iter().flat_map(|tree| &tree.nodes) {
                    let tree = tree.as_ref().unwrap();
                    facts.push(format!(
                        "{} {:?} {}",
                        tree.text(node.name),
                        node.parent,
                        tree.text(node.simple_string)
                    ));
                }
            }
            other => facts.push(format!("{line} {other:?}")),
        }
    }
    facts.push(format!("{} {} {:?}", block.events, block.bad_line_count, block.sink.non_integer_updates));
    facts
}

fn assert_roads_agree(bytes: &[u8], what: &str) {
    let (fast, slow) = (parse(bytes, false), parse(bytes, true));
    let (fast, slow) = (facts(&fast), facts(&slow));
    for (fast, slow) in fast.iter().zip(&slow) {
        assert_eq!(fast, slow, "{what}");
    }
    assert_eq!(fast.len(), slow.len(), "{what}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

fn decoded(path: &Path) -> Vec<u8> {
    let mut decoder = Decoder::new(Arc::new(LocalFile::open(path).unwrap())).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match decoder.read(&mut buffer) {
            0 => return bytes,
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

#[test]
fn on_every_line_of_every_fixture() {
    let mut files = Vec::new();
    files_below(&repository().join("fixtures/logs"), &mut files);
    assert!(!files.is_empty());
    let own = files.len();
    files_below(&repository().join("../shared/corpus"), &mut files);
    if files.len() == own {
        eprintln!("no corpus beside the project: only the fixtures were compared");
    }
    for path in files {
        assert_roads_agree(&decoded(&path), &path.display().to_string());
    }
}

/// Objects whose keys may come in any order and go missing.
fn shuffled(fields: Vec<(&'static str, Value)>) -> impl Strategy<Value = String> {
    let n = fields.len();
    (Just(fields).prop_shuffle(), proptest::collection::vec(proptest::bool::weighted(0.9), n)).prop_map(
        |(fields, keep)| {
            let fields: Vec<String> = fields
                .iter()
                .zip(keep)
                .filter(|(_, keep)| *keep)
                .map(|((key, value), _)| format!("{}:{value}", json!(key)))
                .collect();
            format!("{{{}}}", fields.join(","))
        },
    )
}

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => (0i64..1_000_000).prop_map(|n| json!(n)),
        1 => any::<i64>().prop_map(|n| json!(n)),
        1 => any::<u64>().prop_map(|n| json!(n)),
        1 => any::<i32>().prop_map(|n| json!(n.to_string())),
        1 => (0f64..10.0).prop_map(|n| json!(n)),
        1 => Just(Value::Null),
        1 => Just(json!([{"a": ["]", "}"]}])),
    ]
}

fn any_accumulable() -> impl Strategy<Value = String> {
    (any::<u32>(), "(internal\\.metrics\\.)?\\PC{0,10}", any_number(), any_number()).prop_flat_map(
        |(id, name, update, value)| {
            shuffled(vec![
                ("ID", json!(id)),
                ("Name", json!(name)),
                ("Update", update),
                ("Value", value),
                ("Internal", json!(true)),
                ("Count Failed Values", json!(true)),
                ("Metadata", json!("sql")),
            ])
        },
    )
}

fn any_task_end() -> impl Strategy<Value = String> {
    let text = "[a-z0-9.\\\\\"é-]{0,8}";
    let info = (text, text, any_number(), any_number(), any::<bool>()).prop_flat_map(
        |(executor, host, a, b, spec)| {
            shuffled(vec![
                ("Task ID", json!(77)),
                ("Index", a.clone()),
                ("Attempt", json!(0)),
                ("Partition ID", json!(3)),
                ("Launch Time", json!(1000)),
                ("Executor ID", json!(executor)),
                ("Host", json!(host)),
                ("Locality", json!("ANY")),
                ("Speculative", json!(spec)),
                ("Getting Result Time", json!(0)),
                ("Finish Time", b),
                ("Failed", json!(false)),
                ("Unheard Of", json!({"x": [1, {"y": "}"}]})),
                ("Accumulables", json!("@ACCUMULABLES@")),
            ])
        },
    );
    let metrics = (any_number(), any_number()).prop_flat_map(|(a, b)| {
        shuffled(vec![
            ("Executor Run Time", a.clone()),
            ("Executor CPU Time", b.clone()),
            ("JVM GC Time", json!(1)),
            (
                "Shuffle Read Metrics",
                json!({"Fetch Wait Time": 4, "Push Based Shuffle": {"x": 1}, "Total Records Read": 9}),
            ),
            ("Shuffle Write Metrics", json!({"Shuffle Write Time": 5, "Shuffle Bytes Written": 6})),
            ("Input Metrics", json!({"Records Read": 5, "Bytes Read": 6})),
            ("Output Metrics", json!({})),
            ("Updated Blocks", json!([{"Block ID": "rdd_1_2"}])),
        ])
    });
    let accumulables = proptest::collection::vec(any_accumulable(), 0..6);
    let reason = prop_oneof![
        4 => Just(json!({"Reason": "Success"})),
        1 => Just(json!({"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"})),
        1 => Just(json!({"Reason": "FetchFailed", "Shuffle ID": 1, "Message": "x"})),
    ];
    (info, metrics, accumulables, reason, any::<bool>()).prop_flat_map(
        |(info, metrics, accs, reason, null_metrics)| {
            shuffled(vec![
                ("Stage ID", json!(4)),
                ("Stage Attempt ID", json!(1)),
                ("Task Type", json!("ResultTask")),
                ("Task End Reason", reason),
                ("Task Info", json!("@INFO@")),
                ("Task Executor Metrics", json!({"JVMHeapMemory": 12, "Odd": 1, "TotalGCTime": 3})),
                ("Task Metrics", if null_metrics { Value::Null } else { json!("@METRICS@") }),
            ])
            .prop_map(move |line| {
                let line = line
                    .replace("\"@METRICS@\"", &metrics)
                    .replace("\"@INFO@\"", &info)
                    .replace("\"@ACCUMULABLES@\"", &format!("[{}]", accs.join(",")));
                format!("{{\"Event\":\"SparkListenerTaskEnd\",{}", &line[1..]).replace(",}", "}")
            })
        },
    )
}

proptest! {
    #[test]
    fn on_task_ends_of_any_shape(line in any_task_end()) {
        assert_roads_agree(line.as_bytes(), &line);
    }

    #[test]
    fn on_task_starts(line in any_task_end()) {
        let line = line.replace("SparkListenerTaskEnd", "SparkListenerTaskStart");
        assert_roads_agree(line.as_bytes(), &line);
    }

    #[test]
    fn cut_and_damaged_lines_never_panic(line in any_task_end(), cut in 0usize..3000, flip in any::<u8>()) {
        let mut bytes = line.into_bytes();
        let at = cut % bytes.len();
        let _ = parse(&bytes[..at], false);
        bytes[at] ^= flip;
        let _ = parse(&bytes, false);
    }
}
