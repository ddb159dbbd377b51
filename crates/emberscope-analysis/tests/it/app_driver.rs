//! The driver's own time, scheduling, and locality.

use crate::made::{Made, MadeTask, START, fixture, of_kind, said, task};
use emberscope_analysis::finding::{Claim, Confidence, Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

fn text<'c>(claim: &'c Claim, name: &str) -> &'c str {
    claim.evidence.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no {name}: {claim:?}"))
}

fn number(claim: &Claim, name: &str) -> f64 {
    claim.evidence.get(name).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {name}: {claim:?}"))
}

fn plan(root: &str, metrics: &[(&str, &str, u64)]) -> Value {
    let metrics: Vec<Value> = metrics
        .iter()
        .map(|(name, kind, id)| json!({"name": name, "accumulatorId": id, "metricType": kind}))
        .collect();
    json!({"nodeName": root, "simpleString": root, "children": [], "metadata": {}, "metrics": metrics})
}

fn driver_update(made: &mut Made, sql: u64, accumulator: u64, value: i64) {
    made.line(json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates",
        "executionId": sql, "accumUpdates": [[accumulator, value]]}));
}

fn tasks(ms: i64) -> Vec<MadeTask> {
    (0..4).map(|_| task(ms)).collect()
}

#[test]
fn gaps_are_named_by_what_lies_around_them() {
    let scan = plan("Scan parquet ", &[("metadata time", "timing", 7)]);
    let broadcast =
        plan("BroadcastExchange", &[("time to collect", "timing", 7), ("time to build", "timing", 8)]);
    let insert = plan("Execute InsertIntoHadoopFsRelationCommand", &[]);
    let project = plan("Project", &[]);
    // (plan, driver metric, gap before the job, gap after it, name)
    for (plan, metric, before, after, kind) in [
        (&project, 0, 40_000, 10, "planning"),
        (&scan, 35_000, 40_000, 10, "listing"),
        (&broadcast, 35_000, 40_000, 10, "broadcast"),
        (&insert, 0, 10, 40_000, "commit"),
        (&project, 0, 10, 40_000, "collect"),
    ] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        made.sql(1, "first", &project, &json!({})).job(Some(1), &[tasks(20_000)]);
        made.sql_end(1).sql(3, "query", plan, &json!({}));
        if metric > 0 {
            driver_update(&mut made, 3, 7, metric);
        }
        made.wait(before).job(Some(3), &[tasks(20_000)]);
        made.wait(after).sql_end(3);
        made.job(None, &[tasks(1000)]);
        let sink = said(&made.run(), "DRIVER");
        let [claim] = of_kind(&sink, "driverBound")[..] else { panic!("{kind}: {:?}", sink.claims()) };
        assert_eq!((text(claim, "kind"), claim.scope.sql_id), (kind, Some(3)));
        // Four tasks' results of a kilobyte are not what it handled.
        let is_small = claim.title.starts_with("The driver was still busy in queries after their last job: ");
        assert_eq!(is_small, kind == "collect", "{}", claim.title);
        assert!(!claim.recommendation.text.contains("large results"), "{}", claim.recommendation.text);
        assert!((number(claim, "driver_only_ms") - 40_000.0).abs() < 200.0, "{claim:?}");
        assert!((number(claim, "beyond_normal_ms") - 37_000.0).abs() < 200.0, "{claim:?}");
        assert!((number(claim, "idle_core_ms") - 160_000.0).abs() < 1000.0, "{claim:?}");
        let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
        let job = if after > before { 2 } else { 1 };
        let by = |edits: &[Edit]| match edits {
            [Edit::JobSooner { job: sooner, by_ms }] if *sooner == job => *by_ms,
            other => panic!("{other:?}"),
        };
        // At best next to nothing is left of it.
        assert!(by(low) < by(high) && (by(high) - 39_700).abs() < 200);
    }
}

#[test]
fn time_outside_queries_is_the_program_s_own() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    made.job(None, &[tasks(20_000)]).len();
    made.wait(60_000).job(None, &[tasks(20_000)]);
    let sink = said(&made.run(), "DRIVER");
    let [claim] = of_kind(&sink, "driverBound")[..] else { panic!("{sink:?}") };
    assert_eq!(text(claim, "kind"), "code");
    let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
    // A second of a minute is normal; what the program did in the rest is not in the log.
    assert!(
        matches!((&low[..], &high[..]), ([Edit::JobSooner { by_ms: low, .. }], [Edit::JobSooner { by_ms: high, .. }])
        if (low - 44_250).abs() < 200 && (high - 59_700).abs() < 200)
    );
    assert_eq!(claim.confidence, Confidence::Low);
}

