//! `PIVOT`: rows of one value become a column, planned as aggregates that count only the rows of that value.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, plan_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::utils::find_aggregate_exprs;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, lit, when};
use datafusion::sql::sqlparser::ast::{ExprWithAlias, PivotValueSource, TableFactor, Value};
use std::collections::HashSet;

/// Plans pivots.
#[derive(Debug)]
pub(crate) struct Pivots;

impl RelationPlanner for Pivots {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        match relation {
            TableFactor::Pivot { table, aggregate_functions, value_column, value_source, alias, .. } => {
                let PivotValueSource::List(values) = value_source else {
                    return plan_err!("PIVOT takes a list of values: FOR column IN (value, ...)");
                };
                let [column] = value_column.as_slice() else {
                    return plan_err!("PIVOT takes one column: FOR column IN (value, ...)");
                };
                let input = context.plan(*table)?;
                let schema = input.schema().clone();
                let column = context.sql_to_expr(column.clone(), &schema)?;
                let pivot = Pivot {
                    aggregates: named(aggregate_functions, context, &schema)?,
                    values: named(values, context, &schema)?,
                    column,
                };
                let plan = pivot.plan(input)?;
                Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
            }
            other => Ok(RelationPlanning::Original(Box::new(other))),
        }
    }
}

/// An expression, and the name it is given or has.
struct Named {
    expr: Expr,
    alias: Option<String>,
    text: String,
}

fn named(
    exprs: Vec<ExprWithAlias>,
    context: &mut dyn RelationPlannerContext,
    schema: &DFSchema,
) -> Result<Vec<Named>> {
    let planned = exprs.into_iter().map(|ExprWithAlias { expr, alias }| {
        let text = match &expr {
            datafusion::sql::sqlparser::ast::Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => text.clone(),
                other => other.to_string().to_lowercase(),
            },
            other => other.to_string(),
        };
        let alias = alias.map(|alias| alias.value);
        Ok(Named { expr: context.sql_to_expr(expr, schema)?, alias, text })
    });
    planned.collect()
}

struct Pivot {
    aggregates: Vec<Named>,
    column: Expr,
    values: Vec<Named>,
}

impl Pivot {
    fn plan(self, input: LogicalPlan) -> Result<LogicalPlan> {
        let mut taken: HashSet<&Column> = self.column.column_refs();
        self.aggregates.iter().for_each(|aggregate| taken.extend(aggregate.expr.column_refs()));
        let columns = input.schema().columns();
        let groups: Vec<Expr> =
            columns.into_iter().filter(|column| !taken.contains(column)).map(Expr::Column).collect();
        let mut outputs = groups.clone();
        for value in &self.values {
            for aggregate in &self.aggregates {
                outputs.push(self.cell(value, aggregate)?);
            }
        }
        let aggregates = find_aggregate_exprs(&outputs);
        let input = LogicalPlanBuilder::from(input).aggregate(groups, aggregates)?;
        let outputs = outputs.into_iter().map(|output| {
            let computed = output.transform_down(|expr| {
                Ok(match &expr {
                    Expr::AggregateFunction(_) => {
                        let name = expr.schema_name().to_string();
                        Transformed::yes(Expr::Column(Column::new_unqualified(name)))
                    }
                    _ => Transformed::no(expr),
                })
            });
            computed.data()
        });
        input.project(outputs.collect::<Result<Vec<_>>>()?)?.build()
    }

    /// An aggregate over the rows of a value; null where there are none, even if it counts.
    fn cell(&self, value: &Named, aggregate: &Named) -> Result<Expr> {
        let is_value = Expr::BinaryExpr(BinaryExpr::new(
            Box::new(self.column.clone()),
            Operator::IsNotDistinctFrom,
            Box::new(value.expr.clone()),
        ));
        let mut found = false;
        let of_value = |expr: Expr, found: &mut bool| {
            expr.transform_down(|expr| {
                Ok(match expr {
                    Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
                        *found = true;
                        let filter = match params.filter.take() {
                            Some(filter) => filter.and(is_value.clone()),
                            None => is_value.clone(),
                        };
                        params.filter = Some(Box::new(filter));
                        Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params }))
                    }
                    other => Transformed::no(other),
                })
            })
            .data()
        };
        let computed = of_value(aggregate.expr.clone(), &mut found)?;
        if !found {
            return plan_err!("PIVOT takes aggregates: `{}` is none", aggregate.text);
        }
        let rows = of_value(count(lit(ScalarValue::Int64(Some(1)))), &mut found)?;
        let computed = when(rows.gt(lit(0_i64)), computed).end()?;
        let name = value.alias.as_ref().unwrap_or(&value.text);
        Ok(match (self.aggregates.len(), &aggregate.alias) {
            (1, _) => computed.alias(name),
            (_, Some(alias)) => computed.alias(format!("{name}_{alias}")),
            _ => {
                return plan_err!(
                    "PIVOT: of several aggregates each needs a name: {} AS name",
                    aggregate.text
                );
            }
        })
    }
}
