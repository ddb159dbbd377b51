//! Runs from answers of Spark's monitoring API.

use emberscope_log::input::Memory;
use emberscope_log::source::{
    AnsweredBy, AnswersRead, Discovery, KnownFrom, PathStatus, Provenance, SkippedPath, discover_input,
};
use emberscope_rest::{Answers, Saved, Wanted, collect};
use std::path::Path;
use std::sync::Arc;

const HINT: &str = "answers are what a server sends below /api/v1/applications/ID: jobs, stages, taskList, sql, \
                    allexecutors, environment";

/// The run of saved answers; `None` where there are none at `source`.
pub(super) fn saved(source: &str, sql_id: Option<u64>) -> Option<Result<Discovery, (String, String)>> {
    let path = Path::new(source);
    if !Saved::is_at(path) {
        return None;
    }
    let unreadable = |error: std::io::Error| (format!("{source}: cannot be read: {error}"), HINT.to_owned());
    let saved = match Saved::read(path) {
        Ok(saved) => saved,
        Err(error) => return Some(Err(unreadable(error))),
    };
    let mut found = discovery(source, &saved, &Wanted { sql_id, ..Wanted::default() }, &|_| {});
    if let Ok(found) = &mut found {
        let read = AnswersRead { by: AnsweredBy::Files, count: saved.files, bytes: saved.bytes };
        found.runs.iter_mut().for_each(|run| run.provenance.answers = Some(read));
        found.skipped.extend(saved.skipped.iter().map(|(path, reason)| SkippedPath {
            path: path.display().to_string(),
            status: PathStatus::Skipped,
            reason: reason.clone(),
            hint: None,
        }));
    }
    Some(found)
}

/// The run of a server's answers, shown as `label`.
pub(super) fn discovery(
    label: &str,
    answers: &dyn Answers,
    wanted: &Wanted,
    progress: &dyn Fn(u64),
) -> Result<Discovery, (String, String)> {
    let made = collect(answers, wanted, progress).map_err(|error| {
        let text = error.to_string();
        // What a server did comes with what to do about it.
        let (message, hint) = text.split_once('\n').unwrap_or((&text, HINT));
        (format!("{label}: {message}"), hint.to_owned())
    })?;
    let mut found = discover_input(Arc::new(Memory::new(label, made.events)));
    for run in &mut found.runs {
        run.app_id_hint = Some(made.application_id.clone()).filter(|id| !id.is_empty());
        run.attempt_hint.clone_from(&made.attempt_id);
        run.provenance = Provenance {
            known_from: KnownFrom::MonitoringApi,
            answers: Some(AnswersRead {
                by: if made.is_running { AnsweredBy::LiveUi } else { AnsweredBy::HistoryServer },
                count: made.answers,
                bytes: made.answer_bytes,
            }),
            notes: made.notes.clone(),
            not_measured: made.not_measured.clone(),
            forgotten: made.forgotten.clone(),
            is_running: made.is_running,
            task_attempts: made.task_attempts,
            left_aside: Vec::new(),
        };
    }
    Ok(found)
}
