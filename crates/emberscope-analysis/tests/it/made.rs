//! Logs made up to order: executors, stages and tasks with the numbers a test needs, scheduled on the
//! slots that there are, so that times agree with each other.

use emberscope_analysis::context::Context;
use emberscope_analysis::detector::{Check, Detector, Sink};
use emberscope_analysis::detectors::DETECTORS;
use emberscope_analysis::finding::Claim;
use emberscope_analysis::stage_view::StageView;
use emberscope_analysis::thresholds::Thresholds;
use emberscope_log::block::ParseOptions;
use emberscope_log::input::Memory;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::{Member, Provenance, RunSource, SourceKind, discover};
use emberscope_model::load::load;
use emberscope_model::run::Run;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// A task attempt to be made. `at` and `took` are set by the scheduler.
#[derive(Clone, Debug)]
pub(crate) struct MadeTask {
    /// `Executor Run Time`.
    pub(crate) run_ms: i64,
    /// `Executor Deserialize Time`.
    pub(crate) deserialize_ms: i64,
    /// More of `Task Metrics`, over the defaults; nested objects are replaced whole.
    pub(crate) metrics: Value,
    /// `Task End Reason`.
    pub(crate) reason: Value,
    /// Updates of SQL metrics: accumulator and value.
    pub(crate) updates: Vec<(u64, i64)>,
    /// Fields of `Task Info` over the defaults.
    pub(crate) info: Value,
    /// Executor it must run on, counted from 1.
    pub(crate) executor: Option<usize>,
}

/// A task that runs so long.
pub(crate) fn task(run_ms: i64) -> MadeTask {
    MadeTask {
        run_ms,
        deserialize_ms: 5,
        metrics: json!({}),
        reason: json!({"Reason": "Success"}),
        updates: Vec::new(),
        info: json!({}),
        executor: None,
    }
}

impl MadeTask {
    /// With metrics over the defaults.
    pub(crate) fn with(mut self, metrics: Value) -> Self {
        merge(&mut self.metrics, metrics);
        self
    }

    /// On an executor, counted from 1.
    pub(crate) fn on(mut self, executor: usize) -> Self {
        self.executor = Some(executor);
        self
    }

    /// With shuffle read bytes (local) and records.
    pub(crate) fn shuffle_read(self, bytes: i64, records: i64) -> Self {
        self.with(json!({"Shuffle Read Metrics": {"Remote Blocks Fetched": 0, "Local Blocks Fetched": 1,
            "Fetch Wait Time": 0, "Remote Bytes Read": 0, "Local Bytes Read": bytes, "Total Records Read": records}}))
    }

