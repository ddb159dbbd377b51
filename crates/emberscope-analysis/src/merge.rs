//! What several findings say alike is said once, and a setting gets one value in a diagnosis.

use crate::config::{is_same, parse_bytes, parse_ms};
use crate::context::Context;
use crate::detectors::DETECTORS;
use crate::finding::{Change, ChangeKind, Claim, Severity, Worth};
use crate::identity::finding_id;
use crate::pricing::Priced;
use crate::words;
use emberscope_model::run::{ApplicationStatus, Job, JobStatus};
use std::collections::{BTreeMap, BTreeSet};

/// Queries that a folded claim names in its title.
const NAMED: usize = 5;

/// Folds claims that have one cause: of the same type with the same [`Claim::cause`], about several queries or
/// several stages; or about the same place of the same plan, run again. The first stands for all; its claim is
/// worth what all are.
pub(crate) fn fold(context: &Context<'_>, claims: Vec<Claim>) -> Vec<Claim> {
    let mut kept: Vec<(Claim, Vec<Where>)> = Vec::new();
    // Claims of one cause that are not word by word the same are told as alike.
    let mut titles: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for claim in claims {
        let Some((place, key)) = folded_by(context, &claim) else {
            kept.push((claim, Vec::new()));
            continue;
        };
        match seen.get(&key) {
            // Twice in one query is two places of it, each with a fix of its own, unless they share a cause.
            Some(at) if claim.cause.is_some() || !kept[*at].1.contains(&place) => {
                let alike = titles.entry(*at).or_default();
                alike.insert(subject_of(&claim));
                let (first, places) = &mut kept[*at];
                alike.insert(subject_of(first));
                join(first, claim);
                places.push(place);
            }
            Some(_) => kept.push((claim, vec![place])),
            None => {
                seen.insert(key, kept.len());
                kept.push((claim, vec![place]));
            }
        }
    }
    let is_alike = |at: usize| titles.get(&at).is_some_and(|titles| titles.len() > 1);
    let told = kept.into_iter().enumerate();
    told.map(|(at, (claim, places))| with_places(claim, places, is_alike(at))).collect()
}

/// What a claim is about, beside its numbers.
fn subject_of(claim: &Claim) -> String {
    let stage = claim.scope.stage_id.map_or_else(String::new, |id| id.to_string());
    format!("{stage} {}", claim.subject)
}

/// One of the places of a folded claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    Query(u64),
    Stage(u32),
}

impl Where {
    fn id(self) -> u64 {
        match self {
            Where::Query(id) => id,
            Where::Stage(id) => u64::from(id),
        }
    }
}

/// Where a claim is and what it is folded by; `None` for one that is told by itself.
fn folded_by(context: &Context<'_>, claim: &Claim) -> Option<(Where, String)> {
    let variant = claim.variant.unwrap_or("");
    let by_cause = |cause: &str| format!("{}\n{variant}\n{cause}", claim.kind);
    if let Some(stage) = claim.scope.stage_id {
        // What has a stage of its own is told where it is, unless one setting makes it in all of them.
        return Some((Where::Stage(stage), by_cause(claim.cause.as_ref()?)));
    }
    claim.scope.node_id?;
    let query = Where::Query(claim.scope.sql_id?);
    Some(match &claim.cause {
        Some(cause) => (query, by_cause(cause)),
        None => {
            let detector =
                DETECTORS.iter().find(|one| one.types.iter().any(|kind| kind.name == claim.kind))?;
            (query, finding_id(context, detector.tag, claim))
        }
    })
}

