//! Joins on the columns that name a run, over one number in their place.
//!
//! Every join of tables of several runs goes over an id, a null-safe attempt and often some numbers. Texts are
//! compared for every row, and an attempt only after the join found a pair. The columns of a run have one value in a
//! file, so that [`key::Key`] makes a number of all of them nearly for nothing.

mod key;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use key::{Codes, Key, NUMBER_BITS, Part};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Columns whose values name runs.
const RUN_IDS: [&str; 2] = ["applicationId", "application_id"];
/// Name of the column that is joined on.
const KEY: &str = "\u{1}run_key";
/// Columns that say which attempt of a run.
const RUN_ATTEMPTS: [&str; 2] = ["applicationAttempt", "application_attempt"];
/// Numbers of attempts, which are small: how many bits they get.
const ATTEMPTS: [&str; 4] = ["attempt", "stageAttempt", "stage_attempt", "stageAttemptId"];
const ATTEMPT_BITS: u32 = 8;

/// Joins on one number what is joined on a run and numbers within it.
#[derive(Debug)]
pub(crate) struct RunKeys;

impl PhysicalOptimizerRule for RunKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let rewritten = match plan.downcast_ref::<HashJoinExec>().and_then(Join::of) {
                Some(join) => join.rewritten()?,
                None => return Ok(Transformed::no(plan)),
            };
            Ok(Transformed::yes(rewritten))
        })
        .data()
    }

    fn name(&self) -> &str {
        "run_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A pair of columns that must be equal, by their places on the left and on the right.
#[derive(Clone, Copy)]
struct Pair {
    part: Part,
    left: usize,
    right: usize,
}

/// A join that can go over one number.
struct Join<'p> {
    exec: &'p HashJoinExec,
    /// Texts first.
    pairs: Vec<Pair>,
    /// What else must hold.
    rest: Vec<Arc<dyn PhysicalExpr>>,
}

impl<'p> Join<'p> {
    fn of(exec: &'p HashJoinExec) -> Option<Join<'p>> {
        let gives_both =
            matches!(exec.join_type(), JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
        let is_plain = *exec.partition_mode() == PartitionMode::CollectLeft
            && exec.null_equality() == NullEquality::NullEqualsNothing
            && !exec.null_aware;
        // Where few runs are left, their ids tell which files need not be read: a number would not.
        if !gives_both || !is_plain || leaves_out(exec.left()) {
            return None;
        }
        let (left_schema, right_schema) = (exec.left().schema(), exec.right().schema());
        let mut pairs = Vec::new();
        let (mut names_run, mut attempts, mut wide) = (false, 0, 0);
        for (left, right) in exec.on() {
            let (left, right) = (left.downcast_ref::<Column>()?, right.downcast_ref::<Column>()?);
            let part = match left_schema.field(left.index()).data_type() {
                // There are few runs. Other texts might be many, and their numbers take room.
                DataType::Utf8 if RUN_IDS.contains(&left.name()) => {
                    names_run = true;
                    Part::Text
                }
                DataType::Utf8 if RUN_ATTEMPTS.contains(&left.name()) => Part::Text,
                DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                    let is_attempt = ATTEMPTS.contains(&left.name());
                    attempts += u32::from(is_attempt);
                    wide += u32::from(!is_attempt);
                    Part::Number(if is_attempt { ATTEMPT_BITS } else { NUMBER_BITS })
                }
                _ => return None,
            };
            pairs.push(Pair { part, left: left.index(), right: right.index() });
        }
        if !names_run || attempts > 2 || wide > 1 {
            return None;
        }
        for pair in &mut pairs {
            if let Part::Number(bits @ NUMBER_BITS) = &mut pair.part {
                *bits -= attempts * ATTEMPT_BITS;
            }
        }
        let mut rest = Vec::new();
        if let Some(filter) = exec.filter() {
            for condition in split_conjunction(filter.expression()) {
                match null_safe(condition, filter, &left_schema, &right_schema) {
                    Some(pair) => pairs.push(pair),
                    None => rest.push(Arc::clone(condition)),
                }
            }
        }
        pairs.sort_by_key(|pair| matches!(pair.part, Part::Number(_)));
        Some(Join { exec, pairs, rest })
    }

    fn rewritten(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let (left, right) = (self.exec.left(), self.exec.right());
        let left_count = left.schema().fields().len();
        let output: Vec<usize> = match &self.exec.projection {
            Some(projection) => projection.to_vec(),
            None => (0..left_count + right.schema().fields().len()).collect(),
        };
        let filter = self.filter();
        let mut used = [BTreeSet::new(), BTreeSet::new()];
        for index in &output {
            let (side, index) = if *index < left_count { (0, *index) } else { (1, *index - left_count) };
            used[side].insert(index);
        }
        for column in filter.iter().flat_map(JoinFilter::column_indices) {
            used[usize::from(column.side == JoinSide::Right)].insert(column.index);
        }
        let [of_left, of_right] = used.map(|used| used.into_iter().collect::<Vec<usize>>());
        let codes = Arc::new(Codes::default());
        let left = with_key(left, &of_left, self.parts(JoinSide::Left), &codes)?;
        let right = with_key(right, &of_right, self.parts(JoinSide::Right), &codes)?;
        let place = |side: JoinSide, index: usize| {
            let used = if side == JoinSide::Left { &of_left } else { &of_right };
            used.partition_point(|other| *other < index)
        };
        let projection = output.iter().map(|index| {
            if *index < left_count {
                place(JoinSide::Left, *index)
            } else {
                of_left.len() + 1 + place(JoinSide::Right, *index - left_count)
            }
        });
        let filter = filter.map(|filter| {
            let columns = filter.column_indices().iter();
            let columns = columns
                .map(|column| ColumnIndex { index: place(column.side, column.index), side: column.side });
            JoinFilter::new(Arc::clone(filter.expression()), columns.collect(), Arc::clone(filter.schema()))
        });
        let key = |index: usize| Arc::new(Column::new(KEY, index)) as Arc<dyn PhysicalExpr>;
        let on = vec![(key(of_left.len()), key(of_right.len()))];
        HashJoinExecBuilder::new(left, right, on, *self.exec.join_type())
            .with_filter(filter)
            .with_projection(Some(projection.collect()))
            .with_partition_mode(PartitionMode::CollectLeft)
            .with_null_equality(NullEquality::NullEqualsNothing)
            .with_fetch(self.exec.fetch())
            .build_exec()
    }

    /// The conditions that are left, over the columns that they need.
    fn filter(&self) -> Option<JoinFilter> {
        let filter = self.exec.filter()?;
        if self.rest.is_empty() {
            return None;
        }
        let expression = conjunction(self.rest.iter().cloned());
        let mut needed: Vec<usize> = collect_columns(&expression)
            .iter()
            .map(Column::index)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        needed.sort_unstable();
        let moved = expression.transform(|expr| {
            Ok(match expr.downcast_ref::<Column>() {
                Some(column) => {
                    let place = needed.partition_point(|other| *other < column.index());
                    Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>)
                }
                None => Transformed::no(expr),
            })
        });
        let columns = needed.iter().map(|index| filter.column_indices()[*index].clone());
        let fields: Vec<FieldRef> =
            needed.iter().map(|index| Arc::clone(&filter.schema().fields()[*index])).collect();
        Some(JoinFilter::new(moved.data().ok()?, columns.collect(), Arc::new(Schema::new(fields))))
    }

