//! The task attempts of one stage attempt: columns packed in chunks, accumulators beside them.

use crate::packed::{CHUNK_ROWS, ChunkWriter, FIRST_ACCUMULATOR_KEY, PackedChunk};
use emberscope_log::columns::{N_TASK_COLUMNS, TASK_COLUMNS, TaskColumn, TaskStatus};
use emberscope_log::event::task::{AccumulatorUpdate, TaskRow};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// Adds a row.
    pub fn insert(&mut self, row: usize) {
        if self.words.len() <= row / 64 {
            self.words.resize(row / 64 + 1, 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Whether a row is in the set.
    #[inline]
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Number of rows in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set has no rows.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

/// Why a task attempt's work did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LostCause {
    /// The attempt failed.
    Failed,
    /// The attempt was killed.
    Killed,
    /// Another copy of the same task won.
    Speculation,
    /// A later attempt of the stage did the partition again.
    StageRetry,
    /// The output was lost and the partition redone in the same stage attempt, or never.
    Resubmitted,
    /// The executor was lost while the task ran.
    ExecutorLoss,
    /// A shuffle block could not be fetched.
    FetchFailed,
}

impl LostCause {
    /// All causes, in the order of the contract.
    pub const ALL: [LostCause; 7] = [
        Self::Failed,
        Self::Killed,
        Self::Speculation,
        Self::StageRetry,
        Self::Resubmitted,
        Self::ExecutorLoss,
        Self::FetchFailed,
    ];

    /// The key in `lost.by_cause`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Speculation => "speculation",
            Self::StageRetry => "stage_retry",
            Self::Resubmitted => "resubmitted",
            Self::ExecutorLoss => "executor_loss",
            Self::FetchFailed => "fetch_failed",
        }
    }
}

/// All task attempts of one stage attempt.
///
/// Rows stand in the order of the log; [`TaskSegment::canonical_rows`] gives the order that does not
/// depend on it.
#[derive(Clone, Debug, Default)]
pub struct TaskSegment {
    chunks: Vec<Arc<PackedChunk>>,
    rows: usize,
    accumulator_ids: Vec<u64>,
    pub(crate) resubmitted: RowSet,
    pub(crate) useful: RowSet,
    pub(crate) lost: Vec<(u32, LostCause)>,
}

impl TaskSegment {
    /// Number of task attempts, running ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.memory_bytes()).sum::<usize>()
            + self.accumulator_ids.len() * 8
            + (self.useful.words.len() + self.resubmitted.words.len()) * 8
            + self.lost.len() * size_of::<(u32, LostCause)>()
    }

    /// Calls `each` with row and value for every row that has the column.
    pub fn for_each(&self, column: TaskColumn, each: impl FnMut(usize, i64)) {
        self.for_each_key(column.slot() as u32, each);
    }

    /// The attempts a chunk of rows at a time, for what must not hold a column of all of them.
    pub fn chunks(&self) -> impl Iterator<Item = TaskChunk<'_>> {
        self.chunks.iter().scan(0, |next_row, chunk| {
            let first_row = *next_row;
            *next_row += chunk.rows();
            Some(TaskChunk { first_row, chunk })
        })
    }

    fn for_each_key(&self, key: u32, mut each: impl FnMut(usize, i64)) {
        let mut first_row = 0;
        for chunk in &self.chunks {
            chunk.for_each(key, |row, value| each(first_row + row, value));
            first_row += chunk.rows();
        }
    }

    /// One value per row; `None` = not measured.
    pub fn column(&self, column: TaskColumn) -> Vec<Option<i64>> {
        let mut values = vec![None; self.rows];
        self.for_each(column, |row, value| values[row] = Some(value));
        values
    }

    /// One value per row, `absent` where there is none.
    pub fn column_or(&self, column: TaskColumn, absent: i64) -> Vec<i64> {
        let mut values = vec![absent; self.rows];
        self.for_each(column, |row, value| values[row] = value);
        values
    }

    /// How each attempt ended; a success whose output was lost is `Resubmitted`.
    pub fn statuses(&self) -> Vec<TaskStatus> {
        let mut statuses = vec![TaskStatus::Unknown; self.rows];
        self.for_each(TaskColumn::Status, |row, code| statuses[row] = TaskStatus::from_code(code));
        if !self.resubmitted.is_empty() {
            for (row, status) in statuses.iter_mut().enumerate() {
                if self.resubmitted.contains(row) {
                    *status = TaskStatus::Resubmitted;
                }
            }
        }
        statuses
    }

    /// The attempts whose output counted.
    pub fn useful(&self) -> &RowSet {
        &self.useful
    }

    /// The attempts whose work was lost, and why.
    pub fn lost(&self) -> &[(u32, LostCause)] {
        &self.lost
    }

    /// Rows ordered by task id: the same for every order of the log.
    pub fn canonical_rows(&self) -> Vec<usize> {
        let ids = self.column_or(TaskColumn::TaskId, 0);
        let mut rows: Vec<usize> = (0..self.rows).collect();
        rows.sort_by_key(|row| ids[*row]);
        rows
    }

    /// Ids of the accumulators that any task updated, in order of first sight.
    pub fn accumulator_ids(&self) -> &[u64] {
        &self.accumulator_ids
    }

    /// Calls `each` with accumulator id, row and update for every update.
    pub fn for_each_accumulator(&self, mut each: impl FnMut(u64, usize, i64)) {
        let mut first_row = 0;
        for chunk in &self.chunks {
            chunk.for_each_accumulator(|key, row, value| {
                let id = self.accumulator_ids[(key - FIRST_ACCUMULATOR_KEY) as usize];
                each(id, first_row + row, value);
            });
            first_row += chunk.rows();
        }
    }

    /// Calls `each` with row and update for one accumulator.
    pub fn for_each_update(&self, accumulator_id: u64, each: impl FnMut(usize, i64)) {
        if let Some(position) = self.accumulator_ids.iter().position(|id| *id == accumulator_id) {
            self.for_each_key(FIRST_ACCUMULATOR_KEY + position as u32, each);
        }
    }

    /// Sum and number of measured rows of every task column, over all rows.
    pub fn sums(&self) -> [Option<i64>; N_TASK_COLUMNS] {
        let mut sums = [None; N_TASK_COLUMNS];
        for chunk in &self.chunks {
            chunk.for_each_sum(|key, _, sum| {
                if let Some(slot) = sums.get_mut(key as usize) {
                    *slot = Some(slot.unwrap_or(0i64).wrapping_add(sum));
                }
            });
        }
        sums
    }

    /// Sum of a column over the rows in `rows`; `None` when none of them has it.
    pub fn sum_of(&self, column: TaskColumn, rows: &RowSet) -> Option<i64> {
        let mut sum = None;
        self.for_each(column, |row, value| {
            if rows.contains(row) {
                sum = Some(sum.unwrap_or(0i64).wrapping_add(value));
            }
        });
        sum
    }
}

