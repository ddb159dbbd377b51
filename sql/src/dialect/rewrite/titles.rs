//! Names of the columns of a result.

use super::super::names::Relations;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, Select, SelectItem, Statement, Value, VisitMut, VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Gives columns of the result the names that Spark gives them: a field its own, all else its text.
pub(in super::super) fn titles(statement: &mut Statement, relations: &Relations) {
    _ = VisitMut::visit(statement, &mut Titles { relations });
}

struct Titles<'r> {
    relations: &'r Relations,
}

impl VisitorMut for Titles<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let title = match &*expr {
                Expr::Identifier(_) => continue,
                Expr::Value(value) => match &value.value {
                    Value::SingleQuotedString(text) => text.clone(),
                    other => other.to_string(),
                },
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [table, _] if self.relations.contains(table) => continue,
                    [.., last] => last.value.clone(),
                    [] => continue,
                },
                Expr::CompoundFieldAccess { access_chain, .. } => match access_chain.last() {
                    Some(AccessExpr::Dot(Expr::Identifier(field))) => field.value.clone(),
                    _ => expr.to_string(),
                },
                other => other.to_string(),
            };
            // The same name twice needs two different ones.
            let mut alias = title.clone();
            let mut n = 2;
            while !taken.insert(alias.clone()) {
                alias = format!("{title} ({n})");
                n += 1;
            }
            let expr = std::mem::replace(expr, Expr::value(Value::Null));
            *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('`', alias) };
        }
        ControlFlow::Continue(())
    }
}
