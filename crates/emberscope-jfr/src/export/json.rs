//! The graph as JSON, in columns: for programs, and for pages that draw it.

use crate::flame_event::{FlameEvent, Unit};
use crate::fold::Profile;
use crate::frames::{FrameId, FrameKind};
use crate::heat::{Heat, heat};
use crate::hot::whole_stages;
use crate::notes::Note;
use crate::view::{View, ViewNode};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the form; it grows when a field changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// A flame graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlameJson {
    /// Version of this form.
    pub schema_version: u32,
    /// What the graph is of.
    pub event: FlameEvent,
    /// What weights are.
    pub unit: Unit,
    /// Files and selection, in words.
    pub title: String,
    /// Weight of everything that is selected.
    pub sum: i64,
    /// The same in what is compared with; null where nothing is.
    pub baseline_sum: Option<i64>,
    /// Number of recorded events that are selected.
    pub events: u64,
    /// Time of the first of them, epoch milliseconds.
    pub first_ms: Option<i64>,
    /// Time of the last of them, epoch milliseconds.
    pub last_ms: Option<i64>,
    /// Weight by executor.
    pub executors: Vec<ExecutorWeight>,
    /// Weight of generated code by whole-stage code generation, what was inlined included.
    pub whole_stages: Vec<WholeStage>,
    /// Weight over time by executor; null where it was not kept.
    pub heat: Option<Heat>,
    /// What is not shown by itself.
    pub left_out: LeftOut,
    /// The frames.
    pub frames: FrameTable,
    /// The nodes, each followed by its subtrees; the first is the root.
    pub nodes: NodeTable,
    /// What was not as it should be.
    pub notes: Vec<Note>,
}

/// Weight of an executor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExecutorWeight {
    /// Its id.
    pub executor: String,
    /// Weight.
    pub weight: i64,
}

/// Weight of the generated code of a stage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WholeStage {
    /// Number of the whole-stage code generation in its plan.
    pub id: u32,
    /// Weight of stacks that hold it.
    pub weight: i64,
}

/// What limits cut off. Its weight is in the nodes called `[other]`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Nodes.
    pub nodes: u64,
    /// Weight.
    pub weight: i64,
}

/// Frames in columns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrameTable {
    /// Name.
    pub name: Vec<String>,
    /// Kind.
    pub kind: Vec<FrameKind>,
}

/// Nodes in columns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeTable {
    /// Position of the node above; the root's own for the root.
    pub parent: Vec<u32>,
    /// Position of the frame.
    pub frame: Vec<u32>,
    /// Weight with all below.
    pub total: Vec<i64>,
    /// Weight of stacks that end here.
    pub own: Vec<i64>,
    /// `total` in what is compared with; null where nothing is.
    pub baseline_total: Option<Vec<i64>>,
    /// `own` in what is compared with; null where nothing is.
    pub baseline_own: Option<Vec<i64>>,
}

impl FlameJson {
    /// A profile as a view of it shows it.
    pub fn new(profile: &Profile, view: &View, title: &str) -> FlameJson {
        let mut positions: Vec<Option<u32>> = vec![None; view.frames.len()];
        let mut frames = FrameTable { name: Vec::new(), kind: Vec::new() };
        let mut position = |id: FrameId| {
            *positions[id as usize].get_or_insert_with(|| {
                frames.name.push(view.frames.name(id).to_owned());
                frames.kind.push(view.frames.kind(id));
                (frames.name.len() - 1) as u32
            })
        };
        let frame = view.nodes.iter().map(|node| position(node.frame)).collect();
        let column = |of: fn(&ViewNode) -> i64| view.nodes.iter().map(of).collect::<Vec<i64>>();
        let baseline = |of: fn(&ViewNode) -> i64| view.is_diff.then(|| column(of));
        let ms = |ns: i64| ns.div_euclid(1_000_000);
        let executors = profile.executors.iter();
        let is_other = |node: &&ViewNode| view.name(node) == crate::frames::OTHER;
        FlameJson {
            schema_version: SCHEMA_VERSION,
            event: profile.event,
            unit: profile.event.unit(),
            title: title.to_owned(),
            sum: view.sum(),
            baseline_sum: view.is_diff.then(|| view.baseline_sum()),
            events: profile.events,
            first_ms: profile.times_ns.map(|(first, _)| ms(first)),
            last_ms: profile.times_ns.map(|(_, last)| ms(last)),
            executors: executors
                .map(|(executor, weight)| ExecutorWeight { executor: executor.clone(), weight: *weight })
                .collect(),
            whole_stages: whole_stages(view)
                .into_iter()
                .map(|(id, weight)| WholeStage { id, weight })
                .collect(),
            heat: heat(profile),
            left_out: LeftOut {
                nodes: view.nodes_left_out,
                weight: view.nodes.iter().filter(is_other).map(|node| node.total).sum(),
            },
            nodes: NodeTable {
                parent: view.nodes.iter().map(|node| node.parent).collect(),
                frame,
                total: column(|node| node.total),
                own: column(|node| node.own),
                baseline_total: baseline(|node| node.baseline_total),
                baseline_own: baseline(|node| node.baseline_own),
            },
            frames,
            notes: profile.notes.clone(),
        }
    }
}

/// The JSON Schema of [`FlameJson`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(FlameJson).to_value()
}
