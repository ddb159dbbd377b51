//! What Spark's own History Server answered about the fixtures, and saved answers in folders.

use crate::recorded::{Recorded, run_of};
use emberscope_log::block::ParseOptions;
use emberscope_log::event::plan::MetricKind;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_model::sql::SqlMetric;
use emberscope_model::summary::{Summary, summarize};
use emberscope_rest::{AnswerError, Answers, Saved, Wanted, collect};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The plan's operators by their places, without those that the graph leaves out; the recordings have no text of
/// plans.
fn plan_of(run: &Run, id: u64) -> Vec<(u32, String)> {
    let execution = run.sql_execution(id).unwrap();
    let Some(tree) = run.final_plan(execution) else { return Vec::new() };
    let names = tree.nodes.iter().map(|node| tree.text(node.name).trim().to_owned());
    let is_shown = |(_, name): &(u32, String)| {
        let left_out = ["InputAdapter", "Subquery", "WholeStageCodegen", "Reused"];
        !left_out.iter().any(|kind| name.starts_with(kind)) && !name.ends_with("QueryStage")
    };
    (0..).zip(names).filter(is_shown).collect()
}

/// Their names.
fn names_of(run: &Run, id: u64) -> Vec<String> {
    plan_of(run, id).into_iter().map(|(_, name)| name).collect()
}

/// What both kinds of evidence must agree on.
fn figures(summary: &Summary) -> Vec<(&'static str, String)> {
    let (totals, tasks) = (&summary.totals, &summary.totals.tasks);
    let all = &totals.all_work;
    let useful = &totals.useful;
    vec![
        ("jobs", format!("{} {}", totals.jobs, totals.jobs_failed)),
        ("stages", format!("{} {}", totals.stage_attempts, totals.stages_skipped)),
        ("queries", totals.sql_executions.to_string()),
        ("tasks", format!("{} {} {} {}", tasks.attempts, tasks.succeeded, tasks.failed, tasks.killed)),
        ("all run time", format!("{:?}", all.run_time_ms)),
        ("useful run time", format!("{:?}", useful.run_time_ms)),
        ("shuffle read", format!("{:?} {:?}", useful.shuffle_read_bytes, useful.shuffle_read_records)),
        ("shuffle write", format!("{:?} {:?}", useful.shuffle_write_bytes, useful.shuffle_write_records)),
        ("spill", format!("{:?} {:?}", useful.memory_spilled_bytes, useful.disk_spilled_bytes)),
        ("input", format!("{:?}", useful.input_bytes)),
        ("job wall", totals.job_wall_ms.map_or_else(String::new, |ms| ms.to_string())),
    ]
}

/// Metrics of plans from answers beside those from the log.
#[derive(Debug, Default)]
struct Metrics {
    /// Told as the log has them.
    exact: usize,
    /// Rounded, and the log's value is within the error.
    rounded: usize,
    /// Counted in the stage attempts that the log says.
    placed: usize,
    /// Counted in tasks, and the answers do not tell where.
    without_place: usize,
    wrong: Vec<String>,
}

impl Metrics {
    fn compare(&mut self, name: &str, from_log: &Run, from_answers: &Run, id: u64) {
        let of = |run: &Run| {
            let execution = run.sql_execution(id).unwrap();
            let tree = run.final_plan(execution).unwrap();
            let values = run.sql_metrics(execution);
            let places: BTreeMap<u32, usize> =
                plan_of(run, id).into_iter().enumerate().map(|(place, (node, _))| (node, place)).collect();
            let named = tree.metrics.iter().filter_map(|metric| {
                let place = *places.get(&metric.node)?;
                let value = values.get(&metric.accumulator_id).filter(|value| value.total.is_some())?;
                let name = tree.text(metric.name).to_owned();
                Some(((place, name), (metric.kind, value.clone())))
            });
            named.collect::<BTreeMap<_, _>>()
        };
        let (log, answers) = (of(from_log), of(from_answers));
        for (key, (kind, exact)) in &log {
            let Some((_, shown)) = answers.get(key) else { continue };
            if *kind == MetricKind::Average {
                continue;
            }
            // Nanoseconds are shown as milliseconds, cut.
            let scale = if *kind == MetricKind::NsTiming { 1_000_000 } else { 1 };
            let (expected, got) = (exact.total.unwrap() / scale, shown.total.unwrap());
            let within = shown.fidelity.within();
            if expected == got {
                self.exact += 1;
            } else if (expected - got).abs() <= within {
                self.rounded += 1;
            } else {
                self.wrong
                    .push(format!("{name} {id} {key:?}: log {expected}, answers {got} within {within}"));
            }
            let places = |metric: &SqlMetric| metric.by_stage.iter().map(|(at, _)| *at).collect::<Vec<_>>();
            let (expected, got) = (places(exact), places(shown));
            if got.iter().all(|place| expected.contains(place)) {
                self.placed += usize::from(!got.is_empty());
                self.without_place += usize::from(got.is_empty() && !expected.is_empty());
            } else {
                self.wrong.push(format!("{name} {id} {key:?}: counted in {expected:?}, answers {got:?}"));
            }
        }
    }
}

