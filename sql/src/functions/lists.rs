//! Lists as Spark has them.

use super::simple::simple;
use super::text;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, ListBuilder, PrimitiveBuilder, StringArray,
    StringBuilder, UInt32Array, new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{concat as concat_arrays, take};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::collections::HashMap;
use std::sync::Arc;

use DataType::{Boolean, Int64, List, Null, Utf8};

/// Elements of a sequence at most.
const MAX_SEQUENCE: i64 = 10_000_000;

/// All of them.
pub(super) fn all() -> Vec<ScalarUDF> {
    vec![
        simple(
            "concat",
            (
                |types| {
                    let lists = types.iter().filter(|ty| matches!(ty, List(_))).count();
                    match types.first() {
                        // A list of whole numbers may be of either length.
                        Some(List(_)) if lists == types.len() => Some(vec![types[0].clone(); types.len()]),
                        _ if lists > 0 => None,
                        _ => Some(types.to_vec()),
                    }
                },
                "texts, or lists of one type",
            ),
            |types| match types.first() {
                Some(list @ List(_)) => list.clone(),
                _ => Utf8,
            },
            concat,
        ),
        simple(
            "reverse",
            (
                |types| match types {
                    [list @ List(_)] => Some(vec![list.clone()]),
                    [_] => Some(vec![Utf8]),
                    _ => None,
                },
                "a text or a list",
            ),
            |types| types.first().cloned().unwrap_or(Utf8),
            reverse,
        ),
        simple(
            super::CONTAINS,
            (|types| (types.len() == 2).then(|| vec![Boolean, types[1].clone()]), "a list and a value"),
            |_| Boolean,
            contains,
        ),
        simple(
            "slice",
            (
                |types| match types {
                    [list @ List(_), _, _] => Some(vec![list.clone(), Int64, Int64]),
                    _ => None,
                },
                "a list, a start and a length",
            ),
            |types| types.first().cloned().unwrap_or(Null),
            slice,
        ),
        simple(
            "sequence",
            (
                |types| {
                    let are_whole = types.iter().all(|ty| ty.is_integer() || *ty == Null);
                    (are_whole && matches!(types.len(), 2 | 3)).then(|| vec![Int64; types.len()])
                },
                "two whole numbers, and a step",
            ),
            |_| List(Arc::new(Field::new_list_field(Int64, true))),
            sequence,
        ),
        simple(
            super::MODE,
            (|types| matches!(types, [List(_)]).then(|| types.to_vec()), "a value"),
            |types| match types.first() {
                Some(List(item)) => item.data_type().clone(),
                _ => Null,
            },
            mode,
        ),
    ]
}

fn range(list: &ListArray, row: usize) -> std::ops::Range<usize> {
    if list.is_null(row) {
        return 0..0;
    }
    let offsets = list.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

/// Lists of some elements of `values`, a list a row; `None` is null.
fn picked(
    values: &ArrayRef,
    ty: &DataType,
    rows: impl Iterator<Item = Option<Vec<u32>>>,
) -> Result<ArrayRef> {
    let List(item) = ty else { return exec_err!("a list is needed") };
    let (mut indices, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        valid.push(row.is_some());
        let row = row.unwrap_or_default();
        lengths.push(row.len());
        indices.extend(row);
    }
    let values = take(values.as_ref(), &UInt32Array::from(indices), None)?;
    let nulls = NullBuffer::from(valid);
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(item),
        OffsetBuffer::from_lengths(lengths),
        values,
        Some(nulls),
    )?))
}

/// Null if one of them is.
fn concat(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    if let Some(List(_)) = args.first().map(|arg| arg.data_type()) {
        let lists: Vec<&ListArray> = args.iter().map(|arg| arg.as_list::<i32>()).collect();
        let all: Vec<&dyn Array> = lists.iter().map(|list| list.values().as_ref()).collect();
        let values = concat_arrays(&all)?;
        let of = |row: usize| {
            let (mut indices, mut base) = (Vec::new(), 0);
            for list in &lists {
                if list.is_null(row) {
                    return None;
                }
                indices.extend(range(list, row).map(|at| (base + at) as u32));
                base += list.values().len();
            }
            Some(indices)
        };
        return picked(&values, args[0].data_type(), (0..rows).map(of));
    }
    let texts = args.iter().map(text::of).collect::<Result<Vec<_>>>()?;
    let texts: Vec<&StringArray> = texts.iter().map(|texts| texts.as_string::<i32>()).collect();
    let mut builder = StringBuilder::new();
    for row in 0..rows {
        let pieces: Option<Vec<&str>> =
            texts.iter().map(|texts| texts.is_valid(row).then(|| texts.value(row))).collect();
        builder.append_option(pieces.map(|pieces| pieces.concat()));
    }
    Ok(Arc::new(builder.finish()))
}

