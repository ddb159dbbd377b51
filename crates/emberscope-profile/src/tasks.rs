//! Which thread ran which task: from a run, or from the recordings themselves.

use emberscope_jfr::fold::FoldError;
use emberscope_jfr::inspect::inspect;
use emberscope_jfr::open::Recording;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::{TaskInterval, TaskTable};
use emberscope_model::run::Run;
use std::collections::BTreeSet;

/// The intervals of task attempts on their threads: as the run's log has them, else as the recordings do.
/// A recording whose name tells no executor is given to the only one that ran tasks.
///
/// # Errors
/// When a recording cannot be read.
pub fn task_table(run: Option<&Run>, recordings: &mut [Recording]) -> Result<TaskTable, FoldError> {
    let mut rows: Vec<TaskInterval> = run.map(intervals).unwrap_or_default();
    if rows.is_empty() {
        rows = inspect(recordings, &Selection::default())?.tasks;
    }
    if let Some(run) = run {
        let places = run.task_places();
        for row in &mut rows {
            let Some(place) = places.get(&row.task) else { continue };
            row.stage = Some(place.stage);
            row.stage_attempt = Some(place.stage_attempt);
            row.partition = place.partition;
        }
    }
    name_the_only_jvm(recordings, &rows);
    Ok(TaskTable::new(rows))
}

/// What the log says of tasks and threads; nothing where it was not told to.
pub(crate) fn intervals(run: &Run) -> Vec<TaskInterval> {
    let row = |mapping: &emberscope_log::event::app::TaskThread| TaskInterval {
        executor: mapping.executor_id.clone(),
        thread: mapping.java_thread_id,
        start_ms: mapping.start_time,
        end_ms: mapping.end_time,
        task: mapping.task_id,
        ..TaskInterval::default()
    };
    run.task_threads.iter().map(row).collect()
}

/// A recording whose name tells no executor is of the only one that ran tasks: the driver in local mode.
fn name_the_only_jvm(recordings: &mut [Recording], rows: &[TaskInterval]) {
    let ran: BTreeSet<&str> = rows.iter().map(|row| row.executor.as_str()).collect();
    let recorded: BTreeSet<String> = recordings.iter().map(|recording| recording.executor.clone()).collect();
    if let (Some(only), 1, 1) = (ran.first(), ran.len(), recorded.len())
        && !recorded.contains(*only)
        && recorded.first().is_some_and(|name| name != "driver" && name.parse::<u64>().is_err())
    {
        recordings.iter_mut().for_each(|recording| recording.executor = (*only).to_owned());
    }
}
