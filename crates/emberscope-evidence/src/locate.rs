//! Which execution a SQL text and a time mean.

use emberscope_analysis::context::Context;
use emberscope_analysis::locating::{LIKELY_SHARE, LISTED, MARGIN_SHARE, SHORTEST_TEXT, STRUCTURE_SHARE};
use emberscope_analysis::plan::{SqlView, aggregate, join};
use emberscope_model::run::Run;
use emberscope_model::sql::SqlExecution;
use emberscope_text::sql::{FragmentKind, Outline, normalised};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An execution that may be meant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// Execution.
    pub sql_id: u64,
    /// What Spark calls it.
    pub description: String,
    /// When it started, epoch milliseconds.
    pub start_time_ms: Option<i64>,
    /// How like the text it is: 0 to 1; 1 where no text was given.
    pub score: f64,
    /// From the time that was given to its start, milliseconds.
    pub distance_ms: Option<i64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Located {
    /// The execution, unless several are as likely.
    pub sql_id: Option<u64>,
    /// Why this one, or why none.
    pub reason: String,
    /// The most likely, best first.
    pub candidates: Vec<Candidate>,
}

/// Finds the execution of a run that `text` and `submitted_ms` mean. A command that has its query run within it counts
/// as one with it: it is the latter that is named.
pub fn locate(context: &Context<'_>, text: Option<(&str, &Outline)>, submitted_ms: Option<i64>) -> Located {
    let wanted = text.map(|(text, outline)| (normalised(text), outline));
    let roots = context.run.sql_executions.iter().filter(|one| one.is_root());
    let mut within: BTreeMap<u64, Vec<&SqlExecution>> = BTreeMap::new();
    for one in context.run.sql_executions.iter().filter(|one| !one.is_root()) {
        within.entry(one.root_id.unwrap_or(one.id)).or_default().push(one);
    }
    let mut candidates: Vec<Candidate> = roots
        .map(|root| {
            let (text, outline) = match &wanted {
                Some((text, outline)) => (Some(text), Some(*outline)),
                None => (None, None),
            };
            let like = |one: &SqlExecution| Some(score(context, one, text?, outline?));
            let within = within.get(&root.id).map_or(&[][..], Vec::as_slice);
            let family = std::iter::once(root).chain(within.iter().copied());
            Candidate {
                sql_id: busiest(root, within),
                description: root.description.clone().unwrap_or_default(),
                start_time_ms: root.start_ms,
                score: family.filter_map(like).reduce(f64::max).unwrap_or(1.0),
                distance_ms: submitted_ms.zip(root.start_ms).map(|(at, start)| (start - at).abs()),
            }
        })
        .collect();
    let bounds = Bounds { likely: context.get(&LIKELY_SHARE), margin: context.get(&MARGIN_SHARE) };
    let equals = rank(&mut candidates, bounds.margin);
    let (sql_id, reason) = choice(&candidates[..equals], wanted.is_some(), submitted_ms.is_some(), bounds);
    if sql_id.is_none() {
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    candidates.truncate(context.get(&LISTED) as usize);
    Located { sql_id, reason, candidates }
}

/// The execution that did the work of `id`: itself, or if it has no job of its own the one within it that has most.
/// Spark 3.4 and later run the query of a command, such as `INSERT OVERWRITE DIRECTORY`, as one of its own.
pub fn working(run: &Run, id: u64) -> u64 {
    let within: Vec<&SqlExecution> =
        run.sql_executions.iter().filter(|one| one.root_id == Some(id) && one.id != id).collect();
    run.sql_execution(id).map_or(id, |root| busiest(root, &within))
}

fn busiest(root: &SqlExecution, within: &[&SqlExecution]) -> u64 {
    if !root.job_ids.is_empty() {
        return root.id;
    }
    let busy = within.iter().filter(|one| !one.job_ids.is_empty());
    busy.max_by_key(|one| (one.job_ids.len(), std::cmp::Reverse(one.id))).map_or(root.id, |one| one.id)
}

/// From where on a score says something.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    likely: f64,
    margin: f64,
}

/// Best text first; of those as likely as the best, whose number is given, the nearest in time, then the newest.
fn rank(candidates: &mut [Candidate], margin: f64) -> usize {
    // Two steps: "about as likely" is no order, since two that differ may each be like a third.
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.sql_id.cmp(&b.sql_id)));
    let best = candidates.first().map_or(0.0, |best| best.score);
    let equals = candidates.partition_point(|one| best - one.score < margin);
    let near = |one: &Candidate| one.distance_ms.unwrap_or(i64::MAX);
    candidates[..equals]
        .sort_by_key(|one| (near(one), std::cmp::Reverse(one.start_time_ms), std::cmp::Reverse(one.sql_id)));
    equals
}

