//! What the main program and its SQL process say to each other over a pipe.
//!
//! The main program writes [`Request`]s, one JSON object a line. The SQL process writes [`Frame`]s: first
//! [`Hello`], and for every request either an Arrow stream in pieces and [`Done`], or a [`Failure`], which may
//! also come after some pieces. It ends when its input does.

mod frame;

pub use frame::{Frame, FrameError, read, write};

use serde::{Deserialize, Serialize};

/// Version of all that is said here. Another version is not understood.
pub const PROTOCOL: u32 = 1;

/// Release that was built.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// Key of a column's metadata in the Arrow schema: its name with that of the table it comes from, as `s.stageId`.
pub const QUALIFIED_NAME: &str = "emberscope.qualified";

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the process.
    pub protocol: u32,
    /// [`BUILD`] of the process.
    pub build: String,
}

impl Hello {
    /// Of this build.
    pub fn of_this_build() -> Self {
        Hello { protocol: PROTOCOL, build: BUILD.to_owned() }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Which tables there are from now on, and what may be spent.
    Open {
        /// All tables.
        tables: Vec<Table>,
        /// What the process may spend.
        limits: Limits,
    },
    /// An answer to a statement.
    Query {
        /// One statement.
        sql: String,
        /// Rows after which the answer is cut; `None` for all.
        max_rows: Option<u64>,
    },
}

/// What a query may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory the whole process may hold.
    pub memory_bytes: u64,
    /// Bytes that may be spilled to disk.
    pub spill_bytes: u64,
    /// Milliseconds an answer may take; `None` for any time.
    pub timeout_ms: Option<u64>,
    /// Threads; 0 for one per core.
    pub threads: usize,
}

/// A table and the files with its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Columns, in their order.
    pub columns: Vec<Column>,
    /// Files of all runs; a table without files has no rows.
    pub files: Vec<File>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type as Spark SQL writes it.
    #[serde(rename = "type")]
    pub ty: String,
}

/// A file with rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Absolute path.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// Form.
    pub format: Format,
    /// `key=value` directories above it, outermost first.
    #[serde(default)]
    pub directories: Vec<(String, String)>,
    /// Whether Emberscope wrote it, so that its columns say what such directories would.
    pub is_own: bool,
}

/// Form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// One JSON object a line.
    Ndjson,
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Rows that were given.
    pub rows: u64,
    /// Whether there were more than `max_rows`.
    pub is_cut: bool,
}

/// Why there is no answer, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the statement: line and column from 1.
    pub position: Option<Position>,
}

/// A place in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
}

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The statement makes no sense.
    Statement,
    /// The statement would write, or do anything else but read.
    ReadOnly,
    /// It would take more memory or disk than it may.
    Memory,
    /// It took longer than it may.
    Time,
    /// A file cannot be read.
    Data,
    /// Anything else.
    Internal,
}
