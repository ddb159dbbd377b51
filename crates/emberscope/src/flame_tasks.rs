//! Which thread ran which task: from an event log, or from the recordings.

use crate::cli::FlameOptions;
use crate::exit::UsageError;
use crate::messages;
use crate::progress::Progress;
use anyhow::Context;
use emberscope_jfr::inspect::inspect;
use emberscope_jfr::open::Recording;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::{TaskInterval, TaskTable};
use emberscope_log::block::ParseOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use std::collections::BTreeSet;

/// The tasks' intervals, where any selection asks for tasks.
pub(crate) fn task_table(options: &FlameOptions, recordings: &mut [Recording]) -> anyhow::Result<TaskTable> {
    let selections = [Some(&options.wanted), options.against.as_ref()];
    if !selections.into_iter().flatten().any(|wanted| wanted.tasks.is_any()) {
        return Ok(TaskTable::default());
    }
    let run = options.log.as_deref().map(|log| read(log, options)).transpose()?;
    let mut rows: Vec<TaskInterval> = run.iter().flat_map(|run| &run.task_threads).map(row).collect();
    if rows.is_empty() {
        rows = inspect(recordings, &Selection::default())?.tasks;
    }
    if let Some(run) = &run {
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

fn row(mapping: &emberscope_log::event::app::TaskThread) -> TaskInterval {
    TaskInterval {
        executor: mapping.executor_id.clone(),
        thread: mapping.java_thread_id,
        start_ms: mapping.start_time,
        end_ms: mapping.end_time,
        task: mapping.task_id,
        ..TaskInterval::default()
    }
}

/// The run of an event log.
fn read(log: &str, options: &FlameOptions) -> anyhow::Result<Run> {
    let found = discover(log).with_context(|| format!("--log {log}"))?;
    let [source] = found.runs.as_slice() else {
        let message = format!("--log {log}: {} runs in it, and one is needed", found.runs.len());
        return Err(
            UsageError::new(message, "name the event log of the application that was recorded").into()
        );
    };
    let progress = Progress::start(source, options.reading.progress);
    let run = load(source, options.reading.scan, ParseOptions::default(), &|bytes| progress.at(bytes));
    drop(progress);
    if !run.is_whole() && !options.reading.quiet {
        messages::warning(&format!("{log}: not whole, so that tasks may be missing"), None);
    }
    Ok(run)
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