#[test]
fn planning_the_first_query_takes_longer() {
    for (gap, fires) in [(12_000, false), (20_000, true)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        made.job(None, &[tasks(20_000)]);
        made.sql(3, "query", &plan("Project", &[]), &json!({}));
        made.wait(gap).job(Some(3), &[tasks(20_000)]);
        made.sql_end(3);
        assert_eq!(said(&made.run(), "DRIVER").claims().len(), usize::from(fires), "{gap}");
    }
}

#[test]
fn start_up_is_a_fact_and_no_saving() {
    let mut made = Made::new("3.5.9", 0, 2, &[]);
    let came = made.now + 79_000;
    made.executor(1, came, None).executors_for_tasks(1, 2, came);
    made.wait(80_000).job(None, &[tasks(20_000)]);
    let sink = said(&made.run(), "DRIVER");
    let [claim] = sink.claims() else { panic!("{sink:?}") };
    assert_eq!((text(claim, "kind"), claim.severity), ("startup", Some(Severity::Info)));
    assert!(matches!(claim.worth, Worth::None));
}

#[test]
fn time_between_session_and_first_query_is_code() {
    for (ms, fires) in [(4000, false), (12_000, true)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        made.wait(ms).job(None, &[tasks(5000)]);
        let sink = said(&made.run(), "DRIVER");
        let claims = of_kind(&sink, "driverBound");
        assert_eq!(claims.len(), usize::from(fires), "{ms}: {:?}", sink.claims());
        let Some(claim) = claims.first() else { continue };
        assert_eq!(text(claim, "kind"), "code");
        let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
        assert!(
            matches!((&low[..], &high[..]), ([Edit::JobSooner { by_ms: low, .. }], [Edit::JobSooner { by_ms: high, .. }])
            if low < high)
        );
    }
}

#[test]
fn a_slow_machine_is_slow_to_the_session_as_well() {
    for (session, fires) in [(500, true), (4000, false)] {
        let mut made = Made::new("3.5.9", 0, 2, &[]);
        made.now = START + session;
        let came = made.now;
        made.executor(1, came, None).executors_for_tasks(1, 2, came);
        made.wait(20_000).job(None, &[tasks(5000)]);
        assert_eq!(said(&made.run(), "DRIVER").claims().len(), usize::from(fires), "{session}");
    }
}

#[test]
fn waiting_for_an_executor_is_not_the_driver_s_time() {
    for (arrives, fires) in [(None, true), (Some(8000), false)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        made.job(None, &[tasks(20_000)]);
        if let Some(after) = arrives {
            let came = made.now + after;
            made.executor(3, came, None);
        }
        made.wait(8500).job(None, &[tasks(20_000)]);
        let claims = said(&made.run(), "DRIVER").claims().len();
        assert_eq!(claims, usize::from(fires), "{arrives:?}");
    }
}

#[test]
fn short_pauses_of_a_short_program_count() {
    // (pause after each of three jobs, fires)
    for (pause, fires) in [(3000, true), (900, false)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for _ in 0..3 {
            made.job(None, &[tasks(2000)]);
            made.wait(pause);
        }
        let sink = said(&made.run(), "DRIVER");
        let kinds: Vec<&str> = sink.claims().iter().map(|claim| text(claim, "kind")).collect();
        assert_eq!(kinds, if fires { vec!["code", "end"] } else { vec![] }, "{:?}", sink.claims());
    }
}

#[test]
fn a_loop_of_small_queries_is_planning() {
    // (queries, planning of each, fires)
    for (queries, planning, fires) in [(50, 120, true), (5, 200, false)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for query in 0..queries {
            made.sql(query, "query", &plan("Project", &[]), &json!({}));
            made.wait(planning).job(Some(query), &[tasks(100)]);
            made.sql_end(query);
        }
        let sink = said(&made.run(), "DRIVER");
        let kinds: Vec<&str> = sink.claims().iter().map(|claim| text(claim, "kind")).collect();
        assert_eq!(kinds, if fires { vec!["planning", "series"] } else { vec![] }, "{queries}");
    }
}

