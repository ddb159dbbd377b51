//! What a stage does, as its query's plan tells it: operator, keys, and what adaptive execution did.

use crate::config::{Conf, Version};
use crate::context::{Context, StageDigest};
use crate::finding::Change;
use crate::plan::{Node, OperatorClass, SqlView};
use crate::words;

/// What the plan says of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StagePlan {
    /// The operator that needs its rows together: a join, window, aggregation or sort fed by a shuffle.
    pub operator: Option<String>,
    /// Its node in the final plan.
    pub node_id: Option<u32>,
    /// Detail of the operator, as the plan has it.
    pub detail: String,
    /// What that operator is.
    pub class: Option<OperatorClass>,
    /// Expressions by which the data was shuffled to this stage, without expression ids.
    pub keys: Vec<String>,
    /// Whether all of the stage's data comes through one partition.
    pub is_single_partition: bool,
    /// Whether the shuffle was asked for by `repartition`.
    pub is_user_repartition: bool,
    /// Whether groups were already combined before the shuffle.
    pub has_partial_aggregation: bool,
    /// Whether it works on `count(DISTINCT ..)`, whose first shuffle is by the distinct column too.
    pub is_distinct: bool,
    /// Whether adaptive execution planned the query.
    pub is_adaptive: bool,
    /// Whether it merged small partitions of this stage.
    pub is_coalesced: bool,
    /// Whether it split large ones.
    pub is_skew_split: bool,
    /// Scan of the stage: node name.
    pub scan: Option<String>,
    /// Whether it reads cached data, whose records are batches of rows.
    pub reads_cache: bool,
    /// Whether Python code runs in it.
    pub has_python: bool,
    /// Whether it only fetches the first rows.
    pub is_limit: bool,
    /// Whether it keeps state of a streaming query, whose partitions the checkpoint fixes.
    pub is_stateful: bool,
    /// Whether it reads any shuffle.
    pub reads_shuffle: bool,
    /// Whether there is another operator above the join that relies on how its rows are distributed.
    pub has_operator_above: bool,
}

/// What adaptive execution did about a large partition, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AqeSplit {
    /// Short name.
    pub verdict: &'static str,
    /// In words.
    pub reason: String,
    /// Settings that would have changed it.
    pub changes: Vec<Change>,
}

impl StagePlan {
    /// Of a stage; `None` where its query has no plan, or none of the plan's nodes ran in it.
    pub fn of(context: &Context<'_>, digest: &StageDigest) -> Option<Self> {
        let view = context.sql_view(digest.sql_id?)?;
        let place = (digest.id, digest.attempt);
        let here: Vec<u32> = view.nodes_of_stage(place).map(|(id, _)| id).collect();
        if here.is_empty() {
            return None;
        }
        let mut plan = StagePlan {
            is_adaptive: view.nodes.iter().any(|node| node.name.starts_with("AdaptiveSparkPlan")),
            ..StagePlan::default()
        };
        for id in &here {
            plan.look_at(&view.nodes[*id as usize]);
        }
        let operator = here
            .iter()
            .filter(|id| {
                rank(view.nodes[**id as usize].class) > 0 && !exchanges_below(&view, **id).is_empty()
            })
            .max_by_key(|id| (rank(view.nodes[**id as usize].class), **id));
        if let Some(id) = operator {
            plan.take_operator(&view, *id, &here);
        }
        for (id, node) in view.nodes.iter().enumerate() {
            if is_exchange(node) && is_read_by(&view, id as u32, place) {
                plan.take_exchange(&view, id as u32);
            }
        }
        Some(plan)
    }

    fn look_at(&mut self, node: &Node) {
        match node.class {
            OperatorClass::Scan => self.scan = Some(node.name.clone()),
            OperatorClass::Cache => self.reads_cache = true,
            OperatorClass::Python => self.has_python = true,
            _ => {}
        }
        let keeps = [
            "StateStore",
            "StreamingSymmetricHashJoin",
            "StreamingDeduplicate",
            "GroupsWithState",
            "TransformWithState",
        ];
        self.is_stateful |= keeps.iter().any(|name| node.name.contains(name));
        self.is_limit |= node.name.contains("Limit") || node.name.starts_with("TakeOrdered");
    }

    fn take_operator(&mut self, view: &SqlView<'_>, id: u32, here: &[u32]) {
        let node = &view.nodes[id as usize];
        self.operator = Some(node.name.clone());
        self.node_id = Some(id);
        self.detail = node.detail.clone();
        self.class = Some(node.class);
        self.is_skew_split = node.name.contains("skew=true") || node.detail.contains("skew=true");
        self.is_distinct = here.iter().any(|id| view.nodes[*id as usize].detail.contains("(distinct "));
        // Pre-order: operators above have lower numbers.
        self.has_operator_above = here.iter().any(|other| {
            *other < id
                && rank(view.nodes[*other as usize].class) > 0
                && !is_partial(&view.nodes[*other as usize])
        });
    }

