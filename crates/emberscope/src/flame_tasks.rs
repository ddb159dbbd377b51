//! Which thread ran which task: from an event log, or from the recordings.

use crate::cli::FlameOptions;
use crate::exit::UsageError;
use crate::messages;
use crate::progress::Progress;
use anyhow::Context;
use emberscope_jfr::open::Recording;
use emberscope_jfr::tasks::TaskTable;
use emberscope_log::block::ParseOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_model::run::Run;

/// The tasks' intervals, where any selection asks for tasks.
pub(crate) fn task_table(options: &FlameOptions, recordings: &mut [Recording]) -> anyhow::Result<TaskTable> {
    let selections = [Some(&options.wanted), options.against.as_ref()];
    if !selections.into_iter().flatten().any(|wanted| wanted.tasks.is_any()) {
        return Ok(TaskTable::default());
    }
    let run = options.log.as_deref().map(|log| read(log, options)).transpose()?;
    Ok(emberscope_profile::task_table(run.as_ref(), recordings)?)
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
