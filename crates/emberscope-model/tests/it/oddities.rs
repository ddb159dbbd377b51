//! Inputs that real logs and real users produce, each with its right values.

use crate::base::{base, event_first, lines, run_of, run_of_lines, source, summary_of, text};
use emberscope_log::block::ParseOptions;
use emberscope_log::columns::TaskColumn;
use emberscope_model::accounting::scheduler_delays;
use emberscope_model::load::load;
use emberscope_model::run::{ApplicationStatus, JobStatus, StageStatus};
use emberscope_model::sql::SqlStatus;
use emberscope_model::summary::{Summary, summarize};
use emberscope_model::trust::FileStatus;
use serde_json::json;

fn assert_same_totals(summary: &Summary, what: &str) {
    assert_eq!(summary.totals, base().totals, "{what}");
}

#[test]
fn base_truth() {
    let summary = base();
    assert_eq!(summary.application.duration_ms, Some(3000));
    assert_eq!(summary.application.status, ApplicationStatus::Succeeded);
    let totals = &summary.totals;
    assert_eq!((totals.jobs, totals.stages, totals.stage_attempts, totals.tasks.attempts), (1, 1, 1, 1));
    assert_eq!((totals.job_wall_ms, totals.driver_only_ms), (Some(1300), Some(1700)));
    assert_eq!(totals.useful, totals.all_work);
    assert_eq!(totals.useful.run_time_ms, Some(900));
    assert_eq!(totals.useful.cpu_time_ns, Some(800_000_000));
    assert_eq!(totals.useful.shuffle_write_time_ns, Some(2_500_000));
    assert_eq!((totals.useful.input_bytes, totals.useful.input_records), (Some(1000), Some(10)));
    let executors = &totals.executors;
    assert_eq!((executors.peak, executors.mean), (1, Some(1.0)));
    assert_eq!(executors.allocated_core_ms, Some(6000));
    assert_eq!((executors.occupied_core_ms, executors.busy_core_ms), (Some(1000), Some(900)));
    assert_eq!(totals.lost.attempt_time_ms, 0);
    assert_eq!((summary.trust.events, summary.trust.lines, summary.trust.bad_lines.count), (10, 10, 0));
    assert_eq!(summary.trust.coverage.ratio, Some(1.0));
    assert!(summary.trust.is_complete() && summary.trust.estimated.is_empty());
    let run = run_of_lines(&lines());
    let stage = &run.stages[0];
    assert_eq!((stage.waiting_ms(), stage.running_ms()), (Some(100), Some(1000)));
    assert_eq!(scheduler_delays(stage), [Some(45)]);
}

#[test]
fn a_cut_last_line() {
    let whole = text(&lines()[..9]);
    let last = event_first(&lines()[9]);
    let summary = summary_of(whole + &last[..40]);
    assert_eq!((summary.application.end_time_ms, summary.application.duration_ms), (Some(3300), Some(2300)));
    assert_eq!(summary.trust.estimated, ["application.end_time_ms"]);
    assert!(summary.trust.truncated_tail);
    assert_eq!(summary.trust.truncated_at.as_ref().map(|at| at.line), Some(10));
    assert_eq!((summary.trust.events, summary.trust.bad_lines.count), (9, 0));
    assert_eq!(summary.application.status, ApplicationStatus::Incomplete);
    assert_eq!(summary.totals.useful, base().totals.useful);
    assert_eq!(summary.trust.files[0].status, FileStatus::Partial);
}

#[test]
fn a_broken_line_in_the_middle() {
    let mut text: Vec<String> = lines().iter().map(event_first).collect();
    text[7].truncate(30);
    let run = run_of(text.join("\n") + "\n");
    let summary = summarize(&run);
    assert_eq!(summary.trust.bad_lines.count, 1);
    assert_eq!(summary.trust.bad_lines.first[0].line, 8);
    assert_eq!(run.stages[0].completed_ms, Some(3100));
    assert_eq!(summary.trust.estimated, ["stage 0 attempt 0 completion_time_ms"]);
    assert_eq!((summary.totals.job_wall_ms, summary.application.duration_ms), (Some(1300), Some(3000)));
}

