//! Events about an application, its executors, queries, jobs and stages, as their answers tell them.

use crate::events::Events;
use crate::plan::{self, Metrics};
use crate::shapes::{Attempt, Environment, Executor, Job, Sql, Stage, time_ms};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Likely parents by stage.
pub(crate) type Parents = BTreeMap<u32, Vec<u32>>;

pub(crate) fn application_events(
    id: &str,
    name: Option<&str>,
    attempt: &Attempt,
    events: &mut Events,
) -> io::Result<()> {
    if let Some(version) = attempt.app_spark_version.as_deref().filter(|version| !version.is_empty()) {
        events.add(&json!({ "Event": "SparkListenerLogStart", "Spark Version": version }))?;
    }
    events.add(&json!({
        "Event": "SparkListenerApplicationStart", "App Name": name, "App ID": Some(id).filter(|id| !id.is_empty()),
        "App Attempt ID": attempt.attempt_id, "Timestamp": attempt.start_time_epoch, "User": attempt.spark_user,
    }))
}

pub(crate) fn environment_event(environment: Option<&Environment>, events: &mut Events) -> io::Result<()> {
    let Some(environment) = environment else { return Ok(()) };
    let map = |pairs: &[(String, String)]| -> Map<String, Value> {
        pairs.iter().map(|(key, value)| (key.clone(), json!(value))).collect()
    };
    let runtime = |key: &str| environment.runtime.get(key).cloned().unwrap_or(Value::Null);
    events.add(&json!({
        "Event": "SparkListenerEnvironmentUpdate",
        "JVM Information": {
            "Java Version": runtime("javaVersion"), "Java Home": runtime("javaHome"), "Scala Version": runtime("scalaVersion"),
        },
        "Spark Properties": map(&environment.spark_properties),
        "Hadoop Properties": map(&environment.hadoop_properties),
        "System Properties": map(&environment.system_properties),
    }))
}

pub(crate) fn executor_events(executors: &[Executor], events: &mut Events) -> io::Result<()> {
    for executor in executors {
        let (host, port) = executor.host_port.rsplit_once(':').unwrap_or((&executor.host_port, ""));
        let added = time_ms(executor.add_time.as_deref());
        // A driver that runs no tasks is no executor.
        if executor.total_cores > 0 {
            events.add(&json!({
                "Event": "SparkListenerExecutorAdded", "Timestamp": added, "Executor ID": executor.id,
                "Executor Info": {
                    "Host": host, "Total Cores": executor.total_cores, "Resource Profile Id": executor.resource_profile_id,
                },
            }))?;
        }
        let memory = |name: &str| executor.memory_metrics.get(name).cloned().unwrap_or(Value::Null);
        events.add(&json!({
            "Event": "SparkListenerBlockManagerAdded", "Timestamp": added,
            "Block Manager ID": { "Executor ID": executor.id, "Host": host, "Port": port.parse::<u32>().ok() },
            "Maximum Memory": executor.max_memory, "Maximum Onheap Memory": memory("totalOnHeapStorageMemory"),
            "Maximum Offheap Memory": memory("totalOffHeapStorageMemory"),
        }))?;
        if let Some(peaks) = &executor.peak_memory_metrics {
            events.add(&json!({
                "Event": "SparkListenerStageExecutorMetrics", "Executor ID": executor.id, "Stage ID": -1,
                "Stage Attempt ID": -1, "Executor Metrics": peaks,
            }))?;
        }
        if let Some(removed) = time_ms(executor.remove_time.as_deref()) {
            events.add(&json!({
                "Event": "SparkListenerExecutorRemoved", "Timestamp": removed, "Executor ID": executor.id,
                "Removed Reason": executor.remove_reason,
            }))?;
        }
    }
    Ok(())
}

pub(crate) fn sql_starts(
    queries: &[Sql],
    jobs: &[Job],
    stages: &[Stage],
    metrics: &mut Metrics,
    events: &mut Events,
) -> io::Result<()> {
    let of_jobs: BTreeMap<u32, &[u32]> = jobs.iter().map(|job| (job.job_id, &job.stage_ids[..])).collect();
    let mut ran: BTreeMap<u32, Vec<&Stage>> = BTreeMap::new();
    for stage in stages.iter().filter(|stage| stage.status == "COMPLETE") {
        ran.entry(stage.stage_id).or_default().push(stage);
    }
    for sql in queries {
        let ids: BTreeSet<u32> =
            sql.job_ids().filter_map(|job| of_jobs.get(&job)).flat_map(|ids| ids.iter().copied()).collect();
        let own: Vec<&Stage> = ids.iter().filter_map(|id| ran.get(id)).flatten().copied().collect();
        let mut event = json!({
            "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": sql.id,
            "description": sql.description, "details": "", "physicalPlanDescription": sql.plan_description,
            "sparkPlanInfo": plan::info(sql, &own, metrics), "time": time_ms(sql.submission_time.as_deref()),
        });
        if let Some(root) = sql.root_execution_id {
            event["rootExecutionId"] = json!(root);
        }
        if let Some(query) = &sql.query_id {
            event["queryId"] = json!(query);
        }
        if let Some(configs) = &sql.modified_configs {
            event["modifiedConfigs"] = json!(configs);
        }
        events.add(&event)?;
    }
    Ok(())
}