/// Some consecutive attempts of a segment.
#[derive(Clone, Copy, Debug)]
pub struct TaskChunk<'a> {
    first_row: usize,
    chunk: &'a PackedChunk,
}

impl TaskChunk<'_> {
    /// Position of its first row in the segment.
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.chunk.rows()
    }

    /// Calls `each` with row (from 0 in each chunk) and value for every row that has the column.
    pub fn for_each(&self, column: TaskColumn, each: impl FnMut(usize, i64)) {
        self.chunk.for_each(column.slot() as u32, each);
    }

    /// One value per row; `None` = not measured.
    pub fn column(&self, column: TaskColumn) -> Vec<Option<i64>> {
        let mut values = vec![None; self.rows()];
        self.for_each(column, |row, value| values[row] = Some(value));
        values
    }
}

/// Collects rows and packs them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentBuilder {
    segment: TaskSegment,
    open: Vec<TaskRow>,
    /// Updates of the open rows: position in the dictionary and value.
    updates: Vec<(u32, i64)>,
    dictionary: FxHashMap<u64, u32>,
    /// The dictionary positions of the last task's updates: the next task's are usually the same.
    last_order: Vec<u32>,
    /// Task ids that a `Resubmitted` took back.
    pub(crate) resubmitted_ids: FxHashSet<u64>,
    /// Values that cannot be, by column, with how often they were left out.
    pub(crate) implausible: BTreeMap<&'static str, u64>,
}

impl SegmentBuilder {
    /// Adds a row with its accumulator updates.
    pub(crate) fn push(&mut self, mut row: TaskRow, updates: &[AccumulatorUpdate]) {
        let start = self.updates.len() as u32;
        for (nth, update) in updates.iter().enumerate() {
            let position = self.dictionary_position(nth, update.id);
            self.updates.push((position, update.value));
        }
        row.accumulators = start..self.updates.len() as u32;
        self.open.push(row);
        if self.open.len() >= CHUNK_ROWS {
            self.seal();
        }
    }

    #[inline]
    fn dictionary_position(&mut self, nth: usize, id: u64) -> u32 {
        let ids = &mut self.segment.accumulator_ids;
        if let Some(&predicted) = self.last_order.get(nth)
            && ids[predicted as usize] == id
        {
            return predicted;
        }
        if self.dictionary.is_empty() && !ids.is_empty() {
            // The stage had been completed; a task end came late.
            self.dictionary.extend(ids.iter().enumerate().map(|(position, id)| (*id, position as u32)));
        }
        let position = *self.dictionary.entry(id).or_insert_with(|| {
            ids.push(id);
            (ids.len() - 1) as u32
        });
        if nth < self.last_order.len() {
            self.last_order[nth] = position;
        } else if nth == self.last_order.len() {
            self.last_order.push(position);
        }
        position
    }

