//! A log's timeline as events, so that everything that reads event logs reads it.

use super::{DriverLog, Stage, Task};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

impl DriverLog {
    /// The attempt of a stage that lines speak of now: the newest.
    pub(super) fn attempt_of(&self, stage: u32) -> u32 {
        self.stages.range((stage, 0)..=(stage, u32::MAX)).next_back().map_or(0, |((_, attempt), _)| *attempt)
    }

    /// Events, one a line. Nothing that is not in the log is in them: no metrics of tasks, no cores, no settings.
    pub fn to_events(&self) -> Vec<u8> {
        let mut events: Vec<Value> = Vec::new();
        if let Some(version) = &self.spark_version {
            events.push(json!({ "Event": "SparkListenerLogStart", "Spark Version": version }));
        }
        events.push(json!({
            "Event": "SparkListenerApplicationStart", "App Name": self.application_name,
            "App ID": self.application_id, "Timestamp": self.first_ms, "User": null,
        }));
        for (id, executor) in &self.executors {
            events.push(json!({
                "Event": "SparkListenerExecutorAdded", "Timestamp": executor.added_ms, "Executor ID": id,
                "Executor Info": { "Host": executor.host },
            }));
        }
        let stages_of_job = self.stages_of_jobs();
        for (id, job) in &self.jobs {
            let ids = stages_of_job.get(id).cloned().unwrap_or_default();
            let infos: Vec<Value> = ids.iter().map(|stage| self.listed(*stage)).collect();
            events.push(json!({
                "Event": "SparkListenerJobStart", "Job ID": id, "Submission Time": job.start_ms,
                "Stage Infos": infos, "Stage IDs": ids, "Properties": {},
            }));
        }
        for (key, stage) in &self.stages {
            events.push(json!({ "Event": "SparkListenerStageSubmitted", "Stage Info": info(*key, stage, false), "Properties": {} }));
        }
        for (id, task) in &self.tasks {
            events.push(start_of(*id, task));
            events.extend(end_of(*id, task));
        }
        for (key, stage) in self.stages.iter().filter(|(_, stage)| stage.ended_ms.is_some()) {
            events.push(
                json!({ "Event": "SparkListenerStageCompleted", "Stage Info": info(*key, stage, true) }),
            );
        }
        for (id, job) in &self.jobs {
            let (end, error) = self.end_of_job(*id, &stages_of_job);
            let Some(end) = job.end_ms.or(end) else { continue };
            let result = match job.is_failed {
                true => {
                    json!({ "Result": "JobFailed", "Exception": { "Message": error, "Stack Trace": [] } })
                }
                false => json!({ "Result": "JobSucceeded" }),
            };
            events.push(json!({ "Event": "SparkListenerJobEnd", "Job ID": id, "Completion Time": end, "Job Result": result }));
        }
        for (id, executor) in self.executors.iter().filter(|(_, executor)| executor.lost_ms.is_some()) {
            events.push(json!({
                "Event": "SparkListenerExecutorRemoved", "Timestamp": executor.lost_ms, "Executor ID": id,
                "Removed Reason": executor.reason,
            }));
        }
        if let Some(end) = self.stopped_ms {
            events.push(json!({ "Event": "SparkListenerApplicationEnd", "Timestamp": end, "ExitCode": self.exit_code }));
        }
        let mut lines = Vec::new();
        for event in events {
            lines.extend_from_slice(event.to_string().as_bytes());
            lines.push(b'\n');
        }
        lines
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
        for ((stage, _), one) in &self.stages {
            if known.contains(stage) {
                continue;
            }
            let running = self.jobs.iter().rfind(|(_, job)| {
                job.start_ms.is_some_and(|start| one.submitted_ms.is_some_and(|at| at >= start))
                    && job.final_stage.is_none_or(|last| last > *stage)
            });
            if let Some((id, _)) = running {
                of_jobs.entry(*id).or_default().insert(*stage);
            }
        }
        of_jobs
    }

