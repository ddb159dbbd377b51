//! Clauses of a parsed statement.

use super::{Fragment, FragmentKind, Place, Source};
use sqlparser::ast::{
    DuplicateTreatment, Expr, FunctionArguments, GroupByExpr, JoinConstraint, JoinOperator, LimitClause,
    OrderByKind, Query, Select, SetExpr, Spanned, Statement, TableFactor, TableObject, Visit, Visitor,
    WindowType,
};
use sqlparser::tokenizer::Span;
use std::ops::ControlFlow;

/// Adds the clauses of `statement`.
pub(super) fn collect(statement: &Statement, source: &Source<'_>, into: &mut Vec<Fragment>) {
    let mut collector = Collector { source, fragments: into };
    if let Statement::Insert(insert) = statement {
        let (span, name) = match &insert.table {
            TableObject::TableName(name) => (name.span(), name.to_string()),
            other => (other.span(), other.to_string()),
        };
        collector.add(FragmentKind::Write, span, Vec::new(), vec![name]);
    }
    // The visitor itself never breaks off.
    let _: ControlFlow<()> = statement.visit(&mut collector);
}

struct Collector<'c, 't> {
    source: &'c Source<'t>,
    fragments: &'c mut Vec<Fragment>,
}

/// Functions of Spark that aggregate, and that are often written.
const AGGREGATES: [&str; 24] = [
    "count",
    "sum",
    "avg",
    "mean",
    "min",
    "max",
    "first",
    "last",
    "any_value",
    "collect_list",
    "collect_set",
    "array_agg",
    "approx_count_distinct",
    "percentile",
    "percentile_approx",
    "approx_percentile",
    "median",
    "mode",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "variance",
    "count_if",
    "listagg",
];

impl Collector<'_, '_> {
    fn add(&mut self, kind: FragmentKind, span: Span, columns: Vec<String>, tables: Vec<String>) {
        if span == Span::empty() {
            return;
        }
        let place =
            |location: sqlparser::tokenizer::Location| Place { line: location.line, column: location.column };
        let start = place(span.start);
        // The parser's end is one behind the last character.
        let mut end = place(span.end);
        end.column = end.column.saturating_sub(1);
        let end = self.source.with_brackets(start, end);
        let text = self.source.between(start, end);
        let lower =
            |names: Vec<String>| names.into_iter().map(|name| name.replace('`', "").to_lowercase()).collect();
        self.fragments.push(Fragment {
            kind,
            start,
            end,
            text,
            columns: lower(columns),
            tables: lower(tables),
        });
    }

    fn set_expr(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.add(FragmentKind::SetOperation, right.span(), Vec::new(), Vec::new());
                self.set_expr(left);
                self.set_expr(right);
            }
            // A query in brackets is visited by itself.
            _ => {}
        }
    }

    fn select(&mut self, select: &Select) {
        if select.distinct.is_some() {
            let spans = select.projection.iter().map(Spanned::span);
            let columns = select.projection.iter().flat_map(columns_of).collect();
            self.add(FragmentKind::Distinct, Span::union_iter(spans), columns, Vec::new());
        }
        for from in &select.from {
            self.table(&from.relation);
            for join in &from.joins {
                self.table(&join.relation);
                let constraint = constraint_of(&join.join_operator);
                let columns = constraint.map(join_columns).unwrap_or_default();
                let span = constraint
                    .map_or_else(|| join.relation.span(), |one| join.relation.span().union(&one.span()));
                self.add(FragmentKind::Join, span, columns, table_names(&join.relation));
            }
        }
        if let Some(condition) = &select.selection {
            self.add(FragmentKind::Filter, condition.span(), columns_of(condition), Vec::new());
        }
        if let Some(condition) = &select.having {
            self.add(FragmentKind::Filter, condition.span(), columns_of(condition), Vec::new());
        }
        match &select.group_by {
            GroupByExpr::Expressions(keys, _) if !keys.is_empty() => {
                let columns = keys.iter().flat_map(|key| self.group_key(select, key)).collect();
                let span = Span::union_iter(keys.iter().map(Spanned::span));
                self.add(FragmentKind::GroupBy, span, columns, Vec::new());
            }
            _ => {}
        }
        for view in &select.lateral_views {
            let columns = columns_of(&view.lateral_view);
            self.add(FragmentKind::LateralView, view.span(), columns, Vec::new());
        }
        let sorted = select.sort_by.iter().map(|one| &one.expr);
        let keys: Vec<&Expr> = select.cluster_by.iter().chain(&select.distribute_by).chain(sorted).collect();
        if !keys.is_empty() {
            let columns = keys.iter().flat_map(|key| columns_of(*key)).collect();
            let span = Span::union_iter(keys.iter().map(|key| key.span()));
            self.add(FragmentKind::DistributeBy, span, columns, Vec::new());
        }
    }

    /// Columns of a grouping key; `GROUP BY 1` is the first column of the list.
    fn group_key(&self, select: &Select, key: &Expr) -> Vec<String> {
        let position = key.to_string().parse::<usize>().ok().and_then(|position| position.checked_sub(1));
        match position.and_then(|position| select.projection.get(position)) {
            Some(item) => columns_of(item),
            None => columns_of(key),
        }
    }

    fn table(&mut self, relation: &TableFactor) {
        if let TableFactor::Table { name, .. } = relation {
            self.add(FragmentKind::Table, name.span(), Vec::new(), vec![name.to_string()]);
        }
        if let TableFactor::NestedJoin { table_with_joins, .. } = relation {
            self.table(&table_with_joins.relation);
            for join in &table_with_joins.joins {
                self.table(&join.relation);
            }
        }
    }
}

