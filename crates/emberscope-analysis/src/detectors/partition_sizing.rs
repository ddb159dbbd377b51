//! Shuffle partitions of the wrong size.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Claim, Confidence, Nature, Worth};
use crate::partitions;
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::words::{self, rounded};

const SKEW_RATIO: Threshold = Threshold {
    tag: "PART",
    name: "skew_ratio",
    default: 5.0,
    doc: "Times the median that the largest partition must have.",
};
const SKEW_BYTES: Threshold = Threshold {
    tag: "PART",
    name: "skew_bytes",
    default: 268_435_456.0,
    doc: "Least size of the largest partition for it to count as skewed.",
};
const FEW_BYTES: Threshold = Threshold {
    tag: "PART",
    name: "few_bytes",
    default: 134_217_728.0,
    doc: "Median partition from which a stage with fewer partitions than free slots has too few.",
};
const BIG_BYTES: Threshold = Threshold {
    tag: "PART",
    name: "big_bytes",
    default: 1_073_741_824.0,
    doc: "Median partition from which the partitions of a stage are too large, whether or not they spill.",
};
const SPILLING_BYTES: Threshold = Threshold {
    tag: "PART",
    name: "spilling_bytes",
    default: 268_435_456.0,
    doc: "Median partition from which the partitions of a stage are too large if most of them spill.",
};
const TARGET_BYTES: Threshold = Threshold {
    tag: "PART",
    name: "target_bytes",
    default: 134_217_728.0,
    doc: "Size of a partition to aim at, where the sizes that did not spill do not say otherwise.",
};

/// The detector.
pub static PART: Detector = Detector {
    tag: "PART",
    title: "Partition sizes",
    types: &[FindingType {
        name: "partitionSizing",
        what: "The shuffle partitions that a stage reads are too few, too large or very uneven.",
    }],
    thresholds: &[SKEW_RATIO, SKEW_BYTES, FEW_BYTES, BIG_BYTES, SPILLING_BYTES, TARGET_BYTES],
    checks: &[Check::Stage(check)],
    what: "A stage reads its shuffle in partitions, one for each task. `tooFew`: they are large and fewer than the slots that \
were free. `tooBig`: the typical partition is too large for a task's share of memory. `skewed`: one is large and many times the median. The \
proposed number follows from the sizes that were measured: large enough that the largest usual partition has the size of those that did \
not spill.",
    rule: "Over the attempts that counted, by shuffle bytes read. *tooFew*: median at least `few_bytes` and fewer tasks than free \
slots. *tooBig*: median at least `big_bytes`, or `spilling_bytes` where most tasks spill. *skewed*: largest at least \
`skew_bytes` and `skew_ratio` times the median. The target is the largest of the partitions that did not spill, at most \
`target_bytes`.",
    why: "Large partitions do not fit a task's share of memory: they spill, and collections take longer. Too few leave cores without work, \
and a task that fails repeats more.",
    fix: "```sql\nSET spark.sql.shuffle.partitions = 400;\n```\n\n```python\nspark.conf.set(\"spark.sql.adaptive.advisoryPartitionSizeInBytes\", \"64m\")\ndf.repartition(400, \"k\")\n```\n\n\
With AQE set a generous number; it merges what turns out small. One hot key stays in one partition whatever the number: see `skew`.",
    limits: "Sizes are compressed bytes as shuffled; in memory rows take several times that. Row counts may be uneven where bytes are even.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    // The largest partition cannot be larger than all.
    if (digest.counted.shuffle_read_bytes as f64) < context.get(&FEW_BYTES).min(context.get(&SKEW_BYTES))
        || context.is_immaterial(digest.running_ms())
    {
        return;
    }
    let sizes = view.spread(|task| task.shuffle_read_bytes);
    let (Some(median), Some(max)) = (sizes.median(), sizes.max()) else { return };
    let spilling = view.useful().filter(|task| task.memory_spilled_bytes > 0).count();
    let mostly_spills = 2 * spilling as u64 > digest.useful;
    let free = context.free_slots(digest);
    let variant =
        if median >= context.get(&BIG_BYTES) || (mostly_spills && median >= context.get(&SPILLING_BYTES)) {
            "tooBig"
        } else if median >= context.get(&FEW_BYTES) && (digest.useful as f64) < free.floor() {
            "tooFew"
        } else if max >= context.get(&SKEW_BYTES) && max >= context.get(&SKEW_RATIO) * median {
            "skewed"
        } else {
            return;
        };
    // All rows in one partition is what the operator asks for.
    if StagePlan::of(context, digest).is_some_and(|plan| plan.is_single_partition) {
        return;
    }
    sink.claim(claim(context, view, variant, median, max, spilling));
}

