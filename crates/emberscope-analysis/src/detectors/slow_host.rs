//! Executors that are slower than others on the same data.

use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::stage_view::{StageView, Task};
use crate::words::{self, rounded};
use emberscope_model::distribution::Distribution;
use std::collections::{BTreeMap, BTreeSet};

const RATIO: Threshold = Threshold {
    tag: "HOST",
    name: "ratio",
    default: 1.5,
    doc: "Times as long as its peers that an executor must take for the same data.",
};
const LEAST_TASKS: Threshold = Threshold {
    tag: "HOST",
    name: "least_tasks",
    default: 4.0,
    doc: "Least number of tasks of an executor, over all stages looked at.",
};
const CLEAR_RATIO: Threshold = Threshold {
    tag: "HOST",
    name: "clear_ratio",
    default: 2.5,
    doc: "The same from which few tasks are enough: a very slow executor gets few.",
};
const LEAST_EXCESS_MS: Threshold = Threshold {
    tag: "HOST",
    name: "least_excess_ms",
    default: 3000.0,
    doc: "Least task time that the executor took over what its peers would have.",
};
const MOST_VOLUME: Threshold = Threshold {
    tag: "HOST",
    name: "most_volume_ratio",
    default: 2.0,
    doc: "Tasks with more than this many times the median volume are not compared: their time is that of their data.",
};
const STAGE_TASKS: Threshold = Threshold {
    tag: "HOST",
    name: "stage_tasks",
    default: 2.0,
    doc: "Least number of tasks of an executor in a stage for the stage to say something about it.",
};
const STAGES_SHARE: Threshold = Threshold {
    tag: "HOST",
    name: "stages_share",
    default: 0.6,
    doc: "Share of the stages (by what its work in them usually takes) in which it must be slow.",
};
const GLANCE_RATIO: Threshold = Threshold {
    tag: "HOST",
    name: "glance_ratio",
    default: 1.2,
    doc: "A stage is looked at when the mean task of an executor takes this many times that of the typical one.",
};
const SLOWER_SHARE: Threshold = Threshold {
    tag: "HOST",
    name: "slower_share",
    default: 0.4,
    doc: "Largest share of a stage's executors that may be slow: more are the rule, not the exception.",
};

/// The detector.
pub static HOST: Detector = Detector {
    tag: "HOST",
    title: "Slow hosts",
    types: &[FindingType {
        name: "slowHost",
        what: "One executor or host takes longer than the others for the same amount of data.",
    }],
    thresholds: &[
        RATIO,
        CLEAR_RATIO,
        LEAST_TASKS,
        LEAST_EXCESS_MS,
        STAGE_TASKS,
        STAGES_SHARE,
        GLANCE_RATIO,
        SLOWER_SHARE,
    ],
    checks: &[Check::App(check)],
    what: "In several stages, or in one long one, the tasks of an executor took longer than those of the others although they had as much \
data. All stages are joined into one finding about the executor, or about the host where all of its executors are slow.",
    rule: "In each stage with at least two executors, each task is compared with what it should take: the median of the stage (without \
collections and waiting for blocks) in proportion to its records or bytes, where they are above the median. First tasks of fresh executors are compared \
among themselves, tasks with more than `most_volume_ratio` times the median volume not at all. An executor's figure is the median over its tasks (at least `stage_tasks`), over the median of the other executors; stages whose means differ by \
less than `glance_ratio` are not looked at. It is slow from `ratio` on, with at least \
`least_tasks` tasks (any number from `clear_ratio` on) and `least_excess_ms`, in `stages_share` of its time in stages that say something about it; and at most `slower_share` of the executors of a stage may be slow.",
    why: "Every stage waits for its last task, and those are the ones on the slow machine: failing disks, throttled CPUs, noisy neighbours, \
another hardware generation.",
    fix: "Take the machine out. Until then let Spark start copies of slow tasks elsewhere, or exclude the node:\n\n\
```python\nspark = (SparkSession.builder.config(\"spark.speculation\", \"true\")\n         .config(\"spark.excludeOnFailure.enabled\", \"true\").getOrCreate())\n```\n\n\
```sql\n-- nothing in a query can help: the machine is the cause\n```",
    limits: "With two executors it is not known which one is the rule; the faster one is taken for it. Data that lies near one executor makes it \
faster, and the others only look slow. What the host did is not in the log.",
};

