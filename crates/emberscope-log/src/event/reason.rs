//! Why a task attempt did not succeed (`JsonProtocol.taskEndReasonToJson`).

use super::lenient::Int;
use serde::Deserialize;

/// The `Task End Reason` of a task that failed, was killed or was resubmitted. Fields that a version
/// or a reason lacks are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TaskEndReason {
    /// `Reason`: the class, e.g. `ExceptionFailure`.
    #[serde(rename = "Reason", default)]
    pub reason: String,
    /// `ExceptionFailure`: exception class.
    #[serde(rename = "Class Name", default)]
    pub class_name: Option<String>,
    /// `ExceptionFailure`: exception message.
    #[serde(rename = "Description", default)]
    pub description: Option<String>,
    /// `ExceptionFailure`: the whole stack trace with its causes.
    #[serde(rename = "Full Stack Trace", default)]
    pub full_stack_trace: Option<String>,
    /// `FetchFailed`: what went wrong.
    #[serde(rename = "Message", default)]
    pub message: Option<String>,
    /// `FetchFailed`: shuffle id.
    #[serde(rename = "Shuffle ID", default)]
    pub shuffle_id: Int,
    /// `FetchFailed`: map task id.
    #[serde(rename = "Map ID", default)]
    pub map_id: Int,
    /// `FetchFailed`: map partition (absent before 3.0).
    #[serde(rename = "Map Index", default)]
    pub map_index: Int,
    /// `FetchFailed`: reduce partition.
    #[serde(rename = "Reduce ID", default)]
    pub reduce_id: Int,
    /// `FetchFailed`: where the block was; absent when its location was unknown.
    #[serde(rename = "Block Manager Address", default)]
    pub block_manager: Option<BlockManagerId>,
    /// `ExecutorLostFailure`: executor.
    #[serde(rename = "Executor ID", default)]
    pub executor_id: Option<String>,
    /// `ExecutorLostFailure`: whether the application caused the exit.
    #[serde(rename = "Exit Caused By App", default)]
    pub exit_caused_by_app: Option<bool>,
    /// `ExecutorLostFailure`: text of the loss.
    #[serde(rename = "Loss Reason", default)]
    pub loss_reason: Option<String>,
    /// `TaskKilled`: text of the kill.
    #[serde(rename = "Kill Reason", default)]
    pub kill_reason: Option<String>,
}

/// A block manager (`JsonProtocol.blockManagerIdToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct BlockManagerId {
    /// `Executor ID`.
    #[serde(rename = "Executor ID", default)]
    pub executor_id: String,
    /// `Host`.
    #[serde(rename = "Host", default)]
    pub host: String,
    /// `Port`.
    #[serde(rename = "Port", default)]
    pub port: Int,
}
