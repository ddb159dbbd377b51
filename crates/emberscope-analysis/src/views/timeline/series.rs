//! Cores, executors and memory over time.

use super::TASK_PARTS;
use super::index::TimelineIndex;
use crate::plots::buckets::Buckets;
use crate::views::Clock;
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The run, or a part of it, in pieces of equal length. Means over each piece unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The run's start, epoch milliseconds, from which times count.
    pub start_time_ms: i64,
    /// Length of the run.
    pub duration_ms: i64,
    /// Begin of the first piece.
    pub from_ms: i64,
    /// End of the last piece.
    pub to_ms: i64,
    /// Length of a piece.
    pub bucket_ms: f64,
    /// Executors that lived.
    pub executors: Vec<f64>,
    /// Executors that were added in the piece.
    pub executors_added: Vec<u32>,
    /// Executors that were removed in the piece.
    pub executors_removed: Vec<u32>,
    /// Cores that executors offered.
    pub cores_offered: Vec<f64>,
    /// Cores that task attempts held, from launch to finish.
    pub cores_held: Vec<f64>,
    /// The same by locality.
    pub cores_by_locality: Vec<NamedSeries>,
    /// The same by part of task time; each attempt's parts are spread over its whole time.
    pub cores_by_part: Vec<NamedSeries>,
    /// Highest values that attempts which ended in the piece report of their executors' memory; only those that the
    /// log has.
    pub memory_peaks: Vec<MemorySeries>,
}

/// Values with a name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NamedSeries {
    /// Locality level, or key of a part.
    pub key: String,
    /// Value of each piece.
    pub values: Vec<f64>,
}

/// Peaks of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemorySeries {
    /// Column of the task table.
    pub key: &'static str,
    /// Highest value in each piece, bytes; `None` where no attempt ended.
    pub peaks_bytes: Vec<Option<i64>>,
}

/// Columns of memory.
const MEMORY: &[TaskColumn] = &[
    TaskColumn::JvmHeapMemory,
    TaskColumn::JvmOffHeapMemory,
    TaskColumn::OnHeapExecutionMemory,
    TaskColumn::OffHeapExecutionMemory,
    TaskColumn::OnHeapStorageMemory,
    TaskColumn::OffHeapStorageMemory,
    TaskColumn::ProcessTreeJvmRss,
    TaskColumn::ProcessTreePythonRss,
    TaskColumn::ProcessTreeOtherRss,
];

/// Pieces of a part of the run, by number.
#[derive(Clone, Copy)]
struct Grid {
    from: i64,
    to: i64,
    pieces: usize,
}

impl Grid {
    fn buckets(self) -> Buckets {
        Buckets::new(self.from, self.to, self.pieces)
    }

    /// The piece of a time; `None` outside.
    fn place(self, ms: i64) -> Option<usize> {
        if ms < self.from || ms > self.to {
            return None;
        }
        let at = (ms - self.from) as f64 / (self.to - self.from) as f64 * self.pieces as f64;
        Some((at as usize).min(self.pieces - 1))
    }
}

