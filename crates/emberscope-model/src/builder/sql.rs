//! SQL executions.

use super::RunBuilder;
use super::prepare::PreparedPlan;
use crate::redact;
use crate::sql::{LateMetric, PlanVersion, SqlExecution};
use emberscope_log::event::plan::MetricKind;
use emberscope_log::event::sql::{
    AdaptiveMetricUpdates, DisplayedMetrics, DriverAccumUpdates, SqlExecutionEnd, SqlPlanEvent,
};

impl RunBuilder {
    fn sql(&mut self, id: u64) -> &mut SqlExecution {
        self.sql.entry(id).or_insert_with(|| SqlExecution { id, ..SqlExecution::default() })
    }

    pub(super) fn sql_started(&mut self, mut event: SqlPlanEvent, plan: PreparedPlan) {
        let version = self.plan_version(&event, plan);
        redact::properties(&mut event.modified_configs);
        let details = event.details.as_deref().map(|details| self.shared(details));
        let execution = self.sql(event.execution_id);
        execution.root_id = event.root_execution_id;
        execution.description = event.description.map(|text| redact::text(&text).into_owned());
        execution.details = details;
        execution.start_ms = event.time_ms;
        execution.modified_configs = event.modified_configs;
        execution.job_tags = event.job_tags.into_iter().collect();
        execution.job_group_id = event.job_group_id;
        execution.query_id = event.query_id;
        // The start's plan is the initial one wherever the event stands.
        execution.versions.insert(0, version);
    }

    pub(super) fn sql_plan_update(&mut self, event: &SqlPlanEvent, plan: PreparedPlan) {
        let version = self.plan_version(event, plan);
        self.sql(event.execution_id).versions.push(version);
    }

    fn plan_version(&mut self, event: &SqlPlanEvent, plan: PreparedPlan) -> PlanVersion {
        self.sql(event.execution_id).metric_ids.extend(plan.metric_ids);
        PlanVersion { tree: plan.tree, text: plan.text, text_bytes: event.plan_text_len, nodes: plan.nodes }
    }

    pub(super) fn sql_ended(&mut self, event: SqlExecutionEnd) {
        let execution = self.sql(event.execution_id);
        execution.end_ms = event.time.time_ms();
        execution.error = event.error_message.map(|text| redact::text(&text).into_owned());
    }

    pub(super) fn driver_updates(&mut self, event: &DriverAccumUpdates) {
        let updates = event.updates.iter().filter_map(|(id, value)| Some((id.id()?, value.0?)));
        self.sql(event.execution_id).driver_updates.extend(updates);
    }

    pub(super) fn displayed_metrics(&mut self, event: DisplayedMetrics) {
        let displayed = &mut self.sql(event.execution_id).displayed;
        displayed.extend(event.metrics);
        displayed.sort_by_key(|metric| metric.accumulator_id);
    }

    pub(super) fn adaptive_metrics(&mut self, event: AdaptiveMetricUpdates) {
        let metrics = event.metrics.into_iter().filter_map(|metric| {
            Some(LateMetric {
                name: metric.name,
                accumulator_id: metric.accumulator_id.id()?,
                kind: MetricKind::from_name(metric.metric_type.as_bytes()),
            })
        });
        self.sql(event.execution_id).late_metrics.extend(metrics);
    }
}
