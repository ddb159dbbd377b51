//! What a task attempt spent its time with (decision 33).

use crate::stage_view::Task;

/// Parts of launch to finish, which they add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskParts {
    /// Front: deserialization.
    pub deserialize_ms: i64,
    /// Waiting for shuffle blocks.
    pub fetch_wait_ms: i64,
    /// Collection pauses of the executor.
    pub gc_ms: i64,
    /// CPU time of the JVM thread.
    pub cpu_ms: i64,
    /// Writing shuffle data.
    pub shuffle_write_ms: i64,
    /// What is left of the run time: blocked, input and output, Python.
    pub other_ms: i64,
    /// Back: serializing and fetching the result, and the way to and from the driver.
    pub result_ms: i64,
    /// Whether the parts exceeded what there was and were cut.
    pub is_clamped: bool,
}

/// Splits a task attempt: front, back, and in the middle a fixed precedence, each part clamped to what is
/// left.
///
/// The pauses of an executor are shared by all tasks it runs: each of them stood still for as long.
pub fn task_parts(task: &Task) -> TaskParts {
    let total = task.duration_ms();
    let mut parts = TaskParts { deserialize_ms: task.deserialize_ms.clamp(0, total), ..TaskParts::default() };
    if !task.has_metrics {
        parts.other_ms = total - parts.deserialize_ms;
        return parts;
    }
    let rest = total - parts.deserialize_ms;
    // The scheduler delay is what remains of the whole, so that run time takes the middle.
    parts.result_ms = (rest - task.run_ms).max(0);
    let mut left = rest - parts.result_ms;
    let mut wanted = 0;
    let mut take = |ms: i64| {
        wanted += ms.max(0);
        let taken = ms.clamp(0, left);
        left -= taken;
        taken
    };
    parts.fetch_wait_ms = take(task.fetch_wait_ms);
    parts.gc_ms = take(task.gc_ms);
    parts.cpu_ms = take(task.cpu_ms);
    parts.shuffle_write_ms = take(task.shuffle_write_ms);
    parts.other_ms = left;
    parts.is_clamped = wanted > rest - parts.result_ms;
    parts
}
