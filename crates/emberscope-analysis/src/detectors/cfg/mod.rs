//! Settings that contradict each other, do nothing, or undercut Spark's own floors.

mod rules;

use crate::config::Conf;
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{percent, rounded, size};

const RDD_SHARE: Threshold = Threshold {
    tag: "CFG",
    name: "rdd_share",
    default: 0.1,
    doc: "Share of all task time that stages outside SQL which shuffle must take before their serializer matters.",
};

/// Settings that contradict each other, do nothing, or undercut Spark's own floors.
pub static CFG: Detector = Detector {
    tag: "CFG",
    title: "Configuration audit",
    types: &[FindingType {
        name: "configAudit",
        what: "A setting has no effect, contradicts another one, or is below what Spark itself would take.",
    }],
    thresholds: &[RDD_SHARE],
    checks: &[Check::App(check)],
    what: "Settings as the driver logged them, judged by the version that ran. Each finding names one setting:\n\n\
           * **Dynamic allocation without a place for shuffle files**: `spark.dynamicAllocation.enabled` with \
           `spark.shuffle.service.enabled`, `spark.dynamicAllocation.shuffleTracking.enabled` and \
           `spark.decommission.enabled` with `spark.storage.decommission.shuffleBlocks.enabled` all off.\n* **Bounds**: \
           `spark.dynamicAllocation.minExecutors`, `initialExecutors` and `maxExecutors` out of order, or no upper \
           bound.\n* **Serializer**: `spark.serializer` is Java's where RDD work outside SQL shuffles objects.\n* \
           **Overhead**: `spark.executor.memoryOverhead` below the floor that Spark takes when it is not set; anywhere but in containers it does nothing.\n* **Dead \
           settings**: names that this version does not read (any more), and groups of settings whose switch is off, \
           for instance `spark.speculation.quantile` without `spark.speculation`.\n* **Contradictions**: fair pools \
           without `spark.scheduler.mode=FAIR`, `spark.memory.offHeap.enabled` without \
           `spark.memory.offHeap.size`, `spark.executor.heartbeatInterval` above `spark.network.timeout`, push-based \
           shuffle without the shuffle service, `spark.kryo.*` without the Kryo serializer.",
    rule: "Only settings that were set are judged for being dead, and a value equal to the default is not worth a word. \
           The serializer counts only where stages outside SQL that shuffle take `rdd_share` of the task time: \
           DataFrames and SQL have their own format. Python RDDs hold bytes already, so that there the gain is said to be \
           small. In local mode the rules of dynamic allocation are applied too, although nothing uses it there.",
    why: "A dead setting costs nothing, but somebody relied on it. A missing upper bound can fill a cluster; an overhead \
          below the floor gets executors killed by the container's limit.",
    fix: "Remove what does nothing, rename what was renamed, and set what is missing:\n\n```sql\n-- session settings can be \
          looked at with their defaults:\nSET -v;\n```\n\n```python\nspark = (SparkSession.builder\n    \
          .config(\"spark.dynamicAllocation.maxExecutors\", \"50\")\n    .config(\"spark.serializer\", \
          \"org.apache.spark.serializer.KryoSerializer\")\n    .getOrCreate())\n```",
    limits: "Only what the driver logs is seen: settings of the cluster manager, and of files on the nodes (a shuffle \
             service that runs by other means), are not. Vendors' own settings are unknown here and left alone. Plugins \
             that keep shuffle files elsewhere make the first rule void; another `spark.shuffle.manager` switches it off.",
};

/// What is said of dynamic allocation in local mode, which only here has such settings in a log: on a
/// cluster Spark does not start with inverted bounds, or without a place for shuffle files.
const NOT_LOCAL: &str = " Local mode itself does not use dynamic allocation: it matters once the application runs on a \
                         cluster, where Spark may refuse to start with these settings.";

