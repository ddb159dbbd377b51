//! Structured streaming: starts of queries and their micro-batches.

use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::event::stream::{Progress, QueryLifecycle};
use std::collections::BTreeMap;

/// One start of a streaming query.
#[derive(Clone, Debug, Default, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct StreamRun {
    /// `runId`.
    pub run_id: String,
    /// `id`: the query, the same over restarts.
    pub query_id: Option<String>,
    /// `name`.
    pub name: Option<String>,
    /// When it started, ISO 8601 as logged.
    pub started: Option<String>,
    /// Whether the log has its termination.
    pub has_terminated: bool,
    /// Exception it ended with.
    pub exception: Option<String>,
    /// Micro-batches by (batch id, trigger time).
    pub batches: Vec<Progress>,
}

/// Collects streaming events.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamsBuilder {
    runs: BTreeMap<String, StreamRun>,
}

impl StreamsBuilder {
    fn run(&mut self, run_id: Option<&String>) -> &mut StreamRun {
        let run_id = run_id.cloned().unwrap_or_default();
        self.runs.entry(run_id.clone()).or_insert_with(|| StreamRun { run_id, ..StreamRun::default() })
    }

    pub(crate) fn started(&mut self, event: QueryLifecycle) {
        let run = self.run(event.run_id.as_ref());
        run.query_id = event.id.or(run.query_id.take());
        run.name = event.name.or(run.name.take());
        run.started = event.timestamp;
    }

    pub(crate) fn terminated(&mut self, event: QueryLifecycle) {
        let run = self.run(event.run_id.as_ref());
        run.query_id = event.id.or(run.query_id.take());
        run.has_terminated = true;
        run.exception = event.exception;
    }

    pub(crate) fn progress(&mut self, progress: Progress) {
        let run = self.run(progress.run_id.as_ref());
        if run.query_id.is_none() {
            run.query_id.clone_from(&progress.id);
        }
        if run.name.is_none() {
            run.name.clone_from(&progress.name);
        }
        run.batches.push(progress);
    }

    pub(crate) fn finish(self) -> Vec<StreamRun> {
        let mut runs: Vec<StreamRun> = self.runs.into_values().collect();
        for run in &mut runs {
            // Stable: progress without a batch id keeps its place in the log.
            run.batches.sort_by(|a, b| (a.batch_id.0, &a.timestamp).cmp(&(b.batch_id.0, &b.timestamp)));
        }
        runs.sort_by(|a, b| (&a.started, &a.run_id).cmp(&(&b.started, &b.run_id)));
        runs
    }
}