#[test]
fn lines_that_are_not_objects() {
    let mut text: Vec<String> = lines().iter().map(event_first).collect();
    for odd in ["5", "null", "[]", "\"x\"", ""] {
        text.insert(4, odd.to_owned());
    }
    let summary = summary_of(format!("\u{feff}{}\r\n", text.join("\r\n")));
    assert_eq!((summary.trust.events, summary.trust.bad_lines.count), (10, 4));
    assert_same_totals(&summary, "bad lines");
}

#[test]
fn keys_in_any_order_and_white_space() {
    let sorted: String = lines().iter().map(|line| format!("{line}\n")).collect();
    assert_same_totals(&summary_of(sorted), "sorted keys");
    let spaced: String = lines().iter().map(|line| format!("{line:#}").replace('\n', " ") + "\n").collect();
    assert_same_totals(&summary_of(spaced), "white space");
}

#[test]
fn zstd_frames() {
    let frame = |lines: &[serde_json::Value]| zstd::bulk::compress(text(lines).as_bytes(), 1).unwrap();
    let (first, second) = (frame(&lines()[..5]), frame(&lines()[5..]));
    let both = [first.clone(), second.clone()].concat();
    assert_eq!(run_of(&both).trust.events, 10);
    let cut = [&first[..], &second[..second.len() / 2]].concat();
    let run = run_of(&cut);
    assert_eq!(run.trust.events, 5);
    assert!(run.trust.truncated_tail);
    // A writer that flushed inside the second frame, then died.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut encoder, text(&lines()[5..7]).as_bytes()).unwrap();
    std::io::Write::flush(&mut encoder).unwrap();
    let flushed = encoder.get_ref().clone();
    assert_eq!(run_of([first, flushed].concat()).trust.events, 7);
}

#[test]
fn a_databricks_folder_without_start() {
    let environment = json!({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties":
        {"spark.databricks.clusterUsageTags.sparkVersion": "13.3.x-photon-scala2.12"}});
    let lines = lines();
    let first = text(&[vec![environment], lines[1..6].to_vec()].concat());
    let source = source(
        "folder",
        vec![first.into_bytes(), text(&lines[6..8]).into_bytes(), text(&lines[8..9]).into_bytes()],
    );
    let run = load(&source, crate::base::options(), ParseOptions::default(), &|_| {});
    assert_eq!((run.application.end_ms, run.application.duration_ms()), (Some(3300), Some(2300)));
    assert_eq!(run.application.spark_version.as_deref(), Some("DBR 13.3 Photon"));
    assert_eq!(run.trust.engine, "photon");
    assert_eq!(run.trust.estimated, ["application.end_time_ms"]);
}

#[test]
fn a_slice_without_start() {
    let summary = summary_of(text(&lines()[4..9]));
    assert_eq!(summary.application.id.as_deref(), Some("app-1"));
    assert_eq!(
        (summary.application.start_time_ms, summary.application.end_time_ms),
        (Some(2000), Some(3300))
    );
    assert_eq!(summary.trust.estimated, ["application.start_time_ms", "application.end_time_ms"]);
    assert_eq!(summary.application.status, ApplicationStatus::Unknown);
    assert_eq!(summary.totals.executors.allocated_core_ms, None);
}

#[test]
fn sparse_failure_records() {
    let mut failed = lines();
    failed[8]["Job Result"] = json!({"Result": "JobFailed", "Exception": {"Message": "Job aborted"}});
    let run = run_of_lines(&failed);
    assert_eq!((run.jobs[0].status, run.jobs[0].error.as_deref()), (JobStatus::Failed, Some("Job aborted")));
    assert_eq!(run.application.status, ApplicationStatus::Failed);

    let mut fetch = lines();
    fetch[6]["Task End Reason"] =
        json!({"Reason": "FetchFailed", "Shuffle ID": 0, "Map ID": 1, "Reduce ID": 2, "Message": "gone"});
    let run = run_of_lines(&fetch);
    let summary = summarize(&run);
    assert_eq!(summary.totals.tasks.failed, 1);
    assert_eq!(summary.totals.lost.by_cause["fetch_failed"], 1000);
    assert_eq!(run.failures[0].pattern, "gone");
}