#[test]
fn the_answers_of_a_history_server_are_the_run_of_its_log() {
    let mut differ = Vec::new();
    let (mut compared, mut plans, mut same_plans) = (0, 0, 0);
    let mut metrics = Metrics::default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("referee/answers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.to_string_lossy().ends_with(".json.zst")) {
        let bytes = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
        let recorded = Recorded(serde_json::from_slice(&bytes).unwrap());
        let Some(log) = recorded.0["log"].as_str().map(|log| root().join("fixtures").join(log)) else {
            continue;
        };
        let Ok(found) = discover(log.to_str().unwrap()) else { continue };
        let [source] = &found.runs[..] else { continue };
        let from_log = load(source, ScanOptions::default(), ParseOptions::default(), &|_| {});
        let Ok(made) = collect(&recorded, &Wanted::default(), &|_| {}) else { continue };
        let from_answers = run_of(&made);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(from_answers.trust.bad_lines.count, 0, "{name} {:?}", from_answers.trust.bad_lines.first);
        compared += 1;
        let (expected, got) = (figures(&summarize(&from_log)), figures(&summarize(&from_answers)));
        for ((what, expected), (_, got)) in expected.iter().zip(&got) {
            // That the output of a finished task was lost, and that it ran again for that, the API does not tell.
            let is_resubmitted =
                name.starts_with("executor-loss") && matches!(*what, "tasks" | "useful run time");
            if expected != got && !is_resubmitted {
                differ.push(format!("{name} {what}: log {expected}, answers {got}"));
            }
        }
        for execution in &from_log.sql_executions {
            let Some(other) = from_answers.sql_execution(execution.id) else { continue };
            assert_eq!(execution.job_ids, other.job_ids, "{name} query {}", execution.id);
            plans += 1;
            if names_of(&from_log, execution.id) == names_of(&from_answers, execution.id) {
                same_plans += 1;
                metrics.compare(&name, &from_log, &from_answers, execution.id);
            }
        }
    }
    assert!(compared > 40, "{compared}");
    assert!(same_plans * 10 >= plans * 9, "{same_plans} of {plans} plans are the same");
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(metrics.wrong.is_empty(), "{} wrong:\n{}", metrics.wrong.len(), metrics.wrong.join("\n"));
    assert!(metrics.exact > 4_000 && metrics.rounded > 500, "{metrics:?}");
    assert!(metrics.placed > 40 * metrics.without_place, "{metrics:?}");
}

#[test]
fn answers_in_a_folder_are_told_by_their_content() {
    let file = root().join("referee/answers/spill-4.3.0.json.zst");
    let bytes = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
    let recorded = Recorded(serde_json::from_slice(&bytes).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let save = |name: &str, value: &Value| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    };
    save("one.json", &recorded.0["jobs"]);
    save("two.json", &recorded.0["stages"]);
    save("deep/three.json", &recorded.0["sql"]);
    save("executors.json", &recorded.0["executors"]);
    for (key, tasks) in recorded.0["tasks"].as_object().unwrap() {
        save(&format!("stages/{key}/taskList.json"), tasks);
    }
    save("other.json", &json!({ "a": 1 }));
    std::fs::write(dir.path().join("broken.json"), "{").unwrap();
    std::fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    assert!(Saved::is_at(dir.path()));
    assert!(!Saved::is_at(&dir.path().join("other.json")) && !Saved::is_at(&dir.path().join("notes.txt")));
    let saved = Saved::read(dir.path()).unwrap();
    assert_eq!(saved.skipped.len(), 2, "{:?}", saved.skipped);
    let from_folder = run_of(&collect(&saved, &Wanted::default(), &|_| {}).unwrap());
    let from_server = run_of(&collect(&recorded, &Wanted::default(), &|_| {}).unwrap());
    let tasks = |run: &Run| summarize(run).totals.tasks.attempts;
    assert_eq!(tasks(&from_folder), tasks(&from_server));
    assert!(tasks(&from_folder) > 0);
    let alone = Saved::read(&dir.path().join("one.json")).unwrap();
    assert_eq!(
        run_of(&collect(&alone, &Wanted::default(), &|_| {}).unwrap()).jobs.len(),
        from_server.jobs.len()
    );
}

