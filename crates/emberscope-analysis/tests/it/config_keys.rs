//! The table of settings against what Spark says of itself (`tests/config_referee.py`).

use emberscope_analysis::config::{ConfKey, KEYS, Version, key, parse_bytes, parse_ms};
use serde_json::Value;
use std::path::Path;

/// Settings that Spark reads by their name without registering them, so that it says nothing about them.
const READ_BY_NAME: &[&str] = &[
    "spark.default.parallelism",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version",
    "spark.reducer.maxReqSizeShuffleToMem",
    "spark.shuffle.io.connectionTimeout",
    "spark.shuffle.io.maxRetries",
    "spark.shuffle.io.numConnectionsPerPeer",
    "spark.shuffle.io.retryWait",
    "spark.sql.hive.convertMetastoreParquet",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.stage.maxConsecutiveAttempts",
    "spark.yarn.driver.memoryOverhead",
    "spark.yarn.executor.memoryOverhead",
];

/// Settings whose default depends on the cluster: the table gives none.
const BY_CLUSTER: &[&str] = &["spark.executor.cores"];

#[test]
fn every_default_is_the_one_of_spark() {
    for (file, version) in [("3.5.9", Version(3, 5)), ("4.3.0", Version(4, 3))] {
        let answers = answers(file);
        for key in KEYS {
            check(key, version, answers.get(key.name));
        }
    }
}

fn answers(version: &str) -> serde_json::Map<String, Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config_answers").join(format!("{version}.json"));
    let mut answers: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    match answers["settings"].take() {
        Value::Object(settings) => settings,
        other => panic!("no settings: {other}"),
    }
}

fn check(key: &ConfKey, version: Version, answer: Option<&Value>) {
    let name = key.name;
    let Some(answer) = answer else {
        let is_known = READ_BY_NAME.contains(&name) || name.starts_with("spark.blacklist.");
        assert!(is_known || !key.exists_in(version), "{name}: Spark {version:?} does not know it");
        return;
    };
    assert!(key.exists_in(version), "{name}: Spark {version:?} has it");
    let since = answer[1].as_str().and_then(Version::parse);
    assert!(since.is_none_or(|since| since == key.since), "{name}: since {since:?}");
    if let Some(unit) = answer[2].as_str() {
        let bare = match unit {
            "b" | "k" | "m" => key.bare_bytes,
            _ => key.bare_ms,
        };
        let expected = match unit {
            "b" | "ms" => 1,
            "k" => 1 << 10,
            "m" => 1 << 20,
            "s" => 1000,
            other => panic!("{name}: unit {other}"),
        };
        assert_eq!(bare, expected, "{name}: a bare number is in {unit}");
    }
    let ours = key.default_in(version);
    let theirs = answer[0].as_str().filter(|value| !value.starts_with("<value of"));
    match (ours, theirs) {
        // A default that is another setting's value is none of its own, save where the table says it.
        (None, _) if BY_CLUSTER.contains(&name) => {}
        (_, None) if answer[0].is_string() => {}
        (ours, theirs) => {
            let same = ours.zip(theirs).is_some_and(|(ours, theirs)| is_same(key, ours, theirs));
            assert!(same || ours == theirs, "{name} in {version:?}: {ours:?}, Spark says {theirs:?}");
        }
    }
}

fn is_same(key: &ConfKey, ours: &str, theirs: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    ours.eq_ignore_ascii_case(theirs)
        || number(ours).is_some_and(|ours| Some(ours) == number(theirs))
        || parse_bytes(ours, key.bare_bytes)
            .is_some_and(|ours| Some(ours) == parse_bytes(theirs, key.bare_bytes))
        || parse_ms(ours, key.bare_ms).is_some_and(|ours| Some(ours) == parse_ms(theirs, key.bare_ms))
}

#[test]
fn defaults_that_changed() {
    for (name, version, default) in [
        ("spark.sql.adaptive.enabled", Version(3, 1), Some("false")),
        ("spark.sql.adaptive.enabled", Version(3, 2), Some("true")),
        ("spark.sql.adaptive.coalescePartitions.parallelismFirst", Version(3, 1), None),
        ("spark.speculation.multiplier", Version(3, 5), Some("1.5")),
        ("spark.speculation.multiplier", Version(4, 0), Some("3")),
        ("spark.dynamicAllocation.shuffleTracking.enabled", Version(3, 3), Some("false")),
        ("spark.dynamicAllocation.shuffleTracking.enabled", Version(3, 4), Some("true")),
        ("spark.sql.execution.pythonUDF.arrow.enabled", Version(4, 1), Some("false")),
        ("spark.sql.execution.pythonUDF.arrow.enabled", Version(4, 2), Some("true")),
    ] {
        assert_eq!(key(name).unwrap().default_in(version), default, "{name} in {version:?}");
    }
    assert!(!key("spark.blacklist.enabled").unwrap().exists_in(Version(4, 1)));
    assert!(key("spark.blacklist.enabled").unwrap().exists_in(Version(4, 0)));
}