#[test]
fn order_does_not_matter() {
    for (from, to) in [(6, 7), (6, 8), (6, 4), (7, 5), (8, 7), (6, 9), (9, 0), (2, 9)] {
        let mut moved = lines();
        let line = moved.remove(from);
        moved.insert(to, line);
        let summary = summary_of(text(&moved));
        assert_same_totals(&summary, &format!("line {from} at {to}"));
        assert_eq!(summary.application, base().application);
    }
}

#[test]
fn a_lost_executor_leaves_no_metrics() {
    let mut lost = lines();
    lost[6]["Task End Reason"] = json!({"Reason": "ExecutorLostFailure", "Executor ID": "1", "Exit Caused By App": true, "Loss Reason": "oom"});
    lost[6].as_object_mut().unwrap().remove("Task Metrics");
    let run = run_of_lines(&lost);
    let totals = summarize(&run).totals;
    assert_eq!(totals.lost.attempt_time_ms, 1000);
    assert_eq!(totals.lost.by_cause["executor_loss"], 1000);
    assert_eq!(
        (totals.all_work.run_time_ms, totals.useful.run_time_ms, totals.lost.run_time_ms),
        (None, None, None)
    );
    assert_eq!(totals.executors.busy_core_ms, None);
    assert_eq!(run.failures[0].pattern, "oom");
}

#[test]
fn scheduler_delay_is_clamped_and_told() {
    let task = |launch: i64, finish: i64, getting: i64, deserialize: i64, run: i64| {
        let mut log = lines();
        log[6]["Task Info"]["Launch Time"] = json!(launch);
        log[6]["Task Info"]["Finish Time"] = json!(finish);
        log[6]["Task Info"]["Getting Result Time"] = json!(getting);
        log[6]["Task Metrics"]["Executor Deserialize Time"] = json!(deserialize);
        log[6]["Task Metrics"]["Executor Run Time"] = json!(run);
        let run = run_of_lines(&log);
        (scheduler_delays(&run.stages[0])[0], run.trust.clamped.get("scheduler_delay_ms").copied())
    };
    assert_eq!(task(2100, 2200, 0, 30, 80), (Some(-15), Some(1)));
    assert_eq!(task(2100, 2200, 2190, 10, 20), (Some(55), None));
    assert_eq!(task(2100, 0, 0, 10, 20), (None, None));
}

#[test]
fn accumulables_of_all_kinds() {
    let accumulables = json!([
        {"ID": 3_000_000_001_u64, "Name": "a", "Update": "123", "Value": "123"},
        {"ID": 2, "Name": "b", "Update": 123, "Value": 123},
        {"ID": 9, "Name": "internal.metrics.usage.events", "Update": "[]", "Value": "[]"},
        {"ID": 4, "Name": "c", "Update": "[]", "Value": "[]"},
        {"ID": 5, "Name": "d", "Update": [{"Block ID": "rdd_0_0"}], "Value": []},
        {"ID": 6, "Name": "e", "Value": 7},
        {"ID": 7, "Update": 8},
    ]);
    let mut log = lines();
    log[6]["Task Info"]["Accumulables"] = accumulables.clone();
    // The writer races with the scheduler: the same values may stand in earlier events.
    log[5]["Task Info"]["Accumulables"] = accumulables.clone();
    log[4]["Stage Info"]["Accumulables"] = accumulables;
    let run = run_of_lines(&log);
    let mut updates = Vec::new();
    run.stages[0].tasks.for_each_accumulator(|id, _, value| updates.push((id, value)));
    updates.sort_unstable();
    assert_eq!(updates, [(2, 123), (7, 8), (3_000_000_001, 123)]);
    assert!(
        run.trust.notes.iter().any(|note| note.starts_with("accumulator updates") && note.ends_with(": 2")),
        "{:?}",
        run.trust.notes
    );
}

fn plan(name: &str, partitions: u32, metric: u64) -> serde_json::Value {
    json!({"nodeName": "AdaptiveSparkPlan", "simpleString": "AdaptiveSparkPlan isFinalPlan", "children": [
        {"nodeName": name, "simpleString": format!("{name} {partitions}"), "children": [], "metadata": {},
         "metrics": [{"name": "rows", "accumulatorId": metric, "metricType": "sum"}]}], "metadata": {}, "metrics": []})
}

