//! Batches as Arrow, for Parquet.

use crate::ReportError;
use crate::cells::{Batch, Cell, Cells, SqlNode};
use crate::schema::{ColumnDef, Report, Type};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, MapFieldNames,
    StringBuilder, StructBuilder,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// The Arrow schema of a table: all columns may be null.
pub(crate) fn schema(report: Report) -> SchemaRef {
    let field = |def: &&ColumnDef| Field::new(def.name, data_type(def.ty), true);
    Arc::new(Schema::new(report.columns().iter().map(field).collect::<Vec<Field>>()))
}

fn data_type(ty: Type) -> DataType {
    match ty {
        Type::Int => DataType::Int32,
        Type::Long => DataType::Int64,
        Type::Double => DataType::Float64,
        Type::Boolean => DataType::Boolean,
        Type::Text => DataType::Utf8,
        Type::IntList => list_of(DataType::Int32),
        Type::TextList => list_of(DataType::Utf8),
        Type::TextMap => map_to(DataType::Utf8),
        Type::LongMap => map_to(DataType::Int64),
        Type::SqlNodes => list_of(DataType::Struct(node_fields())),
    }
}

fn element(ty: DataType) -> Field {
    Field::new("element", ty, true)
}

fn list_of(ty: DataType) -> DataType {
    DataType::List(Arc::new(element(ty)))
}

fn value_field(ty: DataType) -> Field {
    Field::new("value", ty, true)
}

fn map_to(ty: DataType) -> DataType {
    let entry = Fields::from(vec![Field::new("key", DataType::Utf8, false), value_field(ty)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entry), false)), false)
}

fn node_fields() -> Fields {
    Fields::from(vec![
        Field::new("sqlId", DataType::Int64, true),
        Field::new("jobName", DataType::Utf8, true),
        Field::new("nodeName", DataType::Utf8, true),
        Field::new("coordinates", DataType::Utf8, true),
        Field::new("metrics", map_to(DataType::Utf8), true),
        Field::new("isLeaf", DataType::Boolean, true),
        Field::new("parentNodeName", DataType::Utf8, true),
    ])
}

fn map_names() -> MapFieldNames {
    MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() }
}

type TextMapBuilder = MapBuilder<StringBuilder, StringBuilder>;

fn text_map() -> TextMapBuilder {
    MapBuilder::new(Some(map_names()), StringBuilder::new(), StringBuilder::new())
        .with_values_field(value_field(DataType::Utf8))
}

/// A batch as Arrow.
pub(crate) fn record_batch(schema: &SchemaRef, batch: &Batch<'_>) -> Result<RecordBatch, ReportError> {
    let wrong = |source| ReportError::Table { table: batch.report.name(), source };
    let mut columns = Vec::with_capacity(batch.columns.len());
    for (def, cells) in batch.defs.iter().zip(&batch.columns) {
        columns.push(array(def.ty, cells).map_err(wrong)?);
    }
    RecordBatch::try_new(schema.clone(), columns).map_err(wrong)
}

fn array(ty: Type, cells: &Cells<'_>) -> Result<ArrayRef, arrow_schema::ArrowError> {
    Ok(match cells {
        // A value out of range is null rather than another value.
        Cells::Ints(values) if ty == Type::Int => Arc::new(Int32Array::from_iter(
            values.iter().map(|value| value.and_then(|value| i32::try_from(value).ok())),
        )),
        Cells::Ints(values) => Arc::new(Int64Array::from_iter(values.iter().copied())),
        Cells::Doubles(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Cells::Bools(values) => Arc::new(BooleanArray::from_iter(values.iter().copied())),
        Cells::Texts(values) => Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref))),
        Cells::Nested(values) => nested(ty, values)?,
    })
}

fn nested(ty: Type, values: &[Cell<'_>]) -> Result<ArrayRef, arrow_schema::ArrowError> {
    Ok(match ty {
        Type::IntList => {
            let mut builder = ListBuilder::new(Int32Builder::new()).with_field(element(DataType::Int32));
            for value in values {
                if let Cell::Ints(items) = value {
                    items.iter().for_each(|item| builder.values().append_option(i32::try_from(*item).ok()));
                }
                builder.append(matches!(value, Cell::Ints(_)));
            }
            Arc::new(builder.finish())
        }
        Type::TextList => {
            let mut builder = ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8));
            for value in values {
                if let Cell::Texts(items) = value {
                    items.iter().for_each(|item| builder.values().append_value(item));
                }
                builder.append(matches!(value, Cell::Texts(_)));
            }
            Arc::new(builder.finish())
        }
        Type::TextMap => {
            let mut builder = text_map();
            for value in values {
                if let Cell::Map(pairs) = value {
                    for (key, value) in pairs {
                        builder.keys().append_value(key);
                        builder.values().append_value(value);
                    }
                }
                builder.append(matches!(value, Cell::Map(_)))?;
            }
            Arc::new(builder.finish())
        }
        Type::LongMap => {
            let mut builder = MapBuilder::new(Some(map_names()), StringBuilder::new(), Int64Builder::new())
                .with_values_field(value_field(DataType::Int64));
            for value in values {
                if let Cell::Counts(pairs) = value {
                    for (key, value) in pairs {
                        builder.keys().append_value(key);
                        builder.values().append_value(*value);
                    }
                }
                builder.append(matches!(value, Cell::Counts(_)))?;
            }
            Arc::new(builder.finish())
        }
        _ => nodes(values)?,
    })
}

fn nodes(values: &[Cell<'_>]) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let fields: Vec<Box<dyn ArrayBuilder>> = vec![
        Box::new(Int64Builder::new()),
        Box::new(StringBuilder::new()),
        Box::new(StringBuilder::new()),
        Box::new(StringBuilder::new()),
        Box::new(text_map()),
        Box::new(BooleanBuilder::new()),
        Box::new(StringBuilder::new()),
    ];
    let mut builder = ListBuilder::new(StructBuilder::new(node_fields(), fields))
        .with_field(element(DataType::Struct(node_fields())));
    for value in values {
        if let Cell::Nodes(nodes) = value {
            for node in nodes {
                append_node(builder.values(), node).ok_or_else(|| {
                    arrow_schema::ArrowError::SchemaError("fields of a plan node differ".to_owned())
                })?;
            }
        }
        builder.append(matches!(value, Cell::Nodes(_)));
    }
    Ok(Arc::new(builder.finish()))
}

/// `None` when the builders are not of the fields' types.
fn append_node(builder: &mut StructBuilder, node: &SqlNode<'_>) -> Option<()> {
    builder.field_builder::<Int64Builder>(0)?.append_value(node.sql_id);
    builder.field_builder::<StringBuilder>(1)?.append_option(node.job_name.as_deref());
    builder.field_builder::<StringBuilder>(2)?.append_value(&node.node_name);
    builder.field_builder::<StringBuilder>(3)?.append_value(&node.coordinates);
    let metrics = builder.field_builder::<TextMapBuilder>(4)?;
    for (name, value) in &node.metrics {
        metrics.keys().append_value(name);
        metrics.values().append_value(value);
    }
    metrics.append(true).ok()?;
    builder.field_builder::<BooleanBuilder>(5)?.append_value(node.is_leaf);
    builder.field_builder::<StringBuilder>(6)?.append_option(node.parent_node_name.as_deref());
    builder.append(true);
    Some(())
}
