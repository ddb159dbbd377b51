//! Slots: which executors were there, and for how long tasks held their slots.
//!
//! A slot is held from launch to finish minus the result lag: the driver sees a task end some time
//! after its slot is free, so that with `[launch, finish]` executors would hold more tasks than they
//! have cores. The lag is fitted per executor: the smallest one with which its tasks fit.

use crate::intervals::peak_overlap;
use crate::run::{Run, StageAttempt};
use crate::tasks::present;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use std::collections::{BTreeMap, HashMap};

/// Executors and slots of a run. Core-time is in core-milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Most executors at one time.
    pub peak_executors: usize,
    /// Executor lifetimes over the run's duration; `None` without a duration.
    pub mean_executors: Option<f64>,
    /// Lifetimes times cores; `None` when no executor's cores are known.
    pub allocated_core_ms: Option<i64>,
    /// Slot-held time times the task's cpus; `None` without tasks.
    pub occupied_core_ms: Option<i64>,
    /// The same by executor id.
    pub occupied_by_executor: BTreeMap<String, i64>,
    /// Fitted result lag by executor id, milliseconds; only where it is not 0.
    pub result_lag_ms: BTreeMap<String, i64>,
}

/// One task on one executor.
#[derive(Clone, Copy, Debug)]
struct Held {
    launch_ms: i64,
    /// When its slot was free at the latest: result fetch left out.
    free_ms: i64,
    /// Until when the executor certainly worked on it: deserializing and running.
    worked_ms: i64,
    cpus: f64,
}

/// Executors and slots of a run.
pub fn occupancy(run: &Run) -> Occupancy {
    let mut held = HeldSlots::default();
    run.stages.iter().for_each(|stage| held.add(run, stage));
    occupancy_of(run, vec![held])
}

/// Computes executors and slots from the tasks of all stages.
pub(crate) fn occupancy_of(run: &Run, held: Vec<HeldSlots>) -> Occupancy {
    let run_end = run.application.end_ms.unwrap_or(i64::MAX);
    let lifetimes: Vec<(i64, i64)> = run.executors.iter().filter_map(|one| one.lifetime(run_end)).collect();
    let allocated: Vec<i64> = run
        .executors
        .iter()
        .filter_map(|executor| {
            let (added, removed) = executor.lifetime(run_end)?;
            Some((removed - added) * i64::from(executor.cores?))
        })
        .collect();
    let duration = run.application.duration_ms().filter(|duration| *duration > 0);
    let mut result = Occupancy {
        peak_executors: peak_overlap(lifetimes.iter().copied()),
        mean_executors: duration.map(|duration| {
            lifetimes.iter().map(|(added, removed)| removed - added).sum::<i64>() as f64 / duration as f64
        }),
        allocated_core_ms: (!allocated.is_empty()).then(|| allocated.iter().sum()),
        ..Occupancy::default()
    };
    let mut occupied = None;
    let cores: HashMap<&str, u32> =
        run.executors.iter().filter_map(|executor| Some((executor.id.as_str(), executor.cores?))).collect();
    for (executor_id, held) in by_executor(run, held) {
        let lag = cores.get(executor_id.as_str()).map_or(0, |cores| fit_lag(*cores, &held));
        let held_ms: f64 = held
            .iter()
            .map(|task| ((task.free_ms - lag).max(task.worked_ms) - task.launch_ms) as f64 * task.cpus)
            .sum();
        let held_ms = held_ms.round() as i64;
        occupied = Some(occupied.unwrap_or(0) + held_ms);
        result.occupied_by_executor.insert(executor_id.clone(), held_ms);
        if lag > 0 {
            result.result_lag_ms.insert(executor_id, lag);
        }
    }
    result.occupied_core_ms = occupied;
    result
}

/// The finished tasks of every executor, by its number in the string table.
#[derive(Debug, Default)]
pub(crate) struct HeldSlots {
    by_executor: Vec<Vec<Held>>,
    columns: [Vec<i64>; COLUMNS.len()],
}

