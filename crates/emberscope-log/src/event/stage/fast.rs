//! Jobs and stages with the cursor, in the order in which Spark writes their fields.
//!
//! A field that comes twice or out of order, or holds anything but what Spark writes, is refused.

use super::{
    AccumulableInfo, Accumulables, JobStart, ListedStage, LocalProperties, RddInfo, StageInfo,
    StageSubmitted, operator_name,
};
use crate::cursor::{Cursor, RawStr};
use crate::event::app::StorageLevel;
use crate::event::lenient::Int;

/// Reads a `SparkListenerJobStart`.
pub fn read_job_start(line: &[u8]) -> Option<JobStart> {
    let mut job = JobStart::default();
    let mut has_id = false;
    const FIELDS: &[&str] = &["Job ID", "Submission Time", "Stage Infos", "Stage IDs", "Properties"];
    let mut cursor = Cursor::new(line);
    fields(&mut cursor, FIELDS, |cursor, field| {
        match field {
            0 => {
                job.job_id = small(cursor)?;
                has_id = true;
            }
            1 => job.submission_time = int(cursor)?,
            2 => cursor.array(|cursor| {
                job.stage_infos.push(read_listed_stage(cursor)?);
                Some(())
            })?,
            3 => job.stage_ids = smalls(cursor)?,
            _ => job.properties = read_properties(cursor)?,
        }
        Some(())
    })?;
    (has_id && cursor.is_at_end()).then_some(job)
}

/// Reads a `SparkListenerStageSubmitted`.
pub fn read_stage_submitted(line: &[u8]) -> Option<StageSubmitted> {
    let (mut info, mut properties) = (None, None);
    let mut cursor = Cursor::new(line);
    fields(&mut cursor, &["Stage Info", "Properties"], |cursor, field| {
        match field {
            0 => info = Some(read_stage_info(cursor)?),
            _ => properties = read_properties(cursor)?,
        }
        Some(())
    })?;
    cursor.is_at_end().then_some(StageSubmitted { info: info?, properties })
}

/// Reads the stage of a `SparkListenerStageCompleted`.
pub fn read_stage_completed(line: &[u8]) -> Option<StageInfo> {
    let mut info = None;
    let mut cursor = Cursor::new(line);
    fields(&mut cursor, &["Stage Info"], |cursor, _| {
        info = Some(read_stage_info(cursor)?);
        Some(())
    })?;
    info.filter(|_| cursor.is_at_end())
}

/// Reads an object whose known fields come in order; calls `read` at each value with its number.
#[inline(always)]
fn fields<'a>(
    cursor: &mut Cursor<'a>,
    names: &[&str],
    mut read: impl FnMut(&mut Cursor<'a>, usize) -> Option<()>,
) -> Option<()> {
    let mut next = 0;
    cursor.object(|cursor, key| {
        match names[next..].iter().position(|name| name.as_bytes() == key) {
            Some(ahead) => {
                read(cursor, next + ahead)?;
                next += ahead + 1;
            }
            None if names[..next].iter().any(|name| name.as_bytes() == key) => return None,
            None => cursor.skip()?,
        }
        Some(())
    })
}

fn int(cursor: &mut Cursor<'_>) -> Option<Int> {
    cursor.int().map(|value| Int(Some(value)))
}

fn small(cursor: &mut Cursor<'_>) -> Option<u32> {
    u32::try_from(cursor.int()?).ok()
}

fn smalls(cursor: &mut Cursor<'_>) -> Option<Vec<u32>> {
    let mut ids = Vec::new();
    cursor.array(|cursor| {
        ids.push(small(cursor)?);
        Some(())
    })?;
    Some(ids)
}

/// A text, or null.
fn text(cursor: &mut Cursor<'_>) -> Option<Option<String>> {
    if cursor.take(b"null") { Some(None) } else { cursor.string().and_then(RawStr::to_text).map(Some) }
}

/// A number in quotes or without them, or null.
fn id(cursor: &mut Cursor<'_>) -> Option<Option<u64>> {
    if cursor.take(b"null") {
        return Some(None);
    }
    let value = match cursor.quoted_int() {
        Some(value) => value,
        None => cursor.int()?,
    };
    Some(u64::try_from(value).ok())
}

