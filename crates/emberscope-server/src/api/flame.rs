//! `/runs/{run}/flame` and what is below it: flame graphs of the recordings of a run.

use super::Param;
use super::failure::{Failure, number};
use crate::app::App;
use crate::recordings::{Gone, RecordingsError};
use crate::spark_rest::Params;
use emberscope_analysis::profile::StageProfile;
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::FoldError;
use emberscope_jfr::select::Selection;
use emberscope_jfr::view::ViewLimits;
use emberscope_model::run::Run;
use emberscope_profile::ask::{Ask, KEYS, MOST_DEPTH, MOST_NODES, PAGE_NODES, against, set};
use emberscope_profile::graph::{AskError, FlameGraph, FlameHeat, graph, heat_of};
use emberscope_profile::hot::stage_profiles;
use emberscope_profile::options::{FlameOptions, options, start_ms};
use emberscope_profile::recorded::{Recorded, Work};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) const OPTIONS_PARAMS: &[Param] = &[Param {
    name: "executor",
    kind: "string",
    doc: "Whose threads are listed. [default: the one chosen at first]",
}];

const EVENT: Param = Param {
    name: "event",
    kind: "string",
    doc: "cpu, wall, alloc, lock, sleep, io, native, malloc or live. [default: the first that was recorded]",
};
const EXECUTOR: Param =
    Param { name: "executor", kind: "string", doc: "Samples of these executors, by comma; driver is one." };
const STAGE: Param = Param {
    name: "stage",
    kind: "string",
    doc: "Samples of tasks of this stage, 14, or attempt of it, 14.1.",
};
const PARTITION: Param =
    Param { name: "partition", kind: "integer", doc: "Samples of tasks of this partition." };
const TASK: Param = Param { name: "task", kind: "integer", doc: "Samples of this task attempt, by its id." };
const THREAD_ID: Param = Param { name: "thread_id", kind: "integer", doc: "Samples of this Java thread id." };
const THREAD: Param = Param {
    name: "thread",
    kind: "string",
    doc: "Samples of threads whose name has this part; with *, the whole name with anything for each.",
};
const STATE: Param =
    Param { name: "state", kind: "string", doc: "Samples of threads in this state, such as runnable." };

pub(super) const HEAT_PARAMS: &[Param] = &[EVENT, EXECUTOR, STAGE, PARTITION, TASK, THREAD_ID, THREAD, STATE];

pub(super) const PARAMS: &[Param] = &[
    EVENT,
    EXECUTOR,
    STAGE,
    PARTITION,
    TASK,
    THREAD_ID,
    THREAD,
    STATE,
    Param {
        name: "from_ms",
        kind: "integer",
        doc: "Samples from then on, since the run's start. [default: all]",
    },
    Param {
        name: "to_ms",
        kind: "integer",
        doc: "Samples before then, since the run's start. [default: all]",
    },
    Param {
        name: "against",
        kind: "string",
        doc: "Compare with other samples: parameters that differ, as NAME=VALUE by semicolon; without a value, any.",
    },
    Param {
        name: "inverted",
        kind: "boolean",
        doc: "Stacks from their leaves on, with callers below. [default: false]",
    },
    Param {
        name: "min_fraction",
        kind: "number",
        doc: "Share below which subtrees are part of [other], 0 to 1. [default: 0.0001]",
    },
    Param { name: "max_nodes", kind: "integer", doc: "Nodes, the heaviest, up to 50000. [default: 5000]" },
    Param { name: "max_depth", kind: "integer", doc: "Frames below the root, up to 1024. [default: 256]" },
];

/// The hottest frames of stages that findings are about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FlameStages {
    /// Stage attempts with samples, those of the most important findings first.
    stages: Vec<StageProfile>,
}

pub(super) fn get_options(
    app: &App,
    at: &[&str],
    params: &Params,
    gone: &Gone,
) -> Result<FlameOptions, Failure> {
    let executor = params.first("executor").filter(|id| !id.is_empty());
    let found = with(app, at[0], gone, |recorded, run, _| {
        options(recorded, run, executor).map_err(|error| folding(&error))
    })?;
    match found {
        Found::Some(options) => Ok(options),
        Found::None(start_time_ms) => Ok(FlameOptions { start_time_ms, ..FlameOptions::default() }),
    }
}

pub(super) fn get(app: &App, at: &[&str], params: &Params, gone: &Gone) -> Result<FlameGraph, Failure> {
    with(app, at[0], gone, |recorded, run, work| {
        graph(recorded, run, &asked(run, params)?, work).map_err(asking)
    })?
    .or_refuse()
}

