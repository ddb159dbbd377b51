//! A run as tables that analysts can keep: one definition per table, from which the rows, the Arrow
//! and JSON schemas, the views and the documentation come.
//!
//! [`Report`] names the tables, [`tables::produce`] makes batches of rows from a run, a [`sink::Sink`]
//! takes them. Nothing is computed here that the model does not know.

mod arrow;
pub mod cells;
pub mod destination;
pub mod docs;
mod error;
mod file;
mod json;
pub mod live;
pub mod schema;
pub mod sink;
pub mod snippets;
pub mod tables;

pub use error::ReportError;
pub use file::manifest::{Manifest, ManifestFile};
pub use file::recover::{Recovered, recover};
pub use file::{FileSink, FileSinkOptions, Format, RunKey};
pub use schema::{ColumnDef, Report, Type};
