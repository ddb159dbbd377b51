//! One run of an application, as its evidence tells it.

use crate::blobs::{BlobRef, BlobStore};
use crate::failures::FailureGroup;
use crate::sql::SqlExecution;
use crate::storage::Storage;
use crate::streaming::StreamRun;
use crate::tasks::TaskSegment;
use crate::trust::Trust;
use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::event::app::{
    EnvironmentUpdate, HeldResource, ProcessAdded, ResourceProfileAdded, TaskThread,
};
use emberscope_log::event::stream::ConnectEvent;
use emberscope_log::strings::StringTable;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One run: an attempt of an application.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Run {
    /// Where it was read from.
    pub source: String,
    /// Hash of the decoded log, by which a copy is known; `None` before any file was read to its end.
    pub content_hash: Option<u64>,
    /// Identity, times and outcome.
    pub application: Application,
    /// Properties of the driver; of several updates the last one.
    pub environment: EnvironmentUpdate,
    /// Jobs by id.
    pub jobs: Vec<Job>,
    /// Stage attempts that were submitted, by (stage, attempt).
    pub stages: Vec<StageAttempt>,
    /// Stages that jobs list and that never ran, by id.
    pub unsubmitted_stages: Vec<UnsubmittedStage>,
    /// Executors by id: numbers first, in their order.
    pub executors: Vec<Executor>,
    /// Processes that run no tasks, by id.
    pub processes: BTreeMap<String, ProcessAdded>,
    /// Resource profiles by id.
    pub resource_profiles: BTreeMap<u32, ResourceProfileAdded>,
    /// SQL executions by id.
    pub sql_executions: Vec<SqlExecution>,
    /// Starts of streaming queries, by start.
    pub streams: Vec<StreamRun>,
    /// Spark Connect events, in canonical order.
    pub connect: Vec<ConnectEvent>,
    /// RDDs by id, and what is known of their cached blocks.
    pub storage: Storage,
    /// Failed and killed task attempts, grouped by cause; largest group first.
    pub failures: Vec<FailureGroup>,
    /// What Spark's monitoring API says of failed and killed task attempts, by task id.
    pub task_errors: BTreeMap<u64, Arc<str>>,
    /// Executors and nodes that were excluded.
    pub exclusions: Vec<emberscope_log::event::app::Exclusion>,
    /// Which JVM thread ran which task, where the log says so.
    pub task_threads: Vec<TaskThread>,
    /// Texts that task columns refer to.
    pub strings: StringTable,
    /// Plans and their texts.
    #[borsh(skip)]
    pub blobs: BlobStore,
    /// What was read and what was not.
    pub trust: Trust,
}

/// Application, attempt and content of a log. The same attempt may be read from different evidence (a
/// log cut short, then the whole one), so that content is part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunIdentity {
    /// Application id.
    pub application_id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Hash of the decoded log.
    pub content_hash: Option<u64>,
}

/// How an application ended.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    schemars::JsonSchema,
    BorshSerialize,
    BorshDeserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationStatus {
    /// It ended, and nothing says that it failed.
    Succeeded,
    /// Its exit code, its last job or its last query says so.
    Failed,
    /// The log has no end.
    Incomplete,
    /// The log has neither start nor end.
    #[default]
    Unknown,
}

/// Identity, times and outcome of a run.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Application {
    /// `App ID`; from the file's name where the log has none.
    pub id: Option<String>,
    /// `App Attempt ID`.
    pub attempt_id: Option<String>,
    /// `App Name`.
    pub name: Option<String>,
    /// `User`.
    pub user: Option<String>,
    /// Spark's version.
    pub spark_version: Option<String>,
    /// Start, epoch milliseconds; the earliest event where the log has none.
    pub start_ms: Option<i64>,
    /// End, epoch milliseconds; the latest event where the log has none.
    pub end_ms: Option<i64>,
    /// `ExitCode` (Spark 4).
    pub exit_code: Option<i64>,
    /// Whether the log has the end.
    pub has_end: bool,
    /// How it ended.
    pub status: ApplicationStatus,
}