impl Visitor for Collector<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.set_expr(&query.body);
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            let columns = keys.iter().flat_map(|key| columns_of(&key.expr)).collect();
            let span = Span::union_iter(keys.iter().map(Spanned::span));
            self.add(FragmentKind::OrderBy, span, columns, Vec::new());
        }
        if let Some(limit @ LimitClause::LimitOffset { limit: Some(_), .. }) = &query.limit_clause {
            self.add(FragmentKind::Limit, limit.span(), Vec::new(), Vec::new());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if let Some(window) = &function.over {
            let columns = match window {
                WindowType::WindowSpec(spec) => {
                    let sorted = spec.order_by.iter().flat_map(|key| columns_of(&key.expr));
                    spec.partition_by.iter().flat_map(columns_of).chain(sorted).collect()
                }
                WindowType::NamedWindow(_) => Vec::new(),
            };
            let keys = match window {
                WindowType::WindowSpec(spec) => {
                    let sorted = spec.order_by.iter().map(Spanned::span);
                    Span::union_iter(spec.partition_by.iter().map(Spanned::span).chain(sorted))
                }
                WindowType::NamedWindow(name) => name.span,
            };
            self.add(FragmentKind::Window, expr.span().union(&keys), columns, Vec::new());
            return ControlFlow::Continue(());
        }
        let name = function.name.to_string().to_lowercase();
        let is_distinct = matches!(
            &function.args,
            FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
        );
        if is_distinct {
            self.add(FragmentKind::DistinctAggregate, expr.span(), columns_of(expr), Vec::new());
        } else if AGGREGATES.contains(&name.as_str()) {
            self.add(FragmentKind::Aggregate, expr.span(), columns_of(expr), Vec::new());
        } else {
            self.add(FragmentKind::Call, expr.span(), columns_of(expr), vec![name]);
        }
        ControlFlow::Continue(())
    }
}

fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator as Op;
    match operator {
        Op::Join(on)
        | Op::Inner(on)
        | Op::Left(on)
        | Op::LeftOuter(on)
        | Op::Right(on)
        | Op::RightOuter(on)
        | Op::FullOuter(on)
        | Op::CrossJoin(on)
        | Op::Semi(on)
        | Op::LeftSemi(on)
        | Op::RightSemi(on)
        | Op::Anti(on)
        | Op::LeftAnti(on)
        | Op::RightAnti(on)
        | Op::StraightJoin(on) => Some(on),
        _ => None,
    }
}

fn join_columns(constraint: &JoinConstraint) -> Vec<String> {
    match constraint {
        JoinConstraint::On(condition) => columns_of(condition),
        JoinConstraint::Using(names) => names.iter().map(|name| last(&name.to_string())).collect(),
        JoinConstraint::Natural | JoinConstraint::None => Vec::new(),
    }
}

fn table_names(relation: &TableFactor) -> Vec<String> {
    match relation {
        TableFactor::Table { name, .. } => vec![name.to_string()],
        TableFactor::Derived { alias: Some(alias), .. } => vec![alias.name.value.clone()],
        _ => Vec::new(),
    }
}

fn last(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// Columns that a part names, without qualifiers, each once.
fn columns_of(part: &impl Visit) -> Vec<String> {
    struct Columns(Vec<String>);
    impl Visitor for Columns {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(&name.value),
                Expr::CompoundIdentifier(names) => names.last().map(|name| &name.value),
                _ => None,
            };
            if let Some(name) = name
                && !self.0.contains(name)
            {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(Vec::new());
    let _: ControlFlow<()> = part.visit(&mut columns);
    columns.0
}