/// What one stage says of one executor.
struct Sign {
    stage: (u32, u32),
    tasks: usize,
    ratio: f64,
    excess_ms: f64,
    time_ms: f64,
    factors: std::sync::Arc<[f32]>,
}

fn check(context: &Context<'_>, sink: &mut Sink) {
    let mut signs: BTreeMap<u32, Vec<Sign>> = BTreeMap::new();
    let several =
        |digest: &&StageDigest| digest.executors.len() > 1 && !context.is_immaterial(digest.running_ms());
    for digest in context.stages.iter().filter(several) {
        let found = if stands_out(context, digest) {
            signs_of(context, &StageView::of(&context.run.stages[digest.position], digest, context.end_ms))
        } else {
            // A stage in which all are alike speaks for them.
            digest
                .executors
                .iter()
                .map(|(executor, _, ms)| (*executor, Sign::unsuspicious(digest, *ms)))
                .collect()
        };
        for (executor, sign) in found {
            signs.entry(executor).or_default().push(sign);
        }
    }
    let slow: BTreeMap<u32, Vec<Sign>> =
        signs.into_iter().filter(|(_, signs)| is_slow(context, signs)).collect();
    for (executors, host) in grouped_by_host(context, slow.keys().copied().collect()) {
        let signs: Vec<&Sign> = executors.iter().filter_map(|id| slow.get(id)).flatten().collect();
        sink.claim(claim(context, &executors, host, &signs));
    }
}

impl Sign {
    fn unsuspicious(digest: &StageDigest, time_ms: i64) -> Self {
        Sign {
            stage: (digest.id, digest.attempt),
            tasks: 0,
            ratio: 1.0,
            excess_ms: 0.0,
            time_ms: time_ms as f64,
            factors: std::sync::Arc::new([]),
        }
    }

    /// What its peers would have taken.
    fn usual_ms(&self) -> f64 {
        self.time_ms - self.excess_ms
    }
}

/// Whether any executor's mean task stands out.
fn stands_out(context: &Context<'_>, digest: &StageDigest) -> bool {
    let means: Vec<f64> =
        digest.executors.iter().map(|(_, tasks, ms)| *ms as f64 / f64::from((*tasks).max(1))).collect();
    let typical = lower_median(means.clone());
    means.iter().any(|mean| *mean >= context.get(&GLANCE_RATIO) * typical)
}

/// The middle value; of an even number of values the lower middle one, so that of two the faster is the rule.
fn lower_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// What a task took without collections and waiting for others.
fn net_ms(task: &Task) -> f64 {
    (task.duration_ms() - task.gc_ms - task.fetch_wait_ms - task.getting_result_ms).max(0) as f64
}

/// How long each task took over what its peers take for the same data. The first tasks of fresh executors are
/// compared among themselves only.
fn slowness(context: &Context<'_>, view: &StageView<'_>) -> BTreeMap<u32, Vec<(usize, f64)>> {
    let counted = |at: &usize| view.tasks[*at].is_useful && view.tasks[*at].has_metrics;
    let (cold, warm): (Vec<usize>, Vec<usize>) = (0..view.tasks.len())
        .filter(counted)
        .partition(|at| context.is_first_wave(view.tasks[*at].executor, view.tasks[*at].launch_ms));
    let mut slowness: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for tasks in [cold, warm] {
        let middle = |value: fn(&Task) -> i64| {
            Distribution::of(tasks.iter().map(|at| value(&view.tasks[*at]))).median().unwrap_or(0.0)
        };
        let (records, bytes) = (middle(Task::read_records), middle(Task::read_bytes));
        let typical_ms = middle(|task| net_ms(task) as i64);
        let executors: BTreeSet<u32> = tasks.iter().map(|at| view.tasks[*at].executor).collect();
        if typical_ms <= 0.0 || executors.len() < 2 {
            continue;
        }
        let ratio = |value: i64, median: f64| if median > 0.0 { value as f64 / median } else { 1.0 };
        for at in tasks {
            let task = &view.tasks[at];
            let volume = ratio(task.read_records(), records).max(ratio(task.read_bytes(), bytes)).max(1.0);
            if volume <= context.get(&MOST_VOLUME) {
                slowness.entry(task.executor).or_default().push((at, net_ms(task) / (typical_ms * volume)));
            }
        }
    }
    slowness
}

