//! Lateral views as joins.

use super::trees::{arguments, lower_name};
use crate::failure::Problem;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, LateralView, TableAlias, TableAliasColumnDef,
    TableFactor, TableWithJoins,
};

/// The name of a lateral view. `EXPLODE(x) AS n` has none: the parser takes AS for one.
pub(in super::super) fn view_name(view: &LateralView) -> Option<&Ident> {
    let name = view.lateral_view_name.0.last()?.as_ident()?;
    let is_word = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("as");
    (!is_word).then_some(name)
}

/// `FROM x LATERAL VIEW [OUTER] EXPLODE(e) t AS a, b` as a join that [`super::super::lateral`] plans.
pub(super) fn lateral(from: Vec<TableWithJoins>, view: LateralView) -> Result<TableWithJoins, Problem> {
    let name = view_name(&view).cloned().unwrap_or_else(|| Ident::new("\u{1}view"));
    let wrong = || Problem::statement("LATERAL VIEW takes EXPLODE of a list or a map", None::<&str>);
    let Expr::Function(function) = view.lateral_view else { return Err(wrong()) };
    // The expression was visited, so that `explode` has become `unnest`.
    let mut is_outer = view.outer;
    match lower_name(&function).as_str() {
        "unnest" => {}
        "explode_outer" => is_outer = true,
        _ => return Err(wrong()),
    }
    let list = arguments(&function).and_then(|mut args| if args.len() == 1 { args.pop() } else { None });
    let list = list.ok_or_else(wrong)?;
    let mut tables = from.into_iter();
    let mut input =
        tables.next().ok_or_else(|| Problem::statement("LATERAL VIEW needs FROM", None::<&str>))?;
    for TableWithJoins { relation, joins } in tables {
        input.joins.push(Join {
            relation,
            global: false,
            join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
        });
        input.joins.extend(joins);
    }
    let relation = if input.joins.is_empty() {
        input.relation
    } else {
        TableFactor::NestedJoin { table_with_joins: Box::new(input), alias: None }
    };
    let columns =
        view.lateral_col_alias.into_iter().map(|name| TableAliasColumnDef { name, data_type: None });
    let alias = TableAlias { explicit: true, name, columns: columns.collect(), at: None };
    let item = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: vec![list],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
    let operator = if is_outer { JoinOperator::OuterApply } else { JoinOperator::CrossApply };
    let joins = vec![Join { relation: item, global: false, join_operator: operator }];
    let nested = TableWithJoins { relation, joins };
    let relation = TableFactor::NestedJoin { table_with_joins: Box::new(nested), alias: None };
    Ok(TableWithJoins { relation, joins: Vec::new() })
}
