//! A log's timeline as events, so that everything that reads event logs reads it.

use super::{DriverLog, Job, Stage, Task};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Jobs that may have run side by side when a stage was submitted.
const MOST_JOBS_AT_ONCE: usize = 1_000;

impl DriverLog {
    /// The attempt of a stage that lines speak of now: the newest.
    pub(super) fn attempt_of(&self, stage: u32) -> u32 {
        self.stages.range((stage, 0)..=(stage, u32::MAX)).next_back().map_or(0, |((_, attempt), _)| *attempt)
    }

    /// Writes events, one a line. Nothing that is not in the log is in them: no metrics of tasks, no cores, no
    /// settings.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_events(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(version) = &self.spark_version {
            write(out, &json!({ "Event": "SparkListenerLogStart", "Spark Version": version }))?;
        }
        write(
            out,
            &json!({
                "Event": "SparkListenerApplicationStart", "App Name": self.application_name,
                "App ID": self.application_id, "Timestamp": self.first_ms, "User": null,
            }),
        )?;
        for (id, executor) in &self.executors {
            write(
                out,
                &json!({
                    "Event": "SparkListenerExecutorAdded", "Timestamp": executor.added_ms, "Executor ID": id,
                    "Executor Info": { "Host": executor.host },
                }),
            )?;
        }
        let stages_of_job = self.stages_of_jobs();
        let ends = self.ends();
        for (id, job) in &self.jobs {
            let ids = stages_of_job.get(id).cloned().unwrap_or_default();
            let infos: Vec<Value> = ids.iter().map(|stage| self.listed(*stage)).collect();
            write(
                out,
                &json!({
                    "Event": "SparkListenerJobStart", "Job ID": id, "Submission Time": job.start_ms,
                    "Stage Infos": infos, "Stage IDs": ids, "Properties": {},
                }),
            )?;
        }
        for (key, stage) in &self.stages {
            write(
                out,
                &json!({ "Event": "SparkListenerStageSubmitted", "Stage Info": info(*key, stage, None), "Properties": {} }),
            )?;
        }
        for (id, task) in &self.tasks {
            write(out, &of_task(*id, task))?;
        }
        for (key, stage) in self.stages.iter().filter(|(_, stage)| stage.ended_ms.is_some()) {
            write(
                out,
                &json!({ "Event": "SparkListenerStageCompleted", "Stage Info": info(*key, stage, ends.get(key).copied()) }),
            )?;
        }
        for (id, job) in &self.jobs {
            let (end, error) = self.end_of_job(*id, &stages_of_job, &ends);
            let Some(end) = job.end_ms.max(end) else { continue };
            let result = match job.is_failed {
                true => {
                    json!({ "Result": "JobFailed", "Exception": { "Message": error, "Stack Trace": [] } })
                }
                false => json!({ "Result": "JobSucceeded" }),
            };
            write(
                out,
                &json!({ "Event": "SparkListenerJobEnd", "Job ID": id, "Completion Time": end, "Job Result": result }),
            )?;
        }
        for (id, executor) in self.executors.iter().filter(|(_, executor)| executor.lost_ms.is_some()) {
            write(
                out,
                &json!({
                    "Event": "SparkListenerExecutorRemoved", "Timestamp": executor.lost_ms, "Executor ID": id,
                    "Removed Reason": executor.reason,
                }),
            )?;
        }
        if let Some(end) = self.stopped_ms {
            write(
                out,
                &json!({ "Event": "SparkListenerApplicationEnd", "Timestamp": end, "ExitCode": self.exit_code }),
            )?;
        }
        Ok(())
    }

    /// Stages by job: the last one that the log names, what it waits for, and stages submitted while only this job
    /// was running.
    fn stages_of_jobs(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut of_jobs: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut known: BTreeSet<u32> = BTreeSet::new();
        for (id, job) in &self.jobs {
            let stages = of_jobs.entry(*id).or_default();
            stages.extend(job.final_stage);
            stages.extend(&job.parents);
            known.extend(stages.iter());
        }
        let started = |(id, job): (&u32, &Job)| Some((job.start_ms?, *id, job.final_stage));
        let mut by_start: Vec<(i64, u32, Option<u32>)> = self.jobs.iter().filter_map(started).collect();
        by_start.sort_unstable();
        for ((stage, _), one) in &self.stages {
            let Some(submitted) = one.submitted_ms.filter(|_| !known.contains(stage)) else { continue };
            let before = by_start.partition_point(|(start, ..)| *start <= submitted);
            let mut latest = by_start[..before].iter().rev().take(MOST_JOBS_AT_ONCE);
            if let Some((_, id, _)) = latest.find(|(.., last)| last.is_none_or(|last| last > *stage)) {
                of_jobs.entry(*id).or_default().insert(*stage);
            }
        }
        of_jobs
    }

    /// When stage attempts ended. Lines have whole seconds in most layouts, durations have milliseconds: no stage ends
    /// before the last of its tasks.
    fn ends(&self) -> BTreeMap<(u32, u32), i64> {
        let logged = self.stages.iter().filter_map(|(key, stage)| Some((*key, stage.ended_ms?)));
        let mut ends: BTreeMap<(u32, u32), i64> = logged.collect();
        for task in self.tasks.values() {
            if let (Some(end), Some(last)) = (end_of(task), ends.get_mut(&task.stage)) {
                *last = end.max(*last);
            }
        }
        ends
    }

    /// Of a job that only computes a shuffle no end is logged: it is that of its last stage, before which none ends.
    fn end_of_job(
        &self,
        id: u32,
        stages: &BTreeMap<u32, BTreeSet<u32>>,
        ends: &BTreeMap<(u32, u32), i64>,
    ) -> (Option<i64>, Option<&str>) {
        let last = self.jobs.get(&id).and_then(|job| job.final_stage);
        let end = last.and_then(|stage| ends.get(&(stage, self.attempt_of(stage))).copied());
        let mut own = stages.get(&id).into_iter().flatten();
        let error =
            own.find_map(|stage| self.stages.get(&(*stage, self.attempt_of(*stage)))?.failure.as_deref());
        (end, error)
    }

    fn listed(&self, id: u32) -> Value {
        match self.stages.range((id, 0)..=(id, u32::MAX)).next() {
            Some((key, stage)) => info(*key, stage, None),
            None => {
                json!({ "Stage ID": id, "Stage Attempt ID": 0, "Stage Name": "", "Number of Tasks": 0, "RDD Info": [], "Parent IDs": [] })
            }
        }
    }
}