    fn take_exchange(&mut self, view: &SqlView<'_>, id: u32) {
        let node = &view.nodes[id as usize];
        self.reads_shuffle = true;
        self.is_single_partition |= node.detail.contains("SinglePartition");
        self.is_user_repartition |= node.detail.contains("REPARTITION");
        let keys = shuffle_keys(&node.detail);
        if self.keys.is_empty() {
            self.keys = keys;
        }
        self.has_partial_aggregation |= first_operator_below(view, id).is_some_and(is_partial);
        let mut above = node.parent;
        while let Some(parent) = above {
            let reader = &view.nodes[parent as usize];
            if !is_transparent(reader) {
                break;
            }
            if reader.name.contains("AQEShuffleRead") || reader.name.contains("CustomShuffleReader") {
                self.is_coalesced |= reader.detail.contains("coalesced") || reader.name.contains("coalesced");
                self.is_skew_split |= reader.detail.contains("skewed") || reader.name.contains("skewed");
            }
            above = reader.parent;
        }
    }

    /// `SortMergeJoin on customer_id`, for titles; `None` where nothing is known.
    pub fn place_words(&self) -> Option<String> {
        let operator = self.operator.as_deref()?;
        let name = operator.split('(').next().unwrap_or(operator).trim();
        Some(match self.keys.is_empty() {
            true => name.to_owned(),
            false => format!("{name} on {}", self.keys.join(", ")),
        })
    }

    /// Why adaptive execution did not split a shuffle partition of `largest` bytes among ones of
    /// `median` bytes, or that it did.
    pub fn aqe_split(&self, conf: &Conf<'_>, largest: i64, median: i64) -> AqeSplit {
        const FACTOR: &str = "spark.sql.adaptive.skewJoin.skewedPartitionFactor";
        const THRESHOLD: &str = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes";
        let said = |verdict, reason: String, changes: Vec<Change>| AqeSplit { verdict, reason, changes };
        if conf.version() < Version(3, 0) {
            let reason = format!("Spark {}.{} has no adaptive skew join", conf.version().0, conf.version().1);
            return said("unsupported", reason, Vec::new());
        }
        if self.is_skew_split {
            let reason = "AQE split partitions of this stage, and what is left is still uneven".to_owned();
            return said("split", reason, Vec::new());
        }
        let is_join = self
            .operator
            .as_deref()
            .is_some_and(|name| name.starts_with("SortMergeJoin") || name.starts_with("ShuffledHashJoin"));
        if !is_join {
            let reason = match &self.operator {
                Some(operator) => format!("AQE splits partitions of joins only, not of {operator}"),
                None => "AQE splits partitions of joins only".to_owned(),
            };
            return said("notJoin", reason, Vec::new());
        }
        let hot_by_bytes = median > 0 && largest as f64 > 2.0 * median as f64;
        let lowered = |threshold: i64| threshold.min((largest / 2).max(1));
        if !self.is_adaptive || conf.bool("spark.sql.adaptive.enabled") == Some(false) {
            let reason = "Adaptive execution is off".to_owned();
            return said(
                "disabled",
                reason,
                conf.propose("spark.sql.adaptive.enabled", "true").into_iter().collect(),
            );
        }
        if conf.bool("spark.sql.adaptive.skewJoin.enabled") == Some(false) {
            let changes = conf.propose("spark.sql.adaptive.skewJoin.enabled", "true").into_iter().collect();
            return said("skewJoinDisabled", "AQE's skew join is switched off".to_owned(), changes);
        }
        if self.detail.contains("FullOuter") {
            let reason = "AQE cannot split either side of a full outer join".to_owned();
            return said("joinType", reason, Vec::new());
        }
        if self.is_user_repartition {
            let reason = "AQE does not split a shuffle that `repartition` asked for".to_owned();
            return said("userRepartition", reason, Vec::new());
        }
        let factor = conf.number(FACTOR).unwrap_or(5.0);
        let threshold = conf.bytes(THRESHOLD).unwrap_or(256 << 20);
        if largest <= threshold || largest as f64 <= factor * median as f64 {
            let limit = (threshold as f64).max(factor * median as f64) as i64;
            let reason = format!(
                "AQE goes by bytes: the partition has {}, and must exceed both {} and {factor} times the median ({})",
                words::size(largest),
                words::size(threshold),
                words::size(median),
            );
            // By bytes alone a compressible key never stands out: then no threshold helps.
            let mut changes = Vec::new();
            if hot_by_bytes && limit > 0 {
                if largest <= threshold {
                    changes.extend(conf.propose(THRESHOLD, words::setting_size(lowered(threshold))));
                }
                if largest as f64 <= factor * median as f64 {
                    changes.extend(conf.propose(FACTOR, "2"));
                }
                let advisory =
                    conf.bytes("spark.sql.adaptive.advisoryPartitionSizeInBytes").unwrap_or(64 << 20);
                if advisory > largest / 4 {
                    let target = words::setting_size((largest / 8).max(median).max(1));
                    changes.extend(conf.propose("spark.sql.adaptive.advisoryPartitionSizeInBytes", target));
                }
            }
            return said("belowThreshold", reason, changes);
        }
        if self.has_operator_above {
            let changes =
                conf.propose("spark.sql.adaptive.forceOptimizeSkewedJoin", "true").into_iter().collect();
            let reason =
                "splitting would add a shuffle, because an operator above the join needs its rows together";
            return said("extraShuffle", reason.to_owned(), changes);
        }
        let reason = "the partition is above AQE's thresholds, and the plan does not show why it was not split; the large side may be one that this join type cannot split";
        said("notSplit", reason.to_owned(), Vec::new())
    }
}

