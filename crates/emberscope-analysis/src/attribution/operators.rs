//! Run time of a query's tasks by what their operators do (decision 34).
//!
//! Adds up to the run time of the attempts that counted in the query's stages, in integer milliseconds.
//! Within a stage the rule is that of [`crate::plan::time`].

use crate::context::{Context, StageDigest};
use crate::plan::OperatorClass;
use crate::plan::time::operators_time;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Key of the time of stages of which no operator is known.
const NO_OPERATOR: &str = "no_operator";

/// Time of one class of operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorShare {
    /// Class: `scan`, `shuffle`, `broadcast`, `join`, `aggregation`, `sort`, `window`, `expand`, `python`,
    /// `write`, `cache`, `other`; `no_operator` for stages outside the plan.
    pub key: &'static str,
    /// Its time.
    pub ms: i64,
}

/// Run time of tasks by class of operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorSum {
    /// All classes together: run time of the attempts that counted.
    pub total_ms: i64,
    /// Classes that have any time, largest first.
    pub parts: Vec<OperatorShare>,
}

impl OperatorSum {
    fn of(parts: BTreeMap<&'static str, i64>) -> Self {
        let mut parts: Vec<OperatorShare> =
            parts.into_iter().filter(|(_, ms)| *ms > 0).map(|(key, ms)| OperatorShare { key, ms }).collect();
        parts.sort_by_key(|part| (std::cmp::Reverse(part.ms), part.key));
        OperatorSum { total_ms: parts.iter().map(|part| part.ms).sum(), parts }
    }

    /// Several queries together.
    pub(super) fn all<'s>(sums: impl Iterator<Item = &'s OperatorSum>) -> Self {
        let mut all: BTreeMap<&'static str, i64> = BTreeMap::new();
        for part in sums.flat_map(|sum| &sum.parts) {
            *all.entry(part.key).or_default() += part.ms;
        }
        OperatorSum::of(all)
    }
}

/// Of the queries that ran these jobs; `None` where an engine of its own measured the operators, or where a
/// plan was not looked at.
pub(super) fn operators(context: &Context<'_>, jobs: &[u32]) -> Option<OperatorSum> {
    if context.is_native {
        return None;
    }
    let mut parts: BTreeMap<&'static str, i64> = BTreeMap::new();
    for job in jobs.iter().filter_map(|id| context.run.job(*id)) {
        let id = job.sql_execution_id.filter(|id| context.queries().contains(id))?;
        let view = context.sql_view(id);
        let attempts = job.stage_ids.iter().flat_map(|id| context.run.attempts(*id));
        let digests = attempts.filter_map(|stage| context.digest_of(stage.id, stage.attempt));
        for digest in digests.filter(|digest| digest.job_id == Some(job.id)) {
            let times = view.as_ref().map_or_else(Vec::new, |view| {
                let times = operators_time(context, view, digest);
                times.iter().map(|time| (view.nodes[time.node as usize].class.key(), time.share)).collect()
            });
            deal_out(digest, &times, &mut parts);
        }
    }
    Some(OperatorSum::of(parts))
}

/// Deals a stage's run time out by shares, so that the parts add up to it: each ends where the sum of the
/// shares so far, rounded, says.
fn deal_out(digest: &StageDigest, times: &[(&'static str, f64)], parts: &mut BTreeMap<&'static str, i64>) {
    let total = digest.counted.run_ms.max(0);
    let sum: f64 = times.iter().map(|(_, share)| share).sum();
    if times.is_empty() || sum <= 0.0 {
        *parts.entry(NO_OPERATOR).or_default() += total;
        return;
    }
    let (mut so_far, mut given) = (0.0, 0);
    for (n, (key, share)) in times.iter().enumerate() {
        so_far += share / sum;
        let until = if n + 1 == times.len() { total } else { (total as f64 * so_far).round() as i64 };
        *parts.entry(key).or_default() += until - given;
        given = until;
    }
}

impl OperatorClass {
    /// Key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            OperatorClass::Scan => "scan",
            OperatorClass::Shuffle => "shuffle",
            OperatorClass::Broadcast => "broadcast",
            OperatorClass::Join => "join",
            OperatorClass::Aggregation => "aggregation",
            OperatorClass::Sort => "sort",
            OperatorClass::Window => "window",
            OperatorClass::Expand => "expand",
            OperatorClass::Python => "python",
            OperatorClass::Write => "write",
            OperatorClass::Cache => "cache",
            OperatorClass::Other => "other",
        }
    }
}
