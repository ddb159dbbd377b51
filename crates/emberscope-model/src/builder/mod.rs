//! Parsed blocks in, a [`Run`] out.
//!
//! Blocks arrive in the order of the log, but events are treated as a set keyed by what they are
//! about, so that the result does not depend on their order. Exceptions, where a log gives no other
//! clue than its order: versions of a plan, driver-side metric updates, environment updates, block
//! updates, and streaming progress without a batch id.

mod application;
mod finish;
mod finish_stages;
mod lost;
mod prepare;
mod sql;
mod stages;

pub use prepare::PreparedBlock;

use crate::blobs::BlobStore;
use crate::failures::{self, FailuresBuilder};
use crate::redact;
use crate::run::{Executor, Job, Run, UnsubmittedStage};
use crate::sql::SqlExecution;
use crate::storage::Storage;
use crate::streaming::StreamsBuilder;
use crate::trust::{BadLineTrust, FileStatus, FileTrust, Trust};
use emberscope_log::block::{MemberEnd, OTHER_NAMES, ParsedBlock};
use emberscope_log::codec::StreamEnd;
use emberscope_log::event::Event;
use emberscope_log::event::app::{
    ApplicationEnd, ApplicationStart, EnvironmentUpdate, Exclusion, ProcessAdded, ResourceProfileAdded,
    TaskThread,
};
use emberscope_log::event::reason::TaskEndReason;
use emberscope_log::event::stream::ConnectEvent;
use emberscope_log::source::{Provenance, RunSource};
use emberscope_log::strings::StringTable;
use prepare::PreparedPlan;
use rustc_hash::{FxHashMap, FxHashSet};
use stages::{StageEntry, TaskIndex};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many bad lines are told one by one.
const TOLD_BAD_LINES: usize = 20;
/// How many names of unknown events are told; the rest are counted together.
const TOLD_NAMES: usize = 1000;

/// Builds a run from parsed blocks. Cloning is cheap beside the log: packed tasks and compressed
/// texts are shared.
#[derive(Clone, Debug, Default)]
pub struct RunBuilder {
    source: SourceFacts,
    trust: Trust,
    /// Member of the last block, and lines of it so far.
    current_member: usize,
    member_lines: u64,
    member_bad_lines: u64,
    first_time_ms: Option<i64>,
    last_time_ms: Option<i64>,

    spark_version: Option<String>,
    application_start: Option<ApplicationStart>,
    application_end: Option<ApplicationEnd>,
    environment: Option<EnvironmentUpdate>,
    processes: BTreeMap<String, ProcessAdded>,
    resource_profiles: BTreeMap<u32, ResourceProfileAdded>,
    executors: BTreeMap<String, Executor>,
    exclusions: Vec<Exclusion>,
    jobs: BTreeMap<u32, Job>,
    /// Stages that jobs list.
    listed_stages: BTreeMap<u32, UnsubmittedStage>,
    stages: Vec<StageEntry>,
    stage_positions: FxHashMap<(u32, u32), usize>,
    tasks: TaskIndex,
    sql: BTreeMap<u64, SqlExecution>,
    streams: StreamsBuilder,
    connect: Vec<ConnectEvent>,
    storage: Storage,
    failures: FailuresBuilder,
    task_errors: BTreeMap<u64, Arc<str>>,
    task_threads: Vec<TaskThread>,
    /// Events that the stream's writer had no room for, by name.
    dropped_events: BTreeMap<String, u64>,
    strings: StringTable,
    blobs: BlobStore,
    content_hash: Option<u64>,
    elided_lines: u64,
    non_integer_updates: u64,
    unknown_driver_updates: u64,
    /// Threads that finishing may use; the result does not depend on it.
    threads: usize,
    /// Call sites, which many stages and queries share.
    call_sites: FxHashSet<Arc<str>>,
}

/// What the builder needs to know of where the bytes come from.
#[derive(Clone, Debug, Default)]
struct SourceFacts {
    label: String,
    members: Vec<String>,
    missing_members: Vec<String>,
    compacted: bool,
    app_id_hint: Option<String>,
    attempt_hint: Option<String>,
    provenance: Provenance,
}

impl SourceFacts {
    fn of(source: &RunSource) -> Self {
        SourceFacts {
            label: source.label.clone(),
            members: source.members.iter().map(|member| member.name.clone()).collect(),
            missing_members: source.missing_members.clone(),
            compacted: source.compacted,
            app_id_hint: source.app_id_hint.clone(),
            attempt_hint: source.attempt_hint.clone(),
            provenance: source.provenance.clone(),
        }
    }
}

impl RunBuilder {
    /// A builder for the blocks of `source`.
    pub fn new(source: &RunSource) -> Self {
        RunBuilder { source: SourceFacts::of(source), ..RunBuilder::default() }
    }

    /// Says that another member of the log begins, which was not known before.
    pub fn add_member(&mut self, name: String) {
        self.source.members.push(name);
    }

