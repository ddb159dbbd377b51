//! Settings: what was in effect, where it was set, and what findings say of it.

use super::{FindingRef, Subject, findings_about};
use crate::config::{Conf, KEYS, Version};
use crate::finding::ChangeKind;
use emberscope_log::event::lenient::TextOrJson;
use emberscope_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// The driver logged it: somebody set it for the application.
    Application,
    /// Only queries set it.
    Query,
    /// The version's default.
    Default,
}

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigurationView {
    /// Spark's version whose defaults are shown: that of the run, or the newest that is known.
    pub defaults_of_version: String,
    /// Spark's settings, by name: those that were set, and known ones with their defaults.
    pub spark: Vec<SettingRow>,
    /// Of the JVM.
    pub jvm: BTreeMap<String, Option<String>>,
    /// System properties.
    pub system: BTreeMap<String, Option<String>>,
    /// Of Hadoop.
    pub hadoop: BTreeMap<String, Option<String>>,
    /// Of metrics sinks.
    pub metrics: BTreeMap<String, Option<String>>,
}

/// One setting of Spark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingRow {
    /// Name.
    pub key: String,
    /// Value in effect for the application; `None` where only queries set it or there is none.
    pub value: Option<String>,
    /// The version's default; `None` where there is none, it depends on the cluster, or is not known.
    pub default: Option<String>,
    /// Where it was set.
    pub origin: SettingOrigin,
    /// Whether this version has it; `None` where that is not known.
    pub exists: Option<bool>,
    /// Values that queries set for themselves.
    pub set_by_queries: Vec<QuerySetting>,
    /// Findings that would change it.
    pub findings: Vec<FindingRef>,
}

/// A value that queries set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuerySetting {
    /// Value.
    pub value: String,
    /// Queries that did, by id: the first of them.
    pub sql_ids: Vec<u64>,
    /// How many did.
    pub queries: u64,
}

/// Queries that are named for one value.
const QUERIES: usize = 20;

/// Settings of a run.
pub fn configuration(subject: Subject<'_>) -> ConfigurationView {
    let run = subject.run;
    let conf = Conf::of(run, None);
    let by_query = set_by_queries(run);
    let version = conf.version();
    let mut names: BTreeSet<&str> = run.environment.spark.keys().map(String::as_str).collect();
    names.extend(by_query.keys().copied());
    names.extend(KEYS.iter().filter(|key| key.exists_in(version)).map(|key| key.name));
    let spark = names.into_iter().map(|name| setting(subject, conf, version, name, &by_query)).collect();
    let plain = |map: &BTreeMap<String, TextOrJson>| {
        map.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect()
    };
    ConfigurationView {
        defaults_of_version: format!("{}.{}", version.0, version.1),
        spark,
        jvm: plain(&run.environment.jvm),
        system: plain(&run.environment.system),
        hadoop: plain(&run.environment.hadoop),
        metrics: plain(&run.environment.metrics),
    }
}

type ByQuery<'r> = BTreeMap<&'r str, BTreeMap<&'r str, Vec<u64>>>;

fn set_by_queries(run: &Run) -> ByQuery<'_> {
    let mut found = ByQuery::new();
    for execution in &run.sql_executions {
        for (key, value) in &execution.modified_configs {
            found.entry(key).or_default().entry(value).or_default().push(execution.id);
        }
    }
    found
}

fn setting(
    subject: Subject<'_>,
    conf: Conf<'_>,
    version: Version,
    name: &str,
    by_query: &ByQuery<'_>,
) -> SettingRow {
    let known = crate::config::key(name);
    let default = known.and_then(|key| key.default_in(version)).map(str::to_owned);
    let set = subject.run.spark_property(name).map(str::to_owned);
    let of_queries = by_query.get(name);
    let origin = match (&set, of_queries) {
        (Some(_), _) => SettingOrigin::Application,
        (None, Some(_)) => SettingOrigin::Query,
        (None, None) => SettingOrigin::Default,
    };
    let queries = of_queries.into_iter().flatten().map(|(value, ids)| QuerySetting {
        value: (*value).to_owned(),
        sql_ids: ids.iter().take(QUERIES).copied().collect(),
        queries: ids.len() as u64,
    });
    SettingRow {
        key: name.to_owned(),
        value: set.or_else(|| conf.text(name)),
        default,
        origin,
        exists: known.map(|key| key.exists_in(version)),
        set_by_queries: queries.collect(),
        findings: findings_about(subject.diagnosis, |finding| {
            let mut changes = finding.recommendation.changes.iter();
            changes.any(|change| change.kind == ChangeKind::Conf && change.key == name)
        }),
    }
}
