//! A flame tree as it is shown or written: in order, pruned, every sum true.

use crate::fold::Profile;
use crate::frames::{FrameId, FrameKind, Frames, OTHER};
use crate::tree::{Limits, NodeId, ROOT, Tree};

/// How much of a tree is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewLimits {
    /// Share of the sum below which a subtree becomes part of `[other]`, 0 to 1.
    pub min_fraction: f64,
    /// Nodes that are kept, the root included and each `[other]` not; the heaviest are.
    pub max_nodes: usize,
    /// Frames below the root.
    pub max_depth: usize,
}

impl Default for ViewLimits {
    fn default() -> Self {
        ViewLimits { min_fraction: 0.0001, max_nodes: i32::MAX as usize, max_depth: 256 }
    }
}

impl ViewLimits {
    /// Limits that cut nothing.
    pub const NONE: ViewLimits =
        ViewLimits { min_fraction: 0.0, max_nodes: usize::MAX, max_depth: usize::MAX };
}

/// A node, with what is below it right behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewNode {
    /// Position of the node above; the root's own for the root.
    pub parent: u32,
    /// Frames above it.
    pub depth: u32,
    /// Its frame; the root has that of a mark named `all`.
    pub frame: FrameId,
    /// Weight with all below.
    pub total: i64,
    /// Weight of stacks that end here.
    pub own: i64,
    /// Weight with all below in what is compared with.
    pub baseline_total: i64,
    /// Weight of stacks that end here in what is compared with.
    pub baseline_own: i64,
}

/// A flame tree in order: a node, then its subtrees, the heaviest first.
#[derive(Clone, Debug)]
pub struct View {
    /// The nodes; the first is the root.
    pub nodes: Vec<ViewNode>,
    /// The frames.
    pub frames: Frames,
    /// Whether it compares.
    pub is_diff: bool,
    /// Nodes that became part of an `[other]`.
    pub nodes_left_out: u64,
}

/// Weights of the nodes of a tree: of stacks that end there, and of all below.
struct Weights {
    own: Vec<i64>,
    totals: Vec<i64>,
}

impl Weights {
    fn of(own: Vec<i64>, other: &[i64], tree: &Tree) -> Weights {
        let mut totals: Vec<i64> = own.iter().zip(other).map(|(own, other)| own + other).collect();
        for node in (1..tree.len()).rev() {
            totals[tree.parent(node as NodeId) as usize] += totals[node];
        }
        Weights { own, totals }
    }
}

impl View {
    /// What a profile shows.
    pub fn of(profile: &Profile, limits: ViewLimits) -> View {
        let tree = &profile.tree;
        let nodes = 0..tree.len() as NodeId;
        let own = nodes.clone().map(|node| tree.own(node)).collect();
        let other: Vec<i64> = nodes.map(|node| tree.other(node)).collect();
        let weights = Weights::of(own, &other, tree);
        let nothing = Weights { own: vec![0; tree.len()], totals: vec![0; tree.len()] };
        Builder::new(tree, profile.frames.clone(), [&weights, &nothing], limits).view(false)
    }

    /// What a profile shows beside another one.
    pub fn diff(profile: &Profile, baseline: &Profile, limits: ViewLimits) -> View {
        let mut frames = profile.frames.clone();
        let ids = frames.adopt(&baseline.frames);
        // Its own weights are not used: two sums of the same may be too large for one number.
        let mut tree = Tree::new(Limits::NONE);
        let mut column = |of: &Tree, ids: &[FrameId]| {
            let (places, _) = tree.merge(of, ids);
            let mut weights = (vec![0; tree.len()], vec![0; tree.len()]);
            for (node, place) in places.iter().enumerate() {
                weights.0[place.node as usize] += of.own(node as NodeId);
                weights.1[place.node as usize] += of.other(node as NodeId);
            }
            weights
        };
        let identity: Vec<FrameId> = (0..profile.frames.len() as FrameId).collect();
        let mut first = column(&profile.tree, &identity);
        let second = column(&baseline.tree, &ids);
        first.0.resize(tree.len(), 0);
        first.1.resize(tree.len(), 0);
        let weights = [Weights::of(first.0, &first.1, &tree), Weights::of(second.0, &second.1, &tree)];
        Builder::new(&tree, frames, [&weights[0], &weights[1]], limits).view(true)
    }

