//! Events: one line of a log, understood.
//!
//! Task starts and ends go to columns ([`task`]); everything else becomes an [`Event`]. Names are
//! matched by their last part, since listeners of several vendors carry Spark's events under their
//! own packages.

pub mod app;
pub mod lenient;
pub mod plan;
pub mod reason;
pub mod sql;
pub mod stage;
pub mod stream;
pub mod task;

use crate::block::ParseOptions;
use crate::cursor::Cursor;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// An event other than a task's start or end.
#[derive(Clone, Debug)]
pub enum Event {
    /// `SparkListenerLogStart`.
    LogStart(app::LogStart),
    /// `SparkListenerApplicationStart`.
    ApplicationStart(app::ApplicationStart),
    /// `SparkListenerApplicationEnd`.
    ApplicationEnd(app::ApplicationEnd),
    /// `SparkListenerEnvironmentUpdate`.
    EnvironmentUpdate(Box<app::EnvironmentUpdate>),
    /// `SparkListenerResourceProfileAdded`.
    ResourceProfileAdded(app::ResourceProfileAdded),
    /// `SparkListenerExecutorAdded`.
    ExecutorAdded(app::ExecutorAdded),
    /// `SparkListenerExecutorRemoved`.
    ExecutorRemoved(app::ExecutorRemoved),
    /// `SparkListenerMiscellaneousProcessAdded`.
    ProcessAdded(app::ProcessAdded),
    /// Executors or nodes excluded, or no longer excluded.
    Exclusion(app::Exclusion),
    /// `SparkListenerBlockManagerAdded`.
    BlockManagerAdded(app::BlockManagerEvent),
    /// `SparkListenerBlockManagerRemoved`.
    BlockManagerRemoved(app::BlockManagerEvent),
    /// `SparkListenerBlockUpdated`.
    BlockUpdated(app::BlockUpdatedInfo),
    /// `SparkListenerUnpersistRDD`.
    UnpersistRdd(app::UnpersistRdd),
    /// `SparkListenerStageExecutorMetrics`.
    StageExecutorMetrics(app::StageExecutorMetrics),
    /// `SparkListenerExecutorMetricsUpdate`.
    ExecutorMetricsUpdate(app::ExecutorMetricsUpdate),
    /// `SparkListenerJobStart`.
    JobStart(Box<stage::JobStart>),
    /// `SparkListenerJobEnd`.
    JobEnd(stage::JobEnd),
    /// `SparkListenerStageSubmitted`.
    StageSubmitted(Box<stage::StageSubmitted>),
    /// `SparkListenerStageCompleted`.
    StageCompleted(Box<stage::StageInfo>),
    /// `SparkListenerSQLExecutionStart`.
    SqlStart(Box<sql::SqlPlanEvent>),
    /// `SparkListenerSQLAdaptiveExecutionUpdate`.
    SqlPlanUpdate(Box<sql::SqlPlanEvent>),
    /// `SparkListenerSQLExecutionEnd`.
    SqlEnd(sql::SqlExecutionEnd),
    /// `SparkListenerDriverAccumUpdates`.
    DriverAccumUpdates(sql::DriverAccumUpdates),
    /// `io.emberscope.DisplayedMetrics`.
    DisplayedMetrics(sql::DisplayedMetrics),
    /// `SparkListenerSQLAdaptiveSQLMetricUpdates`.
    AdaptiveMetricUpdates(sql::AdaptiveMetricUpdates),
    /// `QueryStartedEvent`.
    StreamStarted(stream::QueryLifecycle),
    /// `QueryProgressEvent`.
    StreamProgress(Box<stream::Progress>),
    /// `QueryTerminatedEvent`.
    StreamTerminated(stream::QueryLifecycle),
    /// `QueryIdleEvent`.
    StreamIdle(stream::QueryLifecycle),
    /// A Spark Connect session or operation event.
    Connect(stream::ConnectEvent),
    /// A task-thread mapping.
    TaskThread(app::TaskThread),
    /// Events that whoever wrote this stream had no room for.
    Dropped(app::DroppedEvents),
    /// `io.emberscope.AskedAt`.
    AskedAt(app::AskedAt),
    /// The end reason of a task that did not succeed; its row comes as a column row.
    TaskFailure {
        /// Task attempt id.
        task_id: u64,
        /// Stage id.
        stage_id: u32,
        /// Stage attempt.
        stage_attempt: u32,
        /// Index of the task.
        index: Option<u32>,
        /// Why it ended.
        reason: Box<reason::TaskEndReason>,
    },
}

