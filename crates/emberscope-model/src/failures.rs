//! Task attempts that did not succeed, grouped by cause.

use crate::redact;
use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::columns::TaskStatus;
use emberscope_log::event::reason::TaskEndReason;
use std::collections::{BTreeMap, BTreeSet};

/// Longest text of an example kept, bytes.
const EXAMPLE_BYTES: usize = 16 << 10;

/// Attempts that ended alike.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FailureGroup {
    /// How they ended.
    pub status: TaskStatus,
    /// Exception class, where there is one.
    pub class_name: Option<String>,
    /// First line of the message, with numbers replaced by `#`.
    pub pattern: String,
    /// Number of attempts.
    pub attempts: u64,
    /// Stages they belong to.
    pub stage_ids: BTreeSet<u32>,
    /// The attempt with the smallest task id, as an example.
    pub example: FailureExample,
}

/// One attempt of a group.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FailureExample {
    /// Task attempt id.
    pub task_id: u64,
    /// Stage id.
    pub stage_id: u32,
    /// Stage attempt.
    pub stage_attempt: u32,
    /// Full text: stack trace with causes, or the message.
    pub text: String,
}

/// Collects failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailuresBuilder {
    groups: BTreeMap<(TaskStatus, Option<String>, String), FailureGroup>,
}

impl FailuresBuilder {
    pub(crate) fn add(&mut self, task_id: u64, stage_id: u32, stage_attempt: u32, reason: &TaskEndReason) {
        let status = TaskStatus::from_reason(&reason.reason);
        let message = message_of(reason);
        let pattern = pattern_of(&message);
        let key = (status, reason.class_name.clone(), pattern.clone());
        let mut text = reason.full_stack_trace.clone().unwrap_or(message);
        truncate(&mut text, EXAMPLE_BYTES);
        let example = FailureExample { task_id, stage_id, stage_attempt, text };
        match self.groups.get_mut(&key) {
            Some(group) => {
                group.attempts += 1;
                group.stage_ids.insert(stage_id);
                if task_id < group.example.task_id {
                    group.example = example;
                }
            }
            None => {
                let class_name = reason.class_name.clone();
                let stage_ids = BTreeSet::from([stage_id]);
                self.groups.insert(
                    key,
                    FailureGroup { status, class_name, pattern, attempts: 1, stage_ids, example },
                );
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<FailureGroup> {
        let mut groups: Vec<FailureGroup> = self.groups.into_values().collect();
        groups.sort_by(|a, b| (b.attempts, a.example.task_id).cmp(&(a.attempts, b.example.task_id)));
        groups
    }
}

/// What Spark's monitoring API shows of an attempt (`TaskFailedReason.toErrorString`; of a killed one only why).
pub(crate) fn error_text(reason: &TaskEndReason) -> Option<String> {
    let or_null = |text: &Option<String>| text.clone().unwrap_or_else(|| "null".to_owned());
    let mut text = match reason.reason.as_str() {
        "Resubmitted" | "Success" => return None,
        "TaskKilled" => or_null(&reason.kill_reason),
        "ExceptionFailure" => match &reason.full_stack_trace {
            Some(trace) => trace.clone(),
            None => format!("{}: {}", or_null(&reason.class_name), or_null(&reason.description)),
        },
        "FetchFailed" => {
            let number = |number: Option<i64>| number.unwrap_or(-1);
            let place = reason.block_manager.as_ref().map_or_else(
                || "null".to_owned(),
                |at| {
                    let port = number(at.port.0);
                    format!("BlockManagerId({}, {}, {port}, None)", at.executor_id, at.host)
                },
            );
            format!(
                "FetchFailed({place}, shuffleId={}, mapIndex={}, mapId={}, reduceId={}, message=\n{}\n)",
                number(reason.shuffle_id.0),
                number(reason.map_index.0),
                number(reason.map_id.0),
                number(reason.reduce_id.0),
                or_null(&reason.message)
            )
        }
        "ExecutorLostFailure" => {
            let exit = match reason.exit_caused_by_app {
                Some(false) => "unrelated to the running tasks",
                _ => "caused by one of the running tasks",
            };
            let why = reason.loss_reason.as_ref().map(|why| format!(" Reason: {why}")).unwrap_or_default();
            format!("ExecutorLostFailure (executor {} exited {exit}){why}", or_null(&reason.executor_id))
        }
        "TaskResultLost" => "TaskResultLost (result lost from block manager)".to_owned(),
        "TaskCommitDenied" => "TaskCommitDenied (Driver denied task commit)".to_owned(),
        _ => "UnknownReason".to_owned(),
    };
    truncate(&mut text, EXAMPLE_BYTES);
    Some(redact::text(&text).into_owned())
}

fn message_of(reason: &TaskEndReason) -> String {
    let text = [&reason.description, &reason.message, &reason.loss_reason, &reason.kill_reason];
    text.into_iter().flatten().next().cloned().unwrap_or_else(|| reason.reason.clone())
}

/// What texts of attempts that ended alike have in common: the first line, with numbers replaced by `#`.
pub fn pattern_of(message: &str) -> String {
    without_numbers(message.lines().next().unwrap_or("").trim())
}

/// Replaces every run of digits, so that ids and sizes do not split a group.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_number = false;
    for character in text.chars().take(400) {
        if character.is_ascii_digit() {
            if !in_number {
                out.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(character);
        }
    }
    out
}

fn truncate(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}