    /// With input bytes and records.
    pub(crate) fn input(self, bytes: i64, records: i64) -> Self {
        self.with(json!({"Input Metrics": {"Bytes Read": bytes, "Records Read": records}}))
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// A log in the making. Time goes on as jobs are added.
#[derive(Debug)]
pub(crate) struct Made {
    lines: Vec<Value>,
    pub(crate) now: i64,
    executors: usize,
    cores: usize,
    next_stage: u32,
    next_job: u32,
    next_task: i64,
    end: bool,
    /// No task is launched before it.
    pub(crate) slots_from: i64,
    /// Name of the stages to come.
    pub(crate) stage_name: String,
    /// Name of their RDDs.
    pub(crate) rdd_name: String,
}

/// When made runs start.
pub(crate) const START: i64 = 1_700_000_000_000;

impl Made {
    /// A run of Spark `version` with so many executors of so many cores, there from the start, and properties.
    pub(crate) fn new(version: &str, executors: usize, cores: usize, properties: &[(&str, &str)]) -> Self {
        let properties: Map<String, Value> =
            properties.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let mut lines = vec![
            json!({"Event": "SparkListenerLogStart", "Spark Version": version}),
            json!({"Event": "SparkListenerApplicationStart", "App Name": "made", "App ID": "app-made",
                "Timestamp": START, "User": "u"}),
            json!({"Event": "SparkListenerEnvironmentUpdate", "JVM Information": {}, "Hadoop Properties": {},
                "Spark Properties": properties, "System Properties": {}, "Classpath Entries": {}}),
        ];
        for n in 1..=executors {
            lines.push(json!({"Event": "SparkListenerExecutorAdded", "Timestamp": START, "Executor ID": n.to_string(),
                "Executor Info": {"Host": format!("h{n}"), "Total Cores": cores, "Log Urls": {}}}));
        }
        Made {
            lines,
            now: START + 1000,
            executors,
            cores,
            next_stage: 0,
            next_job: 0,
            next_task: 0,
            end: true,
            slots_from: START,
            stage_name: "stage at Made.scala".to_owned(),
            rdd_name: "MapPartitionsRDD".to_owned(),
        }
    }

    /// Tasks run on so many executors from a time on; the executors themselves are the caller's to add.
    pub(crate) fn executors_for_tasks(&mut self, executors: usize, cores: usize, from: i64) -> &mut Self {
        (self.executors, self.cores, self.slots_from) = (executors, cores, from);
        self
    }

    /// The log without every second of its task ends, from a line on, and without an end.
    pub(crate) fn cut_after(&mut self, line: usize) -> &mut Self {
        let lines = std::mem::take(&mut self.lines).into_iter().enumerate();
        self.lines = lines
            .filter(|(at, one)| *at < line || at % 2 == 0 || one["Event"] != "SparkListenerTaskEnd")
            .map(|(_, one)| one)
            .collect();
        self.without_end()
    }

    /// Lets time pass in the driver.
    pub(crate) fn wait(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    /// Adds a line as it is.
    pub(crate) fn line(&mut self, line: Value) -> &mut Self {
        self.lines.push(line);
        self
    }

    /// Leaves out the application's end.
    pub(crate) fn without_end(&mut self) -> &mut Self {
        self.end = false;
        self
    }

    /// Executor `id`, counted from 1, comes at a time of its own, and goes at another one for a reason.
    pub(crate) fn executor(&mut self, id: usize, added: i64, removed: Option<(i64, &str)>) -> &mut Self {
        let cores = self.cores;
        self.line(
            json!({"Event": "SparkListenerExecutorAdded", "Timestamp": added, "Executor ID": id.to_string(),
            "Executor Info": {"Host": format!("h{id}"), "Total Cores": cores, "Log Urls": {}}}),
        );
        if let Some((time, reason)) = removed {
            self.line(json!({"Event": "SparkListenerExecutorRemoved", "Timestamp": time,
                "Executor ID": id.to_string(), "Removed Reason": reason}));
        }
        self
    }

    /// A SQL execution starts; jobs given its id belong to it.
    pub(crate) fn sql(&mut self, id: u64, description: &str, plan: &Value, configs: &Value) -> &mut Self {
        let now = self.now;
        self.line(json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
            "executionId": id, "rootExecutionId": id, "description": description, "details": "",
            "physicalPlanDescription": "== Physical Plan ==", "sparkPlanInfo": plan, "time": now,
            "modifiedConfigs": configs}))
    }

    /// A SQL execution ends.
    pub(crate) fn sql_end(&mut self, id: u64) -> &mut Self {
        let now = self.now;
        self.line(json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd",
            "executionId": id, "time": now, "errorMessage": ""}))
    }

    /// A job of stages that run one after the other, each a list of tasks. Gives the ids of its stages.
    pub(crate) fn job(&mut self, sql: Option<u64>, stages: &[Vec<MadeTask>]) -> Vec<u32> {
        let ids: Vec<u32> = (0..stages.len() as u32).map(|n| self.next_stage + n).collect();
        self.next_stage += stages.len() as u32;
        let job = self.next_job;
        self.next_job += 1;
        let info = |n: usize| {
            let parents: Vec<u32> = if n == 0 { Vec::new() } else { vec![ids[n - 1]] };
            json!({"Stage ID": ids[n], "Stage Attempt ID": 0, "Stage Name": format!("{}:{n}", self.stage_name),
                "Number of Tasks": stages[n].len(), "RDD Info": [{"RDD ID": ids[n] + 1000, "Name": self.rdd_name,
                "Parent IDs": [], "Storage Level": {}, "Number of Partitions": stages[n].len()}],
                "Parent IDs": parents, "Details": "", "Accumulables": []})
        };
        let infos: Vec<Value> = (0..stages.len()).map(info).collect();
        let properties = sql.map_or(json!({}), |id| json!({"spark.sql.execution.id": id.to_string()}));
        let now = self.now;
        self.line(json!({"Event": "SparkListenerJobStart", "Job ID": job, "Submission Time": now,
            "Stage Infos": infos, "Stage IDs": ids, "Properties": properties}));
        for (n, tasks) in stages.iter().enumerate() {
            let mut submitted = infos[n].clone();
            submitted["Submission Time"] = json!(self.now);
            self.line(json!({"Event": "SparkListenerStageSubmitted", "Stage Info": submitted, "Properties": properties}));
            let end = self.tasks(ids[n], tasks);
            submitted["Completion Time"] = json!(end + 2);
            self.line(json!({"Event": "SparkListenerStageCompleted", "Stage Info": submitted}));
            self.now = end + 5;
        }
        let now = self.now;
        self.line(json!({"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": now,
            "Job Result": {"Result": "JobSucceeded"}}));
        self.now += 20;
        ids
    }

    fn tasks(&mut self, stage: u32, tasks: &[MadeTask]) -> i64 {
        let from = (self.now + 10).max(self.slots_from);
        let mut free: Vec<(i64, usize)> =
            (0..self.executors * self.cores).map(|slot| (from, slot % self.executors + 1)).collect();
        let mut end = self.now;
        for (index, task) in tasks.iter().enumerate() {
            free.sort_unstable();
            let fits = |slot: &(i64, usize)| task.executor.is_none_or(|executor| executor == slot.1);
            let slot = free.iter().position(fits).unwrap();
            let (launch, executor) = free[slot];
            let finish = launch + task.run_ms + task.deserialize_ms + 4;
            free[slot].0 = finish + 1;
            end = end.max(finish);
            let accumulables: Vec<Value> = task
                .updates
                .iter()
                .map(|(id, value)| {
                    json!({"ID": id, "Name": "m", "Update": value.to_string(), "Value": value.to_string(),
                        "Internal": true, "Count Failed Values": true, "Metadata": "sql"})
                })
                .collect();
            let mut info = json!({"Task ID": self.next_task, "Index": index, "Attempt": 0, "Partition ID": index,
                "Launch Time": launch, "Executor ID": executor.to_string(), "Host": format!("h{executor}"),
                "Locality": "PROCESS_LOCAL", "Speculative": false, "Getting Result Time": 0, "Finish Time": finish,
                "Failed": false, "Killed": false, "Accumulables": accumulables});
            merge(&mut info, task.info.clone());
            let mut metrics = json!({"Executor Deserialize Time": task.deserialize_ms,
                "Executor Deserialize CPU Time": 1_000_000, "Executor Run Time": task.run_ms,
                "Executor CPU Time": task.run_ms * 900_000, "Peak Execution Memory": 0, "Result Size": 1000,
                "JVM GC Time": 0, "Result Serialization Time": 0, "Memory Bytes Spilled": 0, "Disk Bytes Spilled": 0,
                "Shuffle Read Metrics": {"Remote Blocks Fetched": 0, "Local Blocks Fetched": 0, "Fetch Wait Time": 0,
                    "Remote Bytes Read": 0, "Local Bytes Read": 0, "Total Records Read": 0},
                "Shuffle Write Metrics": {"Shuffle Bytes Written": 0, "Shuffle Write Time": 0, "Shuffle Records Written": 0},
                "Input Metrics": {"Bytes Read": 0, "Records Read": 0},
                "Output Metrics": {"Bytes Written": 0, "Records Written": 0}, "Updated Blocks": []});
            merge(&mut metrics, task.metrics.clone());
            self.next_task += 1;
            self.line(json!({"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0,
                "Task Type": "ShuffleMapTask", "Task End Reason": task.reason, "Task Info": info,
                "Task Metrics": metrics}));
        }
        end
    }

    /// The run.
    pub(crate) fn run(&self) -> Run {
        let mut lines = self.lines.clone();
        if self.end {
            lines.push(json!({"Event": "SparkListenerApplicationEnd", "Timestamp": self.now + 500}));
        }
        let text: String = lines.iter().map(event_first).collect();
        read(&RunSource {
            label: "made".to_owned(),
            kind: SourceKind::File,
            members: vec![Member::from_input(Arc::new(Memory::new("made", text.into_bytes())))],
            missing_members: Vec::new(),
            compacted: false,
            in_progress: None,
            app_id_hint: Some("app-made".to_owned()),
            attempt_hint: None,
            provenance: Provenance::default(),
        })
    }
}

