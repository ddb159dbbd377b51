//! Functions of Spark's by those that DataFusion has.

use super::rewritten;
use super::trees::*;
use crate::failure::Problem;
use crate::functions::{CONTAINS, MODE, PARSE_TIME, PERCENTILE, SUBSTRING, TEXT, VALUES};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, DuplicateTreatment, ExactNumberInfo, Expr, Function,
    FunctionArgumentClause, FunctionArguments, NullTreatment, OrderByExpr, OrderByOptions, Subscript, Value,
};

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
    ("timestamp_millis", "to_timestamp_millis"),
    ("timestamp_seconds", "to_timestamp_seconds"),
];

/// Functions whose result DataFusion gives without a sign.
const UNSIGNED: &[&str] = &["row_number", "rank", "dense_rank", "ntile", "approx_distinct"];

pub(super) fn of_function(mut function: Function) -> Result<Expr, Problem> {
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
            set_name(&mut function, VALUES);
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
        "sort_array" | "array_sort" => {
            let mut args = args.unwrap_or_default();
            let is_up = match (name.as_str(), args.len()) {
                (_, 1) => true,
                ("sort_array", 2) => match args.pop() {
                    Some(Expr::Value(value)) if matches!(value.value, Value::Boolean(_)) => {
                        value.value == Value::Boolean(true)
                    }
                    _ => return Err(wrong("a list, and true or false as it is written")),
                },
                ("sort_array", _) => return Err(wrong("a list, and true for ascending or false")),
                _ => return Err(wrong("a list; a function that compares is not there")),
            };
            // `array_sort` has nulls last, `sort_array` first where it ascends.
            let nulls = if is_up && name == "sort_array" { "NULLS FIRST" } else { "NULLS LAST" };
            let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
            args.extend([text(if is_up { "ASC" } else { "DESC" }), text(nulls)]);
            set_name(&mut function, "array_sort");
            set_arguments(&mut function, args);
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