#[test]
fn a_series_is_one_after_another_and_small() {
    // (queries, task time of each, side by side, fires)
    for (queries, task_ms, together, fires) in [
        (50, 20, false, true),
        (50, 110, false, true),
        (50, 260, false, false),
        (50, 900, false, false),
        (19, 20, false, false),
        (50, 20, true, false),
    ] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for query in 0..queries {
            made.sql(query, "collect at a.py:3", &plan("Project", &[]), &json!({}));
            made.wait(60).job(Some(query), &[tasks(task_ms)]);
            if !together {
                made.wait(40).sql_end(query);
            }
        }
        for query in (0..queries).filter(|_| together) {
            made.sql_end(query);
        }
        let sink = said(&made.run(), "DRIVER");
        let series: Vec<_> = sink.claims().iter().filter(|claim| text(claim, "kind") == "series").collect();
        assert_eq!(series.len(), usize::from(fires), "{queries} {task_ms}: {:?}", sink.claims());
        let Some(claim) = series.first() else { continue };
        assert!(
            claim.title.starts_with("50 queries of collect at a.py:3 ran one after another"),
            "{}",
            claim.title
        );
        let (low, high) = queries_gone(claim);
        assert!(0 < low && low < high && high < 49, "{low} {high}");
    }
}

/// Queries that do not happen in the two replays of a series.
fn queries_gone(claim: &Claim) -> (usize, usize) {
    let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
    let gone = |edits: &[Edit]| edits.iter().filter(|edit| matches!(edit, Edit::DropJob { .. })).count();
    (gone(low), gone(high))
}

#[test]
fn one_query_reads_once_what_all_of_a_series_read() {
    // (input records of a query, queries that the best replay is without)
    let gone = |records: &dyn Fn(u64) -> i64| {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for query in 0..50 {
            made.sql(query, "collect at a.py:3", &plan("Project", &[]), &json!({}));
            let tasks = (0..4).map(|_| task(110).input(4000, records(query))).collect();
            made.wait(60).job(Some(query), &[tasks]);
            made.wait(40).sql_end(query);
        }
        let sink = said(&made.run(), "DRIVER");
        queries_gone(sink.claims().iter().find(|claim| text(claim, "kind") == "series").unwrap()).1
    };
    assert_eq!(gone(&|_| 1000), 49, "the same rows each time: one query is left");
    let others = gone(&|query| 1000 + query as i64);
    assert!((20..40).contains(&others), "other rows each time: their work is left ({others})");
}

#[test]
fn steps_of_a_loop_take_turns() {
    // (pause before every tenth round, fires)
    for (pause, fires) in [(0, true), (9000, false)] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        for round in 0..15 {
            made.wait(if round % 5 == 4 { pause } else { 0 });
            for (step, place) in ["save at a.py:8", "count at a.py:9"].into_iter().enumerate() {
                let query = 2 * round + step as u64;
                made.sql(query, place, &plan("Project", &[]), &json!({}));
                made.wait(60).job(Some(query), &[tasks(20)]);
                made.wait(40).sql_end(query);
            }
        }
        let sink = said(&made.run(), "DRIVER");
        let series: Vec<_> = sink.claims().iter().filter(|claim| text(claim, "kind") == "series").collect();
        assert_eq!(series.len(), usize::from(fires), "{:?}", sink.claims());
        if let Some(claim) = series.first() {
            assert!(
                claim.title.starts_with("30 queries of count at a.py:9, save at a.py:8 ran"),
                "{}",
                claim.title
            );
        }
    }
}

#[test]
fn partitions_that_are_fetched_one_by_one() {
    // (jobs, tasks of each, task time, call site, fires)
    for (jobs, width, task_ms, place, fires) in [
        (24, 1, 400, "toLocalIterator at a.py:5", true),
        (24, 1, 400, "first at a.py:5", true),
        (24, 1, 400, "parquet at a.py:5", true),
        (24, 4, 400, "collect at a.py:5", false),
        (6, 1, 800, "toLocalIterator at a.py:5", false),
        (24, 1, 60, "toLocalIterator at a.py:5", false),
    ] {
        for sql in [None, Some(0)] {
            let mut made = Made::new("3.5.9", 2, 4, &[]);
            made.stage_name = place.to_owned();
            if sql.is_some() {
                made.sql(0, "collect at a.py:5", &plan("Project", &[]), &json!({}));
            }
            for partition in 0..jobs {
                let one = MadeTask { info: json!({"Partition ID": partition}), ..task(task_ms) };
                made.job(sql, &[vec![one; width]]);
            }
            let sink = said(&made.run(), "DRIVER");
            let rows: Vec<_> =
                sink.claims().iter().filter(|claim| text(claim, "kind") == "oneByOne").collect();
            assert_eq!(rows.len(), usize::from(fires), "{jobs} {width} {place}: {:?}", sink.claims());
            let Some(claim) = rows.first() else { continue };
            assert!(
                claim.title.starts_with("24 jobs of one task each ran one after another for 9."),
                "{}",
                claim.title
            );
            assert_eq!(claim.scope.sql_id, sql);
            // Eight slots for 24 equal tasks: three rounds.
            assert!((1100.0..1400.0).contains(&number(claim, "together_ms")), "{claim:?}");
            let told = claim.recommendation.text.contains("prefetchPartitions");
            assert_eq!(told, place.starts_with("toLocalIterator"));
            // Readers look at files for their schema; the same call writes in a query of its own.
            let is_schema = claim.recommendation.text.contains("give the schema");
            assert_eq!(is_schema, place.starts_with("parquet") && sql.is_none(), "{place} {sql:?}");
        }
    }
}

