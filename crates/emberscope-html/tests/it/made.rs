//! A diagnosis made up by hand, with something of everything, and texts that mean harm.

use emberscope_analysis::attribution::{
    Attribution, ModelError, OperatorShare, OperatorSum, Part, ScopeAttribution, Sum,
};
use emberscope_analysis::detector::NotChecked;
use emberscope_analysis::diagnosis::{CleanCheck, Diagnosis, SCHEMA_VERSION};
use emberscope_analysis::finding::{
    Change, ChangeKind, Confidence, Finding, Nature, RangeMs, Recommendation, SavingMethod, Savings, Scope,
    Severity,
};
use emberscope_analysis::profile::{HotFrame, StageProfile};
use emberscope_analysis::verdict::{Action, FixAll, Verdict};
use emberscope_model::run::ApplicationStatus;
use emberscope_model::summary::ApplicationSummary;
use emberscope_model::trust::{FileStatus, FileTrust, Trust};
use serde_json::{Map, Value, json};

/// Text that would be markup, a script, or move a cursor.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J`|*_\u{202e}";

fn range(low: i64, high: i64) -> Savings {
    Savings { wall_ms: Some(RangeMs { low, high }), core_ms: None, method: SavingMethod::Replay }
}

fn conf(key: &str, current: Option<&str>, proposed: &str) -> Change {
    Change {
        kind: ChangeKind::Conf,
        key: key.to_owned(),
        current: current.map(str::to_owned),
        proposed: Some(proposed.to_owned()),
    }
}

fn evidence(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A finding; more is set by hand.
fn finding(id: &str, kind: &'static str, tag: &'static str, severity: Severity, title: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        kind,
        tag,
        variant: None,
        severity,
        nature: Nature::Data,
        scope: Scope::default(),
        title: title.to_owned(),
        evidence: Map::new(),
        profile: None,
        recommendation: Recommendation::default(),
        savings: Savings { wall_ms: None, core_ms: None, method: SavingMethod::None },
        confidence: Confidence::High,
        validate: String::new(),
        doc: format!("{tag}#{kind}"),
        alone_ms: None,
        part_of: None,
        related: Vec::new(),
    }
}

fn sum(parts: &[(Part, i64)]) -> Sum {
    let mut sum = Sum::default();
    parts.iter().for_each(|(part, ms)| sum.add(*part, *ms));
    sum
}

