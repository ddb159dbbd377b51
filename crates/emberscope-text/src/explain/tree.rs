//! Trees drawn with `:-` and `+-`.

use super::details::Detail;
use super::{Details, Operator, lines};

/// An operator before compiled code is told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) simple_string: String,
    pub(super) parent: Option<usize>,
    pub(super) id: Option<u32>,
    pub(super) fields: Vec<(String, String)>,
    /// Stage of compiled code, where a star says that it is in one: its number, or [`NO_NUMBER`].
    pub(super) codegen: Option<u32>,
}

impl Raw {
    /// Whether this can be an operator: a text without `== Physical Plan ==` may be anything.
    pub(super) fn is_plausible(&self) -> bool {
        let is_name = self.name.starts_with(|first: char| first.is_ascii_uppercase())
            && self.name.contains(|letter: char| letter.is_ascii_lowercase());
        is_name && (self.id.is_some() || self.simple_string.contains(['[', '(']))
    }
}

/// For operators of compiled code whose stage the text does not tell.
const NO_NUMBER: u32 = 0;

/// Deepest nesting that is followed.
const DEEPEST: usize = 10_000;

/// Reads a tree; nodes come in pre-order.
pub(super) fn read<'t>(
    text: impl Iterator<Item = &'t str>,
    details: &Details,
    notes: &mut Vec<String>,
) -> Vec<Raw> {
    let mut nodes: Vec<Raw> = Vec::new();
    // From the root to the last node, with the depth at which each is drawn.
    let mut open: Vec<(usize, usize)> = Vec::new();
    // From what depth on lines are passed over.
    let mut skipped: Option<usize> = None;
    for line in text {
        let (depth, content) = lines::depth(line);
        if skipped.is_some_and(|from| depth >= from) && !is_title(content) {
            continue;
        }
        if is_title(content) {
            // Lines of a nested adaptive plan are drawn as deep as itself.
            if let Some((drawn, _)) = open.last_mut() {
                *drawn = (*drawn).min(depth.saturating_sub(1));
            }
            open.retain(|(drawn, _)| *drawn < depth.max(1));
            skipped = content.contains("Initial Plan").then_some(depth);
            continue;
        }
        skipped = None;
        if depth == 0 && !nodes.is_empty() {
            // What follows a tree in a log.
            break;
        }
        while open.last().is_some_and(|(drawn, _)| *drawn >= depth) {
            open.pop();
        }
        // What a command or its result was made from is drawn one level deeper than a child: nothing that runs with
        // this plan. Cached data is drawn the same way, and is in logs.
        if let Some((drawn, parent)) = open.last()
            && depth > drawn + 1
            && !is_cached(&nodes[*parent].name)
            && !is_subquery(content)
        {
            skipped = Some(depth);
            continue;
        }
        if open.len() > DEEPEST {
            notes.push(format!("a plan deeper than {DEEPEST} levels ends there: {}", shortened(content)));
            break;
        }
        let mut node = operator(content, details);
        node.parent = open.last().map(|(_, parent)| *parent);
        open.push((depth, nodes.len()));
        nodes.push(node);
    }
    subqueries_last(nodes)
}

/// Plain plans draw the plans of subqueries before the operator's input, logs have them after it.
fn subqueries_last(nodes: Vec<Raw>) -> Vec<Raw> {
    if !nodes.iter().any(|node| is_subquery(&node.name)) {
        return nodes;
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children[parent].push(at);
        }
    }
    for of_one in &mut children {
        of_one.sort_by_key(|child| is_subquery(&nodes[*child].name));
    }
    let mut nodes: Vec<Option<Raw>> = nodes.into_iter().map(Some).collect();
    let mut ordered: Vec<Raw> = Vec::with_capacity(nodes.len());
    let mut waiting: Vec<(usize, Option<usize>)> = vec![(0, None)];
    while let Some((at, parent)) = waiting.pop() {
        let Some(node) = nodes[at].take() else { continue };
        waiting.extend(children[at].iter().rev().map(|child| (*child, Some(ordered.len()))));
        ordered.push(Raw { parent, ..node });
    }
    ordered
}

fn is_subquery(name: &str) -> bool {
    name.starts_with("Subquery") || name.starts_with("ReusedSubquery")
}

/// `== Final Plan ==` and its like, below an adaptive plan.
fn is_title(content: &str) -> bool {
    let title = content.trim();
    title.starts_with("== ") && title.ends_with(" ==")
}