pub(crate) fn job_starts(
    jobs: &[Job],
    stages: &[Stage],
    queries: &[Sql],
    parents: &Parents,
    events: &mut Events,
) -> io::Result<()> {
    let of_jobs: BTreeMap<u32, u64> =
        queries.iter().flat_map(|sql| sql.job_ids().map(|job| (job, sql.id))).collect();
    let mut by_id: BTreeMap<u32, &Stage> = BTreeMap::new();
    for stage in stages {
        by_id.entry(stage.stage_id).or_insert(stage);
    }
    for job in jobs {
        let listed = |id: &u32| by_id.get(id).copied();
        let infos: Vec<Value> =
            job.stage_ids.iter().filter_map(listed).map(|stage| stage_info(stage, parents, false)).collect();
        let mut properties = Map::new();
        let mut set = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                properties.insert(key.to_owned(), Value::String(value));
            }
        };
        set("spark.sql.execution.id", of_jobs.get(&job.job_id).map(u64::to_string));
        set("spark.job.description", job.description.clone());
        set("spark.jobGroup.id", job.job_group.clone());
        set("spark.job.tags", (!job.job_tags.is_empty()).then(|| job.job_tags.join(",")));
        events.add(&json!({
            "Event": "SparkListenerJobStart", "Job ID": job.job_id,
            "Submission Time": time_ms(job.submission_time.as_deref()), "Stage Infos": infos, "Stage IDs": job.stage_ids,
            "Properties": properties,
        }))?;
    }
    Ok(())
}

pub(crate) fn job_ends(jobs: &[Job], events: &mut Events) -> io::Result<()> {
    for job in jobs.iter().filter(|job| job.status != "RUNNING") {
        let Some(end) = time_ms(job.completion_time.as_deref()) else { continue };
        let result = match job.status.as_str() {
            "SUCCEEDED" => json!({ "Result": "JobSucceeded" }),
            // The API does not say why; the failed stage does.
            _ => json!({ "Result": "JobFailed", "Exception": { "Message": "", "Stack Trace": [] } }),
        };
        events.add(&json!({
            "Event": "SparkListenerJobEnd", "Job ID": job.job_id, "Completion Time": end, "Job Result": result,
        }))?;
    }
    Ok(())
}

pub(crate) fn sql_ends(queries: &[Sql], metrics: &Metrics, events: &mut Events) -> io::Result<()> {
    for sql in queries {
        if let Some(updates) = metrics.of_driver.get(&sql.id) {
            events.add(&json!({
                "Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates", "executionId": sql.id,
                "accumUpdates": updates,
            }))?;
        }
        if let Some(shown) = metrics.displayed.get(&sql.id) {
            events.add(&json!({
                "Event": "io.emberscope.DisplayedMetrics", "executionId": sql.id, "metrics": shown,
            }))?;
        }
        let start = time_ms(sql.submission_time.as_deref());
        if let (Some(start), Some(duration), true) = (start, sql.duration, sql.status != "RUNNING") {
            let error = match sql.status.as_str() {
                "FAILED" => {
                    Some(sql.error_message.as_deref().filter(|text| !text.is_empty()).unwrap_or("failed"))
                }
                _ => Some(""),
            };
            events.add(&json!({
                "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": sql.id,
                "time": start.saturating_add(duration), "errorMessage": error,
            }))?;
        }
    }
    Ok(())
}

pub(crate) fn stage_info(stage: &Stage, parents: &Parents, is_end: bool) -> Value {
    let rdds: Vec<Value> = stage.rdd_ids.iter().map(|id| json!({ "RDD ID": id, "Name": "" })).collect();
    let mut info = json!({
        "Stage ID": stage.stage_id, "Stage Attempt ID": stage.attempt_id, "Stage Name": stage.name,
        "Number of Tasks": stage.num_tasks, "RDD Info": rdds,
        "Parent IDs": parents.get(&stage.stage_id).map_or(&[][..], Vec::as_slice),
        "Details": stage.details.as_deref().unwrap_or_default(),
        "Submission Time": time_ms(stage.submission_time.as_deref()), "Accumulables": [],
        "Resource Profile Id": stage.resource_profile_id.unwrap_or(0),
    });
    if is_end {
        info["Completion Time"] = json!(time_ms(stage.completion_time.as_deref()));
        if let Some(reason) = &stage.failure_reason {
            info["Failure Reason"] = json!(reason);
        }
        let named = stage.accumulator_updates.iter().filter(|one| one.name.is_some());
        info["Accumulables"] = named
            .map(|one| json!({ "ID": one.id, "Name": one.name, "Value": one.value, "Internal": false }))
            .collect();
    }
    info
}
