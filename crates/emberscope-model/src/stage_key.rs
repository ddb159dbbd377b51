//! A name for a stage that stays the same from run to run.
//!
//! Stage ids depend on what ran before. The key of a stage of a query is the fingerprint of the query's
//! *initial* plan (adaptive changes differ between runs) and the operators of the stage; of another
//! stage its call site and the names of its RDDs. Stages that agree in all that are numbered in order.

use crate::run::{Run, StageAttempt};
use emberscope_log::event::plan::PlanTree;
use std::collections::BTreeMap;
use std::fmt;
use twox_hash::XxHash64;

/// A stage's name across runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageKey {
    /// Hash of query and operators, or of call site and RDDs.
    pub hash: u64,
    /// Number among the stages of this run with the same hash, from 0.
    pub ordinal: u32,
}

impl fmt::Display for StageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.hash)?;
        if self.ordinal > 0 { write!(f, ".{}", self.ordinal) } else { Ok(()) }
    }
}

const SEED: u64 = 0;

impl Run {
    /// The keys of all stages that ran, by stage id.
    pub fn stage_keys(&self) -> BTreeMap<u32, StageKey> {
        let mut fingerprints: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        let mut keys = BTreeMap::new();
        for stage in &self.stages {
            if keys.contains_key(&stage.id) {
                continue;
            }
            let execution = stage.job_ids.first().and_then(|id| self.job(*id)?.sql_execution_id);
            let plan = execution.and_then(|id| {
                *fingerprints.entry(id).or_insert_with(|| {
                    let execution = self.sql_execution(id)?;
                    let initial = execution.versions.iter().find_map(|version| self.plan_tree(version))?;
                    Some(plan_fingerprint(&initial))
                })
            });
            let hash = match plan {
                Some(plan) => XxHash64::oneshot(plan, self.operators(stage).as_bytes()),
                None => {
                    XxHash64::oneshot(SEED, format!("{}\n{}", stage.name, self.rdd_names(stage)).as_bytes())
                }
            };
            let ordinal = seen.entry(hash).or_insert(0);
            keys.insert(stage.id, StageKey { hash, ordinal: *ordinal });
            *ordinal += 1;
        }
        keys
    }

    /// Operator names of a stage, from the scopes of its RDDs, without the numbers of code generation.
    fn operators(&self, stage: &StageAttempt) -> String {
        let mut ids = stage.rdd_ids.clone();
        ids.sort_unstable();
        let mut names: Vec<&str> = ids
            .iter()
            .filter_map(|id| self.rdd_operator(*id))
            .map(|scope| scope.split(" (").next().unwrap_or(scope).trim())
            .collect();
        names.dedup();
        names.join("\n")
    }

    fn rdd_names(&self, stage: &StageAttempt) -> String {
        let mut ids = stage.rdd_ids.clone();
        ids.sort_unstable();
        let names = ids.iter().filter_map(|id| self.rdd_name(*id)).map(normalized);
        names.collect::<Vec<String>>().join("\n")
    }
}

/// A hash of a plan's shape and operators that ids, numbers and paths do not change.
pub fn plan_fingerprint(tree: &PlanTree) -> u64 {
    let mut text = String::new();
    for node in &tree.nodes {
        text.push_str(&normalized(tree.text(node.name)));
        text.push('\t');
        text.push_str(&normalized(tree.text(node.simple_string)));
        text.push_str(&format!("\t{:?}\n", node.parent));
    }
    XxHash64::oneshot(SEED, text.as_bytes())
}

/// A text without what differs from run to run: words that hold a path become `/`, runs of digits
/// (ids, sizes, literals) become `0`.
pub fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, word) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        if word.contains('/') {
            out.push('/');
            continue;
        }
        let mut in_digits = false;
        for character in word.chars() {
            if character.is_ascii_digit() {
                if !in_digits {
                    out.push('0');
                }
                in_digits = true;
            } else {
                in_digits = false;
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_numbers_and_paths_do_not_count() {
        let cases = [
            ("Filter (a#12L > 5)", "Filter (a#0L > 0)"),
            (
                "Location: InMemoryFileIndex(1 paths)[file:/tmp/x], Format",
                "Location: InMemoryFileIndex(0 / Format",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(normalized(text), expected);
        }
    }
}
