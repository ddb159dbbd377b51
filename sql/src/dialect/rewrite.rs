//! What Spark means by an expression, in terms of what DataFusion has.

use super::names::Relations;
use crate::failure::Problem;
use crate::functions::{CONTAINS, MODE, PARSE_TIME, PERCENTILE, SORTED_VALUES, SUBSTRING, TEXT};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField,
    DuplicateTreatment, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident, Join, JoinConstraint,
    JoinOperator, LateralView, NullTreatment, ObjectName, OrderByExpr, OrderByOptions, Query, Select,
    SelectItem, SetExpr, Statement, Subscript, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
    Value, VisitMut, VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Functions that are only called otherwise.
const RENAMED: &[(&str, &str)] = &[
    ("explode", "unnest"),
    ("first", "first_value"),
    ("last", "last_value"),
    ("any_value", "first_value"),
    ("approx_count_distinct", "approx_distinct"),
    ("approx_percentile", "approx_percentile_cont"),
    ("percentile_approx", "approx_percentile_cont"),
    ("some", "bool_or"),
    ("any", "bool_or"),
    ("every", "bool_and"),
    ("variance", "var_samp"),
    ("std", "stddev"),
    ("ifnull", "nvl"),
    ("lcase", "lower"),
    ("ucase", "upper"),
    ("len", "length"),
    ("array", "make_array"),
    ("startswith", "starts_with"),
    ("endswith", "ends_with"),
    ("date_diff", "datediff"),
    ("dateadd", "date_add"),
    ("char_length", "length"),
    ("array_join", "array_to_string"),
    ("sort_array", "array_sort"),
    ("timestamp_millis", "to_timestamp_millis"),
    ("timestamp_seconds", "to_timestamp_seconds"),
];

/// Functions whose result DataFusion gives without a sign.
const UNSIGNED: &[&str] = &["row_number", "rank", "dense_rank", "ntile", "approx_distinct"];

/// The name of a lateral view. `EXPLODE(x) AS n` has none: the parser takes AS for one.
pub(super) fn view_name(view: &LateralView) -> Option<&Ident> {
    let name = view.lateral_view_name.0.last()?.as_ident()?;
    let is_word = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("as");
    (!is_word).then_some(name)
}

/// Gives columns of the result the names that Spark gives them: a field its own, all else its text.
pub(super) fn titles(statement: &mut Statement, relations: &Relations) {
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
                    Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
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

/// `FROM x LATERAL VIEW [OUTER] EXPLODE(e) t AS a, b` as a join that [`super::lateral`] plans.
fn lateral(from: Vec<TableWithJoins>, view: LateralView) -> Result<TableWithJoins, Problem> {
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

fn needs_rewrite(expr: &Expr) -> bool {
    match expr {
        Expr::Function(_) | Expr::Ceil { .. } | Expr::Floor { .. } | Expr::RLike { .. } => true,
        Expr::Substring { .. } => true,
        Expr::CompoundFieldAccess { .. } => true,
        Expr::BinaryOp { op, .. } => {
            matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::MyIntegerDivide)
        }
        Expr::Cast { data_type, .. } => is_text(data_type),
        Expr::Value(value) => match &value.value {
            Value::DoubleQuotedString(_) => true,
            Value::SingleQuotedString(text) => text.contains('\\'),
            _ => false,
        },
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
        Expr::CompoundFieldAccess { root, access_chain } => Expr::CompoundFieldAccess {
            root,
            access_chain: access_chain.into_iter().map(from_zero).collect(),
        },
        Expr::Value(mut value) => {
            if let Value::DoubleQuotedString(text) | Value::SingleQuotedString(text) = value.value {
                value.value = Value::SingleQuotedString(unescaped(&text));
            }
            Expr::Value(value)
        }
        other => other,
    })
}

/// A text whose backslashes are escapes. Before `%` and `_` they stay, for LIKE.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (c, false) => out.push(c),
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(kept @ ('%' | '_')) => out.extend(['\\', kept]),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
        }
    }
    out
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

