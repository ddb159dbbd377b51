//! What a join joins: strategy, type, keys, build side.

use super::SqlView;
use super::rows::rows_into;
use super::text::{bracketed, split_top, without_ids};

/// How rows find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// Both sides are shuffled and sorted.
    SortMerge,
    /// One side is sent to all executors.
    BroadcastHash,
    /// Both sides are shuffled, one is hashed.
    ShuffledHash,
    /// Every row against every row, one side sent to all executors.
    NestedLoop,
    /// Every row against every row, partition by partition.
    Cartesian,
}

impl Strategy {
    /// Spark's name of the operator.
    pub fn name(self) -> &'static str {
        match self {
            Self::SortMerge => "SortMergeJoin",
            Self::BroadcastHash => "BroadcastHashJoin",
            Self::ShuffledHash => "ShuffledHashJoin",
            Self::NestedLoop => "BroadcastNestedLoopJoin",
            Self::Cartesian => "CartesianProduct",
        }
    }

    fn of(name: &str) -> Option<Self> {
        let all =
            [Self::SortMerge, Self::BroadcastHash, Self::ShuffledHash, Self::NestedLoop, Self::Cartesian];
        all.into_iter().find(|strategy| name.trim_end_matches("(skew=true)").trim() == strategy.name())
    }
}

/// Which rows a join gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinType {
    Inner,
    Cross,
    LeftOuter,
    RightOuter,
    FullOuter,
    LeftSemi,
    LeftAnti,
    Existence,
}

