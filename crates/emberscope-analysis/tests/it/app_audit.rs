//! Failed jobs, incomplete runs, configuration, caches, and the log itself.

use crate::made::{Made, MadeTask, fixture, of_kind, said, task};
use emberscope_analysis::finding::{Claim, Severity, Worth};
use serde_json::{Value, json};

fn number(claim: &Claim, name: &str) -> f64 {
    claim.evidence.get(name).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {name}: {claim:?}"))
}

/// A job without stages that failed with a message.
fn failed_job(made: &mut Made, id: u32, message: &str) {
    let now = made.now;
    made.line(
        json!({"Event": "SparkListenerJobStart", "Job ID": id, "Submission Time": now, "Stage Infos": [],
        "Stage IDs": [], "Properties": {}}),
    );
    made.line(
        json!({"Event": "SparkListenerJobEnd", "Job ID": id, "Completion Time": now + 3000, "Job Result":
        {"Result": "JobFailed", "Exception": {"Message": message, "Stack Trace": []}}}),
    );
    made.wait(4000);
}

#[test]
fn failed_jobs_are_a_rate_and_cancelled_ones_are_not_failed() {
    let error = "Job aborted due to stage failure: Task 3 in stage 1.0 failed 4 times";
    let cancelled = "Job 7 cancelled as part of cancellation of all jobs";
    // (succeeded jobs, failed, cancelled, fires)
    for (succeeded, failed, stopped, fires) in
        [(3, 1, 0, true), (12, 1, 0, false), (3, 0, 2, false), (0, 1, 5, true)]
    {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for n in 0..failed {
            failed_job(&mut made, 500 + n, error);
        }
        for n in 0..stopped {
            failed_job(&mut made, 600 + n, cancelled);
        }
        for _ in 0..succeeded {
            made.job(None, &[vec![task(1000)]]);
        }
        let sink = said(&made.run(), "JOBS");
        let claims = of_kind(&sink, "jobFailureRate");
        assert_eq!(claims.len(), usize::from(fires), "{succeeded} {failed} {stopped}");
        if let Some(claim) = claims.first() {
            assert_eq!(number(claim, "failed_jobs"), f64::from(failed + stopped));
            let all = failed + stopped + succeeded;
            assert!(
                claim.title.starts_with(&format!("{} of {all} job", failed + stopped)),
                "{}",
                claim.title
            );
            assert_eq!(claim.title.contains("of them cancelled"), stopped > 0, "{}", claim.title);
            assert_eq!(number(claim, "failed_jobs_wall_ms"), 3000.0);
            assert_eq!(number(claim, "cancelled_jobs"), f64::from(stopped));
            assert!(claim.severity >= Some(Severity::Warning));
        }
    }
}

#[test]
fn a_job_s_message_is_told_by_what_says_most() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    failed_job(
        &mut made,
        500,
        "Job aborted due to stage failure: Task 2 in stage 1.0 failed 3 times, most recent failure: Lost task 2.2 in stage \
         1.0 (TID 10) (localhost executor driver): org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  \
         File \"a.py\", line 3, in f\n    raise ValueError(x)\nValueError: bad record\n\n\tat org.apache.spark.X",
    );
    let sink = said(&made.run(), "JOBS");
    assert_eq!(
        sink.claims()[0].recommendation.text,
        "Start with job 500: ValueError: bad record. Its failed stage tells the cause."
    );
}

#[test]
fn real_logs_with_and_without_an_end() {
    for (name, fires) in [
        ("killed-plain-3.5.9", true),
        ("killed-zstd-3.5.9", true),
        ("killed-rolled-4.3.0", true),
        ("empty-4.3.0", false),
        ("sql-aqe-4.3.0", false),
        ("failures-4.3.0", false),
    ] {
        let sink = said(&fixture(name), "INCMP");
        assert_eq!(of_kind(&sink, "incompleteRun").len(), usize::from(fires), "{name}");
    }
    let mut made = Made::new("3.5.9", 1, 1, &[]);
    made.job(None, &[vec![task(1000)]]);
    made.without_end();
    assert_eq!(said(&made.run(), "INCMP").claims().len(), 1);
}