fn of_function(mut function: Function) -> Result<Expr, Problem> {
    let name = lower_name(&function);
    let args = arguments(&function);
    let wrong = |takes: &str| Problem::statement(format!("{name} takes {takes}"), None::<&str>);
    let pair = |takes: &str| match args.clone() {
        Some(args) if args.len() == 2 => Ok(args),
        _ => Err(wrong(takes)),
    };
    Ok(match name.as_str() {
        "percentile" | "median" => {
            let (value, fraction) = match (name.as_str(), args.clone().unwrap_or_default().as_slice()) {
                ("percentile", [value, fraction]) => (value.clone(), fraction.clone()),
                ("median", [value]) => (value.clone(), number("0.5")),
                ("median", _) => return Err(wrong("one value")),
                _ => return Err(wrong("a value and a fraction from 0 to 1")),
            };
            set_name(&mut function, SORTED_VALUES);
            set_arguments(&mut function, vec![value]);
            call(PERCENTILE, vec![Expr::Function(function), fraction])
        }
        "max_by" | "min_by" => {
            let mut args = pair("a value and what it is ordered by")?;
            let by = args.pop().ok_or_else(|| wrong("two arguments"))?;
            let is_max = name == "max_by";
            let options = OrderByOptions { asc: Some(true), nulls_first: Some(is_max) };
            let order = OrderByExpr { expr: by, options, with_fill: None };
            set_name(&mut function, if is_max { "last_value" } else { "first_value" });
            set_arguments(&mut function, args);
            if let FunctionArguments::List(list) = &mut function.args {
                list.clauses.push(FunctionArgumentClause::OrderBy(vec![order]));
            }
            Expr::Function(function)
        }
        "size" | "array_size" | "cardinality" => {
            set_name(&mut function, "cardinality");
            cast(Expr::Function(function), DataType::Int(None))
        }
        "collect_list" => {
            set_name(&mut function, "array_agg");
            function.null_treatment = Some(NullTreatment::IgnoreNulls);
            Expr::Function(function)
        }
        "collect_set" => {
            set_name(&mut function, "array_agg");
            function.null_treatment = Some(NullTreatment::IgnoreNulls);
            if let FunctionArguments::List(list) = &mut function.args {
                list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
            }
            Expr::Function(function)
        }
        "count_if" => {
            let condition = args.and_then(|mut args| args.pop()).ok_or_else(|| wrong("one condition"))?;
            set_name(&mut function, "count");
            set_arguments(&mut function, vec![case(condition, number("1"), None)]);
            Expr::Function(function)
        }
        "if" => match args.unwrap_or_default().as_slice() {
            [condition, then, other] => case(condition.clone(), then.clone(), Some(other.clone())),
            _ => return Err(wrong("a condition and two values")),
        },
        "element_at" => {
            let mut args = pair("a list or map, and a place in it")?;
            let index = args.pop().ok_or_else(|| wrong("two arguments"))?;
            if is_zero(&index) {
                return Err(Problem::statement(
                    "element_at: 0 is no place in a list",
                    Some("places count from 1, or from -1 at the end"),
                ));
            }
            let root = Box::new(args.remove(0));
            Expr::CompoundFieldAccess {
                root,
                access_chain: vec![AccessExpr::Subscript(Subscript::Index { index })],
            }
        }
        "try_divide" => {
            let mut args = pair("two numbers")?;
            let right = args.pop().ok_or_else(|| wrong("two numbers"))?;
            let left = args.remove(0);
            let (left, right) = (Box::new(left), Box::new(right));
            return rewritten(Expr::BinaryOp { left, op: BinaryOperator::Divide, right });
        }
        "array_contains" | "array_has" => {
            let args = pair("a list and a value")?;
            let list = args[0].clone();
            set_name(&mut function, "array_has");
            call(CONTAINS, vec![Expr::Function(function), list])
        }
        "substr" | "substring" => {
            set_name(&mut function, SUBSTRING);
            Expr::Function(function)
        }
        "mode" => {
            set_name(&mut function, "array_agg");
            function.null_treatment = Some(NullTreatment::IgnoreNulls);
            call(MODE, vec![Expr::Function(function)])
        }
        "from_unixtime" => {
            let mut args = args.ok_or_else(|| wrong("seconds and a pattern"))?;
            let pattern = match args.len() {
                1 => Expr::value(Value::SingleQuotedString("yyyy-MM-dd HH:mm:ss".to_owned())),
                2 => args.remove(1),
                _ => return Err(wrong("seconds and a pattern")),
            };
            let seconds = cast(args.remove(0), DataType::BigInt(None));
            call("date_format", vec![call("to_timestamp_seconds", vec![seconds]), pattern])
        }
        // With a pattern they read texts by it.
        "unix_timestamp" | "to_unix_timestamp" | "to_timestamp" | "to_date"
            if args.as_ref().is_some_and(|args| args.len() > 1) =>
        {
            let time = call(PARSE_TIME, pair("a text and a pattern")?);
            match name.as_str() {
                "to_timestamp" => time,
                "to_date" => cast(time, DataType::Date),
                _ => call("unix_timestamp", vec![time]),
            }
        }
        "to_unix_timestamp" => {
            set_name(&mut function, "unix_timestamp");
            Expr::Function(function)
        }
        "string" | "int" | "bigint" | "double" | "boolean" => {
            let value = args.and_then(|mut args| args.pop()).ok_or_else(|| wrong("one value"))?;
            match name.as_str() {
                "string" => call(TEXT, vec![value]),
                "int" => cast(value, DataType::Int(None)),
                "bigint" => cast(value, DataType::BigInt(None)),
                "double" => cast(value, DataType::Double(ExactNumberInfo::None)),
                _ => cast(value, DataType::Boolean),
            }
        }
        "floor" | "ceil" | "ceiling" => {
            set_name(&mut function, if name == "floor" { "floor" } else { "ceil" });
            cast(Expr::Function(function), DataType::BigInt(None))
        }
        other => {
            let renamed = RENAMED.iter().find(|(from, _)| *from == other).map_or(other, |(_, to)| to);
            let is_unsigned = UNSIGNED.contains(&renamed);
            set_name(&mut function, renamed);
            let call = Expr::Function(function);
            if is_unsigned { cast(call, DataType::BigInt(None)) } else { call }
        }
    })
}

