//! Slow tails and their causes: skew, stragglers, slow hosts.

use crate::eight_rules::{exchange, join_plan, joins, node, warm};
use crate::made::{Made, MadeTask, of_kind, said, task};
use emberscope_analysis::finding::{Confidence, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

fn shuffle(bytes: i64, records: i64, wait_ms: i64) -> Value {
    json!({"Shuffle Read Metrics": {"Remote Blocks Fetched": 4, "Local Blocks Fetched": 0, "Fetch Wait Time": wait_ms,
        "Remote Bytes Read": bytes, "Local Bytes Read": 0, "Total Records Read": records}})
}

/// 40 tasks of half a second; `slow` changes some.
fn stage(slow: impl Fn(&mut [MadeTask])) -> Made {
    let mut tasks: Vec<MadeTask> = (0..40).map(|n| task(480 + n).with(shuffle(1_000_000, 1000, 5))).collect();
    slow(&mut tasks);
    let mut made = warm();
    made.job(None, &[tasks]);
    made
}

#[test]
fn stragglers_have_a_named_cause() {
    let gc = |tasks: &mut [MadeTask]| {
        tasks[20].run_ms = 3000;
        tasks[20] = tasks[20].clone().with(json!({"JVM GC Time": 2300}));
    };
    let fetch = |tasks: &mut [MadeTask]| {
        tasks[20] = task(3000).with(shuffle(1_000_000, 1000, 2400));
    };
    let spill = |tasks: &mut [MadeTask]| {
        tasks[20].run_ms = 3000;
        let bytes = 700_000_000;
        tasks[20] =
            tasks[20].clone().with(json!({"Memory Bytes Spilled": bytes, "Disk Bytes Spilled": bytes / 4}));
    };
    let host = |tasks: &mut [MadeTask]| {
        for n in [18, 23, 28, 33] {
            tasks[n].run_ms = 2600;
            tasks[n].executor = Some(2);
        }
    };
    let unexplained = |tasks: &mut [MadeTask]| tasks[20].run_ms = 3000;
    type Slow<'a> = &'a dyn Fn(&mut [MadeTask]);
    let cases: [(&str, Slow<'_>); 5] = [
        ("gc", &gc),
        ("fetch_wait", &fetch),
        ("spill", &spill),
        ("host", &host),
        ("unexplained", &unexplained),
    ];
    for (cause, slow) in cases {
        let run = stage(slow).run();
        assert!(said(&run, "SKEW").claims().is_empty(), "{cause}");
        let sink = said(&run, "STRAG");
        let [claim] = of_kind(&sink, "straggler")[..] else { panic!("{cause}: {sink:?}") };
        assert_eq!(claim.evidence["cause"], cause);
        assert!(claim.evidence["excess_ms"].as_i64().unwrap() >= 2000, "{cause}");
        let Worth::Replay { low, high } = &claim.worth else { panic!("{cause}") };
        assert_eq!(high.len(), 1);
        // What one of forty took beyond its peers goes away with a copy or a rerun, whatever it was.
        assert_eq!(low.len(), 1, "{cause}");
        assert!(!claim.validate.is_empty() && !claim.recommendation.text.is_empty(), "{cause}");
    }
}

#[test]
fn a_first_wave_does_not_hide_a_straggler() {
    // Eight slots whose first tasks start their workers; one of the others hangs, or none does.
    for hung_ms in [8600, 650] {
        let of = |n: usize| if n < 8 { 4200 + n as i64 * 10 } else { 640 + n as i64 };
        let mut tasks: Vec<MadeTask> =
            (0..24).map(|n| task(of(n)).with(shuffle(1_000_000, 400, 0))).collect();
        tasks[20].run_ms = hung_ms;
        let mut made = warm();
        made.job(None, &[tasks]);
        let sink = said(&made.run(), "STRAG");
        let fires = hung_ms > 1000;
        assert_eq!(of_kind(&sink, "straggler").len(), usize::from(fires), "{hung_ms}");
        for claim in sink.claims() {
            assert_eq!(claim.evidence["slow_tasks"], 1);
            assert_eq!(claim.evidence["cause"], "unexplained");
        }
    }
}

#[test]
fn few_partitions_with_a_hot_key_are_skew() {
    // Three quarters of the rows take hardly more than twice as long, since most of a row's price is paid in Python.
    for (records, fires) in
        [([95_195, 118_206, 241_835, 749_764], 1), ([95_195, 118_206, 151_835, 249_764], 0)]
    {
        let times = [16_844, 18_985, 29_305, 43_705];
        let tasks =
            times.iter().zip(records).map(|(ms, records)| task(*ms).with(shuffle(records * 20, records, 0)));
        let mut made = warm();
        made.job(None, &[tasks.collect()]);
        let sink = said(&made.run(), "SKEW");
        assert_eq!(of_kind(&sink, "skew").len(), fires, "{records:?}: {sink:?}");
    }
}

#[test]
fn hashing_alone_is_no_skew() {
    // (times the time and data of its peers, shuffled by keys or read from files)
    for (times, is_keyed, fires) in [(2.3, true, false), (2.8, true, true), (2.3, false, true)] {
        let mut tasks: Vec<MadeTask> = (0..40)
            .map(|n| {
                let (ms, bytes, records) = (2000 + n, 1_000_000, 1000);
                if is_keyed {
                    task(ms).with(shuffle(bytes, records, 0))
                } else {
                    task(ms).input(bytes, records)
                }
            })
            .collect();
        let scaled = |value: f64| (value * times) as i64;
        tasks[20] = if is_keyed {
            task(scaled(2020.0)).with(shuffle(scaled(1e6), scaled(1e3), 0))
        } else {
            task(scaled(2020.0)).input(scaled(1e6), scaled(1e3))
        };
        let mut made = warm();
        made.job(None, &[tasks]);
        let sink = said(&made.run(), "SKEW");
        assert_eq!(of_kind(&sink, "skew").len(), usize::from(fires), "{times} {is_keyed}: {sink:?}");
    }
}

#[test]
fn a_short_collection_is_no_straggler() {
    for (run_ms, fires) in [(1300, false), (1700, true)] {
        let run = stage(|tasks| {
            tasks[20].run_ms = run_ms;
            tasks[20] = tasks[20].clone().with(json!({"JVM GC Time": run_ms - 500}));
        })
        .run();
        assert_eq!(of_kind(&said(&run, "STRAG"), "straggler").len(), usize::from(fires), "{run_ms}");
    }
}

#[test]
fn partly_cached_data_is_no_skew() {
    // 12 tasks read the cache (304 batches); 4 compute what it lost, from a shuffle of many records.
    let mut tasks: Vec<MadeTask> = (0..12).map(|_| task(600).input(90_000_000, 304)).collect();
    tasks.extend((0..4).map(|_| task(4000).with(shuffle(20_000_000, 300_000, 0))));
    let mut made = warm();
    made.job(None, &[tasks]);
    let run = made.run();
    assert!(said(&run, "SKEW").claims().is_empty());
    let sink = said(&run, "STRAG");
    let [claim] = of_kind(&sink, "straggler")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.evidence["cause"], "cache_miss");
    assert_eq!(claim.evidence["slow_tasks"], 4);
}

/// Standard normal values, the same every time.
fn normal(seed: &mut u64) -> f64 {
    let mut uniform = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 33) as f64 + 1.0) / (f64::from(u32::MAX / 2) + 2.0)
    };
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