fn audited(version: &str, properties: &[(&str, &str)]) -> Vec<String> {
    let mut made = Made::new(version, 2, 2, properties);
    made.job(None, &[vec![task(1000)]]);
    let sink = said(&made.run(), "CFG");
    let mut subjects: Vec<String> = sink.claims().iter().map(|claim| claim.subject.clone()).collect();
    subjects.sort();
    for claim in sink.claims() {
        assert!(claim.title.contains("spark.") || claim.title.contains("Dynamic"), "{}", claim.title);
        assert_eq!(claim.severity, Some(Severity::Info));
    }
    subjects
}

#[test]
fn configuration_rules() {
    const DA: (&str, &str) = ("spark.dynamicAllocation.enabled", "true");
    const MAX: (&str, &str) = ("spark.dynamicAllocation.maxExecutors", "20");
    const DBR: (&str, &str) = ("spark.databricks.clusterUsageTags.sparkVersion", "8.4.x-photon-scala2.12");
    let max = "spark.dynamicAllocation.maxExecutors";
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [&'c str]);
    let cases: &[Case<'_>] = &[
        ("3.5.9", &[], &[]),
        ("4.3.0", &[], &[]),
        // The seed's four: the shuffle service only where tracking and decommission are off too.
        ("3.2.0", &[DA, MAX], &["spark.shuffle.service.enabled"]),
        ("3.5.9", &[DA, MAX], &[]),
        ("3.2.0", &[DA, MAX, ("spark.shuffle.service.enabled", "true")], &[]),
        ("3.2.0", &[DA, MAX, ("spark.dynamicAllocation.shuffleTracking.enabled", "true")], &[]),
        (
            "3.2.0",
            &[
                DA,
                MAX,
                ("spark.decommission.enabled", "true"),
                ("spark.storage.decommission.shuffleBlocks.enabled", "true"),
            ],
            &[],
        ),
        ("3.5.9", &[DA], &[max]),
        ("3.5.9", &[DA, MAX, ("spark.dynamicAllocation.minExecutors", "30")], &[max]),
        ("3.5.9", &[DA, MAX, ("spark.dynamicAllocation.initialExecutors", "30")], &[max]),
        ("3.5.9", &[DA, MAX, ("spark.dynamicAllocation.minExecutors", "3")], &[]),
        (
            "3.5.9",
            &[("spark.executor.memory", "8g"), ("spark.executor.memoryOverhead", "400")],
            &["spark.executor.memoryOverhead"],
        ),
        ("3.5.9", &[("spark.executor.memory", "8g"), ("spark.executor.memoryOverhead", "1g")], &[]),
        ("3.5.9", &[("spark.executor.memory", "2g"), ("spark.executor.memoryOverhead", "384")], &[]),
        // SQL work has its own format: Java's serializer does not matter.
        ("3.5.9", &[("spark.serializer", "org.apache.spark.serializer.JavaSerializer")], &[]),
        // What Databricks sets on every cluster is not the program's.
        ("3.1.1", &[("spark.shuffle.memoryFraction", "0.2")], &["spark.shuffle.memoryFraction"]),
        ("3.1.1", &[DBR, ("spark.shuffle.memoryFraction", "0.2")], &[]),
        ("3.1.1", &[DBR, ("spark.shuffle.memoryFraction", "0.7")], &["spark.shuffle.memoryFraction"]),
        ("3.1.1", &[("spark.speculation.multiplier", "3")], &["spark.speculation"]),
        ("3.1.1", &[DBR, ("spark.speculation.multiplier", "3"), ("spark.speculation.quantile", "0.9")], &[]),
        // Dead by version.
        ("4.3.0", &[("spark.blacklist.enabled", "true")], &["spark.blacklist.enabled"]),
        ("3.5.9", &[("spark.blacklist.enabled", "true")], &[]),
        (
            "3.1.2",
            &[
                ("spark.sql.adaptive.coalescePartitions.parallelismFirst", "false"),
                ("spark.sql.adaptive.enabled", "true"),
            ],
            &["spark.sql.adaptive.coalescePartitions.parallelismFirst"],
        ),
        // Databricks' runtime is not Spark's version; what holds no version proves nothing.
        ("DBR 10.4", &[("spark.shuffle.memoryFraction", "0.2")], &["spark.shuffle.memoryFraction"]),
        ("DBR 10.4", &[("spark.blacklist.enabled", "true")], &[]),
        ("custom", &[("spark.blacklist.enabled", "true")], &[]),
        // Dead because their switch is off.
        (
            "3.5.9",
            &[
                ("spark.sql.adaptive.enabled", "false"),
                ("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "3"),
            ],
            &["spark.sql.adaptive.enabled"],
        ),
        ("3.5.9", &[("spark.speculation.quantile", "0.5")], &["spark.speculation"]),
        ("3.5.9", &[("spark.speculation.quantile", "0.5"), ("spark.speculation", "true")], &[]),
        ("3.5.9", &[("spark.speculation.quantile", "0.75")], &[]),
        ("3.5.9", &[("spark.memory.offHeap.size", "2g")], &["spark.memory.offHeap.enabled"]),
        ("3.5.9", &[("spark.memory.offHeap.enabled", "true")], &["spark.memory.offHeap.size"]),
        ("3.5.9", &[("spark.network.timeout", "10s")], &["spark.executor.heartbeatInterval"]),
        ("3.5.9", &[("spark.shuffle.push.enabled", "true")], &["spark.shuffle.push.enabled"]),
        ("3.5.9", &[("spark.kryo.registrationRequired", "true")], &["spark.kryo"]),
    ];
    for (version, properties, expected) in cases {
        assert_eq!(audited(version, properties), *expected, "{version} {properties:?}");
    }
}

#[test]
fn dynamic_allocation_is_audited_in_local_mode_too() {
    const DA: (&str, &str) = ("spark.dynamicAllocation.enabled", "true");
    const MAX: (&str, &str) = ("spark.dynamicAllocation.maxExecutors", "2");
    let tracking = |value| ("spark.dynamicAllocation.shuffleTracking.enabled", value);
    let least = |value| ("spark.dynamicAllocation.minExecutors", value);
    for (properties, expected) in [
        (vec![DA, MAX, tracking("false")], Some("spark.shuffle.service.enabled")),
        (vec![DA, MAX, tracking("true"), least("10")], Some("spark.dynamicAllocation.maxExecutors")),
        (vec![DA, MAX, tracking("true"), least("1")], None),
        (vec![("spark.executor.memory", "8g"), ("spark.executor.memoryOverhead", "400")], None),
    ] {
        let mut made = Made::new("3.5.9", 0, 2, &properties);
        made.line(
            json!({"Event": "SparkListenerExecutorAdded", "Timestamp": made.now, "Executor ID": "driver",
            "Executor Info": {"Host": "h", "Total Cores": 4, "Log Urls": {}}}),
        );
        let sink = said(&made.run(), "CFG");
        let subjects: Vec<&str> = sink.claims().iter().map(|claim| claim.subject.as_str()).collect();
        assert_eq!(subjects, Vec::from_iter(expected), "{properties:?}");
        assert!(sink.claims().iter().all(|claim| claim.recommendation.text.contains("Local mode itself")));
    }
}

#[test]
fn the_serializer_matters_where_rdds_shuffle() {
    let shuffle = json!({"Shuffle Write Metrics":
        {"Shuffle Bytes Written": 1_000_000, "Shuffle Write Time": 0, "Shuffle Records Written": 1000}});
    // (in SQL, serializer, fires)
    for (sql, serializer, fires) in [
        (None, "org.apache.spark.serializer.JavaSerializer", true),
        (None, "org.apache.spark.serializer.KryoSerializer", false),
        (Some(1), "org.apache.spark.serializer.JavaSerializer", false),
    ] {
        let mut made = Made::new("3.5.9", 2, 2, &[("spark.serializer", serializer)]);
        made.sql(
            1,
            "query",
            &json!({"nodeName": "Project", "simpleString": "", "children": [], "metrics": []}),
            &json!({}),
        );
        made.job(sql, &[vec![task(1000).with(shuffle.clone())]]);
        assert_eq!(said(&made.run(), "CFG").claims().len(), usize::from(fires), "{sql:?} {serializer}");
    }
    // Python's rows are bytes already: a fact, whose gain is said to be small.
    let mut made =
        Made::new("3.5.9", 2, 2, &[("spark.serializer", "org.apache.spark.serializer.JavaSerializer")]);
    made.stage_name = "reduceByKey at PythonRDD.scala:1".to_owned();
    made.job(None, &[vec![task(1000).with(shuffle.clone())]]);
    let sink = said(&made.run(), "CFG");
    let [claim] = sink.claims() else { panic!("{:?}", sink.claims()) };
    assert!(claim.title.starts_with("Python RDDs") && claim.recommendation.text.contains("gain is small"));
    assert_eq!(claim.severity, Some(Severity::Info));
}

#[test]
fn pools_need_fair_scheduling() {
    for (mode, fires) in [("FIFO", true), ("FAIR", false)] {
        let mut made = Made::new("3.5.9", 1, 1, &[("spark.scheduler.mode", mode)]);
        let stage = made.job(None, &[vec![task(1000)]])[0];
        let now = made.now;
        made.line(json!({"Event": "SparkListenerStageSubmitted", "Properties": {"spark.scheduler.pool": "reports"},
            "Stage Info": {"Stage ID": stage + 1, "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 1,
            "RDD Info": [], "Parent IDs": [], "Details": "", "Submission Time": now, "Accumulables": []}}));
        assert_eq!(said(&made.run(), "CFG").claims().len(), usize::from(fires), "{mode}");
    }
}

const LEVEL: &str = "Disk Memory Deserialized 1x Replicated";

fn block(rdd: u32, partition: u32, memory: i64, disk: i64) -> Value {
    json!({"Event": "SparkListenerBlockUpdated", "Block Updated Info": {
        "Block Manager ID": {"Executor ID": "1", "Host": "h1", "Port": 1}, "Block ID": format!("rdd_{rdd}_{partition}"),
        "Storage Level": {"Use Disk": disk > 0, "Use Memory": memory > 0, "Use Off Heap": false,
            "Deserialized": true, "Replication": 1}, "Memory Size": memory, "Disk Size": disk}})
}

/// A stage whose RDD is persisted.
fn persisted(made: &mut Made, stage: u32, rdd: u32, partitions: usize) {
    with_rdds(made, stage, &[rdd], partitions);
}

/// Lists RDDs of a stage, all of them persisted.
fn with_rdds(made: &mut Made, stage: u32, rdds: &[u32], partitions: usize) {
    let now = made.now;
    let rdds: Vec<Value> = rdds
        .iter()
        .map(|rdd| {
            json!({"RDD ID": rdd, "Name": "In-memory table hot", "Parent IDs": [], "Storage Level": {"Use Disk": true,
                "Use Memory": true, "Use Off Heap": false, "Deserialized": true, "Replication": 1},
                "Number of Partitions": partitions, "Number of Cached Partitions": 0, "Memory Size": 0, "Disk Size": 0})
        })
        .collect();
    made.line(
        json!({"Event": "SparkListenerStageSubmitted", "Properties": {}, "Stage Info": {"Stage ID": stage,
        "Stage Attempt ID": 0, "Stage Name": LEVEL, "Number of Tasks": 1, "Parent IDs": [], "Details": "",
        "Submission Time": now, "Accumulables": [], "RDD Info": rdds}}),
    );
}

#[test]
fn caches_are_judged_by_what_they_ever_held() {
    let mib = 1_i64 << 20;
    type Case<'c> = (&'c str, Vec<Value>, &'c [&'c str]);
    let all = |memory: i64, disk: i64| (0..10).map(|n| block(50, n, memory, disk)).collect::<Vec<Value>>();
    let evicted = |n: u32| block(50, n, 0, 0);
    let mut squeezed: Vec<Value> = (0..4).map(|n| block(50, n, 8 * mib, 0)).collect();
    squeezed.push(evicted(0));
    let unpersisted = json!({"Event": "SparkListenerUnpersistRDD", "RDD ID": 50});
    let mut let_go = all(8 * mib, 0);
    let_go.push(unpersisted);
    let cases: [Case<'_>; 5] = [
        ("whole", all(8 * mib, 0), &[]),
        ("unpersisted at the end", let_go, &[]),
        ("evicted", squeezed, &["cacheUtilization"]),
        (
            "on disk",
            (0..10)
                .map(|n| block(50, n, if n < 5 { 8 * mib } else { 0 }, if n < 5 { 0 } else { 8 * mib }))
                .collect(),
            &["cacheUtilization"],
        ),
        ("only asked for in part", vec![block(50, 0, 8 * mib, 0)], &[]),
    ];
    for (name, updates, expected) in cases {
        let mut made = Made::new("3.5.9", 1, 2, &[]);
        // Read by two stages, so that it is used.
        for _ in 0..2 {
            let stage = made.job(None, &[vec![task(1000)]])[0];
            persisted(&mut made, stage, 50, 10);
        }
        for update in updates {
            made.line(update);
        }
        let sink = said(&made.run(), "CSTOR");
        let kinds: Vec<&str> = sink.claims().iter().map(|claim| claim.kind).collect();
        assert_eq!(kinds, expected, "{name}");
    }
}

