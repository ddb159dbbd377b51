//! `percentile` and `median`, exact and interpolated as Spark does it.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, LargeListArray, ListBuilder, PrimitiveBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator, ScalarFunctionArgs,
    ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

fn item() -> FieldRef {
    Arc::new(Field::new("item", DataType::Float64, false))
}

fn values_type() -> DataType {
    DataType::LargeList(item())
}

/// All values of a group.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Values {
    signature: Signature,
}

impl Values {
    pub(super) fn new() -> Self {
        Values { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Values {
    fn name(&self) -> &str {
        super::VALUES
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [ty] if ty.is_numeric() || ty.is_null() || ty.is_string() => Ok(vec![DataType::Float64]),
            _ => plan_err!("percentile takes numbers"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(values_type())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[values]", args.name), values_type(), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return plan_err!("percentile of distinct values is not known");
        }
        Ok(Box::new(One(Groups { values: vec![Vec::new()], bytes: 0 })))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::default()))
    }
}

/// The values of all groups.
#[derive(Debug, Default)]
struct Groups {
    values: Vec<Vec<f64>>,
    /// Room that the values take.
    bytes: usize,
}

impl Groups {
    fn grow(&mut self, groups: usize) {
        if self.values.len() < groups {
            self.bytes += (groups - self.values.len()) * size_of::<Vec<f64>>();
            self.values.resize_with(groups, Vec::new);
        }
    }

