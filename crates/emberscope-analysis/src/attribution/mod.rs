//! Where the time went: wall time by a backward walk, core-time by what slots were held for.
//!
//! Sums are exact, in integer milliseconds. Percentages are made where they are shown.

mod core_time;
mod operators;
mod parts;
mod steps;
mod waits;
mod walk;

pub use operators::{OperatorShare, OperatorSum};
pub use parts::{TaskParts, task_parts};
pub use waits::{OPENING_MS, SLOWEST_BYTES};

use crate::context::Context;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use walk::Walker;

/// A part of time: its key in JSON, and what people read.
#[derive(Clone, Copy, Debug)]
pub struct PartDef {
    /// Key.
    pub key: &'static str,
    /// Name.
    pub label: &'static str,
    /// What it is.
    pub doc: &'static str,
}

macro_rules! parts {
    ($($variant:ident, $key:literal, $label:literal, $doc:literal;)*) => {
        /// A part of wall time or of core-time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Part {
            $(#[doc = $doc] $variant,)*
        }

        /// All parts, in the order in which they are shown.
        pub const PARTS: &[PartDef] = &[$(PartDef { key: $key, label: $label, doc: $doc },)*];

        impl Part {
            /// All parts.
            pub const ALL: &[Part] = &[$(Part::$variant,)*];
        }
    };
}

parts! {
    Cpu, "cpu", "computing", "Tasks used a CPU in the JVM.";
    Other, "other", "waiting or outside the JVM", "Tasks ran without using a CPU of the JVM, and no timer says what for: reading and writing files, native code, locks, or other processes that had the CPU.";
    Python, "python", "waiting for Python", "Tasks waited for Python workers: measured from Spark 4 on, before that all that the tasks of a stage with Python waited.";
    InputWait, "input_wait", "waiting for input", "Scans took longer than all that their tasks computed: at least that was waiting for storage.";
    Commit, "commit", "committing files and state", "Tasks committed output files or the state of a streaming query.";
    NoData, "no_data", "waiting, no data moved", "Tasks neither computed nor moved bytes that would explain it: the host had no CPU for them, or the program waited (sleep, lock, call to a service).";
    FetchWait, "fetch_wait", "waiting for shuffle data", "Tasks waited for shuffle blocks.";
    ShuffleWrite, "shuffle_write", "writing shuffle data", "Tasks wrote shuffle files.";
    Gc, "gc", "garbage collection", "The executor's JVM stopped for garbage collection.";
    Deserialize, "deserialize", "starting tasks", "Executors deserialized tasks: code, closures, broadcast variables; also loading classes in a new JVM.";
    ResultHandling, "result_handling", "handling results", "Results were serialized, fetched and handled by the driver, after the last task of a stage too.";
    Scheduling, "scheduling", "scheduling", "Tasks were not yet launched although their stage was ready: waiting for a slot to be handed over, for locality, or in a queue.";
    WaitingForExecutors, "waiting_for_executors", "waiting for executors", "A stage was ready and the executor that ran it was not there yet.";
    LostWork, "lost_work", "work that was lost", "Task attempts whose output did not count: failures, stages run again, losing speculative copies.";
    Unfinished, "unfinished", "tasks without an end", "Task attempts whose end is not in the log: the run goes on, or the log was cut.";
    DriverStartup, "driver_startup", "driver, before the first job", "From the application's start to its first job.";
    DriverPlanning, "driver_planning", "driver, within a query", "A query ran and none of its jobs did: planning, listing files, collecting broadcasts, committing.";
    DriverBetween, "driver_between", "driver, between jobs", "No job and no query ran.";
    DriverShutdown, "driver_shutdown", "driver, after the last job", "From the last job to the application's end.";
    IdleStarting, "idle_starting", "idle, before the first task", "Executors were there and no task had been launched.";
    IdleNoStage, "idle_no_stage", "idle, no stage ran", "Executors had nothing to do because the driver was at work alone.";
    IdleTooFewTasks, "idle_too_few_tasks", "idle, too few tasks", "Fewer tasks than slots: the running stages never had enough.";
    IdleTail, "idle_tail", "idle, last tasks of a stage", "Fewer tasks than slots: the running stages had enough, and their last ones still ran.";
    IdlePending, "idle_pending", "idle, tasks not yet launched", "Slots were free and tasks waited: locality, dispatch by the driver, new executors.";
    OtherWork, "other_work", "work of others", "Slots were held by tasks of other queries.";
}