/// One line with `Event` first, as Spark writes it.
fn event_first(line: &Value) -> String {
    let mut rest = line.clone();
    let event = rest.as_object_mut().and_then(|object| object.remove("Event")).unwrap();
    format!("{{\"Event\":{event},{}\n", &rest.to_string()[1..])
}

pub(crate) fn read(source: &RunSource) -> Run {
    let parse = ParseOptions { keep_plan_text: true, without_cursor: false };
    load(source, ScanOptions { threads: 1, ..ScanOptions::default() }, parse, &|_| {})
}

/// The run of a log.
pub(crate) fn read_path(path: &Path) -> Run {
    let found = discover(path.to_str().unwrap()).unwrap();
    read(&found.runs[0])
}

/// The run of a committed fixture.
pub(crate) fn fixture(name: &str) -> Run {
    read_path(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(name))
}

/// What the detectors of a tag say of a run.
pub(crate) fn said(run: &Run, tag: &str) -> Sink {
    let thresholds = Thresholds::default();
    let context = Context::of(run, &thresholds);
    let mut sink = Sink::default();
    let detectors: Vec<&&Detector> = DETECTORS.iter().filter(|detector| detector.tag == tag).collect();
    assert!(!detectors.is_empty(), "no detector has the tag {tag}");
    for check in detectors.iter().flat_map(|detector| detector.checks) {
        match check {
            Check::App(check) => check(&context, &mut sink),
            Check::Stage(check) => {
                for (stage, digest) in run.stages.iter().zip(&context.stages) {
                    check(&context, &StageView::of(stage, digest, context.end_ms), &mut sink);
                }
            }
            Check::Sql(check) => {
                for execution in &run.sql_executions {
                    if let Some(view) = context.sql_view(execution.id) {
                        check(&context, &view, &mut sink);
                    }
                }
            }
        }
    }
    sink
}

/// Claims of a type.
pub(crate) fn of_kind<'s>(sink: &'s Sink, kind: &str) -> Vec<&'s Claim> {
    sink.claims().iter().filter(|claim| claim.kind == kind).collect()
}

/// Logs whose parts do not belong together, so that time cannot add up.
pub(crate) const BROKEN: &[(&str, &str)] =
    &[("eventlog_3nodes_12cores_exec_removed", "its executors are those of another run, years later")];

/// Whether a log is one of them.
pub(crate) fn is_broken(name: &str) -> bool {
    BROKEN.iter().any(|(broken, _)| *broken == name)
}

/// All committed fixtures, and the logs of the corpus beside the project where it is there.
pub(crate) fn every_log() -> Vec<(String, Run)> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = project.join("../shared/corpus");
    let mut roots = vec![project.join("fixtures/logs")];
    if corpus.is_dir() {
        roots.push(corpus);
    } else {
        println!("the corpus is not beside the project: only the fixtures are read");
    }
    let sources = roots.iter().flat_map(|root| discover(root.to_str().unwrap()).unwrap().runs);
    sources.map(|source| (source.label.rsplit('/').next().unwrap_or("").to_owned(), read(&source))).collect()
}
