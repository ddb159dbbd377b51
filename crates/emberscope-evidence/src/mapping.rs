//! Which clause became which operator, and where that ran.

use emberscope_analysis::finding::Confidence;
use emberscope_analysis::plan::names::python_kind;
use emberscope_analysis::plan::{Node, OperatorClass, SqlView, aggregate, exchange, join, scan};
use emberscope_model::sql::MappingMethod;
use emberscope_text::sql::{Fragment, FragmentKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// One operator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mapped {
    /// Place in the final plan, in pre-order from 0.
    pub node_id: u32,
    /// Name.
    pub operator: String,
    /// Columns that decide where its rows go or how they are put together.
    pub keys: Vec<String>,
    /// The clause it comes from.
    pub fragment: Option<Fragment>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
    /// Why.
    pub reason: String,
    /// Stage attempts it ran in, as `3.0`.
    pub stages: Vec<String>,
    /// How sure the stages are: high where its tasks updated its metrics, medium where only its neighbours' did.
    pub stages_confidence: Option<Confidence>,
    /// Tasks in those.
    pub tasks: Option<u64>,
    /// Rows it gave; `None` = not measured.
    pub rows: Option<i64>,
}

/// All operators that a clause can stand for. Of plans without a run stages, tasks and rows are empty.
pub fn mapping(
    view: &SqlView<'_>,
    fragments: Option<&[Fragment]>,
    tasks_of: &dyn Fn((u32, u32)) -> Option<u64>,
) -> Vec<Mapped> {
    let fragments = fragments.unwrap_or_default();
    let mut mapped = Vec::new();
    for (id, node) in view.nodes.iter().enumerate() {
        let id = id as u32;
        let Some((kinds, keys)) = asked_by(view, id, node) else { continue };
        let (fragment, confidence, reason) =
            best(fragments, &kinds, &keys, &functions_of(node), !is_of_optimizer(node));
        let stages: Vec<String> =
            node.stages.stages.iter().map(|(stage, attempt)| format!("{stage}.{attempt}")).collect();
        let tasks: Option<u64> = node.stages.stages.iter().map(|place| tasks_of(*place)).sum();
        let rows = view.total(id, "number of output rows");
        mapped.push(Mapped {
            node_id: id,
            operator: node.name.clone(),
            keys,
            fragment: fragment.cloned(),
            confidence,
            reason,
            tasks: tasks.filter(|_| !stages.is_empty()),
            stages_confidence: node.stages.method.filter(|_| !stages.is_empty()).map(sureness),
            stages,
            rows,
        });
    }
    mapped
}

fn sureness(method: MappingMethod) -> Confidence {
    match method {
        MappingMethod::Accumulators => Confidence::High,
        MappingMethod::Neighbours => Confidence::Medium,
    }
}

