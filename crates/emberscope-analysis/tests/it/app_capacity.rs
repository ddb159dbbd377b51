//! Idle cores and memory, churn, and executors that were waited for.

use crate::made::{Made, START, fixture, of_kind, said, task};
use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_analysis::finding::{Claim, Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::json;

const DYNAMIC: &[(&str, &str)] = &[("spark.dynamicAllocation.enabled", "true")];

fn number(claim: &Claim, name: &str) -> f64 {
    claim
        .evidence
        .get(name)
        .and_then(serde_json::Value::as_f64)
        .unwrap_or_else(|| panic!("no {name}: {claim:?}"))
}

/// Four executors of four cores that run so many tasks of 100 s.
fn with_tasks(tasks: usize, properties: &[(&str, &str)]) -> Made {
    let mut made = Made::new("3.5.9", 4, 4, properties);
    made.job(None, &[(0..tasks).map(|_| task(100_000)).collect()]);
    made
}

#[test]
fn idle_cores_are_counted_once_for_all() {
    let run = with_tasks(2, &[]).run();
    let said_util = said(&run, "UTIL");
    let [claim] = of_kind(&said_util, "utilization")[..] else { panic!("{said_util:?}") };
    assert!((number(claim, "used_share") - 2.0 / 16.0).abs() < 0.01, "{claim:?}");
    let (allocated, occupied, idle) = (
        number(claim, "allocated_core_ms"),
        number(claim, "occupied_core_ms"),
        number(claim, "idle_core_ms"),
    );
    assert_eq!(allocated, occupied + idle);
    let parts = number(claim, "idle_between_stages_core_ms") + number(claim, "idle_in_stages_core_ms");
    assert_eq!(idle, parts);
    assert!(matches!(claim.worth, Worth::Resource));
    assert_eq!((claim.core_ms, claim.severity), (Some(idle as i64), Some(Severity::Info)));
    // Memory speaks of the same idle core-time.
    let said_mem = said(&run, "MEM");
    let [memory] = of_kind(&said_mem, "memoryUtilization")[..] else { panic!("{said_mem:?}") };
    assert_eq!((memory.variant, number(memory, "idle_core_ms")), (Some("idleCores"), idle));
}

#[test]
fn memory_held_has_an_overhead_only_in_containers() {
    let held = |master: &str| {
        let settings = [("spark.master", master), ("spark.executor.memory", "8g")];
        let sink = said(&with_tasks(2, &settings).run(), "MEM");
        number(of_kind(&sink, "memoryUtilization")[0], "held_byte_ms")
    };
    // The overhead is a tenth of the heap.
    assert!((held("yarn") / held("spark://host:7077") - 1.1).abs() < 1e-6);
    assert_eq!(held("yarn"), held("k8s://https://host:6443"));
}

#[test]
fn busy_and_small_runs_are_not_idle() {
    let busy = with_tasks(16, &[]).run();
    let mut small = Made::new("3.5.9", 4, 4, &[]);
    small.job(None, &[vec![task(500)]]);
    for run in [busy, small.run()] {
        assert!(said(&run, "UTIL").claims().is_empty());
        assert!(of_kind(&said(&run, "MEM"), "memoryUtilization").is_empty());
    }
}

#[test]
fn dynamic_allocation_is_not_proposed_where_it_is_on() {
    for (properties, proposed) in [(&[][..], true), (DYNAMIC, false)] {
        let sink = said(&with_tasks(2, properties).run(), "UTIL");
        let changes = &sink.claims()[0].recommendation.changes;
        assert_eq!(changes.iter().any(|change| change.key == "spark.dynamicAllocation.enabled"), proposed);
    }
}

#[test]
fn local_mode_has_no_executors_to_give_back() {
    for name in ["failures-4.3.0", "barrier-4.3.0"] {
        let sink = said(&fixture(name), "UTIL");
        let [claim] = of_kind(&sink, "utilization")[..] else { panic!("{sink:?}") };
        let advice = &claim.recommendation;
        assert!(
            advice.text.contains("one JVM") && !advice.text.contains("fewer executors"),
            "{}",
            advice.text
        );
        assert!(!claim.title.contains("executors") && !claim.validate.contains("executors"), "{claim:?}");
        assert!(advice.changes.iter().all(|change| change.key == "local cores"), "{:?}", advice.changes);
        assert!(advice.changes.iter().all(|change| change.current.as_deref() != Some("0")));
    }
}

#[test]
fn idle_cores_are_given_back_by_what_asked_for_them() {
    // Pauses of the driver are not filled by more partitions.
    let text = |name: &str| said(&fixture(name), "UTIL").claims()[0].recommendation.text.clone();
    for name in ["failures-4.3.0", "sql-noaqe-4.3.0", "cache-3.5.9"] {
        let sink = said(&fixture(name), "UTIL");
        for claim in sink.claims() {
            assert!(claim.recommendation.text.contains("the driver was busy"), "{name}");
            assert!(!text(name).contains("give its stages more partitions"), "{name}");
        }
    }
    let most = ("spark.dynamicAllocation.maxExecutors", "8");
    let least = ("spark.dynamicAllocation.minExecutors", "4");
    for (bounds, expected) in [
        (&[][..], "Give dynamic allocation an upper bound (spark.dynamicAllocation.maxExecutors)."),
        (
            &[most],
            "Lower the upper bound of dynamic allocation (spark.dynamicAllocation.maxExecutors, now 8).",
        ),
        (
            &[most, least],
            "Lower the upper bound of dynamic allocation (spark.dynamicAllocation.maxExecutors, now 8), and lower the \
             lower one (spark.dynamicAllocation.minExecutors, now 4).",
        ),
    ] {
        let sink = said(&with_tasks(2, &[DYNAMIC, bounds].concat()).run(), "UTIL");
        let text = &sink.claims()[0].recommendation.text;
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn heaps_are_judged_by_their_peaks() {
    let gib = 1_i64 << 30;
    // (peak, spilled, lifetime is long enough, heap proposed)
    for (peak, spilled, ms, proposed) in [
        (2 * gib, 0, 100_000, Some("2816m")),
        (7 * gib, 0, 100_000, None),
        (2 * gib, gib, 100_000, None),
        (2 * gib, 0, 10_000, None),
        // Hardly touched, and for at least some seconds.
        (gib, 0, 10_000, Some("1536m")),
        (3 * gib, 0, 100_000, Some("4g")),
        (gib, 0, 2_000, None),
    ] {
        let mut made = Made::new("3.5.9", 4, 4, &[("spark.executor.memory", "8g")]);
        let spill = json!({"Memory Bytes Spilled": spilled});
        made.job(None, &[(0..16).map(|_| task(ms).with(spill.clone())).collect()]);
        for executor in ["1", "2"] {
            made.line(
                json!({"Event": "SparkListenerStageExecutorMetrics", "Executor ID": executor, "Stage ID": 0,
                "Stage Attempt ID": 0, "Executor Metrics": {"JVMHeapMemory": peak}}),
            );
        }
        let sink = said(&made.run(), "MEM");
        let claims: Vec<&Claim> =
            sink.claims().iter().filter(|claim| claim.variant == Some("heapOverProvisioned")).collect();
        assert_eq!(claims.len(), usize::from(proposed.is_some()), "{peak} {spilled} {ms}");
        if let Some(claim) = claims.first() {
            assert_eq!(claim.recommendation.changes[0].proposed.as_deref(), proposed);
            assert_eq!(number(claim, "heap_used_share"), peak as f64 / (8 * gib) as f64);
        }
    }
}

#[test]
fn databricks_decides_memory_by_its_workers() {
    let databricks = ("spark.databricks.clusterUsageTags.sparkVersion", "13.3.x-scala2.12");
    for (properties, is_free) in [(&[][..], true), (&[databricks], false)] {
        let mut made = with_tasks(2, &[&[("spark.executor.memory", "8g")], properties].concat());
        made.line(json!({"Event": "SparkListenerStageExecutorMetrics", "Executor ID": "1", "Stage ID": 0,
            "Stage Attempt ID": 0, "Executor Metrics": {"JVMHeapMemory": 1_i64 << 30}}));
        let sink = said(&made.run(), "MEM");
        let variants: Vec<Option<&str>> = sink.claims().iter().map(|claim| claim.variant).collect();
        assert_eq!(variants, [Some("idleCores"), Some("heapOverProvisioned")]);
        let changes = sink.claims().iter().flat_map(|claim| &claim.recommendation.changes);
        let keys: Vec<&str> = changes.map(|change| change.key.as_str()).collect();
        assert_eq!(keys.contains(&"spark.executor.memory"), is_free, "{keys:?}");
        let told = |word: &str| sink.claims().iter().any(|claim| claim.recommendation.text.contains(word));
        assert_eq!((told("dynamic allocation"), told("smaller cluster")), (is_free, !is_free));
    }
}

#[test]
fn without_peaks_the_heap_is_not_checked() {
    let sink = said(&with_tasks(16, &[]).run(), "MEM");
    let entry = sink.unchecked().iter().find(|entry| entry.kind == "memoryUtilization").unwrap();
    assert_eq!(entry.enable.as_deref(), Some("spark.eventLog.logStageExecutorMetrics"));
}

#[test]
fn churn_is_executors_given_back_young() {
    let given_back = "Executor killed by driver.";
    let crashed = "Command exited with code 137";
    let (longer, fewer) = (("executorIdleTimeout", "180s"), ("executorAllocationRatio", "0.5"));
    // (reason and lifetime of half of the executors, whether one comes after that, what to set if they churn)
    for (removed, again, change) in [
        (Some((40_000, given_back)), true, Some(longer)),
        (Some((40_000, given_back)), false, Some(fewer)),
        (Some((40_000, crashed)), true, None),
        (Some((180_000, given_back)), true, None),
        (None, false, None),
    ] {
        let mut made = Made::new("3.5.9", 10, 2, DYNAMIC);
        made.job(None, &[(0..20).map(|_| task(200_000)).collect()]);
        for id in 1..=5 {
            made.executor(id, START, removed.map(|(after, reason)| (START + after, reason)));
        }
        if again {
            made.executor(10, START + 90_000, None);
        }
        let sink = said(&made.run(), "CHRN");
        let claims = of_kind(&sink, "autoscalingChurn");
        assert_eq!(claims.len(), usize::from(change.is_some()), "{removed:?}");
        if let (Some(claim), Some((key, value))) = (claims.first(), change) {
            assert_eq!((number(claim, "short_lived_executors"), number(claim, "executors")), (5.0, 10.0));
            let change = &claim.recommendation.changes[0];
            assert_eq!(change.key, format!("spark.dynamicAllocation.{key}"));
            assert_eq!(change.proposed.as_deref(), Some(value));
        }
    }
}

/// Four executors that come so long after the run's start; the stage is submitted one second into it.
fn cold(arrivals: &[i64], properties: &[(&str, &str)]) -> Made {
    let mut made = Made::new("3.5.9", arrivals.len(), 2, properties);
    for (n, arrival) in arrivals.iter().enumerate() {
        made.executor(n + 1, START + arrival, None);
    }
    made.slots_from = START + arrivals.iter().max().unwrap() + 50;
    made.job(None, &[(0..arrivals.len() * 2).map(|_| task(20_000)).collect()]);
    made
}

#[test]
fn stages_that_wait_for_executors() {
    let sink = said(&cold(&[21_000, 23_000, 25_000, 31_000], DYNAMIC).run(), "COLD");
    let [claim] = of_kind(&sink, "coldStart")[..] else { panic!("{sink:?}") };
    // 20, 22, 24 and 30 s late on two cores each, over the eight cores in the end.
    assert_eq!((number(claim, "wait_ms"), number(claim, "missing_core_ms")), (24_000.0, 192_000.0));
    assert_eq!((claim.subject.as_str(), number(claim, "without_any_executor_ms")), ("start", 20_000.0));
    let change = &claim.recommendation.changes[0];
    assert_eq!(change.key, "spark.dynamicAllocation.initialExecutors");
    assert_eq!(change.proposed.as_deref(), Some("4"));
    let Worth::Replay { high, .. } = &claim.worth else { panic!("{claim:?}") };
    assert_eq!(high[..], [Edit::ExecutorsBy { until_ms: START + 31_000, at_ms: START + 1000 }]);
}

#[test]
fn executors_that_are_there_are_not_waited_for() {
    for arrivals in [&[0, 0, 0, 0][..], &[900, 900, 900, 900], &[3000, 3000, 3000, 3000]] {
        let sink = said(&cold(arrivals, DYNAMIC).run(), "COLD");
        assert!(sink.claims().is_empty(), "{arrivals:?}: {:?}", sink.claims());
    }
    // A driver that takes long before its first stage is no cold start.
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    made.executor(1, START + 40_000, None).executor(2, START + 41_000, None);
    made.wait(60_000).job(None, &[vec![task(5000), task(5000)]]);
    assert!(said(&made.run(), "COLD").claims().is_empty());
}

#[test]
fn a_short_wait_counts_in_a_short_run() {
    // Four executors 4 s late: a tenth of a run of 25 s and more, not of one of 80 s; 2.5 s late is nothing.
    for (late_ms, wait_after_ms, fires) in [(4000, 0, true), (4000, 60_000, false), (2500, 0, false)] {
        let mut made = cold(&[1000 + late_ms; 4], DYNAMIC);
        made.wait(wait_after_ms);
        let sink = said(&made.run(), "COLD");
        assert_eq!(sink.claims().len(), usize::from(fires), "{late_ms} {wait_after_ms}: {:?}", sink.claims());
    }
}

#[test]
fn executors_that_come_back_later() {
    let mut made = Made::new("3.5.9", 4, 2, DYNAMIC);
    made.job(None, &[(0..2).map(|_| task(20_000).on(1)).collect()]);
    made.wait(90_000);
    let second = made.now;
    for id in 2..=4 {
        made.executor(id, second + 16_000, None);
    }
    made.slots_from = second + 16_100;
    made.job(None, &[(0..8).map(|_| task(30_000)).collect()]);
    let sink = said(&made.run(), "COLD");
    let [claim] = of_kind(&sink, "coldStart")[..] else { panic!("{sink:?}") };
    assert_eq!((claim.subject.as_str(), number(claim, "late_executors")), ("later", 3.0));
    let keys: Vec<&str> = claim.recommendation.changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(keys, ["spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.executorIdleTimeout"]);
}

#[test]
fn executors_that_were_given_back_are_missed_even_for_a_short_time() {
    // Two executors are told to go after the first stage, and take seconds to be gone; two others come for the
    // second one, 3 s after it wanted them. (were given back, fires)
    for (given_back, fires) in [(true, true), (false, false)] {
        let mut made = Made::new("3.5.9", 4, 2, DYNAMIC);
        made.job(None, &[(0..4).map(|n| task(20_000).on(n % 2 + 1)).collect()]);
        made.wait(5000);
        let second = made.now;
        for id in [1, 2] {
            made.executor(id, START, given_back.then_some((second + 4000, "Executor killed by driver.")));
        }
        for id in [3, 4] {
            made.executor(id, second + 3000, None);
        }
        made.slots_from = second + 3100;
        made.job(None, &[(0..8).map(|n| task(10_000).on(n % 2 + 3)).collect()]);
        let sink = said(&made.run(), "COLD");
        assert_eq!(sink.claims().len(), usize::from(fires), "{given_back}: {:?}", sink.claims());
        let Some(claim) = sink.claims().first() else { continue };
        assert_eq!((claim.subject.as_str(), number(claim, "wait_ms")), ("later", 3000.0));
    }
}

#[test]
fn replacements_of_lost_executors_are_no_cold_start() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    made.executor(1, START, Some((START + 20_000, "Command exited with code 137")));
    made.executor(2, START + 40_000, None);
    made.slots_from = START + 41_000;
    made.job(None, &[vec![task(30_000).on(2), task(30_000).on(2)]]);
    assert!(said(&made.run(), "COLD").claims().is_empty());
}

#[test]
fn executors_of_another_profile_replace_nobody() {
    // (profile of the one that went, why it went, whether the other one was waited for)
    for (profile, reason, fires) in [
        (1, "Command exited with code 137", false),
        (0, "Command exited with code 137", true),
        // YARN's word for an executor that the driver gave back.
        (1, "Container container_1_2_3 exited from explicit termination request.", true),
    ] {
        let mut made = Made::new("3.5.9", 2, 2, DYNAMIC);
        let added = |id: &str, at: i64, profile: u32| {
            json!({"Event": "SparkListenerExecutorAdded", "Timestamp": at, "Executor ID": id, "Executor Info":
                {"Host": "h", "Total Cores": 2, "Log Urls": {}, "Resource Profile Id": profile}})
        };
        made.line(added("1", START, profile)).line(added("2", START + 40_000, 1));
        made.line(
            json!({"Event": "SparkListenerExecutorRemoved", "Timestamp": START + 20_000, "Executor ID": "1",
            "Removed Reason": reason}),
        );
        made.slots_from = START + 41_000;
        made.job(None, &[vec![task(30_000).on(2), task(30_000).on(2)]]);
        let sink = said(&made.run(), "COLD");
        assert_eq!(sink.claims().len(), usize::from(fires), "{profile} {reason}: {:?}", sink.claims());
        let Some(claim) = sink.claims().first() else { continue };
        assert!(
            claim.title.starts_with("Stage 0 waited 39.0 s for 1 executor that came only then"),
            "{}",
            claim.title
        );
        assert!(claim.recommendation.text.starts_with("Executors of a resource profile are only asked for"));
        assert!(!claim.recommendation.text.contains("idle timeout"));
    }
}

#[test]
fn free_slots_of_another_resource_profile_are_no_use() {
    // Stage 2 waits 29 s for the one executor of its profile, beside idle ones of the default profile.
    let diagnosis = diagnose(&fixture("resource-profiles-3.5.9"), &Options::default());
    let cold = diagnosis.findings.iter().find(|finding| finding.kind == "coldStart").unwrap();
    assert!(cold.savings.wall_ms.unwrap().high > 25_000, "{:?}", cold.savings);
}

#[test]
fn local_mode_has_no_executors_to_wait_for() {
    let run = fixture("sql-aqe-4.3.0");
    for tag in ["COLD", "CHRN", "MEM"] {
        assert!(said(&run, tag).claims().is_empty(), "{tag}");
    }
}

#[test]
fn real_clusters_that_grew() {
    // (fixture, ramp-ups by subject): every one was looked up in the log.
    for (name, subjects) in [
        ("dynamic-allocation-3.4.4", &["start", "later"][..]),
        ("resource-profiles-3.5.9", &["later"]),
        ("executor-loss-4.3.0", &[]),
    ] {
        let sink = said(&fixture(name), "COLD");
        let found: Vec<&str> = sink.claims().iter().map(|claim| claim.subject.as_str()).collect();
        assert_eq!(found, subjects, "{name}");
    }
}
