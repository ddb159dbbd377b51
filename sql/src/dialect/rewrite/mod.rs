//! What Spark means by an expression, in terms of what DataFusion has.

mod functions;
mod titles;
mod trees;
mod views;

pub(super) use titles::titles;
pub(super) use views::view_name;

use super::spark;
use crate::failure::Problem;
use crate::functions::{SUBSTRING, TEXT};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CeilFloorKind, DataType, DateTimeField, ExactNumberInfo, Expr, Query, Select,
    SetExpr, Statement, Subscript, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use functions::of_function;
use std::ops::ControlFlow;
use trees::{binary, call, cast, null_if_zero, number};
use views::lateral;

/// Makes of every literal the text that it means.
pub(super) fn texts(statement: &mut Statement) {
    _ = VisitMut::visit(statement, &mut Texts);
}

struct Texts;

impl VisitorMut for Texts {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        let meant = match &value.value {
            Value::SingleQuotedString(text) => spark::unescaped(text, '\''),
            Value::DoubleQuotedString(text) => spark::unescaped(text, '"'),
            _ => return ControlFlow::Continue(()),
        };
        value.value = Value::SingleQuotedString(meant);
        ControlFlow::Continue(())
    }
}

/// Rewrites expressions and lateral views, inner ones first.
#[derive(Debug, Default)]
pub(super) struct Rewriter {
    /// What cannot be said otherwise.
    pub(super) problem: Option<Problem>,
}

impl VisitorMut for Rewriter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) =
            query.body.as_ref()
        {
            self.problem.get_or_insert_with(Problem::read_only);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.into.is_some() {
            self.problem.get_or_insert_with(Problem::read_only);
        }
        for view in std::mem::take(&mut select.lateral_views) {
            match lateral(std::mem::take(&mut select.from), view) {
                Ok(from) => select.from = vec![from],
                Err(problem) => {
                    self.problem.get_or_insert(problem);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // Most expressions stay; those that change are taken apart.
        if needs_rewrite(expr) {
            let taken = std::mem::replace(expr, Expr::value(Value::Null));
            match rewritten(taken) {
                Ok(new) => *expr = new,
                Err(problem) => {
                    self.problem.get_or_insert(problem);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

fn needs_rewrite(expr: &Expr) -> bool {
    match expr {
        Expr::Function(_) | Expr::Ceil { .. } | Expr::Floor { .. } | Expr::RLike { .. } => true,
        Expr::Substring { .. } => true,
        Expr::CompoundFieldAccess { .. } => true,
        Expr::BinaryOp { op, .. } => {
            matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::MyIntegerDivide)
        }
        Expr::Cast { data_type, .. } => is_text(data_type),
        _ => false,
    }
}

fn rewritten(expr: Expr) -> Result<Expr, Problem> {
    Ok(match expr {
        Expr::Function(function) => of_function(function)?,
        // Division of whole numbers gives fractions, and division by zero gives null.
        Expr::BinaryOp { left, op: BinaryOperator::Divide, right } => {
            let (left, right) = (
                cast(*left, DataType::Double(ExactNumberInfo::None)),
                cast(*right, DataType::Double(ExactNumberInfo::None)),
            );
            binary(left, BinaryOperator::Divide, null_if_zero(right))
        }
        Expr::BinaryOp { left, op: BinaryOperator::MyIntegerDivide, right } => {
            let (left, right) = (cast(*left, DataType::BigInt(None)), cast(*right, DataType::BigInt(None)));
            binary(left, BinaryOperator::Divide, null_if_zero(right))
        }
        Expr::BinaryOp { left, op: BinaryOperator::Modulo, right } => {
            binary(*left, BinaryOperator::Modulo, null_if_zero(*right))
        }
        Expr::Cast { expr, .. } => call(TEXT, vec![*expr]),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let from = substring_from.map_or_else(|| number("1"), |from| *from);
            let args = [Some(*expr), Some(from), substring_for.map(|length| *length)];
            call(SUBSTRING, args.into_iter().flatten().collect())
        }
        Expr::Floor { expr, field } if is_plain(&field) => {
            cast(call("floor", vec![*expr]), DataType::BigInt(None))
        }
        Expr::Ceil { expr, field } if is_plain(&field) => {
            cast(call("ceil", vec![*expr]), DataType::BigInt(None))
        }
        Expr::RLike { negated, expr, pattern, .. } => {
            let like = call("regexp_like", vec![*expr, *pattern]);
            if negated {
                Expr::UnaryOp {
                    op: datafusion::sql::sqlparser::ast::UnaryOperator::Not,
                    expr: Box::new(like),
                }
            } else {
                like
            }
        }
        Expr::CompoundFieldAccess { root, access_chain } => accessed(*root, access_chain),
        other => other,
    })
}

/// Fields, and elements of lists and maps. The engine knows a dot after a column only, and brackets after anything.
fn accessed(root: Expr, chain: Vec<AccessExpr>) -> Expr {
    // The first names may be those of a table and its column.
    let mut names_column = matches!(root, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    let mut rewritten = Vec::new();
    for access in chain {
        rewritten.push(match access {
            AccessExpr::Dot(Expr::Identifier(field)) if !names_column => {
                let index = Expr::value(Value::SingleQuotedString(field.value));
                AccessExpr::Subscript(Subscript::Index { index })
            }
            access @ AccessExpr::Dot(_) => access,
            access => {
                names_column = false;
                from_zero(access)
            }
        });
    }
    match root {
        Expr::CompoundFieldAccess { root, access_chain: mut first } => {
            first.append(&mut rewritten);
            Expr::CompoundFieldAccess { root, access_chain: first }
        }
        root => Expr::CompoundFieldAccess { root: Box::new(root), access_chain: rewritten },
    }
}

/// Lists are counted from 0 in brackets.
fn from_zero(access: AccessExpr) -> AccessExpr {
    let AccessExpr::Subscript(Subscript::Index { index: Expr::Value(mut value) }) = access else {
        return access;
    };
    if let Value::Number(number, is_long) = &value.value
        && let Ok(n) = number.to_string().parse::<u64>()
    {
        value.value = Value::Number((n + 1).to_string(), *is_long);
    }
    AccessExpr::Subscript(Subscript::Index { index: Expr::Value(value) })
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::String(_) | DataType::Varchar(None) | DataType::Text)
}

fn is_plain(kind: &CeilFloorKind) -> bool {
    matches!(kind, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime))
}