    /// Weight of everything.
    pub fn sum(&self) -> i64 {
        self.nodes.first().map_or(0, |root| root.total)
    }

    /// Weight of everything in what is compared with.
    pub fn baseline_sum(&self) -> i64 {
        self.nodes.first().map_or(0, |root| root.baseline_total)
    }

    /// The name of a node's frame.
    pub fn name(&self, node: &ViewNode) -> &str {
        self.frames.name(node.frame)
    }
}

struct Builder<'t> {
    tree: &'t Tree,
    frames: Frames,
    weights: [&'t Weights; 2],
    kept: Vec<bool>,
    /// Kept children by node, and where each node's begin.
    children: Vec<NodeId>,
    first_child: Vec<usize>,
}

impl<'t> Builder<'t> {
    fn new(tree: &'t Tree, frames: Frames, weights: [&'t Weights; 2], limits: ViewLimits) -> Self {
        let kept = kept(tree, weights, limits);
        let mut counts = vec![0usize; tree.len() + 1];
        let below: Vec<NodeId> = (1..tree.len() as NodeId).filter(|node| kept[*node as usize]).collect();
        for node in &below {
            counts[tree.parent(*node) as usize + 1] += 1;
        }
        for at in 1..counts.len() {
            counts[at] += counts[at - 1];
        }
        let first_child = counts.clone();
        let mut children = vec![ROOT; below.len()];
        for node in below {
            let at = &mut counts[tree.parent(node) as usize];
            children[*at] = node;
            *at += 1;
        }
        Builder { tree, frames, weights, kept, children, first_child }
    }

    fn view(mut self, is_diff: bool) -> View {
        let root = self.frames.intern(FrameKind::Mark, "all");
        let other = self.frames.intern(FrameKind::Mark, OTHER);
        let mut nodes: Vec<ViewNode> = Vec::new();
        let mut stack = vec![(ROOT, 0u32, 0u32)];
        while let Some((node, parent, depth)) = stack.pop() {
            let at = nodes.len() as u32;
            let [first, second] = self.weights.map(|weights| self.parts(weights, node));
            nodes.push(ViewNode {
                parent,
                depth,
                frame: self.tree.frame(node).unwrap_or(root),
                total: first.total,
                own: first.own,
                baseline_total: second.total,
                baseline_own: second.own,
            });
            if first.other > 0 || second.other > 0 {
                nodes.push(ViewNode {
                    parent: at,
                    depth: depth + 1,
                    frame: other,
                    total: first.other,
                    own: first.other,
                    baseline_total: second.other,
                    baseline_own: second.other,
                });
            }
            let mut children: Vec<NodeId> = self.children_of(node).to_vec();
            children.sort_by_key(|child| {
                let weight = self.weights.map(|weights| weights.totals[*child as usize]);
                (std::cmp::Reverse(i128::from(weight[0]) + i128::from(weight[1])), *child)
            });
            stack.extend(children.into_iter().rev().map(|child| (child, at, depth + 1)));
        }
        let kept = self.kept.iter().filter(|kept| **kept).count();
        View { nodes, frames: self.frames, is_diff, nodes_left_out: (self.tree.len() - kept) as u64 }
    }

    fn children_of(&self, node: NodeId) -> &[NodeId] {
        &self.children[self.first_child[node as usize]..self.first_child[node as usize + 1]]
    }

    fn parts(&self, weights: &Weights, node: NodeId) -> Parts {
        let (total, own) = (weights.totals[node as usize], weights.own[node as usize]);
        let below: i64 = self.children_of(node).iter().map(|child| weights.totals[*child as usize]).sum();
        Parts { total, own, other: total - own - below }
    }
}

/// A node's weight and where it is: its own, and what of it has no node.
struct Parts {
    total: i64,
    own: i64,
    other: i64,
}

