//! SQL executions: identity, plan versions and metrics.

use crate::blobs::BlobRef;
use crate::distribution::{Distribution, Fidelity};
use crate::plan;
use crate::run::{Run, StageAttempt};
use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::event::plan::{MetricKind, PlanTree};
use emberscope_log::event::sql::{DisplayedMetric, DisplayedValue};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a SQL execution ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum SqlStatus {
    /// Ended without an error.
    Succeeded,
    /// Its own error field, or (before Spark 3.4) a failed job of it says so.
    Failed,
    /// The log has no end of it.
    #[default]
    Running,
}

/// One version of an execution's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PlanVersion {
    /// The tree, encoded.
    pub(crate) tree: Option<BlobRef>,
    /// `physicalPlanDescription`, where kept.
    pub text: Option<BlobRef>,
    /// Its length in the log, bytes.
    pub text_bytes: u64,
    /// Number of nodes.
    pub nodes: u32,
}

/// A metric that adaptive execution announced after planning.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct LateMetric {
    /// Name.
    pub name: String,
    /// Accumulator.
    pub accumulator_id: u64,
    /// How to read it.
    pub kind: MetricKind,
}

/// A SQL execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SqlExecution {
    /// Execution id.
    pub id: u64,
    /// `rootExecutionId`; `None` before Spark 3.4: its own root then.
    pub root_id: Option<u64>,
    /// `description`.
    pub description: Option<String>,
    /// `details`: the long call site.
    pub details: Option<Arc<str>>,
    /// Start, epoch milliseconds.
    pub start_ms: Option<i64>,
    /// End, epoch milliseconds.
    pub end_ms: Option<i64>,
    /// `errorMessage`: `None` where the log has none, empty on success.
    pub error: Option<String>,
    /// How it ended.
    pub status: SqlStatus,
    /// `modifiedConfigs`, secrets masked.
    pub modified_configs: BTreeMap<String, String>,
    /// `jobTags`.
    pub job_tags: BTreeSet<String>,
    /// `jobGroupId`.
    pub job_group_id: Option<String>,
    /// `queryId` (Spark 4).
    pub query_id: Option<String>,
    /// Its jobs, sorted.
    pub job_ids: Vec<u32>,
    /// Plan versions in the order of the log: initial, adaptive updates, final.
    pub versions: Vec<PlanVersion>,
    /// Driver-side metric updates in the order of the log.
    pub driver_updates: Vec<(u64, i64)>,
    /// What a server showed of its metrics, by accumulator; empty where they come from a log and are exact.
    pub displayed: Vec<DisplayedMetric>,
    /// Metrics announced after planning.
    pub late_metrics: Vec<LateMetric>,
    /// While it is collected: the accumulators of all its plans' metrics.
    #[borsh(skip)]
    pub(crate) metric_ids: IdRanges,
}

/// A set of ids, which mostly follow each other, as sorted ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdRanges(Vec<(u64, u64)>);

impl FromIterator<u64> for IdRanges {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        let mut ranges = IdRanges(ids.into_iter().map(|id| (id, id)).collect());
        ranges.join();
        ranges
    }
}

impl IdRanges {
    pub(crate) fn extend(&mut self, more: IdRanges) {
        self.0.extend(more.0);
        self.join();
    }

    fn join(&mut self) {
        self.0.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (first, last) in &self.0 {
            match joined.last_mut() {
                Some((_, end)) if *first <= end.saturating_add(1) => *end = (*last).max(*end),
                _ => joined.push((*first, *last)),
            }
        }
        joined.shrink_to_fit();
        self.0 = joined;
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= id);
        after > 0 && id <= self.0[after - 1].1
    }
}

impl SqlExecution {
    /// Gives back what only collecting needed; says how many driver-side updates belong to no plan.
    pub(crate) fn forget_metric_ids(&mut self) -> u64 {
        let ids = std::mem::take(&mut self.metric_ids);
        let is_known =
            |id: u64| ids.contains(id) || self.late_metrics.iter().any(|metric| metric.accumulator_id == id);
        self.driver_updates.iter().filter(|(id, _)| !is_known(*id)).count() as u64
    }