fn read_listed_stage(cursor: &mut Cursor<'_>) -> Option<ListedStage> {
    let mut stage = ListedStage::default();
    let mut has_id = false;
    const FIELDS: &[&str] = &["Stage ID", "Stage Name", "Number of Tasks", "RDD Info"];
    fields(cursor, FIELDS, |cursor, field| {
        match field {
            0 => {
                stage.stage_id = small(cursor)?;
                has_id = true;
            }
            1 => stage.name = cursor.string()?.to_text()?,
            2 => stage.num_tasks = int(cursor)?,
            _ => cursor.array(|cursor| {
                let id = read_rdd(cursor)?.id.small_id();
                stage.first_rdd_id = match (stage.first_rdd_id, id) {
                    (Some(first), Some(id)) => Some(first.min(id)),
                    (first, id) => first.or(id),
                };
                Some(())
            })?,
        }
        Some(())
    })?;
    has_id.then_some(stage)
}

fn read_stage_info(cursor: &mut Cursor<'_>) -> Option<StageInfo> {
    let mut stage = StageInfo::default();
    let mut has_id = false;
    const FIELDS: &[&str] = &[
        "Stage ID",
        "Stage Attempt ID",
        "Stage Name",
        "Number of Tasks",
        "RDD Info",
        "Parent IDs",
        "Details",
        "Submission Time",
        "Completion Time",
        "Failure Reason",
        "Accumulables",
        "Resource Profile Id",
    ];
    fields(cursor, FIELDS, |cursor, field| {
        match field {
            0 => {
                stage.stage_id = small(cursor)?;
                has_id = true;
            }
            1 => stage.attempt = small(cursor)?,
            2 => stage.name = cursor.string()?.to_text()?,
            3 => stage.num_tasks = int(cursor)?,
            4 => {
                // RDDs of one operator stand side by side.
                let mut last = None;
                cursor.array(|cursor| {
                    let rdd = read_rdd(cursor)?.to_info(&mut last, stage.rdds.last())?;
                    stage.rdds.push(rdd);
                    Some(())
                })?;
            }
            5 => stage.parent_ids = smalls(cursor)?,
            6 => stage.details = cursor.string()?.to_text()?,
            7 => stage.submission_time = int(cursor)?,
            8 => stage.completion_time = int(cursor)?,
            9 => stage.failure_reason = text(cursor)?,
            10 => cursor.array(|cursor| read_accumulable(cursor, &mut stage.accumulables))?,
            _ => stage.resource_profile_id = int(cursor)?,
        }
        Some(())
    })?;
    has_id.then_some(stage)
}

/// An `RDD Info` whose texts still stand in the line.
#[derive(Default)]
struct RawRdd<'a> {
    id: Int,
    name: Option<RawStr<'a>>,
    scope: Option<RawStr<'a>>,
    parent_ids: Option<Cursor<'a>>,
    storage_level: StorageLevel,
    barrier: bool,
    num_partitions: Int,
}

/// The level of an RDD that is not persisted, as nearly all are not.
const NOT_STORED: &[u8] =
    br#"{"Use Disk":false,"Use Memory":false,"Use Off Heap":false,"Deserialized":false,"Replication":1}"#;

#[inline(always)]
fn read_rdd<'a>(cursor: &mut Cursor<'a>) -> Option<RawRdd<'a>> {
    let mut rdd = RawRdd::default();
    macro_rules! in_order {
        ($($name:literal => $read:expr;)*) => {
            $(
                if cursor.take(concat!("\"", $name, "\":").as_bytes()) {
                    $read;
                    if cursor.object_ends()? {
                        return Some(rdd);
                    }
                }
            )*
        };
    }
    cursor.expect(b'{')?;
    if cursor.take(b"}") {
        return Some(rdd);
    }
    in_order! {
        "RDD ID" => rdd.id = int(cursor)?;
        "Name" => rdd.name = Some(cursor.string()?);
        "Scope" => rdd.scope = Some(cursor.string()?);
        "Callsite" => cursor.skip()?;
        "Parent IDs" => {
            rdd.parent_ids = Some(*cursor);
            cursor.array(|cursor| small(cursor).map(|_| ()))?;
        };
        "Storage Level" => rdd.storage_level = read_storage_level(cursor)?;
        "Barrier" => rdd.barrier = cursor.bool()?;
        "DeterministicLevel" => cursor.skip()?;
        "Number of Partitions" => rdd.num_partitions = int(cursor)?;
        "Number of Cached Partitions" => cursor.skip()?;
        "Memory Size" => cursor.skip()?;
        "Disk Size" => cursor.skip()?;
    }
    const KNOWN: &[&str] =
        &["RDD ID", "Name", "Scope", "Parent IDs", "Storage Level", "Barrier", "Number of Partitions"];
    loop {
        let key = cursor.key()?;
        if KNOWN.iter().any(|name| name.as_bytes() == key) {
            return None;
        }
        cursor.skip()?;
        if cursor.object_ends()? {
            return Some(rdd);
        }
    }
}

