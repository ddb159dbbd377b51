//! What decides how many tasks a stage has, and how to make it another number.

use crate::context::Context;
use crate::finding::Change;
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::words;

/// What decides a stage's number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// `spark.sql.shuffle.partitions`.
    ShufflePartitions,
    /// Adaptive execution, which merged partitions by their bytes.
    AqeCoalesced,
    /// How files are cut: `spark.sql.files.maxPartitionBytes`.
    FileSplits,
    /// Files that were read whole although they are larger than a split may be: their format or codec cannot be cut.
    WholeFiles,
    /// An operator that has all rows in one partition: a window or aggregation without keys, a global limit.
    SinglePartition,
    /// The checkpoint of a streaming query with state.
    Checkpoint,
    /// The program: `repartition`, `coalesce`, slices, options of a source.
    Program,
}

impl Lever {
    /// Name in evidence.
    pub fn name(self) -> &'static str {
        match self {
            Lever::ShufflePartitions => "shuffle_partitions",
            Lever::AqeCoalesced => "aqe_coalesced",
            Lever::FileSplits => "file_splits",
            Lever::WholeFiles => "whole_files",
            Lever::SinglePartition => "single_partition",
            Lever::Checkpoint => "checkpoint",
            Lever::Program => "program",
        }
    }
}

/// Bytes that may be read beside a split for the sake of buffers, at both of its ends.
const BUFFERS_BYTES: i64 = 1 << 20;

/// What decides the number of tasks of a stage.
pub fn lever(context: &Context<'_>, view: &StageView<'_>, plan: Option<&StagePlan>) -> Lever {
    let sums = &view.digest.counted;
    // A barrier stage has as many tasks as the program told it to.
    let Some(plan) = plan.filter(|_| !view.stage.is_barrier) else {
        return Lever::Program;
    };
    if plan.reads_shuffle || sums.shuffle_read_records > sums.input_records {
        let conf = context.conf_of_stage(view.digest);
        let configured = conf.number("spark.sql.shuffle.partitions").unwrap_or(0.0);
        return if plan.is_single_partition {
            Lever::SinglePartition
        } else if plan.is_stateful {
            Lever::Checkpoint
        } else if plan.is_user_repartition {
            Lever::Program
        } else if plan.is_coalesced {
            Lever::AqeCoalesced
        } else if view.digest.useful as f64 == configured || plan.is_adaptive {
            Lever::ShufflePartitions
        } else {
            Lever::Program
        };
    }
    // A range or local table is cut by the program; a file scan by the size of its splits.
    match &plan.scan {
        Some(scan) if scan.contains("LocalTable") || scan.contains("ExistingRDD") || plan.reads_cache => {
            Lever::Program
        }
        Some(scan) if scan.contains("Scan") && sums.input_bytes > 0 && !scan.contains("JDBC") => {
            let limit = context.conf_of_stage(view.digest).bytes("spark.sql.files.maxPartitionBytes");
            let largest = view.useful().map(|task| task.input_bytes).max().unwrap_or(0);
            // What is read beside the split itself (footers, the end of a record) is far less than half of it, but
            // for small splits: files are read through buffers.
            match limit {
                Some(limit) if largest > limit + (limit / 2).max(BUFFERS_BYTES) => Lever::WholeFiles,
                _ => Lever::FileSplits,
            }
        }
        _ => Lever::Program,
    }
}