    /// Number of rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.segment.rows + self.open.len()
    }

    /// Packs the rows that wait and gives back what only more of them would need: a log may have many
    /// thousand stages of few tasks. Rows may still come late.
    pub(crate) fn complete(&mut self) {
        self.seal();
        self.open = Vec::new();
        self.updates = Vec::new();
        self.dictionary = FxHashMap::default();
        self.last_order = Vec::new();
        self.segment.chunks.shrink_to_fit();
        self.segment.accumulator_ids.shrink_to_fit();
    }

    /// Packs the rows that wait.
    fn seal(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut rows = std::mem::take(&mut self.open);
        self.drop_implausible(&mut rows);
        let mut writer = ChunkWriter::new(rows.len());
        let everywhere = rows.iter().fold(u64::MAX, |mask, row| mask & row.present);
        let anywhere = rows.iter().fold(0, |mask, row| mask | row.present);
        let mut values = Vec::with_capacity(rows.len());
        let mut bitmap = vec![0u8; rows.len().div_ceil(8)];
        for slot in (0..N_TASK_COLUMNS).filter(|slot| anywhere >> slot & 1 == 1) {
            values.clear();
            if everywhere >> slot & 1 == 1 {
                values.extend(rows.iter().map(|row| row.values[slot]));
                writer.dense(slot as u32, &values);
                continue;
            }
            bitmap.fill(0);
            for (n, row) in rows.iter().enumerate().filter(|(_, row)| row.present >> slot & 1 == 1) {
                bitmap[n / 8] |= 1 << (n % 8);
                values.push(row.values[slot]);
            }
            writer.sparse(slot as u32, &bitmap, &values);
        }
        self.seal_updates(&rows, &mut writer, &mut bitmap);
        self.segment.chunks.push(Arc::new(writer.finish()));
        self.segment.rows += rows.len();
        self.updates.clear();
        self.open = rows;
        self.open.clear();
    }

    /// Leaves out values that cannot be: they become "not measured" and are counted.
    fn drop_implausible(&mut self, rows: &mut [TaskRow]) {
        for def in TASK_COLUMNS {
            let plausible = def.unit.plausible();
            let slot = def.column.slot();
            // Absent values are 0, which is plausible everywhere.
            if rows.iter().all(|row| plausible.contains(&row.values[slot])) {
                continue;
            }
            for row in rows.iter_mut().filter(|row| !plausible.contains(&row.values[slot])) {
                // Spark itself writes -1 for an executor metric that was never polled.
                let is_unset = row.values[slot] == -1 && slot >= TaskColumn::JvmHeapMemory.slot();
                row.values[slot] = 0;
                row.present &= !(1 << slot);
                *self.implausible.entry(def.name).or_default() += u64::from(!is_unset);
            }
        }
    }

    /// Turns the updates, which stand row by row, into columns: a counting sort by accumulator.
    fn seal_updates(&self, rows: &[TaskRow], writer: &mut ChunkWriter, bitmap: &mut [u8]) {
        let n_ids = self.segment.accumulator_ids.len();
        let mut ends = vec![0u32; n_ids + 1];
        for (position, _) in &self.updates {
            ends[*position as usize + 1] += 1;
        }
        for n in 0..n_ids {
            ends[n + 1] += ends[n];
        }
        let mut next = ends.clone();
        let mut by_id = vec![(0u32, 0i64); self.updates.len()];
        for (n, row) in rows.iter().enumerate() {
            for (position, value) in
                &self.updates[row.accumulators.start as usize..row.accumulators.end as usize]
            {
                let slot = &mut next[*position as usize];
                by_id[*slot as usize] = (n as u32, *value);
                *slot += 1;
            }
        }
        let mut values: Vec<i64> = Vec::with_capacity(rows.len());
        for id in 0..n_ids {
            let updates = &by_id[ends[id] as usize..ends[id + 1] as usize];
            if updates.is_empty() {
                continue;
            }
            bitmap.fill(0);
            values.clear();
            let mut last_row = u32::MAX;
            for (row, value) in updates {
                if *row == last_row {
                    // The same accumulator twice in one task: Spark merges such updates by adding.
                    if let Some(last) = values.last_mut() {
                        *last = last.wrapping_add(*value);
                    }
                    continue;
                }
                last_row = *row;
                bitmap[*row as usize / 8] |= 1 << (row % 8);
                values.push(*value);
            }
            writer.sparse(FIRST_ACCUMULATOR_KEY + id as u32, bitmap, &values);
        }
    }

    /// The finished segment; what was left out of it goes to `implausible`. Rows of ids in `resubmitted_ids`
    /// are marked.
    pub(crate) fn finish(mut self, implausible: &mut BTreeMap<&'static str, u64>) -> TaskSegment {
        self.seal();
        for (name, times) in &self.implausible {
            *implausible.entry(name).or_default() += times;
        }
        let mut segment = self.segment;
        if !self.resubmitted_ids.is_empty() {
            let mut marked = RowSet::default();
            let statuses = segment.statuses();
            segment.for_each(TaskColumn::TaskId, |row, id| {
                if statuses[row] == TaskStatus::Success && self.resubmitted_ids.contains(&(id as u64)) {
                    marked.insert(row);
                }
            });
            segment.resubmitted = marked;
        }
        segment.chunks.shrink_to_fit();
        segment
    }
}
