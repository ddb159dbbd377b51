//! The release binary of this workspace.

use super::logs::Log;
use super::usage::{self, Usage};
use crate::run;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The binary under test.
pub(crate) struct Program {
    path: PathBuf,
    /// Whether it knows `summary --json PATH`; the first binaries took a path and nothing else.
    has_commands: bool,
}

impl Program {
    /// Builds it.
    pub(crate) fn build() -> Result<Program> {
        let root = run::root();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        run::run(Command::new(cargo).current_dir(&root).args(["build", "--release", "-p", "emberscope"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let path = target.join("release/emberscope");
        let help = Command::new(&path).args(["summary", "--help"]).output();
        let help = help.with_context(|| format!("cannot start {}", path.display()))?;
        let has_commands = help.status.success() && !help.stdout.is_empty();
        Ok(Program { path, has_commands })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Summarises a log once, and makes sure that the summary counted all its tasks.
    pub(crate) fn measure(&self, log: &Log) -> Result<Usage> {
        let answer = tempfile::NamedTempFile::new().context("a place for the answer")?;
        let mut command = Command::new(&self.path);
        if self.has_commands {
            command.args(["summary", "--json"]);
        }
        command.arg(&log.path).stdin(Stdio::null()).stdout(answer.reopen()?);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.path.display()))?;
        let (mut usage, status) = usage::finish(&mut child, started, None)?;
        if !status.success() {
            bail!("{}: {status}", self.path.display());
        }
        let text = std::fs::read_to_string(answer.path())?;
        let summary = first_value(&text).context("the answer is no JSON")?;
        let tasks = summary.pointer("/totals/tasks/attempts").and_then(Value::as_u64);
        if tasks != Some(log.counts.tasks) {
            bail!("the summary has {tasks:?} task attempts, the log {}", log.counts.tasks);
        }
        let sql = summary.pointer("/totals/sql_executions").and_then(Value::as_u64);
        if sql != Some(log.counts.executions) {
            bail!("the summary has {sql:?} SQL executions, the log {}", log.counts.executions);
        }
        usage.task_bytes = find(&summary, "task_memory_bytes");
        Ok(usage)
    }
}

/// The first object of the output, whether it is one or a list, on one line or many.
fn first_value(text: &str) -> Option<Value> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    match first {
        Value::Array(mut values) if !values.is_empty() => Some(values.swap_remove(0)),
        other => Some(other),
    }
}

/// A number by its key, wherever it is.
fn find(value: &Value, key: &str) -> Option<u64> {
    match value {
        Value::Object(fields) => match fields.get(key).and_then(Value::as_u64) {
            Some(number) => Some(number),
            None => fields.values().find_map(|value| find(value, key)),
        },
        Value::Array(values) => values.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_shapes_are_read() {
        for text in ["{\"a\":{\"n\":1}}\n{\"b\":2}\n", "[{\"a\":{\"n\":1}}]", "{\n \"a\": {\"n\": 1}\n}\n"] {
            assert_eq!(find(&first_value(text).unwrap(), "n"), Some(1));
        }
        assert!(first_value("").is_none());
    }
}
