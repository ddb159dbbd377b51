//! Logs of drivers.

use emberscope_log::block::ParseOptions;
use emberscope_log::input::Memory;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover_input;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_text::driver_log::DriverLog;
use std::sync::Arc;

fn read(text: &str) -> DriverLog {
    DriverLog::read(text.as_bytes()).unwrap()
}

fn events_of(log: &DriverLog) -> Vec<u8> {
    let mut events = Vec::new();
    log.write_events(&mut events).unwrap();
    events
}

fn run_of(log: &DriverLog) -> Run {
    let found = discover_input(Arc::new(Memory::new("driver.log", events_of(log))));
    load(&found.runs[0], ScanOptions::default(), ParseOptions::default(), &|_| {})
}

#[test]
fn the_log_of_a_real_driver() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/explain-3.5.9/driver.log");
    let log = read(&std::fs::read_to_string(path).unwrap());
    // The level was raised when the application had its id already.
    assert_eq!(log.application_id, None);
    assert_eq!(log.jobs.len(), 7);
    assert!(log.stages.len() >= 7 && log.tasks.len() >= 10, "{} {}", log.stages.len(), log.tasks.len());
    assert_eq!(log.exit_code, Some(0));
    let run = run_of(&log);
    assert_eq!(run.trust.bad_lines.count, 0, "{:?}", run.trust.bad_lines);
    assert_eq!(run.jobs.len(), 7);
    assert!(run.jobs.iter().all(|job| job.start_ms.is_some() && job.end_ms.is_some()), "{:?}", run.jobs);
    assert!(run.stages.iter().all(|stage| stage.completed_ms.is_some() && !stage.name.is_empty()));
    assert!(run.application.has_end);
    let coverage = &run.trust.coverage;
    assert_eq!(coverage.tasks_seen, coverage.tasks_expected);
}

#[test]
fn what_a_cluster_s_driver_says() {
    let log = read(
        "2026-11-02 08:06:50,001 INFO YarnClientImpl: Submitted application application_1700000000000_0042\n\
         \t tracking URL: http://rm:8088/proxy/application_1700000000000_0042/\n\
         2026-11-02 08:06:51,000 INFO Utils: Bound SparkUI to 0.0.0.0, and started at http://driver:4040\n\
         2026-11-02 08:06:52,000 INFO YarnSchedulerBackend$YarnDriverEndpoint: Registered executor NettyRpcEndpointRef(spark-client://Executor) (10.0.0.7:5555) with ID 3,  ResourceProfileId 0\n\
         2026-11-02 08:06:53,000 INFO DAGScheduler: Got job 1 (save at X.java:1) with 2 output partitions\n\
         2026-11-02 08:06:53,000 INFO DAGScheduler: Final stage: ResultStage 1 (save at X.java:1)\n\
         2026-11-02 08:06:53,001 INFO DAGScheduler: Submitting ResultStage 1 (MapPartitionsRDD[3] at save at X.java:1), which has no missing parents\n\
         2026-11-02 08:06:53,002 INFO DAGScheduler: Submitting 2 missing tasks from ResultStage 1 (MapPartitionsRDD[3] at save at X.java:1) (first 15 tasks are for partitions Vector(0, 1))\n\
         2026-11-02 08:06:53,010 INFO TaskSetManager: Starting task 0.0 in stage 1.0 (TID 7) (worker, executor 3, partition 0, PROCESS_LOCAL, 7000 bytes)\n\
         garbage without a time \u{7f}\n\
         2026-11-02 08:06:54,000 WARN TaskSetManager: Lost task 0.0 in stage 1.0 (TID 7) (worker executor 3): ExecutorLostFailure (executor 3 exited caused by one of the running tasks) Reason: Container killed by YARN for exceeding physical memory limits. 5.5 GB of 5.5 GB used.\n\
         2026-11-02 08:06:54,000 ERROR YarnScheduler: Lost executor 3 on worker: Container killed by YARN for exceeding physical memory limits.\n\
         2026-11-02 08:06:55,000 INFO DAGScheduler: ResultStage 1 (save at X.java:1) failed in 2.0 s due to Job aborted due to stage failure\n\
         2026-11-02 08:06:55,000 INFO DAGScheduler: Job 1 failed: save at X.java:1, took 2.1 s\n\
         2026-11-02 08:06:56,000 INFO ExecuteStatement: Processing bob's query[0f7a6c2e-8d8a-4c3e-9c53-7d7e0a1b2c3d]: PENDING_STATE -> RUNNING_STATE, statement:\n\
         select *\n\
         from t\n\
         2026-11-02 08:06:57,000 INFO ExecuteStatement: Processing bob's query[0f7a6c2e-8d8a-4c3e-9c53-7d7e0a1b2c3d]: RUNNING_STATE -> ERROR_STATE, time taken: 1.0 seconds\n\
         [2.5s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 12.500ms\n\
         3.1: [Full GC (Allocation Failure) 90M->80M(100M), 0.5000000 secs]\n",
    );
    assert_eq!(log.application_id.as_deref(), Some("application_1700000000000_0042"));
    assert_eq!(
        log.ui_addresses,
        ["http://rm:8088/proxy/application_1700000000000_0042/", "http://driver:4040"]
    );
    let operation = &log.operations[0];
    assert_eq!(operation.state.as_deref(), Some("ERROR"));
    assert_eq!(operation.statement.as_deref(), Some("select *\nfrom t"));
    assert_eq!((log.gc.pauses, log.gc.full, log.gc.longest_ms), (2, 1, 500.0));
    assert!(!log.out_of_memory.is_empty());
    assert_eq!(log.executors["3"].host.as_deref(), Some("10.0.0.7"));
    let run = run_of(&log);
    assert_eq!(run.trust.bad_lines.count, 0, "{:?}", run.trust.bad_lines);
    assert_eq!(run.failures.len(), 1);
    assert_eq!(
        run.executors[0].removed_reason.as_deref().map(|reason| reason.contains("physical memory")),
        Some(true)
    );
    assert_eq!(run.jobs[0].status, emberscope_model::run::JobStatus::Failed);
}

#[test]
fn logs_in_json_and_plans_inside() {
    let log = read(
        "{\"ts\":\"2026-11-30T19:49:42.123Z\",\"level\":\"INFO\",\"msg\":\"Got job 4 (count at X:1) with 2 output partitions\",\"logger\":\"DAGScheduler\"}\n\
         26/11/30 19:49:43 INFO X: == Physical Plan ==\n\
         AdaptiveSparkPlan isFinalPlan=true\n\
         +- == Final Plan ==\n\
         \x20  *(1) Project [a#1]\n\
         \x20  +- *(1) Range (0, 10, step=1, splits=2)\n\
         26/11/30 19:49:44 INFO X: after\n",
    );
    assert_eq!(log.jobs[&4].start_ms, Some(1_796_068_182_123));
    let plan = emberscope_text::explain::parse(log.plan.as_deref().unwrap()).unwrap();
    assert_eq!((plan.operators.len(), plan.is_final), (4, Some(true)));
}

#[test]
fn nothing_panics_and_little_is_kept() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/explain-3.5.9/driver.log");
    let text = std::fs::read(path).unwrap();
    for cut in (0..text.len()).step_by(37) {
        events_of(&DriverLog::read(&text[cut..(cut + 400).min(text.len())]).unwrap());
    }
    let long = vec![b'x'; 3 << 20];
    assert_eq!(DriverLog::read(long.as_slice()).unwrap().lines, 1);
    assert!(!DriverLog::read(long.as_slice()).unwrap().is_telling());
}
