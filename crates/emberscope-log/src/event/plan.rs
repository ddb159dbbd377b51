//! Physical plans as Spark logs them: a tree of `SparkPlanInfo` with accumulator ids.
//!
//! Plans are the largest lines of a log and may nest thousands of levels, so they are read without
//! recursion, straight into one flat tree with one text buffer.

use crate::cursor::{Cursor, RawStr};
use crate::event::reason_of;
use borsh::{BorshDeserialize, BorshSerialize};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::borrow::Cow;

/// A piece of a tree's text buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

/// One plan, nodes in pre-order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanTree {
    /// Nodes in pre-order; the root is first.
    pub nodes: Vec<PlanNode>,
    /// Metrics of all nodes, grouped by node, in the order of the log.
    pub metrics: Vec<PlanMetric>,
    /// All texts; spans point here.
    pub text: String,
}

/// One operator of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanNode {
    /// `nodeName`, trailing spaces included, as Spark has it.
    pub name: Span,
    /// `simpleString`.
    pub simple_string: Span,
    /// `metadata` as JSON; empty when there is none. Only file scans have it.
    pub metadata: Span,
    /// Index of the parent; `None` for the root.
    pub parent: Option<u32>,
}

/// One SQL metric of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanMetric {
    /// Index of the node.
    pub node: u32,
    /// `name`, as shown in the UI.
    pub name: Span,
    /// `metricType`.
    pub kind: MetricKind,
    /// `accumulatorId`.
    pub accumulator_id: u64,
}

/// How a SQL metric's integers are to be read (`org.apache.spark.sql.execution.metric.SQLMetrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
#[repr(u8)]
#[borsh(use_discriminant = false)]
pub enum MetricKind {
    /// A plain sum.
    Sum = 0,
    /// Bytes.
    Size = 1,
    /// Milliseconds.
    Timing = 2,
    /// Nanoseconds.
    NsTiming = 3,
    /// An average, stored ten-fold.
    Average = 4,
    /// A kind this version does not know, read as a sum.
    Other = 5,
}

impl MetricKind {
    /// From `metricType`.
    pub fn from_name(name: &[u8]) -> Self {
        match name {
            b"sum" => Self::Sum,
            b"size" => Self::Size,
            b"timing" => Self::Timing,
            b"nsTiming" => Self::NsTiming,
            b"average" => Self::Average,
            _ => Self::Other,
        }
    }

    /// From the stored number.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Sum,
            1 => Self::Size,
            2 => Self::Timing,
            3 => Self::NsTiming,
            4 => Self::Average,
            _ => Self::Other,
        }
    }

    /// `metricType` as Spark writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum | Self::Other => "sum",
            Self::Size => "size",
            Self::Timing => "timing",
            Self::NsTiming => "nsTiming",
            Self::Average => "average",
        }
    }
}

impl PlanTree {
    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.text.get(span.start as usize..(span.start + span.len) as usize).unwrap_or("")
    }

    /// The metrics of a node.
    pub fn metrics_of(&self, node: u32) -> &[PlanMetric] {
        let start = self.metrics.partition_point(|metric| metric.node < node);
        let end = self.metrics.partition_point(|metric| metric.node <= node);
        &self.metrics[start..end]
    }
}

/// Builds a tree; names that repeat are stored once.
#[derive(Default)]
struct TreeBuilder<'a> {
    tree: PlanTree,
    /// The tree's text, whose UTF-8 is checked at once when all is there.
    text: Vec<u8>,
    names: FxHashMap<&'a [u8], Span>,
}

impl<'a> TreeBuilder<'a> {
    fn add_text(&mut self, raw: RawStr<'a>) -> Option<Span> {
        let start = u32::try_from(self.text.len()).ok()?;
        raw.unescape_into(&mut self.text)?;
        let len = u32::try_from(self.text.len()).ok()? - start;
        Some(Span { start, len })
    }

    fn add_name(&mut self, raw: RawStr<'a>) -> Option<Span> {
        if let Some(&known) = self.names.get(raw.bytes) {
            return Some(known);
        }
        let span = self.add_text(raw)?;
        self.names.insert(raw.bytes, span);
        Some(span)
    }

