//! Answers on their way out: types that the main program knows, as pieces of an Arrow stream.

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::Result;
use emberscope_sql_protocol::{self as protocol, Frame};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The pipe to the main program. Frames are whole: whoever writes one holds the lock.
pub(crate) struct Pipe {
    out: Mutex<Box<dyn Write + Send>>,
}

impl Pipe {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Pipe { out: Mutex::new(Box::new(out)) }
    }

    pub(crate) fn send(&self, frame: &Frame) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        protocol::write(&mut *out, frame)
    }

    /// Sends if nobody else is about to.
    pub(crate) fn try_send(&self, frame: &Frame) -> Option<io::Result<()>> {
        let mut out = self.out.try_lock().ok()?;
        Some(protocol::write(&mut *out, frame))
    }
}

/// Where answers go.
pub(crate) struct Writer<'p> {
    pipe: &'p Pipe,
}

impl<'p> Writer<'p> {
    pub(crate) fn new(pipe: &'p Pipe) -> Self {
        Writer { pipe }
    }

    /// Begins an answer of these columns.
    pub(crate) fn begin(&mut self, schema: &Schema) -> Result<Writing<'p>> {
        let fields: Vec<FieldRef> = schema.fields().iter().map(known_field).collect();
        let schema = Arc::new(Schema::new(fields));
        let stream = StreamWriter::try_new(Vec::new(), &schema)?;
        let mut writing = Writing { pipe: self.pipe, schema, stream };
        writing.send()?;
        Ok(writing)
    }
}

/// An answer that has begun.
pub(crate) struct Writing<'p> {
    pipe: &'p Pipe,
    schema: SchemaRef,
    stream: StreamWriter<Vec<u8>>,
}

impl Writing<'_> {
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns =
            columns.map(|(column, field)| known_array(column, field)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.stream.write(&batch)?;
        self.send()
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.stream.finish()?;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        let bytes = std::mem::take(self.stream.get_mut());
        if !bytes.is_empty() {
            self.pipe.send(&Frame::Arrow(bytes))?;
        }
        Ok(())
    }
}

fn known_array(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if array.data_type() == field.data_type() {
        Ok(Arc::clone(array))
    } else {
        Ok(cast(array, field.data_type())?)
    }
}

fn known_field(field: &FieldRef) -> FieldRef {
    let known = field.as_ref().clone().with_data_type(known_type(field.data_type()));
    // A cast may find no value of the type.
    Arc::new(known.with_nullable(true))
}

/// Of many types for the same thing, one.
fn known_type(ty: &DataType) -> DataType {
    let inner = |field: &FieldRef| {
        let inner = field.as_ref().clone();
        let ty = known_type(inner.data_type());
        Arc::new(inner.with_data_type(ty))
    };
    match ty {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float64
        | DataType::Utf8
        | DataType::Date32
        | DataType::Decimal128(..) => ty.clone(),
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(inner(item))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Map(entry, is_sorted) => DataType::Map(inner(entry), *is_sorted),
        DataType::Dictionary(_, value) => known_type(value),
        _ => DataType::Utf8,
    }
}
