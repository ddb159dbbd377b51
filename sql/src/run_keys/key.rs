//! The key itself: the values that name a run, and whole numbers within it, as one number.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of a key for all whole numbers together; the run's own are above them.
pub(super) const NUMBER_BITS: u32 = 40;
/// Runs that have room above the numbers.
const RUNS: i64 = 1 << (62 - NUMBER_BITS);

/// What a part of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// A text that equals no other where it is null.
    Text,
    /// A text whose null equals another.
    TextOrNull,
    /// A whole number of at most so many bits, which equals no other where it is null. Larger and negative ones are
    /// allowed, but looked up.
    Number(u32),
}

/// The values of some columns as one number: the same number for the same values, on both sides of a join, and
/// null where a value is null that equals nothing.
///
/// Few texts come again and again in rows that follow each other, so that hardly any is looked up. Numbers that have
/// no room are looked up, too.
#[derive(Debug)]
pub(super) struct Key {
    /// Texts come first.
    parts: Vec<(Part, Arc<dyn PhysicalExpr>)>,
    codes: Arc<Codes>,
}

/// What both sides of a join number.
#[derive(Default)]
pub(super) struct Codes {
    runs: Mutex<HashMap<Vec<Option<String>>, i64>>,
    /// Keys whose numbers have no room.
    rest: Mutex<HashMap<(i64, Vec<i64>), i64>>,
}

impl fmt::Debug for Codes {
    // Plans are printed, values are not.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Codes")
    }
}

impl Codes {
    fn run(&self, texts: Vec<Option<String>>) -> i64 {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let next = runs.len() as i64;
        *runs.entry(texts).or_insert(next)
    }

    fn other(&self, run: i64, numbers: Vec<i64>) -> i64 {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let next = -1 - rest.len() as i64;
        *rest.entry((run, numbers)).or_insert(next)
    }
}

/// The run of each row; `None` where it equals no other.
enum Runs {
    Same(Option<i64>),
    Rows(Vec<Option<i64>>),
}

impl Key {
    /// `parts`: texts first.
    pub(super) fn new(parts: Vec<(Part, Arc<dyn PhysicalExpr>)>, codes: Arc<Codes>) -> Self {
        Key { parts, codes }
    }

    fn runs(&self, texts: &[(Part, ColumnarValue)], rows: usize) -> Result<Runs> {
        let code = |values: Vec<Option<&str>>| {
            let is_known = values
                .iter()
                .zip(texts)
                .all(|(value, (part, _))| value.is_some() || *part == Part::TextOrNull);
            is_known
                .then(|| self.codes.run(values.into_iter().map(|value| value.map(str::to_owned)).collect()))
        };
        let scalars: Option<Vec<Option<&str>>> = texts
            .iter()
            .map(|(_, value)| match value {
                ColumnarValue::Scalar(value) => value.try_as_str(),
                ColumnarValue::Array(_) => None,
            })
            .collect();
        if let Some(values) = scalars {
            return Ok(Runs::Same(code(values)));
        }
        let arrays = texts.iter().map(|(_, value)| {
            let array = value.clone().into_array(rows)?;
            Ok(cast(&array, &DataType::Utf8)?)
        });
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        let arrays: Vec<&StringArray> = arrays.iter().map(|array| array.as_string::<i32>()).collect();
        let value =
            |array: &StringArray, row: usize| array.is_valid(row).then(|| array.value(row).to_owned());
        let is_as_before = |row: usize| {
            row > 0
                && arrays.iter().all(|array| {
                    array.is_valid(row) == array.is_valid(row - 1)
                        && (array.is_null(row) || array.value(row) == array.value(row - 1))
                })
        };
        let mut codes: Vec<Option<i64>> = Vec::with_capacity(rows);
        for row in 0..rows {
            let of_row = if is_as_before(row) {
                codes[row - 1]
            } else {
                let values: Vec<Option<String>> = arrays.iter().map(|array| value(array, row)).collect();
                code(values.iter().map(Option::as_deref).collect())
            };
            codes.push(of_row);
        }
        Ok(Runs::Rows(codes))
    }
}

