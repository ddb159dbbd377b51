//! Which engine ran the tasks. Native engines leave some of Spark's metrics at zero, and such zeros
//! are not measurements.

use emberscope_log::event::app::EnvironmentUpdate;
use std::collections::BTreeMap;

/// Engine and runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// spark, photon, rapids, gluten, comet or auron.
    pub engine: &'static str,
    /// The runtime's own version, where the log has no Spark version: `DBR 13.3 Photon`.
    pub runtime_version: Option<String>,
}

/// Databricks' name of a runtime, e.g. `13.3.x-photon-scala2.12`.
pub const DATABRICKS_VERSION: &str = "spark.databricks.clusterUsageTags.sparkVersion";

/// Property, text its value must contain, engine.
const ENGINE_PROPERTIES: &[(&str, &str, &str)] = &[
    (DATABRICKS_VERSION, "photon", "photon"),
    ("spark.databricks.photon.enabled", "true", "photon"),
    ("spark.plugins", "com.nvidia.spark.SQLPlugin", "rapids"),
    ("spark.plugins", "GlutenPlugin", "gluten"),
    ("spark.plugins", "CometPlugin", "comet"),
    ("spark.sql.extensions", "AuronSparkSessionExtension", "auron"),
    ("spark.sql.extensions", "BlazeSparkSessionExtension", "auron"),
];

/// Finds engine and runtime in the environment and in the names of vendors' events.
pub fn identify(environment: &EnvironmentUpdate, unknown_events: &BTreeMap<String, u64>) -> Identity {
    let property = |key: &str| environment.spark.get(key).and_then(|value| value.0.as_deref());
    let by_property = ENGINE_PROPERTIES
        .iter()
        .find(|(key, part, _)| property(key).is_some_and(|value| value.contains(part)))
        .map(|(_, _, engine)| *engine);
    let by_event = || {
        unknown_events.keys().find_map(|name| {
            if name.contains("GlutenBuildInfoEvent") {
                Some("gluten")
            } else if name.contains("SparkRapidsBuildInfoEvent") {
                Some("rapids")
            } else {
                None
            }
        })
    };
    Identity {
        engine: by_property.or_else(by_event).unwrap_or("spark"),
        runtime_version: property(DATABRICKS_VERSION).map(databricks_runtime),
    }
}

fn databricks_runtime(tag: &str) -> String {
    let version: Vec<&str> = tag.split(['.', '-']).take_while(|part| part.parse::<u32>().is_ok()).collect();
    let photon = if tag.contains("photon") { " Photon" } else { "" };
    format!("DBR {}{photon}", version.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databricks_tags() {
        assert_eq!(databricks_runtime("13.3.x-photon-scala2.12"), "DBR 13.3 Photon");
        assert_eq!(databricks_runtime("9.1.x-scala2.12"), "DBR 9.1");
    }
}
