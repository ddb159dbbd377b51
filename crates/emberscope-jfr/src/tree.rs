//! Flame trees: stacks folded by their common roots, within limits that keep all sums true.

use crate::frames::FrameId;
use rustc_hash::FxHashMap;

/// Identifies a node of a [`Tree`].
pub type NodeId = u32;
/// The root.
pub const ROOT: NodeId = 0;

/// How large a tree may become while it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes, the root included.
    pub max_nodes: usize,
    /// Frames below the root.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_nodes: i32::MAX as usize, max_depth: 256 }
    }
}

impl Limits {
    /// Limits that cut nothing.
    pub const NONE: Limits = Limits { max_nodes: usize::MAX, max_depth: usize::MAX };
}

/// Where a stack ends in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    /// Whether frames are missing, so that the weight belongs to the node's `[other]`.
    pub(crate) is_other: bool,
}

/// Stacks with weights, in columns. A node's parent has a smaller id.
#[derive(Clone, Debug)]
pub struct Tree {
    parents: Vec<NodeId>,
    frames: Vec<FrameId>,
    depths: Vec<u32>,
    own: Vec<i64>,
    other: Vec<i64>,
    children: FxHashMap<(NodeId, FrameId), NodeId>,
    sum: i64,
    limits: Limits,
}

impl Tree {
    /// Estimate of the memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.parents.len() * 56
    }

    /// A tree of a root.
    pub fn new(limits: Limits) -> Tree {
        Tree {
            parents: vec![ROOT],
            frames: vec![FrameId::MAX],
            depths: vec![0],
            own: vec![0],
            other: vec![0],
            children: FxHashMap::default(),
            sum: 0,
            limits,
        }
    }

    /// Where a stack ends, root first. Frames that the limits leave no room for are left out.
    pub(crate) fn place(&mut self, stack: impl Iterator<Item = FrameId>) -> Place {
        let mut node = ROOT;
        for frame in stack {
            match self.child(node, frame) {
                Some(child) => node = child,
                None => return Place { node, is_other: true },
            }
        }
        Place { node, is_other: false }
    }

    fn child(&mut self, parent: NodeId, frame: FrameId) -> Option<NodeId> {
        if let Some(child) = self.children.get(&(parent, frame)) {
            return Some(*child);
        }
        let depth = self.depths[parent as usize] + 1;
        if self.len() >= self.limits.max_nodes.min(NodeId::MAX as usize)
            || depth as usize > self.limits.max_depth
        {
            return None;
        }
        let child = self.len() as NodeId;
        self.parents.push(parent);
        self.frames.push(frame);
        self.depths.push(depth);
        self.own.push(0);
        self.other.push(0);
        self.children.insert((parent, frame), child);
        Some(child)
    }

    /// Adds weight; `false`, and nothing added, where the sum of all would not fit into a number.
    pub(crate) fn add(&mut self, place: Place, weight: i64) -> bool {
        let Some(sum) = self.sum.checked_add(weight).filter(|_| weight >= 0) else { return false };
        self.sum = sum;
        let column = if place.is_other { &mut self.other } else { &mut self.own };
        // No part of the sum is larger than it.
        column[place.node as usize] += weight;
        true
    }

    /// Adds another tree, whose frames have the ids `frames` here. Gives where its nodes are here, and
    /// whether all weights fitted.
    pub(crate) fn merge(&mut self, other: &Tree, frames: &[FrameId]) -> (Vec<Place>, bool) {
        let mut places = vec![Place { node: ROOT, is_other: false }; other.len()];
        let mut fitted = true;
        for node in 0..other.len() {
            if node > 0 {
                let above = places[other.parents[node] as usize];
                let frame = frames.get(other.frames[node] as usize).copied();
                // Below what has no room there is no room.
                let child = frame.filter(|_| !above.is_other).and_then(|frame| self.child(above.node, frame));
                places[node] = match child {
                    Some(node) => Place { node, is_other: false },
                    None => Place { is_other: true, ..above },
                };
            }
            let place = places[node];
            fitted &= self.add(place, other.own[node]);
            fitted &= self.add(Place { is_other: true, ..place }, other.other[node]);
        }
        (places, fitted)
    }

    /// The limits that it is built within.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.sum == 0
    }

    /// Weight of everything.
    pub fn sum(&self) -> i64 {
        self.sum
    }

    /// The node below which a node lies; the root's is itself.
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.parents[node as usize]
    }

    /// The frame of a node; the root has none.
    pub fn frame(&self, node: NodeId) -> Option<FrameId> {
        (node != ROOT).then(|| self.frames[node as usize])
    }

    /// Weight of stacks that end in a node.
    pub fn own(&self, node: NodeId) -> i64 {
        self.own[node as usize]
    }

    /// Weight of stacks whose frames below a node were left out.
    pub fn other(&self, node: NodeId) -> i64 {
        self.other[node as usize]
    }

    /// Weight of each node with all below it.
    pub fn totals(&self) -> Vec<i64> {
        let mut totals: Vec<i64> = self.own.iter().zip(&self.other).map(|(own, other)| own + other).collect();
        for node in (1..self.len()).rev() {
            totals[self.parents[node] as usize] += totals[node];
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(tree: &mut Tree, frames: &[FrameId], weight: i64) {
        let place = tree.place(frames.iter().copied());
        assert!(tree.add(place, weight));
    }

    #[test]
    fn limits_keep_sums() {
        for (max_nodes, max_depth) in [(1, 9), (2, 9), (3, 9), (9, 0), (9, 1), (9, 2), (9, 9)] {
            let mut tree = Tree::new(Limits { max_nodes, max_depth });
            stack(&mut tree, &[1, 2, 3], 5);
            stack(&mut tree, &[1, 2], 7);
            stack(&mut tree, &[4], 11);
            assert_eq!((tree.sum(), tree.totals()[0]), (23, 23));
            assert!(tree.len() <= max_nodes);
            let mut merged = Tree::new(Limits { max_nodes, max_depth });
            let (_, fitted) = merged.merge(&tree, &[0, 1, 2, 3, 4]);
            assert!(fitted);
            assert_eq!(merged.totals(), tree.totals());
        }
    }

    #[test]
    fn what_does_not_fit_into_a_number_is_left_out() {
        let mut tree = Tree::new(Limits::default());
        let place = tree.place([1].into_iter());
        assert!(tree.add(place, i64::MAX - 1) && !tree.add(place, 2) && !tree.add(place, -1));
        assert_eq!(tree.sum(), i64::MAX - 1);
        let mut other = Tree::new(Limits::default());
        stack(&mut other, &[1], 5);
        assert!(!tree.merge(&other, &[0, 1]).1);
        assert_eq!(tree.totals()[0], i64::MAX - 1);
    }
}
