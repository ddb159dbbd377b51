//! Why a task failed, from the one text that the API has of it.

use serde_json::{Value, json};

/// The reason as an event has it.
pub(crate) fn of(status: &str, message: &str) -> Value {
    if let Some(rest) = message.strip_prefix("ExecutorLostFailure (executor ") {
        let executor = rest.split(' ').next().unwrap_or_default();
        let caused = rest.contains("caused by one of the running tasks") && !rest.contains("not caused");
        let loss = rest.split_once("Reason: ").map_or(rest, |(_, reason)| reason);
        return json!({ "Reason": "ExecutorLostFailure", "Executor ID": executor, "Exit Caused By App": caused, "Loss Reason": loss });
    }
    if message.starts_with("FetchFailed(") {
        let id = |name: &str| {
            let rest = message.split_once(&format!("{name}="))?.1;
            rest.split([',', ')', ' ']).next()?.parse::<i64>().ok()
        };
        let text = message.split_once("message=").map_or(message, |(_, rest)| rest);
        return json!({
            "Reason": "FetchFailed", "Message": text.trim(), "Shuffle ID": id("shuffleId"), "Map ID": id("mapId"),
            "Map Index": id("mapIndex"), "Reduce ID": id("reduceId"),
        });
    }
    if message.starts_with("Resubmitted") {
        return json!({ "Reason": "Resubmitted" });
    }
    if let Some(rest) = message.strip_prefix("TaskKilled (") {
        return json!({ "Reason": "TaskKilled", "Kill Reason": rest.trim_end_matches(')') });
    }
    if status == "KILLED" {
        return json!({ "Reason": "TaskKilled", "Kill Reason": message });
    }
    let first = message.lines().next().unwrap_or_default();
    let (class, description) = first.split_once(": ").unwrap_or((first, ""));
    json!({
        "Reason": "ExceptionFailure", "Class Name": class, "Description": description, "Stack Trace": [],
        "Full Stack Trace": message,
    })
}