impl JoinType {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "Inner" => Self::Inner,
            "Cross" => Self::Cross,
            "LeftOuter" => Self::LeftOuter,
            "RightOuter" => Self::RightOuter,
            "FullOuter" => Self::FullOuter,
            "LeftSemi" => Self::LeftSemi,
            "LeftAnti" => Self::LeftAnti,
            text if text.starts_with("ExistenceJoin") => Self::Existence,
            _ => return None,
        })
    }

    /// Whether a side may be the one that is hashed and sent around (`canBuildBroadcastLeft/Right`).
    pub fn may_build(self, side: Side) -> bool {
        match side {
            Side::Left => matches!(self, Self::Inner | Self::Cross | Self::RightOuter),
            Side::Right => !matches!(self, Self::RightOuter | Self::FullOuter),
        }
    }
}

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    /// Position among the children.
    pub fn index(self) -> usize {
        match self {
            Self::Left => 0,
            Self::Right => 1,
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// The word in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// A join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Its node.
    pub node: u32,
    /// How.
    pub strategy: Strategy,
    /// Which rows; `None` when the text does not say.
    pub join_type: Option<JoinType>,
    /// Keys of the left side, without ids.
    pub left_keys: Vec<String>,
    /// Keys of the right side.
    pub right_keys: Vec<String>,
    /// What must hold beside equal keys.
    pub condition: Option<String>,
    /// The side that is hashed.
    pub build: Option<Side>,
    /// Whether adaptive execution split skewed partitions of it.
    pub is_skew_split: bool,
    /// Rows it gave.
    pub rows: Option<i64>,
    /// Rows that came in on the left and on the right.
    pub rows_in: [Option<i64>; 2],
}

impl Join {
    /// Keys as a person would write them: `k`, or `a = b`.
    pub fn keys_label(&self) -> String {
        let pairs = self.left_keys.iter().zip(&self.right_keys);
        let pairs =
            pairs.map(|(left, right)| if left == right { left.clone() } else { format!("{left} = {right}") });
        pairs.collect::<Vec<String>>().join(", ")
    }

    /// Whether it compares every row of one side with every row of the other.
    pub fn is_loop(&self) -> bool {
        matches!(self.strategy, Strategy::NestedLoop | Strategy::Cartesian)
    }

    /// Rows of one side times rows of the other; `None` where one is not known.
    pub fn pairs(&self) -> Option<f64> {
        Some(self.rows_in[0]? as f64 * self.rows_in[1]? as f64)
    }
}

/// All joins of a plan that ran outside of cached plans, in pre-order.
pub fn joins(view: &SqlView<'_>) -> Vec<Join> {
    (0..view.nodes.len() as u32)
        .filter(|node| !view.is_cached_plan(*node))
        .filter_map(|node| join(view, node))
        .collect()
}

/// The join at a node; `None` for other operators and for joins of native engines.
pub fn join(view: &SqlView<'_>, node: u32) -> Option<Join> {
    let it = view.nodes.get(node as usize)?;
    let mut join = parse(&it.name, &it.detail)?;
    join.node = node;
    join.rows = view.total(node, "number of output rows");
    for (side, rows) in join.rows_in.iter_mut().enumerate() {
        *rows = it.children.get(side).and_then(|child| rows_into(view, *child));
    }
    Some(join)
}

/// A join from its texts alone.
pub(crate) fn parse(name: &str, detail: &str) -> Option<Join> {
    let strategy = Strategy::of(name)?;
    let mut join = Join {
        node: 0,
        strategy,
        join_type: None,
        left_keys: Vec::new(),
        right_keys: Vec::new(),
        condition: None,
        build: None,
        is_skew_split: name.contains("skew=true") || detail.contains("skew=true"),
        rows: None,
        rows_in: [None, None],
    };
    let arguments = detail.strip_prefix(strategy.name()).unwrap_or(detail).trim_start_matches("(skew=true)");
    let mut keys = [Vec::new(), Vec::new()];
    let mut seen_keys = 0;
    for part in split_top(arguments, ',') {
        if part.starts_with('[') && seen_keys < 2 && join.join_type.is_none() {
            let inside = bracketed(part).map_or("", |(inside, _)| inside);
            keys[seen_keys] = split_top(inside, ',').into_iter().map(without_ids).collect();
            seen_keys += 1;
        } else if let Some(join_type) = JoinType::parse(part) {
            join.join_type = Some(join_type);
        } else if part == "BuildLeft" || part == "BuildRight" {
            join.build = Some(if part == "BuildLeft" { Side::Left } else { Side::Right });
        } else if !matches!(part, "true" | "false") {
            join.condition = Some(without_ids(part));
        } else if strategy == Strategy::SortMerge && part == "true" {
            join.is_skew_split = true;
        }
    }
    if strategy == Strategy::Cartesian {
        join.join_type = Some(JoinType::Inner);
    }
    [join.left_keys, join.right_keys] = keys;
    Some(join)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_joins() {
        let case = |name: &str, detail: &str| {
            let join = parse(name, detail).unwrap();
            (join.strategy, join.join_type, join.keys_label(), join.condition, join.build)
        };
        assert_eq!(
            case("SortMergeJoin", "SortMergeJoin [dept#16L], [dept#148L], Inner"),
            (Strategy::SortMerge, Some(JoinType::Inner), "dept".into(), None, None)
        );
        assert_eq!(
            case(
                "BroadcastHashJoin",
                "BroadcastHashJoin [a#1, b#2], [c#3, b#4], LeftOuter, BuildRight, (x#1 < y#2), false"
            ),
            (
                Strategy::BroadcastHash,
                Some(JoinType::LeftOuter),
                "a = c, b".into(),
                Some("(x < y)".into()),
                Some(Side::Right)
            )
        );
        assert_eq!(
            case("BroadcastNestedLoopJoin", "BroadcastNestedLoopJoin BuildRight, Inner, (k#1L < k#2L)"),
            (
                Strategy::NestedLoop,
                Some(JoinType::Inner),
                String::new(),
                Some("(k < k)".into()),
                Some(Side::Right)
            )
        );
        assert!(
            parse("SortMergeJoin(skew=true)", "SortMergeJoin(skew=true) [k#69L], [k#75L], Inner")
                .unwrap()
                .is_skew_split
        );
        assert!(parse("Sort", "Sort [k#1]").is_none());
    }

    #[test]
    fn build_sides() {
        assert!(!JoinType::LeftOuter.may_build(Side::Left) && JoinType::LeftOuter.may_build(Side::Right));
        assert!(JoinType::RightOuter.may_build(Side::Left) && !JoinType::RightOuter.may_build(Side::Right));
        assert!(!JoinType::FullOuter.may_build(Side::Left) && !JoinType::FullOuter.may_build(Side::Right));
    }
}