#[test]
fn time_after_a_large_result_is_its_handling() {
    for (bytes, kind) in [(4_000_000, "collect"), (1000, "end")] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        made.sql(1, "query", &plan("Project", &[]), &json!({}));
        let tasks = (0..4).map(|_| task(5000).with(json!({"Result Size": bytes}))).collect();
        made.job(Some(1), &[tasks]);
        made.sql_end(1).wait(14_000);
        let sink = said(&made.run(), "DRIVER");
        let [claim] = of_kind(&sink, "driverBound")[..] else { panic!("{:?}", sink.claims()) };
        assert_eq!(text(claim, "kind"), kind);
        assert_eq!(claim.title.starts_with("The driver handled results: "), kind == "collect");
        assert_eq!(claim.recommendation.text.contains("Write large results"), kind == "collect");
        let Worth::Replay { low, .. } = &claim.worth else { panic!("{claim:?}") };
        assert_eq!(low.len(), 1);
    }
}

#[test]
fn the_first_stage_meets_a_cold_jvm() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    made.slots_from = made.now + 9000;
    made.job(None, &[tasks(20_000)]);
    assert!(said(&made.run(), "SCHED").claims().is_empty());
}

#[test]
fn many_small_gaps_add_up() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    for _ in 0..60 {
        made.job(None, &[tasks(500)]);
        made.wait(2000);
    }
    let sink = said(&made.run(), "DRIVER");
    assert_eq!(of_kind(&sink, "driverBound").len(), 1, "{:?}", sink.claims());
}

#[test]
fn inference_planning_and_start_up_are_normal() {
    // A healthy run: four seconds to the first job, a one-task inference job, 2.5 s of planning.
    let mut made = Made::new("4.3.0", 2, 2, &[]);
    made.wait(3000).job(None, &[vec![task(900)]]);
    made.sql(0, "query", &plan("Project", &[]), &json!({}));
    made.wait(2500).job(Some(0), &[tasks(8000), tasks(4000)]);
    made.wait(1500).sql_end(0);
    assert!(said(&made.run(), "DRIVER").claims().is_empty());
    // Idle time of streams is by design, and said to be not judged.
    let sink = said(&fixture("streaming-4.3.0"), "DRIVER");
    assert!(sink.claims().is_empty() && !sink.unchecked().is_empty());
}

#[test]
fn stages_behind_other_jobs_and_a_slow_driver() {
    // (time of the other job's tasks, wait of the stage, same query, cause)
    for (other_ms, wait, same, cause) in [
        (30_000, 30_100, false, Some("queue")),
        (30_000, 30_100, true, None),
        (1000, 12_000, false, Some("driver")),
        (1000, 4000, false, None),
        (1000, 900, false, None),
    ] {
        let mut made = Made::new("3.5.9", 2, 2, &[]);
        let submitted = made.now;
        made.sql(1, "first", &plan("Project", &[]), &json!({}));
        made.job(Some(1), &[tasks(other_ms)]);
        made.now = submitted + 5;
        made.slots_from = submitted + wait;
        let query = if same { Some(1) } else { None };
        let stage = made.job(query, &[tasks(20_000)])[0];
        let sink = said(&made.run(), "SCHED");
        let claims = of_kind(&sink, "schedulingWait");
        assert_eq!(claims.len(), usize::from(cause.is_some()), "{cause:?}: {:?}", sink.claims());
        let Some(claim) = claims.first() else { continue };
        assert_eq!((claim.scope.stage_id, Some(text(claim, "cause"))), (Some(stage), cause));
        assert!((number(claim, "wait_ms") - (wait as f64 - 5.0)).abs() < 10.0, "{claim:?}");
        match &claim.worth {
            Worth::None => assert_eq!(cause, Some("queue")),
            Worth::Replay { low, high } => assert_eq!((low.len(), high.len()), (1, 1)),
            Worth::Resource => panic!("{claim:?}"),
        }
    }
}

