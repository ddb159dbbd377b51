//! Everything of a run that has a time, in the order in which it is looked for. Made once, when a timeline is
//! first asked for.

use super::bands::{BandIndex, bands};
use super::rows::Rows;
use crate::attribution::task_parts;
use crate::context::Digests;
use crate::stage_view::StageView;
use crate::views::Clock;
use emberscope_log::columns::TaskStatus;
use emberscope_model::run::{Executor, Run};
use std::collections::BTreeMap;

/// A task attempt. Times since the run's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) task_id: i64,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    /// Position of its stage attempt in the run.
    pub(super) stage: u32,
    /// Executor and locality, numbers of the run's table of texts.
    executor: u32,
    pub(super) locality: u32,
    /// Row on its executor.
    pub(super) row: u16,
    pub(super) status: u8,
    pub(super) is_counted: bool,
    pub(super) parts: [u32; 7],
}

/// The task attempts of one executor, by launch.
#[derive(Clone, Debug)]
pub(super) struct ExecutorLane {
    pub(super) id: String,
    pub(super) host: Option<String>,
    pub(super) cores: Option<u32>,
    pub(super) from_ms: Option<i64>,
    pub(super) to_ms: Option<i64>,
    pub(super) rows: u32,
    /// Positions of its attempts among all.
    pub(super) items: std::ops::Range<usize>,
}

/// Executors of a host, with the first row of each.
#[derive(Clone, Debug, Default)]
pub(super) struct HostLane {
    pub(super) host: String,
    pub(super) executors: Vec<(usize, u32)>,
    pub(super) rows: u32,
    pub(super) cores: Option<u32>,
}

/// The task attempts of one stage attempt, by launch, with their rows.
#[derive(Clone, Debug, Default)]
pub(super) struct StageLane {
    pub(super) items: Vec<(u32, u32)>,
    pub(super) rows: u32,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

/// A stage attempt, as far as a filter asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct StagePlace {
    pub(super) id: u32,
    pub(super) attempt: u32,
    pub(super) job_id: Option<u32>,
    pub(super) sql_id: Option<u64>,
    pub(super) cpus: f64,
}

/// Everything of a run that has a time.
#[derive(Clone, Debug)]
pub struct TimelineIndex {
    pub(super) clock: Clock,
    /// All task attempts, by executor and launch.
    pub(super) items: Vec<Item>,
    pub(super) executors: Vec<ExecutorLane>,
    pub(super) hosts: Vec<HostLane>,
    pub(super) stage_lanes: Vec<StageLane>,
    pub(super) stages: Vec<StagePlace>,
    pub(super) sql: BandIndex,
    pub(super) jobs: BandIndex,
    pub(super) stage_band: BandIndex,
}

impl TimelineIndex {
    /// Memory that a task attempt takes.
    pub const BYTES_A_TASK: usize = size_of::<Item>() + size_of::<(u32, u32)>();

    /// Looks over a run.
    pub fn of(run: &Run, digests: &Digests) -> TimelineIndex {
        let clock = Clock::of(run);
        let parts = crate::parallel::map(&run.stages, |position, stage| {
            items_of(&StageView::times_of(stage, &digests.stages[position], clock.end_ms), position, clock)
        });
        let mut items: Vec<Item> = parts.into_iter().flatten().collect();
        items.sort_unstable_by_key(|item| (item.executor, item.from_ms, item.task_id));
        let stages: Vec<StagePlace> = digests
            .stages
            .iter()
            .map(|digest| StagePlace {
                id: digest.id,
                attempt: digest.attempt,
                job_id: digest.job_id,
                sql_id: digest.sql_id,
                cpus: digest.task_cpus,
            })
            .collect();
        let executors = executor_lanes(run, clock, &mut items);
        let hosts = host_lanes(&executors);
        let stage_lanes = stage_lanes(&items, stages.len());
        let (sql, jobs, stage_band) = bands(run, digests, clock);
        TimelineIndex { clock, items, executors, hosts, stage_lanes, stages, sql, jobs, stage_band }
    }
}