/// What is wrong with a setting.
pub(super) struct Fault {
    /// What it is about, the same in every run: a setting or a group.
    pub(super) subject: String,
    pub(super) title: String,
    pub(super) advice: String,
    pub(super) changes: Vec<Change>,
    pub(super) evidence: Vec<(&'static str, serde_json::Value)>,
    pub(super) validate: &'static str,
}

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.run.environment.spark.is_empty() {
        sink.not_checked("configAudit", "the log has no environment", None);
        return;
    }
    let conf = ctx.conf(None);
    let mut faults: Vec<Fault> = Vec::new();
    let mut of_allocation: Vec<Fault> =
        shuffle_files(&conf).into_iter().chain(rules::bounds(&conf)).collect();
    if ctx.is_local {
        of_allocation.iter_mut().for_each(|fault| fault.advice.push_str(NOT_LOCAL));
    } else {
        faults.extend(overhead(ctx, &conf));
    }
    faults.extend(of_allocation);
    faults.extend(serializer(ctx, &conf));
    faults.extend(rules::dead_names(ctx, &conf));
    faults.extend(rules::dead_groups(ctx, &conf));
    faults.extend(rules::contradictions(ctx, &conf));
    for fault in faults {
        sink.claim(claim(fault));
    }
}

fn claim(fault: Fault) -> Claim {
    let mut claim = Claim::new("configAudit", Scope::default(), fault.title)
        .evidence("setting", fault.subject.as_str())
        .advice(fault.advice)
        .changes(fault.changes);
    for (name, value) in fault.evidence {
        claim = claim.evidence(name, value);
    }
    claim.subject = fault.subject;
    claim.nature = Nature::Configuration;
    claim.confidence = Confidence::High;
    claim.worth = Worth::None;
    claim.severity = Some(Severity::Info);
    claim.validate = fault.validate.to_owned();
    claim
}

/// Dynamic allocation where the shuffle files of an executor go with it.
fn shuffle_files(conf: &Conf<'_>) -> Option<Fault> {
    let is_on = |name: &str| conf.bool(name) == Some(true);
    let moves_blocks =
        is_on("spark.decommission.enabled") && is_on("spark.storage.decommission.shuffleBlocks.enabled");
    let is_sort = conf
        .text("spark.shuffle.manager")
        .is_none_or(|manager| manager == "sort" || manager == "tungsten-sort");
    if !is_on("spark.dynamicAllocation.enabled")
        || is_on("spark.shuffle.service.enabled")
        || is_on("spark.dynamicAllocation.shuffleTracking.enabled")
        || moves_blocks
        || !is_sort
    {
        return None;
    }
    let tracking = conf.propose("spark.dynamicAllocation.shuffleTracking.enabled", "true");
    let service = conf.propose("spark.shuffle.service.enabled", "true");
    Some(Fault {
        subject: "spark.shuffle.service.enabled".to_owned(),
        title: "Dynamic allocation gives executors back together with shuffle files that are still needed: \
                spark.shuffle.service.enabled, shuffle tracking and decommission are all off"
            .to_owned(),
        advice: "Turn on shuffle tracking (or run the shuffle service), or executors that are given back make stages run \
                 again."
            .to_owned(),
        changes: tracking.or(service).into_iter().collect(),
        evidence: Vec::new(),
        validate: "Shuffle files kept elsewhere, by a plugin of the cluster, refute it.",
    })
}

