//! The hottest frames of stages, as evidence.

use crate::options::distortion;
use crate::recorded::{Recorded, Work};
use emberscope_analysis::profile::{HotFrame, StageProfile};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{FoldError, Profile};
use emberscope_jfr::program::{ProgramFrame, program_frames, running_frames};
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskQuery;
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeSet;

/// Stages of which frames are told: the recordings are read once for each.
const STAGES: usize = 10;
/// Frames that are told of a stage.
const FRAMES: usize = 5;
/// Frames in which tasks waited that are told, and how much of all samples one must have.
const WAITS: usize = 3;
/// See [`WAITS`].
const LEAST_WAIT: f64 = 0.01;
/// The state of threads that run or could.
const RUNNABLE: &str = "STATE_RUNNABLE";

/// The hottest frames of the tasks of stage attempts, of at most ten that have samples. The wall clock is told of
/// where it was sampled, since it sees tasks that wait; else the CPU.
///
/// # Errors
/// When a recording cannot be read, or the work was given up.
pub fn stage_profiles(
    recorded: &Recorded,
    stages: &[(u32, u32)],
    work: &Work,
) -> Result<Vec<StageProfile>, FoldError> {
    if recorded.recordings().is_empty() || recorded.tasks().rows().is_empty() {
        return Ok(Vec::new());
    }
    let inventory = recorded.inventory()?;
    let has = |event: FlameEvent| inventory.flame_events.iter().any(|(known, _)| *known == event);
    let events: Vec<FlameEvent> =
        [FlameEvent::Wall, FlameEvent::Cpu].into_iter().filter(|event| has(*event)).collect();
    let has_states = inventory.states.iter().any(|state| state.eq_ignore_ascii_case(RUNNABLE));
    let distortion = distortion(&inventory);
    let mut profiles = Vec::new();
    for (id, attempt) in stages {
        let tasks = TaskQuery { stage: Some((*id, Some(*attempt))), ..TaskQuery::default() };
        if profiles.len() == STAGES || !recorded.tasks().has(tasks) {
            continue;
        }
        let ran = recorded.tasks().executors(tasks);
        let executors: Vec<String> =
            recorded.executors().into_iter().filter(|id| ran.contains(id)).map(str::to_owned).collect();
        if executors.is_empty() {
            continue;
        }
        let selection = Selection { tasks, executors, ..Selection::default() };
        let mut found = None;
        for event in &events {
            let profile = recorded.fold(*event, &selection, false, work)?;
            if profile.tree.sum() > 0 {
                found = Some((*event, profile));
                break;
            }
        }
        let Some((event, profile)) = found else { continue };
        let running = match event {
            FlameEvent::Wall if has_states => {
                let state = Some(RUNNABLE.to_owned());
                Some(recorded.fold(event, &Selection { state, ..selection.clone() }, false, work)?)
            }
            _ => None,
        };
        let told = told(event, &profile, running.as_deref());
        let missing: BTreeSet<&str> =
            ran.into_iter().filter(|id| !selection.executors.iter().any(|one| one == id)).collect();
        profiles.push(StageProfile {
            stage_id: *id,
            stage_attempt: *attempt,
            event: event.name(),
            samples: profile.tree.sum(),
            waiting_samples: told.waiting_samples,
            frames: told.frames,
            waits: told.waits,
            executors_not_recorded: missing.len(),
            distortion: distortion.clone(),
        });
    }
    Ok(profiles)
}

/// The frames of a stage.
struct Told {
    waiting_samples: i64,
    frames: Vec<HotFrame>,
    waits: Vec<HotFrame>,
}

/// Where tasks ran and where they waited; `running` has the samples of threads that ran, where that is known.
fn told(event: FlameEvent, profile: &Profile, running: Option<&Profile>) -> Told {
    let view = match event {
        FlameEvent::Wall => View::diff(profile, running.unwrap_or(profile), ViewLimits::NONE),
        _ => View::of(profile, ViewLimits::NONE),
    };
    let found = if event == FlameEvent::Wall { program_frames(&view) } else { running_frames(&view) };
    let sum = profile.tree.sum();
    let share = |weight: i64| weight as f64 / sum as f64;
    let frame = |one: &ProgramFrame| HotFrame {
        frame: view.frames.name(one.frame).to_owned(),
        own_share: share(one.own),
        total_share: share(one.total),
    };
    Told {
        waiting_samples: found.waiting_sum,
        frames: found.running.iter().take(FRAMES).map(frame).collect(),
        waits: found
            .waiting
            .iter()
            .filter(|one| share(one.own) >= LEAST_WAIT)
            .take(WAITS)
            .map(frame)
            .collect(),
    }
}
