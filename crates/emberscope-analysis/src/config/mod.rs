//! Configuration in effect, and what is known of Spark's settings by version.

mod keys;
mod table;
mod value;

pub use keys::{ConfKey, KEYS, key};
pub(crate) use value::is_same;
pub use value::{parse_bool, parse_bytes, parse_ms};

use crate::finding::{Change, ChangeKind};
use emberscope_model::config::ConfigValue;
use emberscope_model::run::Run;
use emberscope_model::sql::SqlExecution;

/// A version of Spark: major and minor. An unknown one is taken for the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

/// The newest version whose settings are known.
pub const NEWEST: Version = Version(4, 3);

impl Version {
    /// From the text of a log: `3.5.1-amzn-0` is 3.5, and `DBR 10.4` the 3.2 that Databricks built it on.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(runtime) = text.strip_prefix("DBR ") {
            return Self::of_databricks(Self::parse(runtime)?);
        }
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        Some(Version(numbers.next()?.ok()?, numbers.next().and_then(Result::ok).unwrap_or(0)))
    }
}

/// Databricks' runtimes and the Spark they hold: each line from its runtime on.
const DATABRICKS: &[(Version, Version)] = &[
    (Version(7, 0), Version(3, 0)),
    (Version(8, 0), Version(3, 1)),
    (Version(10, 0), Version(3, 2)),
    (Version(11, 0), Version(3, 3)),
    (Version(13, 0), Version(3, 4)),
    (Version(14, 0), Version(3, 5)),
    (Version(17, 0), Version(4, 0)),
];

impl Version {
    fn of_databricks(runtime: Self) -> Option<Self> {
        DATABRICKS.iter().rev().find(|(since, _)| *since <= runtime).map(|(_, spark)| *spark)
    }
}

/// Settings that do nothing in local mode: its one executor has no others to run copies on, to come or to go
/// (`TaskSchedulerImpl.start`, `Utils.isDynamicAllocationEnabled`).
const NOT_LOCAL: [&str; 2] = ["spark.speculation", "spark.dynamicAllocation.enabled"];

/// Settings that only YARN and Kubernetes know ("Application Properties" of Spark's configuration page).
/// Settings of dynamic allocation, which a platform may replace by its own.
const OF_ALLOCATION: &str = "spark.dynamicAllocation.";
const OF_CONTAINERS: [&str; 2] = ["spark.executor.memoryOverhead", "spark.executor.memoryOverheadFactor"];

/// Configuration in effect: query over application over the version's default.
#[derive(Clone, Copy, Debug)]
pub struct Conf<'r> {
    run: &'r Run,
    execution: Option<&'r SqlExecution>,
    version: Version,
}

impl<'r> Conf<'r> {
    /// Of a query, or of the application.
    pub fn of(run: &'r Run, execution: Option<&'r SqlExecution>) -> Self {
        let version = run.application.spark_version.as_deref().and_then(Version::parse).unwrap_or(NEWEST);
        Conf { run, execution, version }
    }

    /// Spark's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Value in effect and where it comes from; `None` for what is neither set nor has a default.
    pub fn get(&self, name: &str) -> Option<ConfigValue> {
        self.run.effective_config(self.execution, name, |name| {
            key(name).and_then(|key| key.default_in(self.version)).map(str::to_owned)
        })
    }

    /// Value in effect as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.value)
    }

    /// Value in effect as a switch.
    pub fn bool(&self, name: &str) -> Option<bool> {
        parse_bool(&self.text(name)?)
    }

    /// Value in effect as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.trim().parse().ok()
    }

    /// Value in effect in bytes; a bare number has the unit that the setting's documentation gives it.
    pub fn bytes(&self, name: &str) -> Option<i64> {
        parse_bytes(&self.text(name)?, key(name).map_or(1, |key| key.bare_bytes))
    }

    /// Value in effect in milliseconds; a bare number is what the setting's documentation says, mostly seconds.
    pub fn ms(&self, name: &str) -> Option<i64> {
        parse_ms(&self.text(name)?, key(name).map_or(1000, |key| key.bare_ms))
    }

    /// Whether the cluster is Databricks', which scales by the workspace's settings alone.
    pub fn is_databricks(&self) -> bool {
        self.run.spark_property(emberscope_model::engine::DATABRICKS_VERSION).is_some()
    }

    /// Whether anybody set it.
    pub fn is_set(&self, name: &str) -> bool {
        self.run.effective_config(self.execution, name, |_| None).is_some()
    }

    /// Whether this version has the setting. Of settings that are not in the table it is not known, and
    /// they are taken to exist.
    pub fn exists(&self, name: &str) -> bool {
        key(name).is_none_or(|key| key.exists_in(self.version))
    }

    /// The change of a setting, unless this version lacks it, the value is in effect already, or it has no effect where
    /// the application runs. What is in effect is not known where the log has no settings.
    pub fn propose(&self, name: &str, value: impl Into<String>) -> Option<Change> {
        let value = value.into();
        let has_settings = !self.run.environment.spark.is_empty();
        let current = if has_settings { self.text(name) } else { None };
        if !self.exists(name)
            || (NOT_LOCAL.contains(&name) && self.run.is_local_mode())
            || (OF_CONTAINERS.contains(&name) && !self.run.has_containers())
            || (name.starts_with(OF_ALLOCATION) && self.is_databricks())
            || current.as_deref().is_some_and(|current| value::is_same(name, current, &value))
        {
            return None;
        }
        Some(Change { kind: ChangeKind::Conf, key: name.to_owned(), current, proposed: Some(value) })
    }
}
