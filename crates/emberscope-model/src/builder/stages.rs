//! Jobs, stages and tasks.

use super::RunBuilder;
use crate::run::{Job, JobStatus, StageAccumulator, UnsubmittedStage};
use crate::tasks::SegmentBuilder;
use emberscope_log::block::ParsedBlock;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_log::event::stage::{JobEnd, JobStart, StageInfo, StageSubmitted};
use emberscope_log::event::task::TaskStart;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One stage attempt while it is collected.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageEntry {
    pub(crate) id: u32,
    pub(crate) attempt: u32,
    pub(crate) name: Arc<str>,
    pub(crate) details: Arc<str>,
    pub(crate) num_tasks: Option<u64>,
    pub(crate) submitted_ms: Option<i64>,
    pub(crate) completed_ms: Option<i64>,
    pub(crate) is_submitted: bool,
    pub(crate) is_completed: bool,
    pub(crate) failure_reason: Option<String>,
    pub(crate) parent_ids: Vec<u32>,
    pub(crate) rdd_ids: Vec<u32>,
    pub(crate) is_barrier: bool,
    pub(crate) is_result: bool,
    pub(crate) resource_profile_id: u32,
    pub(crate) pool: Option<String>,
    pub(crate) accumulators: BTreeMap<u64, StageAccumulator>,
    pub(crate) sql_metric_values: Box<[(u64, i64)]>,
    pub(crate) executor_peaks: BTreeMap<String, BTreeMap<String, i64>>,
    pub(crate) tasks: SegmentBuilder,
    /// Ends that took a success back and whose success is not in the log yet.
    pub(crate) resubmitted: FxHashMap<u64, TaskStart>,
}

/// Which task attempts have been seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskIndex {
    /// Bit per task id, for ids up to a limit.
    ended: Vec<u64>,
    /// Ended tasks with ids beyond it; none in a log that Spark wrote.
    ended_far: FxHashSet<u64>,
    /// Started and not ended.
    pub(crate) started: FxHashMap<u64, TaskStart>,
    /// Ends that repeat a task id.
    pub(crate) repeated_ends: u64,
}

const DENSE_TASK_IDS: u64 = 1 << 28;

impl TaskIndex {
    /// Marks a task as ended; false when it already was.
    fn end(&mut self, task_id: u64) -> bool {
        if task_id >= DENSE_TASK_IDS {
            return self.ended_far.insert(task_id);
        }
        let (word, bit) = ((task_id / 64) as usize, task_id % 64);
        if self.ended.len() <= word {
            self.ended.resize((word + 1).max(2 * self.ended.len()), 0);
        }
        let is_new = self.ended[word] >> bit & 1 == 0;
        self.ended[word] |= 1 << bit;
        is_new
    }

    pub(crate) fn has_ended(&self, task_id: u64) -> bool {
        if task_id >= DENSE_TASK_IDS {
            return self.ended_far.contains(&task_id);
        }
        self.ended.get((task_id / 64) as usize).is_some_and(|word| word >> (task_id % 64) & 1 == 1)
    }
}

impl RunBuilder {
    pub(super) fn stage_position(&mut self, id: u32, attempt: u32) -> usize {
        if let Some(last) = self.stages.last()
            && last.id == id
            && last.attempt == attempt
        {
            return self.stages.len() - 1;
        }
        let stages = &mut self.stages;
        *self.stage_positions.entry((id, attempt)).or_insert_with(|| {
            stages.push(StageEntry { id, attempt, ..StageEntry::default() });
            stages.len() - 1
        })
    }

    pub(super) fn stage_entry(&mut self, id: u32, attempt: u32) -> &mut StageEntry {
        let position = self.stage_position(id, attempt);
        &mut self.stages[position]
    }

    pub(super) fn job_started(&mut self, event: JobStart) {
        let call_site =
            event.stage_infos.iter().max_by_key(|info| info.stage_id).map(|info| info.name.clone());
        for info in &event.stage_infos {
            self.listed_stages.entry(info.stage_id).or_insert_with(|| UnsubmittedStage {
                id: info.stage_id,
                name: info.name.clone(),
                num_tasks: info.num_tasks.id().unwrap_or(0),
                first_rdd_id: info.first_rdd_id,
                is_skipped: false,
            });
        }
        for id in &event.stage_ids {
            let stage = || UnsubmittedStage { id: *id, ..UnsubmittedStage::default() };
            self.listed_stages.entry(*id).or_insert_with(stage);
        }
        let properties = event.properties.unwrap_or_default();
        let job = self.jobs.entry(event.job_id).or_default();
        job.id = event.job_id;
        job.start_ms = event.submission_time.time_ms();
        job.stage_ids = event.stage_ids;
        job.stage_ids.extend(event.stage_infos.iter().map(|info| info.stage_id));
        job.stage_ids.sort_unstable();
        job.stage_ids.dedup();
        job.group = properties.job_group;
        job.description = properties.description;
        job.call_site = properties.call_site.or(call_site);
        job.tags = properties
            .tags
            .iter()
            .flat_map(|tags| tags.split(','))
            .filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect();
        job.sql_execution_id = properties.sql_execution_id;
        job.pool = properties.pool;
        job.streaming_batch_id = properties.streaming_batch_id;
        job.streaming_query_id = properties.streaming_query_id;
    }

