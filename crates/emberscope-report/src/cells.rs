//! Rows on their way from a run to a sink: batches of columns.

use crate::schema::{ColumnDef, Report, Type};
use std::borrow::Cow;

/// A piece of text, mostly the run's own.
pub type Text<'r> = Cow<'r, str>;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
    /// Not measured.
    Null,
    /// `INT` or `BIGINT`.
    Int(i64),
    /// `DOUBLE`.
    Double(f64),
    /// `BOOLEAN`.
    Bool(bool),
    /// `STRING`.
    Text(Text<'r>),
    /// `ARRAY<INT>` or `ARRAY<BIGINT>`.
    Ints(Vec<i64>),
    /// `ARRAY<STRING>`.
    Texts(Vec<Text<'r>>),
    /// `MAP<STRING, STRING>`.
    Map(Vec<(Text<'r>, Text<'r>)>),
    /// `MAP<STRING, BIGINT>`.
    Counts(Vec<(Text<'r>, i64)>),
    /// The `nodes` of the `sql` table.
    Nodes(Vec<SqlNode<'r>>),
}

/// A plan node inside a row of the `sql` table.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlNode<'r> {
    /// SQL execution.
    pub sql_id: i64,
    /// Description of the job, else of the execution.
    pub job_name: Option<Text<'r>>,
    /// Operator.
    pub node_name: String,
    /// Position in the tree.
    pub coordinates: String,
    /// Metrics by display name, raw integers as text.
    pub metrics: Vec<(String, String)>,
    /// Whether it has no children.
    pub is_leaf: bool,
    /// Operator above; `None` for the root.
    pub parent_node_name: Option<String>,
}

macro_rules! from {
    ($($kind:ty => $variant:ident;)*) => {
        $(impl<'r> From<$kind> for Cell<'r> {
            fn from(value: $kind) -> Self {
                Cell::$variant(value.into())
            }
        })*
    };
}

from! {
    i64 => Int;
    u32 => Int;
    bool => Bool;
    f64 => Double;
    &'r str => Text;
    String => Text;
    &'r String => Text;
    Text<'r> => Text;
    Vec<i64> => Ints;
    Vec<Text<'r>> => Texts;
    Vec<SqlNode<'r>> => Nodes;
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Cell<'_> {
    fn from(value: usize) -> Self {
        Cell::from(value as u64)
    }
}

impl<'r, T: Into<Cell<'r>>> From<Option<T>> for Cell<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell<'_> {
    /// Bytes of text in it, roughly.
    fn weight(&self) -> usize {
        match self {
            Cell::Null | Cell::Int(_) | Cell::Double(_) | Cell::Bool(_) => 16,
            Cell::Text(text) => text.len() + 16,
            Cell::Ints(values) => values.len() * 8,
            Cell::Texts(texts) => texts.iter().map(|text| text.len() + 16).sum(),
            Cell::Map(pairs) => pairs.iter().map(|(key, value)| key.len() + value.len() + 32).sum(),
            Cell::Counts(pairs) => pairs.iter().map(|(key, _)| key.len() + 32).sum(),
            Cell::Nodes(nodes) => nodes.iter().map(|node| 160 + node.metrics.len() * 60).sum(),
        }
    }
}

/// The values of one column.
#[derive(Clone, Debug)]
pub enum Cells<'r> {
    /// `INT` and `BIGINT`.
    Ints(Vec<Option<i64>>),
    /// `DOUBLE`.
    Doubles(Vec<Option<f64>>),
    /// `BOOLEAN`.
    Bools(Vec<Option<bool>>),
    /// `STRING`.
    Texts(Vec<Option<Text<'r>>>),
    /// Everything that is nested.
    Nested(Vec<Cell<'r>>),
}

impl<'r> Cells<'r> {
    /// No values yet, of a type.
    pub fn new(ty: Type) -> Self {
        match ty {
            Type::Int | Type::Long => Cells::Ints(Vec::new()),
            Type::Double => Cells::Doubles(Vec::new()),
            Type::Boolean => Cells::Bools(Vec::new()),
            Type::Text => Cells::Texts(Vec::new()),
            Type::IntList | Type::TextList | Type::TextMap | Type::LongMap | Type::SqlNodes => {
                Cells::Nested(Vec::new())
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Cells::Ints(values) => values.clear(),
            Cells::Doubles(values) => values.clear(),
            Cells::Bools(values) => values.clear(),
            Cells::Texts(values) => values.clear(),
            Cells::Nested(values) => values.clear(),
        }
    }

    /// Adds the values of another column of the same type.
    pub(crate) fn append(&mut self, more: Cells<'r>) {
        match (self, more) {
            (Cells::Ints(values), Cells::Ints(mut more)) => values.append(&mut more),
            (Cells::Doubles(values), Cells::Doubles(mut more)) => values.append(&mut more),
            (Cells::Bools(values), Cells::Bools(mut more)) => values.append(&mut more),
            (Cells::Texts(values), Cells::Texts(mut more)) => values.append(&mut more),
            (Cells::Nested(values), Cells::Nested(mut more)) => values.append(&mut more),
            (column, more) => debug_assert!(false, "columns of two types: {column:?} {more:?}"),
        }
    }

    /// Adds a value. One of another type than the column's is a mistake in a definition and becomes
    /// null.
    fn push(&mut self, cell: Cell<'r>) {
        match (self, cell) {
            (Cells::Ints(values), Cell::Int(value)) => values.push(Some(value)),
            (Cells::Doubles(values), Cell::Double(value)) => values.push(Some(value)),
            (Cells::Bools(values), Cell::Bool(value)) => values.push(Some(value)),
            (Cells::Texts(values), Cell::Text(value)) => values.push(Some(value)),
            (Cells::Nested(values), cell) => values.push(cell),
            (column, cell) => {
                debug_assert_eq!(cell, Cell::Null, "a value of another type than its column");
                match column {
                    Cells::Ints(values) => values.push(None),
                    Cells::Doubles(values) => values.push(None),
                    Cells::Bools(values) => values.push(None),
                    Cells::Texts(values) => values.push(None),
                    Cells::Nested(_) => {}
                }
            }
        }
    }
}

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct Batch<'r> {
    /// The table.
    pub report: Report,
    /// Its columns' definitions.
    pub defs: &'static [&'static ColumnDef],
    /// Number of rows.
    pub rows: usize,
    /// The columns, as many values each as there are rows.
    pub columns: Vec<Cells<'r>>,
}

/// Rows of a batch at most.
pub(crate) const BATCH_ROWS: usize = 1024;
/// Bytes of a batch, roughly: a plan may take megabytes.
const BATCH_BYTES: usize = 4 << 20;

/// Collects rows to batches.
pub(crate) struct BatchBuilder<'r> {
    batch: Batch<'r>,
    bytes: usize,
}

impl<'r> BatchBuilder<'r> {
    pub(crate) fn new(report: Report) -> Self {
        BatchBuilder { batch: Batch::empty(report), bytes: 0 }
    }

    /// Adds a row, whose value in the n-th column `cell` gives. True when the batch is full.
    pub(crate) fn push(&mut self, cell: impl Fn(usize) -> Cell<'r>) -> bool {
        for (n, column) in self.batch.columns.iter_mut().enumerate() {
            let cell = cell(n);
            self.bytes += cell.weight();
            column.push(cell);
        }
        self.batch.rows += 1;
        self.batch.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// The batch so far; the builder is empty then.
    pub(crate) fn take(&mut self) -> Batch<'r> {
        self.bytes = 0;
        let report = self.batch.report;
        std::mem::replace(&mut self.batch, Batch::empty(report))
    }
}

impl Batch<'_> {
    /// A batch without rows.
    pub fn empty(report: Report) -> Self {
        let defs = report.columns();
        Batch { report, defs, rows: 0, columns: defs.iter().map(|def| Cells::new(def.ty)).collect() }
    }

    /// Makes it empty and keeps its room.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(Cells::clear);
    }
}