/// Adds the worth of a claim to another's.
fn join(first: &mut Claim, more: Claim) {
    first.worth = match (std::mem::take(&mut first.worth), more.worth) {
        (Worth::Replay { mut low, mut high }, Worth::Replay { low: more_low, high: more_high }) => {
            // Branches of one query may share a stage, whose work goes once.
            for (all, more) in [(&mut low, more_low), (&mut high, more_high)] {
                let places: Vec<_> = all.iter().filter_map(crate::replay::Edit::place).collect();
                all.extend(
                    more.into_iter().filter(|edit| edit.place().is_none_or(|place| !places.contains(&place))),
                );
            }
            Worth::Replay { low, high }
        }
        (Worth::None, worth) | (worth, _) => worth,
    };
    let sum = |one: Option<i64>, other: Option<i64>| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    first.core_ms = sum(first.core_ms, more.core_ms);
    first.cost_ms = sum(first.cost_ms, more.cost_ms);
    first.confidence = first.confidence.max(more.confidence);
    first.severity = first.severity.max(more.severity);
    first.stages.extend(more.stages);
    if let Some(stage) = more.scope.stage_id {
        first.stages.push((stage, more.scope.stage_attempt.unwrap_or(0)));
    }
    first.stages.sort_unstable();
    first.stages.dedup();
    if serves_both(&first.recommendation.changes, &more.recommendation.changes) {
        first.recommendation = more.recommendation;
        return;
    }
    // What is to be changed in the program is another thing in each place.
    let own =
        |change: &Change| change.kind == ChangeKind::Code && !first.recommendation.changes.contains(change);
    let more: Vec<Change> = more.recommendation.changes.into_iter().filter(own).collect();
    let after_first = first.recommendation.changes.len().min(1);
    first.recommendation.changes.splice(after_first..after_first, more).for_each(drop);
}

/// Whether the value that serves two claims is the second's.
fn serves_both(first: &[Change], more: &[Change]) -> bool {
    first.iter().filter(|change| change.kind == ChangeKind::Conf).any(|change| {
        let other = more.iter().find(|other| other.kind == change.kind && other.key == change.key);
        let (Some(own), Some(other)) = (change.proposed.as_ref(), other.and_then(|it| it.proposed.as_ref()))
        else {
            return false;
        };
        let is_up = direction(change);
        own != other
            && is_up.is_some_and(|is_up| {
                serving_all(&change.key, is_up, [own.clone(), other.clone()].into_iter()).as_ref()
                    == Some(other)
            })
    })
}

fn with_places(mut claim: Claim, mut places: Vec<Where>, is_alike: bool) -> Claim {
    if places.len() < 2 {
        return claim;
    }
    let times = places.len();
    places.sort_unstable();
    places.dedup();
    let in_all = claim.cost_ms.map_or_else(String::new, |ms| format!("; {} in all", words::duration(ms)));
    let is_stage = matches!(places[0], Where::Stage(_));
    claim.title = if places.len() == 1 {
        let how = if is_alike { "alike" } else { "times" };
        format!("{} ({times} {how} in the query{in_all})", claim.title)
    } else {
        let named: Vec<String> = places.iter().take(NAMED).map(|place| place.id().to_string()).collect();
        let more = match places.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let all = words::grouped(places.len() as i64);
        let what = if is_stage { "stages" } else { "queries" };
        let same = if is_alike { "alike" } else { "the same" };
        format!("{} ({same} in {all} {what}: {}{more}{in_all})", claim.title, named.join(", "))
    };
    let ids: Vec<u64> = places.iter().map(|place| place.id()).collect();
    claim.evidence("times", times).evidence(if is_stage { "stages" } else { "queries" }, ids)
}