/// What a name means to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    TaskEnd,
    TaskStart,
    TaskGettingResult,
    LogStart,
    ApplicationStart,
    ApplicationEnd,
    EnvironmentUpdate,
    ResourceProfileAdded,
    ExecutorAdded,
    ExecutorRemoved,
    ProcessAdded,
    Exclusion {
        is_end: bool,
    },
    BlockManagerAdded,
    BlockManagerRemoved,
    BlockUpdated,
    UnpersistRdd,
    StageExecutorMetrics,
    ExecutorMetricsUpdate,
    JobStart,
    JobEnd,
    StageSubmitted,
    StageCompleted,
    SqlStart,
    SqlPlanUpdate,
    SqlEnd,
    DriverAccumUpdates,
    DisplayedMetrics,
    AdaptiveMetricUpdates,
    StreamStarted,
    StreamProgress,
    StreamTerminated,
    StreamIdle,
    Connect,
    Dropped,
    AskedAt,
    /// Part of Spark, without anything to learn from it.
    Quiet,
    Unknown,
}

/// The part of an event name after its package and outer class.
pub(crate) fn short_name(name: &str) -> &str {
    name.rsplit(['.', '$']).next().unwrap_or(name)
}

pub(crate) fn kind_of(name: &str) -> Kind {
    match short_name(name) {
        "SparkListenerTaskEnd" => Kind::TaskEnd,
        "SparkListenerTaskStart" => Kind::TaskStart,
        "DroppedEvents" if name.starts_with("io.emberscope.") => Kind::Dropped,
        "AskedAt" if name.starts_with("io.emberscope.") => Kind::AskedAt,
        "DisplayedMetrics" if name.starts_with("io.emberscope.") => Kind::DisplayedMetrics,
        "SparkListenerTaskGettingResult" => Kind::TaskGettingResult,
        "SparkListenerLogStart" => Kind::LogStart,
        "SparkListenerApplicationStart" => Kind::ApplicationStart,
        "SparkListenerApplicationEnd" => Kind::ApplicationEnd,
        "SparkListenerEnvironmentUpdate" => Kind::EnvironmentUpdate,
        "SparkListenerResourceProfileAdded" => Kind::ResourceProfileAdded,
        "SparkListenerExecutorAdded" => Kind::ExecutorAdded,
        "SparkListenerExecutorRemoved" => Kind::ExecutorRemoved,
        "SparkListenerMiscellaneousProcessAdded" => Kind::ProcessAdded,
        "SparkListenerExecutorExcluded"
        | "SparkListenerExecutorBlacklisted"
        | "SparkListenerExecutorExcludedForStage"
        | "SparkListenerExecutorBlacklistedForStage"
        | "SparkListenerNodeExcluded"
        | "SparkListenerNodeBlacklisted"
        | "SparkListenerNodeExcludedForStage"
        | "SparkListenerNodeBlacklistedForStage" => Kind::Exclusion { is_end: false },
        "SparkListenerExecutorUnexcluded"
        | "SparkListenerExecutorUnblacklisted"
        | "SparkListenerNodeUnexcluded"
        | "SparkListenerNodeUnblacklisted" => Kind::Exclusion { is_end: true },
        "SparkListenerBlockManagerAdded" => Kind::BlockManagerAdded,
        "SparkListenerBlockManagerRemoved" => Kind::BlockManagerRemoved,
        "SparkListenerBlockUpdated" => Kind::BlockUpdated,
        "SparkListenerUnpersistRDD" => Kind::UnpersistRdd,
        "SparkListenerStageExecutorMetrics" => Kind::StageExecutorMetrics,
        "SparkListenerExecutorMetricsUpdate" => Kind::ExecutorMetricsUpdate,
        "SparkListenerJobStart" => Kind::JobStart,
        "SparkListenerJobEnd" => Kind::JobEnd,
        "SparkListenerStageSubmitted" => Kind::StageSubmitted,
        "SparkListenerStageCompleted" => Kind::StageCompleted,
        "SparkListenerSQLExecutionStart" => Kind::SqlStart,
        "SparkListenerSQLAdaptiveExecutionUpdate" => Kind::SqlPlanUpdate,
        "SparkListenerSQLExecutionEnd" => Kind::SqlEnd,
        "SparkListenerDriverAccumUpdates" => Kind::DriverAccumUpdates,
        "SparkListenerSQLAdaptiveSQLMetricUpdates" => Kind::AdaptiveMetricUpdates,
        "QueryStartedEvent" => Kind::StreamStarted,
        "QueryProgressEvent" => Kind::StreamProgress,
        "QueryTerminatedEvent" => Kind::StreamTerminated,
        "QueryIdleEvent" => Kind::StreamIdle,
        "SparkListenerSpeculativeTaskSubmitted"
        | "SparkListenerUnschedulableTaskSetAdded"
        | "SparkListenerUnschedulableTaskSetRemoved"
        | "DBCEventLoggingListenerMetadata" => Kind::Quiet,
        other if other.starts_with("SparkListenerConnect") => Kind::Connect,
        _ => Kind::Unknown,
    }
}

