//! Ids of findings: the same in every run of a job, whatever its numbers.

use crate::context::Context;
use crate::finding::Claim;
use crate::pricing::Priced;
use emberscope_model::stage_key::{normalized, plan_fingerprint};
use std::collections::BTreeMap;
use twox_hash::XxHash64;

/// Id of a claim: tag and a hash of type, variant, place and subject. No measured value and no number
/// of a stage, job or execution is in it.
pub(crate) fn finding_id(context: &Context<'_>, tag: &str, claim: &Claim) -> String {
    let mut text =
        format!("{}\n{}\n{}\n", claim.kind, claim.variant.unwrap_or(""), normalized(&claim.subject));
    let stage = claim.scope.stage_id.zip(Some(claim.scope.stage_attempt.unwrap_or(0)));
    if let Some(digest) = stage.and_then(|(id, attempt)| context.digest_of(id, attempt)) {
        let key = context.stage_key(digest.id).map_or_else(String::new, |key| key.to_string());
        text.push_str(&format!("stage {key} {}\n", digest.attempt));
    } else if let Some(execution) = claim.scope.sql_id.and_then(|id| context.run.sql_execution(id)) {
        let initial = execution.versions.iter().find_map(|version| context.run.plan_tree(version));
        let plan = initial.map_or(0, |tree| plan_fingerprint(&tree));
        text.push_str(&format!("sql {plan:016x}\n"));
        if let Some(view) = claim.scope.sql_id.and_then(|id| context.sql_view(id))
            && let Some(node) = claim.scope.node_id.and_then(|node| view.nodes.get(node as usize))
        {
            text.push_str(&format!("{}\n{}\n", normalized(&node.name), normalized(&node.detail)));
        }
    } else if let Some(job) = claim.scope.job_id.and_then(|id| context.run.job(id)) {
        text.push_str(&format!("job {}\n", normalized(job.call_site.as_deref().unwrap_or(""))));
    }
    format!("{tag}-{:012x}", XxHash64::oneshot(0, text.as_bytes()) & 0xffff_ffff_ffff)
}

/// Numbers findings whose ids agree, in the order of their places.
pub(crate) fn make_unique(kept: &mut [Priced]) {
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by(|a, b| kept[*a].finding.scope.cmp(&kept[*b].finding.scope));
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for n in order {
        let id = &mut kept[n].finding.id;
        let times = seen.entry(id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            id.push_str(&format!(".{times}"));
        }
    }
}