    /// Gives the log and its members the names they have now; a running application's log is renamed at its end.
    /// Nothing changes where it is of another number of members.
    pub fn rename_source(&mut self, source: &RunSource) {
        if source.members.len() != self.source.members.len() {
            return;
        }
        let names = self.source.members.iter().cloned().zip(source.members.iter().map(|member| &member.name));
        let renamed: FxHashMap<String, &String> = names.collect();
        let trust = &mut self.trust;
        let paths = trust.files.iter_mut().map(|file| &mut file.path);
        let places = trust.bad_lines.first.iter_mut().chain(&mut trust.truncated_at).map(|bad| &mut bad.file);
        for path in paths.chain(places) {
            if let Some(name) = renamed.get(path) {
                path.clone_from(name);
            }
        }
        self.source = SourceFacts::of(source);
    }

    /// Whether identity and properties of the application are known, so that its reports have their place.
    pub fn knows_application(&self) -> bool {
        self.application_start.is_some() && self.environment.is_some()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.trust.events
    }

    /// Lets [`RunBuilder::finish`] use so many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Takes the next block.
    pub fn add(&mut self, block: ParsedBlock) {
        self.add_prepared(PreparedBlock::new(block));
    }

    /// Takes the next block, which was made ready elsewhere.
    pub fn add_prepared(&mut self, prepared: PreparedBlock) {
        let PreparedBlock { mut block, plans, blobs } = prepared;
        let place = self.blobs.take(blobs);
        let mut plans = plans.into_iter().map(|plan| PreparedPlan {
            tree: plan.tree.map(|blob| blob.moved(place)),
            text: plan.text.map(|blob| blob.moved(place)),
            ..plan
        });
        if block.member != self.current_member {
            self.current_member = block.member;
            self.member_lines = 0;
            self.member_bad_lines = 0;
        }
        self.saw_times(block.first_time_ms, block.last_time_ms);
        self.trust.lines += u64::from(block.lines);
        self.trust.events += u64::from(block.events);
        self.elided_lines += u64::from(block.elided_lines);
        self.non_integer_updates += block.sink.non_integer_updates;
        for (name, count) in std::mem::take(&mut block.unknown_events) {
            self.count_unknown(&name, count);
        }
        self.add_bad_lines(&block);
        self.add_tasks(&mut block);
        for (_, event) in std::mem::take(&mut block.others) {
            self.add_event(event, &mut plans);
        }
        self.member_lines += u64::from(block.lines);
        if let Some(end) = &block.member_end {
            self.end_member(end, block.truncated_tail);
        }
    }

    fn count_unknown(&mut self, name: &str, count: u64) {
        let name = redact::text(name);
        let names = &mut self.trust.unknown_events;
        let is_told = names.len() < TOLD_NAMES || names.contains_key(&*name);
        *names.entry(if is_told { name.into_owned() } else { OTHER_NAMES.to_owned() }).or_default() += count;
    }

    fn saw_times(&mut self, first_ms: Option<i64>, last_ms: Option<i64>) {
        if let Some(first) = first_ms {
            self.first_time_ms = Some(self.first_time_ms.map_or(first, |known| known.min(first)));
        }
        if let Some(last) = last_ms {
            self.last_time_ms = Some(self.last_time_ms.map_or(last, |known| known.max(last)));
        }
    }

    fn member_name(&self) -> String {
        self.source.members.get(self.current_member).cloned().unwrap_or_default()
    }

    fn add_bad_lines(&mut self, block: &ParsedBlock) {
        self.trust.bad_lines.count += block.bad_line_count;
        self.member_bad_lines += block.bad_line_count;
        for bad in &block.bad_lines {
            if self.trust.bad_lines.first.len() < TOLD_BAD_LINES {
                let line = self.member_lines + u64::from(bad.line) + 1;
                let file = self.member_name();
                self.trust.bad_lines.first.push(BadLineTrust {
                    file,
                    line,
                    reason: redact::text(&bad.reason).into_owned(),
                });
            }
        }
    }

    fn end_member(&mut self, end: &MemberEnd, truncated_tail: bool) {
        self.content_hash = Some(end.content_hash);
        let path = self.member_name();
        if truncated_tail {
            self.trust.truncated_tail = true;
            let reason = "the file ends in the middle of this line".to_owned();
            self.trust.truncated_at =
                Some(BadLineTrust { file: path.clone(), line: self.member_lines, reason });
        }
        let (status, reason, hint) = match &end.end {
            StreamEnd::Corrupt { reason } if end.decoded_bytes == 0 => {
                (FileStatus::Failed, Some(reason.clone()), None)
            }
            StreamEnd::Corrupt { reason } => (
                FileStatus::Partial,
                Some(reason.clone()),
                Some("everything before the damage was read; copy the file again if the original is whole"),
            ),
            StreamEnd::Truncated { reason } => {
                self.trust.truncated_tail = true;
                (
                    FileStatus::Partial,
                    Some(reason.clone()),
                    Some("the application may still be running, or its driver was killed"),
                )
            }
            StreamEnd::Complete if truncated_tail => (
                FileStatus::Partial,
                Some(format!("line {} is cut", self.member_lines)),
                Some("the application may still be running, or its driver was killed"),
            ),
            StreamEnd::Complete if self.member_bad_lines > 0 => {
                let lines = if self.member_bad_lines == 1 { "line" } else { "lines" };
                (
                    FileStatus::Partial,
                    Some(format!("{} {lines} could not be read", self.member_bad_lines)),
                    None,
                )
            }
            StreamEnd::Complete => (FileStatus::Ok, None, None),
        };
        self.trust.files.push(FileTrust {
            path,
            codec: end.codec.map_or_else(|| "unknown".to_owned(), |codec| codec.to_string()),
            bytes: end.raw_bytes,
            decoded_bytes: end.decoded_bytes,
            status,
            reason,
            hint: hint.map(str::to_owned),
        });
    }