fn findings() -> Vec<Finding> {
    let mut skew = finding(
        "SKEW-0123456789ab",
        "skew",
        "SKEW",
        Severity::Critical,
        "One hot key in the sort-merge join of SQL 4: 1 of 200 tasks reads 31 % of the records",
    );
    let frame = |name: &str, own_share: f64, total_share: f64| HotFrame {
        frame: name.to_owned(),
        own_share,
        total_share,
    };
    skew.profile = Some(StageProfile {
        stage_id: 14,
        stage_attempt: 0,
        event: "wall",
        samples: 12_345,
        waiting_samples: 2_220,
        frames: vec![
            frame("org.example.Parser.split", 0.614, 0.7),
            frame(HOSTILE, 0.201, 0.208),
            frame("java.lang.String.hashCode", 0.002, 0.002),
        ],
        waits: vec![frame("org.example.Client.fetch", 0.172, 0.18), frame(HOSTILE, 0.008, 0.008)],
        executors_not_recorded: 2,
        distortion: Some("Names may be those of callers.".to_owned()),
    });
    skew.scope = Scope {
        stage_id: Some(14),
        stage_attempt: Some(0),
        sql_id: Some(4),
        node_id: Some(7),
        ..Scope::default()
    };
    skew.evidence = evidence(json!({
        "longest_ms": 1_390_000, "median_ms": 24_000, "records_ratio": 56.2, "bytes_ratio": 3.2,
        "records_share": 0.31, "tasks": 200, "keys": ["o.customer_id = c.id"]
    }));
    skew.recommendation = Recommendation {
        text:
            "Salt the join key, 16 ways for the hot key, or handle the hot key apart and union. More shuffle \
               partitions would not help."
                .to_owned(),
        changes: vec![
            Change::code("join on customer_id", "(customer_id, bucket), 16 buckets for the hot key"),
            conf("spark.sql.adaptive.skewJoin.skewedPartitionFactor", Some("5.0"), "2.0"),
        ],
    };
    skew.savings = range(1_260_000, 1_440_000);
    skew.validate = "count rows per customer_id; one key must have a third of them".to_owned();
    let mut spill =
        finding("SPILL-00000000000b", "spill", "SPILL", Severity::Warning, "Task 3121 spills 41 GiB");
    spill.scope = skew.scope.clone();
    spill.part_of = Some(skew.id.clone());
    spill.related = vec![skew.id.clone()];
    spill.evidence = evidence(json!({"memory_spilled_bytes": 44_023_414_784i64}));
    spill.savings = range(0, 30_000);
    skew.related = vec![spill.id.clone()];
    let mut driver = finding(
        "DRIVER-00000000000c",
        "driverBound",
        "DRIVER",
        Severity::Critical,
        "The driver works alone for 6 min 12 s",
    );
    driver.nature = Nature::Code;
    driver.confidence = Confidence::Medium;
    driver.recommendation.text =
        "List fewer files: compact the table, or read it through a catalogue.".to_owned();
    driver.savings = range(180_000, 300_000);
    driver.evidence = evidence(json!({"listing_ms": 230_000, "commit_ms": 118_000}));
    let mut cold = finding(
        "COLD-00000000000d",
        "coldStart",
        "COLD",
        Severity::Warning,
        "Executors arrive 2 min 24 s after the first stage",
    );
    cold.nature = Nature::Configuration;
    cold.recommendation = Recommendation {
        text: "Keep a few executors from the start.".to_owned(),
        changes: vec![conf("spark.dynamicAllocation.minExecutors", None, "4")],
    };
    cold.savings = range(120_000, 144_000);
    let mut hostile = finding(
        "FAIL-00000000000e",
        "failures",
        "FAIL",
        Severity::Warning,
        &format!("12 tasks failed: {HOSTILE}"),
    );
    hostile.recommendation.text = HOSTILE.to_owned();
    hostile.recommendation.changes = vec![conf(HOSTILE, Some(HOSTILE), HOSTILE)];
    hostile.evidence = evidence(json!({HOSTILE: HOSTILE, "reasons": [HOSTILE, 2]}));
    hostile.validate = HOSTILE.to_owned();
    hostile.scope.executor_id = Some(HOSTILE.to_owned());
    let mut idle =
        finding("UTIL-00000000000f", "utilization", "UTIL", Severity::Info, "61 % of the core-time was idle");
    idle.nature = Nature::Resource;
    idle.savings = Savings { wall_ms: None, core_ms: Some(40_000_000), method: SavingMethod::Measured };
    vec![skew, driver, cold, spill, hostile, idle]
}

