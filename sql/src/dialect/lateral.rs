//! `LATERAL VIEW`: the parser's tree carries it as a join with CROSS or OUTER APPLY, which Spark has not, and
//! here it is planned as one more column whose lists are unnested.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, Result, TableReference, UnnestOptions, plan_err};
use datafusion::functions::core::expr_ext::FieldAccessor;
use datafusion::functions_nested::expr_fn::{cardinality, map_entries};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit, when};
use datafusion::sql::sqlparser::ast::{self, JoinOperator, TableFactor, TableWithJoins};

/// Name of the column that is unnested, before it is called as the statement says.
const ITEM: &str = "\u{1}item";

/// Plans the joins that stand for lateral views.
#[derive(Debug)]
pub(crate) struct LateralViews;

impl RelationPlanner for LateralViews {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::NestedJoin { table_with_joins, alias } = relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        match View::of(table_with_joins) {
            Ok(view) => {
                let plan = view.plan(context)?;
                Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
            }
            Err(table_with_joins) => {
                Ok(RelationPlanning::Original(Box::new(TableFactor::NestedJoin { table_with_joins, alias })))
            }
        }
    }
}

struct View {
    input: TableFactor,
    name: String,
    columns: Vec<String>,
    list: ast::Expr,
    is_outer: bool,
}

impl View {
    /// Of a join that stands for a lateral view; any other comes back.
    fn of(mut joins: Box<TableWithJoins>) -> std::result::Result<View, Box<TableWithJoins>> {
        let is_view = matches!(
            joins.joins.as_slice(),
            [ast::Join {
                join_operator: JoinOperator::CrossApply | JoinOperator::OuterApply,
                relation: TableFactor::UNNEST { alias: Some(_), .. },
                ..
            }]
        );
        if !is_view {
            return Err(joins);
        }
        let Some(join) = joins.joins.pop() else { return Err(joins) };
        let is_outer = matches!(join.join_operator, JoinOperator::OuterApply);
        let TableFactor::UNNEST { alias: Some(alias), mut array_exprs, .. } = join.relation else {
            return Err(joins);
        };
        let Some(list) = array_exprs.pop() else { return Err(joins) };
        let columns = alias.columns.into_iter().map(|column| column.name.value).collect();
        Ok(View { input: joins.relation, name: alias.name.value, columns, list, is_outer })
    }

    fn plan(self, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
        let input = context.plan(self.input)?;
        let schema = input.schema().clone();
        let list = context.sql_to_expr(self.list, &schema)?;
        let ty = list.get_type(schema.as_ref())?;
        let is_map = matches!(ty, DataType::Map(..));
        let names: Vec<String> = match (is_map, self.columns.len()) {
            (false, 0) => vec!["col".to_owned()],
            (true, 0) => vec!["key".to_owned(), "value".to_owned()],
            (false, 1) | (true, 2) => self.columns,
            (_, count) => {
                let gives = if is_map { "a map gives two columns" } else { "a list gives one column" };
                return plan_err!("LATERAL VIEW names {count} columns, but {gives}");
            }
        };
        let list = if is_map { map_entries(list) } else { list };
        // An empty list is kept as if it were null.
        let list =
            if self.is_outer { when(cardinality(list.clone()).gt(lit(0_u64)), list).end()? } else { list };
        let mut exprs = columns_of(&schema);
        let kept = exprs.clone();
        exprs.push(list.alias(ITEM));
        let options = UnnestOptions::new().with_preserve_nulls(self.is_outer);
        let plan = LogicalPlanBuilder::from(input)
            .project(exprs)?
            .unnest_column_with_options(Column::new_unqualified(ITEM), options)?
            .build()?;
        let item = Expr::Column(Column::new_unqualified(ITEM));
        let view = TableReference::bare(self.name);
        let called = |expr: Expr, name: &str| expr.alias_qualified(Some(view.clone()), name);
        let mut exprs = kept;
        match names.as_slice() {
            [key, value] if is_map => {
                exprs.push(called(item.clone().field("key"), key));
                exprs.push(called(item.field("value"), value));
            }
            names => exprs.extend(names.iter().map(|name| called(item.clone(), name))),
        }
        LogicalPlanBuilder::from(plan).project(exprs)?.build()
    }
}

fn columns_of(schema: &DFSchema) -> Vec<Expr> {
    schema.columns().into_iter().map(Expr::Column).collect()
}
