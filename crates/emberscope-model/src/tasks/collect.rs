//! Rows on their way into a segment: collected, then packed.

use super::{RowSet, TaskSegment};
use crate::packed::{CHUNK_ROWS, ChunkWriter, FIRST_ACCUMULATOR_KEY};
use emberscope_log::columns::{N_TASK_COLUMNS, TASK_COLUMNS, TaskColumn, TaskStatus};
use emberscope_log::event::task::{AccumulatorUpdate, TaskRow};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

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