/// The name of a line's event. The key comes first in every log seen; where it does not, serde looks
/// for it.
pub(crate) fn event_name(line: &[u8]) -> Result<Cow<'_, str>, String> {
    let mut cursor = Cursor::new(line);
    if cursor.take(br#"{"Event":"#)
        && let Some(name) = cursor.string().and_then(|raw| raw.plain())
    {
        return Ok(Cow::Borrowed(name));
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(rename = "Event", borrow)]
        event: Option<Cow<'a, str>>,
    }
    if line.first() != Some(&b'{') {
        return Err("not a JSON object".to_owned());
    }
    let named: Named<'_> = serde_json::from_slice(line).map_err(|error| reason_of(&error))?;
    named.event.ok_or_else(|| "no \"Event\" field".to_owned())
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| reason_of(&error))
}

/// Why serde refused a line, without the text it quotes: what is in a log may be a secret.
pub(crate) fn reason_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    for opening in ["string \"", "unknown variant `", "unknown field `"] {
        let Some(start) = message.find(opening) else { continue };
        let kind = opening.trim_end_matches(['"', '`', ' ']);
        // The last mention of what was expected follows the quoted text, whatever that holds.
        let rest = message.rfind(", expected").map_or("", |expected| &message[expected..]);
        return format!("{}{kind}{rest}", &message[..start]);
    }
    message
}

/// What became of a line that is no task event.
pub(crate) enum Outcome {
    /// An event to keep.
    Event(Event),
    /// Known, nothing to keep.
    Nothing,
    /// A name this reader does not use; counted.
    Unknown,
}

