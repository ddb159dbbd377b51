//! Task attempts as events.

use crate::reason;
use crate::shapes::{Task, TaskMetrics, time_ms};
use serde_json::{Map, Value, json};

/// A metric of a SQL operator that a task is known to have updated.
pub(crate) type Update = (u64, i64);

/// The events of a task attempt: its start while it runs, else its end.
pub(crate) fn event(stage: (u32, u32), is_result: bool, task: &Task, updates: &[Update]) -> Value {
    let launch = time_ms(task.launch_time.as_deref());
    let mut info = json!({
        "Task ID": task.task_id, "Index": task.index, "Attempt": task.attempt, "Partition ID": task.partition_id.unwrap_or(i64::from(task.index)),
        "Launch Time": launch, "Executor ID": task.executor_id, "Host": task.host,
        "Locality": task.task_locality.as_deref().unwrap_or("ANY"), "Speculative": task.speculative,
        "Getting Result Time": 0, "Finish Time": 0, "Failed": false, "Killed": false, "Accumulables": [],
    });
    let (Some(launch), Some(duration)) = (launch, task.duration.filter(|_| task.status != "RUNNING")) else {
        return json!({
            "Event": "SparkListenerTaskStart", "Stage ID": stage.0, "Stage Attempt ID": stage.1, "Task Info": info,
        });
    };
    let finish = launch.saturating_add(duration);
    info["Finish Time"] = json!(finish);
    if task.getting_result_time > 0 {
        info["Getting Result Time"] = json!(finish.saturating_sub(task.getting_result_time));
    }
    info["Failed"] = json!(task.status == "FAILED");
    info["Killed"] = json!(task.status == "KILLED");
    info["Accumulables"] = updates
        .iter()
        .map(|(id, value)| json!({ "ID": id, "Update": value, "Internal": false, "Metadata": "sql" }))
        .collect();
    let end = match task.status.as_str() {
        "SUCCESS" => json!({ "Reason": "Success" }),
        status => reason::of(status, task.error_message.as_deref().unwrap_or("unknown")),
    };
    let mut event = json!({
        "Event": "SparkListenerTaskEnd", "Stage ID": stage.0, "Stage Attempt ID": stage.1,
        "Task Type": if is_result { "ResultTask" } else { "ShuffleMapTask" }, "Task End Reason": end, "Task Info": info,
    });
    if let Some(metrics) = &task.task_metrics {
        event["Task Metrics"] = of_metrics(metrics);
    }
    event
}

const SHUFFLE_READ: [(&str, &str); 8] = [
    ("remoteBlocksFetched", "Remote Blocks Fetched"),
    ("localBlocksFetched", "Local Blocks Fetched"),
    ("fetchWaitTime", "Fetch Wait Time"),
    ("remoteBytesRead", "Remote Bytes Read"),
    ("remoteBytesReadToDisk", "Remote Bytes Read To Disk"),
    ("localBytesRead", "Local Bytes Read"),
    ("recordsRead", "Total Records Read"),
    ("remoteReqsDuration", "Remote Requests Duration"),
];
const SHUFFLE_WRITE: [(&str, &str); 3] = [
    ("bytesWritten", "Shuffle Bytes Written"),
    ("writeTime", "Shuffle Write Time"),
    ("recordsWritten", "Shuffle Records Written"),
];
const INPUT: [(&str, &str); 2] = [("bytesRead", "Bytes Read"), ("recordsRead", "Records Read")];
const OUTPUT: [(&str, &str); 2] = [("bytesWritten", "Bytes Written"), ("recordsWritten", "Records Written")];

fn of_metrics(metrics: &TaskMetrics) -> Value {
    json!({
        "Executor Deserialize Time": metrics.executor_deserialize_time,
        "Executor Deserialize CPU Time": metrics.executor_deserialize_cpu_time,
        "Executor Run Time": metrics.executor_run_time,
        "Executor CPU Time": metrics.executor_cpu_time,
        "Peak Execution Memory": metrics.peak_execution_memory,
        "Result Size": metrics.result_size,
        "JVM GC Time": metrics.jvm_gc_time,
        "Result Serialization Time": metrics.result_serialization_time,
        "Memory Bytes Spilled": metrics.memory_bytes_spilled,
        "Disk Bytes Spilled": metrics.disk_bytes_spilled,
        "Shuffle Read Metrics": renamed(&metrics.shuffle_read_metrics, &SHUFFLE_READ),
        "Shuffle Write Metrics": renamed(&metrics.shuffle_write_metrics, &SHUFFLE_WRITE),
        "Input Metrics": renamed(&metrics.input_metrics, &INPUT),
        "Output Metrics": renamed(&metrics.output_metrics, &OUTPUT),
        "Updated Blocks": [],
    })
}

/// The same numbers under the names of events; a number that a version lacks stays away.
fn renamed(values: &Map<String, Value>, names: &[(&str, &str)]) -> Map<String, Value> {
    let known = names.iter().filter_map(|(from, to)| Some(((*to).to_owned(), values.get(*from)?.clone())));
    known.collect()
}