    /// What a server showed of a metric; `None` where it is exact.
    pub fn displayed(&self, accumulator_id: u64) -> Option<&DisplayedMetric> {
        let position = self.displayed.binary_search_by_key(&accumulator_id, |one| one.accumulator_id).ok()?;
        Some(&self.displayed[position])
    }

    /// Whether no other execution contains it.
    pub fn is_root(&self) -> bool {
        self.root_id.is_none_or(|root| root == self.id)
    }

    /// End - start, milliseconds.
    pub fn duration_ms(&self) -> Option<i64> {
        Some((self.end_ms? - self.start_ms?).max(0))
    }
}

/// Values of one stage attempt, by its key.
type StageValues = ((u32, u32), Vec<i64>);

/// A SQL metric with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlMetric {
    /// Accumulator.
    pub accumulator_id: u64,
    /// Values of tasks that updated it, over attempts that counted; never-updated marks (-1) left out.
    pub tasks: Distribution,
    /// The same by stage attempt, where any.
    pub by_stage: Vec<((u32, u32), Distribution)>,
    /// The driver's own updates; some metrics get one per partition.
    pub driver: Distribution,
    /// Tasks and driver together; `None` = never updated.
    pub total: Option<i64>,
    /// How exact the total is.
    pub fidelity: Fidelity,
}

/// Totals of metrics by accumulator; those that were never updated are left out.
pub type MetricTotals = FxHashMap<u64, i64>;

/// Sums of a SQL metric, without its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlMetricSums {
    /// Sums over the attempts that counted, by stage attempt, where any updated it.
    pub by_stage: Vec<((u32, u32), i64)>,
    /// Tasks and driver together; `None` = never updated.
    pub total: Option<i64>,
    /// How exact the total is.
    pub fidelity: Fidelity,
}

/// How a node was tied to stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingMethod {
    /// Tasks of the stage updated the node's own metrics: certain.
    Accumulators,
    /// The nearest operators on the same side of every exchange, or what stages read and wrote: likely.
    Neighbours,
}

/// The stages in which a plan node ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStages {
    /// Stage attempts.
    pub stages: Vec<(u32, u32)>,
    /// How they were found; `None` when they were not.
    pub method: Option<MappingMethod>,
}

impl Run {
    /// A SQL execution.
    pub fn sql_execution(&self, id: u64) -> Option<&SqlExecution> {
        let position = self.sql_executions.binary_search_by_key(&id, |execution| execution.id).ok()?;
        Some(&self.sql_executions[position])
    }

    /// The tree of a plan version; `None` when the log had none that could be read.
    pub fn plan_tree(&self, version: &PlanVersion) -> Option<PlanTree> {
        plan::decode(&self.blobs.get(version.tree?).ok()?)
    }

    /// The plan that ran: the last version.
    pub fn final_plan(&self, execution: &SqlExecution) -> Option<PlanTree> {
        execution.versions.iter().rev().find_map(|version| self.plan_tree(version))
    }

    /// Stage attempts that jobs of this execution ran. A stage that several jobs list belongs to the
    /// first of them.
    pub fn stages_of_sql(&self, execution: &SqlExecution) -> Vec<&StageAttempt> {
        let mut stages = Vec::new();
        let own = |stage: &&StageAttempt| {
            stage.job_ids.first().is_some_and(|job| execution.job_ids.binary_search(job).is_ok())
        };
        let ids: BTreeSet<u32> = execution
            .job_ids
            .iter()
            .filter_map(|id| self.job(*id))
            .flat_map(|job| job.stage_ids.iter().copied())
            .collect();
        for id in ids {
            stages.extend(self.attempts(id).iter().filter(own));
        }
        stages
    }

