//! Long stages that nothing more specific explains.

use crate::attribution::{OPENING_MS, SLOWEST_BYTES};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Claim, Confidence, Nature};
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::tail;
use crate::words::{self, rounded};

const LEAST_MS: Threshold = Threshold {
    tag: "SLOW",
    name: "least_ms",
    default: 900_000.0,
    doc: "Shortest stage, from first launch to last finish, that is called slow.",
};
const LEAST_SHARE: Threshold = Threshold {
    tag: "SLOW",
    name: "least_share",
    default: 0.1,
    doc: "Least share of the run's wall time of such a stage.",
};
const SPECIFIC_SHARE: Threshold = Threshold {
    tag: "SLOW",
    name: "specific_share",
    default: 0.1,
    doc: "Share of run time in collection or fetch wait, and of attempts that failed, from which the stage has a more specific finding.",
};
const BUSY_SHARE: Threshold = Threshold {
    tag: "SLOW",
    name: "busy_share",
    default: 0.5,
    doc: "Share of free slots below which the stage is narrow (see SHAPE), and of CPU time below which its tasks mostly wait.",
};

/// The detector.
pub static SLOW: Detector = Detector {
    tag: "SLOW",
    title: "Long stages",
    types: &[FindingType {
        name: "stageSlowness",
        what: "A stage is long, and no more specific finding explains it.",
    }],
    thresholds: &[LEAST_MS, LEAST_SHARE, SPECIFIC_SHARE, BUSY_SHARE, SLOWEST_BYTES, OPENING_MS],
    checks: &[Check::Stage(check)],
    what: "The stage takes a large part of the run, uses the cores there are, and has no tail, spill, long collections or waiting for \
blocks. Then it is the work itself: either do less of it, or have more cores for it. The finding says whether its tasks compute or wait.",
    rule: "From first launch to last finish at least `least_ms` and `least_share` of the run; no slow tail; nothing spilled; collection, fetch \
wait and failed attempts each below `specific_share`; at least `busy_share` of the free slots used.",
    why: "Where a stage is evenly busy, its time is its work divided by the slots.",
    fix: "Read less (filters on partition columns, fewer columns, a columnar format), compute once (cache what several queries use), push \
work into built-in functions, or add executors: the finding tells how many waves of tasks there are.\n\n\
```sql\nSELECT a, b FROM t WHERE day = DATE'2026-11-30'\n```\n\n```python\ndf.where(\"day = '2026-11-30'\").select(\"a\", \"b\")\n```",
    limits: "It cannot be said what the work is for. CPU time does not count Python workers. What tasks waited for is told under the \
attribution, as far as the log tells it: Python and commits by their own timers, input by what scans took beyond all computing, and \
`waiting, no data moved` where the bytes that Spark counts, at `slowest_bytes_per_second` and `opening_ms` for each task and each file, explain no more. \
That is a host without a free CPU, or a program that waits; which of both, a stack sample tells and the log does not. The rest \
is `waiting or outside the JVM`.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    let running = digest.running_ms();
    let Some(share) = context.share_of_wall(running) else { return };
    let sums = &digest.counted;
    let specific = context.get(&SPECIFIC_SHARE);
    if (running as f64) < context.get(&LEAST_MS)
        || share < context.get(&LEAST_SHARE)
        || sums.memory_spilled_bytes > 0
        || (sums.gc_ms + sums.fetch_wait_ms) as f64 > specific * sums.run_ms as f64
        || digest.failed as f64 > specific * digest.attempts as f64
        || digest.mean_concurrency() < context.get(&BUSY_SHARE) * context.free_slots(digest)
        || tail::find(context, view).is_some()
    {
        return;
    }
    let slots = context.slots(digest);
    let plan = StagePlan::of(context, digest);
    let cpu_share = (sums.cpu_ms > 0).then(|| sums.cpu_ms as f64 / sums.run_ms.max(1) as f64);
    let waits = cpu_share.is_some_and(|share| share < context.get(&BUSY_SHARE));
    let python = plan.as_ref().is_some_and(|plan| plan.has_python);
    let title = format!(
        "Stage {} takes {}, {} of the run, with evenly busy tasks",
        view.stage.id,
        words::duration(running),
        words::percent(share)
    );
    let mut claim = Claim::new("stageSlowness", context.stage_scope(digest), title)
        .evidence("running_ms", running)
        .evidence("wall_share", rounded(share))
        .evidence("tasks", digest.useful)
        .evidence("slots", rounded(slots))
        .evidence("waves_ratio", rounded(digest.useful as f64 / slots))
        .evidence("cpu_share", cpu_share.map(rounded))
        .evidence("input_bytes", sums.input_bytes)
        .evidence("shuffle_read_bytes", sums.shuffle_read_bytes)
        .evidence("python", python)
        .advice(match (python, waits) {
            (true, _) => "Its time is spent in Python workers: use Arrow or built-in functions.",
            (false, true) => "Its tasks mostly wait (storage, other systems, locks): look at what they read from, or let more of them run at a time.",
            (false, false) => "Its tasks compute: let them do less (filters, fewer columns, caching what is computed again), or give the stage more cores.",
        });
    claim.nature = if waits { Nature::Resource } else { Nature::Code };
    claim.confidence = Confidence::Low;
    claim.validate =
        "If the bytes and rows it processes must all be processed, only more cores make it faster."
            .to_owned();
    sink.claim(claim);
}