fn reverse(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    if let List(_) = args[0].data_type() {
        let list = args[0].as_list::<i32>();
        let of = |row| list.is_valid(row).then(|| range(list, row).rev().map(|at| at as u32).collect());
        return picked(list.values(), args[0].data_type(), (0..rows).map(of));
    }
    let texts = args[0].as_string::<i32>().iter();
    let reversed = texts.map(|text| text.map(|text| text.chars().rev().collect::<String>()));
    Ok(Arc::new(reversed.collect::<StringArray>()))
}

/// Whether a list contains a value, given whether one of its elements is equal: where none is and one is null,
/// it is not known.
fn contains(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let List(_) = args[1].data_type() else { return Ok(Arc::clone(&args[0])) };
    let (found, list) = (args[0].as_boolean(), args[1].as_list::<i32>());
    if list.values().null_count() == 0 {
        return Ok(Arc::clone(&args[0]));
    }
    let of = |row: usize| {
        let is_known = found.is_valid(row)
            && (found.value(row) || range(list, row).all(|at| list.values().is_valid(at)));
        is_known.then(|| found.value(row))
    };
    Ok(Arc::new((0..rows).map(of).collect::<BooleanArray>()))
}

fn slice(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let list = args[0].as_list::<i32>();
    let (starts, lengths) = (args[1].as_primitive::<Int64Type>(), args[2].as_primitive::<Int64Type>());
    let mut all = Vec::with_capacity(rows);
    for row in 0..rows {
        if list.is_null(row) || starts.is_null(row) || lengths.is_null(row) {
            all.push(None);
            continue;
        }
        let (start, length) = (starts.value(row), lengths.value(row));
        if start == 0 {
            return exec_err!("slice: places in a list count from 1, or from -1 at its end; 0 is none");
        }
        let Ok(length) = usize::try_from(length) else {
            return exec_err!("slice: a length is not below 0");
        };
        let range = range(list, row);
        let count = range.len() as i64;
        let skipped = if start > 0 { start - 1 } else { count.saturating_add(start) };
        let indices = match usize::try_from(skipped) {
            Ok(skipped) => range.skip(skipped).take(length).map(|at| at as u32).collect(),
            // A start before the first element gives nothing.
            Err(_) => Vec::new(),
        };
        all.push(Some(indices));
    }
    picked(list.values(), args[0].data_type(), all.into_iter())
}

fn sequence(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (starts, stops) = (args[0].as_primitive::<Int64Type>(), args[1].as_primitive::<Int64Type>());
    let steps = args.get(2).map(|steps| steps.as_primitive::<Int64Type>());
    let mut builder = ListBuilder::new(PrimitiveBuilder::<Int64Type>::new());
    for row in 0..rows {
        if starts.is_null(row) || stops.is_null(row) || steps.is_some_and(|steps| steps.is_null(row)) {
            builder.append_null();
            continue;
        }
        let (start, stop) = (i128::from(starts.value(row)), i128::from(stops.value(row)));
        let step = steps.map_or(if start <= stop { 1 } else { -1 }, |steps| i128::from(steps.value(row)));
        let is_towards = (step > 0 && start <= stop) || (step < 0 && start >= stop) || start == stop;
        if !is_towards {
            return exec_err!("sequence: steps of {step} do not lead from {start} to {stop}");
        }
        let count = if start == stop { 1 } else { (stop - start) / step + 1 };
        if count > i128::from(MAX_SEQUENCE) {
            return exec_err!("sequence: more than {MAX_SEQUENCE} elements");
        }
        (0..count).for_each(|n| builder.values().append_value((start + n * step) as i64));
        builder.append(true);
    }
    Ok(Arc::new(builder.finish()))
}

/// The value that is most often in each list; of several, that which comes first.
fn mode(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let list = args[0].as_list::<i32>();
    let values = list.values();
    if values.is_empty() {
        return Ok(new_null_array(values.data_type(), rows));
    }
    let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
    let keys = converter.convert_columns(&[Arc::clone(values)])?;
    let of = |row: usize| -> Option<u32> {
        let mut counts: HashMap<&[u8], (usize, usize)> = HashMap::new();
        for at in range(list, row).filter(|at| values.is_valid(*at)) {
            counts.entry(keys.row(at).data()).or_insert((0, at)).0 += 1;
        }
        let most = counts.values().max_by_key(|(count, first)| (*count, std::cmp::Reverse(*first)));
        most.map(|(_, first)| *first as u32)
    };
    let indices: UInt32Array = (0..rows).map(of).collect();
    Ok(take(values.as_ref(), &indices, None)?)
}