/// A run of 52 minutes with one hot key.
pub(crate) fn diagnosis() -> Diagnosis {
    let findings = findings();
    let action = |n: usize, savings: Savings, settles: &[&str]| Action {
        finding_ids: std::iter::once(findings[n].id.clone())
            .chain(settles.iter().map(|id| (*id).to_owned()))
            .collect(),
        text: findings[n].recommendation.text.clone(),
        savings,
    };
    let wall = sum(&[
        (Part::Cpu, 672_000),
        (Part::Other, 1_404_000),
        (Part::FetchWait, 186_000),
        (Part::ShuffleWrite, 72_000),
        (Part::Gc, 132_000),
        (Part::Deserialize, 54_000),
        (Part::Scheduling, 96_000),
        (Part::WaitingForExecutors, 144_000),
        (Part::DriverPlanning, 230_000),
        (Part::DriverBetween, 144_000),
    ]);
    let core = sum(&[
        (Part::Cpu, 30_100_000),
        (Part::Other, 6_200_000),
        (Part::FetchWait, 2_000_000),
        (Part::Gc, 1_400_000),
        (Part::LostWork, 900_000),
        (Part::IdleStarting, 2_300_000),
        (Part::IdleNoStage, 9_900_000),
        (Part::IdleTail, 44_000_000),
        (Part::IdleTooFewTasks, 3_688_000),
    ]);
    Diagnosis {
        schema_version: SCHEMA_VERSION,
        source: "logs/app-20261128-0001.zstd".to_owned(),
        application: ApplicationSummary {
            id: Some("app-20261128-0001".to_owned()),
            attempt_id: None,
            name: Some("nightly-orders".to_owned()),
            user: Some("etl".to_owned()),
            spark_version: Some("3.5.9".to_owned()),
            start_time_ms: Some(1_795_831_200_000),
            end_time_ms: Some(1_795_831_200_000 + 3_134_000),
            duration_ms: Some(3_134_000),
            status: ApplicationStatus::Succeeded,
        },
        verdict: Verdict {
            headline:
                "One hot key in the sort-merge join of SQL 4: 1 of 200 tasks reads 31 % of the records; \
                       fixing it saves about 21 min 00 s to 24 min 00 s of 52 min 14 s"
                    .to_owned(),
            actions: vec![
                action(0, range(1_260_000, 1_440_000), &["SPILL-00000000000b"]),
                action(1, range(180_000, 290_000), &[]),
                action(2, range(110_000, 140_000), &[]),
            ],
            fix_all: FixAll { wall_ms: Some(RangeMs { low: 1_560_000, high: 1_860_000 }) },
            notes: vec!["61 % of the core-time was idle: see where under core-time.".to_owned()],
        },
        clean_checks: vec![
            CleanCheck {
                kind: "gc",
                tag: "GC",
                what: "Executors spend much of their time in garbage collection.",
            },
            CleanCheck {
                kind: "tinyTask",
                tag: "TINY",
                what: "Tasks so short that starting them is most of their time.",
            },
            CleanCheck {
                kind: "slowHost",
                tag: "HOST",
                what: "A host slower than its peers on the same data.",
            },
        ],
        not_checked: vec![
            NotChecked {
                kind: "memoryUtilization",
                reason: "the log has no executor metrics".to_owned(),
                enable: Some("spark.eventLog.logStageExecutorMetrics=true".to_owned()),
            },
            NotChecked {
                kind: "cacheUtilization",
                reason: "the log has no block updates".to_owned(),
                enable: Some("spark.eventLog.logBlockUpdates.enabled=true".to_owned()),
            },
        ],
        attribution: Attribution {
            wall,
            core,
            model_error: ModelError { pinned_ms: Some(0), free_ratio: Some(0.018) },
            clamped: 0,
            sql: vec![
                ScopeAttribution { id: "4".to_owned(), wall, core, operators: Some(operators()) },
                ScopeAttribution {
                    id: "2".to_owned(),
                    wall: sum(&[(Part::Cpu, 300_000), (Part::DriverPlanning, 230_000)]),
                    core: sum(&[(Part::Cpu, 9_000_000)]),
                    operators: None,
                },
            ],
            groups: Vec::new(),
            stages: vec![ScopeAttribution {
                id: "14.0".to_owned(),
                wall: sum(&[(Part::Cpu, 120_000), (Part::Other, 1_300_000)]),
                core,
                operators: None,
            }],
            operators: operators(),
        },
        findings,
        tuned_thresholds: vec!["SKEW.ratio".to_owned()],
        trust: Trust {
            files: vec![FileTrust {
                path: "logs/app-20261128-0001.zstd".to_owned(),
                codec: "zstd".to_owned(),
                bytes: 41 << 20,
                decoded_bytes: 1 << 30,
                status: FileStatus::Ok,
                reason: None,
                hint: None,
            }],
            engine: "spark".to_owned(),
            lines: 412_887,
            events: 412_887,
            ..Trust::default()
        },
    }
}

/// What operators of queries took.
fn operators() -> OperatorSum {
    let parts = [("scan", 4_100_000), ("join", 3_900_000), ("no_operator", 2_000_000)];
    OperatorSum {
        total_ms: 10_000_000,
        parts: parts.into_iter().map(|(key, ms)| OperatorShare { key, ms }).collect(),
    }
}
