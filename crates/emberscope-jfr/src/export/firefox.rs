//! The Firefox Profiler's processed form: a track for each thread, with the times of its samples.

use super::Caption;
use crate::flame_event::Unit;
use crate::fold::{Profile, Samples};
use crate::frames::{FrameKind, Frames};
use crate::tree::{NodeId, ROOT, Tree};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The version of the form that is written; the viewer brings older ones up to its own.
const FORM_VERSION: u32 = 47;

/// Categories by the kind of a frame, each with its colour in the viewer.
const CATEGORIES: [(&str, &str); 5] =
    [("Java", "green"), ("Native", "orange"), ("Kernel", "red"), ("Class", "blue"), ("Other", "grey")];

fn category(kind: FrameKind) -> usize {
    match kind {
        FrameKind::Java => 0,
        FrameKind::Native => 1,
        FrameKind::Kernel => 2,
        FrameKind::Class => 3,
        FrameKind::Mark => 4,
    }
}

/// Writes all samples of a profile that kept them.
///
/// # Errors
/// Those of `out`.
pub fn firefox(profile: &Profile, caption: &Caption, out: &mut dyn Write) -> io::Result<()> {
    let nothing = Samples::default();
    let samples = profile.samples.as_ref().unwrap_or(&nothing);
    let start_ns = samples.times_ns.iter().copied().min().unwrap_or(0);
    let mut by_thread: Vec<Vec<usize>> = vec![Vec::new(); samples.names.len()];
    for (at, thread) in samples.threads.iter().enumerate() {
        by_thread[*thread as usize].push(at);
    }
    let weight_type = match caption.event.unit() {
        Unit::Samples => "samples",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "tracing-ms",
    };
    let mut threads = Vec::new();
    for (thread, mut rows) in by_thread.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        rows.sort_by_key(|row| samples.times_ns[*row]);
        let mut tables = Tables::new(&profile.tree, &profile.frames);
        let ms = |ns: i64| ns as f64 / 1e6;
        let weight = |row: &usize| match caption.event.unit() {
            Unit::Nanoseconds => json!(ms(samples.weights[*row])),
            _ => json!(samples.weights[*row]),
        };
        let stacks: Vec<Option<usize>> = rows.iter().map(|row| tables.stack(samples.nodes[*row])).collect();
        let times: Vec<f64> = rows.iter().map(|row| ms(samples.times_ns[*row] - start_ns)).collect();
        let name = &samples.names[thread];
        threads.push(json!({
            "processType": "default",
            "processName": format!("executor {}", name.executor),
            "processStartupTime": 0,
            "processShutdownTime": null,
            "registerTime": 0,
            "unregisterTime": null,
            "pausedRanges": [],
            "name": name.name,
            "isMainThread": false,
            "pid": name.executor,
            "tid": if name.java_id > 0 { name.java_id } else { name.os_id },
            "samples": {
                "length": rows.len(),
                "stack": stacks,
                "time": times,
                "weight": rows.iter().map(weight).collect::<Vec<Value>>(),
                "weightType": weight_type,
            },
            "markers": {
                "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
            },
            "stackTable": tables.stack_table(),
            "frameTable": tables.frame_table(),
            "funcTable": tables.function_table(),
            "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
            "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
            "stringArray": tables.strings(),
        }));
    }
    let categories: Vec<Value> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}))
        .collect();
    let file = json!({
        "meta": {
            "interval": 10,
            "startTime": start_ns as f64 / 1e6,
            "processType": 0,
            "product": caption.title,
            "stackwalk": 0,
            "debug": false,
            "version": 29,
            "preprocessedProfileVersion": FORM_VERSION,
            "categories": categories,
            "markerSchema": [],
            "symbolicated": true,
            "doesNotUseFrameImplementation": true,
        },
        "libs": [],
        "pages": [],
        "threads": threads,
    });
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

/// The stacks and frames that a thread uses.
struct Tables<'p> {
    tree: &'p Tree,
    frames: &'p Frames,
    stacks: FxHashMap<NodeId, usize>,
    /// Position of the stack above and of the frame.
    rows: Vec<(Option<usize>, usize)>,
    positions: FxHashMap<u32, usize>,
    used: Vec<u32>,
}

impl<'p> Tables<'p> {
    fn new(tree: &'p Tree, frames: &'p Frames) -> Self {
        Tables {
            tree,
            frames,
            stacks: FxHashMap::default(),
            rows: Vec::new(),
            positions: FxHashMap::default(),
            used: Vec::new(),
        }
    }

    /// The position of a stack; none for the root.
    fn stack(&mut self, node: NodeId) -> Option<usize> {
        let mut path = Vec::new();
        let mut above = node;
        while above != ROOT && !self.stacks.contains_key(&above) {
            path.push(above);
            above = self.tree.parent(above);
        }
        let mut prefix = self.stacks.get(&above).copied();
        for node in path.into_iter().rev() {
            let frame = self.tree.frame(node)?;
            let used = &mut self.used;
            let frame = *self.positions.entry(frame).or_insert_with(|| {
                used.push(frame);
                used.len() - 1
            });
            self.rows.push((prefix, frame));
            self.stacks.insert(node, self.rows.len() - 1);
            prefix = Some(self.rows.len() - 1);
        }
        prefix
    }

    fn categories(&self) -> Vec<usize> {
        self.used.iter().map(|frame| category(self.frames.kind(*frame))).collect()
    }

    fn stack_table(&self) -> Value {
        let categories = self.categories();
        json!({
            "length": self.rows.len(),
            "prefix": self.rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            "frame": self.rows.iter().map(|row| row.1).collect::<Vec<_>>(),
            "category": self.rows.iter().map(|row| categories[row.1]).collect::<Vec<_>>(),
            "subcategory": vec![0; self.rows.len()],
        })
    }

    fn frame_table(&self) -> Value {
        let length = self.used.len();
        let nulls = vec![Value::Null; length];
        json!({
            "length": length,
            "address": vec![-1; length],
            "inlineDepth": vec![0; length],
            "category": self.categories(),
            "subcategory": vec![0; length],
            "func": (0..length).collect::<Vec<_>>(),
            "nativeSymbol": nulls,
            "innerWindowID": vec![0; length],
            "implementation": nulls,
            "line": nulls,
            "column": nulls,
        })
    }

    fn function_table(&self) -> Value {
        let length = self.used.len();
        let nulls = vec![Value::Null; length];
        json!({
            "length": length,
            "name": (0..length).collect::<Vec<_>>(),
            "isJS": vec![false; length],
            "relevantForJS": vec![false; length],
            "resource": vec![-1; length],
            "fileName": nulls,
            "lineNumber": nulls,
            "columnNumber": nulls,
        })
    }

    fn strings(&self) -> Vec<&str> {
        self.used.iter().map(|frame| self.frames.name(*frame)).collect()
    }
}