#[test]
fn partitions_without_room_cost_their_readers_and_are_no_skew() {
    let mib = 1_i64 << 20;
    // (partitions in the cache, whether the readers' long tasks are the cache's, or the input's)
    for (cached, is_of_the_cache) in [(8, true), (10, false)] {
        let mut made = Made::new("3.5.9", 2, 4, &[]);
        let fill = made.job(None, &[(0..10).map(|_| task(1000)).collect()])[0];
        persisted(&mut made, fill, 50, 10);
        // A batch of a cached partition counts as a record; what is computed again has all its rows.
        let read = |n: usize| if n < 8 { task(200).input(mib, 1) } else { task(6000).input(mib, 90_000) };
        let reader = made.job(None, &[(0..10).map(read).collect()])[0];
        persisted(&mut made, reader, 50, 10);
        for n in 0..cached {
            made.line(block(50, n, 8 * mib, 0));
        }
        if cached < 10 {
            made.line(block(50, 7, 0, 0));
        }
        let run = made.run();
        assert_eq!(said(&run, "SKEW").claims().is_empty(), is_of_the_cache);
        let sink = said(&run, "CSTOR");
        assert_eq!(of_kind(&sink, "cacheUtilization").len(), usize::from(is_of_the_cache));
        for claim in of_kind(&sink, "cacheUtilization") {
            assert_eq!(claim.stages, [(reader, 0)]);
            let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
            assert_eq!((low.len(), high.len()), (1, 1));
        }
    }
}

