//! `/executors` (those that lived to the end) and `/allexecutors`.

use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::time;
use emberscope_log::event::task::EXECUTOR_METRICS;
use emberscope_model::redact;
use emberscope_model::run::{Executor, Run};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const DRIVER: &str = "driver";

pub(super) fn all(opened: &Opened) -> Answer {
    json(&sorted(&opened.run).map(|executor| summary(opened, executor)).collect::<Vec<_>>())
}

pub(super) fn active(opened: &Opened) -> Answer {
    let mut alive: Vec<&Executor> = sorted(&opened.run).filter(|executor| is_active(executor)).collect();
    alive.reverse();
    json(&alive.into_iter().map(|executor| summary(opened, executor)).collect::<Vec<_>>())
}

/// By id, as text.
fn sorted(run: &Run) -> impl Iterator<Item = &Executor> {
    let mut executors: Vec<&Executor> = run.executors.iter().collect();
    executors.sort_by(|a, b| a.id.cmp(&b.id));
    executors.into_iter()
}

fn is_active(executor: &Executor) -> bool {
    executor.removed_ms.is_none()
}

/// Memory and disk that an executor's blocks occupy at the end, and how many blocks of RDDs there are.
pub(super) struct Held {
    pub(super) memory: i64,
    pub(super) disk: i64,
    blocks: i64,
}

impl Held {
    pub(super) fn of(run: &Run, executor: &str) -> Held {
        let (memory, disk) = run.storage.broadcasts.get(executor).copied().unwrap_or_default();
        let mut held = Held { memory, disk, blocks: 0 };
        for block in run.storage.blocks().iter().filter(|block| block.executor == executor) {
            held.memory += block.memory_bytes;
            held.disk += block.disk_bytes;
            held.blocks += 1;
        }
        held
    }
}

/// Host and port of an executor's block manager.
pub(super) fn host_port(executor: &Executor) -> String {
    let host = executor.block_manager_host.as_ref().or(executor.host.as_ref());
    let host = host.map(String::as_str).unwrap_or_default();
    executor.block_manager_port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// All metrics that Spark 4.3 knows; those that were not measured are 0.
pub(super) fn all_metrics(peaks: &BTreeMap<String, i64>) -> Value {
    let metrics = EXECUTOR_METRICS
        .iter()
        .map(|(name, _)| ((*name).to_owned(), Value::from(peaks.get(*name).copied().unwrap_or(0))));
    metrics.collect::<Map<String, Value>>().into()
}

fn summary(opened: &Opened, executor: &Executor) -> Value {
    let run = &opened.run;
    let figures = opened.figures().executors.get(&executor.id).copied().unwrap_or_default();
    let held = Held::of(run, &executor.id);
    let cores = executor.cores.unwrap_or(0);
    // Every task's end tells of its executor's peaks, zeros too.
    let has_peaks = !executor.peaks.is_empty() || figures.total_tasks > 0;
    let (mut duration, mut gc_time) = (figures.duration_ms, figures.gc_time_ms);
    if executor.id == DRIVER {
        // The driver is at work as long as the application runs.
        duration = run.application.duration_ms().unwrap_or(0);
        if has_peaks {
            gc_time = executor.peaks.get("TotalGCTime").copied().unwrap_or(0);
        }
    }
    let is_excluded = is_excluded(run, executor);
    let mut shown = json!({
        "id": executor.id,
        "hostPort": host_port(executor),
        "isActive": is_active(executor),
        "rddBlocks": held.blocks,
        "memoryUsed": held.memory,
        "diskUsed": held.disk,
        "totalCores": cores,
        "maxTasks": max_tasks(run, executor),
        "activeTasks": figures.counts.active,
        "failedTasks": figures.counts.failed,
        "completedTasks": figures.counts.complete,
        "totalTasks": figures.total_tasks,
        "totalDuration": duration,
        "totalGCTime": gc_time,
        "totalInputBytes": figures.input_bytes,
        "totalShuffleRead": figures.shuffle_read,
        "totalShuffleWrite": figures.shuffle_write,
        "isBlacklisted": is_excluded,
        "isExcluded": is_excluded,
        "maxMemory": executor.maximum_memory_bytes.unwrap_or(0),
        "executorLogs": {},
        "attributes": {},
        "resources": resources(executor),
        "resourceProfileId": executor.resource_profile_id,
        "blacklistedInStages": [],
        "excludedInStages": [],
    });
    if let Some(fields) = shown.as_object_mut() {
        let times = [
            ("addTime", executor.added_ms.or(executor.block_manager_added_ms)),
            ("removeTime", executor.removed_ms),
        ];
        fields.extend(
            times.into_iter().filter_map(|(key, time)| Some((key.to_owned(), time::shown(time?).into()))),
        );
        if let Some(reason) = &executor.removed_reason {
            fields.insert("removeReason".to_owned(), reason.clone().into());
        }
        if executor.maximum_on_heap_bytes.is_some() {
            fields.insert("memoryMetrics".to_owned(), memory_metrics(executor, &held));
        }
        if has_peaks {
            fields.insert("peakMemoryMetrics".to_owned(), all_metrics(&executor.peaks));
        }
    }
    shown
}

fn resources(executor: &Executor) -> Value {
    let shown = executor
        .resources
        .iter()
        .map(|(name, held)| (name.clone(), json!({ "name": held.name, "addresses": held.addresses })));
    shown.collect::<Map<String, Value>>().into()
}

/// Processes that run no tasks (`/allmiscellaneousprocess`).
pub(super) fn processes(opened: &Opened) -> Answer {
    let shown = opened.run.processes.values().map(|process| {
        let logs = process.info.logs.iter().map(|(name, at)| (name.clone(), redact::text(at).into()));
        let mut shown = json!({
            "id": process.id,
            "hostPort": process.info.host_port,
            "isActive": true,
            "totalCores": process.info.cores.small_id().unwrap_or(0),
            "processLogs": logs.collect::<Map<String, Value>>(),
        });
        if let (Some(fields), Some(time)) = (shown.as_object_mut(), process.time.time_ms()) {
            fields.insert("addTime".to_owned(), time::shown(time).into());
        }
        shown
    });
    json(&shown.collect::<Vec<_>>())
}

fn memory_metrics(executor: &Executor, held: &Held) -> Value {
    json!({
        "usedOnHeapStorageMemory": held.memory,
        "usedOffHeapStorageMemory": 0,
        "totalOnHeapStorageMemory": executor.maximum_on_heap_bytes.unwrap_or(0),
        "totalOffHeapStorageMemory": executor.maximum_off_heap_bytes.unwrap_or(0),
    })
}

/// Tasks that an executor can run at a time.
fn max_tasks(run: &Run, executor: &Executor) -> i64 {
    let of_profile = run
        .resource_profiles
        .get(&executor.resource_profile_id)
        .and_then(|profile| profile.task.get("cpus"))
        .map(|request| request.amount);
    let cpus = of_profile.or_else(|| run.spark_property("spark.task.cpus")?.parse().ok()).unwrap_or(1.0);
    if cpus > 0.0 { (f64::from(executor.cores.unwrap_or(0)) / cpus) as i64 } else { 0 }
}

/// Whether the last word on an executor, or on its host, was that it is excluded.
fn is_excluded(run: &Run, executor: &Executor) -> bool {
    let last = run.exclusions.iter().rfind(|exclusion| {
        exclusion.stage_id.0.is_none()
            && (exclusion.executor_id.as_deref() == Some(&executor.id)
                || (exclusion.host_id.is_some() && exclusion.host_id == executor.host))
    });
    last.is_some_and(|exclusion| !exclusion.is_end)
}
