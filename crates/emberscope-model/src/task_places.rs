//! Where each task attempt belongs.

use crate::run::Run;
use emberscope_log::columns::TaskColumn;
use rustc_hash::FxHashMap;

/// Where a task attempt belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    /// Stage.
    pub stage: u32,
    /// Attempt of the stage.
    pub stage_attempt: u32,
    /// Partition; before Spark 3.3 the task's index, which is the same but in a stage that runs a part.
    pub partition: Option<u32>,
}

impl Run {
    /// Stage and partition of every task attempt, by its id.
    pub fn task_places(&self) -> FxHashMap<u64, TaskPlace> {
        let mut places = FxHashMap::default();
        for stage in &self.stages {
            for chunk in stage.tasks.chunks() {
                let ids = chunk.column(TaskColumn::TaskId);
                let partitions = chunk.column(TaskColumn::PartitionId);
                let indexes = chunk.column(TaskColumn::Index);
                for ((id, partition), index) in ids.into_iter().zip(partitions).zip(indexes) {
                    let Some(id) = id else { continue };
                    // -1 stands for none in logs of Spark that know no partitions.
                    let number = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
                    let partition = number(partition).or(number(index));
                    let place = TaskPlace { stage: stage.id, stage_attempt: stage.attempt, partition };
                    places.insert(id as u64, place);
                }
            }
        }
        places
    }
}
