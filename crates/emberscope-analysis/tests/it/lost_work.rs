//! Failures and repeated work: FAIL, SFAIL, RETRY, SPEC.

use crate::eight_rules::warm;
use crate::made::{Made, MadeTask, fixture, of_kind, read_path, said, task};
use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_analysis::finding::{Change, Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::json;

fn failing() -> MadeTask {
    let mut failing = task(800);
    failing.reason = json!({"Reason": "ExceptionFailure", "Class Name": "java.lang.IllegalStateException",
        "Description": "bad row 7", "Stack Trace": [], "Full Stack Trace": "java.lang.IllegalStateException: bad row 7\n\tat a.B.c(B.scala:1)",
        "Accumulator Updates": []});
    failing.info = json!({"Failed": true});
    failing
}

#[test]
fn one_attempt_that_failed_once_is_a_fact() {
    // (failed of 13, seconds that the run takes otherwise, milliseconds until the failure, severity)
    for (failed, wait_s, until_ms, severity) in [
        (1, 60, 800, Severity::Info),
        (2, 60, 800, Severity::Warning),
        (1, 2, 800, Severity::Warning),
        // It worked at once after the failure had taken long: that its repetition cost.
        (1, 60, 8000, Severity::Info),
    ] {
        let mut made = warm();
        made.wait(wait_s * 1000);
        let mut tasks = attempts(13, failed);
        tasks[0].run_ms = until_ms;
        made.job(None, &[tasks]);
        let sink = said(&made.run(), "FAIL");
        let [claim] = of_kind(&sink, "failures")[..] else { panic!("{sink:?}") };
        assert_eq!(claim.severity, Some(severity), "{failed} {wait_s} {until_ms}");
        assert_eq!(matches!(claim.worth, Worth::None), severity == Severity::Info);
    }
}

/// So many attempts, of which the first `failed` fail and are repeated.
fn attempts(all: usize, failed: usize) -> Vec<MadeTask> {
    (0..all)
        .map(|n| {
            let mut task = if n < failed { failing() } else { task(800) };
            let (index, attempt) =
                if n < failed { (n, 0) } else { (n - failed, usize::from(n < 2 * failed)) };
            task.info["Index"] = json!(index);
            task.info["Partition ID"] = json!(index);
            task.info["Attempt"] = json!(attempt);
            task
        })
        .collect()
}

#[test]
fn failed_attempts_by_share() {
    for (all, failed, severity) in
        [(100, 1, Severity::Info), (100, 8, Severity::Warning), (100, 30, Severity::Critical)]
    {
        let mut made = warm();
        made.job(None, &[attempts(all, failed)]);
        let sink = said(&made.run(), "FAIL");
        let [claim] = of_kind(&sink, "failures")[..] else { panic!("{sink:?}") };
        assert_eq!(claim.severity, Some(severity), "{failed}");
        assert_eq!(claim.evidence["failed_attempts"], failed);
        assert!(claim.title.contains("IllegalStateException: bad row #"), "{}", claim.title);
        // Others made them good: their time is measured, and half of it at least is saved.
        let Worth::Replay { low, high } = &claim.worth else { panic!("{claim:?}") };
        assert!(matches!((&low[..], &high[..]), ([Edit::Scale { .. }], [Edit::Remove { .. }])), "{claim:?}");
    }
    for (all, text) in [(1, "The only task attempt of stage"), (3, "All 3 task attempts of stage")] {
        let mut made = warm();
        made.job(None, &[attempts(all, all)]);
        let sink = said(&made.run(), "FAIL");
        assert!(sink.claims()[0].title.starts_with(text), "{}", sink.claims()[0].title);
    }
    let mut made = warm();
    made.job(None, &[attempts(100, 0)]);
    assert!(said(&made.run(), "FAIL").claims().is_empty());
}

/// A stage whose every second attempt failed with this error.
fn failed_with(class: &str, message: &str, stack: &str) -> Made {
    let mut made = warm();
    let mut tasks = attempts(20, 4);
    for task in tasks.iter_mut().take(4) {
        task.reason = json!({"Reason": "ExceptionFailure", "Class Name": class, "Description": message,
            "Stack Trace": [], "Full Stack Trace": format!("{class}: {message}\n{stack}"), "Accumulator Updates": []});
    }
    made.job(None, &[tasks]);
    made
}

#[test]
fn each_cause_has_a_change_of_its_own() {
    let spark = "\tat org.apache.spark.rdd.RDD.iterator(RDD.scala:1)";
    let own = "\tat scala.a.B.c(B.scala:2)\n\tat com.shop.Etl$.parse(Etl.scala:12)";
    for (class, message, stack, key) in [
        ("java.lang.OutOfMemoryError", "Java heap space", spark, Some("spark.executor.memory")),
        ("java.lang.OutOfMemoryError", "Direct buffer memory", spark, Some("spark.executor.memoryOverhead")),
        ("java.lang.ClassNotFoundException", "com.shop.Row", spark, Some("dependencies")),
        ("java.lang.IllegalStateException", "bad row", own, Some("Etl.scala:12 (com.shop.Etl$.parse)")),
        ("java.io.IOException", "broken pipe", spark, None),
    ] {
        let sink = said(&failed_with(class, message, stack).run(), "FAIL");
        let [claim] = of_kind(&sink, "failures")[..] else { panic!("{sink:?}") };
        let changes = &claim.recommendation.changes;
        assert_eq!(changes.first().map(|change| change.key.as_str()), key, "{class}");
        // The error itself is no change.
        let repeats = |change: &Change| change.proposed.as_deref().is_some_and(|to| to.starts_with(class));
        assert!(!changes.iter().any(repeats), "{changes:?}");
    }
}

#[test]
fn a_mark_of_spark_without_its_numbers_is_not_shown() {
    let message = "[USER_RAISED_EXCEPTION] no such day SQLSTATE: P0001";
    let run = failed_with("org.apache.spark.SparkRuntimeException", message, "").run();
    let sink = said(&run, "FAIL");
    let claim = &sink.claims()[0];
    assert!(
        claim.title.ends_with("SparkRuntimeException: [USER_RAISED_EXCEPTION] no such day"),
        "{}",
        claim.title
    );
    assert!(!format!("{claim:?}").contains("P#"), "{claim:?}");
}

#[test]
fn a_finding_that_is_pointed_to_is_there() {
    for name in ["executor-loss-3.4.4", "executor-loss-3.5.9", "executor-loss-4.3.0"] {
        let diagnosis = diagnose(&fixture(name), &Options::default());
        let points = diagnosis.findings.iter().any(|finding| finding.recommendation.text.contains("(RETRY)"));
        assert!(points && diagnosis.findings.iter().any(|finding| finding.kind == "retryWaste"), "{name}");
    }
    // Too short to be worth a second, but it failed.
    let mut made = warm();
    let mut tasks: Vec<MadeTask> = (0..8).map(|_| task(800)).collect();
    tasks[0] = task(100);
    tasks[0].reason = json!({"Reason": "ExecutorLostFailure", "Executor ID": "1", "Exit Caused By App": true,
        "Loss Reason": "Remote RPC client disassociated"});
    tasks[0].info = json!({"Failed": true});
    made.job(None, &[tasks]);
    let diagnosis = diagnose(&made.run(), &Options::default());
    let [failed] = diagnosis.findings.iter().filter(|one| one.kind == "failures").collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", diagnosis.findings)
    };
    assert!(failed.recommendation.text.contains("(RETRY)"), "{}", failed.recommendation.text);
    assert!(diagnosis.findings.iter().any(|finding| finding.kind == "retryWaste"));
}

