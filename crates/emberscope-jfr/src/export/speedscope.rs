//! speedscope's own form: one sampled profile, in the order of the graph.

use super::Caption;
use crate::flame_event::Unit;
use crate::frames::FrameId;
use crate::view::View;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'v> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'v str,
    active_profile_index: u32,
    shared: Shared<'v>,
    profiles: [Sampled<'v>; 1],
}

#[derive(Serialize)]
struct Shared<'v> {
    frames: Vec<Frame<'v>>,
}

#[derive(Serialize)]
struct Frame<'v> {
    name: &'v str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'v> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'v str,
    unit: &'static str,
    start_value: i64,
    end_value: i64,
    samples: Vec<Vec<FrameId>>,
    weights: Vec<i64>,
}

/// Writes the graph.
///
/// # Errors
/// Those of `out`.
pub fn speedscope(view: &View, caption: &Caption, out: &mut dyn Write) -> io::Result<()> {
    let (mut path, mut samples, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for node in &view.nodes {
        path.truncate((node.depth as usize).saturating_sub(1));
        if node.depth > 0 {
            path.push(node.frame);
        }
        if node.own > 0 {
            samples.push(path.clone());
            weights.push(node.own);
        }
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("emberscope ", env!("CARGO_PKG_VERSION")),
        name: &caption.title,
        active_profile_index: 0,
        shared: Shared {
            frames: (0..view.frames.len())
                .map(|at| Frame { name: view.frames.name(at as FrameId) })
                .collect(),
        },
        profiles: [Sampled {
            kind: "sampled",
            name: &caption.title,
            unit: match caption.event.unit() {
                Unit::Samples => "none",
                Unit::Bytes => "bytes",
                Unit::Nanoseconds => "nanoseconds",
            },
            start_value: 0,
            end_value: view.sum(),
            samples,
            weights,
        }],
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}
