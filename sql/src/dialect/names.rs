//! Names without regard to case, as in Spark: each gets the spelling it was declared with.

use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement,
    TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The names by which a statement calls its tables.
#[derive(Debug, Default)]
pub(super) struct Relations {
    names: BTreeSet<String>,
}

impl Relations {
    pub(super) fn of(statement: &Statement) -> Self {
        let mut relations = Relations::default();
        _ = Visit::visit(statement, &mut relations);
        relations.names = relations.names.iter().map(|name| name.to_ascii_lowercase()).collect();
        relations
    }

    /// Whether `name` is a table's rather than a column's.
    pub(super) fn contains(&self, name: &Ident) -> bool {
        self.names.contains(&name.value.to_ascii_lowercase())
    }

    fn add_alias(&mut self, alias: Option<&TableAlias>) {
        self.names.extend(alias.map(|alias| alias.name.value.clone()));
    }
}

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias, .. } => match alias {
                Some(alias) => self.add_alias(Some(alias)),
                None => {
                    self.names.extend(name.0.last().and_then(|part| part.as_ident()).map(|i| i.value.clone()))
                }
            },
            TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => self.add_alias(alias.as_ref()),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for view in &select.lateral_views {
            // `EXPLODE(x) AS n` names a column; a view's name comes before AS.
            if let Some(name) = super::rewrite::view_name(view) {
                self.names.insert(name.value.clone());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Spells names as they were declared: by the tables, or else where the statement declares them first.
pub(super) fn spell(statement: &mut Statement, known: &[String]) {
    let mut declared = Declared { spelling: BTreeMap::new() };
    for name in known {
        declared.add(name);
    }
    _ = Visit::visit(&*statement, &mut declared);
    _ = VisitMut::visit(statement, &mut Speller { spelling: declared.spelling });
}

struct Declared {
    spelling: BTreeMap<String, String>,
}

impl Declared {
    fn add(&mut self, name: &str) {
        self.spelling.entry(name.to_lowercase()).or_insert_with(|| name.to_owned());
    }
}

impl Visitor for Declared {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add(&cte.alias.name.value);
            cte.alias.columns.iter().for_each(|column| self.add(&column.name.value));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.add(&alias.value);
            }
        }
        for view in &select.lateral_views {
            super::rewrite::view_name(view).into_iter().for_each(|name| self.add(&name.value));
            view.lateral_col_alias.iter().for_each(|name| self.add(&name.value));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } = factor
        {
            self.add(&alias.name.value);
            alias.columns.iter().for_each(|column| self.add(&column.name.value));
        }
        ControlFlow::Continue(())
    }
}

struct Speller {
    spelling: BTreeMap<String, String>,
}

impl Speller {
    fn ident(&self, ident: &mut Ident) {
        if let Some(name) = self.spelling.get(&ident.value.to_lowercase()) {
            ident.value.clone_from(name);
        }
    }

    fn object(&self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let datafusion::sql::sqlparser::ast::ObjectNamePart::Identifier(ident) = part {
                self.ident(ident);
            }
        }
    }

    fn alias(&self, alias: Option<&mut TableAlias>) {
        let Some(alias) = alias else { return };
        self.ident(&mut alias.name);
        alias.columns.iter_mut().for_each(|column| self.ident(&mut column.name));
    }
}

impl VisitorMut for Speller {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        tables.for_each(|Cte { alias, .. }| self.alias(Some(alias)));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        self.object(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. }
        | TableFactor::UNNEST { alias, .. } = factor
        {
            self.alias(alias.as_mut());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => self.ident(alias),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.object(name)
                }
                _ => {}
            }
        }
        for view in &mut select.lateral_views {
            self.object(&mut view.lateral_view_name);
            view.lateral_col_alias.iter_mut().for_each(|name| self.ident(name));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.ident(ident),
            Expr::CompoundIdentifier(idents) => idents.iter_mut().for_each(|ident| self.ident(ident)),
            Expr::CompoundFieldAccess { access_chain, .. } => {
                use datafusion::sql::sqlparser::ast::AccessExpr;
                for access in access_chain {
                    if let AccessExpr::Dot(Expr::Identifier(ident)) = access {
                        self.ident(ident);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