    /// All metrics of an execution, over all its plan versions, by accumulator id.
    pub fn sql_metrics(&self, execution: &SqlExecution) -> BTreeMap<u64, SqlMetric> {
        let kinds = self.metric_kinds(execution);
        let mut values: BTreeMap<u64, Vec<StageValues>> = BTreeMap::new();
        for stage in self.stages_of_sql(execution) {
            let key = (stage.id, stage.attempt);
            let wants = |id: u64| kinds.get(&id).copied();
            stage.tasks.for_each_useful_update(wants, |id, kind, value| {
                if is_never_updated(kind, value) {
                    return;
                }
                let by_stage = values.entry(id).or_default();
                match by_stage.last_mut() {
                    Some((last, values)) if *last == key => values.push(value),
                    _ => by_stage.push((key, vec![value])),
                }
            });
        }
        let mut driver: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        for (id, value) in &execution.driver_updates {
            if kinds.get(id).is_some_and(|kind| !is_never_updated(*kind, *value)) {
                driver.entry(*id).or_default().push(*value);
            }
        }
        kinds
            .keys()
            .map(|id| {
                let by_stage = values.remove(id).unwrap_or_default();
                let tasks = Distribution::of(by_stage.iter().flat_map(|(_, values)| values.iter().copied()));
                let driver = Distribution::of(driver.remove(id).unwrap_or_default());
                let total = match (tasks.sum(), driver.sum()) {
                    (None, None) => None,
                    (tasks, driver) => Some(tasks.unwrap_or(0).saturating_add(driver.unwrap_or(0))),
                };
                let by_stage =
                    by_stage.into_iter().map(|(stage, values)| (stage, Distribution::of(values))).collect();
                let metric = SqlMetric {
                    accumulator_id: *id,
                    tasks,
                    by_stage,
                    driver,
                    total,
                    fidelity: Fidelity::Exact,
                };
                (
                    *id,
                    match execution.displayed(*id) {
                        Some(shown) => as_displayed(metric, shown),
                        None => metric,
                    },
                )
            })
            .collect()
    }

    /// Totals of the metrics that `tree`, the plan that ran, names: of [`Run::sql_metrics`] only these, and
    /// without holding the values.
    pub fn metric_totals(&self, execution: &SqlExecution, tree: &PlanTree) -> MetricTotals {
        let mut kinds: FxHashMap<u64, MetricKind> =
            tree.metrics.iter().map(|metric| (metric.accumulator_id, metric.kind)).collect();
        kinds.extend(execution.late_metrics.iter().map(|metric| (metric.accumulator_id, metric.kind)));
        let sums = self.sql_metric_sums(execution, &kinds);
        sums.into_iter().filter_map(|(id, sums)| Some((id, sums.total?))).collect()
    }

    /// Sums of the metrics in `kinds`, by accumulator id: as [`Run::sql_metrics`], without holding the
    /// values. Metrics that were never updated are left out.
    pub fn sql_metric_sums(
        &self,
        execution: &SqlExecution,
        kinds: &FxHashMap<u64, MetricKind>,
    ) -> FxHashMap<u64, SqlMetricSums> {
        let mut sums: FxHashMap<u64, SqlMetricSums> = FxHashMap::default();
        for stage in self.stages_of_sql(execution) {
            let key = (stage.id, stage.attempt);
            let wants = |id: u64| kinds.get(&id).copied();
            stage.tasks.for_each_useful_sum(wants, is_never_updated, |id, sum| {
                let by_stage = &mut sums.entry(id).or_default().by_stage;
                match by_stage.last_mut() {
                    Some((last, so_far)) if *last == key => *so_far = so_far.saturating_add(sum),
                    _ => by_stage.push((key, sum)),
                }
            });
        }
        for metric in sums.values_mut() {
            metric.total = metric.by_stage.iter().map(|(_, sum)| *sum).reduce(i64::saturating_add);
        }
        for (id, value) in &execution.driver_updates {
            if kinds.get(id).is_some_and(|kind| !is_never_updated(*kind, *value)) {
                let total = &mut sums.entry(*id).or_default().total;
                *total = Some(total.unwrap_or(0).saturating_add(*value));
            }
        }
        for shown in &execution.displayed {
            if let Some(metric) = sums.get_mut(&shown.accumulator_id) {
                metric.fidelity = Fidelity::of(shown.total_within);
            }
        }
        sums
    }

    /// The kind of every accumulator that any version of the plan names.
    pub fn metric_kinds(&self, execution: &SqlExecution) -> BTreeMap<u64, MetricKind> {
        let mut kinds = BTreeMap::new();
        for tree in execution.versions.iter().filter_map(|version| self.plan_tree(version)) {
            kinds.extend(tree.metrics.iter().map(|metric| (metric.accumulator_id, metric.kind)));
        }
        kinds.extend(execution.late_metrics.iter().map(|metric| (metric.accumulator_id, metric.kind)));
        kinds
    }

