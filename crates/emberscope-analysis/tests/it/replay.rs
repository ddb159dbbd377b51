//! The replay against the runs that it replays.

use crate::made::{every_log, is_broken};
use emberscope_analysis::context::Context;
use emberscope_analysis::replay::{ReplayModel, Timeline};
use emberscope_analysis::thresholds::Thresholds;

#[test]
fn bookkeeping_is_exact_and_free_replays_come_close() {
    let thresholds = Thresholds::default();
    let mut errors = Vec::new();
    for (name, run) in every_log() {
        let context = Context::of(&run, &thresholds);
        let Some(model) = ReplayModel::of(&context) else { continue };
        let outcome = model.replay([].iter(), Timeline::Fixed).expect(&name);
        let free = (outcome.end_ms - context.end_ms) as f64 / model.wall_ms() as f64;
        println!(
            "{name}: wall {} tasks {} pinned {} free {:+.3}",
            model.wall_ms(),
            model.tasks(),
            model.pinned_error_ms(),
            free
        );
        assert_eq!(model.pinned_error_ms(), 0, "{name}");
        if !is_broken(&name) {
            errors.push(free.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "{} logs, median error {:.4}, worst {:.3}",
        errors.len(),
        errors[errors.len() / 2],
        errors[errors.len() - 1]
    );
    assert!(errors[errors.len() / 2] < 0.005);
    assert!(errors[errors.len() - 1] < 0.05);
}
