//! What a detector says: a claim with evidence, a fix as data, and what the fix is worth.

use crate::profile::StageProfile;
use crate::replay::Edit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How much a finding matters (decision 24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A fact worth knowing.
    Info,
    /// Worth at least 0.5 % of the run's wall time, or a failure that was made good.
    Warning,
    /// Worth at least 2 % of the run's wall time, or a failure of a job or stage.
    Critical,
}

impl Severity {
    /// The word in JSON and texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The evidence allows it.
    Low,
    /// The evidence speaks for it.
    Medium,
    /// The evidence shows it.
    High,
}

impl Confidence {
    /// The word in JSON and texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What kind of thing has to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// The data: its keys, files, layout.
    Data,
    /// Machines: cores, memory, hosts.
    Resource,
    /// Settings.
    Configuration,
    /// The query or program.
    Code,
}

/// Where a finding holds. What does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Scope {
    /// Stage id.
    pub stage_id: Option<u32>,
    /// Stage attempt.
    pub stage_attempt: Option<u32>,
    /// SQL execution id.
    pub sql_id: Option<u64>,
    /// Node of the final plan, by its place in pre-order from 0.
    pub node_id: Option<u32>,
    /// Executor id.
    pub executor_id: Option<String>,
    /// Job id.
    pub job_id: Option<u32>,
}

/// How a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A Spark setting.
    Conf,
    /// The program or query.
    Code,
    /// The data.
    Data,
    /// The cluster.
    Resource,
}

/// One change as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// How it is made.
    pub kind: ChangeKind,
    /// Setting, or what is to be changed.
    pub key: String,
    /// Value now; `None` where there is none or it is not known.
    pub current: Option<String>,
    /// Value to set, or what to do; `None` where only the direction is known.
    pub proposed: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recommendation {
    /// In words: one to three sentences.
    pub text: String,
    /// As data.
    pub changes: Vec<Change>,
}

/// How a saving was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SavingMethod {
    /// By replaying the run with the fix applied.
    Replay,
    /// Read off the log.
    Measured,
    /// By a formula, or by a replay that does not reproduce the run well.
    Modelled,
    /// It cannot be said.
    None,
}

/// A range of milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RangeMs {
    /// What is saved at least.
    pub low: i64,
    /// What is saved at most.
    pub high: i64,
}

/// What a fix saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Savings {
    /// Of the run's wall time; `None` where it cannot be said or does not apply.
    pub wall_ms: Option<RangeMs>,
    /// Of core-time; `None` where it cannot be said.
    pub core_ms: Option<i64>,
    /// How it was found.
    pub method: SavingMethod,
}

/// A priced finding, as every door shows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable across runs of the same job.
    pub id: String,
    /// Type, e.g. `skew`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Tag, e.g. `SKEW`.
    pub tag: &'static str,
    /// The variant of the type, e.g. `lowParallelism`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'static str>,
    /// How much it matters.
    pub severity: Severity,
    /// What kind of thing has to change.
    pub nature: Nature,
    /// Where it holds.
    pub scope: Scope,
    /// One line.
    pub title: String,
    /// The numbers it rests on; names end in their units.
    pub evidence: Map<String, Value>,
    /// Where the tasks of its stage spent their time, where they were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<StageProfile>,
    /// What to do.
    pub recommendation: Recommendation,
    /// What that saves.
    pub savings: Savings,
    /// How sure it is.
    pub confidence: Confidence,
    /// The check that would refute it.
    pub validate: String,
    /// The page of the reference that explains it.
    pub doc: String,
    /// What it saves of the run's wall time where nothing else is changed; only where `savings` is what other
    /// findings of its place leave of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone_ms: Option<RangeMs>,
    /// The finding whose time this one shares, where it is not the headline of its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// Findings about the same place or chain.
    pub related: Vec<String>,
}

/// What a fix is worth, before it is priced.
#[derive(Clone, Debug, Default)]
pub enum Worth {
    /// It cannot be said.
    #[default]
    None,
    /// Replay says: the run with the pessimistic and with the optimistic edits.
    Replay {
        /// Edits if the fix helps little.
        low: Vec<Edit>,
        /// Edits if it helps as much as it can.
        high: Vec<Edit>,
    },
    /// A resource is freed; the run gets no shorter.
    Resource,
}

/// What a detector says, before it is priced.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Type, as the detector declares it.
    pub kind: &'static str,
    /// Variant of the type.
    pub variant: Option<&'static str>,
    /// Where.
    pub scope: Scope,
    /// What tells this claim from others of its type at the same stage, node and so on, the same in
    /// every run of the job: a setting's name, a relation. Never a measured value.
    pub subject: String,
    /// What it comes from, where other queries or stages may have the same: claims of one type with one cause
    /// are told as one. Holds no measured value.
    pub cause: Option<String>,
    /// One line.
    pub title: String,
    /// Run time of tasks that it is about, milliseconds, where claims of one cause are added up.
    pub cost_ms: Option<i64>,
    /// The numbers.
    pub evidence: Map<String, Value>,
    /// What to do.
    pub recommendation: Recommendation,
    /// What kind of thing has to change.
    pub nature: Nature,
    /// How sure.
    pub confidence: Confidence,
    /// The check that would refute it.
    pub validate: String,
    /// What it is worth.
    pub worth: Worth,
    /// Core-time that the fix frees, where it can be told.
    pub core_ms: Option<i64>,
    /// Severity that does not follow from the saving: failures, facts.
    pub severity: Option<Severity>,
    /// What it can save at most, milliseconds of wall time, where that is less than the time its edits touch.
    pub most_ms: Option<i64>,
    /// What its fix must save at best for it to be told, milliseconds of wall time.
    pub least_ms: i64,
    /// Stage attempts whose time it is about, beside the one of its scope.
    pub stages: Vec<(u32, u32)>,
}

impl Claim {
    /// A claim about `scope` that says `title`.
    pub fn new(kind: &'static str, scope: Scope, title: impl Into<String>) -> Self {
        Claim {
            kind,
            variant: None,
            scope,
            subject: String::new(),
            cause: None,
            title: title.into(),
            cost_ms: None,
            evidence: Map::new(),
            recommendation: Recommendation::default(),
            nature: Nature::Code,
            confidence: Confidence::Medium,
            validate: String::new(),
            worth: Worth::None,
            core_ms: None,
            severity: None,
            most_ms: None,
            least_ms: 0,
            stages: Vec::new(),
        }
    }

    /// With a number or text it rests on.
    #[must_use]
    pub fn evidence(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// With what to do in words.
    #[must_use]
    pub fn advice(mut self, text: impl Into<String>) -> Self {
        self.recommendation.text = text.into();
        self
    }

    /// With a change as data.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.recommendation.changes.push(change);
        self
    }

    /// With a change as data, where there is one to make.
    #[must_use]
    pub fn changes(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.recommendation.changes.extend(changes);
        self
    }
}

impl Change {
    /// A change of the program.
    pub fn code(key: impl Into<String>, proposed: impl Into<String>) -> Self {
        Change { kind: ChangeKind::Code, key: key.into(), current: None, proposed: Some(proposed.into()) }
    }

    /// A change of the data.
    pub fn data(key: impl Into<String>, proposed: impl Into<String>) -> Self {
        Change { kind: ChangeKind::Data, key: key.into(), current: None, proposed: Some(proposed.into()) }
    }

    /// A change of the cluster.
    pub fn resource(key: impl Into<String>, current: Option<String>, proposed: impl Into<String>) -> Self {
        Change { kind: ChangeKind::Resource, key: key.into(), current, proposed: Some(proposed.into()) }
    }
}