#[test]
fn a_stage_without_executors_waits_for_them_and_not_for_the_scheduler() {
    let mut made = Made::new("3.5.9", 2, 2, &[]);
    let now = made.now;
    made.executor(1, now + 20_000, None).executor(2, now + 20_000, None);
    made.slots_from = now + 20_050;
    made.job(None, &[tasks(20_000)]);
    assert!(said(&made.run(), "SCHED").claims().is_empty());
}

#[test]
fn cores_left_free_for_locality() {
    for (wait, fires) in [("3s", true), ("0s", false)] {
        let mut made = Made::new("3.5.9", 2, 4, &[("spark.locality.wait", wait)]);
        // Ten tasks want executor 1; two run elsewhere in the end, after it was busy for long.
        let mut all: Vec<MadeTask> = (0..24).map(|_| task(5000).on(1)).collect();
        let mut away = task(5000).on(1);
        away.info = json!({"Locality": "ANY"});
        all.extend([away.clone(), away]);
        made.job(None, &[all]);
        let sink = said(&made.run(), "SCHED");
        let claims = of_kind(&sink, "schedulingWait");
        assert_eq!(claims.len(), usize::from(fires), "{:?}", sink.claims());
        if let Some(claim) = claims.first() {
            assert_eq!(text(claim, "cause"), "locality");
            assert_eq!(claim.recommendation.changes[0].proposed.as_deref(), Some("0s"));
        }
    }
}

#[test]
fn executors_that_get_no_task_for_locality() {
    // (locality wait, where the tasks ran, worth)
    for (wait, executors, fires) in [("15s", 1, true), ("15s", 2, false), ("0s", 1, false)] {
        let mut made = Made::new("3.5.9", 2, 2, &[("spark.locality.wait", wait)]);
        made.job(None, &[(0..24).map(|n| task(1000).on(n % executors + 1)).collect()]);
        let sink = said(&made.run(), "SCHED");
        let claims = of_kind(&sink, "schedulingWait");
        assert_eq!(claims.len(), usize::from(fires), "{wait} {executors}: {:?}", sink.claims());
        let Some(claim) = claims.first() else { continue };
        assert_eq!((text(claim, "cause"), number(claim, "unused_executors")), ("locality", 1.0));
        let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
        let factor = |edits: &[Edit]| match edits {
            [Edit::ScaleAll { factor, .. }] => *factor,
            other => panic!("{other:?}"),
        };
        assert!((factor(high) - 0.5).abs() < 0.05 && factor(low) > factor(high));
    }
}

#[test]
fn tasks_away_from_their_data() {
    // (run time of tasks at ANY, their records, locality, fires)
    for (ms, records, locality, fires) in [
        (4000, 1000, "ANY", true),
        (1050, 1000, "ANY", false),
        (4000, 4000, "ANY", false),
        (4000, 1000, "NODE_LOCAL", false),
    ] {
        let mut made = Made::new("3.5.9", 4, 4, &[]);
        let all: Vec<MadeTask> = (0..80)
            .map(|n| {
                if n % 4 != 0 {
                    return task(1000).input(1 << 20, 1000);
                }
                let mut away = task(ms).input(1 << 20, records);
                away.info = json!({"Locality": locality});
                away
            })
            .collect();
        made.job(None, &[all]);
        let sink = said(&made.run(), "LOCAL");
        let claims = of_kind(&sink, "coreLocality");
        assert_eq!(claims.len(), usize::from(fires), "{ms} {records} {locality}: {:?}", sink.claims());
        let Some(claim) = claims.first() else { continue };
        assert_eq!((number(claim, "non_local_tasks"), number(claim, "slower_ratio")), (20.0, 4.0));
        assert_eq!(number(claim, "excess_task_ms"), 60_000.0);
        let Worth::Replay { high, .. } = &claim.worth else { panic!("{claim:?}") };
        let [Edit::Scale { factors, .. }] = &high[..] else { panic!("{high:?}") };
        assert_eq!(factors.iter().filter(|factor| **factor < 0.5).count(), 20);
    }
}
