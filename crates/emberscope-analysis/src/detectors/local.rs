//! Tasks that ran away from their data and were slower for it.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::stage_view::{StageView, Task};
use crate::words::{count, duration, percent, rounded};
use emberscope_model::distribution::Distribution;

const MIN_TASKS: Threshold = Threshold {
    tag: "LOCAL",
    name: "min_tasks",
    default: 50.0,
    doc: "Tasks of a stage that read stored data, from which its localities are compared.",
};

const MIN_GROUP: Threshold = Threshold {
    tag: "LOCAL",
    name: "min_tasks_on_each_side",
    default: 8.0,
    doc: "Tasks that must be on either side of the comparison, local and not.",
};

const SHARE: Threshold = Threshold {
    tag: "LOCAL",
    name: "non_local_share",
    default: 0.15,
    doc: "Share of non-local tasks from which a stage counts.",
};

const SLOWER: Threshold = Threshold {
    tag: "LOCAL",
    name: "slower_ratio",
    default: 1.25,
    doc: "Median time per record of non-local tasks over that of local ones, from which being away mattered.",
};

const LEAST_SHARE: Threshold = Threshold {
    tag: "LOCAL",
    name: "sure_share",
    default: 0.5,
    doc: "Share of the difference that is saved at least: the rest may be the host's or the records', not the place's.",
};

const WAIT_RATIO: Threshold = Threshold {
    tag: "LOCAL",
    name: "wait_ratio",
    default: 2.0,
    doc: "The locality wait that is proposed over the one in force.",
};

const LEAST_WAIT_MS: Threshold = Threshold {
    tag: "LOCAL",
    name: "least_wait_ms",
    default: 3_000.0,
    doc: "The shortest locality wait that is proposed.",
};

/// Tasks that ran away from their data and were slower for it.
pub static LOCAL: Detector = Detector {
    tag: "LOCAL",
    title: "Locality",
    types: &[FindingType {
        name: "coreLocality",
        what: "Tasks that ran away from their data took measurably longer for the same records.",
    }],
    thresholds: &[MIN_TASKS, MIN_GROUP, SHARE, SLOWER, LEAST_SHARE, WAIT_RATIO, LEAST_WAIT_MS],
    checks: &[Check::App(check)],
    what: "Tasks that read stored or cached data ran on executors that did not have it, and were slower than tasks of the \
           same stage that did, record for record. Only stages where both kinds exist are compared, and only tasks that \
           read from storage: the places of shuffle readers say nothing.",
    rule: "A stage counts when it has `min_tasks` tasks that read stored data, at least `non_local_share` of them and \
           `min_tasks_on_each_side` on either side ran at `RACK_LOCAL` or `ANY`, and their median time per record is \
           `slower_ratio` times that of the others. All such stages make one finding.",
    why: "Data comes over the network instead of from memory or a local disk. On object stores nothing is local, and \
          nothing is lost: there is no local task to compare with, and the finding stays silent.",
    fix: "Wait longer for a local core where tasks are long, put executors where the data is, or replicate cached data:\n\n\
          ```python\nfrom pyspark import StorageLevel\ndf.persist(StorageLevel.MEMORY_AND_DISK_2)\n# at submission: \
          spark.locality.wait=6s\n```\n\n```sql\nCACHE TABLE hot OPTIONS ('storageLevel' 'MEMORY_AND_DISK_2') SELECT * \
          FROM t\n```",
    limits: "A non-local task may be slow because its host is slow (`slowHost` compares hosts). The time per record says \
             little where records differ much in size.",
};

/// A stage whose non-local tasks were slower.
struct Slow {
    place: (u32, u32),
    ratio: f64,
    non_local: usize,
    tasks: usize,
    excess_ms: i64,
    full: Edit,
    half: Edit,
}

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let slow: Vec<Slow> = ctx
        .run
        .stages
        .iter()
        .zip(&ctx.stages)
        .filter(|(_, digest)| {
            digest.useful as f64 >= ctx.get(&MIN_TASKS)
                && digest.all.input_records > 0
                && digest.all.shuffle_read_records == 0
                && !ctx.is_immaterial(digest.running_ms())
        })
        .filter_map(|(stage, digest)| slow_stage(ctx, &StageView::of(stage, digest, ctx.end_ms)))
        .collect();
    if !slow.is_empty() {
        sink.claim(claim(ctx, &slow));
    }
}

fn is_away(ctx: &Context<'_>, task: &Task) -> bool {
    matches!(ctx.text(task.locality), "RACK_LOCAL" | "ANY")
}

