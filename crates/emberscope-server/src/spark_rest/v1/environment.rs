//! `/environment`. Secrets are masked since the log was read.

use super::{Answer, json};
use crate::opened::Opened;
use emberscope_log::event::app::ResourceProfileAdded;
use emberscope_log::event::lenient::TextOrJson;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) fn get(opened: &Opened) -> Answer {
    let environment = &opened.run.environment;
    let jvm = |key: &str| environment.jvm.get(key).and_then(|value| value.0.clone()).unwrap_or_default();
    json(&json!({
        "runtime": {
            "javaVersion": jvm("Java Version"),
            "javaHome": jvm("Java Home"),
            "scalaVersion": jvm("Scala Version"),
        },
        "sparkProperties": pairs(&environment.spark),
        "hadoopProperties": pairs(&environment.hadoop),
        "systemProperties": pairs(&environment.system),
        "metricsProperties": pairs(&environment.metrics),
        // The model keeps no class path.
        "classpathEntries": [],
        "resourceProfiles": opened.run.resource_profiles.values().map(profile).collect::<Vec<_>>(),
    }))
}

fn pairs(properties: &BTreeMap<String, TextOrJson>) -> Vec<[&str; 2]> {
    properties.iter().map(|(key, value)| [key.as_str(), value.0.as_deref().unwrap_or_default()]).collect()
}

fn profile(profile: &ResourceProfileAdded) -> Value {
    let executor: Map<String, Value> = profile
        .executor
        .iter()
        .map(|(name, request)| {
            let amount = request.amount as i64;
            let of = json!({
                "resourceName": name,
                "amount": amount,
                "discoveryScript": request.discovery_script,
                "vendor": request.vendor,
            });
            (name.clone(), of)
        })
        .collect();
    let task: Map<String, Value> = profile
        .task
        .iter()
        .map(|(name, request)| (name.clone(), json!({ "resourceName": name, "amount": request.amount })))
        .collect();
    json!({ "id": profile.id.0, "executorResources": executor, "taskResources": task })
}
