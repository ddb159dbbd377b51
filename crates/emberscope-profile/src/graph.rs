//! Flame graphs of a run: of tasks, executors, threads and times, beside others, and over time.

use crate::ask::Ask;
use crate::options::{distortion, start_ms};
use crate::recorded::{Recorded, Work};
use emberscope_jfr::export::FlameJson;
use emberscope_jfr::flame_event::{FlameEvent, Unit};
use emberscope_jfr::fold::{FoldError, Profile};
use emberscope_jfr::frames::FrameKind;
use emberscope_jfr::heat::{Heat, heat};
use emberscope_jfr::hot::hot_frames;
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::view::{View, ViewLimits};
use emberscope_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// Frames of the table.
const HOTTEST: usize = 100;

/// A flame graph of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlameGraph {
    /// The graph, as `emberscope flame --format json` writes it.
    pub graph: FlameJson,
    /// The frames with the largest own weight, counted before anything was left out.
    pub hottest: Vec<HottestFrame>,
    /// Why names of frames may not be exact; null where nothing speaks for that, or the graph is of an event that
    /// it does not matter for.
    pub distortion: Option<String>,
    /// The run's start, epoch milliseconds.
    pub start_time_ms: i64,
}

/// A frame, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HottestFrame {
    /// Its name.
    pub frame: String,
    /// Its kind.
    pub kind: FrameKind,
    /// Weight of stacks that end in it.
    pub own: i64,
    /// Weight of stacks that hold it, each once.
    pub total: i64,
    /// `own` in what is compared with; 0 where nothing is.
    pub baseline_own: i64,
    /// `total` in what is compared with; 0 where nothing is.
    pub baseline_total: i64,
}

/// Weight over time by executor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlameHeat {
    /// What it is of.
    pub event: FlameEvent,
    /// What weights are.
    pub unit: Unit,
    /// The run's start, epoch milliseconds.
    pub start_time_ms: i64,
    /// The weights; null of memory, of which only the end is known, and where nothing is selected.
    pub heat: Option<Heat>,
}

/// Why there is no graph.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Something that is asked for is not there.
    #[error("{message}")]
    NotThere {
        /// What.
        message: String,
        /// What there is.
        hint: String,
    },
    /// The recordings cannot be folded.
    #[error(transparent)]
    Fold(#[from] FoldError),
}

fn not_there(message: impl Into<String>, hint: impl Into<String>) -> AskError {
    AskError::NotThere { message: message.into(), hint: hint.into() }
}

/// The graph that is asked for.
///
/// # Errors
/// When what is asked for is not there, or the recordings cannot be read.
pub fn graph(recorded: &Recorded, run: &Run, ask: &Ask, work: &Work) -> Result<FlameGraph, AskError> {
    let event = event(recorded, ask.event)?;
    for selection in [Some(&ask.wanted), ask.against.as_ref()].into_iter().flatten() {
        check(recorded, selection)?;
    }
    let profile = recorded.fold(event, &ask.wanted, false, work)?;
    let baseline =
        ask.against.as_ref().map(|against| recorded.fold(event, against, false, work)).transpose()?;
    let whole = view(&profile, baseline.as_deref(), ViewLimits::NONE);
    let hottest = hot_frames(&whole).into_iter().take(HOTTEST).map(|hot| HottestFrame {
        frame: whole.frames.name(hot.frame).to_owned(),
        kind: whole.frames.kind(hot.frame),
        own: hot.own,
        total: hot.total,
        baseline_own: hot.baseline_own,
        baseline_total: hot.baseline_total,
    });
    let is_sampled = matches!(event, FlameEvent::Cpu | FlameEvent::Wall);
    Ok(FlameGraph {
        hottest: hottest.collect(),
        graph: match ask.is_inverted {
            false => FlameJson::new(&profile, &view(&profile, baseline.as_deref(), ask.limits), event.name()),
            true => {
                let baseline = baseline.map(|baseline| baseline.inverted());
                let view = view(&profile.inverted(), baseline.as_ref(), ask.limits);
                FlameJson::new(&profile, &view, event.name())
            }
        },
        distortion: if is_sampled { distortion(&*recorded.inventory()?) } else { None },
        start_time_ms: start_ms(run),
    })
}

fn view(profile: &Profile, baseline: Option<&Profile>, limits: ViewLimits) -> View {
    match baseline {
        Some(baseline) => View::diff(profile, baseline, limits),
        None => View::of(profile, limits),
    }
}

/// Weight over time of what is asked for. Times of the selection are left aside: the heat is what they are chosen
/// from.
///
/// # Errors
/// As of [`graph`].
pub fn heat_of(recorded: &Recorded, run: &Run, ask: &Ask, work: &Work) -> Result<FlameHeat, AskError> {
    let event = event(recorded, ask.event)?;
    check(recorded, &ask.wanted)?;
    let selection = Selection { from_ns: None, to_ns: None, ..ask.wanted.clone() };
    let profile = recorded.fold(event, &selection, true, work)?;
    Ok(FlameHeat { event, unit: event.unit(), start_time_ms: start_ms(run), heat: heat(&profile) })
}

/// The event that is asked for, or the first that was recorded.
fn event(recorded: &Recorded, asked: Option<FlameEvent>) -> Result<FlameEvent, AskError> {
    let inventory = recorded.inventory()?;
    let known: Vec<FlameEvent> = inventory.flame_events.iter().map(|(event, _)| *event).collect();
    match asked {
        Some(event) if known.contains(&event) => Ok(event),
        Some(event) => {
            let names: Vec<&str> = known.iter().map(|event| event.name()).collect();
            let hint = format!(
                "recorded are {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            );
            Err(not_there(format!("no `{}` was recorded", event.name()), hint))
        }
        None => known.first().copied().ok_or_else(|| {
            not_there(
                "the recordings hold no samples of any kind",
                "see what async-profiler or the JDK can record",
            )
        }),
    }
}

/// What is asked for must be there to be had.
fn check(recorded: &Recorded, selection: &Selection) -> Result<(), AskError> {
    let known = recorded.executors();
    if let Some(unknown) = selection.executors.iter().find(|id| !known.contains(&id.as_str())) {
        let hint = format!("the recordings are of {}", known.join(", "));
        return Err(not_there(format!("no recording is of executor `{unknown}`"), hint));
    }
    let tasks = recorded.tasks();
    if selection.tasks.is_any() && !tasks.has(selection.tasks) {
        return Err(match tasks.rows().is_empty() {
            true => not_there(
                "neither the log nor the recordings say which thread ran which task",
                "the log has it with spark.profiler.executor.taskThreadEvent.enabled=true",
            ),
            false => not_there("no task is the one that is asked for", "the options list the stages"),
        });
    }
    let Some(pattern) = &selection.thread else { return Ok(()) };
    for executor in known.iter().filter(|id| selection.has_executor(id)) {
        let threads = recorded.threads(executor)?;
        if threads.iter().any(|thread| pattern.matches(thread.java_id, &thread.name)) {
            return Ok(());
        }
    }
    let named = match pattern {
        ThreadPattern::Id(id) => id.to_string(),
        ThreadPattern::Name(name) => name.clone(),
    };
    Err(not_there(format!("no thread is `{named}`"), "the options list the threads of an executor"))
}