fn slow_stage(ctx: &Context<'_>, view: &StageView<'_>) -> Option<Slow> {
    let reads = |task: &&Task| task.input_records > 0;
    let per_record = |task: &Task| task.run_ms as f64 / task.input_records.max(1) as f64;
    // Nanoseconds per record as whole numbers, for the distribution.
    let rates = |away: bool| {
        Distribution::of(
            view.useful()
                .filter(reads)
                .filter(|task| is_away(ctx, task) == away)
                .map(|task| (per_record(task) * 1e6) as i64),
        )
    };
    let (near, far) = (rates(false), rates(true));
    let (near_tasks, far_tasks) = (near.count()?, far.count()?);
    let share = far_tasks as f64 / (near_tasks + far_tasks).max(1) as f64;
    if near_tasks.min(far_tasks) as f64 <= ctx.get(&MIN_GROUP) - 1.0 || share < ctx.get(&SHARE) {
        return None;
    }
    let near_rate = near.median().filter(|rate| *rate > 0.0)?;
    let ratio = far.median()? / near_rate;
    if ratio < ctx.get(&SLOWER) {
        return None;
    }
    let local_ms = |task: &Task| {
        let as_local = near_rate * task.input_records as f64 / 1e6;
        task.duration_ms() as f64 - (task.run_ms as f64 - as_local).max(0.0)
    };
    let moved = |task: &Task| task.is_useful && task.input_records > 0 && is_away(ctx, task);
    let excess: f64 = view
        .tasks
        .iter()
        .filter(|task| moved(task))
        .map(|task| task.duration_ms() as f64 - local_ms(task))
        .sum();
    let to = |share: f64| Edit::Scale {
        place: view.place(),
        factors: view.factors_to(|task| {
            let now = task.duration_ms() as f64;
            if moved(task) { now - share * (now - local_ms(task)) } else { now }
        }),
    };
    Some(Slow {
        place: view.place(),
        ratio,
        non_local: far_tasks,
        tasks: near_tasks + far_tasks,
        excess_ms: excess as i64,
        full: to(1.0),
        // At worst a part of the difference was the host's or the records', not the place's.
        half: to(ctx.get(&LEAST_SHARE).clamp(0.0, 1.0)),
    })
}

fn claim(ctx: &Context<'_>, slow: &[Slow]) -> Claim {
    let excess: i64 = slow.iter().map(|stage| stage.excess_ms).sum();
    let non_local: usize = slow.iter().map(|stage| stage.non_local).sum();
    let tasks: usize = slow.iter().map(|stage| stage.tasks).sum();
    let worst = slow.iter().map(|stage| stage.ratio).fold(0.0, f64::max);
    let share = non_local as f64 / tasks.max(1) as f64;
    let title = format!(
        "{} of {} ran away from their data and took up to {worst:.1} times as long per record: {} of task time",
        count(non_local, "task"),
        count(tasks, "reading task"),
        duration(excess)
    );
    let wait = ctx.conf(None).ms("spark.locality.wait").unwrap_or(0);
    let longer = ctx.conf(None).propose(
        "spark.locality.wait",
        format!(
            "{}s",
            (wait as f64 * ctx.get(&WAIT_RATIO) / 1000.0).max(ctx.get(&LEAST_WAIT_MS) / 1000.0).round()
        ),
    );
    let mut claim = Claim::new("coreLocality", Scope::default(), title)
        .evidence("non_local_tasks", non_local)
        .evidence("reading_tasks", tasks)
        .evidence("non_local_share", rounded(share))
        .evidence("slower_ratio", rounded(worst))
        .evidence("excess_task_ms", excess)
        .evidence("stages", slow.len())
        .advice(format!(
            "{} of the reading tasks ran elsewhere. Put executors on the nodes that hold the data, keep two copies of \
             cached data, or wait longer for a local core.",
            percent(share)
        ))
        .changes(longer)
        .change(Change::resource("executors", None, "on the nodes that hold the data"));
    claim.nature = Nature::Resource;
    claim.confidence = Confidence::Medium;
    claim.worth = Worth::Replay {
        low: slow.iter().map(|stage| stage.half.clone()).collect(),
        high: slow.iter().map(|stage| stage.full.clone()).collect(),
    };
    claim.core_ms = Some(excess);
    claim.stages = slow.iter().map(|stage| stage.place).collect();
    claim.validate =
        "Compare the same hosts' local and non-local tasks: if both are slow, the host is the cause."
            .to_owned();
    claim
}