fn signs_of(context: &Context<'_>, view: &StageView<'_>) -> Vec<(u32, Sign)> {
    let mut slowness = slowness(context, view);
    slowness.retain(|_, values| values.len() as f64 >= context.get(&STAGE_TASKS));
    let medians: Vec<(u32, f64)> = slowness
        .iter()
        .map(|(executor, values)| (*executor, lower_median(values.iter().map(|(_, value)| *value).collect())))
        .collect();
    let is_slow = |median: f64, others: f64| others > 0.0 && median >= context.get(&RATIO) * others;
    let rule = lower_median(medians.iter().map(|(_, median)| *median).collect());
    let n_slow = medians.iter().filter(|(_, median)| is_slow(*median, rule)).count();
    let too_many = n_slow > 1 && n_slow as f64 > context.get(&SLOWER_SHARE) * medians.len() as f64;
    if medians.len() < 2 || too_many {
        return Vec::new();
    }
    let sign = |executor: u32, ratio: f64| {
        let mine: Vec<usize> = slowness.get(&executor).into_iter().flatten().map(|(at, _)| *at).collect();
        let excess = |task: &Task| net_ms(task) * (1.0 - 1.0 / ratio);
        let mut factors = vec![1.0f32; view.tasks.len()];
        for at in &mine {
            let task = &view.tasks[*at];
            factors[*at] = (1.0 - excess(task) / (task.duration_ms() as f64).max(1.0)) as f32;
        }
        Sign {
            stage: view.place(),
            tasks: mine.len(),
            ratio,
            excess_ms: mine.iter().map(|at| excess(&view.tasks[*at])).sum(),
            time_ms: mine.iter().map(|at| net_ms(&view.tasks[*at])).sum(),
            factors: factors.into(),
        }
    };
    let others = |executor: u32| {
        lower_median(
            medians.iter().filter(|(other, _)| *other != executor).map(|(_, median)| *median).collect(),
        )
    };
    medians
        .iter()
        .filter_map(|(executor, median)| {
            let others = others(*executor);
            (others > 0.0).then(|| (*executor, sign(*executor, (median / others).max(1.0))))
        })
        .collect()
}

fn is_slow(context: &Context<'_>, signs: &[Sign]) -> bool {
    let tasks: usize = signs.iter().map(|sign| sign.tasks).sum();
    let usual: f64 = signs.iter().map(Sign::usual_ms).sum();
    let excess: f64 = signs.iter().map(|sign| sign.excess_ms).sum();
    let usual_where_slow: f64 =
        signs.iter().filter(|sign| sign.ratio >= context.get(&RATIO)).map(Sign::usual_ms).sum();
    let clear = usual + excess >= context.get(&CLEAR_RATIO) * usual;
    (clear || tasks as f64 >= context.get(&LEAST_TASKS))
        && excess >= context.get(&LEAST_EXCESS_MS)
        && usual > 0.0
        && usual_where_slow >= context.get(&STAGES_SHARE) * usual
}