#[test]
fn a_barrier_has_no_shuffle_to_lose() {
    for name in ["barrier-3.5.9", "barrier-4.3.0"] {
        let sink = said(&fixture(name), "SFAIL");
        let [claim] = sink.claims() else { panic!("{sink:?}") };
        assert!(claim.recommendation.text.contains("barrier"), "{}", claim.recommendation.text);
        assert!(!claim.recommendation.text.contains("shuffle"), "{}", claim.recommendation.text);
    }
}

#[test]
fn a_failed_run_says_first_why() {
    for name in ["failures-3.4.4", "failures-3.5.9", "failures-4.3.0", "connect-4.3.0", "streaming-4.3.0"] {
        let diagnosis = diagnose(&fixture(name), &Options::default());
        let (first, rest) = diagnosis.verdict.actions.split_first().unwrap();
        assert_eq!(first.finding_ids[0], diagnosis.findings[0].id, "{name}");
        assert_eq!(diagnosis.findings[0].tag, "FAIL", "{name}");
        assert!(
            rest.iter().all(|action| action.text.starts_with("Once the run no longer fails: ")),
            "{rest:?}"
        );
        assert!(diagnosis.verdict.headline.contains(&diagnosis.findings[0].title), "{name}");
        if name.starts_with("failures") {
            // The last job is the one that ended it.
            assert_eq!(diagnosis.findings[0].scope.stage_id, Some(7), "{name}");
        }
    }
}

