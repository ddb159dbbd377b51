//! The query that would show which key is hot. It is printed and never run.

use crate::mapping::Mapped;
use emberscope_analysis::finding::Finding;
use emberscope_text::sql::{Fragment, FragmentKind};
use schemars::JsonSchema;
use serde::Serialize;

/// How to see the hot value of a skewed operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HotKey {
    /// The finding.
    pub finding_id: String,
    /// Key columns.
    pub keys: Vec<String>,
    /// Statement to run by hand.
    pub query: String,
    /// What to mind before it is run.
    pub note: String,
}

/// Rows that the statement asks for.
const ROWS: u32 = 20;

/// Of each finding about skewed keys the statement. Findings have to be about the plan that was mapped.
pub fn hot_keys<'f>(
    findings: impl Iterator<Item = &'f Finding>,
    mapped: &[Mapped],
    fragments: Option<&[Fragment]>,
) -> Vec<HotKey> {
    findings
        .filter(|finding| finding.kind == "skew")
        .filter_map(|finding| of(finding, mapped, fragments.unwrap_or_default()))
        .collect()
}

fn of(finding: &Finding, mapped: &[Mapped], fragments: &[Fragment]) -> Option<HotKey> {
    let keys = finding.evidence.get("keys")?.as_array()?;
    let keys: Vec<String> = keys.iter().filter_map(|key| Some(key.as_str()?.to_owned())).collect();
    if keys.is_empty() {
        return None;
    }
    let node = mapped.iter().find(|mapped| Some(mapped.node_id) == finding.scope.node_id);
    let joined =
        node.and_then(|node| node.fragment.as_ref()).filter(|fragment| fragment.kind == FragmentKind::Join);
    let tables: Vec<&String> = fragments
        .iter()
        .filter(|fragment| fragment.kind == FragmentKind::Table)
        .flat_map(|fragment| &fragment.tables)
        .collect();
    let (table, note) = match (tables.first(), joined.and_then(|join| join.tables.first())) {
        (Some(first), Some(other)) if *first != other => (
            (*first).clone(),
            format!("The key joins several inputs: if {first} shows no hot value, ask {other} the same."),
        ),
        (Some(first), _) => {
            ((*first).clone(), "Apply the filters of the query that act before this operator.".to_owned())
        }
        (None, _) => (
            "INPUT_OF_THE_OPERATOR".to_owned(),
            "No SQL text was given: put the table or subquery there that the operator reads.".to_owned(),
        ),
    };
    let list = keys.join(", ");
    let query = format!(
        "SELECT {list}, count(*) AS row_count\nFROM {table}\nGROUP BY {list}\nORDER BY row_count DESC\nLIMIT {ROWS}"
    );
    Some(HotKey { finding_id: finding.id.clone(), keys, query, note })
}
