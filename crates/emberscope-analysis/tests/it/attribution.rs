//! Time adds up, on every log.

use crate::made::{Made, START, every_log, is_broken, read_path, task};
use emberscope_analysis::attribution::{Part, Sum};
use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_log::columns::TaskColumn;
use serde_json::json;

#[test]
fn sums_are_exact_on_every_log() {
    let mut told = 0;
    for (name, run) in every_log() {
        let diagnosis = diagnose(&run, &Options::default());
        let attribution = &diagnosis.attribution;
        let wall = run.application.duration_ms().unwrap_or(0);
        assert_eq!(attribution.wall.total_ms(), wall, "{name}: wall {:?}", attribution.wall);
        let is_negative =
            |sum: &emberscope_analysis::attribution::Sum| Part::ALL.iter().any(|part| sum.get(*part) < 0);
        assert!(!is_negative(&attribution.wall), "{name}: {:?}", attribution.wall);
        assert!(!is_negative(&attribution.core), "{name}: {:?}", attribution.core);
        let summary = emberscope_model::summary::summarize(&run);
        if let Some(allocated) = summary.totals.executors.allocated_core_ms {
            let total = attribution.core.total_ms();
            assert!(total == allocated || is_broken(&name), "{name}: core {:?}", attribution.core);
        }
        for sql in &attribution.sql {
            let execution = run.sql_execution(sql.id.parse().unwrap()).unwrap();
            let (start, end) =
                (execution.start_ms.unwrap(), execution.end_ms.or(run.application.end_ms).unwrap());
            assert_eq!(sql.wall.total_ms(), (end - start).max(0), "{name}: query {}", sql.id);
            assert!(!is_negative(&sql.wall) && !is_negative(&sql.core), "{name}: {sql:?}");
            if let Some(operators) = &sql.operators {
                let of_root = |id: u64| run.sql_execution(id).and_then(|one| one.root_id).unwrap_or(id);
                let ran = |stage: &&emberscope_model::run::StageAttempt| {
                    let job = stage.job_ids.first().and_then(|id| run.job(*id));
                    job.and_then(|job| job.sql_execution_id).is_some_and(|id| of_root(id) == execution.id)
                };
                let run_ms: i64 = run.stages.iter().filter(ran).map(useful_run_ms).sum();
                assert_eq!(operators.total_ms, run_ms, "{name}: query {}", sql.id);
                assert!(operators.parts.iter().all(|part| part.ms > 0), "{name}: {operators:?}");
                told += operators.parts.len();
            }
        }
        for stage in &attribution.stages {
            assert!(!is_negative(&stage.wall) && !is_negative(&stage.core), "{name}: {stage:?}");
        }
        let top: Vec<String> = attribution
            .wall
            .parts()
            .iter()
            .take(5)
            .map(|(part, ms)| format!("{} {ms}", part.def().key))
            .collect();
        let core: Vec<String> = attribution
            .core
            .parts()
            .iter()
            .take(5)
            .map(|(part, ms)| format!("{} {ms}", part.def().key))
            .collect();
        println!(
            "{name}: {wall}: {} | core {}: {}",
            top.join(", "),
            attribution.core.total_ms(),
            core.join(", ")
        );
    }
    assert!(told > 100, "{told} classes of operators told");
}

/// Run time of the attempts that counted.
fn useful_run_ms(stage: &emberscope_model::run::StageAttempt) -> i64 {
    let mut sum = 0;
    stage.tasks.for_each(TaskColumn::ExecutorRunTime, |row, ms| {
        sum += if stage.tasks.useful().contains(row) { ms } else { 0 };
    });
    sum
}

#[test]
fn a_known_run_is_split_as_it_was_made() {
    // Two slots, three tasks of 1000, 3000 and 1000 ms run time; one second of driver before, half after.
    let mut made = Made::new("3.5.1", 1, 2, &[]);
    made.job(None, &[vec![task(1000), task(3000), task(1000).with(json!({"JVM GC Time": 400}))]]);
    let run = made.run();
    let attribution = diagnose(&run, &Options::default()).attribution;
    assert_eq!(attribution.wall.get(Part::DriverStartup), 1000);
    assert_eq!(attribution.wall.get(Part::DriverShutdown), 520);
    // The walk goes through the task of 3000 ms: 2700 of it on a CPU, the rest waiting. All three waited 400 ms,
    // of which opening files may have taken 100 each, and no bytes were moved: a quarter is explained by nothing.
    assert_eq!(attribution.wall.get(Part::Cpu), 2700);
    assert_eq!(attribution.wall.get(Part::Other), 225);
    assert_eq!(attribution.wall.get(Part::NoData), 75);
    assert_eq!(attribution.wall.get(Part::Gc), 0);
    assert_eq!(attribution.wall.total_ms(), run.application.end_ms.unwrap() - START);
    assert_eq!(attribution.core.get(Part::Gc), 400);
    assert_eq!(attribution.core.get(Part::Cpu), 900 + 2700 + 600);
    assert_eq!(attribution.core.total_ms(), 2 * (run.application.end_ms.unwrap() - START));
}

#[test]
fn waiting_is_told_as_far_as_the_log_tells() {
    let wall = |log: &str| {
        let path = format!("{}/../../validation/logs/{log}.zst", env!("CARGO_MANIFEST_DIR"));
        diagnose(&read_path(std::path::Path::new(&path)), &Options::default()).attribution.wall
    };
    let waited = |sum: &Sum| {
        [Part::Python, Part::InputWait, Part::Commit, Part::NoData, Part::Other]
            .map(|part| sum.get(part))
            .iter()
            .sum::<i64>()
    };
    // Spark 4 times Python; before that, what tasks with Python in their plan or RDD waited is Python's.
    for log in ["unseen-pandas-score-bad-4.3.0", "plan-python-udf-bad-3.5.9", "unseen-rdd-bots-bad-3.5.9"] {
        let sum = wall(log);
        assert!(sum.get(Part::Python) * 10 >= waited(&sum) * 8, "{log}: {sum:?}");
    }
    // Rows of a range that a function sleeps over move no bytes; a database does not say how many it sent.
    let sleeping = wall("part-few-bad-4.3.0");
    assert!(sleeping.get(Part::NoData) * 10 >= waited(&sleeping) * 8, "{sleeping:?}");
    let database = wall("unseen2-invoices-bad-4.3.0");
    assert!(database.get(Part::Other) * 10 >= waited(&database) * 8, "{database:?}");
}
