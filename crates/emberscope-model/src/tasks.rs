//! The task attempts of one stage attempt: columns packed in chunks, accumulators beside them.

mod collect;

pub(crate) use collect::SegmentBuilder;

use crate::packed::{FIRST_ACCUMULATOR_KEY, PackedChunk};
use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::columns::{N_TASK_COLUMNS, TaskColumn, TaskStatus};
use std::sync::Arc;

/// A set of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// The first `rows` rows.
    pub(crate) fn first(rows: usize) -> Self {
        let mut words = vec![u64::MAX; rows.div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), rows % 64) {
            *last = (1 << (rows % 64)) - 1;
        }
        RowSet { words }
    }

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
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
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
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

    /// How the attempt of a row ended, whose status column holds `code`.
    #[inline]
    pub(crate) fn status_of(&self, row: usize, code: i64) -> TaskStatus {
        if self.resubmitted.contains(row) { TaskStatus::Resubmitted } else { TaskStatus::from_code(code) }
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

    /// Calls `each` with accumulator id and update of every attempt that counted, an accumulator and a chunk
    /// of rows at a time; `wants` chooses accumulators and says what of an update is kept.
    pub(crate) fn for_each_useful_update<K: Copy>(
        &self,
        wants: impl Fn(u64) -> Option<K>,
        mut each: impl FnMut(u64, K, i64),
    ) {
        let wanted: Vec<Option<K>> = self.accumulator_ids.iter().map(|id| wants(*id)).collect();
        for chunk in self.chunks() {
            let of_accumulators = chunk.chunk.columns().filter(|column| column.key >= FIRST_ACCUMULATOR_KEY);
            for column in of_accumulators {
                let position = (column.key - FIRST_ACCUMULATOR_KEY) as usize;
                let Some(kind) = wanted[position] else { continue };
                let id = self.accumulator_ids[position];
                column.for_each(chunk.rows(), |row, value| {
                    if self.useful.contains(chunk.first_row + row) {
                        each(id, kind, value);
                    }
                });
            }
        }
    }

    /// Calls `each` with accumulator id and the sum of its updates by attempts that counted, a chunk of rows
    /// at a time, where there are any; `wants` chooses accumulators, `is_unset` which values are none.
    pub(crate) fn for_each_useful_sum<K: Copy>(
        &self,
        wants: impl Fn(u64) -> Option<K>,
        is_unset: impl Fn(K, i64) -> bool,
        mut each: impl FnMut(u64, i64),
    ) {
        let wanted: Vec<Option<K>> = self.accumulator_ids.iter().map(|id| wants(*id)).collect();
        let all_count = self.lost.is_empty();
        for chunk in self.chunks() {
            let of_accumulators = chunk.chunk.columns().filter(|column| column.key >= FIRST_ACCUMULATOR_KEY);
            for column in of_accumulators {
                let position = (column.key - FIRST_ACCUMULATOR_KEY) as usize;
                let Some(kind) = wanted[position] else { continue };
                let mut sum: Option<i64> = None;
                let mut add = |value: i64| {
                    if !is_unset(kind, value) {
                        sum = Some(sum.unwrap_or(0).saturating_add(value));
                    }
                };
                if all_count {
                    column.for_each_value(add);
                } else {
                    column.for_each(chunk.rows(), |row, value| {
                        if self.useful.contains(chunk.first_row + row) {
                            add(value);
                        }
                    });
                }
                if let Some(sum) = sum {
                    each(self.accumulator_ids[position], sum);
                }
            }
        }
    }

    /// Sum of every task column over all rows; `None` = not measured.
    pub fn sums(&self) -> TaskSums {
        let mut sums = [None; N_TASK_COLUMNS];
        for chunk in self.chunks() {
            chunk.add_sums(&mut sums);
        }
        sums
    }

    /// Sum of every task column over the attempts that counted; `None` when none of them has it.
    pub fn useful_sums(&self) -> TaskSums {
        if self.lost.is_empty() {
            // Every measured attempt counted: no need to look at rows.
            return self.sums();
        }
        let mut sums = [None; N_TASK_COLUMNS];
        for chunk in self.chunks() {
            chunk.chunk.for_each_below(FIRST_ACCUMULATOR_KEY, |key, row, value| {
                if self.useful.contains(chunk.first_row + row)
                    && let Some(sum) = sums.get_mut(key as usize)
                {
                    *sum = Some(sum.unwrap_or(0i64).wrapping_add(value));
                }
            });
        }
        sums
    }
}

/// Sums of the task columns, in their order.
pub type TaskSums = [Option<i64>; N_TASK_COLUMNS];

/// What [`TaskChunk::gather`] writes where a row has no value: no column can hold it.
pub(crate) const ABSENT: i64 = i64::MIN;

/// The value of a gathered row.
#[inline(always)]
pub(crate) fn present(value: i64) -> Option<i64> {
    (value != ABSENT).then_some(value)
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

    /// Several columns at once, one value per row and [`ABSENT`] where there is none.
    pub(crate) fn gather<const N: usize>(&self, columns: [TaskColumn; N], values: &mut [Vec<i64>; N]) {
        for values in values.iter_mut() {
            values.clear();
            values.resize(self.rows(), ABSENT);
        }
        self.chunk.gather(columns.map(|column| column.slot() as u32), values);
    }

    /// Bit per task column: whether any row has another value than 0.
    pub(crate) fn nonzero(&self) -> u64 {
        self.chunk.nonzero_below(FIRST_ACCUMULATOR_KEY).fold(0, |mask, key| mask | 1 << key)
    }

    pub(crate) fn add_sums(&self, sums: &mut TaskSums) {
        self.chunk.for_each_sum_below(FIRST_ACCUMULATOR_KEY, |key, sum| {
            if let Some(slot) = sums.get_mut(key as usize) {
                *slot = Some(slot.unwrap_or(0i64).wrapping_add(sum));
            }
        });
    }
}