/// Keys of runs with numbers. `None` if one of them has no room.
fn packed(runs: &Runs, numbers: &[(u32, &Int64Array)], rows: usize) -> Option<Vec<i64>> {
    if numbers.is_empty() {
        return Some(match runs {
            Runs::Same(run) => vec![run.unwrap_or_default(); rows],
            Runs::Rows(runs) => runs.iter().map(|run| run.unwrap_or_default()).collect(),
        });
    }
    let high = |run: &Option<i64>| run.unwrap_or_default() << NUMBER_BITS;
    let has_room = |run: &Option<i64>| run.is_none_or(|run| run < RUNS);
    let mut keys: Vec<i64> = match runs {
        Runs::Same(run) if has_room(run) => vec![high(run); rows],
        Runs::Rows(runs) if runs.iter().all(has_room) => runs.iter().map(high).collect(),
        _ => return None,
    };
    let (mut lost, mut shift) = (0, 0);
    for (bits, values) in numbers {
        for (key, value) in keys.iter_mut().zip(values.values()) {
            lost |= *value >> bits;
            *key |= *value << shift;
        }
        shift += bits;
    }
    // The number under a null may be any, and is then one too many at worst.
    (lost == 0).then_some(keys)
}

impl PhysicalExpr for Key {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let mut texts = Vec::new();
        let mut numbers: Vec<(u32, ArrayRef)> = Vec::new();
        for (part, expr) in &self.parts {
            let value = expr.evaluate(batch)?;
            match part {
                Part::Number(bits) => {
                    numbers.push((*bits, cast(&value.into_array(rows)?, &DataType::Int64)?));
                }
                _ => texts.push((*part, value)),
            }
        }
        let runs = self.runs(&texts, rows)?;
        if let Runs::Same(None) = runs {
            return Ok(ColumnarValue::Scalar(ScalarValue::Int64(None)));
        }
        let numbers: Vec<(u32, &Int64Array)> =
            numbers.iter().map(|(bits, array)| (*bits, array.as_primitive::<Int64Type>())).collect();
        let mut nulls = match &runs {
            Runs::Rows(runs) if runs.contains(&None) => {
                Some(NullBuffer::new(BooleanBuffer::from_iter(runs.iter().map(Option::is_some))))
            }
            _ => None,
        };
        for (_, array) in &numbers {
            nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
        }
        let keys = packed(&runs, &numbers, rows).unwrap_or_else(|| {
            let of_row = |row: usize| {
                let run = match &runs {
                    Runs::Same(run) => run.unwrap_or_default(),
                    Runs::Rows(runs) => runs[row].unwrap_or_default(),
                };
                let values = || numbers.iter().map(|(bits, array)| (*bits, array.value(row)));
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    0
                } else if run < RUNS && values().all(|(bits, value)| value >> bits == 0) {
                    let low = values()
                        .fold((0, 0), |(key, shift), (bits, value)| (key | value << shift, shift + bits));
                    run << NUMBER_BITS | low.0
                } else {
                    self.codes.other(run, values().map(|(_, value)| value).collect())
                }
            };
            (0..rows).map(of_row).collect()
        });
        Ok(ColumnarValue::Array(Arc::new(Int64Array::new(keys.into(), nulls))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.parts.iter().map(|(_, expr)| expr).collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        if children.len() != self.parts.len() {
            return internal_err!("a key of {} columns is given {}", self.parts.len(), children.len());
        }
        let parts = self.parts.iter().map(|(part, _)| *part).zip(children).collect();
        Ok(Arc::new(Key { parts, codes: Arc::clone(&self.codes) }))
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(|(_, expr)| expr.to_string()).collect();
        write!(f, "run_key({})", parts.join(", "))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.codes, &other.codes)
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(one, two)| one.0 == two.0 && one.1.eq(&two.1))
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.codes).hash(state);
        self.parts.iter().for_each(|(part, expr)| {
            part.hash(state);
            expr.hash(state);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::Field;
    use datafusion::physical_expr::expressions::{Column, Literal};

    type Row<'t> = (Option<&'t str>, Option<&'t str>, Option<i32>, Option<i64>);

    fn batch(rows: &[Row<'_>]) -> RecordBatch {
        let field = |name: &str, ty| Field::new(name, ty, true);
        let schema = Schema::new(vec![
            field("id", DataType::Utf8),
            field("attempt", DataType::Utf8),
            field("stage", DataType::Int32),
            field("try", DataType::Int64),
        ]);
        RecordBatch::try_new(
            Arc::new(schema),
            vec![
                Arc::new(rows.iter().map(|row| row.0).collect::<StringArray>()),
                Arc::new(rows.iter().map(|row| row.1).collect::<StringArray>()),
                Arc::new(rows.iter().map(|row| row.2).collect::<Int32Array>()),
                Arc::new(rows.iter().map(|row| row.3).collect::<Int64Array>()),
            ],
        )
        .unwrap()
    }

    fn column(n: usize) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(["id", "attempt", "stage", "try"][n], n))
    }

    fn keys(key: Key, batch: &RecordBatch) -> Vec<Option<i64>> {
        let array = Arc::new(key).evaluate(batch).unwrap().into_array(batch.num_rows()).unwrap();
        array.as_primitive::<Int64Type>().iter().collect()
    }

    #[test]
    fn same_values_have_the_same_key_on_both_sides() {
        let rows = [
            (Some("a"), None, Some(1), Some(0)),
            (Some("a"), None, Some(1), Some(0)),
            (Some("a"), None, Some(2), Some(0)),
            (Some("a"), Some("1"), Some(1), Some(0)),
            (Some("b"), None, Some(1), Some(0)),
            (Some("b"), None, Some(1), Some(i64::MAX)),
            (Some("b"), None, Some(-1), Some(0)),
            (Some("a"), None, Some(-1), Some(0)),
        ];
        let nulls = [
            (None, None, Some(1), Some(0)),
            (Some("a"), None, None, Some(0)),
            (Some("a"), None, Some(1), None),
        ];
        let codes = Arc::new(Codes::default());
        let parts = || {
            let parts = [Part::Text, Part::TextOrNull, Part::Number(32), Part::Number(8)];
            parts.into_iter().zip((0..4).map(column)).collect::<Vec<_>>()
        };
        let left = keys(Key::new(parts(), Arc::clone(&codes)), &batch(&rows));
        assert_eq!(left[0], left[1]);
        let distinct: std::collections::BTreeSet<_> = left.iter().collect();
        assert_eq!(distinct.len(), rows.len() - 1);
        assert!(left.iter().all(Option::is_some));
        // Row by row, and with the run told by the file.
        for (row, key) in rows.iter().zip(&left) {
            assert_eq!(keys(Key::new(parts(), Arc::clone(&codes)), &batch(&[*row])), [*key], "{row:?}");
            let literal = |text: Option<&str>| -> Arc<dyn PhysicalExpr> {
                Arc::new(Literal::new(ScalarValue::Utf8(text.map(str::to_owned))))
            };
            let mut told = parts();
            told[0].1 = literal(row.0);
            told[1].1 = literal(row.1);
            assert_eq!(keys(Key::new(told, Arc::clone(&codes)), &batch(&[*row])), [*key], "{row:?}");
        }
        assert_eq!(keys(Key::new(parts(), codes), &batch(&nulls)), [None, None, None]);
    }

    #[test]
    fn a_run_alone_is_numbered() {
        let rows = [(Some("a"), None, None, None), (Some("b"), None, None, None), (None, None, None, None)];
        let parts = vec![(Part::Text, column(0)), (Part::TextOrNull, column(1))];
        assert_eq!(keys(Key::new(parts, Arc::default()), &batch(&rows)), [Some(0), Some(1), None]);
    }
}
