//! What it is worth to take away a tail, as edits of a replay.

use crate::context::Context;
use crate::finding::Worth;
use crate::plan::OperatorClass;
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::tail::{Cause, Tail};
use std::sync::Arc;

/// The data of the slow tasks spread over all slots. No work goes away: at best the stage ends when its
/// work, evenly shared, is done; a salted key costs something on top.
pub fn spread(context: &Context<'_>, view: &StageView<'_>, tail: &Tail, plan: &StagePlan) -> Worth {
    /// What a spread of files, or of groups by one more column, that is not perfect takes longer.
    const UNEVEN: f64 = 1.3;
    /// The same for the keys of a join: the pieces of a salted key fall on partitions at random, the fullest of
    /// which gets more than twice its share.
    const UNEVEN_JOIN: f64 = 2.2;
    let Some((start, _)) = view.digest.running else { return Worth::None };
    let even_ms = view.digest.attempt_ms as f64 / context.slots(view.digest);
    let scaled = |stretch: f64| {
        let factors = factors_of_slow(view, tail, |at, _| {
            let until_even = start as f64 + even_ms * stretch - view.tasks[at].launch_ms as f64;
            until_even.max(tail.median_ms * stretch)
        });
        vec![Edit::Scale { place: view.place(), factors }]
    };
    let uneven = if plan.class == Some(OperatorClass::Join) { UNEVEN_JOIN } else { UNEVEN };
    Worth::Replay { low: scaled(uneven), high: scaled(1.0) }
}

/// The excess of some causes taken away: a `sure` share of it at least, all of it at best.
pub fn without(view: &StageView<'_>, tail: &Tail, causes: &[Cause], sure: f64) -> Worth {
    let scaled = |share: f64| {
        let factors = factors_of_slow(view, tail, |at, parts_ms| {
            view.tasks[at].duration_ms() as f64 - share * parts_ms(causes)
        });
        vec![Edit::Scale { place: view.place(), factors }]
    };
    let low = if sure > 0.0 { scaled(sure) } else { Vec::new() };
    Worth::Replay { low, high: scaled(1.0) }
}

/// One factor for each task attempt, 1 but for the slow ones; `duration_ms` gets a slow task's place and
/// the milliseconds that causes have in it.
fn factors_of_slow(
    view: &StageView<'_>,
    tail: &Tail,
    duration_ms: impl Fn(usize, &dyn Fn(&[Cause]) -> f64) -> f64,
) -> Arc<[f32]> {
    let mut factors = vec![1.0f32; view.tasks.len()];
    for slow in &tail.slow {
        let took = view.tasks[slow.at].duration_ms() as f64;
        let parts = |causes: &[Cause]| causes.iter().map(|cause| slow.parts.of(*cause)).sum::<f64>();
        factors[slow.at] = (duration_ms(slow.at, &parts) / took.max(1.0)).clamp(0.0, 1.0) as f32;
    }
    factors.into()
}