/// Of those that are equally likely, in the order of [`rank`].
fn choice(equals: &[Candidate], has_text: bool, has_time: bool, bounds: Bounds) -> (Option<u64>, String) {
    let Some(best) = equals.first() else {
        return (None, "the run has no SQL execution".to_owned());
    };
    if has_text && best.score < bounds.likely {
        let reason =
            format!("no execution is like the text: the nearest has a score of {:.2} of 1", best.score);
        return (None, reason);
    }
    let [_, second, ..] = equals else {
        return (Some(best.sql_id), format!("it alone is like the text, with a score of {:.2}", best.score));
    };
    let is_nearer = best.distance_ms < second.distance_ms;
    if has_time && is_nearer {
        let near = emberscope_analysis::words::duration(best.distance_ms.unwrap_or(0));
        return (
            Some(best.sql_id),
            format!("of {} like it, the one that started {near} from the given time", equals.len()),
        );
    }
    if has_text && best.score > 1.0 - bounds.margin && best.start_time_ms > second.start_time_ms {
        return (Some(best.sql_id), format!("the newest of {} with this very text", equals.len()));
    }
    (None, format!("{} executions are equally likely", equals.len()))
}

/// How like a text an execution is.
fn score(context: &Context<'_>, execution: &SqlExecution, text: &str, outline: &Outline) -> f64 {
    let description = normalised(execution.description.as_deref().unwrap_or_default());
    if description.chars().count() as f64 >= context.get(&SHORTEST_TEXT) {
        let cut = description.trim_end_matches(['.', ' ', '…']);
        if description == text || text.starts_with(cut) || description.contains(text) {
            return 1.0;
        }
    }
    let by_plan = context.sql_view(execution.id).map_or(0.0, |view| plan_score(&view, outline));
    // A likeness of structure is never as sure as the text itself.
    by_plan.max(word_score(&description, text)) * context.get(&STRUCTURE_SHARE)
}

/// Words that both texts have, of all that any has.
fn word_score(description: &str, text: &str) -> f64 {
    const STATEMENTS: [&str; 6] = ["select", "with", "insert", "create", "merge", "from"];
    if !STATEMENTS.iter().any(|word| description.starts_with(word)) {
        return 0.0;
    }
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
    let (a, b) = (words(description), words(text));
    a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64
}

/// How much of what a text asks for a plan does.
fn plan_score(view: &SqlView<'_>, outline: &Outline) -> f64 {
    let details: String = view.nodes.iter().map(|node| node.detail.to_lowercase() + "\n").collect();
    let of = |kind: FragmentKind| outline.fragments.iter().filter(move |fragment| fragment.kind == kind);
    let has_node = |word: &str| view.nodes.iter().any(|node| node.name.contains(word));
    let mut marks: Vec<bool> = Vec::new();
    let columns: BTreeSet<&String> =
        outline.fragments.iter().flat_map(|fragment| &fragment.columns).collect();
    marks.extend(columns.iter().map(|column| has_word(&details, column)));
    for table in of(FragmentKind::Table).flat_map(|fragment| &fragment.tables) {
        // Views and common table expressions are gone from a plan, so that a missing name says nothing.
        if has_word(&details, table.rsplit('.').next().unwrap_or(table)) {
            marks.push(true);
        }
    }
    let joins = of(FragmentKind::Join).count();
    marks.push((joins > 0) != join::joins(view).is_empty());
    let is_grouped = of(FragmentKind::GroupBy).count() > 0;
    let groups = aggregate::aggregates(view).iter().any(|one| !one.keys.is_empty());
    let is_distinct = of(FragmentKind::Distinct).count() + of(FragmentKind::DistinctAggregate).count() > 0;
    marks.push(is_grouped == groups || is_distinct);
    marks.push((of(FragmentKind::Window).count() > 0) == has_node("Window"));
    if of(FragmentKind::OrderBy).count() > 0 {
        marks.push(has_node("Sort") || has_node("TakeOrdered"));
    }
    marks.iter().filter(|mark| **mark).count() as f64 / marks.len().max(1) as f64
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_in_small_steps_have_an_order() {
        let of = |n: u64| Candidate {
            sql_id: n,
            description: String::new(),
            start_time_ms: Some(n as i64),
            score: 0.5 + (n * 37 % 100) as f64 * 0.004,
            distance_ms: Some((n * 61 % 100) as i64),
        };
        let mut candidates: Vec<Candidate> = (0..100).map(of).collect();
        let margin = MARGIN_SHARE.default;
        let equals = rank(&mut candidates, margin);
        let best = 0.5 + 99.0 * 0.004;
        assert!(candidates[..equals].iter().all(|one| best - one.score < margin));
        assert!(candidates[equals..].iter().all(|one| best - one.score >= margin));
        assert!(candidates[..equals].is_sorted_by_key(|one| one.distance_ms));
        assert!(candidates[equals..].is_sorted_by(|a, b| a.score >= b.score));
    }
}