/// What tells one thing from two sides is one finding: a job that failed and what failed in it; idle cores and
/// the memory that idled with them.
pub(crate) fn one_headline(context: &Context<'_>, kept: &mut [Priced]) {
    let failed: BTreeSet<u32> = context
        .run
        .jobs
        .iter()
        .filter(|job| job.status == JobStatus::Failed && !job.was_cancelled())
        .map(|job| job.id)
        .collect();
    let faults: Vec<(String, BTreeSet<u32>)> = kept
        .iter()
        .map(|priced| &priced.finding)
        .filter(|finding| matches!(finding.tag, "FAIL" | "SFAIL"))
        .filter_map(|finding| {
            let (id, attempt) = finding.scope.stage_id.zip(finding.scope.stage_attempt)?;
            let jobs = &context.run.stage(id, attempt)?.job_ids;
            Some((finding.id.clone(), jobs.iter().copied().filter(|job| failed.contains(job)).collect()))
        })
        .filter(|(_, jobs): &(String, BTreeSet<u32>)| !jobs.is_empty())
        .collect();
    let told: BTreeSet<u32> = faults.iter().flat_map(|(_, jobs)| jobs.iter().copied()).collect();
    let idle =
        kept.iter().find(|priced| priced.finding.tag == "UTIL").map(|priced| priced.finding.id.clone());
    for priced in kept.iter_mut().filter(|priced| priced.finding.part_of.is_none()) {
        let headline = match (priced.finding.tag, priced.finding.variant) {
            ("JOBS", _) if told.is_superset(&failed) => faults.first().map(|(id, _)| id.clone()),
            ("MEM", Some("idleCores" | "wasteModel")) => idle.clone(),
            _ => None,
        };
        priced.finding.related.extend(headline.clone());
        priced.finding.part_of = headline;
    }
}

/// Of a run that failed, or of which a job did, the failure comes first, as in the headline, and of failures the one
/// that ended it; what would make it faster comes after.
pub(crate) fn failure_first(context: &Context<'_>, kept: &mut [Priced]) {
    let failed = || context.run.jobs.iter().filter(|job| job.status == JobStatus::Failed);
    if context.run.application.status != ApplicationStatus::Failed && failed().all(Job::was_cancelled) {
        return;
    }
    let failed = failed();
    let last = failed.max_by_key(|job| (job.end_ms, job.id)).map(|job| job.id);
    kept.sort_by_key(|priced| {
        let finding = &priced.finding;
        let is_fatal =
            finding.severity == Severity::Critical && matches!(finding.tag, "FAIL" | "SFAIL" | "JOBS");
        let stage = finding.scope.stage_id.zip(finding.scope.stage_attempt);
        let jobs = stage.and_then(|(id, attempt)| context.run.stage(id, attempt)).map(|stage| &stage.job_ids);
        let is_last = jobs.is_some_and(|jobs| last.is_some_and(|last| jobs.contains(&last)));
        (finding.tag != "INCMP", !(is_fatal && is_last), !is_fatal)
    });
}

/// One value for each setting: findings that want to go the same way get the value that serves all of them;
/// where they want to go opposite ways, the most important one has its way and the others say what they would.
/// `kept` is in the order of importance.
pub(crate) fn settle_values(kept: &mut [Priced]) {
    let mut wanted: BTreeMap<String, Vec<(usize, Change)>> = BTreeMap::new();
    for (n, priced) in kept.iter().enumerate() {
        for change in &priced.finding.recommendation.changes {
            if change.kind == ChangeKind::Conf && change.proposed.is_some() {
                wanted.entry(change.key.clone()).or_default().push((n, change.clone()));
            }
        }
    }
    for (key, wants) in wanted {
        let proposed = |change: &Change| change.proposed.clone().unwrap_or_default();
        let first = proposed(&wants[0].1);
        if wants.iter().all(|(_, change)| is_same(&key, &proposed(change), &first)) {
            // Written alike, too: `2g` and `2048m` would look like two values.
            wants.iter().for_each(|(n, _)| set(&mut kept[*n], &key, &first));
            continue;
        }
        let way = direction(&wants[0].1);
        let (along, against): (Vec<_>, Vec<_>) = wants
            .iter()
            .partition(|(n, change)| *n == wants[0].0 || (way.is_some() && direction(change) == way));
        let values = along.iter().map(|(_, change)| proposed(change));
        let value = way.and_then(|is_up| serving_all(&key, is_up, values)).unwrap_or(first);
        let winner = kept[wants[0].0].finding.id.clone();
        for (n, change) in along {
            let own = proposed(change);
            if !is_same(&key, &own, &value) {
                say(
                    &mut kept[*n],
                    &format!(
                        "`{key}` can have only one value: {value} serves other findings too, where {own} would do for this one."
                    ),
                );
            }
            set(&mut kept[*n], &key, &value);
        }
        for (n, change) in against {
            let own = proposed(change);
            let finding = &mut kept[*n].finding;
            finding.recommendation.changes.retain(|change| change.key != key);
            let how = if key.starts_with("spark.sql.") {
                ": set it for this query alone"
            } else {
                ", which is worth more"
            };
            say(
                &mut kept[*n],
                &format!("For this finding `{key}` would be {own}, against what {winner} proposes{how}."),
            );
        }
    }
}