/// How to have `tasks` tasks: in words, and as changes.
pub fn to_have(
    context: &Context<'_>,
    view: &StageView<'_>,
    plan: Option<&StagePlan>,
    tasks: u32,
) -> (String, Vec<Change>) {
    const MIN_SIZE: &str = "spark.sql.adaptive.coalescePartitions.minPartitionSize";
    const ADVISORY: &str = "spark.sql.adaptive.advisoryPartitionSizeInBytes";
    const COALESCE: &str = "spark.sql.adaptive.coalescePartitions.enabled";
    const ADAPTIVE: &str = "spark.sql.adaptive.enabled";
    const PARALLELISM_FIRST: &str = "spark.sql.adaptive.coalescePartitions.parallelismFirst";
    let conf = context.conf_of_stage(view.digest);
    let sums = &view.digest.counted;
    let per_task = |bytes: i64| (bytes / i64::from(tasks.max(1))).max(1);
    let is_more = u64::from(tasks) > view.digest.useful;
    match lever(context, view, plan) {
        Lever::AqeCoalesced if is_more => {
            let wanted = per_task(sums.shuffle_read_bytes);
            let size = words::setting_size(wanted);
            let mut changes = Vec::new();
            // AQE aims at the advisory size, or below it to keep all cores busy, never below the smallest size.
            if conf.exists(MIN_SIZE) && conf.bytes(MIN_SIZE).is_some_and(|least| least > wanted) {
                changes.extend(conf.propose(MIN_SIZE, size.clone()));
            }
            if conf.bool(PARALLELISM_FIRST) != Some(true)
                && conf.bytes(ADVISORY).is_some_and(|bytes| bytes > wanted)
            {
                changes.extend(conf.propose(ADVISORY, size));
            }
            if changes.is_empty() {
                changes.extend(conf.propose(COALESCE, "false"));
            }
            let text = format!(
                "AQE merged the partitions because they are small in bytes ({} in all), although their rows are costly: \
let it merge less for this query, or repartition({tasks}) before the costly step",
                words::size(sums.shuffle_read_bytes)
            );
            (text, changes)
        }
        Lever::AqeCoalesced | Lever::ShufflePartitions
            if !is_more && plan.is_some_and(|plan| plan.is_adaptive) =>
        {
            let mut changes: Vec<Change> = Vec::new();
            changes.extend(conf.propose(COALESCE, "true"));
            if changes.is_empty() {
                changes.extend(conf.propose(PARALLELISM_FIRST, "false"));
            }
            if changes.is_empty() {
                changes.extend(conf.propose("spark.sql.shuffle.partitions", tasks.to_string()));
            }
            ("let AQE merge the small partitions".to_owned(), changes)
        }
        Lever::AqeCoalesced | Lever::ShufflePartitions => {
            let mut changes: Vec<Change> =
                conf.propose("spark.sql.shuffle.partitions", tasks.to_string()).into_iter().collect();
            let mut text = format!("shuffle into {tasks} partitions");
            // What merges small partitions by itself is switched off, or not yet on by default.
            let is_off = conf.exists(COALESCE) && conf.bool(ADAPTIVE) == Some(false);
            if !is_more && is_off {
                changes.splice(0..0, conf.propose(ADAPTIVE, "true"));
                text = format!(
                    "adaptive execution, which merges small partitions by itself, is off (`{ADAPTIVE}`): switch it \
on, or {text}"
                );
            }
            (text, changes)
        }
        Lever::FileSplits => {
            let size = words::setting_size(per_task(sums.input_bytes));
            let changes = conf.propose("spark.sql.files.maxPartitionBytes", size).into_iter().collect();
            (format!("cut the input into about {tasks} splits"), changes)
        }
        Lever::WholeFiles => {
            let text = format!(
                "the files are read whole, so that no setting cuts them: write them in a format that can be split, or repartition({tasks}) right after reading"
            );
            (text, vec![Change::data("input files", "a format that can be split")])
        }
        Lever::SinglePartition => {
            let what = plan.and_then(|plan| plan.operator.as_deref()).unwrap_or("the operator");
            let text = format!(
                "{what} has all its rows in one partition, and no setting changes that: give it keys (PARTITION BY, GROUP BY), or fewer rows"
            );
            (text, vec![Change::code("single partition", "keys for the operator, or fewer rows before it")])
        }
        Lever::Checkpoint => {
            let text = format!(
                "the checkpoint of a query with state fixes its number of partitions: `spark.sql.shuffle.partitions` of {tasks} acts from a new checkpoint on"
            );
            (
                text,
                vec![Change::code(
                    "checkpoint",
                    format!("a new one, with spark.sql.shuffle.partitions = {tasks}"),
                )],
            )
        }
        Lever::Program => {
            let what = if is_more { "repartition" } else { "coalesce" };
            let change = Change::code(what, format!("{tasks} partitions"));
            (
                format!(
                    "use about {tasks} partitions in the program (repartition, coalesce, slices or the source's own option)"
                ),
                vec![change],
            )
        }
    }
}