impl Application {
    /// End - start, milliseconds.
    pub fn duration_ms(&self) -> Option<i64> {
        Some((self.end_ms? - self.start_ms?).max(0))
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum JobStatus {
    /// `JobSucceeded`.
    Succeeded,
    /// `JobFailed`.
    Failed,
    /// The log has no end of it.
    #[default]
    Running,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Job {
    /// Job id.
    pub id: u32,
    /// `Submission Time`; `None` when the log has no start.
    pub start_ms: Option<i64>,
    /// `Completion Time`.
    pub end_ms: Option<i64>,
    /// How it ended.
    pub status: JobStatus,
    /// Message of the exception of a failed job.
    pub error: Option<String>,
    /// All stages it lists, sorted: also those that were skipped.
    pub stage_ids: Vec<u32>,
    /// `spark.jobGroup.id`.
    pub group: Option<String>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// Call site: the name of the job's last stage.
    pub call_site: Option<String>,
    /// `spark.job.tags`, split.
    pub tags: BTreeSet<String>,
    /// `spark.sql.execution.id`.
    pub sql_execution_id: Option<u64>,
    /// `spark.scheduler.pool`.
    pub pool: Option<String>,
    /// `streaming.sql.batchId`.
    pub streaming_batch_id: Option<u64>,
    /// `sql.streaming.queryId`.
    pub streaming_query_id: Option<String>,
}

impl Job {
    /// Whether it ended because somebody, or something that did not need it any more, cancelled it: a stopped stream,
    /// a broadcast that took too long, a user. (`DAGScheduler.handleJobCancellation`, `handleJobGroupCancelled`.)
    pub fn was_cancelled(&self) -> bool {
        let text = self.error.as_deref().unwrap_or("").to_ascii_lowercase();
        self.status == JobStatus::Failed
            && ["cancelled", "canceled", "cancellation"].iter().any(|word| text.contains(word))
            && !text.contains("stage failure")
    }

    /// Whether it was cancelled by request, not by the end of everything: `SparkContext was shut down` is also what
    /// a driver that dies leaves.
    pub fn was_stopped(&self) -> bool {
        self.was_cancelled() && !self.error.as_deref().is_some_and(|text| text.contains("was shut down"))
    }
}

/// How a stage attempt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum StageStatus {
    /// Completed without a failure reason.
    Complete,
    /// Completed with a failure reason.
    Failed,
    /// The log has no completion.
    #[default]
    Active,
}

/// One attempt of a stage that was submitted.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct StageAttempt {
    /// Stage id.
    pub id: u32,
    /// Attempt.
    pub attempt: u32,
    /// Name: the short call site.
    pub name: Arc<str>,
    /// The long call site.
    pub details: Arc<str>,
    /// `Number of Tasks` of this attempt; `None` when the log has neither its submission nor its
    /// completion.
    pub num_tasks: Option<u64>,
    /// When it was submitted.
    pub submitted_ms: Option<i64>,
    /// When it completed.
    pub completed_ms: Option<i64>,
    /// How it ended.
    pub status: StageStatus,
    /// `Failure Reason`.
    pub failure_reason: Option<String>,
    /// `Parent IDs`, as logged.
    pub parent_ids: Vec<u32>,
    /// Parents that ran: a skipped parent is replaced by the stage that computed the same data.
    pub executed_parents: Vec<u32>,
    /// RDDs of the stage, in the order of the log.
    pub rdd_ids: Vec<u32>,
    /// Whether any RDD of it is a barrier.
    pub is_barrier: bool,
    /// `Resource Profile Id`.
    pub resource_profile_id: u32,
    /// `spark.scheduler.pool`.
    pub pool: Option<String>,
    /// Jobs that list the stage, by id. The first one ran it.
    pub job_ids: Vec<u32>,
    /// Whether its tasks are `ResultTask`s.
    pub is_result: bool,
    /// When the first task was launched.
    pub first_launch_ms: Option<i64>,
    /// When the last task finished.
    pub last_finish_ms: Option<i64>,
    /// Final values of named accumulators, from the stage's completion.
    pub accumulators: BTreeMap<u64, StageAccumulator>,
    /// Final values of SQL metrics, from the stage's completion, by accumulator id: a cross-check of
    /// the tasks' own, and all there is where task ends are missing.
    pub sql_metric_values: Box<[(u64, i64)]>,
    /// Peaks of executor metrics during the stage, by executor.
    pub executor_peaks: BTreeMap<String, BTreeMap<String, i64>>,
    /// Task attempts.
    pub tasks: TaskSegment,
}

/// A named accumulator at the end of a stage attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StageAccumulator {
    /// Name.
    pub name: Option<String>,
    /// Value as text: a number or a collection.
    pub value: Option<String>,
}

impl StageAttempt {
    /// Submission to first launch, milliseconds.
    pub fn waiting_ms(&self) -> Option<i64> {
        Some((self.first_launch_ms? - self.submitted_ms?).max(0))
    }

