//! What recordings hold beside stacks: events by type, threads, tasks, load, pauses, and how they were made.

use crate::chunk::{Chunk, Counts, Visitor};
use crate::constants::ThreadName;
use crate::event::EventKind;
use crate::flame_event::FlameEvent;
use crate::fold::{FoldError, Plan, Thread, plan};
use crate::layout::{Row, Slot};
use crate::notes::{Note, Notes};
use crate::open::Recording;
use crate::select::Selection;
use crate::tasks::TaskInterval;
use crate::window::Window;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What recordings hold beside stacks.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Number of events by type.
    pub counts: BTreeMap<String, u64>,
    /// Chunks that could be read, each once whatever the number of files that hold it.
    pub chunks: u64,
    /// Checkpoints in them: the recorder's flushes of its pools.
    pub checkpoints: u64,
    /// Of which flame graphs can be made, with how many events.
    pub flame_events: Vec<(FlameEvent, u64)>,
    /// Tasks that the recordings tell of, by events or spans.
    pub tasks: Vec<TaskInterval>,
    /// CPU load, in order of time.
    pub load: Vec<Load>,
    /// Garbage collections, in order of time.
    pub pauses: Vec<Pause>,
    /// States of threads that the dictionaries know, as they are written there.
    pub states: BTreeSet<String>,
    /// Whether the JIT compiler kept places between safepoints for the profiler, by executor.
    pub debug_non_safepoints: BTreeMap<String, bool>,
    /// Settings of the recorder, by executor, name and value.
    pub settings: BTreeSet<(String, String, String)>,
    /// What was not as it should be.
    pub notes: Vec<Note>,
}

/// CPU load at a time; shares of the machine, 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Executor.
    pub executor: String,
    /// Time, epoch nanoseconds.
    pub time_ns: i64,
    /// The JVM in user mode.
    pub jvm_user: f64,
    /// The JVM in the kernel.
    pub jvm_system: f64,
    /// All processes.
    pub machine: f64,
}

/// A garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Executor.
    pub executor: String,
    /// Start, epoch nanoseconds.
    pub time_ns: i64,
    /// Sum of its pauses, nanoseconds.
    pub pause_ns: i64,
}

/// Reads everything but stacks of the selected executors.
///
/// # Errors
/// When a file cannot be read.
pub fn inspect(recordings: &[Recording], selection: &Selection) -> Result<Inventory, FoldError> {
    let mut inventory = Inventory::default();
    let mut ways: BTreeMap<usize, u64> = BTreeMap::new();
    for plan in plan(recordings, selection)? {
        let mut inspector = Inspector { executor: &plan.recording.executor, inventory: &mut inventory };
        let mut notes = plan.notes.clone();
        let walked = for_each_chunk(&plan, &mut notes, |chunk, window, notes| {
            inspector.inventory.chunks += 1;
            inspector.inventory.checkpoints += chunk.checkpoints;
            let mut counts = Counts::new();
            let states = chunk.pools.states().filter(|state| !state.is_empty());
            inspector.inventory.states.extend(states.map(str::to_owned));
            chunk.visit(window, &mut inspector, &mut counts, notes)?;
            for class in chunk.types.classes.values() {
                let Some(count) = counts.get(&class.name) else { continue };
                for (order, event) in FlameEvent::ALL.iter().enumerate() {
                    // The JDK's recorder samples what runs, never the wall clock.
                    let is_one = |kind: &EventKind| {
                        *event != FlameEvent::Wall
                            || *kind != EventKind::Execution
                            || chunk.types.is_async_profiler()
                    };
                    let kind = EventKind::of(class).filter(is_one);
                    if kind.and_then(|kind| event.way_of(kind)).is_some() {
                        *ways.entry(order).or_default() += count;
                    }
                }
            }
            for (name, count) in counts {
                *inspector.inventory.counts.entry(name).or_default() += count;
            }
            Ok(())
        });
        walked.map_err(|source| FoldError::Io { name: plan.recording.name.clone(), source })?;
        inventory.notes.extend(notes.into_notes(&plan.recording.name));
    }
    inventory.flame_events = ways.into_iter().map(|(order, count)| (FlameEvent::ALL[order], count)).collect();
    inventory.load.sort_by(|a, b| (a.time_ns, &a.executor).cmp(&(b.time_ns, &b.executor)));
    inventory.pauses.sort_by(|a, b| (a.time_ns, &a.executor).cmp(&(b.time_ns, &b.executor)));
    Ok(inventory)
}