#[test]
fn killed_attempts_are_no_failures() {
    let mut made = warm();
    let mut tasks = attempts(20, 0);
    tasks[3].reason =
        json!({"Reason": "TaskKilled", "Kill Reason": "Stage cancelled", "Accumulator Updates": []});
    tasks[3].info["Killed"] = json!(true);
    made.job(None, &[tasks]);
    assert!(said(&made.run(), "FAIL").claims().is_empty());
}

#[test]
fn failed_stages_of_real_runs() {
    for name in ["failures-3.4.4", "failures-3.5.9", "failures-4.3.0"] {
        let run = fixture(name);
        let sink = said(&run, "SFAIL");
        let variants: Vec<&str> = sink.claims().iter().filter_map(|claim| claim.variant).collect();
        assert_eq!(variants, ["givenUp", "cancelled", "givenUp", "givenUp", "givenUp"], "{name}");
        let titles: Vec<&str> = sink.claims().iter().map(|claim| claim.title.as_str()).collect();
        assert!(titles[0].ends_with("ValueError: bad record \"x\" in partition 2"), "{}", titles[0]);
        assert!(titles[4].contains("ZeroDivisionError"), "{}", titles[4]);
    }
    assert!(said(&fixture("sql-aqe-4.3.0"), "SFAIL").claims().is_empty());
}

#[test]
fn a_query_that_failed_and_was_done_another_way_was_for_nothing() {
    let log = |name: &str| {
        let logs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/logs");
        read_path(&logs.join(format!("{name}.zst")))
    };
    for name in ["unseen2-large-result-bad-3.5.9", "unseen2-large-result-bad-4.3.0"] {
        let sink = said(&log(name), "SFAIL");
        let [claim] = of_kind(&sink, "stageFailed")[..] else { panic!("{sink:?}") };
        let Worth::Replay { high, .. } = &claim.worth else { panic!("{claim:?}") };
        assert!(matches!(high[..], [Edit::DropJob { .. }]), "{name}: {high:?}");
    }
    // Where nothing else read the same afterwards, mending the error lets the query take its time.
    let sink = said(&fixture("failures-4.3.0"), "SFAIL");
    let given_up = sink.claims().iter().filter(|claim| claim.variant == Some("givenUp"));
    assert!(given_up.clone().count() > 0 && given_up.clone().all(|claim| matches!(claim.worth, Worth::None)));
}