    /// The stages in which each node of `tree` ran: never any outside the execution's own.
    pub fn node_stages(&self, execution: &SqlExecution, tree: &PlanTree) -> Vec<NodeStages> {
        let mut updated: FxHashMap<u64, BTreeSet<(u32, u32)>> = FxHashMap::default();
        for stage in self.stages_of_sql(execution) {
            for id in stage.tasks.accumulator_ids() {
                updated.entry(*id).or_default().insert((stage.id, stage.attempt));
            }
        }
        let mut nodes: Vec<NodeStages> = vec![NodeStages::default(); tree.nodes.len()];
        for metric in &tree.metrics {
            if let Some(stages) = updated.get(&metric.accumulator_id)
                && let Some(node) = nodes.get_mut(metric.node as usize)
            {
                node.stages.extend(stages);
                let is_inferred =
                    execution.displayed(metric.accumulator_id).is_some_and(|shown| shown.is_place_inferred);
                if !is_inferred {
                    node.method = Some(MappingMethod::Accumulators);
                } else if node.method.is_none() {
                    node.method = Some(MappingMethod::Neighbours);
                }
            }
        }
        for node in &mut nodes {
            node.stages.sort_unstable();
            node.stages.dedup();
        }
        map_by_neighbours(tree, &mut nodes);
        nodes
    }
}

/// A metric that a server showed: of the tasks' values it tells three, of one task which; what of the total is the
/// driver's is not told.
fn as_displayed(metric: SqlMetric, shown: &DisplayedMetric) -> SqlMetric {
    let quantiles = |values: &[DisplayedValue; 3]| {
        let shares = [0.0, 0.5, 1.0].into_iter();
        shares.zip(values.iter().map(|value| value.value as f64)).collect()
    };
    let tasks = shown
        .tasks
        .as_ref()
        .map_or(Distribution::Absent, |values| Distribution::Quantiles(quantiles(values)));
    SqlMetric { tasks, driver: Distribution::Absent, fidelity: Fidelity::of(shown.total_within), ..metric }
}

/// -1 (or 0 less than nothing) marks a size or time that was never set (`SQLMetric.isZero`).
fn is_never_updated(kind: MetricKind, value: i64) -> bool {
    value < 0 && !matches!(kind, MetricKind::Sum | MetricKind::Other)
}

/// Whether data crosses a stage boundary at this operator.
fn is_boundary(name: &str) -> bool {
    name.contains("Exchange") || name.contains("QueryStage") || name.contains("Subquery")
}

/// Nodes without metrics of their own take the stages of the nearest node on their side of an
/// exchange: first from below (pre-order, so children come later), then from above.
fn map_by_neighbours(tree: &PlanTree, nodes: &mut [NodeStages]) {
    let crosses = |index: usize| is_boundary(tree.text(tree.nodes[index].name));
    for index in (1..nodes.len()).rev() {
        let Some(parent) = tree.nodes[index].parent.map(|parent| parent as usize) else { continue };
        // A node fed by an exchange runs after it, not in the stage that wrote it.
        if nodes[parent].method.is_none()
            && nodes[index].method.is_some()
            && !crosses(index)
            && !crosses(parent)
        {
            nodes[parent].stages = nodes[index].stages.clone();
            nodes[parent].method = Some(MappingMethod::Neighbours);
        }
    }
    for index in 1..nodes.len() {
        let Some(parent) = tree.nodes[index].parent.map(|parent| parent as usize) else { continue };
        if nodes[index].method.is_none()
            && nodes[parent].method.is_some()
            && !crosses(index)
            && !crosses(parent)
        {
            nodes[index].stages = nodes[parent].stages.clone();
            nodes[index].method = Some(MappingMethod::Neighbours);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_ranges() {
        let mut ids: IdRanges = [5, 3, 4, 9, u64::MAX, 4].into_iter().collect();
        assert_eq!(ids.0, [(3, 5), (9, 9), (u64::MAX, u64::MAX)]);
        ids.extend([6, 8, 0].into_iter().collect());
        assert_eq!(ids.0, [(0, 0), (3, 6), (8, 9), (u64::MAX, u64::MAX)]);
        assert!([0, 3, 6, 9, u64::MAX].iter().all(|id| ids.contains(*id)));
        assert!(![1, 2, 7, 10].iter().any(|id| ids.contains(*id)));
    }
}
