//! The `plan_node` table.

use super::sql::Plan;
use super::{Columns, Emit};
use crate::ReportError;
use crate::cells::{BatchBuilder, Cell, Text};
use crate::schema::columns;
use emberscope_log::event::plan::PlanTree;
use emberscope_model::run::Run;
use emberscope_model::sql::{MappingMethod, NodeStages, SqlExecution};

pub(crate) struct Row<'r, 'p> {
    run: &'r Run,
    sql: &'r SqlExecution,
    plan: &'p Plan,
    stages: &'p [NodeStages],
    node: usize,
}

type Read = for<'r, 'p> fn(&Row<'r, 'p>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "sql_id" Long [""] "SQL execution", "`executionId`" => |r| r.sql.id.into();
    "node_id" Int [""] "Number of the node in the final plan, pre-order from 0", "`sparkPlanInfo` of the final plan" => |r| r.node.into();
    "parent_node_id" Int [""] "Number of the node above; null for the root", "`children`" => |r| r.plan.tree.nodes[r.node].parent.into();
    "coordinates" Text [""] "Dot-separated position in the plan tree", "as in `sql.nodes`" => |r| r.plan.coordinates[r.node].clone().into();
    "node_name" Text [""] "Operator", "`nodeName`, trailing blanks cut" => |r| r.text(|tree| tree.nodes[r.node].name).trim_end().to_owned().into();
    "simple_string" Text [""] "Operator with its arguments", "`simpleString`" => |r| r.text(|tree| tree.nodes[r.node].simple_string).to_owned().into();
    "metadata" Text [""] "Facts about a file scan, as JSON", "`metadata`; null where there is none" => |r| Some(r.text(|tree| tree.nodes[r.node].metadata)).filter(|text| !text.is_empty()).map(str::to_owned).into();
    "stages" TextList [""] "Stage attempts in which it ran, as `stage.attempt`", "tasks that updated its metrics, else the neighbours' on the same side of every exchange" => |r| Cell::Texts(r.stages[r.node].stages.iter().map(|(stage, attempt)| Text::from(format!("{stage}.{attempt}"))).collect());
    "stages_method" Text [""] "accumulators (certain) or neighbours (likely); null when no stage was found", "see stages" => |r| r.stages[r.node].method.map(method).into();
    "metrics" LongMap [""] "Totals by display name: over attempts that counted and the driver's own updates; units as metric_kinds say", "task accumulators and driver updates by accumulator id; never-updated metrics are left out" => |r| Cell::Counts(r.metrics().into_iter().map(|(name, _, total)| (name, total)).collect());
    "metric_kinds" TextMap [""] "How to read metrics: sum, size (bytes), timing (ms), nsTiming (ns) or average (ten-fold)", "`metricType`" => |r| Cell::Map(r.metrics().into_iter().map(|(name, kind, _)| (name, kind.into())).collect());
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn method(method: MappingMethod) -> &'static str {
    match method {
        MappingMethod::Accumulators => "accumulators",
        MappingMethod::Neighbours => "neighbours",
    }
}

impl<'r> Row<'r, '_> {
    fn text(&self, span: impl Fn(&PlanTree) -> emberscope_log::event::plan::Span) -> &str {
        self.plan.tree.text(span(&self.plan.tree))
    }

    /// Name, kind and total of every metric that was updated.
    fn metrics(&self) -> Vec<(Text<'r>, &'static str, i64)> {
        let tree = &self.plan.tree;
        let mut found: Vec<(Text<'r>, &'static str, i64)> = Vec::new();
        for metric in tree.metrics_of(self.node as u32) {
            let Some(total) = self.plan.total(metric.accumulator_id) else { continue };
            let name = tree.text(metric.name);
            let times = found.iter().filter(|(known, ..)| known.split(" (").next() == Some(name)).count();
            let name = if times == 0 { name.to_owned() } else { format!("{name} ({})", times + 1) };
            found.push((name.into(), metric.kind.name(), total));
        }
        found
    }
}

/// Adds the nodes of a plan.
pub(super) fn add<'r>(
    run: &'r Run,
    sql: &'r SqlExecution,
    plan: &Plan,
    builder: &mut BatchBuilder<'r>,
    emit: &mut Emit<'_>,
) -> Result<(), ReportError> {
    let stages = run.node_stages(sql, &plan.tree);
    for node in 0..plan.tree.nodes.len() {
        let row = Row { run, sql, plan, stages: &stages, node };
        if builder.push(|column| (COLUMNS[column].read)(&row)) {
            emit(&builder.take())?;
        }
    }
    Ok(())
}