fn read_storage_level(cursor: &mut Cursor<'_>) -> Option<StorageLevel> {
    if cursor.take(NOT_STORED) {
        return Some(StorageLevel { replication: Int(Some(1)), ..StorageLevel::default() });
    }
    serde_json::from_slice(cursor.raw_value()?).ok()
}

impl<'a> RawRdd<'a> {
    /// With texts of its own; `last_scope` is that of `last`, the RDD before.
    fn to_info(&self, last_scope: &mut Option<RawStr<'a>>, last: Option<&RddInfo>) -> Option<RddInfo> {
        let operator = match (self.scope, last) {
            (Some(scope), Some(last)) if *last_scope == Some(scope) => last.operator.clone(),
            (Some(scope), _) => operator_name(&scope.to_text()?),
            (None, _) => None,
        };
        *last_scope = self.scope;
        Some(RddInfo {
            id: self.id,
            name: self.name.map_or(Some(String::new()), RawStr::to_text)?,
            operator,
            parent_ids: self.parent_ids.map_or(Some(Vec::new()), |mut cursor| smalls(&mut cursor))?,
            storage_level: self.storage_level,
            num_partitions: self.num_partitions,
            barrier: self.barrier,
        })
    }
}

/// How an accumulable that repeats a task metric ends.
const INTERNAL_END: &[u8] = br#""Internal":true,"Count Failed Values":true}"#;
/// How a SQL metric ends.
const SQL_END: &[u8] = br#","Internal":true,"Count Failed Values":true,"Metadata":"sql"}"#;

fn read_accumulable(cursor: &mut Cursor<'_>, found: &mut Accumulables) -> Option<()> {
    let start = *cursor;
    if read_usual_accumulable(cursor, found).is_none() {
        *cursor = start;
        found.add(serde_json::from_slice::<AccumulableInfo>(cursor.raw_value()?).ok()?);
    }
    Some(())
}

/// A task metric or a SQL metric, which nearly all accumulables are.
#[inline(always)]
fn read_usual_accumulable(cursor: &mut Cursor<'_>, found: &mut Accumulables) -> Option<()> {
    if !cursor.take(br#"{"ID":"#) {
        return None;
    }
    let id = u64::try_from(cursor.int()?).ok()?;
    if !cursor.take(br#","Name":"#) {
        return None;
    }
    if cursor.take(br#""internal."#) {
        return cursor.take_through(b'}', INTERNAL_END).then_some(());
    }
    let name = cursor.string()?;
    if name.escaped || !cursor.take(br#","Value":"#) {
        return None;
    }
    let value = cursor.quoted_int()?;
    if !cursor.take(SQL_END) {
        return None;
    }
    found.sql_metrics.push((id, value));
    Some(())
}

/// The local properties that matter, or null.
fn read_properties(cursor: &mut Cursor<'_>) -> Option<Option<LocalProperties>> {
    if cursor.take(b"null") {
        return Some(None);
    }
    let mut found = LocalProperties::default();
    cursor.object(|cursor, key| {
        match key {
            b"spark.jobGroup.id" => found.job_group = text(cursor)?,
            b"spark.job.description" => found.description = text(cursor)?,
            b"spark.job.tags" => found.tags = text(cursor)?,
            b"spark.scheduler.pool" => found.pool = text(cursor)?,
            b"callSite.short" => found.call_site = text(cursor)?,
            b"sql.streaming.queryId" => found.streaming_query_id = text(cursor)?,
            b"spark.sql.execution.id" => found.sql_execution_id = id(cursor)?,
            b"spark.sql.execution.root.id" => found.sql_root_execution_id = id(cursor)?,
            b"streaming.sql.batchId" => found.streaming_batch_id = id(cursor)?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(Some(found))
}
