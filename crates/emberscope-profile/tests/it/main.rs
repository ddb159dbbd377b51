//! Recordings of a real application joined with its event log, against known truths. They are kept beside the
//! repository; where they are not, that is said.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they could not check"
)]

use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskQuery;
use emberscope_jfr::view::ViewLimits;
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_profile::ask::{Ask, PAGE_NODES};
use emberscope_profile::find::Places;
use emberscope_profile::graph::{FlameGraph, graph, heat_of};
use emberscope_profile::hot::stage_profiles;
use emberscope_profile::options::{TasksFrom, options};
use emberscope_profile::recorded::{Recorded, Work};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The run of `ap` or `jdk` and its recordings.
fn recorded(name: &str) -> Option<(Run, Recorded)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/jfr").join(name);
    if !dir.is_dir() {
        eprintln!("not checked: there are no recordings at {}", dir.display());
        return None;
    }
    let log = dir.join("eventlog-app.json").display().to_string();
    let source = discover(&log).unwrap().runs.remove(0);
    let run = load(&source, ScanOptions::default(), ParseOptions::default(), &|_| ());
    let places = Places::new(&[dir.display().to_string()]).unwrap();
    let files = places.files(run.application.id.as_deref(), true);
    assert!(places.files(run.application.id.as_deref(), false).is_empty());
    let recorded = Recorded::open(files, &run).unwrap();
    Some((run, recorded))
}

fn of_stage(stage: u32, executor: &str) -> Selection {
    Selection {
        executors: vec![executor.to_owned()],
        tasks: TaskQuery { stage: Some((stage, Some(0))), ..TaskQuery::default() },
        ..Selection::default()
    }
}

fn asked(recorded: &Recorded, run: &Run, event: FlameEvent, wanted: Selection) -> FlameGraph {
    let limits = ViewLimits { max_nodes: PAGE_NODES, ..ViewLimits::default() };
    let ask = Ask { event: Some(event), wanted, against: None, is_inverted: false, limits };
    graph(recorded, run, &ask, &Work { threads: 2, stop: None }).unwrap()
}

#[test]
fn stages_of_async_profiler() {
    let Some((run, recorded)) = recorded("ap") else { return };
    let told = options(&recorded, &run, None).unwrap();
    let ids: Vec<&str> = told.executors.iter().map(|one| one.executor.as_str()).collect();
    assert_eq!(ids, ["driver", "0", "1"]);
    assert_eq!((told.default_executor.as_deref(), told.tasks_from), (Some("driver"), Some(TasksFrom::Log)));
    assert!(told.distortion.is_some(), "async-profiler switches DebugNonSafepoints on");
    for (executor, stages) in [
        ("0", &[(0, 1244), (3, 375), (6, 75), (9, 135), (11, 34), (12, 245), (13, 397)][..]),
        ("1", &[(0, 1184), (2, 77), (3, 342), (5, 12), (6, 62), (8, 8), (9, 124), (12, 245), (13, 421)][..]),
    ] {
        for (stage, samples) in stages {
            let shown = asked(&recorded, &run, FlameEvent::Wall, of_stage(*stage, executor));
            // A sample at the very edge of a task may be told otherwise.
            let off = (shown.graph.sum - samples).abs();
            assert!(off <= 1, "stage {stage} on executor {executor}: {} of {samples}", shown.graph.sum);
            assert!(shown.graph.nodes.parent.len() <= 2 * PAGE_NODES && shown.distortion.is_some());
        }
    }
}

#[test]
fn stages_of_the_jdk() {
    let Some((run, recorded)) = recorded("jdk") else { return };
    for (stage, samples) in [(0, 620), (3, 178), (12, 6)] {
        let shown = asked(&recorded, &run, FlameEvent::Cpu, of_stage(stage, "0"));
        assert!((shown.graph.sum - samples).abs() <= 1, "stage {stage}: {}", shown.graph.sum);
    }
    let hot = asked(&recorded, &run, FlameEvent::Cpu, of_stage(0, "0"));
    assert_eq!(hot.hottest[0].frame, "io.sfw.Work.hotLoop");
    assert_eq!(hot.distortion, None);
    let named = options(&recorded, &run, Some("0")).unwrap();
    assert_eq!(named.executors.iter().map(|one| one.files).collect::<Vec<_>>(), [6, 4, 4]);
    assert!(named.stages.iter().any(|stage| (stage.id, stage.attempt) == (0, 0) && stage.tasks > 0));
    assert!(named.threads.iter().any(|thread| thread.name.starts_with("Executor task launch worker")));
}