    pub(super) fn job_ended(&mut self, event: JobEnd) {
        let job = self.jobs.entry(event.job_id).or_insert_with(|| Job { id: event.job_id, ..Job::default() });
        job.end_ms = event.completion_time.time_ms();
        job.status = match event.result.result.as_deref() {
            Some("JobSucceeded") => JobStatus::Succeeded,
            _ => JobStatus::Failed,
        };
        job.error = event.result.exception.and_then(|exception| exception.message);
    }

    pub(super) fn stage_submitted(&mut self, event: StageSubmitted) {
        let pool = event.properties.and_then(|properties| properties.pool);
        let position = self.stage_position(event.info.stage_id, event.info.attempt);
        self.take_stage_info(position, event.info);
        let stage = &mut self.stages[position];
        stage.is_submitted = true;
        stage.pool = pool.or(stage.pool.take());
    }

    pub(super) fn stage_completed(&mut self, mut info: StageInfo) {
        let position = self.stage_position(info.stage_id, info.attempt);
        let accumulables = std::mem::take(&mut info.accumulables);
        let failure_reason = info.failure_reason.take();
        let completed_ms = info.completion_time.time_ms();
        self.take_stage_info(position, info);
        let stage = &mut self.stages[position];
        stage.is_completed = true;
        stage.completed_ms = completed_ms;
        stage.failure_reason = failure_reason;
        for accumulable in accumulables.others {
            let accumulator = StageAccumulator { name: accumulable.name, value: accumulable.value };
            stage.accumulators.insert(accumulable.id, accumulator);
        }
        let mut sql_metric_values = accumulables.sql_metrics;
        sql_metric_values.sort_unstable();
        stage.sql_metric_values = sql_metric_values.into();
        stage.tasks.complete();
    }

    fn take_stage_info(&mut self, position: usize, info: StageInfo) {
        for rdd in &info.rdds {
            self.storage.add_rdd(rdd, &mut self.strings);
        }
        let (name, details) = (self.shared(&info.name), self.shared(&info.details));
        let stage = &mut self.stages[position];
        stage.rdd_ids = info.rdds.iter().filter_map(|rdd| rdd.id.small_id()).collect();
        stage.is_barrier = info.rdds.iter().any(|rdd| rdd.barrier);
        stage.name = name;
        stage.details = details;
        // Spark counts tasks in an `Int`.
        stage.num_tasks =
            info.num_tasks.small_id().filter(|n| *n <= i32::MAX as u32).map(u64::from).or(stage.num_tasks);
        stage.parent_ids = info.parent_ids;
        stage.submitted_ms = info.submission_time.time_ms().or(stage.submitted_ms);
        stage.resource_profile_id = info.resource_profile_id.small_id().unwrap_or(0);
    }

    /// Takes the task rows of a block.
    pub(super) fn add_tasks(&mut self, block: &mut ParsedBlock) {
        let texts: Vec<i64> =
            block.sink.strings.texts().iter().map(|text| i64::from(self.strings.intern(text))).collect();
        for mut start in std::mem::take(&mut block.task_starts) {
            let task_id = start.task_id();
            if self.tasks.has_ended(task_id) {
                continue;
            }
            remap_texts(&mut start.values, start.present, &texts);
            self.stage_position(start.stage_id, start.stage_attempt);
            self.tasks.started.insert(task_id, start);
        }
        for mut row in std::mem::take(&mut block.task_ends) {
            remap_texts(&mut row.values, row.present, &texts);
            let updates =
                &block.sink.accumulators[row.accumulators.start as usize..row.accumulators.end as usize];
            let task_id = row.task_id();
            let position = self.stage_position(row.stage_id, row.stage_attempt);
            let stage = &mut self.stages[position];
            stage.is_result |= row.is_result_task;
            if row.status() == TaskStatus::Resubmitted {
                // The success it takes back may come later, or be missing.
                stage.tasks.resubmitted_ids.insert(task_id);
                if !self.tasks.has_ended(task_id) {
                    stage.resubmitted.insert(task_id, row.start());
                }
                continue;
            }
            self.tasks.started.remove(&task_id);
            if !self.tasks.end(task_id) {
                self.tasks.repeated_ends += 1;
                continue;
            }
            stage.tasks.push(row, updates);
        }
    }
}

fn remap_texts(values: &mut [i64], present: u64, texts: &[i64]) {
    for column in [TaskColumn::Executor, TaskColumn::Host, TaskColumn::Locality] {
        let slot = column.slot();
        if present >> slot & 1 == 1 {
            values[slot] = texts.get(values[slot] as usize).copied().unwrap_or(0);
        }
    }
}
