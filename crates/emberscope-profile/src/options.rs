//! What flame graphs of a run can be asked for.

use crate::recorded::Recorded;
use emberscope_jfr::flame_event::{FlameEvent, Unit};
use emberscope_jfr::fold::FoldError;
use emberscope_jfr::inspect::Inventory;
use emberscope_jfr::notes::Note;
use emberscope_model::run::Run;
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What flame graphs of a run can be asked for. Without recordings, nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FlameOptions {
    /// Executors with recordings, the driver first.
    pub executors: Vec<RecordedExecutor>,
    /// The driver if there is a recording of it, else the first; null where there is none.
    pub default_executor: Option<String>,
    /// Whose threads are listed; null where none is.
    pub threads_of: Option<String>,
    /// Java threads of that executor, from the dictionaries of its recordings.
    pub threads: Vec<JavaThread>,
    /// What graphs can be of, with what was recorded.
    pub events: Vec<RecordedEvent>,
    /// States of threads that the recordings know.
    pub states: Vec<String>,
    /// Stage attempts with tasks of which it is known on which recorded thread they ran.
    pub stages: Vec<RecordedStage>,
    /// What says which thread ran which task; null where nothing does.
    pub tasks_from: Option<TasksFrom>,
    /// The run's start, epoch milliseconds, from which `from_ms` and `to_ms` of a graph count; where a log has
    /// none, 0.
    pub start_time_ms: i64,
    /// Why names of frames may not be exact; null where nothing speaks for that.
    pub distortion: Option<String>,
    /// Files that could not be opened, and why.
    pub unreadable: Vec<String>,
    /// What was not as it should be in the files.
    pub notes: Vec<Note>,
}

/// An executor with recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedExecutor {
    /// Its id.
    pub executor: String,
    /// Files of it, rotated parts counted one by one.
    pub files: usize,
}

/// A thread of Java.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JavaThread {
    /// `javaThreadId` in its JVM.
    pub java_thread_id: u64,
    /// A name it had: Spark renames threads for each task.
    pub name: String,
}

/// An event that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedEvent {
    /// What a graph is of.
    pub event: FlameEvent,
    /// What its weights are.
    pub unit: Unit,
    /// How many events of it there are.
    pub events: u64,
}

/// A stage attempt of which samples can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedStage {
    /// Stage id.
    pub id: u32,
    /// Attempt.
    pub attempt: u32,
    /// Name.
    pub name: String,
    /// Task attempts on recorded executors whose thread is known.
    pub tasks: usize,
    /// All of its task attempts.
    pub task_attempts: usize,
}

/// What says which thread ran which task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TasksFrom {
    /// Events in the event log.
    Log,
    /// Spans or task events in the recordings.
    Recordings,
}

/// What can be asked for; threads are those of `executor`, or of the one chosen at first.
///
/// # Errors
/// When a recording cannot be read.
pub fn options(recorded: &Recorded, run: &Run, executor: Option<&str>) -> Result<FlameOptions, FoldError> {
    let inventory = recorded.inventory()?;
    let ids = recorded.executors();
    // The driver is first if it is there.
    let default_executor = ids.first().map(|id| (*id).to_owned());
    let threads_of = executor.map(str::to_owned).filter(|id| ids.contains(&id.as_str()));
    let threads_of = if executor.is_some() { threads_of } else { default_executor.clone() };
    let files = |id: &str| recorded.recordings().iter().filter(|one| one.executor == id).count();
    let rows = recorded.tasks().rows();
    Ok(FlameOptions {
        executors: ids
            .iter()
            .map(|id| RecordedExecutor { executor: (*id).to_owned(), files: files(id) })
            .collect(),
        threads: threads_of.as_deref().map_or(Ok(Vec::new()), |id| java_threads(recorded, id))?,
        threads_of,
        default_executor,
        events: inventory
            .flame_events
            .iter()
            .map(|(event, events)| RecordedEvent { event: *event, unit: event.unit(), events: *events })
            .collect(),
        states: inventory.states.iter().cloned().collect(),
        stages: stages(recorded, run),
        tasks_from: match (rows.is_empty(), recorded.is_tasks_from_log()) {
            (true, _) => None,
            (false, true) => Some(TasksFrom::Log),
            (false, false) => Some(TasksFrom::Recordings),
        },
        start_time_ms: start_ms(run),
        distortion: distortion(&inventory),
        unreadable: recorded.unreadable().to_vec(),
        notes: inventory.notes.clone(),
    })
}

/// From when times of a run count, epoch milliseconds: as in its timeline.
pub fn start_ms(run: &Run) -> i64 {
    emberscope_analysis::views::Clock::of(run).start_ms
}

/// Threads of Java, each id once: the same thread has other names in other chunks.
fn java_threads(recorded: &Recorded, executor: &str) -> Result<Vec<JavaThread>, FoldError> {
    let threads = recorded.threads(executor)?;
    let named: BTreeMap<u64, &str> = threads
        .iter()
        .filter(|thread| thread.java_id > 0)
        .map(|thread| (thread.java_id, thread.name.as_str()))
        .collect();
    let thread = |(java_thread_id, name): (u64, &str)| JavaThread { java_thread_id, name: name.to_owned() };
    Ok(named.into_iter().map(thread).collect())
}

/// Stage attempts with tasks on recorded executors, in order.
fn stages(recorded: &Recorded, run: &Run) -> Vec<RecordedStage> {
    let ids: FxHashSet<&str> = recorded.executors().into_iter().collect();
    let mut tasks: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for row in recorded.tasks().rows().iter().filter(|row| ids.contains(row.executor.as_str())) {
        if let Some(stage) = row.stage {
            *tasks.entry((stage, row.stage_attempt.unwrap_or(0))).or_default() += 1;
        }
    }
    let stage = |((id, attempt), tasks): ((u32, u32), usize)| {
        let known = run.stage(id, attempt);
        RecordedStage {
            id,
            attempt,
            name: known.map_or_else(String::new, |stage| stage.name.to_string()),
            tasks,
            task_attempts: known.map_or(tasks, |stage| stage.tasks.rows()),
        }
    };
    tasks.into_iter().map(stage).collect()
}

/// Why names of frames may not be exact, where something speaks for it.
pub fn distortion(inventory: &Inventory) -> Option<String> {
    let is_on = inventory.debug_non_safepoints.values().any(|is_on| *is_on);
    is_on.then(|| {
        "DebugNonSafepoints was on: the compiler may name the caller for loops of methods that it inlined, so \
         trust generated code as a whole more than the methods below it. -XX:-DebugNonSafepoints records \
         without that."
            .to_owned()
    })
}