    fn read_metric(&mut self, cursor: &mut Cursor<'a>, node: u32) -> Option<()> {
        let (mut name, mut kind, mut accumulator_id) = (None, MetricKind::Other, None);
        cursor.object(|cursor, key| {
            match key {
                b"name" => name = Some(cursor.string()?),
                b"metricType" => kind = MetricKind::from_name(cursor.string()?.bytes),
                b"accumulatorId" => accumulator_id = Some(u64::try_from(cursor.int()?).ok()?),
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        let name = self.add_name(name?)?;
        self.tree.metrics.push(PlanMetric { node, name, kind, accumulator_id: accumulator_id? });
        Some(())
    }

    fn read_field(&mut self, cursor: &mut Cursor<'a>, key: &[u8], node: u32) -> Option<()> {
        match key {
            b"nodeName" => {
                let name = self.add_name(cursor.string()?)?;
                self.tree.nodes[node as usize].name = name;
            }
            b"simpleString" => {
                let simple_string = self.add_text(cursor.string()?)?;
                self.tree.nodes[node as usize].simple_string = simple_string;
            }
            b"metadata" => {
                let json = cursor.raw_value()?;
                if json.len() > 2 && json != b"null" {
                    let span = self.add_text(RawStr { bytes: json, escaped: false })?;
                    self.tree.nodes[node as usize].metadata = span;
                }
            }
            b"metrics" => cursor.array(|cursor| self.read_metric(cursor, node))?,
            _ => cursor.skip()?,
        }
        Some(())
    }

    fn open_node(&mut self, parent: Option<u32>) -> Option<u32> {
        let index = u32::try_from(self.tree.nodes.len()).ok()?;
        self.tree.nodes.push(PlanNode { parent, ..PlanNode::default() });
        Some(index)
    }

    fn finish(self) -> Option<PlanTree> {
        let mut tree = self.tree;
        tree.text = String::from_utf8(self.text).ok()?;
        // Halves of one character in two texts would pass as a whole one.
        let nodes = tree.nodes.iter().flat_map(|node| [node.name, node.simple_string, node.metadata]);
        let mut spans = nodes.chain(tree.metrics.iter().map(|metric| metric.name));
        if !spans.all(|span| tree.text.is_char_boundary(span.start as usize)) {
            return None;
        }
        // A node's metrics follow its children in the log, so they arrive out of order.
        tree.metrics.sort_by_key(|metric| metric.node);
        Some(tree)
    }
}

/// Reads a `SparkPlanInfo` with the cursor, at its opening brace.
pub fn read_plan(cursor: &mut Cursor<'_>) -> Option<PlanTree> {
    let mut builder = TreeBuilder::default();
    // Nodes whose `children` array is being read, outermost first.
    let mut open: Vec<u32> = Vec::new();
    cursor.expect(b'{')?;
    let mut node = builder.open_node(None)?;
    let mut node_is_empty = cursor.take(b"}");
    loop {
        let closed = if node_is_empty {
            true
        } else {
            let key = cursor.key()?;
            if key == b"children" {
                cursor.expect(b'[')?;
                if !cursor.take(b"]") {
                    cursor.expect(b'{')?;
                    open.push(node);
                    node = builder.open_node(Some(node))?;
                    node_is_empty = cursor.take(b"}");
                    continue;
                }
            } else {
                builder.read_field(cursor, key, node)?;
            }
            cursor.object_ends()?
        };
        if !closed {
            continue;
        }
        node_is_empty = false;
        // Close this node, and every ancestor that ends with it.
        loop {
            let Some(parent) = open.pop() else { return builder.finish() };
            if cursor.take(b",") {
                cursor.expect(b'{')?;
                open.push(parent);
                node = builder.open_node(Some(parent))?;
                node_is_empty = cursor.take(b"}");
                break;
            }
            cursor.expect(b']')?;
            node = parent;
            if !cursor.object_ends()? {
                break;
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SparkPlanInfo<'a> {
    #[serde(borrow, default)]
    node_name: Cow<'a, str>,
    #[serde(borrow, default)]
    simple_string: Cow<'a, str>,
    #[serde(borrow, default)]
    children: Vec<SparkPlanInfo<'a>>,
    #[serde(borrow, default)]
    metadata: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    metrics: Vec<SqlPlanMetric<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SqlPlanMetric<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    accumulator_id: u64,
    #[serde(borrow, default)]
    metric_type: Cow<'a, str>,
}

/// Reads a `SparkPlanInfo` with serde: the slow road, which also takes white space.
pub fn plan_with_serde(json: &[u8]) -> Result<PlanTree, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let root = SparkPlanInfo::deserialize(&mut deserializer).map_err(|error| reason_of(&error))?;
    let mut tree = PlanTree::default();
    let mut names: FxHashMap<String, Span> = FxHashMap::default();
    add_node(&mut tree, &mut names, &root, None);
    tree.metrics.sort_by_key(|metric| metric.node);
    Ok(tree)
}

fn push_text(tree: &mut PlanTree, text: &str) -> Span {
    let start = tree.text.len() as u32;
    tree.text.push_str(text);
    Span { start, len: text.len() as u32 }
}

fn push_name(tree: &mut PlanTree, names: &mut FxHashMap<String, Span>, name: &str) -> Span {
    if let Some(&known) = names.get(name) {
        return known;
    }
    let span = push_text(tree, name);
    names.insert(name.to_owned(), span);
    span
}

/// Depth is bounded by serde's own limit.
fn add_node(
    tree: &mut PlanTree,
    names: &mut FxHashMap<String, Span>,
    info: &SparkPlanInfo<'_>,
    parent: Option<u32>,
) {
    let index = tree.nodes.len() as u32;
    let name = push_name(tree, names, &info.node_name);
    let simple_string = push_text(tree, &info.simple_string);
    tree.nodes.push(PlanNode { name, simple_string, metadata: Span::default(), parent });
    for child in &info.children {
        add_node(tree, names, child, Some(index));
    }
    if let Some(json) = info.metadata.map(|raw| raw.get()).filter(|json| json.len() > 2 && *json != "null") {
        tree.nodes[index as usize].metadata = push_text(tree, json);
    }
    for metric in &info.metrics {
        let name = push_name(tree, names, &metric.name);
        let kind = MetricKind::from_name(metric.metric_type.as_bytes());
        tree.metrics.push(PlanMetric { node: index, name, kind, accumulator_id: metric.accumulator_id });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(json: &str) -> (Option<PlanTree>, Result<PlanTree, String>) {
        let mut cursor = Cursor::new(json.as_bytes());
        let fast = read_plan(&mut cursor).filter(|_| cursor.is_at_end());
        (fast, plan_with_serde(json.as_bytes()))
    }

    /// The texts of a tree, wherever its buffer holds them.
    fn contents(tree: &PlanTree) -> Vec<String> {
        let node = |(index, node): (usize, &PlanNode)| {
            let metrics: Vec<_> = tree
                .metrics_of(index as u32)
                .iter()
                .map(|metric| (tree.text(metric.name), metric.kind, metric.accumulator_id))
                .collect();
            let texts = [node.name, node.simple_string, node.metadata].map(|span| tree.text(span));
            format!("{texts:?} {:?} {metrics:?}", node.parent)
        };
        tree.nodes.iter().enumerate().map(node).collect()
    }

    #[test]
    fn a_tree_with_metrics() {
        let json = r#"{"nodeName":"Sort","simpleString":"Sort [a#1]","children":[
            {"nodeName":"Scan csv ","simpleString":"FileScan \"x\"","children":[],"metadata":{"Format":"CSV"},"metrics":[{"name":"rows","accumulatorId":7,"metricType":"sum"}]},
            {"nodeName":"X","simpleString":"","children":[],"metadata":{},"metrics":[]}
            ],"metadata":{},"metrics":[{"name":"time","accumulatorId":3,"metricType":"timing"}]}"#
            .replace("\n            ", "");
        let (fast, slow) = both(&json);
        let fast = fast.unwrap();
        assert_eq!(contents(&fast), contents(&slow.unwrap()));
        assert_eq!(fast.nodes.len(), 3);
        assert_eq!(fast.nodes[2].parent, Some(0));
        assert_eq!(fast.text(fast.nodes[1].name), "Scan csv ");
        assert_eq!(fast.text(fast.nodes[1].metadata), r#"{"Format":"CSV"}"#);
        assert_eq!(fast.metrics_of(0)[0].accumulator_id, 3);
        assert_eq!(fast.metrics_of(1)[0].kind, MetricKind::Sum);
    }

    #[test]
    fn a_very_deep_tree() {
        let depth = 20_000;
        let json = format!(
            "{}{}",
            r#"{"nodeName":"N","simpleString":"s","children":["#.repeat(depth),
            r#"],"metadata":{},"metrics":[]}"#.repeat(depth)
        );
        let mut cursor = Cursor::new(json.as_bytes());
        assert_eq!(read_plan(&mut cursor).unwrap().nodes.len(), depth);
    }

    fn any_plan() -> impl Strategy<Value = serde_json::Value> {
        let metric = ("[a-z \"]{0,8}", 0u64..99, "sum|size|timing|nsTiming|average|odd")
            .prop_map(|(n, i, t)| serde_json::json!({"name": n, "accumulatorId": i, "metricType": t}));
        let leaf = ("\\PC{0,12}", "\\PC{0,30}", proptest::collection::vec(metric, 0..4)).prop_map(
            |(name, simple, metrics)| {
                serde_json::json!({"nodeName": name, "simpleString": simple, "children": [],
                    "metadata": {"k": simple}, "metrics": metrics})
            },
        );
        leaf.prop_recursive(5, 40, 4, |inner| {
            ("\\PC{0,12}", proptest::collection::vec(inner, 0..4)).prop_map(|(name, children)| {
                serde_json::json!({"nodeName": name, "simpleString": name, "children": children, "metrics": []})
            })
        })
    }

    proptest! {
        #[test]
        fn cursor_and_serde_agree(plan in any_plan()) {
            let (fast, slow) = both(&plan.to_string());
            prop_assert_eq!(contents(&fast.unwrap()), contents(&slow.unwrap()));
        }
    }
}