/// Kinds of clauses that an operator can stand for, likeliest first, and its columns.
fn asked_by(view: &SqlView<'_>, id: u32, node: &Node) -> Option<(Vec<FragmentKind>, Vec<String>)> {
    use FragmentKind as K;
    Some(match node.class {
        OperatorClass::Join => {
            let join = join::join(view, id)?;
            (vec![K::Join, K::Filter], columns(join.left_keys.iter().chain(&join.right_keys)))
        }
        OperatorClass::Aggregation => {
            let aggregate = aggregate::aggregate(view, id)?;
            let keys = columns(aggregate.keys.iter());
            match (keys.is_empty(), aggregate.is_distinct) {
                (true, _) => (vec![K::DistinctAggregate, K::Aggregate], columns(aggregate.functions.iter())),
                (false, true) => (vec![K::DistinctAggregate, K::GroupBy, K::Distinct], keys),
                (false, false) => (vec![K::GroupBy, K::Distinct, K::DistinctAggregate], keys),
            }
        }
        OperatorClass::Shuffle => {
            let exchange = exchange::exchange(view, id)?;
            let keys = columns(emberscope_analysis::stage_plan::shuffle_keys(&node.detail).iter());
            match (exchange.is_user, node.detail.contains("rangepartitioning")) {
                (true, _) => (vec![K::DistributeBy], keys),
                (_, true) => (vec![K::OrderBy], keys),
                // To one partition: for an aggregate without keys, a limit or a sort, which stand for themselves.
                _ if keys.is_empty() => return None,
                _ => (
                    vec![K::Join, K::GroupBy, K::Window, K::DistinctAggregate, K::Distinct, K::DistributeBy],
                    keys,
                ),
            }
        }
        // Its text names columns by their places; it is there for the join above.
        OperatorClass::Broadcast => {
            let mut above = std::iter::successors(node.parent, |at| view.nodes.get(*at as usize)?.parent);
            let join = above.find_map(|at| join::join(view, at))?;
            (vec![K::Join, K::Filter], columns(join.left_keys.iter().chain(&join.right_keys)))
        }
        OperatorClass::Sort => {
            let kinds = match node.detail.contains("], true") || node.name.starts_with("TakeOrdered") {
                true => vec![K::OrderBy],
                // Within partitions: for a merge join, a window, an aggregation of sorted rows, or SORT BY.
                false => vec![K::Join, K::Window, K::GroupBy, K::DistributeBy],
            };
            (kinds, words_of(&node.detail))
        }
        OperatorClass::Window => (vec![K::Window], words_of(&node.detail)),
        OperatorClass::Scan => {
            let scan = scan::scan(view, id)?;
            let name = scan.relation.clone().or_else(|| scan.location.clone()).unwrap_or_default();
            (vec![K::Table], vec![last_part(&name)])
        }
        OperatorClass::Expand => {
            (vec![K::DistinctAggregate, K::GroupBy, K::LateralView], words_of(&node.detail))
        }
        OperatorClass::Write => (vec![K::Write], Vec::new()),
        // Before a join the optimizer leaves out keys without a value.
        _ if is_of_optimizer(node) => (vec![K::Join], words_of(&node.detail)),
        _ if node.name == "Filter" => (vec![K::Filter], words_of(&node.detail)),
        _ if node.name.starts_with("TakeOrdered") => {
            // What it hands on stands behind what it sorts by.
            let order = node.detail.split_once("orderBy=[").map_or(node.detail.as_str(), |(_, order)| order);
            (vec![K::OrderBy, K::Limit], words_of(order.split_once(']').map_or(order, |(order, _)| order)))
        }
        _ if python_kind(&node.name).is_some() => (vec![K::Call], called(&node.detail)),
        _ if node.name.contains("Limit") => (vec![K::Limit], Vec::new()),
        _ if node.name == "Union" => (vec![K::SetOperation], Vec::new()),
        _ if node.name == "Generate" => (vec![K::LateralView], words_of(&node.detail)),
        _ => return None,
    })
}

/// Names of the functions that an expression calls, in lower case, each once.
pub(crate) fn called(expression: &str) -> Vec<String> {
    let calls = words(expression).filter(|(at, word)| expression[at + word.len()..].starts_with('('));
    let names: BTreeSet<String> = calls.map(|(_, word)| word.to_lowercase()).collect();
    names.into_iter().collect()
}

/// Whether a filter asks for nothing but values: `isnotnull(a#1) AND isnotnull(b#2)`, which no query says.
fn is_of_optimizer(node: &Node) -> bool {
    let mut asked =
        words(&node.detail).map(|(_, word)| word).filter(|word| !matches!(*word, "Filter" | "AND"));
    // Each is followed by its column and the number of that.
    let is_pair = |word: &str| word == "isnotnull";
    let mut is_any = false;
    node.name == "Filter"
        && loop {
            match asked.next() {
                None => break is_any,
                Some(word) if is_pair(word) => {
                    is_any = true;
                    asked.next();
                    asked.next();
                }
                Some(_) => break false,
            }
        }
}

/// Functions of an aggregate, such as `avg(`, in lower case.
fn functions_of(node: &Node) -> Vec<String> {
    if node.class != OperatorClass::Aggregation {
        return Vec::new();
    }
    let called = words(&node.detail).filter(|(at, word)| node.detail[at + word.len()..].starts_with('('));
    let name =
        |word: &str| word.trim_start_matches("partial_").trim_start_matches("merge_").to_lowercase() + "(";
    called.map(|(_, word)| name(word)).collect()
}

