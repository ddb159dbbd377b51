//! SQL execution events (`org.apache.spark.sql.execution.ui`, written by Jackson with field names).

use super::lenient::{Int, is_time};
use super::plan::{PlanTree, plan_with_serde, read_plan};
use crate::cursor::{Cursor, RawStr};
use crate::event::reason_of;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// `SparkListenerSQLExecutionStart` or `SparkListenerSQLAdaptiveExecutionUpdate`: one version of a
/// plan; the start also has the query's own facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlPlanEvent {
    /// `executionId`.
    pub execution_id: u64,
    /// `rootExecutionId` (Spark 3.4 and later).
    pub root_execution_id: Option<u64>,
    /// `description`.
    pub description: Option<String>,
    /// `details`: the long call site.
    pub details: Option<String>,
    /// `time`, epoch milliseconds; updates have none.
    pub time_ms: Option<i64>,
    /// `modifiedConfigs` (Spark 3.3 and later).
    pub modified_configs: BTreeMap<String, String>,
    /// `jobTags` (Spark 3.5 and later).
    pub job_tags: Vec<String>,
    /// `jobGroupId` (Spark 4).
    pub job_group_id: Option<String>,
    /// `queryId` (Spark 4).
    pub query_id: Option<String>,
    /// `physicalPlanDescription`, when asked for.
    pub plan_text: Option<Box<str>>,
    /// Length of the (escaped) `physicalPlanDescription` in the log, bytes.
    pub plan_text_len: u64,
    /// `sparkPlanInfo`; `None` where absent or unreadable.
    pub plan: Option<PlanTree>,
}

/// `SparkListenerSQLExecutionEnd`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SqlExecutionEnd {
    /// `executionId`.
    #[serde(rename = "executionId")]
    pub execution_id: u64,
    /// `time`, epoch milliseconds.
    #[serde(default)]
    pub time: Int,
    /// `errorMessage` (Spark 3.4 and later): empty on success, absent where the version has none.
    #[serde(rename = "errorMessage", default)]
    pub error_message: Option<String>,
}

/// `SparkListenerDriverAccumUpdates`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DriverAccumUpdates {
    /// `executionId`.
    #[serde(rename = "executionId")]
    pub execution_id: u64,
    /// `accumUpdates`: pairs of accumulator id and value.
    #[serde(rename = "accumUpdates", default)]
    pub updates: Vec<(Int, Int)>,
}

/// `io.emberscope.DisplayedMetrics`: what a server shows of SQL metrics, and what its rounding hides. Only runs
/// that come from the monitoring API have it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DisplayedMetrics {
    /// `executionId`.
    #[serde(rename = "executionId")]
    pub execution_id: u64,
    /// `metrics`.
    #[serde(default)]
    pub metrics: Vec<DisplayedMetric>,
}

/// One metric of [`DisplayedMetrics`], in the metric's own unit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisplayedMetric {
    /// Its accumulator, as the plan names it.
    pub accumulator_id: u64,
    /// How far the true total can lie from the one told.
    #[serde(default)]
    pub total_within: i64,
    /// Smallest, middle and largest value of a task, where several tasks had one.
    #[serde(default)]
    pub tasks: Option<[DisplayedValue; 3]>,
    /// Whether where it was counted is inferred, from records of stages or from operators beside it.
    #[serde(default)]
    pub is_place_inferred: bool,
}

/// A number that was rounded for display.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, BorshSerialize, BorshDeserialize,
)]
pub struct DisplayedValue {
    /// As displayed.
    pub value: i64,
    /// How far the true one can lie from it.
    pub within: i64,
}

/// `SparkListenerSQLAdaptiveSQLMetricUpdates`: metrics that appear after planning.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AdaptiveMetricUpdates {
    /// `executionId`.
    #[serde(rename = "executionId")]
    pub execution_id: u64,
    /// `sqlPlanMetrics`.
    #[serde(rename = "sqlPlanMetrics", default)]
    pub metrics: Vec<AdaptiveMetric>,
}

/// One metric of [`AdaptiveMetricUpdates`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AdaptiveMetric {
    /// `name`.
    #[serde(default)]
    pub name: String,
    /// `accumulatorId`.
    #[serde(rename = "accumulatorId", default)]
    pub accumulator_id: Int,
    /// `metricType`.
    #[serde(rename = "metricType", default)]
    pub metric_type: String,
}

