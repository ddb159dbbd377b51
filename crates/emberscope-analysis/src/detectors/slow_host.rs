//! Executors that are slower than others on the same data.

use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::stage_view::{StageView, Task};
use crate::tail;
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
    doc: "Least number of tasks of an executor in a stage for the stage to say something about it; with fewer it does only from `clear_ratio` on.",
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
        MOST_VOLUME,
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
among themselves, and so are the first ones of the stage on each executor; one that takes longer than they do by more than their whole start costs is compared without the start. Tasks with more than `most_volume_ratio` times the median volume are not compared at all. An executor's figure is the median over its tasks (those after its first ones where they are `stage_tasks`; at least `stage_tasks`, or fewer from `clear_ratio` on), over the median of the other executors (of two, the slower one's); stages whose means differ by \
less than `glance_ratio` are not looked at. It is slow from `ratio` on, by that median and by the sum of its time, with at least \
`least_tasks` tasks (from `clear_ratio` on `stage_tasks` in one stage are enough) and `least_excess_ms`, in `stages_share` of its time in stages that say something about it; and at most `slower_share` of the executors of a stage may be slow.",
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

    fn of(view: &StageView<'_>, tasks: &[Compared], median: f64, others: f64) -> Self {
        let ratio = (median / others).max(1.0);
        // Of an executor that is not slow no task is too long.
        let over = |task: &Compared| if ratio > 1.0 { task.ms - task.usual_ms * others } else { 0.0 };
        let mut factors = vec![1.0f32; view.tasks.len()];
        for task in tasks {
            let took = (view.tasks[task.at].duration_ms() as f64).max(1.0);
            factors[task.at] = (1.0 - over(task).max(0.0) / took).clamp(0.0, 1.0) as f32;
        }
        Sign {
            stage: view.place(),
            tasks: tasks.len(),
            ratio,
            excess_ms: tasks.iter().map(over).sum::<f64>().max(0.0),
            time_ms: tasks.iter().map(|task| task.ms).sum(),
            factors: factors.into(),
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

/// A task beside what its peers take for the same data.
struct Compared {
    /// Place in the view's tasks.
    at: usize,
    ms: f64,
    usual_ms: f64,
    /// Whether it began when its executor, or the stage on it, did.
    is_first: bool,
}

impl Compared {
    fn slowness(&self) -> f64 {
        self.ms / self.usual_ms
    }
}

/// Each task beside what its peers take for the same data. The first tasks of fresh executors are compared
/// among themselves only, and so are the first ones of a stage.
fn compared(context: &Context<'_>, view: &StageView<'_>) -> BTreeMap<u32, Vec<Compared>> {
    let [mut cold, mut first, mut warm] = [Vec::new(), Vec::new(), Vec::new()];
    for (at, task) in view.tasks.iter().enumerate().filter(|(_, task)| task.is_useful && task.has_metrics) {
        if context.is_first_wave(task.executor, task.launch_ms) {
            cold.push(at);
        } else if tail::is_first_of_stage(view, task) {
            first.push(at);
        } else {
            warm.push(at);
        }
    }
    let middle = |tasks: &[usize], value: fn(&Task) -> i64| {
        Distribution::of(tasks.iter().map(|at| value(&view.tasks[*at]))).median().unwrap_or(0.0)
    };
    let typical = |tasks: &[usize]| middle(tasks, |task| net_ms(task) as i64);
    let start = |tasks: &[usize]| (typical(tasks) - typical(&warm)).max(0.0);
    let (cold_ms, first_ms) = if warm.is_empty() { (0.0, 0.0) } else { (start(&cold), start(&first)) };
    let mut compared: BTreeMap<u32, Vec<Compared>> = BTreeMap::new();
    for (tasks, start_ms, is_first) in [(cold, cold_ms, true), (first, first_ms, true), (warm, 0.0, false)] {
        let (records, bytes) = (middle(&tasks, Task::read_records), middle(&tasks, Task::read_bytes));
        let typical_ms = typical(&tasks);
        let executors: BTreeSet<u32> = tasks.iter().map(|at| view.tasks[*at].executor).collect();
        if typical_ms <= 0.0 || executors.len() < 2 {
            continue;
        }
        let ratio = |value: i64, median: f64| if median > 0.0 { value as f64 / median } else { 1.0 };
        for at in tasks {
            let task = &view.tasks[at];
            let volume = ratio(task.read_records(), records).max(ratio(task.read_bytes(), bytes)).max(1.0);
            if volume > context.get(&MOST_VOLUME) {
                continue;
            }
            let (ms, usual_ms) = (net_ms(task), typical_ms * volume);
            // How long a start takes varies, but hardly by as much again: more is the work itself.
            let without = if ms - usual_ms > start_ms { start_ms } else { 0.0 };
            let one = Compared { at, ms: ms - without, usual_ms: usual_ms - without, is_first };
            compared.entry(task.executor).or_default().push(one);
        }
    }
    compared
}

fn signs_of(context: &Context<'_>, view: &StageView<'_>) -> Vec<(u32, Sign)> {
    let compared = compared(context, view);
    // How long a start takes varies with more than the machine: where there are enough later tasks, they tell.
    let median_of = |tasks: &[Compared]| {
        let later: Vec<f64> = tasks.iter().filter(|task| !task.is_first).map(Compared::slowness).collect();
        match later.len() as f64 >= context.get(&STAGE_TASKS) {
            true => lower_median(later),
            false => lower_median(tasks.iter().map(Compared::slowness).collect()),
        }
    };
    let is_enough = |tasks: &[Compared]| tasks.len() as f64 >= context.get(&STAGE_TASKS);
    let medians: Vec<(u32, f64)> = compared
        .iter()
        .filter(|(_, tasks)| is_enough(tasks))
        .map(|(executor, tasks)| (*executor, median_of(tasks)))
        .collect();
    let is_slow = |median: f64, others: f64| others > 0.0 && median >= context.get(&RATIO) * others;
    let rule = lower_median(medians.iter().map(|(_, median)| *median).collect());
    let n_slow = medians.iter().filter(|(_, median)| is_slow(*median, rule)).count();
    let too_many = n_slow > 1 && n_slow as f64 > context.get(&SLOWER_SHARE) * medians.len() as f64;
    if medians.len() < 2 || too_many {
        return Vec::new();
    }
    // Of two others the slower: beside a fast one all the rest look slow.
    let others = |executor: u32| {
        let mut others: Vec<f64> =
            medians.iter().filter(|(other, _)| *other != executor).map(|(_, median)| *median).collect();
        others.sort_by(f64::total_cmp);
        others.get(others.len() / 2).copied().unwrap_or(0.0)
    };
    // A slow executor gets few tasks: one that stands out clearly says something.
    let few: Vec<(u32, f64)> = compared
        .iter()
        .filter(|(_, tasks)| !is_enough(tasks))
        .map(|(executor, tasks)| (*executor, median_of(tasks)))
        .filter(|(_, median)| *median >= context.get(&CLEAR_RATIO) * rule)
        .collect();
    let are_exceptions = few.len() as f64 <= context.get(&SLOWER_SHARE) * compared.len() as f64;
    let few = if are_exceptions { few } else { Vec::new() };
    medians
        .iter()
        .chain(&few)
        .filter_map(|(executor, median)| {
            let others = others(*executor);
            let tasks = compared.get(executor)?;
            (others > 0.0).then(|| (*executor, Sign::of(view, tasks, *median, others)))
        })
        .collect()
}

fn is_slow(context: &Context<'_>, signs: &[Sign]) -> bool {
    let tasks: usize = signs.iter().map(|sign| sign.tasks).sum();
    let most_tasks = signs.iter().map(|sign| sign.tasks).max().unwrap_or(0);
    let usual: f64 = signs.iter().map(Sign::usual_ms).sum();
    let excess: f64 = signs.iter().map(|sign| sign.excess_ms).sum();
    let slow = || signs.iter().filter(|sign| sign.ratio >= context.get(&RATIO));
    let usual_where_slow: f64 = slow().map(Sign::usual_ms).sum();
    let time_where_slow: f64 = slow().map(|sign| sign.time_ms).sum();
    let is_clear =
        usual + excess >= context.get(&CLEAR_RATIO) * usual && most_tasks as f64 >= context.get(&STAGE_TASKS);
    (is_clear || tasks as f64 >= context.get(&LEAST_TASKS))
        && excess >= context.get(&LEAST_EXCESS_MS)
        && usual > 0.0
        && usual_where_slow >= context.get(&STAGES_SHARE) * usual
        // A slow machine is slow in its long tasks too, not in most of its tasks only.
        && time_where_slow >= context.get(&RATIO) * usual_where_slow
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
