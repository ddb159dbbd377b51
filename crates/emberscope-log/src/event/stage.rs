//! Jobs and stages (`JsonProtocol.jobStartToJson`, `stageInfoToJson`, `rddInfoToJson`).
//!
//! A job lists all its stages, and each stage says all about its RDDs twice more, so that in a log of
//! large plans these are the most numerous values by far: they too have a fast road ([`fast`]).

pub mod fast;

use super::app::StorageLevel;
use super::lenient::{Int, TextOrJson};
use crate::cursor::{Cursor, RawStr};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// `SparkListenerJobStart`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct JobStart {
    /// `Job ID`.
    #[serde(rename = "Job ID")]
    pub job_id: u32,
    /// `Submission Time`.
    #[serde(rename = "Submission Time", default)]
    pub submission_time: Int,
    /// `Stage Infos`: also stages that will be skipped.
    #[serde(rename = "Stage Infos", default)]
    pub stage_infos: Vec<ListedStage>,
    /// `Stage IDs`.
    #[serde(rename = "Stage IDs", default)]
    pub stage_ids: Vec<u32>,
    /// `Properties`: the ones that matter.
    #[serde(rename = "Properties", default)]
    pub properties: Option<LocalProperties>,
}

/// What a job says of a stage: its submission will say the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "ListedStageInfo")]
pub struct ListedStage {
    /// `Stage ID`.
    pub stage_id: u32,
    /// `Stage Name`: the short call site.
    pub name: String,
    /// `Number of Tasks`.
    pub num_tasks: Int,
    /// The smallest id in `RDD Info`.
    pub first_rdd_id: Option<u32>,
}

#[derive(Deserialize)]
struct ListedStageInfo {
    #[serde(rename = "Stage ID")]
    stage_id: u32,
    #[serde(rename = "Stage Name", default)]
    name: String,
    #[serde(rename = "Number of Tasks", default)]
    num_tasks: Int,
    #[serde(rename = "RDD Info", default)]
    rdds: Vec<ListedRdd>,
}

#[derive(Deserialize)]
struct ListedRdd {
    #[serde(rename = "RDD ID", default)]
    id: Int,
}

impl From<ListedStageInfo> for ListedStage {
    fn from(info: ListedStageInfo) -> Self {
        ListedStage {
            stage_id: info.stage_id,
            name: info.name,
            num_tasks: info.num_tasks,
            first_rdd_id: info.rdds.iter().filter_map(|rdd| rdd.id.small_id()).min(),
        }
    }
}

/// `SparkListenerJobEnd`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct JobEnd {
    /// `Job ID`.
    #[serde(rename = "Job ID")]
    pub job_id: u32,
    /// `Completion Time`.
    #[serde(rename = "Completion Time", default)]
    pub completion_time: Int,
    /// `Job Result`.
    #[serde(rename = "Job Result", default)]
    pub result: JobResult,
}

/// `Job Result` (`JsonProtocol.jobResultToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct JobResult {
    /// `Result`: `JobSucceeded` or `JobFailed`.
    #[serde(rename = "Result", default)]
    pub result: Option<String>,
    /// `Exception`.
    #[serde(rename = "Exception", default)]
    pub exception: Option<ExceptionInfo>,
}

/// An exception (`JsonProtocol.exceptionToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExceptionInfo {
    /// `Message`.
    #[serde(rename = "Message", default)]
    pub message: Option<String>,
}

/// `SparkListenerStageSubmitted`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StageSubmitted {
    /// `Stage Info`.
    #[serde(rename = "Stage Info")]
    pub info: StageInfo,
    /// `Properties`: the ones that matter.
    #[serde(rename = "Properties", default)]
    pub properties: Option<LocalProperties>,
}

/// `SparkListenerStageCompleted`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StageCompleted {
    /// `Stage Info`.
    #[serde(rename = "Stage Info")]
    pub info: StageInfo,
}

/// `Stage Info`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StageInfo {
    /// `Stage ID`.
    #[serde(rename = "Stage ID")]
    pub stage_id: u32,
    /// `Stage Attempt ID`.
    #[serde(rename = "Stage Attempt ID", default)]
    pub attempt: u32,
    /// `Stage Name`: the short call site.
    #[serde(rename = "Stage Name", default)]
    pub name: String,
    /// `Number of Tasks` of this attempt.
    #[serde(rename = "Number of Tasks", default)]
    pub num_tasks: Int,
    /// `RDD Info`.
    #[serde(rename = "RDD Info", default)]
    pub rdds: Vec<RddInfo>,
    /// `Parent IDs`.
    #[serde(rename = "Parent IDs", default)]
    pub parent_ids: Vec<u32>,
    /// `Details`: the long call site.
    #[serde(rename = "Details", default)]
    pub details: String,
    /// `Submission Time`.
    #[serde(rename = "Submission Time", default)]
    pub submission_time: Int,
    /// `Completion Time`.
    #[serde(rename = "Completion Time", default)]
    pub completion_time: Int,
    /// `Failure Reason`.
    #[serde(rename = "Failure Reason", default)]
    pub failure_reason: Option<String>,
    /// `Accumulables`: final values.
    #[serde(rename = "Accumulables", default)]
    pub accumulables: Accumulables,
    /// `Resource Profile Id` (Spark 3.1).
    #[serde(rename = "Resource Profile Id", default)]
    pub resource_profile_id: Int,
}