/// Reads an event other than a task's start or end.
pub(crate) fn read_event(
    kind: Kind,
    name: &str,
    line: &[u8],
    options: ParseOptions,
) -> Result<Outcome, String> {
    let event = match kind {
        Kind::TaskEnd | Kind::TaskStart | Kind::TaskGettingResult | Kind::Quiet => {
            return Ok(Outcome::Nothing);
        }
        Kind::LogStart => Event::LogStart(parse(line)?),
        Kind::ApplicationStart => Event::ApplicationStart(parse(line)?),
        Kind::ApplicationEnd => Event::ApplicationEnd(parse(line)?),
        Kind::EnvironmentUpdate => Event::EnvironmentUpdate(parse(line)?),
        Kind::ResourceProfileAdded => Event::ResourceProfileAdded(parse(line)?),
        Kind::ExecutorAdded => Event::ExecutorAdded(parse(line)?),
        Kind::ExecutorRemoved => Event::ExecutorRemoved(parse(line)?),
        Kind::ProcessAdded => Event::ProcessAdded(parse(line)?),
        Kind::Exclusion { is_end } => {
            Event::Exclusion(app::Exclusion { is_end, ..parse::<app::Exclusion>(line)? })
        }
        Kind::BlockManagerAdded => Event::BlockManagerAdded(parse(line)?),
        Kind::BlockManagerRemoved => Event::BlockManagerRemoved(parse(line)?),
        Kind::BlockUpdated => Event::BlockUpdated(parse::<app::BlockUpdated>(line)?.info),
        Kind::UnpersistRdd => Event::UnpersistRdd(parse(line)?),
        Kind::StageExecutorMetrics => Event::StageExecutorMetrics(parse(line)?),
        Kind::ExecutorMetricsUpdate => Event::ExecutorMetricsUpdate(parse(line)?),
        Kind::JobStart => Event::JobStart(Box::new(read(stage::fast::read_job_start, line, options)?)),
        Kind::JobEnd => Event::JobEnd(parse(line)?),
        Kind::StageSubmitted => {
            Event::StageSubmitted(Box::new(read(stage::fast::read_stage_submitted, line, options)?))
        }
        Kind::StageCompleted => {
            let fast = if options.without_cursor { None } else { stage::fast::read_stage_completed(line) };
            let info =
                fast.map_or_else(|| parse::<stage::StageCompleted>(line).map(|event| event.info), Ok)?;
            Event::StageCompleted(Box::new(info))
        }
        Kind::SqlStart => Event::SqlStart(Box::new(plan_event(line, options)?)),
        Kind::SqlPlanUpdate => Event::SqlPlanUpdate(Box::new(plan_event(line, options)?)),
        Kind::SqlEnd => Event::SqlEnd(parse(line)?),
        Kind::DriverAccumUpdates => Event::DriverAccumUpdates(parse(line)?),
        Kind::DisplayedMetrics => Event::DisplayedMetrics(parse(line)?),
        Kind::AdaptiveMetricUpdates => Event::AdaptiveMetricUpdates(parse(line)?),
        Kind::StreamStarted => Event::StreamStarted(parse(line)?),
        Kind::StreamProgress => {
            Event::StreamProgress(Box::new(parse::<stream::QueryProgress>(line)?.progress))
        }
        Kind::StreamTerminated => Event::StreamTerminated(parse(line)?),
        Kind::StreamIdle => Event::StreamIdle(parse(line)?),
        Kind::Connect => {
            let mut event: stream::ConnectEvent = parse(line)?;
            if event.operation_id.is_none() && event.session_id.is_none() {
                // The name alone tells nothing that could be used.
                return Ok(Outcome::Unknown);
            }
            let phase = short_name(name).trim_start_matches("SparkListenerConnect");
            event.phase = phase.to_owned();
            Event::Connect(event)
        }
        Kind::Dropped => Event::Dropped(parse(line)?),
        Kind::AskedAt => Event::AskedAt(parse(line)?),
        Kind::Unknown => {
            if memchr::memmem::find(line, b"\"javaThreadId\"").is_some()
                && let Ok(mapping) = parse::<app::TaskThread>(line)
            {
                return Ok(Outcome::Event(Event::TaskThread(mapping)));
            }
            // Only a whole object counts as an unknown event; a cut one is a bad line.
            parse::<serde::de::IgnoredAny>(line)?;
            return Ok(Outcome::Unknown);
        }
    };
    Ok(Outcome::Event(event))
}

/// Reads a line with the cursor, or with serde where that refuses it.
fn read<T: DeserializeOwned>(
    fast: impl Fn(&[u8]) -> Option<T>,
    line: &[u8],
    options: ParseOptions,
) -> Result<T, String> {
    let fast = if options.without_cursor { None } else { fast(line) };
    fast.map_or_else(|| parse(line), Ok)
}

fn plan_event(line: &[u8], options: ParseOptions) -> Result<sql::SqlPlanEvent, String> {
    let fast = if options.without_cursor { None } else { sql::read_plan_event(line, options.keep_plan_text) };
    fast.map_or_else(|| sql::plan_event_with_serde(line, options.keep_plan_text), Ok)
}

impl Event {
    /// The times an event carries, epoch milliseconds: the latest one counts for the end of a log
    /// that has none.
    pub fn times_ms(&self) -> [Option<i64>; 2] {
        match self {
            Event::ApplicationStart(event) => [event.timestamp.time_ms(), None],
            Event::ApplicationEnd(event) => [event.timestamp.time_ms(), None],
            Event::ExecutorAdded(event) => [event.timestamp.time_ms(), None],
            Event::ExecutorRemoved(event) => [event.timestamp.time_ms(), None],
            Event::Exclusion(event) => [event.time.time_ms(), None],
            Event::BlockManagerAdded(event) | Event::BlockManagerRemoved(event) => {
                [event.timestamp.time_ms(), None]
            }
            Event::JobStart(event) => [event.submission_time.time_ms(), None],
            Event::JobEnd(event) => [event.completion_time.time_ms(), None],
            Event::StageSubmitted(event) => [event.info.submission_time.time_ms(), None],
            Event::StageCompleted(info) => [info.submission_time.time_ms(), info.completion_time.time_ms()],
            Event::SqlStart(event) => [event.time_ms, None],
            Event::SqlEnd(event) => [event.time.time_ms(), None],
            Event::Connect(event) => [event.event_time.time_ms(), None],
            Event::TaskThread(event) => [Some(event.start_time), Some(event.end_time)],
            _ => [None, None],
        }
    }
}