#[test]
fn a_cache_that_nobody_reads() {
    let mib = 1_i64 << 20;
    for (stages, bytes, fires) in [(1, 8 * mib, true), (2, 8 * mib, false), (1, mib / 10, false)] {
        let mut made = Made::new("3.5.9", 1, 2, &[]);
        for _ in 0..stages {
            let stage = made.job(None, &[vec![task(1000)]])[0];
            persisted(&mut made, stage, 50, 10);
        }
        for n in 0..10 {
            made.line(block(50, n, bytes, 0));
        }
        let sink = said(&made.run(), "CSTOR");
        assert_eq!(of_kind(&sink, "cacheUnused").len(), usize::from(fires), "{stages} {bytes}");
    }
}

#[test]
fn caches_of_a_library_are_not_the_program_s() {
    for (name, fires) in [("mine", true), ("Delta Table State #2 - file:///t/_delta_log", false)] {
        let mut made = Made::new("3.5.9", 1, 2, &[]);
        let stage = made.job(None, &[vec![task(1000)]])[0];
        let level = json!({"Use Disk": true, "Use Memory": true, "Use Off Heap": false, "Deserialized": true, "Replication": 1});
        made.line(json!({"Event": "SparkListenerStageSubmitted", "Properties": {}, "Stage Info": {"Stage ID": stage,
            "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 1, "Parent IDs": [], "Details": "",
            "Accumulables": [], "RDD Info": [{"RDD ID": 50, "Name": name, "Parent IDs": [], "Storage Level": level,
            "Number of Partitions": 10, "Number of Cached Partitions": 0, "Memory Size": 0, "Disk Size": 0}]}}));
        for n in 0..10 {
            made.line(block(50, n, 8 << 20, 0));
        }
        assert_eq!(of_kind(&said(&made.run(), "CSTOR"), "cacheUnused").len(), usize::from(fires), "{name}");
    }
}