fn sql_lines() -> Vec<serde_json::Value> {
    let mut log = lines();
    log[3]["Properties"] = json!({"spark.sql.execution.id": "0"});
    let prefix = "org.apache.spark.sql.execution.ui.SparkListener";
    log.insert(3, json!({"Event": format!("{prefix}SQLExecutionStart"), "executionId": 0, "description": "q",
        "details": "", "physicalPlanDescription": "initial", "sparkPlanInfo": plan("Exchange", 200, 12), "time": 1900}));
    log.insert(11, json!({"Event": format!("{prefix}SQLExecutionEnd"), "executionId": 0, "time": 3400}));
    log
}

#[test]
fn adaptive_plans_keep_all_versions_and_metrics() {
    let mut log = sql_lines();
    let prefix = "org.apache.spark.sql.execution.ui.SparkListener";
    log[7]["Task Info"]["Accumulables"] = json!([{"ID": 12, "Update": 5}, {"ID": 13, "Update": "6"}]);
    log.insert(
        9,
        json!({"Event": format!("{prefix}SQLAdaptiveExecutionUpdate"), "executionId": 0,
        "physicalPlanDescription": "final", "sparkPlanInfo": plan("AQEShuffleRead", 2, 13)}),
    );
    let run = run_of_lines(&log);
    let execution = &run.sql_executions[0];
    let plan = run.final_plan(execution).unwrap();
    assert_eq!(plan.text(plan.nodes[1].simple_string), "AQEShuffleRead 2");
    assert_eq!(execution.versions.len(), 2);
    let metrics = run.sql_metrics(execution);
    assert_eq!((metrics[&12].total, metrics[&13].total), (Some(5), Some(6)));
    assert_eq!(run.node_stages(execution, &plan)[1].stages, [(0, 0)]);
    assert_eq!(run.blob_text(execution.versions[1].text.unwrap()).as_deref(), Some("final"));
    assert_eq!(summarize(&run).totals.sql_wall_ms, Some(1500));
}

#[test]
fn driver_metrics_come_in_pieces() {
    let mut log = sql_lines();
    let mut plan = plan("Scan", 1, 12);
    plan["children"][0]["metrics"] =
        json!([12, 13, 14, 15].map(|id| json!({"name": "m", "accumulatorId": id, "metricType": "size"})));
    log[3]["sparkPlanInfo"] = plan;
    for updates in [json!([[12, 5], [13, 7], [15, -1]]), json!([[14, 9], [999, 1]])] {
        log.push(json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates",
            "executionId": 0, "accumUpdates": updates}));
    }
    let run = run_of_lines(&log);
    let metrics = run.sql_metrics(&run.sql_executions[0]);
    assert_eq!([12, 13, 14, 15].map(|id| metrics[&id].total), [Some(5), Some(7), Some(9), None]);
    assert!(!metrics.contains_key(&999));
    assert!(
        run.trust
            .notes
            .iter()
            .any(|note| note.starts_with("driver-side metric updates") && note.ends_with(": 1"))
    );
}

#[test]
fn sql_status() {
    let mut log = sql_lines();
    log[9]["Job Result"] = json!({"Result": "JobFailed", "Exception": {"Message": "cancelled"}});
    let run = run_of_lines(&log);
    assert_eq!(run.sql_executions[0].status, SqlStatus::Failed);
    log[11]["errorMessage"] = json!("");
    let run = run_of_lines(&log);
    assert_eq!(run.sql_executions[0].status, SqlStatus::Succeeded);
    assert_eq!(run.application.status, ApplicationStatus::Succeeded);
}

#[test]
fn nested_executions_count_once() {
    let mut log = sql_lines();
    log[3]["rootExecutionId"] = json!(0);
    let mut child = log[3].clone();
    child["executionId"] = json!(1);
    child["time"] = json!(2500);
    let mut child_end = log[11].clone();
    child_end["executionId"] = json!(1);
    // A child may outlive its parent.
    child_end["time"] = json!(3600);
    log.extend([child, child_end]);
    let summary = summary_of(text(&log));
    assert_eq!((summary.totals.sql_executions, summary.totals.sql_wall_ms), (2, Some(1500)));
}