#[test]
fn heat_adds_up_to_the_graph() {
    let Some((run, recorded)) = recorded("ap") else { return };
    let ask = Ask {
        event: Some(FlameEvent::Wall),
        wanted: Selection { from_ns: Some(0), to_ns: Some(1), ..Selection::default() },
        against: None,
        is_inverted: false,
        limits: ViewLimits::default(),
    };
    let heat = heat_of(&recorded, &run, &ask, &Work { threads: 2, stop: None }).unwrap().heat.unwrap();
    let sums: Vec<(&str, i64)> =
        heat.rows.iter().map(|row| (row.executor.as_str(), row.weights.iter().sum())).collect();
    assert_eq!(sums, [("0", 201_428), ("1", 202_862), ("driver", 537_075)]);
    assert!(heat.rows.iter().all(|row| row.weights.len() <= 512));
}

#[test]
fn findings_get_the_frames_of_their_stages() {
    let Some((run, recorded)) = recorded("ap") else { return };
    let mut diagnosis = diagnose(&run, &Options::default());
    let stages = diagnosis.stages_with_findings();
    let profiles = stage_profiles(&recorded, &stages, &Work { threads: 2, stop: None }).unwrap();
    assert!(!profiles.is_empty() && profiles.len() <= stages.len(), "{stages:?}");
    diagnosis.add_profiles(&profiles);
    for finding in &diagnosis.findings {
        let Some(profile) = &finding.profile else { continue };
        assert_eq!(finding.scope.stage_id, Some(profile.stage_id));
        assert!(profile.samples > 0 && profile.event == "wall" && profile.frames.len() <= 5);
        assert!(
            profile.frames.iter().all(|frame| 0.0 < frame.own_share && frame.own_share <= frame.total_share)
        );
    }
    assert!(diagnosis.findings.iter().any(|finding| finding.profile.is_some()));
}

/// Methods that sleep, wait for a lock or for Python are waits, of the method of the program that does so; methods
/// that run are those of the program too, whatever the JDK or the system does for them.
#[test]
fn waits_are_told_apart_from_work() {
    let Some((_, recorded)) = recorded("ap") else { return };
    let stages = [(0, 0), (3, 0), (6, 0), (9, 0), (12, 0)];
    let profiles = stage_profiles(&recorded, &stages, &Work { threads: 2, stop: None }).unwrap();
    let of = |stage: u32| profiles.iter().find(|profile| profile.stage_id == stage).unwrap();
    let waiting = |stage: u32| of(stage).waiting_samples as f64 / of(stage).samples as f64;
    // Of two executors, what the truths of each add up to.
    assert!((of(0).samples - (1244 + 1184)).abs() <= 2 && waiting(0) < 0.05);
    assert_eq!(of(3).frames[0].frame, "io.sfw.Work.allocLots");
    assert!(of(3).frames[0].own_share > 0.8 && waiting(3) < 0.1);
    for (stage, method) in [(6, "io.sfw.Work.contended"), (9, "io.sfw.Work.sleepy")] {
        assert!(waiting(stage) > 0.65, "stage {stage}: {}", waiting(stage));
        assert_eq!(of(stage).waits[0].frame, method);
        assert!(of(stage).waits[0].own_share > 0.6);
    }
    let python = &of(12).waits[0].frame;
    assert!(waiting(12) > 0.7 && python.starts_with("org.apache.spark.api.python."), "{python}");
    for profile in &profiles {
        for one in profile.frames.iter().chain(&profile.waits) {
            assert!(!one.frame.contains(".so"), "stage {}: {}", profile.stage_id, one.frame);
        }
        // Where the JVM itself loads classes, stacks cannot be walked to the method that needed them.
        for one in profile.frames.iter().take(1).filter(|_| profile.stage_id != 12).chain(&profile.waits) {
            assert!(!one.frame.starts_with("java."), "stage {}: {}", profile.stage_id, one.frame);
        }
    }
}

#[test]
fn frames_of_a_stage_are_those_it_ran() {
    let Some((_, recorded)) = recorded("jdk") else { return };
    let work = Work { threads: 2, stop: None };
    let profiles = stage_profiles(&recorded, &[(0, 0), (99, 0)], &work).unwrap();
    assert_eq!((profiles.len(), profiles[0].event, profiles[0].executors_not_recorded), (1, "cpu", 0));
    assert_eq!(profiles[0].frames[0].frame, "io.sfw.Work.hotLoop");
    assert!(profiles[0].frames[0].own_share > 0.5 && profiles[0].distortion.is_none());
}

#[test]
fn what_nobody_wants_any_more_is_given_up() {
    let Some((_, recorded)) = recorded("ap") else { return };
    let work = Work { threads: 2, stop: Some(Arc::new(AtomicBool::new(true))) };
    let stopped = recorded.fold(FlameEvent::Wall, &Selection::default(), false, &work);
    assert!(matches!(stopped, Err(emberscope_jfr::fold::FoldError::Stopped)));
    let whole = recorded.fold(FlameEvent::Wall, &Selection::default(), false, &Work::default()).unwrap();
    assert_eq!(whole.tree.sum(), 201_428 + 202_862 + 537_075);
}
