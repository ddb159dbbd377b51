//! Time that tasks wait for shuffle blocks.

use crate::config::{Conf, key, parse_bytes};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::words::{self, rounded};
use emberscope_log::columns::TaskColumn;

const WAIT_SHARE: Threshold = Threshold {
    tag: "SHFL",
    name: "wait_share",
    default: 0.1,
    doc: "Share of the run time of a stage's tasks that they must wait for shuffle blocks.",
};
const UNEXPLAINED_SHARE: Threshold = Threshold {
    tag: "SHFL",
    name: "unexplained_wait_share",
    default: 0.3,
    doc: "The same where neither small blocks nor a setting explain it: every large shuffle has some, and the only remedy is a smaller one.",
};
const LEAST_MS: Threshold = Threshold {
    tag: "SHFL",
    name: "least_ms",
    default: 500.0,
    doc: "Least wait of a slot while the stage ran: that of all tasks divided by how many ran at a time.",
};
const LEAST_WALL_SHARE: Threshold = Threshold {
    tag: "SHFL",
    name: "least_wall_share",
    default: 0.01,
    doc: "The same as a share of the run's wall time.",
};
const SMALL_BLOCK_BYTES: Threshold = Threshold {
    tag: "SHFL",
    name: "small_block_bytes",
    default: 65536.0,
    doc: "Mean size of fetched blocks below which there are too many of them.",
};
const SURE_SHARE: Threshold = Threshold {
    tag: "SHFL",
    name: "sure_share",
    default: 0.3,
    doc: "Share of the run time from which the wait is certainly what holds the stage up.",
};

/// The detector.
pub static SHFL: Detector = Detector {
    tag: "SHFL",
    title: "Waiting for shuffle data",
    types: &[FindingType {
        name: "shuffle",
        what: "Tasks of a stage spend much of their time waiting for shuffle blocks.",
    }],
    thresholds: &[WAIT_SHARE, UNEXPLAINED_SHARE, LEAST_MS, LEAST_WALL_SHARE, SMALL_BLOCK_BYTES, SURE_SHARE],
    checks: &[Check::Stage(check)],
    what: "The tasks of this stage waited for shuffle blocks for a good part of their run time. The wait is \
measured by each task (`Fetch Wait Time`), not guessed from the number of bytes: a large shuffle whose blocks arrive while \
the task works on earlier ones costs no waiting, and is not reported.",
    rule: "Fetch wait is at least `wait_share` (`unexplained_wait_share`, where neither small blocks nor a setting explain it) of the run time over the attempts that counted; shared over the tasks that ran at a time it is `least_ms` and `least_wall_share` of the run. \
Blocks with a mean size below `small_block_bytes` are named as the reason: each needs a request of its own.",
    why: "A task that waits holds its core. Blocks come late when there are very many small ones, when the nodes that \
serve them are busy (their disks, their collections) or when the network is full.",
    fix: "Move fewer bytes: select columns and filter before the join, aggregate before it, broadcast the small side.\n\n\
```sql\nSELECT /*+ BROADCAST(d) */ f.a, d.b FROM facts f JOIN dim d ON f.k = d.k\n```\n\n\
```python\nfacts.select(\"k\", \"a\").join(broadcast(dim.select(\"k\", \"b\")), \"k\")\n```\n\n\
Move larger blocks: fewer partitions on both sides of the shuffle, or push-based shuffle \
(`spark.shuffle.push.enabled`, on YARN with the external shuffle service). Let tasks ask for more at a time: `spark.reducer.maxSizeInFlight`. Where a \
setting (`spark.reducer.maxSizeInFlight`, `maxReqsInFlight`, `maxBlocksInFlightPerAddress`) is below its default, the finding says so first.",
    limits: "Waiting for blocks that another task of the same executor is fetching counts too. Remote shuffle services and native engines may not \
report the wait.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    let sums = &digest.counted;
    if sums.shuffle_read_bytes == 0 || context.is_immaterial(digest.running_ms()) {
        return;
    }
    if !view.measured(TaskColumn::FetchWaitTime) || (context.is_native && sums.fetch_wait_ms == 0) {
        let reason = format!(
            "the time tasks waited for shuffle blocks is not in the log ({})",
            context.run.trust.engine
        );
        sink.not_checked("shuffle", reason, None);
        return;
    }
    let share = sums.fetch_wait_ms as f64 / sums.run_ms.max(1) as f64;
    let slot_ms = sums.fetch_wait_ms as f64 / f64::from(digest.peak_concurrency.max(1));
    if share < context.get(&WAIT_SHARE)
        || slot_ms < context.get(&LEAST_MS)
        || context.share_of_wall(slot_ms as i64).is_some_and(|share| share < context.get(&LEAST_WALL_SHARE))
    {
        return;
    }
    let total = |column: TaskColumn| {
        let mut sum = 0;
        view.stage.tasks.for_each(column, |_, value| sum += value);
        sum
    };
    let remote_bytes: i64 = view.useful().map(|task| task.shuffle_remote_bytes).sum();
    let blocks = total(TaskColumn::RemoteBlocksFetched) + total(TaskColumn::LocalBlocksFetched);
    let block_bytes = (blocks > 0).then(|| sums.shuffle_read_bytes / blocks);
    let small = block_bytes.is_some_and(|bytes| (bytes as f64) < context.get(&SMALL_BLOCK_BYTES));
    let conf = context.conf_of_stage(digest);
    let limits = fetch_limits(&conf);
    if !small && limits.is_empty() && share < context.get(&UNEXPLAINED_SHARE) {
        return;
    }
    let title = format!(
        "Tasks of stage {} wait {} of their run time for shuffle blocks ({} read, {} of it from other executors)",
        view.stage.id,
        words::percent(share),
        words::size(sums.shuffle_read_bytes),
        words::percent(remote_bytes as f64 / sums.shuffle_read_bytes.max(1) as f64),
    );
    let plan = StagePlan::of(context, digest);
    let place = plan.as_ref().and_then(StagePlan::place_words);
    let mut claim = Claim::new("shuffle", context.stage_scope(digest), title)
        .evidence("fetch_wait_ms", sums.fetch_wait_ms)
        .evidence("run_ms", sums.run_ms)
        .evidence("wait_share", rounded(share))
        .evidence("shuffle_read_bytes", sums.shuffle_read_bytes)
        .evidence("remote_bytes", remote_bytes)
        .evidence("blocks", blocks)
        .evidence("mean_block_bytes", block_bytes);
    if let Some(place) = place {
        claim = claim.evidence("operator", place);
    }
    let is_limited = !limits.is_empty();
    if is_limited {
        claim =
            claim.evidence("fetch_limits", limits.iter().filter_map(set_to).collect::<Vec<_>>().join(", "));
    }
    claim = match small {
        _ if is_limited => {
            let names: Vec<&str> = limits.iter().map(|change| change.key.as_str()).collect();
            claim
                .advice(format!(
                    "Let a task ask for more at a time: {} {} set below Spark's default.",
                    words::listed(&names),
                    if names.len() == 1 { "is" } else { "are" }
                ))
                .changes(limits)
        }
        true => claim
            .advice("The blocks are very small: use fewer partitions on both sides of this shuffle, so that there are fewer and larger blocks.")
            .changes(conf.propose("spark.shuffle.push.enabled", "true").filter(|_| has_shuffle_service(context))),
        false => claim
            .advice("Shuffle less (fewer columns, filters and aggregation before, a broadcast of the smaller side), and see whether the disks or collections of the serving executors hold the blocks up.")
            .changes(conf.propose("spark.reducer.maxSizeInFlight", "96m").filter(|_| !conf.is_set("spark.reducer.maxSizeInFlight"))),
    };
    claim.nature = if small || is_limited { Nature::Configuration } else { Nature::Resource };
    claim.confidence = if share >= context.get(&SURE_SHARE) { Confidence::High } else { Confidence::Medium };
    claim.validate = "If network and disks of the serving nodes were idle while the stage ran, something else held the blocks up.".to_owned();
    claim.worth = without_wait(view);
    claim.core_ms = Some((sums.fetch_wait_ms as f64 * digest.task_cpus) as i64);
    sink.claim(claim);
}