#[test]
fn the_chain_of_a_lost_executor_has_one_root_cause() {
    for name in ["executor-loss-3.4.4", "executor-loss-3.5.9", "executor-loss-4.3.0"] {
        let run = fixture(name);
        let sink = said(&run, "RETRY");
        let [claim] = of_kind(&sink, "retryWaste")[..] else { panic!("{name}: {sink:?}") };
        assert_eq!(claim.evidence["root_cause"], "out_of_memory");
        assert_eq!(claim.evidence["exit_code"], 137);
        assert_eq!(claim.evidence["repeated_stage_attempts"].as_array().unwrap().len(), 2, "{name}");
        // The whole chain: what ran on the executor, what could not fetch, what was done again.
        let lost = claim.evidence["lost_ms"].as_i64().unwrap();
        let parts: i64 = ["executor_loss_ms", "fetch_failed_ms", "stage_retry_ms", "resubmitted_ms"]
            .iter()
            .filter_map(|name| claim.evidence.get(*name).and_then(serde_json::Value::as_i64))
            .sum();
        assert_eq!(lost, parts);
        let by_accounting: i64 = run
            .stages
            .iter()
            .map(|stage| {
                let launch = stage.tasks.column(emberscope_log::columns::TaskColumn::LaunchTime);
                let finish = stage.tasks.column(emberscope_log::columns::TaskColumn::FinishTime);
                let lost = stage.tasks.lost().iter();
                lost.map(|(row, _)| finish[*row as usize].unwrap() - launch[*row as usize].unwrap())
                    .sum::<i64>()
            })
            .sum();
        assert_eq!(lost, by_accounting, "{name}");
        let Worth::Replay { low, high } = &claim.worth else { panic!() };
        assert_eq!(high.iter().filter(|edit| matches!(edit, Edit::Drop { .. })).count(), 2);
        assert_eq!(low.iter().filter(|edit| matches!(edit, Edit::ScaleAll { .. })).count(), 2);
        // The stage that failed for want of the data was tried again: no failed job.
        let failed = said(&run, "SFAIL");
        assert!(failed.claims().iter().all(|claim| claim.variant == Some("retried")), "{failed:?}");
    }
}

#[test]
fn idle_executors_that_go_lose_nothing() {
    for name in ["dynamic-allocation-3.4.4", "dynamic-allocation-4.3.0"] {
        assert!(said(&fixture(name), "RETRY").claims().is_empty(), "{name}");
    }
}

/// A stage in which each of the first `copies` tasks has a speculative copy, which wins if `wins`.
fn speculative(copies: usize, wins: usize) -> Vec<MadeTask> {
    let mut tasks: Vec<MadeTask> = (0..32).map(|_| task(3000)).collect();
    for n in 0..copies {
        let mut copy = task(2500);
        copy.info = json!({"Index": n, "Partition ID": n, "Attempt": 1, "Speculative": true});
        let killed = json!({"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded", "Accumulator Updates": []});
        let loser = if n < wins { &mut tasks[n] } else { &mut copy };
        loser.reason = killed;
        loser.info["Killed"] = json!(true);
        tasks.push(copy);
    }
    tasks
}

#[test]
fn copies_that_lose_cost_core_time_only() {
    for (copies, wins, claims) in [(8, 0, 1), (8, 7, 0), (2, 0, 1), (1, 0, 0), (0, 0, 0)] {
        let mut made = warm();
        made.job(None, &[speculative(copies, wins)]);
        let sink = said(&made.run(), "SPEC");
        assert_eq!(sink.claims().len(), claims, "{copies} {wins}");
        if let [claim] = sink.claims() {
            assert!(matches!(claim.worth, Worth::Resource));
            assert_eq!(claim.core_ms, Some(copies as i64 * 2509));
            assert_eq!(claim.evidence["won_share"], 0.0);
        }
    }
}

const NO_SHUFFLE_DATA: &str = "org.apache.spark.shuffle.FetchFailedException: /disk0/local/usercache/someone/appcache/application_1_2/blockmgr-3/2d/shuffle_54_8347_0.index\n\tat a.B";