impl Part {
    /// Key, name and meaning.
    pub fn def(self) -> &'static PartDef {
        &PARTS[self as usize]
    }
}

/// A sum of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    ms: [i64; PARTS.len()],
}

impl Sum {
    /// Adds time to a part.
    pub fn add(&mut self, part: Part, ms: i64) {
        self.ms[part as usize] += ms;
    }

    /// Adds all of another sum.
    pub fn add_all(&mut self, other: &Sum) {
        self.ms.iter_mut().zip(other.ms).for_each(|(sum, ms)| *sum += ms);
    }

    /// Time of a part.
    pub fn get(&self, part: Part) -> i64 {
        self.ms[part as usize]
    }

    /// Time of all parts.
    pub fn total_ms(&self) -> i64 {
        self.ms.iter().sum()
    }

    /// Parts that have any time, largest first.
    pub fn parts(&self) -> Vec<(Part, i64)> {
        let mut parts: Vec<(Part, i64)> =
            Part::ALL.iter().map(|part| (*part, self.get(*part))).filter(|(_, ms)| *ms != 0).collect();
        parts.sort_by_key(|(part, ms)| (std::cmp::Reverse(*ms), *part));
        parts
    }
}

impl Serialize for Sum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One {
            key: &'static str,
            ms: i64,
        }
        #[derive(Serialize)]
        struct All {
            total_ms: i64,
            parts: Vec<One>,
        }
        let parts = self.parts().into_iter().map(|(part, ms)| One { key: part.def().key, ms }).collect();
        All { total_ms: self.total_ms(), parts }.serialize(serializer)
    }
}

/// The shape that [`Sum`] has in JSON.
#[derive(JsonSchema)]
#[schemars(rename = "Sum")]
#[allow(dead_code, reason = "only its schema is used")]
struct SumShape {
    /// All parts together.
    total_ms: i64,
    /// Parts that have any time, largest first.
    parts: Vec<PartShape>,
}

/// The shape that one part has in JSON.
#[derive(JsonSchema)]
#[schemars(rename = "Part")]
#[allow(dead_code, reason = "only its schema is used")]
struct PartShape {
    /// Key of the part.
    key: String,
    /// Its time.
    ms: i64,
}

impl JsonSchema for Sum {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        SumShape::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        SumShape::json_schema(generator)
    }
}

/// How well the replay's model knows the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelError {
    /// With launches as they were, milliseconds; 0 unless the model is wrong. `None` without a model.
    pub pinned_ms: Option<i64>,
    /// Replayed freely: difference over the run's wall time, signed. `None` without a model.
    pub free_ratio: Option<f64>,
}

/// Time of one query, job group or stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScopeAttribution {
    /// Execution id, group name, or `stage.attempt`.
    pub id: String,
    /// Its own wall time.
    pub wall: Sum,
    /// Core-time over its own wall time; of a stage attempt, what its tasks held.
    pub core: Sum,
    /// Of a query: run time of its tasks by class of operator; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operators: Option<OperatorSum>,
}

/// Where the time of a run went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    /// Wall time; parts add up to the run's duration.
    pub wall: Sum,
    /// Core-time; parts add up to what executors offered.
    pub core: Sum,
    /// How well the replay's model knows the run.
    pub model_error: ModelError,
    /// Attempts whose parts exceeded their run time and were scaled.
    pub clamped: u64,
    /// Run time of the tasks of the queries in `sql` by class of operator.
    pub operators: OperatorSum,
    /// By root SQL execution, longest first.
    pub sql: Vec<ScopeAttribution>,
    /// By job group, longest first.
    pub groups: Vec<ScopeAttribution>,
    /// By stage attempt, longest first.
    pub stages: Vec<ScopeAttribution>,
}

/// How many queries, groups and stage attempts are attributed one by one.
const SCOPES: usize = 50;

