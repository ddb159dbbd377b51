//! A plan as the graph that Spark draws (`SparkPlanGraph`): code generation as clusters, exchanges once.

use emberscope_log::event::plan::{PlanNode, PlanTree};
use rustc_hash::FxHashMap;

/// A node of the graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphNode {
    /// Number of the node in the graph.
    pub id: i64,
    /// Node of the tree.
    pub tree_node: u32,
    /// Cluster it is in.
    pub cluster: Option<u32>,
}

/// The graph, nodes in the order in which they got their ids.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All nodes, clusters included.
    pub nodes: Vec<GraphNode>,
    /// From the node that gives rows to the one that takes them.
    pub edges: Vec<(i64, i64)>,
}

/// What is still to be visited.
#[derive(Clone, Copy)]
struct Visit {
    node: u32,
    parent: Option<i64>,
    cluster: Option<u32>,
}

impl Graph {
    /// The graph of a tree. Plans may nest thousands of levels, so nothing here recurses.
    pub fn of(tree: &PlanTree) -> Graph {
        let children = Children::of(tree);
        let identities = identities(tree, &children);
        let mut graph = Graph::default();
        let mut exchanges: FxHashMap<u32, i64> = FxHashMap::default();
        let mut stack = vec![Visit { node: 0, parent: None, cluster: None }];
        while let Some(visit) = stack.pop() {
            if tree.nodes.get(visit.node as usize).is_some() {
                graph.visit(tree, visit, &children, &identities, &mut exchanges, &mut stack);
            }
        }
        graph
    }

    fn visit(
        &mut self,
        tree: &PlanTree,
        visit: Visit,
        children: &Children,
        identities: &[u32],
        exchanges: &mut FxHashMap<u32, i64>,
        stack: &mut Vec<Visit>,
    ) {
        let Visit { node, parent, cluster } = visit;
        let name = tree.text(tree.nodes[node as usize].name);
        let known =
            |node: u32, exchanges: &FxHashMap<u32, i64>| exchanges.get(&identities[node as usize]).copied();
        let child = children.of_node(node).first().copied();
        match (name, child) {
            (name, Some(child)) if name.starts_with("WholeStageCodegen") => {
                self.add(node, None);
                stack.push(Visit { node: child, parent, cluster: Some(node) });
            }
            ("InputAdapter" | "TableCacheQueryStage", Some(child)) => {
                stack.push(Visit { node: child, parent, cluster: None });
            }
            ("BroadcastQueryStage" | "ShuffleQueryStage" | "ResultQueryStage", Some(child)) => {
                match known(child, exchanges) {
                    Some(exchange) => self.link(exchange, parent),
                    None => stack.push(Visit { node: child, parent, cluster: None }),
                }
            }
            ("Subquery", _) if cluster.is_some() => stack.push(Visit { node, parent, cluster: None }),
            ("Subquery", _) if known(node, exchanges).is_some() => {
                if let Some(subquery) = known(node, exchanges) {
                    self.link(subquery, parent);
                }
            }
            ("ReusedSubquery", Some(child)) => stack.push(Visit { node: child, parent, cluster }),
            ("ReusedExchange", Some(child)) if known(child, exchanges).is_some() => {
                if let Some(exchange) = known(child, exchanges) {
                    self.link(exchange, parent);
                }
            }
            (name, _) => {
                let id = self.add(node, cluster);
                if name.contains("Exchange") || name == "Subquery" {
                    exchanges.insert(identities[node as usize], id);
                }
                self.link(id, parent);
                let children = children.of_node(node).iter().rev();
                stack.extend(children.map(|child| Visit { node: *child, parent: Some(id), cluster }));
            }
        }
    }

    fn add(&mut self, tree_node: u32, cluster: Option<u32>) -> i64 {
        let id = self.nodes.len() as i64;
        self.nodes.push(GraphNode { id, tree_node, cluster });
        id
    }

    fn link(&mut self, from: i64, to: Option<i64>) {
        self.edges.extend(to.map(|to| (from, to)));
    }
}

/// Children of every node, in their order.
struct Children {
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl Children {
    fn of(tree: &PlanTree) -> Children {
        let parents = || tree.nodes.iter().map(|node: &PlanNode| node.parent.map(|parent| parent as usize));
        let mut starts = vec![0u32; tree.nodes.len() + 1];
        for parent in parents().flatten() {
            starts[parent + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut children = vec![0; tree.nodes.len()];
        for (node, parent) in parents().enumerate() {
            if let Some(parent) = parent {
                children[next[parent] as usize] = node as u32;
                next[parent] += 1;
            }
        }
        Children { starts, children }
    }

    fn of_node(&self, node: u32) -> &[u32] {
        &self.children[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// A number for every node, equal for subtrees that are written alike: how Spark knows an exchange that is
/// used again.
fn identities(tree: &PlanTree, children: &Children) -> Vec<u32> {
    let mut known: FxHashMap<(&str, &str, Vec<u32>), u32> = FxHashMap::default();
    let mut identities = vec![0; tree.nodes.len()];
    // Children come after their parents.
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let of_children =
            children.of_node(at as u32).iter().map(|child| identities[*child as usize]).collect();
        let next = known.len() as u32;
        identities[at] =
            *known.entry((tree.text(node.name), tree.text(node.simple_string), of_children)).or_insert(next);
    }
    identities
}