    fn parts(&self, side: JoinSide) -> Vec<(Part, usize)> {
        let index = |pair: &Pair| if side == JoinSide::Left { pair.left } else { pair.right };
        self.pairs.iter().map(|pair| (pair.part, index(pair))).collect()
    }
}

/// `a <=> b` of the attempt of a run on the left and on the right.
fn null_safe(
    condition: &Arc<dyn PhysicalExpr>,
    filter: &JoinFilter,
    left: &Schema,
    right: &Schema,
) -> Option<Pair> {
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    if *binary.op() != Operator::IsNotDistinctFrom {
        return None;
    }
    let column = |expr: &Arc<dyn PhysicalExpr>| {
        expr.downcast_ref::<Column>().map(|column| &filter.column_indices()[column.index()])
    };
    let (one, two) = (column(binary.left())?, column(binary.right())?);
    let (of_left, of_right) = match (one.side, two.side) {
        (JoinSide::Left, JoinSide::Right) => (one.index, two.index),
        (JoinSide::Right, JoinSide::Left) => (two.index, one.index),
        _ => return None,
    };
    let is_text = |schema: &Schema, index: usize| {
        let field = schema.field(index);
        *field.data_type() == DataType::Utf8 && RUN_ATTEMPTS.contains(&field.name().as_str())
    };
    (is_text(left, of_left) && is_text(right, of_right)).then_some(Pair {
        part: Part::TextOrNull,
        left: of_left,
        right: of_right,
    })
}

/// Whether a plan may leave out rows of a table by a condition or a limit.
fn leaves_out(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut found = false;
    _ = plan.apply(|plan| {
        found |= plan.is::<FilterExec>() || plan.fetch().is_some();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// A plan with some of its columns and, after them, their key. A scan computes it itself, file by file.
fn with_key(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[usize],
    parts: Vec<(Part, usize)>,
    codes: &Arc<Codes>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(coalesce) = plan.downcast_ref::<CoalescePartitionsExec>()
        && coalesce.fetch().is_none()
    {
        let input = with_key(coalesce.input(), columns, parts, codes)?;
        return Ok(Arc::new(CoalescePartitionsExec::new(input)));
    }
    let schema = plan.schema();
    let column =
        |index: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(schema.field(index).name(), index)) };
    let mut exprs: Vec<ProjectionExpr> = columns
        .iter()
        .map(|index| ProjectionExpr::new(column(*index), schema.field(*index).name().clone()))
        .collect();
    let parts = parts.into_iter().map(|(part, index)| (part, column(index))).collect();
    exprs.push(ProjectionExpr::new(Arc::new(Key::new(parts, Arc::clone(codes))), KEY));
    let projection = ProjectionExec::try_new(exprs, Arc::clone(plan))?;
    if plan.is::<DataSourceExec>()
        && let Some(scan) = plan.try_swapping_with_projection(&projection)?
    {
        return Ok(scan);
    }
    Ok(Arc::new(projection))
}