#[test]
fn unknown_events_are_counted() {
    let mut log = lines();
    for name in [
        "org.apache.spark.scheduler.SparkListenerAMStart",
        "com.databricks.X",
        "org.apache.gluten.events.GlutenBuildInfoEvent",
        "org.apache.spark.sql.connect.service.SparkListenerConnectOperationStarted",
    ] {
        log.push(json!({"Event": name}));
    }
    log[6]["Unheard Of"] = json!({"a": [1]});
    let summary = summary_of(text(&log));
    assert_same_totals(&summary, "unknown events");
    assert_eq!(summary.trust.unknown_events.len(), 4);
    assert_eq!((summary.trust.engine.as_str(), summary.trust.bad_lines.count), ("gluten", 0));
}

#[test]
fn exit_codes() {
    for (code, expected) in [
        (Some(13), ApplicationStatus::Failed),
        (Some(0), ApplicationStatus::Succeeded),
        (None, ApplicationStatus::Succeeded),
    ] {
        let mut log = lines();
        if let Some(code) = code {
            log[9]["ExitCode"] = json!(code);
        }
        assert_eq!(summary_of(text(&log)).application.status, expected, "{code:?}");
    }
}

#[test]
fn properties_with_dots_and_secrets() {
    let mut log = lines();
    log.push(json!({"Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {"a.b": "1", "a.b.c": "2", "x.token": "*********(redacted)", "y.password": "hunter2"},
        "System Properties": {"sun.java.command": "org.apache.spark.deploy.SparkSubmit --conf x.password=hunter2 main.py"}}));
    let run = run_of_lines(&log);
    assert_eq!((run.spark_property("a.b"), run.spark_property("a.b.c")), (Some("1"), Some("2")));
    assert!(!format!("{run:?}").contains("hunter2"));
}

#[test]
fn attempts_of_a_stage() {
    // Two partitions; partition 0 succeeds twice: its first output was lost with the executor, and the
    // second stage attempt runs only it, numbered from 0 again.
    let mut log = lines();
    let end = |stage_attempt: u32,
               id: u32,
               index: u32,
               partition: u32,
               reason: serde_json::Value,
               launch: i64,
               finish: i64| {
        let mut line = lines()[6].clone();
        line["Stage Attempt ID"] = json!(stage_attempt);
        line["Task End Reason"] = reason;
        for (key, value) in [
            ("Task ID", i64::from(id)),
            ("Index", i64::from(index)),
            ("Partition ID", i64::from(partition)),
            ("Launch Time", launch),
            ("Finish Time", finish),
        ] {
            line["Task Info"][key] = json!(value);
        }
        line
    };
    let success = || json!({"Reason": "Success"});
    log.splice(
        5..7,
        [
            end(0, 0, 0, 0, success(), 2100, 2400),
            end(0, 1, 1, 1, success(), 2100, 2600),
            end(0, 1, 1, 1, json!({"Reason": "Resubmitted"}), 2100, 2600),
            end(1, 2, 0, 1, success(), 2700, 3000),
        ],
    );
    let run = run_of_lines(&log);
    let totals = summarize(&run).totals;
    assert_eq!(
        (totals.tasks.partitions, totals.tasks.attempts, totals.tasks.succeeded, totals.tasks.resubmitted),
        (2, 3, 2, 1)
    );
    assert_eq!((totals.useful.input_records, totals.all_work.input_records), (Some(20), Some(30)));
    assert_eq!(totals.lost.by_cause["stage_retry"], 500);
    assert_eq!((totals.lost.attempt_time_ms, totals.lost.run_time_ms), (500, Some(900)));
    assert_eq!(totals.stage_attempts, 2);
}

#[test]
fn speculation() {
    let mut log = lines();
    let mut copy = log[6].clone();
    copy["Task Info"]["Task ID"] = json!(1);
    copy["Task Info"]["Attempt"] = json!(1);
    copy["Task Info"]["Speculative"] = json!(true);
    copy["Task End Reason"] = json!({"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"});
    copy.as_object_mut().unwrap().remove("Task Metrics");
    log.insert(7, copy);
    let totals = summary_of(text(&log)).totals;
    assert_eq!((totals.tasks.speculative, totals.tasks.killed, totals.tasks.partitions), (1, 1, 1));
    assert_eq!(totals.lost.by_cause["speculation"], 1000);
    assert_eq!(totals.useful.run_time_ms, Some(900));
}