    fn add(&mut self, group: usize, more: &[f64]) {
        let values = &mut self.values[group];
        let before = values.capacity();
        values.extend_from_slice(more);
        self.bytes += (values.capacity() - before) * size_of::<f64>();
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Vec<f64>> {
        let taken = emit_to.take_needed(&mut self.values);
        self.bytes = self
            .values
            .iter()
            .map(|values| values.capacity() * size_of::<f64>() + size_of::<Vec<f64>>())
            .sum();
        taken
    }
}

fn list_of(groups: Vec<Vec<f64>>) -> ArrayRef {
    let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
    let mut all = Vec::with_capacity(groups.iter().map(Vec::len).sum());
    for values in groups {
        all.extend_from_slice(&values);
    }
    let values = Arc::new(Float64Array::from(all));
    Arc::new(LargeListArray::new(item(), offsets, values, None))
}

fn floats(values: &ArrayRef) -> &Float64Array {
    values.as_primitive::<Float64Type>()
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.grow(groups);
        let values = floats(&values[0]);
        let counts = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        for (row, group) in group_indices.iter().enumerate() {
            if values.is_valid(row) && counts(row) {
                self.add(*group, &values.values()[row..=row]);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(list_of(self.take(emit_to)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![list_of(self.take(emit_to))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.grow(groups);
        let lists = values[0].as_list::<i64>();
        let all = floats(lists.values());
        for (row, group) in group_indices.iter().enumerate() {
            if lists.is_valid(row) {
                let (start, end) =
                    (lists.value_offsets()[row] as usize, lists.value_offsets()[row + 1] as usize);
                self.add(*group, &all.values()[start..end]);
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = floats(&values[0]);
        let offsets: ScalarBuffer<i64> = (0..=values.len() as i64).collect();
        let counts: Vec<bool> = (0..values.len())
            .map(|row| {
                values.is_valid(row) && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
            })
            .collect();
        let items = Arc::new(Float64Array::new(values.values().clone(), None));
        let lists =
            LargeListArray::new(item(), OffsetBuffer::new(offsets), items, Some(NullBuffer::from(counts)));
        Ok(vec![Arc::new(lists)])
    }

    fn size(&self) -> usize {
        self.bytes
    }
}

/// The values of a single group.
#[derive(Debug)]
struct One(Groups);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let zeros = vec![0; values[0].len()];
        GroupsAccumulator::update_batch(&mut self.0, values, &zeros, None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let zeros = vec![0; states[0].len()];
        GroupsAccumulator::merge_batch(&mut self.0, states, &zeros, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // A window asks again and again: the values stay.
        let values = self.0.values.first().cloned().unwrap_or_default();
        ScalarValue::try_from_array(&list_of(vec![values]), 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = std::mem::replace(&mut self.0.values, vec![Vec::new()]);
        Ok(vec![ScalarValue::try_from_array(&list_of(values), 0)?])
    }

    fn size(&self) -> usize {
        GroupsAccumulator::size(&self.0)
    }
}

/// One percentile of values, or several.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Percentile {
    signature: Signature,
}

impl Percentile {
    pub(super) fn new() -> Self {
        Percentile { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn fractions_type() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

impl ScalarUDFImpl for Percentile {
    fn name(&self) -> &str {
        super::PERCENTILE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, DataType::List(_)] => Ok(vec![values_type(), fractions_type()]),
            [_, _] => Ok(vec![values_type(), DataType::Float64]),
            _ => plan_err!("percentile takes a value and a fraction from 0 to 1"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match types.get(1) {
            Some(DataType::List(_)) => fractions_type(),
            _ => DataType::Float64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let lists = arrays[0].as_list::<i64>();
        let all = floats(lists.values());
        let of = |row: usize| {
            let (start, end) = (lists.value_offsets()[row] as usize, lists.value_offsets()[row + 1] as usize);
            if lists.is_valid(row) { &all.values()[start..end] } else { &[] }
        };
        // The values are put in another order, over and over.
        let mut scratch = Vec::new();
        if let DataType::List(_) = arrays[1].data_type() {
            let fractions = arrays[1].as_list::<i32>();
            let mut builder = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
            for row in 0..lists.len() {
                let wanted = fractions.value(row);
                scratch.clear();
                scratch.extend_from_slice(of(row));
                for fraction in floats(&wanted).iter().flatten() {
                    builder.values().append_option(percentile(&mut scratch, fraction)?);
                }
                builder.append(!of(row).is_empty());
            }
            return Ok(ColumnarValue::Array(Arc::new(builder.finish())));
        }
        let fractions = floats(&arrays[1]);
        let picked = (0..lists.len()).map(|row| {
            if fractions.is_null(row) {
                return Ok(None);
            }
            scratch.clear();
            scratch.extend_from_slice(of(row));
            percentile(&mut scratch, fractions.value(row))
        });
        Ok(ColumnarValue::Array(Arc::new(picked.collect::<Result<Float64Array>>()?)))
    }
}

/// As Spark computes it, to the last bit. The values are left in another order: only as much of it is made as the
/// percentile needs, which is a fraction of sorting.
fn percentile(values: &mut [f64], fraction: f64) -> Result<Option<f64>> {
    if !(0.0..=1.0).contains(&fraction) {
        return exec_err!("percentile takes a fraction from 0 to 1, not {fraction}");
    }
    if values.is_empty() {
        return Ok(None);
    }
    let position = (values.len() - 1) as f64 * fraction;
    let (lower, higher) = (position.floor(), position.ceil());
    let (below, high, _) = values.select_nth_unstable_by(higher as usize, f64::total_cmp);
    let high = *high;
    let low = match below.iter().copied().max_by(f64::total_cmp) {
        Some(low) if lower < higher => low,
        _ => high,
    };
    if lower == higher || low == high {
        return Ok(Some(low));
    }
    Ok(Some((higher - position) * low + (position - lower) * high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut values = [8.0, 2.0, 1.0, 4.0];
        for (fraction, expected) in [(0.0, 1.0), (0.5, 3.0), (0.75, 5.0), (1.0, 8.0), (0.25, 1.75)] {
            assert_eq!(percentile(&mut values, fraction).unwrap(), Some(expected), "{fraction}");
        }
        assert_eq!(percentile(&mut [], 0.5).unwrap(), None);
        assert_eq!(percentile(&mut [7.0], 0.9).unwrap(), Some(7.0));
        assert!(percentile(&mut values, 1.5).is_err());
        assert!(percentile(&mut values, f64::NAN).is_err());
    }
}
