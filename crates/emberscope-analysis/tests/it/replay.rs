//! The replay against the runs that it replays.

use crate::made::{Made, START, every_log, is_broken, read_path, task};
use emberscope_analysis::context::Context;
use emberscope_analysis::replay::{Edit, ReplayModel, Timeline};
use emberscope_analysis::thresholds::Thresholds;
use serde_json::json;

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

/// How much sooner a made run ends with edits.
fn saved(made: &Made, edits: &[Edit]) -> i64 {
    let (run, thresholds) = (made.run(), Thresholds::default());
    let context = Context::of(&run, &thresholds);
    let model = ReplayModel::of(&context).unwrap();
    assert_eq!(model.pinned_error_ms(), 0);
    let end = |edits: &[Edit]| model.replay(edits.iter(), Timeline::Fixed).unwrap().end_ms;
    end(&[]) - end(edits)
}

#[test]
fn edits_save_what_they_must() {
    // One executor of two slots; attempts hold their slots for 9 ms more than they run.
    let stage = |ms: &[i64]| ms.iter().map(|ms| task(*ms)).collect::<Vec<_>>();
    let mut made = Made::new("3.5.1", 1, 2, &[]);
    made.job(None, &[stage(&[991, 991, 991, 3991])]);
    made.wait(5000);
    made.job(None, &[stage(&[991; 4]), stage(&[991; 2])]);
    let first = (0, 0);
    let factors = |factors: &[f32]| Edit::Scale { place: first, factors: factors.to_vec().into() };
    let cases: Vec<(&str, Vec<Edit>, i64)> = vec![
        ("nothing", vec![], 0),
        // 1000 and 1000, then 1000 and 4000: the last ends at 5000, capped at 2000.
        ("a tail of 4000 ms capped at 1000", vec![factors(&[1.0, 1.0, 1.0, 0.25])], 3000),
        ("a task that nobody waits for", vec![factors(&[1.0, 1.0, 0.1, 1.0])], 0),
        (
            "two edits of one task multiply",
            vec![factors(&[1.0, 1.0, 1.0, 0.5]), factors(&[1.0, 1.0, 1.0, 0.5])],
            3000,
        ),
        // 7000 ms of work in 14 tasks over two slots, against 5000 and a task's handover.
        ("other sizes", vec![Edit::Resize { place: first, tasks: 14, overhead_ms: 0.0 }], 1495),
        ("a gap before a job", vec![Edit::JobSooner { job: 1, by_ms: 4000 }], 4000),
        ("a gap cannot be longer than it is", vec![Edit::JobSooner { job: 1, by_ms: 60_000 }], 5020),
        (
            "one gap is saved once",
            vec![Edit::JobSooner { job: 1, by_ms: 4000 }, Edit::JobSooner { job: 1, by_ms: 3000 }],
            4000,
        ),
        ("the end", vec![Edit::EndSooner { by_ms: 200 }], 200),
        ("a stage that does not run", vec![Edit::Drop { place: (1, 0) }], 2018),
        ("attempts that do not happen", vec![Edit::Remove { place: first, tasks: vec![3].into() }], 3000),
        // Two stages, and 10 ms before and 5 ms after each; what lies before the job stays.
        ("a job that does not happen", vec![Edit::DropJob { job: 1 }], 3035),
        (
            "a job and the pause before it",
            vec![Edit::DropJob { job: 1 }, Edit::JobSooner { job: 1, by_ms: 5000 }],
            8035,
        ),
        ("no such stage", vec![Edit::Drop { place: (9, 0) }, Edit::JobSooner { job: 9, by_ms: 9 }], 0),
    ];
    for (name, edits, expected) in cases {
        let saved = saved(&made, &edits);
        assert!((saved - expected).abs() <= 6, "{name}: {saved} against {expected}");
    }
    // With twice the slots the first stage takes its longest task, the others one wave.
    assert!((saved(&made, &[Edit::ScaleSlots { factor: 2.0 }]) - 2000).abs() <= 20);
}

#[test]
fn executors_that_come_late_are_waited_for() {
    let mut made = Made::new("3.5.1", 0, 0, &[]);
    let line = |id: &str, at: i64| {
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": at, "Executor ID": id,
            "Executor Info": {"Host": "h", "Total Cores": 1, "Log Urls": {}}})
    };
    made.line(line("1", START + 6000));
    made.executors_for_tasks(1, 1, START + 6000);
    made.job(None, &[vec![task(1000)]]);
    // The job starts at one second and could have run at once.
    let edit = Edit::ExecutorsBy { until_ms: START + 6000, at_ms: START };
    assert!((saved(&made, std::slice::from_ref(&edit)) - 5000).abs() <= 20);
}

#[test]
fn executors_come_sooner_in_each_ramp_up_by_its_own_edit() {
    let mut made = Made::new("3.5.1", 0, 0, &[]);
    let line = |id: &str, at: i64| {
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": at, "Executor ID": id,
            "Executor Info": {"Host": "h", "Total Cores": 1, "Log Urls": {}}})
    };
    made.line(line("1", START + 3000)).line(line("2", START + 20_000));
    made.executors_for_tasks(1, 1, START + 3000);
    made.job(None, &[vec![task(991); 6]]);
    let first = Edit::ExecutorsBy { until_ms: START + 3000, at_ms: START + 1000 };
    let second = Edit::ExecutorsBy { until_ms: START + 20_000, at_ms: START + 15_000 };
    assert!((saved(&made, &[first.clone(), second]) - 2000).abs() <= 20, "the second comes after the work");
    // An executor that is there from the start takes half of the work.
    let second = Edit::ExecutorsBy { until_ms: START + 20_000, at_ms: START + 1000 };
    assert!((saved(&made, &[first, second]) - 5000).abs() <= 30);
}

#[test]
fn the_end_comes_sooner_by_what_the_last_query_did_after_its_jobs() {
    let plan =
        json!({"nodeName": "Range", "simpleString": "Range", "metadata": {}, "metrics": [], "children": []});
    let mut made = Made::new("3.5.1", 1, 2, &[]);
    made.sql(0, "query", &plan, &json!({}));
    made.job(Some(0), &[vec![task(1000)]]);
    made.wait(3000);
    made.sql_end(0);
    assert_eq!(saved(&made, &[Edit::EndSooner { by_ms: 2000 }]), 2000);
    // There is no more than that to take.
    let most = saved(&made, &[Edit::EndSooner { by_ms: 60_000 }]);
    assert!((3000..6000).contains(&most), "{most}");
}

#[test]
fn a_stage_that_found_all_slots_taken_need_not_wait_without_the_others() {
    // Three jobs at once: while the first launched its tasks a slot was free, and the others queued behind it.
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../validation/logs/plan-duplicate-branches-bad-4.3.0.zst");
    let (run, thresholds) = (read_path(&path), Thresholds::default());
    let model = ReplayModel::of(&Context::of(&run, &thresholds)).unwrap();
    let end = |edits: &[Edit]| model.replay(edits.iter(), Timeline::Fixed).unwrap().end_ms;
    let dropped = [Edit::Drop { place: (0, 0) }, Edit::Drop { place: (2, 0) }];
    assert!((6000..7500).contains(&(end(&[]) - end(&dropped))));
}