/// The part of the run between two times since its start, in `pieces`.
pub fn series(run: &Run, index: &TimelineIndex, from_ms: i64, to_ms: i64, pieces: usize) -> Series {
    let clock = index.clock;
    let grid = Grid { from: from_ms, to: to_ms.max(from_ms + 1), pieces: pieces.max(1) };
    let mut held = grid.buckets();
    let mut by_locality: BTreeMap<u32, Buckets> = BTreeMap::new();
    let mut by_part: Vec<Buckets> = TASK_PARTS.iter().map(|_| grid.buckets()).collect();
    for item in &index.items {
        if item.to_ms < grid.from || item.from_ms > grid.to {
            continue;
        }
        let cpus = index.stages[item.stage as usize].cpus;
        held.add(item.from_ms, item.to_ms, cpus);
        let of_locality = by_locality.entry(item.locality).or_insert_with(|| grid.buckets());
        of_locality.add(item.from_ms, item.to_ms, cpus);
        let length = (item.to_ms - item.from_ms) as f64;
        for (buckets, ms) in by_part.iter_mut().zip(item.parts).filter(|(_, ms)| *ms > 0) {
            buckets.add(item.from_ms, item.to_ms, cpus * f64::from(ms) / length);
        }
    }
    let executors = executors(run, clock, grid);
    let offered = executors.offered.means();
    // Results that the driver saw late make tasks seem to hold more cores than there are: all are drawn smaller.
    let held = held.means();
    let fit: Vec<f64> = held
        .iter()
        .zip(&offered)
        .map(|(held, offered)| if *offered > 0.0 && held > offered { offered / held } else { 1.0 })
        .collect();
    let fitted =
        |means: Vec<f64>| -> Vec<f64> { means.iter().zip(&fit).map(|(mean, fit)| mean * fit).collect() };
    Series {
        start_time_ms: clock.start_ms,
        duration_ms: clock.duration_ms(),
        from_ms: grid.from,
        to_ms: grid.to,
        bucket_ms: (grid.to - grid.from) as f64 / grid.pieces as f64,
        executors: executors.alive.means(),
        executors_added: executors.added,
        executors_removed: executors.removed,
        cores_offered: offered,
        cores_held: fitted(held),
        cores_by_locality: by_locality
            .into_iter()
            .map(|(text, buckets)| named(run.strings.text(text), fitted(buckets.means())))
            .collect(),
        cores_by_part: TASK_PARTS
            .iter()
            .zip(&by_part)
            .map(|(key, buckets)| named(key, fitted(buckets.means())))
            .collect(),
        memory_peaks: memory(run, clock, grid),
    }
}

fn named(key: &str, values: Vec<f64>) -> NamedSeries {
    NamedSeries { key: key.to_owned(), values }
}

struct Executors {
    alive: Buckets,
    offered: Buckets,
    added: Vec<u32>,
    removed: Vec<u32>,
}

fn executors(run: &Run, clock: Clock, grid: Grid) -> Executors {
    let mut found = Executors {
        alive: grid.buckets(),
        offered: grid.buckets(),
        added: vec![0; grid.pieces],
        removed: vec![0; grid.pieces],
    };
    for executor in &run.executors {
        let (Some((added, removed)), Some(cores)) = (executor.lifetime(clock.end_ms), executor.cores) else {
            continue;
        };
        found.alive.add(clock.at(added), clock.at(removed), 1.0);
        found.offered.add(clock.at(added), clock.at(removed), f64::from(cores));
        if let Some(piece) = grid.place(clock.at(added)) {
            found.added[piece] += 1;
        }
        if let Some(piece) = executor.removed_ms.and_then(|ms| grid.place(clock.at(ms))) {
            found.removed[piece] += 1;
        }
    }
    found
}

fn memory(run: &Run, clock: Clock, grid: Grid) -> Vec<MemorySeries> {
    let mut peaks: Vec<Vec<Option<i64>>> = vec![vec![None; grid.pieces]; MEMORY.len()];
    for stage in &run.stages {
        let pieces: Vec<Option<usize>> = stage
            .tasks
            .column(TaskColumn::FinishTime)
            .into_iter()
            .map(|finish| finish.and_then(|ms| grid.place(clock.at(ms))))
            .collect();
        // A task between two polls of its executor reports 0 for everything, its heap too.
        let was_polled = stage.tasks.column(TaskColumn::JvmHeapMemory);
        let was_polled: Vec<bool> = was_polled.into_iter().map(|heap| heap != Some(0)).collect();
        for (column, of_column) in MEMORY.iter().zip(&mut peaks) {
            stage.tasks.for_each(*column, |row, value| {
                if let Some(piece) = pieces[row].filter(|_| was_polled[row]) {
                    of_column[piece] = of_column[piece].max(Some(value));
                }
            });
        }
    }
    // What is 0 throughout was not polled.
    let is_measured = |of_column: &Vec<Option<i64>>| of_column.iter().flatten().any(|value| *value > 0);
    MEMORY
        .iter()
        .zip(peaks)
        .filter(|(_, of_column)| is_measured(of_column))
        .map(|(column, peaks_bytes)| MemorySeries { key: column.def().name, peaks_bytes })
        .collect()
}
