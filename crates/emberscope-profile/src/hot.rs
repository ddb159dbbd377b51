//! The hottest frames of stages, as evidence.

use crate::options::distortion;
use crate::recorded::{Recorded, Work};
use emberscope_analysis::profile::{HotFrame, StageProfile};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::FoldError;
use emberscope_jfr::frames::FrameKind;
use emberscope_jfr::hot::hot_frames;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskQuery;
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeSet;

/// Stages of which frames are told: the recordings are read once for each.
const STAGES: usize = 10;
/// Frames that are told of a stage.
const FRAMES: usize = 5;

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
        let sum = profile.tree.sum();
        let view = View::of(&profile, ViewLimits::NONE);
        let share = |weight: i64| weight as f64 / sum as f64;
        let frames = hot_frames(&view)
            .into_iter()
            .filter(|hot| hot.own > 0 && view.frames.kind(hot.frame) != FrameKind::Mark);
        let frames = frames.take(FRAMES).map(|hot| HotFrame {
            frame: view.frames.name(hot.frame).to_owned(),
            own_share: share(hot.own),
            total_share: share(hot.total),
        });
        let missing: BTreeSet<&str> =
            ran.into_iter().filter(|id| !selection.executors.iter().any(|one| one == id)).collect();
        profiles.push(StageProfile {
            stage_id: *id,
            stage_attempt: *attempt,
            event: event.name(),
            samples: sum,
            frames: frames.collect(),
            executors_not_recorded: missing.len(),
            distortion: distortion.clone(),
        });
    }
    Ok(profiles)
}