/// Attributes the time of a run.
pub fn attribute(context: &Context<'_>, model_error: ModelError) -> Attribution {
    let steps = steps::steps(context);
    let totals = core_time::CoreTime::of(context, &steps);
    let walker = Walker::of(context, &steps);
    let scopes = |mut spans: Vec<Span>| {
        spans.sort_by(|a, b| {
            (b.end_ms - b.start_ms).cmp(&(a.end_ms - a.start_ms)).then(a.order.cmp(&b.order))
        });
        spans.truncate(SCOPES);
        crate::parallel::map(&spans, |_, span| ScopeAttribution {
            id: span.id.clone(),
            wall: walker.scope(span.start_ms, span.end_ms, &|job| span.jobs.binary_search(&job).is_ok()),
            core: totals.scope(span.start_ms, span.end_ms, &span.jobs),
            operators: span.is_query.then(|| operators::operators(context, &span.jobs)).flatten(),
        })
    };
    let sql = scopes(queries(context));
    Attribution {
        operators: OperatorSum::all(sql.iter().filter_map(|query| query.operators.as_ref())),
        wall: walker.run(),
        core: totals.run(context.start_ms, context.end_ms),
        model_error,
        clamped: steps.iter().map(|stage| stage.clamped).sum(),
        sql,
        groups: scopes(groups(context)),
        stages: stages(context, &walker, &totals),
    }
}

/// A query or job group.
struct Span {
    id: String,
    is_query: bool,
    /// Among spans of equal length.
    order: u64,
    start_ms: i64,
    end_ms: i64,
    /// Its jobs, by id.
    jobs: Vec<u32>,
}

fn queries(context: &Context<'_>) -> Vec<Span> {
    let run = context.run;
    let root = |id: u64| run.sql_execution(id).and_then(|execution| execution.root_id).unwrap_or(id);
    let mut jobs: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for job in &run.jobs {
        if let Some(id) = job.sql_execution_id {
            jobs.entry(root(id)).or_default().push(job.id);
        }
    }
    let roots = run.sql_executions.iter().filter(|execution| execution.is_root());
    roots
        .filter_map(|execution| {
            let start_ms = execution.start_ms?;
            Some(Span {
                id: execution.id.to_string(),
                is_query: true,
                order: execution.id,
                start_ms,
                end_ms: execution.end_ms.unwrap_or(context.end_ms).max(start_ms),
                jobs: jobs.remove(&execution.id).unwrap_or_default(),
            })
        })
        .collect()
}

fn groups(context: &Context<'_>) -> Vec<Span> {
    let mut spans: BTreeMap<&str, Span> = BTreeMap::new();
    for job in &context.run.jobs {
        if let (Some(group), Some(start_ms)) = (job.group.as_deref(), job.start_ms) {
            let end_ms = job.end_ms.unwrap_or(context.end_ms).max(start_ms);
            let span = spans.entry(group).or_insert_with(|| Span {
                id: group.to_owned(),
                is_query: false,
                order: 0,
                start_ms,
                end_ms,
                jobs: Vec::new(),
            });
            span.start_ms = span.start_ms.min(start_ms);
            span.end_ms = span.end_ms.max(end_ms);
        }
    }
    for job in &context.run.jobs {
        if let Some(span) = job.group.as_deref().and_then(|group| spans.get_mut(group)) {
            span.jobs.push(job.id);
        }
    }
    spans.into_values().enumerate().map(|(n, span)| Span { order: n as u64, ..span }).collect()
}

fn stages(
    context: &Context<'_>,
    walker: &Walker<'_, '_>,
    totals: &core_time::CoreTime<'_>,
) -> Vec<ScopeAttribution> {
    let mut longest: Vec<usize> =
        (0..context.stages.len()).filter(|n| context.stages[*n].running.is_some()).collect();
    longest.sort_by_key(|n| (-context.stages[*n].running_ms(), *n));
    longest.truncate(SCOPES);
    crate::parallel::map(&longest, |_, n| ScopeAttribution {
        id: format!("{}.{}", context.stages[*n].id, context.stages[*n].attempt),
        wall: walker.stage(*n),
        core: totals.by_stage[*n],
        operators: None,
    })
}