    fn add_event(&mut self, event: Event, plans: &mut impl Iterator<Item = PreparedPlan>) {
        match event {
            Event::LogStart(event) => self.spark_version = event.spark_version.or(self.spark_version.take()),
            Event::ApplicationStart(event) => self.application_started(event),
            Event::ApplicationEnd(event) => self.application_end = Some(event),
            Event::EnvironmentUpdate(event) => self.add_environment(*event),
            Event::ResourceProfileAdded(event) => {
                if let Some(id) = event.id.small_id() {
                    self.resource_profiles.insert(id, event);
                }
            }
            Event::ExecutorAdded(event) => self.executor_added(event),
            Event::ExecutorRemoved(event) => self.executor_removed(event),
            Event::ProcessAdded(event) => {
                self.processes.insert(event.id.clone(), event);
            }
            Event::Exclusion(event) => self.exclusions.push(event),
            Event::BlockManagerAdded(event) => self.block_manager_added(&event),
            Event::BlockManagerRemoved(_) => {}
            Event::BlockUpdated(info) => self.storage.update_block(&info),
            Event::UnpersistRdd(event) => {
                if let Some(rdd) = event.rdd_id.small_id() {
                    self.storage.unpersist(rdd);
                }
            }
            Event::StageExecutorMetrics(event) => {
                let stage = event.stage_id.small_id().zip(event.stage_attempt_id.small_id());
                self.executor_peaks(&event.executor_id, stage, &event.metrics.0);
            }
            Event::ExecutorMetricsUpdate(event) => {
                for update in &event.updates {
                    let stage = update.stage_id.small_id().zip(update.stage_attempt_id.small_id());
                    self.executor_peaks(&event.executor_id, stage, &update.metrics.0);
                }
            }
            Event::JobStart(event) => self.job_started(*event),
            Event::JobEnd(event) => self.job_ended(event),
            Event::StageSubmitted(event) => self.stage_submitted(*event),
            Event::StageCompleted(info) => self.stage_completed(*info),
            Event::SqlStart(event) => self.sql_started(*event, plans.next().unwrap_or_default()),
            Event::SqlPlanUpdate(event) => self.sql_plan_update(&event, plans.next().unwrap_or_default()),
            Event::SqlEnd(event) => self.sql_ended(event),
            Event::DriverAccumUpdates(event) => self.driver_updates(&event),
            Event::DisplayedMetrics(event) => self.displayed_metrics(event),
            Event::AdaptiveMetricUpdates(event) => self.adaptive_metrics(event),
            Event::StreamStarted(event) => self.streams.started(event),
            Event::StreamProgress(progress) => self.streams.progress(*progress),
            Event::StreamTerminated(event) => self.streams.terminated(event),
            Event::StreamIdle(_) => {}
            Event::Connect(event) => self.connect.push(event),
            Event::TaskThread(event) => self.task_threads.push(event),
            Event::AskedAt(event) => self.saw_times(None, event.time.time_ms()),
            Event::Dropped(event) => {
                for (name, times) in event.dropped {
                    let known = self.dropped_events.entry(redact::text(&name).into_owned()).or_default();
                    *known = known.saturating_add(times);
                }
            }
            Event::TaskFailure { task_id, stage_id, stage_attempt, reason, .. } => {
                self.failures.add(task_id, stage_id, stage_attempt, &reason);
                self.task_error(task_id, &reason);
            }
        }
    }

    /// Keeps what Spark says of a failed attempt; many say the same. An end that takes a success back says
    /// nothing of the attempt.
    fn task_error(&mut self, task_id: u64, reason: &TaskEndReason) {
        let Some(text) = failures::error_text(reason) else { return };
        let text = self.shared(&text);
        let known = self.task_errors.entry(task_id).or_insert_with(|| Arc::clone(&text));
        if text < *known {
            *known = text;
        }
    }

    /// A text that many parts share, kept once.
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.call_sites.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.call_sites.insert(Arc::clone(&shared));
        shared
    }

    /// The run as far as it is known now; the builder can go on.
    pub fn snapshot(&self) -> Run {
        self.clone().finish()
    }
}