#[test]
fn a_cache_that_only_its_count_read() {
    // Adaptive execution fills the cache in a job of its own, and the count reads it.
    let run = |reads: usize, queries: u64, fill_ms: i64| {
        let mut made = Made::new("4.0.0", 1, 2, &[]);
        let plan = json!({"nodeName": "InMemoryTableScan", "simpleString": "InMemoryTableScan", "metadata": {},
            "metrics": [], "children": []});
        for query in 0..queries {
            made.sql(query, "count at a.py:1", &plan, &json!({}));
            let stage = made.job(Some(query), &[vec![task(if query == 0 { fill_ms } else { 10 })]])[0];
            with_rdds(&mut made, stage, &[50], 1);
            for _ in 0..reads {
                let stage = made.job(Some(query), &[vec![task(100)]])[0];
                with_rdds(&mut made, stage, &[50, 51], 1);
            }
            made.sql_end(query);
        }
        made.line(block(50, 0, 1000, 0));
        said(&made.run(), "CSTOR")
    };
    let sink = run(1, 1, 8000);
    assert_eq!(
        of_kind(&sink, "cacheUnused")[0].title,
        "RDD 50 (In-memory table hot) was cached (1000 B) by stage 0 and read by nothing else"
    );
    assert!(
        matches!(&of_kind(&sink, "cacheUnused")[0].worth, Worth::Replay { low, high } if low.len() == 2 && high.len() == 2)
    );
    // Two branches of one query; another query; small and quick to fill.
    for (reads, queries, fill_ms) in [(2, 1, 8000), (1, 2, 8000), (1, 1, 2)] {
        let sink = run(reads, queries, fill_ms);
        assert_eq!(of_kind(&sink, "cacheUnused").len(), 0, "{reads} {queries} {fill_ms}");
    }
}