fn claim(
    context: &Context<'_>,
    view: &StageView<'_>,
    variant: &'static str,
    median: f64,
    max: f64,
    spilling: usize,
) -> Claim {
    let digest = view.digest;
    let bytes = digest.counted.shuffle_read_bytes;
    let fitting =
        view.useful().filter(|task| task.memory_spilled_bytes == 0).map(|task| task.shuffle_read_bytes).max();
    let target = fitting
        .filter(|fits| spilling > 0 && *fits > 0)
        .map_or(context.get(&TARGET_BYTES), |fits| (fits as f64).min(context.get(&TARGET_BYTES)))
        .max(1.0);
    // As uneven as they are now, the usual largest one (not an outlier) is to have the target's size.
    let usual_max = view.spread(|task| task.shuffle_read_bytes).quantile(0.9).unwrap_or(median);
    let unevenness = (usual_max / median.max(1.0)).clamp(1.0, 2.0);
    let at_least = digest.useful as f64 + 1.0;
    let tasks = (bytes as f64 / target * unevenness).ceil().max(at_least).min(f64::from(u32::MAX)) as u32;
    let plan = StagePlan::of(context, digest);
    let (what, about) = match variant {
        "skewed" => (format!("the largest has {}", words::size(max as i64)), "very uneven"),
        "tooFew" => (format!("{:.0} slots were free", context.free_slots(digest)), "too few"),
        // Large because they are few: most of it is that cores had nothing to do.
        _ if spilling == 0 && (digest.useful as f64) < context.free_slots(digest).floor() => {
            let slots = context.free_slots(digest).floor();
            let without = slots - digest.useful as f64;
            let time = words::duration(digest.running_ms());
            (format!("{without:.0} of {slots:.0} slots had none for {time}"), "too few and too large")
        }
        _ if spilling == 0 => ("no task spills".to_owned(), "too large"),
        _ => (format!("{} {}", words::count(spilling, "task"), words::verb(spilling, "spill")), "too large"),
    };
    let title = format!(
        "The {} of stage {} {} {about}: {} at the median, {what}",
        words::count(digest.useful as usize, "shuffle partition"),
        view.stage.id,
        if digest.useful == 1 { "is" } else { "are" },
        words::size(median as i64),
    );
    let mut claim = Claim::new("partitionSizing", context.stage_scope(digest), title)
        .evidence("tasks", digest.useful)
        .evidence("shuffle_read_bytes", bytes)
        .evidence("median_bytes", median as i64)
        .evidence("largest_bytes", max as i64)
        .evidence("largest_ratio", rounded(max / median.max(1.0)))
        .evidence("spilling_tasks", spilling)
        .evidence("decided_by", partitions::lever(context, view, plan.as_ref()).name());
    claim.variant = Some(variant);
    claim.confidence = Confidence::Medium;
    claim.validate =
        "With more partitions the largest must shrink as well; if it keeps its size, one key fills it."
            .to_owned();
    if variant == "skewed" {
        claim.nature = Nature::Data;
        return claim.advice("Look for a hot key (see skew): more partitions make the others smaller, and leave this one as it is.");
    }
    let (how, changes) = partitions::to_have(context, view, plan.as_ref(), tasks);
    let overhead_ms = view.spread(|task| task.duration_ms() - task.run_ms).median().unwrap_or(0.0);
    let resized = vec![Edit::Resize { place: view.place(), tasks, overhead_ms }];
    claim.nature = Nature::Configuration;
    claim.worth = Worth::Replay { low: Vec::new(), high: resized };
    claim
        .evidence("target_bytes", target as i64)
        .evidence("proposed_tasks", tasks)
        .advice(format!("Aim at about {} a partition: {how}.", words::size(target as i64)))
        .changes(changes)
}