#[test]
fn healthy_noise_has_no_tail() {
    let mut seed = 7;
    for tasks in [8, 16, 64, 200, 2000] {
        for _ in 0..4 {
            let tasks: Vec<MadeTask> = (0..tasks)
                .map(|_| {
                    task((1000.0 * (0.3 * normal(&mut seed)).exp()) as i64).shuffle_read(1_000_000, 1000)
                })
                .collect();
            let n = tasks.len();
            let mut made = Made::new("4.0.0", 4, 2, &[]);
            made.job(None, &[tasks]);
            let run = made.run();
            for tag in ["SKEW", "STRAG", "HOST", "SHAPE", "SHFL", "PART", "SPILL", "GC", "SLOW", "TINY"] {
                let sink = said(&run, tag);
                assert!(sink.claims().is_empty(), "{n} tasks: {tag}: {:?}", sink.claims());
            }
        }
    }
}

#[test]
fn few_keys_in_many_partitions_are_no_skew() {
    // 190 of 200 partitions are empty, the ten keys are alike.
    let mut tasks: Vec<MadeTask> = (0..190).map(|_| task(5)).collect();
    tasks.extend((0..10).map(|n| task(2000 + 10 * n).shuffle_read(5_000_000, 10_000)));
    let mut made = warm();
    made.job(None, &[tasks]);
    let run = made.run();
    for tag in ["SKEW", "STRAG"] {
        assert!(said(&run, tag).claims().is_empty(), "{tag}");
    }
}