pub(super) fn get_heat(app: &App, at: &[&str], params: &Params, gone: &Gone) -> Result<FlameHeat, Failure> {
    with(app, at[0], gone, |recorded, run, work| {
        heat_of(recorded, run, &asked(run, params)?, work).map_err(asking)
    })?
    .or_refuse()
}

pub(super) fn get_stages(app: &App, at: &[&str], gone: &Gone) -> Result<FlameStages, Failure> {
    let listing = app.catalog.listing();
    let entry = listing.entry(at[0]).ok_or_else(|| Failure::no_run(at[0]))?;
    if app.recordings.files(&listing, entry).is_empty() {
        return Ok(FlameStages { stages: Vec::new() });
    }
    let opened = app.runs.open(entry).map_err(|error| Failure::unreadable(error.to_string()))?;
    let stages = opened.diagnosis().stages_with_findings();
    let found = app
        .recordings
        .with(&listing, entry, &opened, gone, |recorded, work| stage_profiles(recorded, &stages, work))
        .map_err(refused)?;
    Ok(FlameStages { stages: found.transpose().map_err(|error| folding(&error))?.unwrap_or_default() })
}

/// What was made of recordings, or the run's start where there are none.
enum Found<T> {
    Some(T),
    None(i64),
}

impl<T> Found<T> {
    fn or_refuse(self) -> Result<T, Failure> {
        match self {
            Found::Some(found) => Ok(found),
            Found::None(_) => Err(Failure::not_found(
                "there is no recording of this run",
                "name the directory of recordings: `emberscope serve LOGS --jfr DIR`, with DIR/APP_ID/profile-exec-ID.jfr",
            )),
        }
    }
}

fn with<T>(
    app: &App,
    run: &str,
    gone: &Gone,
    work: impl FnOnce(&Recorded, &Run, &Work) -> Result<T, Failure>,
) -> Result<Found<T>, Failure> {
    let listing = app.catalog.listing();
    let entry = listing.entry(run).ok_or_else(|| Failure::no_run(run))?;
    let opened = app.runs.open(entry).map_err(|error| Failure::unreadable(error.to_string()))?;
    let found = app
        .recordings
        .with(&listing, entry, &opened, gone, |recorded, how| work(recorded, &opened.run, how))
        .map_err(refused)?;
    found.map_or_else(|| Ok(Found::None(start_ms(&opened.run))), |found| found.map(Found::Some))
}

/// What the parameters ask for.
fn asked(run: &Run, params: &Params) -> Result<Ask, Failure> {
    let wrong = |message: String| Failure::bad(message, "see getFlame in /api/emberscope/v1/openapi.json");
    let clock_ms = start_ms(run);
    let mut wanted = Selection::default();
    let given = |name: &str| params.first(name).filter(|value| !value.is_empty());
    if given("thread_id").is_some() && given("thread").is_some() {
        return Err(wrong("thread_id and thread: one of them names the threads".to_owned()));
    }
    for key in KEYS {
        if let Some(value) = given(key) {
            set(&mut wanted, key, value, clock_ms).map_err(wrong)?;
        }
    }
    let other = given("against").map(|pairs| against(&wanted, pairs, clock_ms)).transpose().map_err(wrong)?;
    let event = given("event").map(|name| {
        let found = FlameEvent::ALL.iter().copied().find(|event| event.name() == name);
        found.ok_or_else(|| wrong(format!("no event `{name}`")))
    });
    let min_fraction = given("min_fraction").map_or(Ok(ViewLimits::default().min_fraction), |text| {
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| wrong(format!("min_fraction `{text}` is no number from 0 to 1")))
    })?;
    let limits = ViewLimits {
        min_fraction,
        max_nodes: given("max_nodes").map_or(Ok(PAGE_NODES), number::<usize>)?.clamp(1, MOST_NODES),
        max_depth: given("max_depth")
            .map_or(Ok(ViewLimits::default().max_depth), number::<usize>)?
            .min(MOST_DEPTH),
    };
    Ok(Ask {
        event: event.transpose()?,
        wanted,
        against: other,
        is_inverted: params.is_on("inverted", false),
        limits,
    })
}

fn asking(error: AskError) -> Failure {
    match error {
        AskError::NotThere { message, hint } => Failure::not_found(message, &hint),
        AskError::Fold(error) => folding(&error),
    }
}

fn refused(error: RecordingsError) -> Failure {
    match error {
        RecordingsError::Busy => Failure::busy(&error.to_string()),
        RecordingsError::Fold(error) => folding(&error),
    }
}

fn folding(error: &FoldError) -> Failure {
    match error {
        // Nobody hears it any more.
        FoldError::Stopped => Failure::busy(&error.to_string()),
        FoldError::Io { .. } => Failure::unreadable(error.to_string()),
    }
}