fn set(priced: &mut Priced, key: &str, value: &str) {
    let changes = priced.finding.recommendation.changes.iter_mut();
    for change in changes.filter(|change| change.kind == ChangeKind::Conf && change.key == key) {
        if change.proposed.is_some() {
            change.proposed = Some(value.to_owned());
        }
    }
}

fn say(priced: &mut Priced, sentence: &str) {
    let text = &mut priced.finding.recommendation.text;
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(sentence);
}

/// A value that can be compared: bytes, milliseconds or a number.
fn magnitude(key: &str, value: &str) -> Option<f64> {
    let known = crate::config::key(key);
    let (bytes, ms) = known.map_or((1, 1000), |key| (key.bare_bytes, key.bare_ms));
    let whole = |value: i64| value as f64;
    value
        .trim()
        .parse()
        .ok()
        .or_else(|| parse_bytes(value, bytes).map(whole))
        .or_else(|| parse_ms(value, ms).map(whole))
}

/// Whether a change makes a value larger; what is not set is made larger.
fn direction(change: &Change) -> Option<bool> {
    let to = magnitude(&change.key, change.proposed.as_deref()?)?;
    match &change.current {
        Some(current) => Some(to > magnitude(&change.key, current)?),
        None => Some(true),
    }
}

/// Of values that all go one way the one that serves every finding. Of sizes of partitions that is the
/// smallest, and of fewer partitions the most, since no task gets too large then; else the farthest.
fn serving_all(key: &str, is_up: bool, values: impl Iterator<Item = String>) -> Option<String> {
    let is_size =
        ["PartitionBytes", "PartitionSize", "PartitionSizeInBytes"].iter().any(|name| key.ends_with(name));
    let is_largest = !is_size && (is_up || key.ends_with(".partitions"));
    let mut values: Vec<(f64, String)> =
        values.map(|value| Some((magnitude(key, &value)?, value))).collect::<Option<_>>()?;
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    if is_largest { values.pop().map(|last| last.1) } else { values.into_iter().next().map(|first| first.1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_serves_all() {
        let of = |key: &str, is_up, values: &[&str]| {
            serving_all(key, is_up, values.iter().map(|value| (*value).to_owned()))
        };
        for (key, is_up, values, value) in [
            ("spark.sql.shuffle.partitions", false, ["84", "47"], "84"),
            ("spark.sql.shuffle.partitions", true, ["300", "900"], "900"),
            ("spark.executor.memory", true, ["2g", "1536m"], "2g"),
            ("spark.dynamicAllocation.executorIdleTimeout", true, ["11s", "3min"], "3min"),
            ("spark.sql.files.maxPartitionBytes", true, ["256m", "1g"], "256m"),
            ("spark.sql.autoBroadcastJoinThreshold", false, ["5MB", "10MB"], "5MB"),
        ] {
            assert_eq!(of(key, is_up, &values).as_deref(), Some(value), "{key}");
        }
        assert_eq!(of("spark.scheduler.mode", true, &["FAIR", "FIFO"]), None);
    }
}