#[test]
fn adaptive_execution_is_diagnosed() {
    let tasks = || {
        let mut tasks: Vec<MadeTask> = (0..15).map(|_| joins(900, 80 << 20, 1000)).collect();
        tasks.push(joins(12_000, 900 << 20, 30_000));
        tasks
    };
    let inner = "SortMergeJoin [k#1L], [k#5L], Inner";
    let cases = [
        (
            "3.5.1",
            inner,
            json!({"spark.sql.adaptive.enabled": "false"}),
            "disabled",
            Some("spark.sql.adaptive.enabled"),
        ),
        ("3.1.2", inner, json!({}), "disabled", Some("spark.sql.adaptive.enabled")),
        ("2.4.8", inner, json!({}), "unsupported", None),
        (
            "3.5.1",
            inner,
            json!({"spark.sql.adaptive.skewJoin.enabled": "false"}),
            "skewJoinDisabled",
            Some("spark.sql.adaptive.skewJoin.enabled"),
        ),
        ("3.5.1", "SortMergeJoin [k#1L], [k#5L], FullOuter", json!({}), "joinType", None),
        ("3.5.1", "SortMergeJoin(skew=true) [k#1L], [k#5L], Inner", json!({}), "split", None),
        ("3.5.1", inner, json!({}), "notSplit", None),
    ];
    for (version, join, configs, verdict, key) in cases {
        let mut made = Made::new(version, 4, 2, &[]);
        made.job(None, &[(0..16).map(|_| task(200)).collect()]);
        made.sql(0, "query", &join_plan(join), &configs);
        made.job(Some(0), &[tasks()]);
        made.sql_end(0);
        let sink = said(&made.run(), "SKEW");
        let [claim] = of_kind(&sink, "skew")[..] else { panic!("{verdict}: {sink:?}") };
        assert_eq!(claim.evidence["aqe_split"], verdict, "{version} {join}");
        let conf: Vec<&str> = claim
            .recommendation
            .changes
            .iter()
            .filter(|change| change.key.starts_with("spark."))
            .map(|change| change.key.as_str())
            .collect();
        assert_eq!(conf, key.into_iter().collect::<Vec<_>>(), "{verdict}");
    }
}