/// An overhead below what Spark takes where none is set.
fn overhead(ctx: &Context<'_>, conf: &Conf<'_>) -> Option<Fault> {
    let name = ["spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"]
        .into_iter()
        .find(|name| conf.is_set(name))?;
    // A bare number of either name is in mebibytes.
    let overhead = crate::config::parse_bytes(&conf.text(name)?, 1 << 20)?;
    let heap = conf.bytes("spark.executor.memory")?;
    let floor = ctx.run.default_overhead_bytes(heap);
    if !ctx.run.has_containers() {
        return Some(Fault {
            subject: "spark.executor.memoryOverhead".to_owned(),
            title: format!("{name} is {}, and a standalone cluster does not look at it", size(overhead)),
            advice: format!(
                "Workers of a standalone cluster limit no memory beside the heap. In containers (YARN, Kubernetes) it \
                 would need at least {} for a heap of {}.",
                size(floor),
                size(heap)
            ),
            changes: vec![rules::unset(conf, name)],
            evidence: vec![("overhead_bytes", overhead.into()), ("heap_bytes", heap.into())],
            validate: "Executors that are started in containers after all refute it.",
        });
    }
    if overhead >= floor {
        return None;
    }
    Some(Fault {
        subject: "spark.executor.memoryOverhead".to_owned(),
        title: format!(
            "{name} is {}, below the {} that Spark takes for a heap of {}",
            size(overhead),
            size(floor),
            size(heap)
        ),
        advice: "The overhead holds thread stacks, network buffers, and Python workers that have no limit of their own. \
                 Containers with too little of it are killed. Leave it unset or raise it."
            .to_owned(),
        changes: conf.propose(name, format!("{}m", (floor + (1 << 20) - 1) >> 20)).into_iter().collect(),
        evidence: vec![
            ("overhead_bytes", overhead.into()),
            ("floor_bytes", floor.into()),
            ("heap_bytes", heap.into()),
        ],
        validate: "Resident memory of executors well below heap and overhead together refutes it.",
    })
}

/// Java serialization where RDDs of objects are shuffled.
fn serializer(ctx: &Context<'_>, conf: &Conf<'_>) -> Option<Fault> {
    let current = conf.text("spark.serializer")?;
    if current != "org.apache.spark.serializer.JavaSerializer" {
        return None;
    }
    let is_python = |digest: &crate::context::StageDigest| {
        ctx.run.stages.get(digest.position).is_some_and(|stage| {
            stage.rdd_ids.iter().filter_map(|id| ctx.run.rdd_name(*id)).any(|name| name.contains("PythonRDD"))
                || stage.name.contains("PythonRDD")
        })
    };
    let shuffles = |digest: &&crate::context::StageDigest| {
        digest.sql_id.is_none() && digest.all.shuffle_read_bytes + digest.all.shuffle_write_bytes > 0
    };
    let total: i64 = ctx.stages.iter().map(|digest| digest.attempt_ms).sum();
    let (python, own): (Vec<_>, Vec<_>) =
        ctx.stages.iter().filter(shuffles).partition(|digest| is_python(digest));
    let share_of = |ms: i64| if total > 0 { ms as f64 / total as f64 } else { 0.0 };
    let sum = |digests: &[&crate::context::StageDigest]| -> i64 {
        digests.iter().map(|digest| digest.attempt_ms).sum()
    };
    let is_own = share_of(sum(&own)) >= ctx.get(&RDD_SHARE);
    let rdd = if is_own { sum(&own) } else { sum(&own) + sum(&python) };
    let share = share_of(rdd);
    if share < ctx.get(&RDD_SHARE) {
        return None;
    }
    let (whose, advice) = if is_own {
        ("RDDs", "Kryo writes smaller data and is faster. Register the classes that are shuffled most.")
    } else {
        (
            "Python RDDs",
            "Kryo writes smaller data and is faster, but Python's rows are bytes already when Spark serializes them: the \
             gain is small. DataFrames, which have a format of their own, gain more.",
        )
    };
    Some(Fault {
        subject: "spark.serializer".to_owned(),
        title: format!(
            "{whose} are shuffled with Java serialization, in stages with {} of the task time (spark.serializer)",
            percent(share)
        ),
        advice: advice.to_owned(),
        changes: conf
            .propose("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
            .into_iter()
            .collect(),
        evidence: vec![
            ("rdd_share", rounded(share).into()),
            ("rdd_task_ms", rdd.into()),
            ("python_rows", (!is_own).into()),
        ],
        validate: "Shuffle sizes and stage times that stay the same with Kryo refute it.",
    })
}