/// The accumulators of a stage at its end, but for those that repeat task metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accumulables {
    /// SQL metrics with integer values: accumulator id and value. Their names are in the plans.
    pub sql_metrics: Vec<(u64, i64)>,
    /// All others.
    pub others: Vec<Accumulable>,
}

/// An accumulator's state at the end of a stage (`JsonProtocol.accumulableInfoToJson`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accumulable {
    /// `ID`.
    pub id: u64,
    /// `Name`.
    pub name: Option<String>,
    /// `Value`: a number, or text of any kind.
    pub value: Option<String>,
}

#[derive(Deserialize)]
struct AccumulableInfo {
    #[serde(rename = "ID", default)]
    id: Int,
    #[serde(rename = "Name", default)]
    name: Option<String>,
    #[serde(rename = "Value", default)]
    value: TextOrJson,
    #[serde(rename = "Metadata", default)]
    metadata: Option<String>,
}

impl Accumulables {
    fn add(&mut self, info: AccumulableInfo) {
        let Some(id) = info.id.id() else { return };
        if info.name.as_deref().is_some_and(|name| name.starts_with("internal.")) {
            return;
        }
        if info.metadata.as_deref() == Some("sql") {
            let value = info.value.0.as_deref().and_then(|text| text.parse().ok());
            self.sql_metrics.extend(value.map(|value| (id, value)));
        } else {
            self.others.push(Accumulable { id, name: info.name, value: info.value.0 });
        }
    }
}

struct AccumulablesVisitor;

impl<'de> Visitor<'de> for AccumulablesVisitor {
    type Value = Accumulables;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of accumulables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Accumulables, A::Error> {
        let mut found = Accumulables::default();
        while let Some(info) = seq.next_element::<AccumulableInfo>()? {
            found.add(info);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Accumulables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AccumulablesVisitor)
    }
}

/// `RDD Info`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RddInfo {
    /// `RDD ID`.
    #[serde(rename = "RDD ID", default)]
    pub id: Int,
    /// `Name`.
    #[serde(rename = "Name", default)]
    pub name: String,
    /// The operator's name inside `Scope`, e.g. `WholeStageCodegen (1)`.
    #[serde(rename = "Scope", default, deserialize_with = "operator_of_scope")]
    pub operator: Option<String>,
    /// `Parent IDs`.
    #[serde(rename = "Parent IDs", default)]
    pub parent_ids: Vec<u32>,
    /// `Storage Level`.
    #[serde(rename = "Storage Level", default)]
    pub storage_level: StorageLevel,
    /// `Number of Partitions`.
    #[serde(rename = "Number of Partitions", default)]
    pub num_partitions: Int,
    /// `Barrier` (Spark 3).
    #[serde(rename = "Barrier", default)]
    pub barrier: bool,
}

fn operator_of_scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let scope: Option<String> = Option::deserialize(deserializer)?;
    Ok(scope.as_deref().and_then(operator_name))
}

/// The operator's name in the JSON of a scope.
fn operator_name(scope: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Scope {
        name: String,
    }
    let (mut cursor, mut name) = (Cursor::new(scope.as_bytes()), None);
    // Twice the same name is for serde to refuse.
    let is_plain = cursor.object(|cursor, key| match key {
        b"name" if name.is_none() => {
            name = cursor.string().and_then(RawStr::to_text);
            name.as_ref().map(|_| ())
        }
        b"name" => None,
        _ => cursor.skip(),
    });
    if is_plain.is_some() && cursor.is_at_end() && name.is_some() {
        return name;
    }
    serde_json::from_str::<Scope>(scope).ok().map(|scope| scope.name)
}

/// The local properties of a job that say whose it is; the others repeat the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalProperties {
    /// `spark.jobGroup.id`.
    pub job_group: Option<String>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// `spark.job.tags`.
    pub tags: Option<String>,
    /// `spark.sql.execution.id`.
    pub sql_execution_id: Option<u64>,
    /// `spark.sql.execution.root.id` (Spark 3.4).
    pub sql_root_execution_id: Option<u64>,
    /// `spark.scheduler.pool`.
    pub pool: Option<String>,
    /// `callSite.short`.
    pub call_site: Option<String>,
    /// `streaming.sql.batchId`.
    pub streaming_batch_id: Option<u64>,
    /// `sql.streaming.queryId`.
    pub streaming_query_id: Option<String>,
}

struct LocalPropertiesVisitor;

impl<'de> Visitor<'de> for LocalPropertiesVisitor {
    type Value = LocalProperties;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of properties")
    }

    fn visit_unit<E>(self) -> Result<LocalProperties, E> {
        Ok(LocalProperties::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LocalProperties, A::Error> {
        let mut found = LocalProperties::default();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let text = match &*key {
                "spark.jobGroup.id" => &mut found.job_group,
                "spark.job.description" => &mut found.description,
                "spark.job.tags" => &mut found.tags,
                "spark.scheduler.pool" => &mut found.pool,
                "callSite.short" => &mut found.call_site,
                "sql.streaming.queryId" => &mut found.streaming_query_id,
                other => {
                    let id = match other {
                        "spark.sql.execution.id" => &mut found.sql_execution_id,
                        "spark.sql.execution.root.id" => &mut found.sql_root_execution_id,
                        "streaming.sql.batchId" => &mut found.streaming_batch_id,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *id = map.next_value::<Int>()?.id();
                    continue;
                }
            };
            *text = map.next_value::<TextOrJson>()?.0;
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for LocalProperties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LocalPropertiesVisitor)
    }
}