/// Settings that let a task fetch less at a time than Spark's defaults do, as changes back to these.
fn fetch_limits(conf: &Conf<'_>) -> Vec<Change> {
    let names = [
        "spark.reducer.maxSizeInFlight",
        "spark.reducer.maxReqsInFlight",
        "spark.reducer.maxBlocksInFlightPerAddress",
    ];
    let below = names.iter().filter_map(|name| {
        let default = key(name)?.default_in(conf.version())?;
        let bare = key(name).map_or(1, |key| key.bare_bytes);
        (conf.is_set(name) && conf.bytes(name)? < parse_bytes(default, bare)?).then_some((name, default))
    });
    below.filter_map(|(name, default)| conf.propose(name, default)).collect()
}

fn set_to(change: &Change) -> Option<String> {
    Some(format!("{}={}", change.key, change.current.as_deref()?))
}

/// Push-based shuffle needs YARN's shuffle service.
fn has_shuffle_service(context: &Context<'_>) -> bool {
    context.conf(None).bool("spark.shuffle.service.enabled") == Some(true)
}

fn without_wait(view: &StageView<'_>) -> Worth {
    /// Shares of the wait that go away when fewer bytes, or larger blocks, are moved: hardly ever all.
    const LITTLE: f64 = 0.3;
    /// The same at best.
    const MOST: f64 = 0.9;
    let scaled = |share: f64| {
        let factors = view.factors_to(|task| {
            task.duration_ms() as f64 - share * task.fetch_wait_ms.min(task.run_ms) as f64
        });
        vec![Edit::Scale { place: view.place(), factors }]
    };
    Worth::Replay { low: scaled(LITTLE), high: scaled(MOST) }
}
