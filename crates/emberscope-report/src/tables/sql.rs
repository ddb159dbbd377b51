//! The `sql` table.

use super::{Columns, Emit, ids, plan_node};
use crate::ReportError;
use crate::cells::{BatchBuilder, Cell, SqlNode, Text};
use crate::schema::{Report, columns};
use emberscope_log::event::plan::PlanTree;
use emberscope_model::run::Run;
use emberscope_model::sql::{MetricTotals, SqlExecution, SqlStatus};
use std::collections::HashMap;

/// The final plan of an execution with the totals of its metrics: what both tables of plans need.
pub(crate) struct Plan {
    pub(super) tree: PlanTree,
    pub(super) coordinates: Vec<String>,
    totals: MetricTotals,
}

impl Plan {
    fn of(run: &Run, sql: &SqlExecution) -> Option<Plan> {
        let tree = run.final_plan(sql)?;
        Some(Plan { coordinates: coordinates(&tree), totals: run.metric_totals(sql, &tree), tree })
    }

    pub(super) fn total(&self, accumulator_id: u64) -> Option<i64> {
        self.totals.get(&accumulator_id).copied()
    }
}

pub(crate) struct Row<'r, 'p> {
    run: &'r Run,
    sql: &'r SqlExecution,
    plan: Option<&'p Plan>,
}

type Read = for<'r, 'p> fn(&Row<'r, 'p>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "sqlId" Long [""] "Unique SQL execution identifier", "`executionId`" => |r| r.sql.id.into();
    "description" Text [""] "SQL query description", "`description`: the job description, else the call site" => |r| r.sql.description.as_ref().into();
    "details" Text [""] "Extended query execution plan", "`physicalPlanDescription` of the final plan; an event log holds no logical plans" => |r| details(r).into();
    "nodes" SqlNodes [""] "Physical plan nodes with execution metrics", "`sparkPlanInfo` of the final plan, pre-order; null when the log has no plan" => |r| nodes(r).into();
    "status" Text [""] "succeeded, failed or running (no end in the log)", "`errorMessage` of the execution's end; before Spark 3.4 the results of its jobs" => |r| status(r.sql).into();
    "startTime" Long ["ms"] "Epoch timestamp when the execution started", "`time` of the execution's start" => |r| r.sql.start_ms.into();
    "endTime" Long ["ms"] "Epoch timestamp when the execution ended", "`time` of the execution's end; null without one" => |r| r.sql.end_ms.into();
    "duration" Long ["ms"] "Wall-clock duration of the execution", "endTime - startTime, never negative" => |r| r.sql.duration_ms().into();
    "error" Text [""] "Message of the error it failed with", "`errorMessage` of the execution's end" => |r| r.sql.error.as_ref().filter(|error| !error.is_empty()).into();
    "rootSqlId" Long [""] "Execution that contains this one: itself for a root", "`rootExecutionId`; before Spark 3.4 each execution is a root" => |r| r.sql.root_id.unwrap_or(r.sql.id).into();
    "jobIds" IntList [""] "Jobs of the execution, sorted", "jobs with this `spark.sql.execution.id`" => |r| ids(r.sql.job_ids.iter().copied());
    "callSite" Text [""] "Long call site", "`details`" => |r| r.sql.details.as_deref().into();
    "planVersions" Int [""] "Number of plan versions: initial, adaptive updates, final", "execution starts and adaptive updates" => |r| r.sql.versions.len().into();
    "modifiedConfigs" TextMap [""] "Configuration set for this execution, secrets masked", "`modifiedConfigs`" => |r| Cell::Map(r.sql.modified_configs.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect());
    "applicationId" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "applicationAttempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn status(sql: &SqlExecution) -> &'static str {
    match sql.status {
        SqlStatus::Succeeded => "succeeded",
        SqlStatus::Failed => "failed",
        SqlStatus::Running => "running",
    }
}

fn details(row: &Row<'_, '_>) -> Option<String> {
    row.sql.versions.iter().rev().find_map(|version| row.run.blob_text(version.text?))
}

fn nodes<'r>(row: &Row<'r, '_>) -> Option<Vec<SqlNode<'r>>> {
    let plan = row.plan?;
    let tree = &plan.tree;
    let job_name = job_name(row.run, row.sql);
    let parents: Vec<Option<u32>> = tree.nodes.iter().map(|node| node.parent).collect();
    let mut is_leaf = vec![true; tree.nodes.len()];
    for parent in parents.iter().flatten() {
        is_leaf[*parent as usize] = false;
    }
    let nodes = plan.coordinates.iter().enumerate().map(|(n, coordinates)| {
        let node = tree.nodes[n];
        let mut values = Vec::new();
        let mut names: HashMap<&str, u32> = HashMap::new();
        for metric in tree.metrics_of(n as u32) {
            let Some(total) = plan.total(metric.accumulator_id) else { continue };
            let name = tree.text(metric.name);
            let times = names.entry(name).or_default();
            *times += 1;
            let name = if *times == 1 { name.to_owned() } else { format!("{name} ({times})") };
            values.push((name, total.to_string()));
        }
        SqlNode {
            sql_id: row.sql.id as i64,
            job_name: job_name.clone(),
            node_name: tree.text(node.name).to_owned(),
            coordinates: coordinates.clone(),
            metrics: values,
            is_leaf: is_leaf[n],
            parent_node_name: node
                .parent
                .map(|parent| tree.text(tree.nodes[parent as usize].name).to_owned()),
        }
    });
    Some(nodes.collect())
}

/// Description of the first job that has one, else of the execution.
pub(super) fn job_name<'r>(run: &'r Run, sql: &'r SqlExecution) -> Option<Text<'r>> {
    let of_job = sql.job_ids.iter().find_map(|id| run.job(*id)?.description.as_deref());
    of_job.or(sql.description.as_deref()).map(Text::from)
}

/// Position of every node: `0` for the root, its children `0.0`, `0.1`.
pub(super) fn coordinates(tree: &PlanTree) -> Vec<String> {
    let mut places: Vec<String> = Vec::with_capacity(tree.nodes.len());
    let mut children = vec![0u32; tree.nodes.len()];
    for node in &tree.nodes {
        let place = match node.parent {
            None => "0".to_owned(),
            Some(parent) => {
                let nth = &mut children[parent as usize];
                let place = format!("{}.{nth}", places[parent as usize]);
                *nth += 1;
                place
            }
        };
        places.push(place);
    }
    places
}

/// Makes the rows of one or both tables of plans, for which each plan is looked at once.
pub(super) fn produce(
    run: &Run,
    wants_sql: bool,
    wants_nodes: bool,
    emit: &mut Emit<'_>,
) -> Result<(), ReportError> {
    let mut rows = BatchBuilder::new(Report::Sql);
    let mut nodes = BatchBuilder::new(Report::PlanNode);
    for sql in &run.sql_executions {
        let plan = Plan::of(run, sql);
        let row = Row { run, sql, plan: plan.as_ref() };
        if wants_sql && rows.push(|column| (COLUMNS[column].read)(&row)) {
            emit(&rows.take())?;
        }
        if let (Some(plan), true) = (&plan, wants_nodes) {
            plan_node::add(run, sql, plan, &mut nodes, emit)?;
        }
    }
    for last in [rows.take(), nodes.take()] {
        if last.rows > 0 {
            emit(&last)?;
        }
    }
    Ok(())
}