#[test]
fn skewed_files_are_told_apart() {
    let scan = node("Scan csv", "FileScan csv [a#1]", 1, &[]);
    let plan = exchange("hashpartitioning(a#1, 8)", 10, &scan);
    let mut tasks: Vec<MadeTask> = (0..15).map(|_| task(600).input(1_000_000, 300)).collect();
    tasks.push(task(12_000).input(30_000_000, 9000));
    for task in &mut tasks {
        task.updates = vec![(1, 300)];
    }
    let mut made = warm();
    made.sql(0, "query", &plan, &json!({}));
    made.job(Some(0), &[tasks]);
    made.sql_end(0);
    let sink = said(&made.run(), "SKEW");
    let [claim] = of_kind(&sink, "skew")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.variant, Some("inputFiles"));
    assert_eq!(claim.evidence["scan"], "Scan csv");
    assert_eq!(claim.confidence, Confidence::High);
}

#[test]
fn a_spread_key_takes_no_work_away() {
    // 16 tasks on 8 slots: 15 of 1 s and one of 21 s are 36 s of work, 4.5 s when shared evenly.
    let mut tasks: Vec<MadeTask> = (0..16).map(|_| joins(1000, 1_000_000, 1000)).collect();
    tasks[0] = joins(21_000, 21_000_000, 21_000);
    let shortest = |edits: &[Edit]| match edits {
        [Edit::Scale { factors, .. }] => factors.iter().copied().fold(1.0, f32::min) * 21_009.0,
        _ => panic!("{edits:?}"),
    };
    // The pieces of a join's salted key fall on partitions at random; groups are cut finely by one more column.
    for (is_join, least_stretch, most_stretch) in [(true, 2.0, 2.5), (false, 1.2, 1.6)] {
        let mut made = warm();
        if is_join {
            made.sql(0, "query", &join_plan("SortMergeJoin [k#1L], [k#5L], Inner"), &json!({}));
        }
        made.job(is_join.then_some(0), &[tasks.clone()]);
        let sink = said(&made.run(), "SKEW");
        let [claim] = of_kind(&sink, "skew")[..] else { panic!("{sink:?}") };
        let Worth::Replay { low, high } = &claim.worth else { panic!() };
        assert!((4400.0..4600.0).contains(&shortest(high)), "{}", shortest(high));
        let stretch = shortest(low) / shortest(high);
        assert!((least_stretch..most_stretch).contains(&stretch), "{is_join}: {stretch}");
    }
}

fn on_hosts(stages: usize, slow: impl Fn(usize, usize) -> i64) -> Made {
    let mut made = warm();
    for stage in 0..stages {
        let tasks = (0..32)
            .map(|n| {
                let mut task = task(slow(stage, n % 4 + 1)).shuffle_read(1_000_000, 1000);
                task.executor = Some(n % 4 + 1);
                task
            })
            .collect();
        made.job(None, &[tasks]);
    }
    made
}

#[test]
fn a_slow_host_is_one_finding_over_stages() {
    let sink = said(&on_hosts(3, |_, host| if host == 3 { 2400 } else { 800 }).run(), "HOST");
    let [claim] = of_kind(&sink, "slowHost")[..] else { panic!("{sink:?}") };
    assert_eq!(claim.evidence["host"], "h3");
    assert_eq!(claim.evidence["stages"], json!([1, 2, 3]));
    assert_eq!(claim.evidence["tasks"], 24);
    let ratio = claim.evidence["slowness_ratio"].as_f64().unwrap();
    assert!((2.8..3.1).contains(&ratio), "{ratio}");
    assert_eq!(claim.confidence, Confidence::High);
    assert_eq!(claim.subject, "h3");
    assert_eq!(claim.stages.len(), 3);
}

#[test]
fn hosts_that_only_seem_slow() {
    // Slow in one of three stages, and one whose tasks have three times the data.
    let once = on_hosts(3, |stage, host| if host == 3 && stage == 0 { 2000 } else { 800 });
    assert!(said(&once.run(), "HOST").claims().is_empty());
    let mut made = warm();
    let tasks = (0..32)
        .map(|n| {
            let times = if n % 4 == 2 { 3 } else { 1 };
            let mut task = task(800 * times).shuffle_read(1_000_000 * times, 1000 * times);
            task.executor = Some(n as usize % 4 + 1);
            task
        })
        .collect();
    made.job(None, &[tasks]);
    assert!(said(&made.run(), "HOST").claims().is_empty());
    // Half of the hosts are slow: two kinds of machines, no slow one.
    let half = on_hosts(2, |_, host| if host > 2 { 2400 } else { 800 });
    assert!(said(&half.run(), "HOST").claims().is_empty());
}

