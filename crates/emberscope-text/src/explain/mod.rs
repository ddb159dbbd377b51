//! What `EXPLAIN` prints, as the plan an event log would hold.
//!
//! Read are the forms `FORMATTED` (a tree of numbered operators, then their details), plain and `EXTENDED` (a tree
//! with everything on the line), in tables of `spark-sql`, beeline and `show()`, and inside of logs. An event log's
//! tree has two kinds of nodes that the text only hints at: `WholeStageCodegen (n)` around operators with a star, and
//! `InputAdapter` below them where compiled code ends. Both are put in here, so that the trees agree.

mod details;
mod lines;
mod tree;

use details::Detail;
use emberscope_log::event::plan::{PlanNode, PlanTree, Span};
use std::collections::BTreeMap;

/// A plan read from text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// Operators in pre-order; the root is first.
    pub operators: Vec<Operator>,
    /// Whether details came in blocks of their own (`FORMATTED`).
    pub is_formatted: bool,
    /// Whether adaptive execution had finished with it; `None` where it does not plan the query.
    pub is_final: Option<bool>,
    /// What could not be understood.
    pub notes: Vec<String>,
}

/// One operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operator {
    /// Name, as an event log has it (`nodeName`).
    pub name: String,
    /// Name and arguments on one line, near to what an event log has (`simpleString`).
    pub simple_string: String,
    /// Position of the parent; `None` for the root.
    pub parent: Option<usize>,
    /// Number in a formatted plan.
    pub id: Option<u32>,
    /// Labelled lines of a formatted plan, such as `Left keys` and its list.
    pub fields: Vec<(String, String)>,
}

/// The title of a plan in a cell of `show()`.
const ESCAPED_TITLE: &str = "== Physical Plan ==\\n";

/// Reads the physical plan in `text`: of several the last, which in a log is the final one. `None` where there is
/// none.
pub fn parse(text: &str) -> Option<Explained> {
    // `show()` writes the ends of lines inside a cell as two characters.
    let unescaped = text.contains(ESCAPED_TITLE).then(|| text.replace("\\n", "\n"));
    let text = unescaped.as_deref().unwrap_or(text);
    let lines = lines::of(text);
    let start = lines.iter().rposition(|line| line.trim() == "== Physical Plan ==").map_or(0, |at| at + 1);
    let details = details::of(&lines[start..]);
    let tree_lines = lines[start..]
        .iter()
        .copied()
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| !line.trim().is_empty() && !details::is_head(line));
    let mut explained = Explained { is_formatted: !details.is_empty(), ..Explained::default() };
    let mut plan = tree::read(tree_lines, &details, &mut explained.notes);
    if plan.is_empty() || (start == 0 && !plan[0].is_plausible()) {
        return None;
    }
    for subquery in details::subqueries(&lines[start..]) {
        let inner = tree::read(subquery.lines.iter().copied(), &details, &mut explained.notes);
        tree::graft(&mut plan, subquery.host, subquery.expression, inner);
    }
    explained.is_final = adaptive_state(&plan, text);
    explained.operators = tree::with_codegen(plan);
    Some(explained)
}

/// Whether an adaptive plan is the final one.
fn adaptive_state(plan: &[tree::Raw], text: &str) -> Option<bool> {
    let root = plan.iter().find(|node| node.name.starts_with("AdaptiveSparkPlan"))?;
    Some(root.simple_string.contains("isFinalPlan=true") || text.contains("== Final Plan =="))
}

impl Explained {
    /// The plan as event logs hold it; no operator has metrics.
    pub fn tree(&self) -> PlanTree {
        let mut tree = PlanTree::default();
        let mut add = |text: &str| {
            let start = u32::try_from(tree.text.len()).unwrap_or(u32::MAX);
            tree.text.push_str(text);
            Span { start, len: u32::try_from(text.len()).unwrap_or(0) }
        };
        let nodes: Vec<PlanNode> = self
            .operators
            .iter()
            .map(|operator| PlanNode {
                name: add(&operator.name),
                simple_string: add(&operator.simple_string),
                metadata: Span::default(),
                parent: operator.parent.and_then(|parent| u32::try_from(parent).ok()),
            })
            .collect();
        tree.nodes = nodes;
        tree
    }

    /// The plan as `sparkPlanInfo` of an event.
    pub fn plan_info(&self) -> serde_json::Value {
        let mut children: BTreeMap<usize, Vec<serde_json::Value>> = BTreeMap::new();
        // Children come after their parents, so that from the end each is whole when it is given to its parent.
        for (at, operator) in self.operators.iter().enumerate().rev() {
            let mut own = children.remove(&at).unwrap_or_default();
            own.reverse();
            let node = serde_json::json!({
                "nodeName": operator.name,
                "simpleString": operator.simple_string,
                "children": own,
                "metadata": {},
                "metrics": [],
            });
            match operator.parent {
                Some(parent) => children.entry(parent).or_default().push(node),
                None => return node,
            }
        }
        serde_json::Value::Null
    }
}

/// Details by operator number.
type Details = BTreeMap<u32, Detail>;