    /// First launch to last finish, milliseconds.
    pub fn running_ms(&self) -> Option<i64> {
        Some((self.last_finish_ms? - self.first_launch_ms?).max(0))
    }
}

/// A stage that jobs list and that was not submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct UnsubmittedStage {
    /// Stage id.
    pub id: u32,
    /// Name.
    pub name: String,
    /// `Number of Tasks`.
    pub num_tasks: u64,
    /// First RDD, by which the stage that computed its data is found.
    pub first_rdd_id: Option<u32>,
    /// Whether all jobs that list it have ended, so that it was skipped and not merely pending.
    pub is_skipped: bool,
}

/// An executor.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Executor {
    /// Executor id; `driver` in local mode.
    pub id: String,
    /// Host.
    pub host: Option<String>,
    /// `Total Cores`; `None` when the log has no addition.
    pub cores: Option<u32>,
    /// When it was added.
    pub added_ms: Option<i64>,
    /// When it was removed; `None` when it lived to the end.
    pub removed_ms: Option<i64>,
    /// `Removed Reason`.
    pub removed_reason: Option<String>,
    /// `Resource Profile Id`.
    pub resource_profile_id: u32,
    /// What it holds beside cores and memory, by name.
    pub resources: BTreeMap<String, HeldResource>,
    /// Host of its block manager, which in local mode is an address where `host` is a name.
    pub block_manager_host: Option<String>,
    /// Port of its block manager.
    pub block_manager_port: Option<u32>,
    /// When its block manager came.
    pub block_manager_added_ms: Option<i64>,
    /// `Maximum Memory` of its block manager, bytes.
    pub maximum_memory_bytes: Option<i64>,
    /// `Maximum Onheap Memory`, bytes.
    pub maximum_on_heap_bytes: Option<i64>,
    /// `Maximum Offheap Memory`, bytes.
    pub maximum_off_heap_bytes: Option<i64>,
    /// Peaks of executor metrics over all stages and heartbeats, by Spark's names.
    pub peaks: BTreeMap<String, i64>,
}

impl Executor {
    /// Lifetime within a run that ends at `run_end_ms`.
    pub fn lifetime(&self, run_end_ms: i64) -> Option<(i64, i64)> {
        let added = self.added_ms?;
        Some((added, self.removed_ms.unwrap_or(run_end_ms).max(added)))
    }
}

impl Run {
    /// A stage attempt.
    pub fn stage(&self, id: u32, attempt: u32) -> Option<&StageAttempt> {
        let position = self.stages.binary_search_by_key(&(id, attempt), |stage| (stage.id, stage.attempt));
        position.ok().map(|position| &self.stages[position])
    }

    /// All attempts of a stage.
    pub fn attempts(&self, id: u32) -> &[StageAttempt] {
        let start = self.stages.partition_point(|stage| stage.id < id);
        let end = self.stages.partition_point(|stage| stage.id <= id);
        &self.stages[start..end]
    }

    /// A job.
    pub fn job(&self, id: u32) -> Option<&Job> {
        self.jobs.binary_search_by_key(&id, |job| job.id).ok().map(|position| &self.jobs[position])
    }

    /// The text behind a blob; `None` when it cannot be read back.
    pub fn blob_text(&self, place: BlobRef) -> Option<String> {
        String::from_utf8(self.blobs.get(place).ok()?).ok()
    }

    /// What tells this run from others: two runs with equal identities are copies of one log.
    pub fn identity(&self) -> RunIdentity {
        RunIdentity {
            application_id: self.application.id.clone(),
            attempt_id: self.application.attempt_id.clone(),
            content_hash: self.content_hash,
        }
    }

    /// Bytes that task attempts occupy.
    pub fn task_memory_bytes(&self) -> usize {
        self.stages.iter().map(|stage| stage.tasks.memory_bytes()).sum()
    }

    /// Whether the log was read, and holds the run, from start to end: every file and line, every
    /// task's end, and the application's end. What `--strict` asks for and texts call complete.
    pub fn is_whole(&self) -> bool {
        let coverage = &self.trust.coverage;
        self.trust.is_complete() && coverage.tasks_seen >= coverage.tasks_expected && self.application.has_end
    }

    /// A Spark property as the driver logged it.
    pub fn spark_property(&self, key: &str) -> Option<&str> {
        self.environment.spark.get(key).and_then(|value| value.0.as_deref())
    }
}