fn rank(class: OperatorClass) -> u8 {
    match class {
        OperatorClass::Join => 4,
        OperatorClass::Window => 3,
        OperatorClass::Aggregation => 2,
        OperatorClass::Sort => 1,
        _ => 0,
    }
}

fn is_exchange(node: &Node) -> bool {
    node.class == OperatorClass::Shuffle && node.name.contains("Exchange")
}

fn is_partial(node: &Node) -> bool {
    node.class == OperatorClass::Aggregation && node.detail.contains("partial_")
}

/// Nodes between an exchange and the operator that reads it.
fn is_transparent(node: &Node) -> bool {
    [
        "AQEShuffleRead",
        "CustomShuffleReader",
        "QueryStage",
        "InputAdapter",
        "WholeStageCodegen",
        "ColumnarToRow",
    ]
    .iter()
    .any(|name| node.name.contains(name))
}

/// Shuffles that feed a node through operators of its own stage.
fn exchanges_below(view: &SqlView<'_>, id: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = view.nodes[id as usize].children.clone();
    while let Some(next) = open.pop() {
        let node = &view.nodes[next as usize];
        if is_exchange(node) {
            found.push(next);
        } else if node.class != OperatorClass::Broadcast && !node.name.contains("BroadcastQueryStage") {
            open.extend(&node.children);
        }
    }
    found
}

fn is_read_by(view: &SqlView<'_>, exchange: u32, place: (u32, u32)) -> bool {
    let mut above = view.nodes[exchange as usize].parent;
    while let Some(parent) = above {
        let node = &view.nodes[parent as usize];
        if !is_transparent(node) {
            return !is_exchange(node) && node.stages.stages.contains(&place);
        }
        above = node.parent;
    }
    false
}

fn first_operator_below<'v>(view: &'v SqlView<'_>, id: u32) -> Option<&'v Node> {
    let mut below = view.nodes[id as usize].children.first();
    while let Some(child) = below {
        let node = &view.nodes[*child as usize];
        if !is_transparent(node) && node.class != OperatorClass::Other {
            return Some(node);
        }
        below = node.children.first();
    }
    None
}

/// The expressions in `hashpartitioning(k#1L, lower(name#2), 16)`, without ids and the count.
pub fn shuffle_keys(detail: &str) -> Vec<String> {
    let Some(start) = ["hashpartitioning(", "rangepartitioning("]
        .iter()
        .find_map(|name| detail.find(name).map(|at| at + name.len()))
    else {
        return Vec::new();
    };
    let mut keys = vec![String::new()];
    let mut depth = 0;
    for character in detail[start..].chars() {
        match character {
            ')' if depth == 0 => break,
            ',' if depth == 0 => {
                keys.push(String::new());
                continue;
            }
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if let Some(key) = keys.last_mut() {
            key.push(character);
        }
    }
    keys.iter()
        .map(|key| without_ids(key.trim()))
        .filter(|key| !key.is_empty() && key.parse::<u64>().is_err())
        .collect()
}

/// `k#12L` is `k`.
fn without_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '#' || !rest.peek().is_some_and(char::is_ascii_digit) {
            out.push(character);
            continue;
        }
        while rest.peek().is_some_and(char::is_ascii_digit) {
            rest.next();
        }
        if rest.peek() == Some(&'L') {
            rest.next();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_shuffles() {
        for (detail, keys) in [
            ("Exchange hashpartitioning(k#5L, 16), ENSURE_REQUIREMENTS, [plan_id=83]", vec!["k"]),
            ("Exchange hashpartitioning(coalesce(a#1, 0), b#2L, 200)", vec!["coalesce(a, 0)", "b"]),
            ("Exchange rangepartitioning(v#3 ASC NULLS FIRST, 8)", vec!["v ASC NULLS FIRST"]),
            ("Exchange SinglePartition", vec![]),
            ("Exchange hashpartitioning(k#5L", vec!["k"]),
        ] {
            assert_eq!(shuffle_keys(detail), keys, "{detail}");
        }
    }
}