const COLUMNS: [TaskColumn; 7] = [
    TaskColumn::Status,
    TaskColumn::LaunchTime,
    TaskColumn::FinishTime,
    TaskColumn::GettingResultTime,
    TaskColumn::Executor,
    TaskColumn::ExecutorDeserializeTime,
    TaskColumn::ExecutorRunTime,
];

impl HeldSlots {
    /// Adds the tasks of a stage attempt.
    pub(crate) fn add(&mut self, run: &Run, stage: &StageAttempt) {
        let cpus = task_cpus(run, stage);
        for chunk in stage.tasks.chunks() {
            chunk.gather(COLUMNS, &mut self.columns);
            let [statuses, launches, finishes, results, executors, deserializations, runs] = &self.columns;
            for row in 0..chunk.rows() {
                let (Some(finish), Some(launch)) = (present(finishes[row]), present(launches[row])) else {
                    continue;
                };
                let Some(executor) = present(executors[row]).and_then(|id| usize::try_from(id).ok()) else {
                    continue;
                };
                let status = stage.tasks.status_of(chunk.first_row() + row, statuses[row]);
                if status == TaskStatus::Running || executor >= run.strings.len() {
                    continue;
                }
                let free_ms =
                    present(results[row]).unwrap_or(finish).clamp(launch.min(finish), finish.max(launch));
                let free_ms = free_ms.max(launch);
                let worked = present(deserializations[row]).unwrap_or(0) + present(runs[row]).unwrap_or(0);
                if self.by_executor.len() <= executor {
                    self.by_executor.resize_with(executor + 1, Vec::new);
                }
                let worked_ms = (launch + worked).min(free_ms);
                self.by_executor[executor].push(Held { launch_ms: launch, free_ms, worked_ms, cpus });
            }
        }
    }
}

/// The tasks of every executor, by its name.
fn by_executor(run: &Run, parts: Vec<HeldSlots>) -> BTreeMap<String, Vec<Held>> {
    let mut found: BTreeMap<String, Vec<Held>> = BTreeMap::new();
    for part in parts {
        for (number, held) in part.by_executor.into_iter().enumerate().filter(|(_, held)| !held.is_empty()) {
            let of_executor = found.entry(run.strings.text(number as u32).to_owned()).or_default();
            if of_executor.is_empty() { *of_executor = held } else { of_executor.extend(held) }
        }
    }
    found
}

/// The smallest lag with which at most as many tasks hold a slot as there are slots: with launches and
/// ends each in order, the n-th launch needs the end of the one `slots` before it.
fn fit_lag(cores: u32, held: &[Held]) -> i64 {
    let Some(cpus) = held.first().map(|task| task.cpus) else { return 0 };
    // Stages of several resource profiles on one executor do not occur; mixed cpus cannot be fitted.
    if held.iter().any(|task| task.cpus != cpus) {
        return 0;
    }
    let slots = (f64::from(cores) / cpus).floor().max(1.0) as usize;
    let mut launches: Vec<i64> = held.iter().map(|task| task.launch_ms).collect();
    let mut ends: Vec<i64> = held.iter().map(|task| task.free_ms).collect();
    // Nearly in order already, of which only the stable sort makes use.
    launches.sort();
    ends.sort();
    launches.iter().skip(slots).zip(&ends).map(|(launch, end)| (end - launch).max(0)).max().unwrap_or(0)
}

/// Cores one task of the stage takes: from its resource profile, else `spark.task.cpus`, else 1.
pub fn task_cpus(run: &Run, stage: &StageAttempt) -> f64 {
    let by_profile =
        run.resource_profiles.get(&stage.resource_profile_id).and_then(|profile| profile.task.get("cpus"));
    by_profile
        .map(|request| request.amount)
        .or_else(|| run.spark_property("spark.task.cpus").and_then(|cpus| cpus.parse().ok()))
        .filter(|cpus| *cpus > 0.0)
        .unwrap_or(1.0)
}
