//! `/runs/{run}/sql/{execution}/mapping`: operator, clause, stages, tasks.

use super::super::Param;
use super::super::failure::Failure;
use super::find;
use super::plans::{unreadable, version};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::thresholds::Thresholds;
use emberscope_evidence::view::{SqlMapping, sql_mapping};

pub(in super::super) const PARAMS: &[Param] = &[
    Param {
        name: "version",
        kind: "string",
        doc: "Version of the plan, by its number or `last`. [default: last]",
    },
    Param {
        name: "statement",
        kind: "string",
        doc: "The SQL text, at most 49152 bytes. [default: the log's, where the execution is described by its statement]",
    },
];

/// Longest text that comes in an address, bytes.
const MOST_BYTES: usize = 48 << 10;

pub(in super::super) fn get(opened: &Opened, at: &[&str], params: &Params) -> Result<SqlMapping, Failure> {
    let execution = find(opened, at)?;
    let version = version(execution, params.first("version").unwrap_or("last"))?;
    let given = params.first("statement").filter(|text| !text.trim().is_empty());
    if given.is_some_and(|text| text.len() > MOST_BYTES) {
        let message = format!("the statement has more than {MOST_BYTES} bytes");
        return Err(Failure::bad(
            message,
            "`emberscope diagnose LOG --sql-id N --sql-file FILE` reads longer ones",
        ));
    }
    let thresholds = Thresholds::default();
    let context = opened.context(&thresholds);
    sql_mapping(&context, opened.diagnosis(), execution, version, given).ok_or_else(unreadable)
}
