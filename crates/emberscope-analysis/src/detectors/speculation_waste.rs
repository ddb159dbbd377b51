//! Speculative copies that lost.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Claim, Confidence, Nature, Worth};
use crate::stage_view::StageView;
use crate::words::{self, rounded};
use emberscope_model::tasks::LostCause;

const LEAST_ATTEMPTS: Threshold = Threshold {
    tag: "SPEC",
    name: "least_attempts",
    default: 3.0,
    doc: "Least number of attempts that lost a race.",
};
const LEAST_LONG: Threshold = Threshold {
    tag: "SPEC",
    name: "least_long_attempts",
    default: 2.0,
    doc: "Least number of attempts that lost a race, where they took `large_share` of the run's core-time.",
};
const LARGE_SHARE: Threshold = Threshold {
    tag: "SPEC",
    name: "large_share",
    default: 0.02,
    doc: "Share of the run's core-time from which `least_long_attempts` are enough.",
};
const LEAST_SHARE: Threshold = Threshold {
    tag: "SPEC",
    name: "least_share",
    default: 0.005,
    doc: "Least share of the run's core-time that they took.",
};
const WON_SHARE: Threshold = Threshold {
    tag: "SPEC",
    name: "won_share",
    default: 0.5,
    doc: "Share of the races won by copies up to which speculation is called a waste: above it does its work.",
};

/// The detector.
pub static SPEC: Detector = Detector {
    tag: "SPEC",
    title: "Wasted speculation",
    types: &[FindingType {
        name: "speculationWaste",
        what: "Speculative copies took core-time and did not finish first.",
    }],
    thresholds: &[LEAST_ATTEMPTS, LEAST_LONG, LARGE_SHARE, LEAST_SHARE, WON_SHARE],
    checks: &[Check::Stage(check)],
    what: "With `spark.speculation` Spark starts copies of tasks that take long. One of the two counts, the other is killed and its time lost. \
Here most copies lost: the tasks were slow for their data, not for their machine, and a copy of them is just as slow.",
    rule: "At least `least_attempts` attempts lost a race in the stage, together `least_share` of the run's core-time (or `least_long_attempts` that took `large_share` of it), and copies won at most `won_share` of \
the races. The run would not be shorter without them: only core-time is claimed.",
    why: "A copy takes a core that another task, or another application, could use.",
    fix: "Start copies later and of fewer tasks; mend skew instead of copying it.\n\n\
```python\nspark = (SparkSession.builder.config(\"spark.speculation.multiplier\", \"3\")\n         .config(\"spark.speculation.quantile\", \"0.9\").getOrCreate())\n```\n\n\
```sql\n-- a skewed join: see SKEW\nSELECT /*+ BROADCAST(d) */ * FROM facts f JOIN dim d ON f.k = d.k\n```",
    limits: "What copies saved where they won is not known: the original's end was not waited for.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    if digest.speculative == 0 {
        return;
    }
    let finish = view.stage.tasks.column(emberscope_log::columns::TaskColumn::FinishTime);
    let launch = view.stage.tasks.column(emberscope_log::columns::TaskColumn::LaunchTime);
    let lost = view.stage.tasks.lost().iter().filter(|(_, cause)| *cause == LostCause::Speculation);
    let durations: Vec<i64> = lost
        .filter_map(|(row, _)| {
            Some((finish.get(*row as usize).copied()?? - launch.get(*row as usize).copied()??).max(0))
        })
        .collect();
    let wasted_ms: i64 = durations.iter().sum();
    let wasted_core_ms = (wasted_ms as f64 * digest.task_cpus) as i64;
    let won = view.tasks.iter().filter(|task| task.is_speculative && task.is_useful).count();
    let won_share = won as f64 / digest.speculative.max(1) as f64;
    let share_of_core = |share: &Threshold| {
        context.allocated_core_ms.map_or(0.0, |allocated| context.get(share) * allocated as f64)
    };
    let floor = share_of_core(&LEAST_SHARE);
    let is_large =
        context.allocated_core_ms.is_some() && wasted_core_ms as f64 >= share_of_core(&LARGE_SHARE);
    let least = if is_large { &LEAST_LONG } else { &LEAST_ATTEMPTS };
    if (durations.len() as f64) < context.get(least)
        || (wasted_core_ms as f64) < floor
        || won_share > context.get(&WON_SHARE)
    {
        return;
    }
    let conf = context.conf(None);
    let title = format!(
        "{} of {} in stage {} lost: {} of core-time for nothing",
        digest.speculative as usize - won.min(digest.speculative as usize),
        if digest.speculative == 1 {
            "1 speculative copy".to_owned()
        } else {
            format!("{} speculative copies", digest.speculative)
        },
        view.stage.id,
        words::duration(wasted_core_ms),
    );
    // Where the settings already are as proposed, or stricter, nothing is proposed.
    let below = |name: &str, value: f64| conf.number(name).is_some_and(|now| now < value);
    let multiplier = conf
        .propose("spark.speculation.multiplier", "3")
        .filter(|_| below("spark.speculation.multiplier", 3.0));
    let quantile = conf
        .propose("spark.speculation.quantile", "0.9")
        .filter(|_| below("spark.speculation.quantile", 0.9));
    let runtime = conf
        .propose("spark.speculation.minTaskRuntime", "10s")
        .filter(|_| !conf.is_set("spark.speculation.minTaskRuntime"));
    let mut claim = Claim::new("speculationWaste", context.stage_scope(digest), title)
        .evidence("speculative_attempts", digest.speculative)
        .evidence("lost_attempts", durations.len())
        .evidence("won_share", rounded(won_share))
        .evidence("wasted_ms", wasted_ms)
        .evidence("wasted_core_ms", wasted_core_ms)
        .advice("Let Spark start copies later and of fewer tasks; if the same tasks are slow in every run, their data is uneven, and copies cannot help.")
        .changes(multiplier)
        .changes(quantile)
        .changes(runtime);
    claim.nature = Nature::Configuration;
    claim.confidence = if won == 0 { Confidence::High } else { Confidence::Medium };
    claim.worth = Worth::Resource;
    claim.core_ms = Some(wasted_core_ms);
    claim.validate = "Without speculation the run must not get longer.".to_owned();
    sink.claim(claim);
}
