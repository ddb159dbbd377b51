//! Several pieces of evidence of one run: the best is used, and says what was left aside.

use emberscope_log::source::{KnownFrom, LeftAside, RunSource};

/// Leaves answers of the monitoring API aside where the event log of the same application attempt is there, too.
/// Evidence is not mixed within a run: no number of a report is half exact.
pub fn best(found: Vec<RunSource>) -> Vec<RunSource> {
    let (mut kept, others): (Vec<RunSource>, Vec<RunSource>) =
        found.into_iter().partition(|run| run.provenance.known_from != KnownFrom::MonitoringApi);
    for other in others {
        let log = kept
            .iter_mut()
            .find(|run| run.provenance.known_from == KnownFrom::EventLog && is_same(run, &other));
        match log {
            Some(log) => log
                .provenance
                .left_aside
                .push(LeftAside { name: other.label.clone(), task_attempts: other.provenance.task_attempts }),
            None => kept.push(other),
        }
    }
    kept
}

/// Whether a log is, by its name, that of an application on a server. A name without an attempt is of the first.
fn is_same(log: &RunSource, other: &RunSource) -> bool {
    log.app_id_hint.is_some()
        && log.app_id_hint == other.app_id_hint
        && (log.attempt_hint == other.attempt_hint
            || log.attempt_hint.is_none()
            || other.attempt_hint.is_none())
}