/// Reads a plan event with the cursor.
pub fn read_plan_event(line: &[u8], keep_plan_text: bool) -> Option<SqlPlanEvent> {
    let mut cursor = Cursor::new(line);
    let mut event = SqlPlanEvent::default();
    let mut has_id = false;
    cursor.object(|cursor, key| {
        match key {
            b"executionId" => {
                event.execution_id = u64::try_from(cursor.int()?).ok()?;
                has_id = true;
            }
            b"rootExecutionId" => {
                if !cursor.take(b"null") {
                    event.root_execution_id = Some(u64::try_from(cursor.int()?).ok()?);
                }
            }
            b"description" => event.description = read_text(cursor)?,
            b"details" => event.details = read_text(cursor)?,
            b"jobGroupId" => event.job_group_id = read_text(cursor)?,
            b"queryId" => event.query_id = read_text(cursor)?,
            b"physicalPlanDescription" => {
                if !cursor.take(b"null") {
                    let text = cursor.string()?;
                    event.plan_text_len = text.bytes.len() as u64;
                    if keep_plan_text {
                        event.plan_text = Some(text.to_text()?.into());
                    }
                }
            }
            b"sparkPlanInfo" => {
                if !cursor.take(b"null") {
                    event.plan = Some(read_plan(cursor)?);
                }
            }
            b"time" => event.time_ms = Some(cursor.int()?).filter(|time| is_time(*time)),
            b"modifiedConfigs" => {
                event.modified_configs = serde_json::from_slice(cursor.raw_value()?).ok()?;
            }
            b"jobTags" => event.job_tags = serde_json::from_slice(cursor.raw_value()?).ok()?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    (has_id && cursor.is_at_end()).then_some(event)
}

fn read_text(cursor: &mut Cursor<'_>) -> Option<Option<String>> {
    if cursor.take(b"null") { Some(None) } else { cursor.string().and_then(RawStr::to_text).map(Some) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanEvent<'a> {
    execution_id: u64,
    #[serde(default)]
    root_execution_id: Int,
    description: Option<String>,
    details: Option<String>,
    #[serde(default)]
    time: Int,
    #[serde(default)]
    modified_configs: Option<BTreeMap<String, String>>,
    #[serde(default)]
    job_tags: Option<Vec<String>>,
    job_group_id: Option<String>,
    query_id: Option<String>,
    #[serde(borrow)]
    physical_plan_description: Option<&'a RawValue>,
    #[serde(borrow)]
    spark_plan_info: Option<&'a RawValue>,
}

/// Reads a plan event with serde. A plan that cannot be read is left out; the rest stands.
pub fn plan_event_with_serde(line: &[u8], keep_plan_text: bool) -> Result<SqlPlanEvent, String> {
    let event: PlanEvent<'_> = serde_json::from_slice(line).map_err(|error| reason_of(&error))?;
    let text = event.physical_plan_description.map(RawValue::get).filter(|text| text.starts_with('"'));
    let plan_text = match text {
        Some(text) if keep_plan_text => {
            let text: Cow<'_, str> = serde_json::from_str(text).map_err(|error| reason_of(&error))?;
            Some(text.into())
        }
        _ => None,
    };
    let plan = event.spark_plan_info.and_then(|json| plan_of_any_shape(json.get().as_bytes()));
    Ok(SqlPlanEvent {
        execution_id: event.execution_id,
        root_execution_id: event.root_execution_id.id(),
        description: event.description,
        details: event.details,
        time_ms: event.time.time_ms(),
        modified_configs: event.modified_configs.unwrap_or_default(),
        job_tags: event.job_tags.unwrap_or_default(),
        job_group_id: event.job_group_id,
        query_id: event.query_id,
        plan_text,
        plan_text_len: text.map_or(0, |text| text.len() as u64 - 2),
        plan,
    })
}

/// Serde refuses plans nested deeper than its limit; the cursor refuses white space. One of them
/// reads any plan that Spark wrote.
fn plan_of_any_shape(json: &[u8]) -> Option<PlanTree> {
    if json == b"null" {
        return None;
    }
    plan_with_serde(json).ok().or_else(|| read_plan(&mut Cursor::new(json)))
}