fn items_of(view: &StageView<'_>, position: usize, clock: Clock) -> Vec<Item> {
    let short = |ms: i64| u32::try_from(ms).unwrap_or(u32::MAX);
    let item = |task: &crate::stage_view::Task| {
        let parts = task_parts(task);
        Item {
            task_id: task.id,
            from_ms: clock.at(task.launch_ms),
            to_ms: clock.at(task.finish_ms),
            stage: position as u32,
            executor: task.executor,
            locality: task.locality,
            row: 0,
            status: match task.status {
                TaskStatus::Success => 0,
                TaskStatus::Running => 3,
                TaskStatus::Resubmitted => 4,
                status if status.is_killed() => 2,
                _ => 1,
            },
            is_counted: task.is_useful,
            // In the order of `TASK_PARTS`.
            parts: [
                short(parts.cpu_ms),
                short(parts.other_ms),
                short(parts.fetch_wait_ms),
                short(parts.shuffle_write_ms),
                short(parts.gc_ms),
                short(parts.deserialize_ms),
                short(parts.result_ms),
            ],
        }
    };
    view.tasks.iter().map(item).collect()
}

/// Lanes of executors in the order of the run's; those that ran tasks and are not among them come last. Gives
/// every attempt a row, of as many as there are cores.
fn executor_lanes(run: &Run, clock: Clock, items: &mut [Item]) -> Vec<ExecutorLane> {
    let mut found: BTreeMap<u32, (std::ops::Range<usize>, u32)> = BTreeMap::new();
    let mut begin = 0;
    for group in items.chunk_by_mut(|one, next| one.executor == next.executor) {
        let id = group[0].executor;
        let cores = run.executors.iter().find(|one| one.id == run.strings.text(id)).and_then(|one| one.cores);
        let mut rows = Rows::of_slots(cores);
        for item in group.iter_mut() {
            let row = rows.place(item.from_ms, item.to_ms);
            item.row = u16::try_from(row).unwrap_or(u16::MAX);
        }
        found.insert(id, (begin..begin + group.len(), rows.len()));
        begin += group.len();
    }
    let lane = |executor: &Executor, of_tasks: Option<(std::ops::Range<usize>, u32)>| {
        let (items, rows) = of_tasks.unwrap_or_default();
        ExecutorLane {
            id: executor.id.clone(),
            host: executor.host.clone(),
            cores: executor.cores,
            from_ms: executor.added_ms.map(|ms| clock.at(ms)),
            to_ms: executor.removed_ms.map(|ms| clock.at(ms)),
            rows: rows.max(1),
            items,
        }
    };
    let mut lanes: Vec<ExecutorLane> = run
        .executors
        .iter()
        .map(|executor| lane(executor, run.strings.find(&executor.id).and_then(|id| found.remove(&id))))
        .collect();
    lanes.extend(found.into_iter().map(|(id, of_tasks)| {
        let unknown = Executor { id: run.strings.text(id).to_owned(), ..Executor::default() };
        lane(&unknown, Some(of_tasks))
    }));
    lanes
}

fn host_lanes(executors: &[ExecutorLane]) -> Vec<HostLane> {
    let mut hosts: BTreeMap<&str, HostLane> = BTreeMap::new();
    for (at, executor) in executors.iter().enumerate() {
        let name = executor.host.as_deref().unwrap_or_default();
        let lane =
            hosts.entry(name).or_insert_with(|| HostLane { host: name.to_owned(), ..HostLane::default() });
        lane.executors.push((at, lane.rows));
        lane.rows += executor.rows;
        if let Some(cores) = executor.cores {
            lane.cores = Some(lane.cores.unwrap_or(0) + cores);
        }
    }
    hosts.into_values().collect()
}

fn stage_lanes(items: &[Item], stages: usize) -> Vec<StageLane> {
    let mut lanes = vec![StageLane::default(); stages];
    for (at, item) in items.iter().enumerate() {
        lanes[item.stage as usize].items.push((at as u32, 0));
    }
    for lane in &mut lanes {
        lane.items.sort_unstable_by_key(|(at, _)| (items[*at as usize].from_ms, *at));
        let mut rows = Rows::default();
        for (at, row) in &mut lane.items {
            let item = &items[*at as usize];
            *row = rows.place(item.from_ms, item.to_ms);
            lane.to_ms = lane.to_ms.max(item.to_ms);
        }
        lane.rows = rows.len();
        lane.from_ms = lane.items.first().map_or(0, |(at, _)| items[*at as usize].from_ms);
    }
    lanes
}
