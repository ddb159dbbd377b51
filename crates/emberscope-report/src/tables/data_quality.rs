//! The `data_quality` table: the trust block.

use super::{Columns, Emit, produce_rows, texts};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::run::Run;
use std::collections::BTreeMap;

type Read = for<'r> fn(&&'r Run) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "source" Text [""] "Where the run was read from", "as named" => |r| r.source.as_str().into();
    "is_complete" Boolean [""] "Whether every file was read to its end and every line understood", "the columns below" => |r| r.trust.is_complete().into();
    "has_end" Boolean [""] "Whether the log has the application's end", "application end" => |r| r.application.has_end.into();
    "files" Long [""] "Files read", "members of the log" => |r| r.trust.files.len().into();
    "bytes" Long ["bytes"] "Their size on disk", "members of the log" => |r| r.trust.files.iter().map(|file| file.bytes).sum::<u64>().into();
    "decoded_bytes" Long ["bytes"] "Their size after decompression", "members of the log" => |r| r.trust.files.iter().map(|file| file.decoded_bytes).sum::<u64>().into();
    "lines" Long [""] "Lines, blank ones included", "the log" => |r| r.trust.lines.into();
    "events" Long [""] "Events, unknown ones included", "the log" => |r| r.trust.events.into();
    "bad_lines" Long [""] "Lines that could not be read", "the log" => |r| r.trust.bad_lines.count.into();
    "truncated_tail" Boolean [""] "Whether the log ends in the middle of a line", "the log" => |r| r.trust.truncated_tail.into();
    "compacted" Boolean [""] "Whether Spark removed events of finished work", "names of a rolled log's members" => |r| r.trust.compacted.into();
    "missing_members" TextList [""] "Members of a rolled log that are missing", "names of a rolled log's members" => |r| texts(&r.trust.missing_members);
    "tasks_expected" Long [""] "Tasks that must have ended", "completed stages, task starts" => |r| r.trust.coverage.tasks_expected.into();
    "tasks_seen" Long [""] "Of them, tasks whose end is in the log", "task ends" => |r| r.trust.coverage.tasks_seen.into();
    "coverage_ratio" Double [""] "seen / expected; null when nothing was expected", "the columns before" => |r| r.trust.coverage.ratio.into();
    "estimated" TextList [""] "Names of values that the log lacks and that were estimated", "see each value" => |r| texts(&r.trust.estimated);
    "clamped" LongMap [""] "Values that had to be clamped, with how often", "clocks that disagree" => |r| counts(&r.trust.clamped);
    "unknown_events" LongMap [""] "Events that were only counted, by name", "the log" => |r| counts(&r.trust.unknown_events);
    "not_logged" TextList [""] "Kinds of evidence that the log does not hold at all", "the log" => |r| texts(&r.trust.not_logged);
    "engine" Text [""] "Engine: spark, photon, rapids, gluten, comet or auron", "properties and plan nodes" => |r| r.trust.engine.as_str().into();
    "spark_version" Text [""] "Spark's version", "log start" => |r| r.trust.spark_version.as_ref().into();
    "notes" TextList [""] "Anything else a reader of the numbers should know", "see each note" => |r| texts(&r.trust.notes);
    "trust" Text [""] "The whole block as JSON, as `emberscope summary --json` has it", "the columns above, with files and the first bad lines" => |r| serde_json::to_string(&r.trust).ok().into();
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.application.attempt_id.as_ref().into();
};

fn counts(counts: &BTreeMap<String, u64>) -> Cell<'_> {
    let number = |count: &u64| i64::try_from(*count).unwrap_or(i64::MAX);
    Cell::Counts(counts.iter().map(|(name, count)| (name.as_str().into(), number(count))).collect())
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    produce_rows(Report::DataQuality, std::iter::once(run), |row, column| (COLUMNS[column].read)(row), emit)
}