/// A job whose one stage was given up for an error, and what the job's end says.
fn given_up(made: &mut Made, error: &str, job_error: &str) {
    let now = made.now;
    let mut stage = json!({"Stage ID": 900, "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 1, "RDD Info": [],
        "Parent IDs": [], "Details": "", "Accumulables": [], "Submission Time": now});
    let reason = if error == NO_SHUFFLE_DATA {
        json!({"Reason": "FetchFailed", "Block Manager Address": null, "Shuffle ID": 54, "Map ID": 1, "Map Index": 1,
            "Reduce ID": 0, "Message": error})
    } else {
        json!({"Reason": "ExceptionFailure", "Class Name": "a.B", "Description": "no", "Stack Trace": [],
            "Full Stack Trace": error, "Accumulator Updates": []})
    };
    made.line(json!({"Event": "SparkListenerJobStart", "Job ID": 900, "Submission Time": now, "Stage Infos": [stage],
        "Stage IDs": [900], "Properties": {}}));
    made.line(json!({"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": {}}));
    made.line(json!({"Event": "SparkListenerTaskEnd", "Stage ID": 900, "Stage Attempt ID": 0, "Task Type": "ResultTask",
        "Task End Reason": reason, "Task Info": {"Task ID": 90_000, "Index": 0, "Attempt": 0,
        "Partition ID": 0, "Launch Time": now, "Executor ID": "1", "Host": "h1", "Locality": "ANY", "Speculative": false,
        "Getting Result Time": 0, "Finish Time": now + 900, "Failed": true, "Killed": false, "Accumulables": []}}));
    stage["Completion Time"] = json!(now + 1000);
    stage["Failure Reason"] = json!(error);
    made.line(json!({"Event": "SparkListenerStageCompleted", "Stage Info": stage}));
    made.line(json!({"Event": "SparkListenerJobEnd", "Job ID": 900, "Completion Time": now + 1100,
        "Job Result": {"Result": "JobFailed", "Exception": {"Message": job_error, "Stack Trace": []}}}));
    made.wait(2000);
}

#[test]
fn a_stage_without_its_shuffle_data_is_told_by_what_was_lost() {
    for (job_error, then) in [
        ("Job 900 cancelled because SparkContext was shut down", ", then the application was shut down"),
        (
            "Job aborted due to stage failure: ResultStage 900 has failed the maximum allowable number of times: 4",
            "",
        ),
    ] {
        let mut made = warm();
        given_up(&mut made, NO_SHUFFLE_DATA, job_error);
        let sink = said(&made.run(), "SFAIL");
        let [claim] = of_kind(&sink, "stageFailed")[..] else { panic!("{sink:?}") };
        let expected =
            format!("Stage 900 (attempt 0) failed{then}: FetchFailedException: …/shuffle_54_8347_0.index");
        assert_eq!(claim.title, expected);
        let text = &claim.recommendation.text;
        assert!(text.starts_with("The shuffle data that the stage reads was lost."), "{text}");
        assert_eq!(text.contains("who or what ended it"), !then.is_empty(), "{text}");
        assert!(!text.contains("stack trace"), "{text}");
    }
}

#[test]
fn a_stage_s_error_is_mended_as_its_tasks_are() {
    let run = fixture("failures-4.3.0");
    let (stages, tasks) = (said(&run, "SFAIL"), said(&run, "FAIL"));
    let of_stage = |sink: &emberscope_analysis::detector::Sink| {
        let mut claims = sink.claims().iter().filter(|claim| claim.scope.stage_id == Some(7));
        claims.next().map(|claim| claim.recommendation.text.clone())
    };
    assert_eq!(of_stage(&stages), of_stage(&tasks));
    assert!(of_stage(&stages).is_some_and(|text| text.starts_with("A divisor is zero")));
}

#[test]
fn what_failed_comes_first_though_the_run_came_through() {
    // A spill that costs seconds, and a job in which a stage was given up.
    let spilling =
        task(6000).shuffle_read(100 << 20, 1_000_000).with(json!({"Memory Bytes Spilled": 400 << 20,
        "Disk Bytes Spilled": 100 << 20, "Peak Execution Memory": 200 << 20}));
    let mut made = warm();
    given_up(&mut made, "a.B: no", "Job aborted due to stage failure: a.B: no");
    made.job(None, &[vec![spilling; 16]]);
    let diagnosis = diagnose(&made.run(), &Options::default());
    let tags: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.tag).collect();
    assert!(tags.contains(&"SPILL"), "{tags:?}");
    assert_eq!(diagnosis.verdict.actions[0].finding_ids[0], diagnosis.findings[0].id, "{tags:?}");
    assert!(
        diagnosis.verdict.headline.contains(&diagnosis.findings[0].title),
        "{}",
        diagnosis.verdict.headline
    );
}