/// Answers as given, by path without parameters.
struct Given(Vec<(&'static str, String)>);

impl Answers for Given {
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError> {
        let path = path.split('?').next().unwrap();
        Ok(self.0.iter().find(|(key, _)| *key == path).map(|(_, text)| text.clone().into_bytes()))
    }
}

#[test]
fn what_a_server_has_forgotten_is_told() {
    let given = Given(vec![
        ("jobs", r#"[{"jobId":7,"status":"SUCCEEDED","stageIds":[9],"submissionTime":"2026-01-01T00:00:00.000GMT","completionTime":"2026-01-01T00:00:09.000GMT"}]"#.to_owned()),
        ("stages", r#"[{"stageId":9,"attemptId":0,"status":"COMPLETE","numTasks":3,"submissionTime":"2026-01-01T00:00:01.000GMT","completionTime":"2026-01-01T00:00:08.000GMT"}]"#.to_owned()),
        ("stages/9/0/taskList", r#"[{"taskId":5,"index":0,"status":"SUCCESS","launchTime":"2026-01-01T00:00:02.000GMT","duration":1000,"executorId":"1","host":"h"}]"#.to_owned()),
    ]);
    let made = collect(&given, &Wanted::default(), &|_| {}).unwrap();
    let text = made.forgotten.join("\n");
    for part in ["7 of 8 jobs", "9 of 10 stages", "tasks of stage 9.0: 1 of 3"] {
        assert!(text.contains(part), "{text}");
    }
    let run = run_of(&made);
    assert!(!run.is_whole());
    assert_eq!((run.trust.coverage.tasks_expected, run.trust.coverage.tasks_seen), (3, 1));
    assert!(run.trust.files[0].reason.as_deref().unwrap().contains("forgotten"));
}

#[test]
fn broken_answers_are_errors_that_name_the_path() {
    let given = Given(vec![("jobs", "[{".to_owned())]);
    let error = collect(&given, &Wanted::default(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("`jobs`"), "{error}");
    let given = Given(vec![("jobs", r#"[{"jobId":"x"}]"#.to_owned())]);
    assert!(collect(&given, &Wanted::default(), &|_| {}).is_err());
    assert!(collect(&Given(Vec::new()), &Wanted::default(), &|_| {}).is_err());
}

#[test]
fn the_named_attempt_is_taken_and_else_the_newest() {
    let given = || {
        Given(vec![
            ("", r#"{"id":"a","name":"n","attempts":[{"attemptId":"2","startTimeEpoch":20},{"attemptId":"1","startTimeEpoch":10}]}"#.to_owned()),
            ("jobs", r#"[{"jobId":0,"status":"RUNNING","stageIds":[]}]"#.to_owned()),
        ])
    };
    let of = |attempt_id: Option<&str>| {
        let wanted = Wanted { attempt_id: attempt_id.map(str::to_owned), ..Wanted::default() };
        collect(&given(), &wanted, &|_| {}).unwrap().attempt_id
    };
    assert_eq!((of(None).as_deref(), of(Some("1")).as_deref()), (Some("2"), Some("1")));
}

#[test]
fn an_application_that_runs_has_run_until_it_was_asked_about() {
    let given = Given(vec![
        ("", r#"{"id":"a","name":"n","attempts":[{"startTimeEpoch":1700000000000,"endTimeEpoch":-1,"completed":false,"lastUpdatedEpoch":1700000000000}]}"#.to_owned()),
        ("jobs", r#"[{"jobId":0,"status":"RUNNING","stageIds":[],"submissionTime":"2023-11-14T22:13:21.000GMT"}]"#.to_owned()),
    ]);
    for (asked_at_ms, lasted_ms) in [(None, 1_000), (Some(1_700_000_060_000), 60_000)] {
        let wanted = Wanted { asked_at_ms, ..Wanted::default() };
        let made = collect(&given, &wanted, &|_| {}).unwrap();
        assert!(made.is_running);
        assert_eq!(summarize(&run_of(&made)).application.duration_ms, Some(lasted_ms));
    }
}