fn info((id, attempt): (u32, u32), stage: &Stage, end: Option<i64>) -> Value {
    let mut info = json!({
        "Stage ID": id, "Stage Attempt ID": attempt, "Stage Name": stage.name, "Number of Tasks": stage.tasks,
        "RDD Info": [], "Parent IDs": [], "Details": "", "Submission Time": stage.submitted_ms, "Accumulables": [],
    });
    if let Some(end) = end {
        info["Completion Time"] = json!(end);
        if let Some(reason) = &stage.failure {
            info["Failure Reason"] = json!(reason);
        }
    }
    info
}

fn write(out: &mut dyn Write, event: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")
}

/// `Task Info` of an event.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TaskInfo<'t> {
    #[serde(rename = "Task ID")]
    id: u64,
    index: u32,
    attempt: u32,
    #[serde(rename = "Partition ID")]
    partition: u32,
    #[serde(rename = "Launch Time")]
    launch_ms: Option<i64>,
    #[serde(rename = "Executor ID")]
    executor: &'t str,
    host: &'t str,
    locality: &'static str,
    speculative: bool,
    #[serde(rename = "Getting Result Time")]
    getting_result_ms: i64,
    #[serde(rename = "Finish Time")]
    finish_ms: i64,
    failed: bool,
    killed: bool,
    accumulables: [(); 0],
}

/// The start of a task, or with a reason its end.
#[derive(Serialize)]
struct TaskEvent<'t> {
    #[serde(rename = "Event")]
    event: &'static str,
    #[serde(rename = "Stage ID")]
    stage: u32,
    #[serde(rename = "Stage Attempt ID")]
    stage_attempt: u32,
    #[serde(rename = "Task Type")]
    task_type: &'static str,
    #[serde(rename = "Task End Reason", skip_serializing_if = "Option::is_none")]
    reason: Option<Value>,
    #[serde(rename = "Task Info")]
    info: TaskInfo<'t>,
}

/// Lines have whole seconds in most layouts, durations have milliseconds: the launch is where the end says it was,
/// if the line about it is missing.
fn launch(task: &Task) -> Option<i64> {
    task.launched_ms.or_else(|| Some(task.ended_ms? - task.duration_ms.unwrap_or(0)))
}

fn end_of(task: &Task) -> Option<i64> {
    launch(task).zip(task.duration_ms).map(|(launch, duration)| launch + duration).or(task.ended_ms)
}

/// The end of a task attempt, or if none is known its start.
fn of_task(id: u64, task: &Task) -> TaskEvent<'_> {
    let (launch_ms, end) = (launch(task), end_of(task));
    let mut info = TaskInfo {
        id,
        index: task.index,
        attempt: task.attempt,
        partition: task.index,
        launch_ms,
        executor: task.executor.as_deref().unwrap_or_default(),
        host: task.host.as_deref().unwrap_or_default(),
        locality: "ANY",
        speculative: false,
        getting_result_ms: 0,
        finish_ms: 0,
        failed: false,
        killed: false,
        accumulables: [],
    };
    let mut reason = None;
    if let Some(end) = end {
        info.finish_ms = end.max(launch_ms.unwrap_or(end));
        reason = Some(end_reason(task, &mut info));
    }
    TaskEvent {
        event: if end.is_some() { "SparkListenerTaskEnd" } else { "SparkListenerTaskStart" },
        stage: task.stage.0,
        stage_attempt: task.stage.1,
        task_type: "ShuffleMapTask",
        reason,
        info,
    }
}

fn end_reason(task: &Task, info: &mut TaskInfo<'_>) -> Value {
    match task.failure.as_deref() {
        None => json!({ "Reason": "Success" }),
        Some(text) if text.starts_with("TaskKilled") => {
            info.killed = true;
            json!({ "Reason": "TaskKilled", "Kill Reason": text })
        }
        Some(text) if text.starts_with("ExecutorLostFailure") => {
            info.failed = true;
            json!({ "Reason": "ExecutorLostFailure", "Executor ID": task.executor.as_deref(), "Loss Reason": text, "Exit Caused By App": true })
        }
        Some(text) => {
            info.failed = true;
            let class = text.split([':', ' ']).next().unwrap_or_default();
            json!({ "Reason": "ExceptionFailure", "Class Name": class, "Description": text, "Stack Trace": [], "Full Stack Trace": text })
        }
    }
}
