//! Answers as Spark sends them (`org.apache.spark.status.api.v1`). Whatever a version lacks is `None` or empty.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Application {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Attempt {
    pub(crate) attempt_id: Option<String>,
    pub(crate) start_time_epoch: Option<i64>,
    pub(crate) end_time_epoch: Option<i64>,
    pub(crate) spark_user: Option<String>,
    pub(crate) completed: bool,
    pub(crate) last_updated_epoch: Option<i64>,
    pub(crate) app_spark_version: Option<String>,
}

impl Attempt {
    /// Whether an application tells this of itself. A History Server has the time of the log's last change in the
    /// place where a live UI repeats the start.
    pub(crate) fn is_live(&self) -> bool {
        let start = self.start_time_epoch.filter(|start| *start > 0);
        !self.completed && start.is_some() && self.last_updated_epoch == start
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Job {
    pub(crate) job_id: u32,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) submission_time: Option<String>,
    pub(crate) completion_time: Option<String>,
    pub(crate) stage_ids: Vec<u32>,
    pub(crate) job_group: Option<String>,
    pub(crate) job_tags: Vec<String>,
    pub(crate) status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Stage {
    pub(crate) status: String,
    pub(crate) stage_id: u32,
    pub(crate) attempt_id: u32,
    pub(crate) num_tasks: u64,
    pub(crate) submission_time: Option<String>,
    pub(crate) completion_time: Option<String>,
    pub(crate) failure_reason: Option<String>,
    pub(crate) name: String,
    pub(crate) details: Option<String>,
    pub(crate) scheduling_pool: Option<String>,
    pub(crate) rdd_ids: Vec<u32>,
    pub(crate) accumulator_updates: Vec<Accumulable>,
    pub(crate) resource_profile_id: Option<u32>,
    pub(crate) input_records: i64,
    pub(crate) output_bytes: i64,
    pub(crate) shuffle_read_records: i64,
    pub(crate) shuffle_write_bytes: i64,
    pub(crate) shuffle_write_records: i64,
    /// With `details=true`.
    pub(crate) tasks: Option<BTreeMap<String, Task>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Accumulable {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) value: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) task_id: u64,
    pub(crate) index: u32,
    pub(crate) attempt: u32,
    pub(crate) partition_id: Option<i64>,
    pub(crate) launch_time: Option<String>,
    pub(crate) duration: Option<i64>,
    pub(crate) executor_id: String,
    pub(crate) host: String,
    pub(crate) status: String,
    pub(crate) task_locality: Option<String>,
    pub(crate) speculative: bool,
    pub(crate) error_message: Option<String>,
    pub(crate) task_metrics: Option<TaskMetrics>,
    pub(crate) getting_result_time: i64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TaskMetrics {
    pub(crate) executor_deserialize_time: i64,
    pub(crate) executor_deserialize_cpu_time: i64,
    pub(crate) executor_run_time: i64,
    pub(crate) executor_cpu_time: i64,
    pub(crate) result_size: i64,
    pub(crate) jvm_gc_time: i64,
    pub(crate) result_serialization_time: i64,
    pub(crate) memory_bytes_spilled: i64,
    pub(crate) disk_bytes_spilled: i64,
    pub(crate) peak_execution_memory: i64,
    pub(crate) input_metrics: Map<String, Value>,
    pub(crate) output_metrics: Map<String, Value>,
    pub(crate) shuffle_read_metrics: Map<String, Value>,
    pub(crate) shuffle_write_metrics: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Executor {
    pub(crate) id: String,
    pub(crate) host_port: String,
    pub(crate) total_cores: u32,
    pub(crate) max_memory: i64,
    pub(crate) add_time: Option<String>,
    pub(crate) remove_time: Option<String>,
    pub(crate) remove_reason: Option<String>,
    pub(crate) peak_memory_metrics: Option<Map<String, Value>>,
    pub(crate) memory_metrics: Map<String, Value>,
    pub(crate) resource_profile_id: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Environment {
    pub(crate) runtime: Map<String, Value>,
    pub(crate) spark_properties: Vec<(String, String)>,
    pub(crate) hadoop_properties: Vec<(String, String)>,
    pub(crate) system_properties: Vec<(String, String)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sql {
    pub(crate) id: u64,
    pub(crate) status: String,
    pub(crate) description: Option<String>,
    pub(crate) plan_description: Option<String>,
    pub(crate) submission_time: Option<String>,
    pub(crate) duration: Option<i64>,
    pub(crate) running_job_ids: Vec<u32>,
    pub(crate) success_job_ids: Vec<u32>,
    pub(crate) failed_job_ids: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) query_id: Option<String>,
    pub(crate) error_message: Option<String>,
    pub(crate) root_execution_id: Option<u64>,
    pub(crate) modified_configs: Option<BTreeMap<String, String>>,
}

impl Sql {
    pub(crate) fn job_ids(&self) -> impl Iterator<Item = u32> {
        [&self.running_job_ids, &self.success_job_ids, &self.failed_job_ids].into_iter().flatten().copied()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) node_id: u64,
    pub(crate) node_name: String,
    pub(crate) metrics: Vec<Metric>,
    /// Spark 4.
    pub(crate) desc: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Edge {
    pub(crate) from_id: u64,
    pub(crate) to_id: u64,
}

/// A time as the API writes it, `2026-11-30T19:36:53.308GMT`, epoch milliseconds.
pub(crate) fn time_ms(text: Option<&str>) -> Option<i64> {
    let text = text?.strip_suffix("GMT").or(text?.strip_suffix('Z'))?;
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let epoch = jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond();
    // What never happened has a time one millisecond before 1970.
    (epoch >= 0).then_some(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time_ms(Some("2026-11-30T19:49:42.123GMT")), Some(1_796_068_182_123));
        assert_eq!(time_ms(Some("1969-12-31T23:59:59.999GMT")), None);
        assert_eq!(time_ms(Some("soon")), None);
        assert_eq!(time_ms(None), None);
    }
}
