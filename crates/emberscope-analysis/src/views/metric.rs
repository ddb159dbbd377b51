//! Values of a task attempt that views compare.

use crate::plots::Unit;
use emberscope_log::columns::TaskColumn;
use emberscope_model::accounting::scheduler_delays;
use emberscope_model::run::StageAttempt;
use schemars::JsonSchema;
use serde::Serialize;

/// How a value is got from the columns.
#[derive(Clone, Copy, Debug)]
enum From {
    /// Sum of columns; `None` where an attempt has none of them.
    Columns(&'static [TaskColumn]),
    /// A column of nanoseconds as milliseconds.
    Nanos(TaskColumn),
    /// Launch to finish.
    Duration,
    /// What is left of the duration.
    SchedulerDelay,
    /// Begin of the result's fetch to finish; 0 where there was none.
    GettingResult,
}

/// A value of a task attempt.
#[derive(Clone, Copy, Debug)]
pub struct TaskMetric {
    /// Name with its unit, as parameters and answers have it.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    from: From,
}

/// A value, as answers name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricName {
    /// Name with its unit.
    pub metric: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
}

const fn columns(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    columns: &'static [TaskColumn],
) -> TaskMetric {
    TaskMetric { name, label, unit, from: From::Columns(columns) }
}

const fn ms(name: &'static str, label: &'static str, column: &'static [TaskColumn]) -> TaskMetric {
    columns(name, label, Unit::Milliseconds, column)
}

const fn bytes(name: &'static str, label: &'static str, of: &'static [TaskColumn]) -> TaskMetric {
    columns(name, label, Unit::Bytes, of)
}

const fn records(name: &'static str, label: &'static str, of: &'static [TaskColumn]) -> TaskMetric {
    columns(name, label, Unit::Records, of)
}

use TaskColumn as C;

/// All values that views compare.
pub const METRICS: &[TaskMetric] = &[
    TaskMetric { name: "duration_ms", label: "duration", unit: Unit::Milliseconds, from: From::Duration },
    ms("run_time_ms", "run time", &[C::ExecutorRunTime]),
    TaskMetric {
        name: "cpu_time_ms",
        label: "CPU time",
        unit: Unit::Milliseconds,
        from: From::Nanos(C::ExecutorCpuTime),
    },
    ms("gc_time_ms", "GC time", &[C::JvmGcTime]),
    TaskMetric {
        name: "scheduler_delay_ms",
        label: "scheduler delay",
        unit: Unit::Milliseconds,
        from: From::SchedulerDelay,
    },
    ms("deserialize_time_ms", "deserialization", &[C::ExecutorDeserializeTime]),
    TaskMetric {
        name: "getting_result_time_ms",
        label: "getting the result",
        unit: Unit::Milliseconds,
        from: From::GettingResult,
    },
    ms("fetch_wait_time_ms", "fetch wait", &[C::FetchWaitTime]),
    TaskMetric {
        name: "shuffle_write_time_ms",
        label: "shuffle write time",
        unit: Unit::Milliseconds,
        from: From::Nanos(C::ShuffleWriteTime),
    },
    records("records_read", "records read", &[C::InputRecords, C::ShuffleRecordsRead]),
    bytes("bytes_read", "bytes read", &[C::InputBytes, C::LocalBytesRead, C::RemoteBytesRead]),
    bytes("input_bytes", "input", &[C::InputBytes]),
    records("input_records", "input records", &[C::InputRecords]),
    bytes("output_bytes", "output", &[C::OutputBytes]),
    records("output_records", "output records", &[C::OutputRecords]),
    bytes("shuffle_read_bytes", "shuffle read", &[C::LocalBytesRead, C::RemoteBytesRead]),
    bytes("shuffle_remote_read_bytes", "shuffle read from others", &[C::RemoteBytesRead]),
    records("shuffle_read_records", "shuffle records read", &[C::ShuffleRecordsRead]),
    bytes("shuffle_write_bytes", "shuffle write", &[C::ShuffleBytesWritten]),
    records("shuffle_write_records", "shuffle records written", &[C::ShuffleRecordsWritten]),
    bytes("memory_spilled_bytes", "spill (memory)", &[C::MemoryBytesSpilled]),
    bytes("disk_spilled_bytes", "spill (disk)", &[C::DiskBytesSpilled]),
    bytes("peak_execution_memory_bytes", "peak execution memory", &[C::PeakExecutionMemory]),
    bytes("peak_jvm_heap_bytes", "peak heap of the executor", &[C::JvmHeapMemory]),
    bytes("result_size_bytes", "result size", &[C::ResultSize]),
];

/// A value by its name; `records` and `bytes` are those that were read.
pub fn metric(name: &str) -> Option<&'static TaskMetric> {
    let name = match name {
        "records" => "records_read",
        "bytes" => "bytes_read",
        name => name,
    };
    METRICS.iter().find(|metric| metric.name == name)
}

impl TaskMetric {
    /// As answers name it.
    pub fn named(&self) -> MetricName {
        MetricName { metric: self.name, label: self.label, unit: self.unit }
    }

    /// One value for each task attempt; `None` = not measured, or it has not ended.
    pub fn values(&self, stage: &StageAttempt) -> Vec<Option<i64>> {
        let tasks = &stage.tasks;
        match self.from {
            From::Columns([column]) => tasks.column(*column),
            From::Columns(columns) => {
                let mut sums: Vec<Option<i64>> = vec![None; tasks.rows()];
                for column in columns {
                    tasks.for_each(*column, |row, value| {
                        sums[row] = Some(sums[row].unwrap_or(0).saturating_add(value));
                    });
                }
                sums
            }
            From::Nanos(column) => {
                let values = tasks.column(column);
                values.into_iter().map(|value| value.map(|nanos| nanos / 1_000_000)).collect()
            }
            From::Duration => {
                let launch = tasks.column(C::LaunchTime);
                let finish = tasks.column(C::FinishTime);
                let durations = launch.into_iter().zip(finish);
                durations.map(|(launch, finish)| Some((finish? - launch?).max(0))).collect()
            }
            From::SchedulerDelay => {
                scheduler_delays(stage).into_iter().map(|delay| delay.map(|ms| ms.max(0))).collect()
            }
            From::GettingResult => {
                let finish = tasks.column(C::FinishTime);
                let fetch = tasks.column(C::GettingResultTime);
                let times = finish.into_iter().zip(fetch);
                times
                    .map(|(finish, fetch)| {
                        Some(fetch.map_or(0, |fetch| (finish.unwrap_or(fetch) - fetch).max(0)))
                            .filter(|_| finish.is_some())
                    })
                    .collect()
            }
        }
    }
}
