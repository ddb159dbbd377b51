//! Structured streaming (`StreamingQueryListener`) and Spark Connect
//! (`org.apache.spark.sql.connect.service`) events.

use super::lenient::{Int, TextOrJson};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::Deserialize;
use serde::de::Deserializer;
use std::collections::BTreeMap;

/// `QueryStartedEvent`, `QueryTerminatedEvent` or `QueryIdleEvent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryLifecycle {
    /// `id`: the query, the same over restarts.
    pub id: Option<String>,
    /// `runId`: this start of it.
    pub run_id: Option<String>,
    /// `name`.
    pub name: Option<String>,
    /// `timestamp`, ISO 8601.
    pub timestamp: Option<String>,
    /// `exception` of a terminated query.
    pub exception: Option<String>,
}

/// `QueryProgressEvent`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct QueryProgress {
    /// `progress`: an object, or (older writers) JSON in text.
    #[serde(deserialize_with = "object_or_text")]
    pub progress: Progress,
}

/// One micro-batch (`StreamingQueryProgress`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// `id`.
    pub id: Option<String>,
    /// `runId`.
    pub run_id: Option<String>,
    /// `name`.
    pub name: Option<String>,
    /// `timestamp`: trigger time, ISO 8601.
    pub timestamp: Option<String>,
    /// `batchId`.
    #[serde(default)]
    pub batch_id: Int,
    /// `batchDuration`, milliseconds (Spark 3.1).
    #[serde(default)]
    pub batch_duration: Int,
    /// `numInputRows`, where the version writes it.
    #[serde(default)]
    pub num_input_rows: Int,
    /// `durationMs` by phase, milliseconds.
    #[serde(default)]
    pub duration_ms: BTreeMap<String, i64>,
    /// `eventTime`: watermark and others, ISO 8601.
    #[serde(default)]
    pub event_time: BTreeMap<String, String>,
    /// `stateOperators`.
    #[serde(default)]
    pub state_operators: Vec<StateOperator>,
    /// `sources`.
    #[serde(default)]
    pub sources: Vec<StreamSource>,
    /// `sink`.
    #[serde(default)]
    pub sink: Option<StreamSink>,
}

/// A stateful operator in one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateOperator {
    /// `operatorName` (Spark 3.1).
    pub operator_name: Option<String>,
    /// `numRowsTotal`.
    #[serde(default)]
    pub num_rows_total: Int,
    /// `numRowsUpdated`.
    #[serde(default)]
    pub num_rows_updated: Int,
    /// `numRowsDroppedByWatermark` (Spark 3.1).
    #[serde(default)]
    pub num_rows_dropped_by_watermark: Int,
    /// `memoryUsedBytes`.
    #[serde(default)]
    pub memory_used_bytes: Int,
}

/// A source in one batch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamSource {
    /// `description`.
    pub description: Option<String>,
    /// `numInputRows`.
    #[serde(default)]
    pub num_input_rows: Int,
    /// `inputRowsPerSecond`; text such as `NaN` counts as none.
    #[serde(default, deserialize_with = "number_or_none")]
    pub input_rows_per_second: Option<f64>,
    /// `processedRowsPerSecond`.
    #[serde(default, deserialize_with = "number_or_none")]
    pub processed_rows_per_second: Option<f64>,
}

/// The sink in one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamSink {
    /// `description`.
    pub description: Option<String>,
    /// `numOutputRows`; -1 when the sink does not say.
    #[serde(default)]
    pub num_output_rows: Int,
}

fn number_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = <TextOrJson as Deserialize>::deserialize(deserializer)?.0;
    Ok(text.and_then(|text| text.parse().ok()).filter(|number: &f64| number.is_finite()))
}

fn object_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Progress, D::Error> {
    let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
    let json = raw.get();
    let parsed = if json.starts_with('"') {
        serde_json::from_str::<String>(json).and_then(|text| serde_json::from_str(&text))
    } else {
        serde_json::from_str(json)
    };
    parsed.map_err(serde::de::Error::custom)
}

/// A Spark Connect event; which one is told by [`ConnectEvent::phase`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectEvent {
    /// The event's short name without its prefix, e.g. `OperationStarted`; set from the event's name.
    #[serde(skip)]
    pub phase: String,
    /// `operationId`.
    pub operation_id: Option<String>,
    /// `sessionId`.
    pub session_id: Option<String>,
    /// `userId`.
    pub user_id: Option<String>,
    /// `jobTag`: joins the operation to its jobs and SQL executions.
    pub job_tag: Option<String>,
    /// `eventTime`, epoch milliseconds.
    #[serde(default)]
    pub event_time: Int,
    /// `statementText`: the request, as protobuf text.
    pub statement_text: Option<String>,
    /// `errorMessage` of a failed operation.
    pub error_message: Option<String>,
}
