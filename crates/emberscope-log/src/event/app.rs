//! Application, environment, executors and block managers (`JsonProtocol`).

use super::lenient::{Int, IntFields, TextOrJson};
use super::reason::BlockManagerId;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `SparkListenerLogStart`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct LogStart {
    /// `Spark Version`.
    #[serde(rename = "Spark Version", default)]
    pub spark_version: Option<String>,
}

/// `SparkListenerApplicationStart`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ApplicationStart {
    /// `App Name`.
    #[serde(rename = "App Name", default)]
    pub name: Option<String>,
    /// `App ID`.
    #[serde(rename = "App ID", default)]
    pub id: Option<String>,
    /// `App Attempt ID`.
    #[serde(rename = "App Attempt ID", default)]
    pub attempt_id: Option<String>,
    /// `Timestamp`.
    #[serde(rename = "Timestamp", default)]
    pub timestamp: Int,
    /// `User`.
    #[serde(rename = "User", default)]
    pub user: Option<String>,
}

/// `SparkListenerApplicationEnd`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ApplicationEnd {
    /// `Timestamp`.
    #[serde(rename = "Timestamp", default)]
    pub timestamp: Int,
    /// `ExitCode` (Spark 4).
    #[serde(rename = "ExitCode", default)]
    pub exit_code: Int,
}

/// `SparkListenerEnvironmentUpdate`. The class path is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct EnvironmentUpdate {
    /// `JVM Information`.
    #[serde(rename = "JVM Information", default)]
    pub jvm: BTreeMap<String, TextOrJson>,
    /// `Spark Properties`.
    #[serde(rename = "Spark Properties", default)]
    pub spark: BTreeMap<String, TextOrJson>,
    /// `Hadoop Properties` (Spark 3).
    #[serde(rename = "Hadoop Properties", default)]
    pub hadoop: BTreeMap<String, TextOrJson>,
    /// `System Properties`.
    #[serde(rename = "System Properties", default)]
    pub system: BTreeMap<String, TextOrJson>,
    /// `Metrics Properties` (Spark 3.3).
    #[serde(rename = "Metrics Properties", default)]
    pub metrics: BTreeMap<String, TextOrJson>,
}

/// `SparkListenerResourceProfileAdded`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ResourceProfileAdded {
    /// `Resource Profile Id`.
    #[serde(rename = "Resource Profile Id", default)]
    pub id: Int,
    /// `Executor Resource Requests`, by resource name.
    #[serde(rename = "Executor Resource Requests", default)]
    pub executor: BTreeMap<String, ResourceRequest>,
    /// `Task Resource Requests`, by resource name.
    #[serde(rename = "Task Resource Requests", default)]
    pub task: BTreeMap<String, ResourceRequest>,
}

/// One resource of a profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ResourceRequest {
    /// `Amount`: cores, MiB of memory, or a share of a resource.
    #[serde(rename = "Amount", default)]
    pub amount: f64,
    /// `Discovery Script`, of executors' resources.
    #[serde(rename = "Discovery Script", default)]
    pub discovery_script: String,
    /// `Vendor`, of executors' resources.
    #[serde(rename = "Vendor", default)]
    pub vendor: String,
}

/// `SparkListenerMiscellaneousProcessAdded` (Spark 3.2): a process of the application that runs no tasks, as YARN's
/// application master.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ProcessAdded {
    /// `time`.
    #[serde(default)]
    pub time: Int,
    /// `processId`.
    #[serde(rename = "processId")]
    pub id: String,
    /// `info`.
    #[serde(default)]
    pub info: ProcessInfo,
}

/// `info` of a [`ProcessAdded`] (`MiscellaneousProcessDetails`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ProcessInfo {
    /// `hostPort`.
    #[serde(rename = "hostPort", default)]
    pub host_port: String,
    /// `cores`.
    #[serde(default)]
    pub cores: Int,
    /// `logUrlInfo`: addresses of its logs by name.
    #[serde(rename = "logUrlInfo", default)]
    pub logs: BTreeMap<String, String>,
}

/// `SparkListenerExecutorAdded`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExecutorAdded {
    /// `Timestamp`.
    #[serde(rename = "Timestamp", default)]
    pub timestamp: Int,
    /// `Executor ID`.
    #[serde(rename = "Executor ID")]
    pub executor_id: String,
    /// `Executor Info`.
    #[serde(rename = "Executor Info", default)]
    pub info: ExecutorInfo,
    /// Cores where a writer puts them beside the id.
    #[serde(rename = "Total Cores", default)]
    pub total_cores: Int,
}

/// `Executor Info` (`JsonProtocol.executorInfoToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExecutorInfo {
    /// `Host`.
    #[serde(rename = "Host", default)]
    pub host: Option<String>,
    /// `Total Cores`.
    #[serde(rename = "Total Cores", default)]
    pub total_cores: Int,
    /// `Resource Profile Id` (Spark 3.1).
    #[serde(rename = "Resource Profile Id", default)]
    pub resource_profile_id: Int,
    /// `Resources` (Spark 3.0): what it holds beside cores and memory, by name.
    #[serde(rename = "Resources", default)]
    pub resources: BTreeMap<String, HeldResource>,
}

/// A resource that an executor holds (`ResourceInformation`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct HeldResource {
    /// `name`.
    #[serde(default)]
    pub name: String,
    /// `addresses`, such as the indices of devices.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// `SparkListenerExecutorRemoved`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExecutorRemoved {
    /// `Timestamp`.
    #[serde(rename = "Timestamp", default)]
    pub timestamp: Int,
    /// `Executor ID`.
    #[serde(rename = "Executor ID")]
    pub executor_id: String,
    /// `Removed Reason`.
    #[serde(rename = "Removed Reason", default)]
    pub reason: Option<String>,
}