/// The threads of the selected executors, from the dictionaries of all chunks; no event is decoded.
///
/// # Errors
/// When a file cannot be read.
pub fn threads(recordings: &[Recording], selection: &Selection) -> Result<Vec<Thread>, FoldError> {
    // Of a thread of Java, the name of the last chunk; of one of the VM, its id in the system tells it.
    let mut found: BTreeMap<(String, u64, u64), ThreadName> = BTreeMap::new();
    for plan in plan(recordings, selection)? {
        let walked = for_each_chunk(&plan, &mut Notes::default(), |chunk, _, _| {
            for thread in chunk.pools.threads() {
                let os_id = if thread.java_id > 0 { 0 } else { thread.os_id };
                found.insert((plan.recording.executor.clone(), thread.java_id, os_id), thread);
            }
            Ok(())
        });
        walked.map_err(|source| FoldError::Io { name: plan.recording.name.clone(), source })?;
    }
    Ok(found
        .into_iter()
        .map(|((executor, java_id, _), thread)| Thread {
            executor,
            java_id,
            os_id: thread.os_id,
            name: thread.name,
        })
        .collect())
}

/// When the earliest chunk starts, epoch nanoseconds.
///
/// # Errors
/// When a file cannot be read.
pub fn start_ns(recordings: &[Recording]) -> Result<Option<i64>, FoldError> {
    let plans = plan(recordings, &Selection::default())?;
    Ok(plans.iter().flat_map(|plan| &plan.chunks).map(|chunk| chunk.header.start_ns).min())
}

fn for_each_chunk(
    plan: &Plan<'_>,
    notes: &mut Notes,
    mut each: impl FnMut(&Chunk, &mut Window<'_>, &mut Notes) -> io::Result<()>,
) -> io::Result<()> {
    let mut window = Window::new(&*plan.recording.input);
    for place in &plan.chunks {
        if let Some(chunk) = Chunk::open(place, &mut window, notes)? {
            each(&chunk, &mut window, notes)?;
        }
    }
    Ok(())
}

struct Inspector<'i> {
    executor: &'i str,
    inventory: &'i mut Inventory,
}

impl Visitor for Inspector<'_> {
    fn wants(&self, kind: EventKind) -> bool {
        matches!(
            kind,
            EventKind::Span
                | EventKind::Task
                | EventKind::CpuLoad
                | EventKind::GarbageCollection
                | EventKind::Setting
                | EventKind::Jvm
        )
    }

    fn event(&mut self, chunk: &Chunk, kind: EventKind, row: &Row<'_>) {
        let time_ns = chunk.header.time_ns(row.number(Slot::StartTime));
        let executor = || self.executor.to_owned();
        let text = |slot| chunk.pools.text(&row.text(slot)).to_owned();
        match kind {
            EventKind::Span | EventKind::Task => {
                let task = match kind {
                    EventKind::Span => task_of_tag(&text(Slot::Tag)),
                    _ => Some(task_of_event(row)),
                };
                let thread = chunk.pools.thread(row.number(Slot::EventThread) as u64);
                if let (Some(task), Some(thread)) = (task, thread) {
                    let end_ns = time_ns.saturating_add(chunk.header.span_ns(row.number(Slot::Duration)));
                    self.inventory.tasks.push(TaskInterval {
                        executor: executor(),
                        thread: thread.java_id,
                        start_ms: time_ns.div_euclid(1_000_000),
                        end_ms: end_ns.saturating_add(999_999).div_euclid(1_000_000),
                        ..task
                    });
                }
            }
            EventKind::CpuLoad => self.inventory.load.push(Load {
                executor: executor(),
                time_ns,
                jvm_user: row.fraction(Slot::JvmUser),
                jvm_system: row.fraction(Slot::JvmSystem),
                machine: row.fraction(Slot::MachineTotal),
            }),
            EventKind::GarbageCollection => self.inventory.pauses.push(Pause {
                executor: executor(),
                time_ns,
                pause_ns: chunk.header.span_ns(row.number(Slot::SumOfPauses)),
            }),
            EventKind::Setting => {
                let setting = (executor(), text(Slot::Name), text(Slot::Value));
                self.inventory.settings.insert(setting);
            }
            EventKind::Jvm => {
                // The arguments themselves may hold secrets and are not kept.
                let arguments = text(Slot::JvmArguments);
                let is_on =
                    match (arguments.rfind("+DebugNonSafepoints"), arguments.rfind("-DebugNonSafepoints")) {
                        // async-profiler switches it on unless told otherwise.
                        (None, None) => chunk.types.is_async_profiler(),
                        (on, off) => on > off,
                    };
                self.inventory.debug_non_safepoints.insert(executor(), is_on);
            }
            _ => {}
        }
    }
}

/// `spark.task:<task>:<stage>`.
fn task_of_tag(tag: &str) -> Option<TaskInterval> {
    let (task, stage) = tag.strip_prefix("spark.task:")?.split_once(':')?;
    Some(TaskInterval { task: task.parse().ok()?, stage: stage.parse().ok(), ..TaskInterval::default() })
}

fn task_of_event(row: &Row<'_>) -> TaskInterval {
    let number = |slot| row.present(slot).and_then(|number| u32::try_from(number).ok());
    TaskInterval {
        task: row.number(Slot::TaskId) as u64,
        stage: number(Slot::StageId),
        stage_attempt: number(Slot::StageAttemptId),
        partition: number(Slot::PartitionId),
        ..TaskInterval::default()
    }
}