/// The clause that has most of an operator's columns, and of several that have as many the one that calls its
/// functions.
fn best<'f>(
    fragments: &'f [Fragment],
    kinds: &[FragmentKind],
    keys: &[String],
    functions: &[String],
    may_guess: bool,
) -> (Option<&'f Fragment>, Option<Confidence>, String) {
    if fragments.is_empty() {
        return (None, None, "there is no SQL text".to_owned());
    }
    let common = |fragment: &Fragment| {
        let names: Vec<&String> = fragment.columns.iter().chain(&fragment.tables).collect();
        let is_named = |key: &&String| names.iter().any(|name| last_part(name) == **key);
        keys.iter().filter(is_named).count()
    };
    let of_kind =
        |kind: &FragmentKind| fragments.iter().filter(|fragment| fragment.kind == *kind).collect::<Vec<_>>();
    let calls = |fragment: &Fragment| {
        let text = fragment.text.to_lowercase();
        functions.iter().filter(|function| text.contains(function.as_str())).count()
    };
    let likeness = |fragment: &Fragment| (common(fragment), calls(fragment));
    let mut found: Option<(&Fragment, (usize, usize))> = None;
    for fragment in kinds.iter().flat_map(of_kind) {
        let like = likeness(fragment);
        // Kinds come likeliest first: a later one must have more.
        if like.0 > 0 && like > found.map_or((0, 0), |(_, most)| most) {
            found = Some((fragment, like));
        }
    }
    if let Some((fragment, like)) = found {
        let shared = like.0;
        let rivals =
            fragments.iter().filter(|other| other.kind == fragment.kind && likeness(other) == like).count();
        let (all, its) = match keys.len() {
            1 => ("its column stands", "its column stands"),
            _ => ("all of its columns stand", "its columns stand"),
        };
        return match (shared == keys.len(), rivals) {
            (true, 1) => {
                (Some(fragment), Some(Confidence::High), format!("{all} there and in no other such clause"))
            }
            (true, _) => (
                Some(fragment),
                Some(Confidence::Medium),
                format!("{its} there, and in {rivals} such clauses"),
            ),
            (false, _) => (
                Some(fragment),
                Some(Confidence::Medium),
                format!("{shared} of {} columns stand there", keys.len()),
            ),
        };
    }
    for kind in kinds.iter().filter(|_| may_guess) {
        if let [only] = of_kind(kind)[..] {
            return (
                Some(only),
                Some(Confidence::Low),
                "the only clause of its kind, with other names".to_owned(),
            );
        }
    }
    (None, None, "no clause has its columns: a view, an alias, or the optimizer's own".to_owned())
}

/// Names of columns in expressions, in lower case, each once.
fn columns<'k>(expressions: impl Iterator<Item = &'k String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in expressions.flat_map(|expression| words_of(expression)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Words beside a column in an order.
const ORDER_WORDS: [&str; 5] = ["asc", "desc", "nulls", "first", "last"];

/// Words of an expression that can be columns: those with an id, or all of one that has none.
fn words_of(expression: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names: Vec<String> = Vec::new();
    let has_ids = expression.contains('#');
    for (at, word) in words(expression) {
        let end = at + word.len();
        let is_column =
            if has_ids { expression[end..].starts_with('#') } else { !expression[end..].starts_with('(') };
        let name = word.to_lowercase();
        let is_column = is_column && (has_ids || !ORDER_WORDS.contains(&name.as_str()));
        if is_column
            && word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(is_word)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(is_word)?;
        let end = text[start..].find(|c| !is_word(c)).map_or(text.len(), |length| start + length);
        rest = end;
        Some((start, &text[start..end]))
    })
}

fn last_part(name: &str) -> String {
    name.trim_end_matches('/').rsplit(['.', '/']).next().unwrap_or(name).to_lowercase()
}