/// Tasks on three executors of two cores: of each (executor, milliseconds, number).
fn on_three(executors: &[(usize, i64, usize)]) -> Vec<MadeTask> {
    let of =
        |(executor, ms, n): &(usize, i64, usize)| vec![task(*ms).input(1_000_000, 250).on(*executor); *n];
    executors.iter().flat_map(of).collect()
}

#[test]
fn a_slow_host_is_told_by_its_later_tasks() {
    // First tasks of all executors take about as long, for starting takes 3 s; those after them tell.
    for (slow_ms, fires) in [(2700, true), (750, false)] {
        let mut made = Made::new("3.5.9", 3, 2, &[]);
        let first = [(1, 3600, 2), (2, 3700, 2), (3, 4700, 2)];
        let later = [(1, 690, 8), (2, 700, 8), (3, slow_ms, 2)];
        made.job(None, &[on_three(&[&first[..], &later[..]].concat())]);
        let sink = said(&made.run(), "HOST");
        assert_eq!(of_kind(&sink, "slowHost").len(), usize::from(fires), "{slow_ms}: {sink:?}");
    }
}

#[test]
fn a_slow_host_is_told_by_its_first_tasks() {
    // Starting takes 1.1 s; two first tasks of executor 3 take much more than that over the others, or do not.
    for (slow_ms, fires) in [(5000, true), (3200, false)] {
        let mut made = Made::new("3.5.9", 3, 2, &[]);
        let first = [(1, 2200, 2), (2, 2250, 2), (3, slow_ms, 2)];
        made.job(None, &[on_three(&[&first[..], &[(1, 1100, 3), (2, 1120, 3)]].concat())]);
        let sink = said(&made.run(), "HOST");
        assert_eq!(of_kind(&sink, "slowHost").len(), usize::from(fires), "{slow_ms}: {sink:?}");
        for claim in sink.claims() {
            // 2.8 s of each are over what the others take.
            let excess = claim.evidence["excess_ms"].as_i64().unwrap();
            assert!((5000..6000).contains(&excess), "{excess}");
        }
    }
}

#[test]
fn a_slow_host_gets_few_tasks() {
    // One task in each stage; in few stages that is a slow task and no slow host.
    for (stages, slow_ms, fires) in [(4, 4000, true), (3, 4000, false), (4, 2000, false)] {
        let mut made = Made::new("3.5.9", 3, 2, &[]);
        made.job(None, &[on_three(&[(1, 100, 4), (2, 100, 4), (3, 100, 4)])]);
        for _ in 0..stages {
            made.job(None, &[on_three(&[(3, slow_ms, 1), (1, 1000, 6), (2, 1010, 5)])]);
        }
        let sink = said(&made.run(), "HOST");
        assert_eq!(of_kind(&sink, "slowHost").len(), usize::from(fires), "{stages} {slow_ms}: {sink:?}");
    }
}

#[test]
fn a_host_slow_in_short_tasks_alone_is_none() {
    // All start alike; afterwards the short tasks of one take 2.5 times as long.
    let mut made = Made::new("3.5.9", 3, 2, &[]);
    let short = [(1, 100, 12), (2, 100, 12), (3, 250, 12)];
    for _ in 0..2 {
        made.job(None, &[on_three(&[&[(1, 3000, 2), (2, 3000, 2), (3, 3000, 2)], &short[..]].concat())]);
    }
    let sink = said(&made.run(), "HOST");
    assert!(sink.claims().is_empty(), "{sink:?}");
}