/// Which nodes are kept: a node's parent always is, since it is at least as heavy and less deep.
fn kept(tree: &Tree, weights: [&Weights; 2], limits: ViewLimits) -> Vec<bool> {
    let least = weights.map(|weights| limits.min_fraction * weights.totals[0] as f64);
    let weight = |node: usize| weights.map(|weights| weights.totals[node]);
    let mut kept = vec![false; tree.len()];
    let mut depths = vec![0usize; tree.len()];
    kept[0] = true;
    for node in 1..tree.len() {
        let parent = tree.parent(node as NodeId) as usize;
        depths[node] = depths[parent] + 1;
        let [first, second] = weight(node);
        let is_heavy = (first > 0 && first as f64 >= least[0]) || (second > 0 && second as f64 >= least[1]);
        kept[node] = kept[parent] && is_heavy && depths[node] <= limits.max_depth;
    }
    let mut order: Vec<usize> = (0..tree.len()).filter(|node| kept[*node]).collect();
    if order.len() > limits.max_nodes.max(1) {
        order.sort_by_key(|node| {
            let [first, second] = weight(*node);
            (std::cmp::Reverse(i128::from(first) + i128::from(second)), *node)
        });
        for node in &order[limits.max_nodes.max(1)..] {
            kept[*node] = false;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame_event::FlameEvent;
    use crate::fold::{Profile, Request};

    fn profile(stacks: &[(&str, i64)]) -> Profile {
        let mut profile = Profile::new(&Request::all(FlameEvent::Cpu));
        for (stack, weight) in stacks {
            let path: Vec<FrameId> =
                stack.split(';').map(|name| profile.frames.intern(FrameKind::Java, name)).collect();
            let place = profile.tree.place(path.into_iter());
            assert!(profile.tree.add(place, *weight));
        }
        profile
    }

    fn shown(view: &View) -> Vec<String> {
        let line = |node: &ViewNode| {
            let indent = " ".repeat(node.depth as usize);
            format!("{indent}{} {}/{} {}", view.name(node), node.own, node.total, node.baseline_total)
        };
        view.nodes.iter().map(line).collect()
    }

    #[test]
    fn the_heaviest_go_first_and_the_lightest_into_other() {
        let profile = profile(&[("a;b", 5), ("a;c;d", 90), ("a", 3), ("e", 2)]);
        let limits = ViewLimits { min_fraction: 0.05, ..ViewLimits::NONE };
        assert_eq!(
            shown(&View::of(&profile, limits)),
            ["all 0/100 0", " [other] 2/2 0", " a 3/98 0", "  c 0/90 0", "   d 90/90 0", "  b 5/5 0"]
        );
        let limits = ViewLimits { max_nodes: 3, ..ViewLimits::NONE };
        assert_eq!(
            shown(&View::of(&profile, limits)),
            [
                "all 0/100 0",
                " [other] 2/2 0",
                " a 3/98 0",
                "  [other] 5/5 0",
                "  c 0/90 0",
                "   [other] 90/90 0"
            ]
        );
        let limits = ViewLimits { max_depth: 0, ..ViewLimits::NONE };
        assert_eq!(shown(&View::of(&profile, limits)), ["all 0/100 0", " [other] 100/100 0"]);
    }

    #[test]
    fn inverted_stacks_start_at_their_leaves_and_weigh_the_same() {
        let inverted = profile(&[("a;b", 5), ("c;b", 7), ("a", 1)]).inverted();
        assert_eq!(
            shown(&View::of(&inverted, ViewLimits::NONE)),
            ["all 0/13 0", " b 0/12 0", "  c 7/7 0", "  a 5/5 0", " a 1/1 0"]
        );
        assert_eq!(shown(&View::of(&inverted.inverted(), ViewLimits::NONE)).len(), 5);
    }

    #[test]
    fn two_profiles_beside_each_other() {
        let view = View::diff(&profile(&[("a;b", 5), ("c", 1)]), &profile(&[("a;d", 7)]), ViewLimits::NONE);
        assert_eq!(shown(&view), ["all 0/6 7", " a 0/5 7", "  d 0/0 7", "  b 5/5 0", " c 1/1 0"]);
    }
}