/// Whether it is the number 0 as it is written.
fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(n, _) if n.to_string().parse::<f64>() == Ok(0.0))
        }
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_zero(inner),
        _ => false,
    }
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::String(_) | DataType::Varchar(None) | DataType::Text)
}

fn is_plain(kind: &CeilFloorKind) -> bool {
    matches!(kind, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime))
}

/// Name of a function in small letters; empty for one with dots.
fn lower_name(function: &Function) -> String {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map(|name| name.value.to_ascii_lowercase()).unwrap_or_default(),
        _ => String::new(),
    }
}

fn set_name(function: &mut Function, name: &str) {
    // The place of the name, for errors, stays.
    if let [part] = function.name.0.as_mut_slice()
        && let datafusion::sql::sqlparser::ast::ObjectNamePart::Identifier(ident) = part
    {
        name.clone_into(&mut ident.value);
        ident.quote_style = None;
    }
}

/// Plain arguments; `None` if there are others.
fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    plain.collect()
}

fn argument_list(args: Vec<Expr>) -> FunctionArguments {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() })
}

fn set_arguments(function: &mut Function, args: Vec<Expr>) {
    let distinct = match &function.args {
        FunctionArguments::List(list) => list.duplicate_treatment,
        _ => None,
    };
    function.args = argument_list(args);
    if let FunctionArguments::List(list) = &mut function.args {
        list.duplicate_treatment = distinct;
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: argument_list(args),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None, array: false }
}

fn number(text: &str) -> Expr {
    Expr::value(Value::Number(text.into(), false))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let nested = |expr| Expr::Nested(Box::new(expr));
    nested(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) })
}

fn null_if_zero(expr: Expr) -> Expr {
    // A number that is not zero needs no care, and plans stay readable.
    let literal = match &expr {
        Expr::Cast { expr, .. } => expr.as_ref(),
        other => other,
    };
    if let Expr::Value(value) = literal
        && let Value::Number(number, _) = &value.value
        && number.to_string().parse::<f64>().is_ok_and(|number| number != 0.0)
    {
        return expr;
    }
    call("nullif", vec![expr, number("0")])
}

fn case(condition: Expr, then: Expr, other: Option<Expr>) -> Expr {
    use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: then }],
        else_result: other.map(Box::new),
    }
}
