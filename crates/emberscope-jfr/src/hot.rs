//! Frames by weight, and generated code by stage.

use crate::frames::FrameId;
use crate::names::whole_stage;
use crate::view::{View, ViewNode};
use std::collections::BTreeMap;

/// A frame, wherever it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HotFrame {
    /// The frame.
    pub frame: FrameId,
    /// Weight of stacks that end in it.
    pub own: i64,
    /// Weight of stacks that hold it, each once.
    pub total: i64,
    /// `own` in what is compared with.
    pub baseline_own: i64,
    /// `total` in what is compared with.
    pub baseline_total: i64,
}

/// All frames of a view but the root, those with the largest own weight first.
pub fn hot_frames(view: &View) -> Vec<HotFrame> {
    let mut frames: Vec<HotFrame> =
        (0..view.frames.len()).map(|at| HotFrame { frame: at as FrameId, ..HotFrame::default() }).collect();
    walk(
        view,
        |node| Some(node.frame as usize),
        |frame, node, is_first| {
            let hot = &mut frames[frame];
            hot.own += node.own;
            hot.baseline_own += node.baseline_own;
            if is_first {
                hot.total += node.total;
                hot.baseline_total += node.baseline_total;
            }
        },
    );
    frames.retain(|hot| hot.total > 0 || hot.baseline_total > 0);
    frames.sort_by(|a, b| {
        let key = |hot: &HotFrame| {
            let own = i128::from(hot.own) + i128::from(hot.baseline_own);
            (
                std::cmp::Reverse(own),
                std::cmp::Reverse(i128::from(hot.total) + i128::from(hot.baseline_total)),
            )
        };
        key(a).cmp(&key(b)).then_with(|| view.frames.name(a.frame).cmp(view.frames.name(b.frame)))
    });
    frames
}

/// Weight of stacks that hold generated code, by number of the whole-stage code generation, heaviest first.
/// It holds what was inlined into it.
pub fn whole_stages(view: &View) -> Vec<(u32, i64)> {
    let stage_of: Vec<Option<usize>> = (0..view.frames.len())
        .map(|at| whole_stage(view.frames.name(at as FrameId)).map(|stage| stage as usize))
        .collect();
    let mut stages: BTreeMap<usize, i64> = BTreeMap::new();
    walk(
        view,
        |node| stage_of[node.frame as usize],
        |stage, node, is_first| {
            if is_first {
                *stages.entry(stage).or_default() += node.total;
            }
        },
    );
    let mut stages: Vec<(u32, i64)> =
        stages.into_iter().map(|(stage, weight)| (stage as u32, weight)).collect();
    stages.sort_by_key(|(stage, weight)| (std::cmp::Reverse(*weight), *stage));
    stages
}

/// Calls `each` for every node below the root that has a group, with whether it is the first of its group
/// on its path: in recursion a weight counts once.
fn walk(
    view: &View,
    group: impl Fn(&ViewNode) -> Option<usize>,
    mut each: impl FnMut(usize, &ViewNode, bool),
) {
    let mut path: Vec<Option<usize>> = Vec::new();
    let mut active: BTreeMap<usize, u32> = BTreeMap::new();
    for node in view.nodes.iter().skip(1) {
        while path.len() >= node.depth as usize {
            let Some(left) = path.pop() else { break };
            if let Some(count) = left.and_then(|group| active.get_mut(&group)) {
                *count -= 1;
            }
        }
        let of_node = group(node);
        path.push(of_node);
        if let Some(group) = of_node {
            let count = active.entry(group).or_default();
            *count += 1;
            each(group, node, *count == 1);
        }
    }
}