/// `SparkListenerExecutorExcluded` and its kin: for a stage, for a node, and the undoing of both;
/// also under the older word "blacklisted".
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exclusion {
    /// `time`.
    #[serde(default)]
    pub time: Int,
    /// `executorId`.
    pub executor_id: Option<String>,
    /// `hostId`.
    pub host_id: Option<String>,
    /// `stageId`.
    #[serde(default)]
    pub stage_id: Int,
    /// `stageAttemptId`.
    #[serde(default)]
    pub stage_attempt_id: Int,
    /// `taskFailures`.
    #[serde(default)]
    pub task_failures: Int,
    /// Whether the exclusion ends; set from the event's name.
    #[serde(skip)]
    pub is_end: bool,
}

/// `SparkListenerBlockManagerAdded` or `…Removed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BlockManagerEvent {
    /// `Block Manager ID`.
    #[serde(rename = "Block Manager ID", default)]
    pub id: BlockManagerId,
    /// `Timestamp`.
    #[serde(rename = "Timestamp", default)]
    pub timestamp: Int,
    /// `Maximum Memory`, bytes.
    #[serde(rename = "Maximum Memory", default)]
    pub maximum_memory: Int,
    /// `Maximum Onheap Memory`, bytes.
    #[serde(rename = "Maximum Onheap Memory", default)]
    pub maximum_on_heap_memory: Int,
    /// `Maximum Offheap Memory`, bytes.
    #[serde(rename = "Maximum Offheap Memory", default)]
    pub maximum_off_heap_memory: Int,
}

/// `SparkListenerBlockUpdated`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BlockUpdated {
    /// `Block Updated Info`.
    #[serde(rename = "Block Updated Info")]
    pub info: BlockUpdatedInfo,
}

/// `Block Updated Info` (`JsonProtocol.blockUpdatedInfoToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BlockUpdatedInfo {
    /// `Block Manager ID`.
    #[serde(rename = "Block Manager ID", default)]
    pub manager: BlockManagerId,
    /// `Block ID`, e.g. `rdd_1_0`.
    #[serde(rename = "Block ID", default)]
    pub block_id: String,
    /// `Storage Level`.
    #[serde(rename = "Storage Level", default)]
    pub storage_level: StorageLevel,
    /// `Memory Size`, bytes.
    #[serde(rename = "Memory Size", default)]
    pub memory_size: Int,
    /// `Disk Size`, bytes.
    #[serde(rename = "Disk Size", default)]
    pub disk_size: Int,
}

/// A storage level (`JsonProtocol.storageLevelToJson`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct StorageLevel {
    /// `Use Disk`.
    #[serde(rename = "Use Disk", default)]
    pub use_disk: bool,
    /// `Use Memory`.
    #[serde(rename = "Use Memory", default)]
    pub use_memory: bool,
    /// `Use Off Heap` (Spark 3.4).
    #[serde(rename = "Use Off Heap", default)]
    pub use_off_heap: bool,
    /// `Deserialized`.
    #[serde(rename = "Deserialized", default)]
    pub deserialized: bool,
    /// `Replication`.
    #[serde(rename = "Replication", default)]
    pub replication: Int,
}

/// `SparkListenerUnpersistRDD`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct UnpersistRdd {
    /// `RDD ID`.
    #[serde(rename = "RDD ID", default)]
    pub rdd_id: Int,
}

/// `SparkListenerStageExecutorMetrics`: peaks of one executor in one stage attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StageExecutorMetrics {
    /// `Executor ID`.
    #[serde(rename = "Executor ID", default)]
    pub executor_id: String,
    /// `Stage ID`; -1 when the peaks belong to no stage.
    #[serde(rename = "Stage ID", default)]
    pub stage_id: Int,
    /// `Stage Attempt ID`.
    #[serde(rename = "Stage Attempt ID", default)]
    pub stage_attempt_id: Int,
    /// `Executor Metrics`, by Spark's names.
    #[serde(rename = "Executor Metrics", default)]
    pub metrics: IntFields,
}

/// `SparkListenerExecutorMetricsUpdate`: a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExecutorMetricsUpdate {
    /// `Executor ID`.
    #[serde(rename = "Executor ID", default)]
    pub executor_id: String,
    /// `Executor Metrics Updated`.
    #[serde(rename = "Executor Metrics Updated", default)]
    pub updates: Vec<StageMetrics>,
}

/// One stage's part of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StageMetrics {
    /// `Stage ID`.
    #[serde(rename = "Stage ID", default)]
    pub stage_id: Int,
    /// `Stage Attempt ID`.
    #[serde(rename = "Stage Attempt ID", default)]
    pub stage_attempt_id: Int,
    /// `Executor Metrics`.
    #[serde(rename = "Executor Metrics", default)]
    pub metrics: IntFields,
}

/// A mapping of a task to the JVM thread that ran it, written by a companion listener. Recognised by
/// its fields, whatever the class is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskThread {
    /// `taskId`.
    pub task_id: u64,
    /// `executorId`.
    pub executor_id: String,
    /// `javaThreadId`.
    pub java_thread_id: u64,
    /// `startTime`, epoch milliseconds.
    pub start_time: i64,
    /// `endTime`, epoch milliseconds.
    pub end_time: i64,
}

/// `io.emberscope.AskedAt`: when a server was asked about an application that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct AskedAt {
    /// `Timestamp`, epoch milliseconds.
    #[serde(rename = "Timestamp", default)]
    pub time: Int,
}

/// What a stream lacks, by the names of the events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DroppedEvents {
    /// How many of each.
    #[serde(default)]
    pub dropped: BTreeMap<String, u64>,
}