#[test]
fn without_block_updates_the_stages_tell_who_read_a_cache() {
    // (uses, milliseconds to fill, findings, what is not checked)
    for (uses, fill_ms, fires, unchecked) in [
        (1, 5000, true, &["cacheUtilization"][..]),
        (2, 5000, false, &["cacheUtilization"][..]),
        (1, 20, false, &["cacheUtilization", "cacheUnused"][..]),
    ] {
        let mut made = Made::new("3.5.9", 1, 2, &[]);
        for _ in 0..uses {
            let stage = made.job(None, &[vec![task(fill_ms)]])[0];
            persisted(&mut made, stage, 50, 10);
        }
        let sink = said(&made.run(), "CSTOR");
        let found = of_kind(&sink, "cacheUnused");
        assert_eq!(found.len(), usize::from(fires), "{uses} {fill_ms}");
        assert!(found.iter().all(|claim| claim.confidence == emberscope_analysis::finding::Confidence::Low));
        let kinds: Vec<&str> = sink.unchecked().iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, unchecked, "{uses} {fill_ms}");
    }
}

#[test]
fn without_block_updates_caches_are_not_checked() {
    let sink = said(&fixture("cache-silent-3.4.4"), "CSTOR");
    assert!(sink.claims().is_empty());
    // Its stages say that it was read again; how much of it was cached they do not.
    let kinds: Vec<&str> = sink.unchecked().iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["cacheUtilization"]);
    let setting = Some("spark.eventLog.logBlockUpdates.enabled");
    assert!(sink.unchecked().iter().all(|entry| entry.enable.as_deref() == setting));
    // Nothing was persisted: nothing is missing.
    assert!(said(&fixture("sql-aqe-3.5.9"), "CSTOR").unchecked().is_empty());
}