#[test]
fn running_tasks_are_neither_useful_nor_lost() {
    let summary = summary_of(text(&lines()[..6]));
    let tasks = summary.totals.tasks;
    assert_eq!((tasks.running, tasks.attempts, tasks.succeeded), (1, 1, 0));
    assert_eq!(summary.totals.lost.attempt_time_ms, 0);
    assert_eq!(summary.totals.all_work.run_time_ms, None);
    assert_eq!(summary.trust.coverage.tasks_seen, 0);
}

#[test]
fn skipped_stages_are_not_pending_ones() {
    let mut log = lines();
    log[3]["Stage IDs"] = json!([0, 1, 2]);
    assert_eq!(summary_of(text(&log)).totals.stages_skipped, 2);
    log.remove(8);
    assert_eq!(summary_of(text(&log)).totals.stages_skipped, 0);
}

#[test]
fn a_repeated_end_counts_once() {
    let mut log = lines();
    log.insert(7, log[6].clone());
    let summary = summary_of(text(&log));
    assert_same_totals(&summary, "repeated task end");
    assert_eq!(summary.trust.notes, ["task ends that repeat an earlier one, ignored: 1"]);
}

#[test]
fn a_missing_task_end_lowers_coverage() {
    let mut log = lines();
    log.drain(5..7);
    let summary = summary_of(text(&log));
    assert_eq!((summary.trust.coverage.tasks_expected, summary.trust.coverage.tasks_seen), (1, 0));
    assert_eq!(summary.trust.coverage.ratio, Some(0.0));
    assert_eq!(summary.totals.all_work.run_time_ms, None);
}

#[test]
fn nothing_at_all() {
    let totals = summary_of(text(&lines()[..3])).totals;
    assert_eq!((totals.all_work.run_time_ms, totals.useful.input_bytes), (Some(0), Some(0)));
    for bytes in ["", "\n\n", "garbage", "{}"] {
        let run = run_of(bytes);
        assert_eq!(run.application.status, ApplicationStatus::Unknown, "{bytes}");
        assert_eq!(run.application.start_ms, None);
        summarize(&run);
    }
}

#[test]
fn stage_of_a_running_job_stays_open() {
    let run = run_of_lines(&lines()[..7]);
    assert_eq!((run.stages[0].status, run.stages[0].completed_ms), (StageStatus::Active, None));
    assert_eq!(run.stages[0].tasks.column(TaskColumn::FinishTime), [Some(3100)]);
}

#[test]
fn a_slot_is_held_at_least_as_long_as_its_task_runs() {
    for name in crate::fixtures::names() {
        let run = load(
            &crate::fixtures::fixture_source(&name),
            crate::base::options(),
            ParseOptions::default(),
            &|_| {},
        );
        let executors = summarize(&run).totals.executors;
        // A task that uses several cores, or part of one, is the exception.
        if !name.starts_with("resource-profiles") {
            assert!(executors.occupied_core_ms >= executors.busy_core_ms, "{name} {executors:?}");
        }
    }
}

#[test]
fn a_native_engine_leaves_spill_unmeasured() {
    let mut log = lines();
    log[6]["Task Metrics"]["Memory Bytes Spilled"] = json!(0);
    assert_eq!(summary_of(text(&log)).totals.useful.memory_spilled_bytes, Some(0));
    log.push(json!({"Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {"spark.plugins": "org.apache.gluten.GlutenPlugin"}}));
    assert_eq!(summary_of(text(&log)).totals.useful.memory_spilled_bytes, None);
}

#[test]
fn one_wrong_clock_is_told() {
    let mut log = lines();
    log.pop();
    log.push(json!({"Event": "SparkListenerExecutorRemoved", "Timestamp": 3_000_000_000_i64, "Executor ID": "1", "Removed Reason": ""}));
    let notes = summary_of(text(&log)).trust.notes;
    assert!(notes.iter().any(|note| note.contains("34 days after")), "{notes:?}");
}
