//! The configuration a query ran with.

use crate::run::Run;
use crate::sql::SqlExecution;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// Set for this query (`modifiedConfigs`).
    Query,
    /// Set for the application, as the driver logged it.
    Application,
    /// The version's default.
    Default,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value; secrets are masked.
    pub value: String,
    /// Where it comes from.
    pub origin: ConfigOrigin,
}

impl Run {
    /// The value of `key` for a query: its own modification over the application's property over
    /// `default`, which knows the version's defaults.
    pub fn effective_config(
        &self,
        execution: Option<&SqlExecution>,
        key: &str,
        default: impl FnOnce(&str) -> Option<String>,
    ) -> Option<ConfigValue> {
        let of_query = execution.and_then(|execution| execution.modified_configs.get(key));
        if let Some(value) = of_query {
            return Some(ConfigValue { value: value.clone(), origin: ConfigOrigin::Query });
        }
        if let Some(value) = self.spark_property(key) {
            return Some(ConfigValue { value: value.to_owned(), origin: ConfigOrigin::Application });
        }
        default(key).map(|value| ConfigValue { value, origin: ConfigOrigin::Default })
    }
}