/// Slow executors by host where a host's executors are all slow and there are other hosts; else one by one.
fn grouped_by_host<'r>(context: &Context<'r>, slow: BTreeSet<u32>) -> Vec<(Vec<u32>, Option<&'r str>)> {
    let host_of = |name: &str| {
        context
            .run
            .executors
            .iter()
            .find(|executor| executor.id == name)
            .and_then(|executor| executor.host.as_deref())
    };
    let hosts: BTreeSet<&str> =
        context.run.executors.iter().filter_map(|executor| executor.host.as_deref()).collect();
    let mut groups: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut single = Vec::new();
    for id in slow {
        match host_of(context.text(id)) {
            Some(host) if hosts.len() > 1 => groups.entry(host).or_default().push(id),
            _ => single.push((vec![id], None)),
        }
    }
    for (host, executors) in groups {
        let all =
            context.run.executors.iter().filter(|executor| executor.host.as_deref() == Some(host)).count();
        if executors.len() == all {
            single.push((executors, Some(host)));
        } else {
            single.extend(executors.into_iter().map(|id| (vec![id], None)));
        }
    }
    single
}

fn claim(context: &Context<'_>, executors: &[u32], host: Option<&str>, signs: &[&Sign]) -> Claim {
    let slow: Vec<&&Sign> = signs.iter().filter(|sign| sign.ratio >= context.get(&RATIO)).collect();
    let excess: f64 = slow.iter().map(|sign| sign.excess_ms).sum();
    let time: f64 = slow.iter().map(|sign| sign.time_ms).sum();
    let ratio = time / (time - excess).max(1.0);
    let tasks: usize = slow.iter().map(|sign| sign.tasks).sum();
    let stages: BTreeSet<(u32, u32)> = slow.iter().map(|sign| sign.stage).collect();
    let names: Vec<&str> = executors.iter().map(|id| context.text(*id)).collect();
    let who = match host {
        Some(host) if names.len() == 1 => format!("Executor {} on host {host}", names[0]),
        Some(host) => format!("Host {host}"),
        None => format!("Executor {}", names.join(", ")),
    };
    let title = format!(
        "{who} takes {} as long as the others for the same data, in {} of {}",
        words::times(ratio),
        words::count(tasks, "task"),
        words::count(stages.len(), "stage"),
    );
    let scope = match stages.len() {
        1 => stages
            .first()
            .and_then(|(id, attempt)| context.digest_of(*id, *attempt))
            .map(|digest| context.stage_scope(digest))
            .unwrap_or_default(),
        _ => Scope::default(),
    };
    let executor_id = (names.len() == 1).then(|| names[0].to_owned());
    let conf = context.conf(None);
    let mut claim = Claim::new("slowHost", Scope { executor_id, ..scope }, title)
        .evidence("executors", names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .evidence("host", host)
        .evidence("slowness_ratio", rounded(ratio))
        .evidence("tasks", tasks)
        .evidence("stages", stages.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .evidence("excess_ms", excess as i64)
        .advice("Take the machine out of the cluster and look at its disks, CPU throttling and neighbours. Speculation softens it until then.")
        .change(Change::resource(host.unwrap_or(names.first().copied().unwrap_or("executor")), None, "replace the machine"))
        .changes(conf.propose("spark.speculation", "true"));
    claim.nature = Nature::Resource;
    claim.subject = host.map_or_else(|| names.join(","), str::to_owned);
    claim.confidence = match (stages.len(), context.run.executors.len()) {
        (_, ..3) => Confidence::Low,
        (2.., _) => Confidence::High,
        _ => Confidence::Medium,
    };
    claim.validate = "Run the same stage again: if the tasks on this machine are as fast as the others then, it was a passing load.".to_owned();
    let high =
        slow.iter().map(|sign| Edit::Scale { place: sign.stage, factors: sign.factors.clone() }).collect();
    let low = slow
        .iter()
        .map(|sign| {
            let factors = sign.factors.iter().map(|factor| (1.0 + factor) / 2.0).collect();
            Edit::Scale { place: sign.stage, factors }
        })
        .collect();
    claim.worth = Worth::Replay { low, high };
    claim.core_ms = Some(excess as i64);
    claim.stages = stages.into_iter().collect();
    claim
}
