//! Environment and executors.

use super::RunBuilder;
use crate::redact;
use crate::run::Executor;
use emberscope_log::event::app::{
    ApplicationStart, BlockManagerEvent, EnvironmentUpdate, ExecutorAdded, ExecutorRemoved,
};
use std::collections::BTreeMap;

impl RunBuilder {
    pub(super) fn add_environment(&mut self, mut environment: EnvironmentUpdate) {
        redact::environment(&mut environment);
        self.environment = Some(environment);
    }

    /// Of several starts the earliest is the run's own; a start of another application means that its
    /// events are in this log too.
    pub(super) fn application_started(&mut self, mut event: ApplicationStart) {
        for text in [&mut event.name, &mut event.user, &mut event.id].into_iter().flatten() {
            *text = redact::text(text).into_owned();
        }
        let Some(known) = self.application_start.take() else {
            self.application_start = Some(event);
            return;
        };
        let key = |start: &ApplicationStart| (start.timestamp.0, start.id.clone(), start.attempt_id.clone());
        let (own, other) = if key(&known) <= key(&event) { (known, event) } else { (event, known) };
        if (&own.id, &own.attempt_id) != (&other.id, &other.attempt_id) {
            let attempt = other.attempt_id.map(|attempt| format!(" attempt {attempt}")).unwrap_or_default();
            let id = other.id.unwrap_or_else(|| "without id".to_owned());
            self.trust.mixed_applications.insert(format!("{id}{attempt}"));
        }
        self.application_start = Some(own);
    }

    pub(super) fn executor(&mut self, id: &str) -> &mut Executor {
        self.executors
            .entry(id.to_owned())
            .or_insert_with(|| Executor { id: id.to_owned(), ..Executor::default() })
    }

    pub(super) fn executor_added(&mut self, event: ExecutorAdded) {
        let executor = self.executor(&event.executor_id);
        executor.added_ms = event.timestamp.time_ms();
        executor.cores = event.info.total_cores.small_id().or(event.total_cores.small_id());
        executor.host = event.info.host.or(executor.host.take());
        executor.resources = event.info.resources;
        executor.resource_profile_id = event.info.resource_profile_id.small_id().unwrap_or(0);
    }

    pub(super) fn executor_removed(&mut self, event: ExecutorRemoved) {
        let executor = self.executor(&event.executor_id);
        executor.removed_ms = event.timestamp.time_ms();
        executor.removed_reason = event.reason;
    }

    pub(super) fn block_manager_added(&mut self, event: &BlockManagerEvent) {
        let executor = self.executor(&event.id.executor_id);
        if executor.host.is_none() {
            executor.host = Some(event.id.host.clone());
        }
        executor.block_manager_host = Some(event.id.host.clone());
        executor.block_manager_port = event.id.port.small_id().or(executor.block_manager_port);
        executor.block_manager_added_ms = event.timestamp.time_ms().or(executor.block_manager_added_ms);
        executor.maximum_memory_bytes = event.maximum_memory.0.or(executor.maximum_memory_bytes);
        executor.maximum_on_heap_bytes = event.maximum_on_heap_memory.0.or(executor.maximum_on_heap_bytes);
        executor.maximum_off_heap_bytes = event.maximum_off_heap_memory.0.or(executor.maximum_off_heap_bytes);
    }

    /// Peaks of one executor, of a stage attempt where one is named.
    pub(super) fn executor_peaks(
        &mut self,
        executor_id: &str,
        stage: Option<(u32, u32)>,
        metrics: &[(String, i64)],
    ) {
        raise(&mut self.executor(executor_id).peaks, metrics);
        if let Some((stage_id, attempt)) = stage {
            let entry = self.stage_entry(stage_id, attempt);
            raise(entry.executor_peaks.entry(executor_id.to_owned()).or_default(), metrics);
        }
    }
}

fn raise(peaks: &mut BTreeMap<String, i64>, metrics: &[(String, i64)]) {
    for (name, value) in metrics {
        match peaks.get_mut(name) {
            Some(peak) => *peak = (*peak).max(*value),
            None => {
                peaks.insert(name.clone(), *value);
            }
        }
    }
}