    /// Of a job that only computes a shuffle no end is logged: it is that of its last stage.
    fn end_of_job(&self, id: u32, stages: &BTreeMap<u32, BTreeSet<u32>>) -> (Option<i64>, Option<&str>) {
        let last = self.jobs.get(&id).and_then(|job| job.final_stage);
        let attempt = last.and_then(|stage| self.stages.get(&(stage, self.attempt_of(stage))));
        let mut own = stages.get(&id).into_iter().flatten();
        let error =
            own.find_map(|stage| self.stages.get(&(*stage, self.attempt_of(*stage)))?.failure.as_deref());
        (attempt.and_then(|stage| stage.ended_ms), error)
    }

    fn listed(&self, id: u32) -> Value {
        match self.stages.range((id, 0)..=(id, u32::MAX)).next() {
            Some((key, stage)) => info(*key, stage, false),
            None => {
                json!({ "Stage ID": id, "Stage Attempt ID": 0, "Stage Name": "", "Number of Tasks": 0, "RDD Info": [], "Parent IDs": [] })
            }
        }
    }
}

fn info((id, attempt): (u32, u32), stage: &Stage, is_end: bool) -> Value {
    let mut info = json!({
        "Stage ID": id, "Stage Attempt ID": attempt, "Stage Name": stage.name, "Number of Tasks": stage.tasks,
        "RDD Info": [], "Parent IDs": [], "Details": "", "Submission Time": stage.submitted_ms, "Accumulables": [],
    });
    if is_end {
        info["Completion Time"] = json!(stage.ended_ms);
        if let Some(reason) = &stage.failure {
            info["Failure Reason"] = json!(reason);
        }
    }
    info
}

fn task_info(id: u64, task: &Task) -> Value {
    json!({
        "Task ID": id, "Index": task.index, "Attempt": task.attempt, "Partition ID": task.index,
        "Launch Time": launch(task), "Executor ID": task.executor.as_deref().unwrap_or_default(),
        "Host": task.host.as_deref().unwrap_or_default(), "Locality": "ANY", "Speculative": false, "Getting Result Time": 0,
        "Finish Time": 0, "Failed": false, "Killed": false, "Accumulables": [],
    })
}

/// Lines have whole seconds in most layouts, durations have milliseconds: the launch is where the end says it was,
/// if the line about it is missing.
fn launch(task: &Task) -> Option<i64> {
    task.launched_ms.or_else(|| Some(task.ended_ms? - task.duration_ms.unwrap_or(0)))
}

fn start_of(id: u64, task: &Task) -> Value {
    json!({
        "Event": "SparkListenerTaskStart", "Stage ID": task.stage.0, "Stage Attempt ID": task.stage.1,
        "Task Info": task_info(id, task),
    })
}

fn end_of(id: u64, task: &Task) -> Option<Value> {
    let end = match (launch(task), task.duration_ms) {
        (Some(launch), Some(duration)) => launch + duration,
        _ => task.ended_ms?,
    };
    let mut info = task_info(id, task);
    info["Finish Time"] = json!(end.max(launch(task).unwrap_or(end)));
    let reason = match &task.failure {
        None => json!({ "Reason": "Success" }),
        Some(text) if text.starts_with("TaskKilled") => {
            info["Killed"] = json!(true);
            json!({ "Reason": "TaskKilled", "Kill Reason": text })
        }
        Some(text) if text.starts_with("ExecutorLostFailure") => {
            info["Failed"] = json!(true);
            json!({ "Reason": "ExecutorLostFailure", "Executor ID": task.executor, "Loss Reason": text, "Exit Caused By App": true })
        }
        Some(text) => {
            info["Failed"] = json!(true);
            let class = text.split([':', ' ']).next().unwrap_or_default();
            json!({ "Reason": "ExceptionFailure", "Class Name": class, "Description": text, "Stack Trace": [], "Full Stack Trace": text })
        }
    };
    Some(json!({
        "Event": "SparkListenerTaskEnd", "Stage ID": task.stage.0, "Stage Attempt ID": task.stage.1,
        "Task Type": "ShuffleMapTask", "Task End Reason": reason, "Task Info": info,
    }))
}