fn is_cached(name: &str) -> bool {
    name.starts_with("InMemory") || name.starts_with("Scan In-memory")
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn operator(content: &str, details: &Details) -> Raw {
    let (codegen, content) = star(content);
    // `ReusedExchange [Reuses operator id: 10] (12)`.
    let unlabelled = content.split_once(" [Reuses operator id: ").map(|(name, rest)| {
        let number = rest.split_once("] ").map_or("", |(_, number)| number);
        format!("{name} {number}")
    });
    let content = unlabelled.as_deref().unwrap_or(content);
    let content = content.split(" (columnarIn=").next().unwrap_or(content);
    if let Some((shown, id)) = numbered(content) {
        let detail = details.get(&id);
        let name = match detail {
            Some(detail) => detail.name.split(" [Reuses operator id").next().unwrap_or_default().to_owned(),
            None => plain_name(shown),
        };
        let simple_string = detail.map_or_else(|| shown.to_owned(), |detail| detail.simple_string(shown));
        let codegen = codegen.map(|number| detail.and_then(|detail| detail.codegen).unwrap_or(number));
        let fields = detail.map(|detail: &Detail| detail.fields.clone()).unwrap_or_default();
        return Raw { name, simple_string, parent: None, id: Some(id), fields, codegen };
    }
    Raw { name: plain_name(content), simple_string: content.to_owned(), codegen, ..Raw::default() }
}

/// `* Sort (8)` and `*(3) Sort [..]`.
fn star(content: &str) -> (Option<u32>, &str) {
    if let Some(rest) = content.strip_prefix("*(")
        && let Some((id, rest)) = rest.split_once(") ")
        && let Ok(id) = id.parse()
    {
        return (Some(id), rest);
    }
    match content.strip_prefix("* ") {
        Some(rest) => (Some(NO_NUMBER), rest),
        None => (None, content),
    }
}

/// `HashAggregate (20)`, `ShuffleQueryStage (19), Statistics(..)`.
fn numbered(content: &str) -> Option<(&str, u32)> {
    let head = content.find("), Statistics(").map_or(content, |at| &content[..=at]);
    let (shown, id) = head.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    Some((shown, id.parse().ok()?))
}

/// The name at the start of a line with arguments.
fn plain_name(content: &str) -> String {
    let word = |text: &str| text.split([' ', '(', '[']).next().unwrap_or_default().to_owned();
    if let Some(rest) = content.strip_prefix("FileScan ") {
        return format!("Scan {} ", word(rest));
    }
    for prefix in ["Scan ", "Execute ", "BatchScan "] {
        if let Some(rest) = content.strip_prefix(prefix) {
            return format!("{prefix}{}", word(rest)).trim_end().to_owned();
        }
    }
    let name = word(content);
    let is_split_join = content[name.len()..].starts_with("(skew=true)");
    if is_split_join { name + "(skew=true)" } else { name }
}

/// Puts the tree of a subquery below the operator that uses it.
pub(super) fn graft(plan: &mut Vec<Raw>, host: u32, expression: &str, inner: Vec<Raw>) {
    let Some(at) = plan.iter().position(|node| node.id == Some(host)) else { return };
    if inner.is_empty() {
        return;
    }
    let is_open =
        inner[0].name == "AdaptiveSparkPlan" && inner[0].simple_string.contains("isFinalPlan=false");
    let name = match expression.contains("dynamicpruning") {
        // What adaptive execution has not planned yet.
        true if is_open => "SubqueryAdaptiveBroadcast",
        true => "SubqueryBroadcast",
        false => "Subquery",
    };
    // After the host's own last descendant, so that the order stays that of the tree.
    let end = end_of(plan, at);
    let shift = inner.len() + 1;
    for node in &mut plan[end..] {
        node.parent = node.parent.map(|parent| if parent >= end { parent + shift } else { parent });
    }
    let root = Raw {
        name: name.to_owned(),
        simple_string: expression.to_owned(),
        parent: Some(at),
        ..Raw::default()
    };
    let moved = inner.into_iter().map(|mut node| {
        node.parent = Some(node.parent.map_or(end, |parent| parent + end + 1));
        node
    });
    let tail = plan.split_off(end);
    plan.push(root);
    plan.extend(moved);
    plan.extend(tail);
}

/// The position behind the last descendant of a node.
fn end_of(plan: &[Raw], at: usize) -> usize {
    let is_below = |node: &Raw| node.parent.is_some_and(|parent| parent >= at);
    (at + 1..plan.len()).find(|n| !is_below(&plan[*n])).unwrap_or(plan.len())
}

/// Adds the nodes that event logs have around compiled code, and leaves out the ones they lack.
pub(super) fn with_codegen(plan: Vec<Raw>) -> Vec<Operator> {
    let mut operators: Vec<Operator> = Vec::with_capacity(plan.len() * 2);
    // Where each node of the plan ended up.
    let mut places: Vec<usize> = Vec::with_capacity(plan.len());
    let mut codegens: Vec<Option<u32>> = Vec::with_capacity(plan.len());
    for mut node in plan {
        let mut parent = node.parent.map(|parent| places[parent]);
        let above = node.parent.and_then(|parent| codegens[parent]);
        if node.codegen == Some(NO_NUMBER) && above.is_some() {
            // Spark gives some operators of compiled code no number: they are in that of their parent.
            node.codegen = above;
        }
        codegens.push(node.codegen);
        if node.name == "InMemoryRelation" {
            // The log puts the cached plan right below the scan of it.
            places.push(parent.unwrap_or(0));
            if parent.is_some() {
                continue;
            }
        }
        // The plan of a subquery is no input of the code that uses its result.
        let is_input = !is_subquery(&node.name);
        if above.is_some() && above != node.codegen && is_input {
            let adapter = Operator {
                name: "InputAdapter".to_owned(),
                simple_string: "InputAdapter".to_owned(),
                parent,
                ..Operator::default()
            };
            parent = Some(operators.len());
            operators.push(adapter);
        }
        if let Some(id) = node.codegen.filter(|_| above != node.codegen) {
            let name = format!("WholeStageCodegen ({id})");
            let around = Operator { simple_string: name.clone(), name, parent, ..Operator::default() };
            parent = Some(operators.len());
            operators.push(around);
        }
        if node.name != "InMemoryRelation" {
            places.push(operators.len());
        }
        operators.push(Operator {
            name: node.name,
            simple_string: node.simple_string,
            parent,
            id: node.id,
            fields: node.fields,
        });
    }
    operators
}