#[test]
fn the_log_itself() {
    // Ten tasks of a completed stage, of which the log has one end.
    let mut dropped = Made::new("3.5.9", 1, 1, &[]);
    let stage = dropped.job(None, &[vec![task(1000)]])[0];
    let now = dropped.now;
    dropped.line(json!({"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": stage, "Stage Attempt ID": 0,
        "Stage Name": "s", "Number of Tasks": 10, "RDD Info": [], "Parent IDs": [], "Details": "",
        "Submission Time": now - 1000, "Completion Time": now, "Accumulables": []}}));
    let mut reversed = Made::new("3.5.9", 1, 1, &[]);
    let mut late = task(1000);
    late.info = json!({"Finish Time": 1_600_000_000_000_i64});
    reversed.job(None, &[vec![late]]);
    let mut healthy = Made::new("3.5.9", 1, 1, &[]);
    healthy.job(None, &[vec![task(1000)]]);
    // A stage that was cancelled while a task of it ran: nobody waited for the task's end.
    let mut cancelled = Made::new("3.5.9", 1, 1, &[]);
    let stage = cancelled.job(None, &[vec![task(1000)]])[0];
    let now = cancelled.now;
    cancelled.line(
        json!({"Event": "SparkListenerTaskStart", "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": {
        "Task ID": 1, "Index": 1, "Attempt": 0, "Launch Time": now - 500, "Executor ID": "1", "Host": "h1",
        "Locality": "ANY", "Speculative": false, "Getting Result Time": 0, "Finish Time": 0, "Failed": false,
        "Killed": false, "Accumulables": []}}),
    );
    cancelled.line(json!({"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": stage,
        "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 2, "RDD Info": [], "Parent IDs": [],
        "Details": "", "Submission Time": now - 1000, "Completion Time": now, "Accumulables": [],
        "Failure Reason": "Job 0 cancelled"}}));
    assert_eq!(cancelled.run().trust.coverage.tasks_expected, 2);
    for (run, subject) in [
        (dropped.run(), Some("droppedEvents")),
        (reversed.run(), Some("clockSkew")),
        (healthy.run(), None),
        (cancelled.run(), None),
        (fixture("rolled-compacted-4.3.0"), Some("compacted")),
        (fixture("killed-rolled-4.3.0"), None),
        (fixture("failures-4.3.0"), None),
    ] {
        let sink = said(&run, "DRIFT");
        let subjects: Vec<&str> = sink.claims().iter().map(|claim| claim.subject.as_str()).collect();
        assert_eq!(subjects, subject.into_iter().collect::<Vec<&str>>());
        assert!(sink.claims().iter().all(|claim| claim.severity == Some(Severity::Info)));
    }
}

#[test]
fn jobs_that_compute_an_rdd_from_the_start() {
    // (jobs, own source for each, persisted, other partitions in each, fires)
    for (jobs, apart, persisted, other_partitions, fires) in [
        (4u32, false, false, false, true),
        (2, false, false, false, false),
        (4, true, false, false, false),
        (4, false, true, false, false),
        // As `toLocalIterator` and `take` go through an RDD.
        (4, false, false, true, false),
    ] {
        let mut made = Made::new("3.5.9", 2, 4, &[]);
        for job in 0..jobs {
            let source = if apart { 100 + job } else { 7 };
            let first = if other_partitions { 8 * job } else { 0 };
            let of = |index: u32| MadeTask { info: json!({"Partition ID": first + index}), ..task(4000) };
            let stage = made.job(None, &[(0..8).map(of).collect()])[0];
            let now = made.now;
            let rdd = |id: u32, parents: Vec<u32>| {
                json!({"RDD ID": id, "Name": "lines.txt", "Parent IDs": parents, "Number of Partitions": 8,
                    "Number of Cached Partitions": 0, "Memory Size": 0, "Disk Size": 0,
                    "Storage Level": {"Use Disk": false, "Use Memory": persisted, "Use Off Heap": false,
                        "Deserialized": true, "Replication": 1}})
            };
            made.line(json!({"Event": "SparkListenerStageSubmitted", "Properties": {}, "Stage Info": {"Stage ID": stage,
                "Stage Attempt ID": 0, "Stage Name": "count", "Number of Tasks": 8, "Parent IDs": [], "Details": "",
                "Submission Time": now, "Accumulables": [], "RDD Info": [rdd(source, vec![]), rdd(200 + job, vec![source])]}}));
        }
        let sink = said(&made.run(), "CACHE");
        let claims = of_kind(&sink, "cachingOpportunity");
        assert_eq!(
            claims.len(),
            usize::from(fires),
            "{jobs} {apart} {persisted} {other_partitions}: {:?}",
            sink.claims()
        );
        let Some(claim) = claims.first() else { continue };
        assert_eq!(claim.title, "4 jobs compute RDD 7 (lines.txt) and what follows from the start");
        // Only the source is shared: what each does with it may differ.
        assert!(matches!(&claim.worth, Worth::Replay { low, high } if low.is_empty() && high.len() == 3));
    }
}
