//! Pieces of a statement's tree: taken apart and put together.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value,
};

/// Name of a function in small letters; empty for one with dots.
pub(super) fn lower_name(function: &Function) -> String {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map(|name| name.value.to_ascii_lowercase()).unwrap_or_default(),
        _ => String::new(),
    }
}

pub(super) fn set_name(function: &mut Function, name: &str) {
    // The place of the name, for errors, stays.
    if let [part] = function.name.0.as_mut_slice()
        && let datafusion::sql::sqlparser::ast::ObjectNamePart::Identifier(ident) = part
    {
        name.clone_into(&mut ident.value);
        ident.quote_style = None;
    }
}

/// Plain arguments; `None` if there are others.
pub(super) fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    plain.collect()
}

pub(super) fn argument_list(args: Vec<Expr>) -> FunctionArguments {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() })
}

pub(super) fn set_arguments(function: &mut Function, args: Vec<Expr>) {
    let distinct = match &function.args {
        FunctionArguments::List(list) => list.duplicate_treatment,
        _ => None,
    };
    function.args = argument_list(args);
    if let FunctionArguments::List(list) = &mut function.args {
        list.duplicate_treatment = distinct;
    }
}

pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
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

pub(super) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None, array: false }
}

pub(super) fn number(text: &str) -> Expr {
    Expr::value(Value::Number(text.into(), false))
}

pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let nested = |expr| Expr::Nested(Box::new(expr));
    nested(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) })
}

pub(super) fn null_if_zero(expr: Expr) -> Expr {
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

pub(super) fn case(condition: Expr, then: Expr, other: Option<Expr>) -> Expr {
    use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: then }],
        else_result: other.map(Box::new),
    }
}
