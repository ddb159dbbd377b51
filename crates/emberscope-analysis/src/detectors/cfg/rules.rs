//! Rules about settings that are dead, out of order or at odds with each other.

use super::Fault;
use crate::config::{Conf, ConfKey, Version, key};
use crate::context::Context;
use crate::finding::{Change, ChangeKind};
use emberscope_model::config::ConfigOrigin;

/// Dynamic allocation's bounds out of order, or without an upper one.
pub(super) fn bounds(conf: &Conf<'_>) -> Vec<Fault> {
    const MIN: &str = "spark.dynamicAllocation.minExecutors";
    const INITIAL: &str = "spark.dynamicAllocation.initialExecutors";
    const MAX: &str = "spark.dynamicAllocation.maxExecutors";
    if conf.bool("spark.dynamicAllocation.enabled") != Some(true) {
        return Vec::new();
    }
    let set = |name: &str| conf.is_set(name).then(|| conf.number(name)).flatten();
    let (min, max) = (set(MIN).unwrap_or(0.0), set(MAX));
    let initial = set(INITIAL);
    let mut faults = Vec::new();
    let mut inverted = |low: &str, low_value: f64, high: &str, high_value: f64| {
        faults.push(Fault {
            subject: high.to_owned(),
            title: format!("{low} ({low_value:.0}) is above {high} ({high_value:.0})"),
            advice: format!("Set {low} to at most {high}: as they are, one of them does nothing."),
            changes: vec![set_to(conf, low, &format!("{high_value:.0}"))],
            evidence: Vec::new(),
            validate: "The values as the driver logged them are the evidence.",
        });
    };
    match (max, initial) {
        (Some(max), _) if min > max => inverted(MIN, min, MAX, max),
        (Some(max), Some(initial)) if initial > max => inverted(INITIAL, initial, MAX, max),
        (_, Some(initial)) if initial < min => inverted(MIN, min, INITIAL, initial),
        _ => {}
    }
    if max.is_none_or(|max| max >= f64::from(i32::MAX)) {
        faults.push(Fault {
            subject: MAX.to_owned(),
            title: format!("Dynamic allocation has no upper bound ({MAX} is not set)"),
            advice: "One query with many partitions may take the whole cluster. Set the largest number of executors that \
                     this application should ever have."
                .to_owned(),
            changes: vec![Change {
                kind: ChangeKind::Conf,
                key: MAX.to_owned(),
                current: conf.text(MAX),
                proposed: None,
            }],
            evidence: Vec::new(),
            validate: "A limit that the queue or quota of the cluster manager sets refutes it.",
        });
    }
    faults
}

/// What Databricks sets on every cluster: nobody who runs a program there put it there, nor can take it away.
const SET_BY_DATABRICKS: [(&str, &str); 4] = [
    ("spark.shuffle.memoryFraction", "0.2"),
    ("spark.storage.memoryFraction", "0.5"),
    ("spark.speculation.multiplier", "3"),
    ("spark.speculation.quantile", "0.9"),
];

/// Whether the platform gave a setting its value.
fn is_of_platform(ctx: &Context<'_>, conf: &Conf<'_>, name: &str) -> bool {
    let value = ctx.run.spark_property(name).unwrap_or_default();
    conf.is_databricks() && SET_BY_DATABRICKS.contains(&(name, value))
}

/// Settings that this version does not read.
pub(super) fn dead_names(ctx: &Context<'_>, conf: &Conf<'_>) -> Vec<Fault> {
    // An unknown version is taken for the newest, which proves nothing about what it reads.
    if ctx.run.application.spark_version.as_deref().and_then(Version::parse).is_none() {
        return Vec::new();
    }
    let version = conf.version();
    let mut faults = Vec::new();
    for name in ctx.run.environment.spark.keys() {
        let is_dead = |key: &&ConfKey| !key.exists_in(version) && !is_of_platform(ctx, conf, name);
        let Some(key) = key(name).filter(is_dead) else { continue };
        let (text, successor) = match key.removed {
            Some((removed, successor)) if removed <= version => {
                (format!("Spark does not read {name} since {}.{}", removed.0, removed.1), successor)
            }
            _ => (format!("{name} is new in Spark {}.{}", key.since.0, key.since.1), None),
        };
        let advice = match successor {
            Some(successor) => format!("Use {successor} instead, and remove {name}."),
            None => format!("Remove {name}: it does nothing here."),
        };
        faults.push(Fault {
            subject: name.clone(),
            title: format!("{text}: it does nothing in {}.{}", version.0, version.1),
            advice,
            changes: vec![unset(conf, name)],
            evidence: successor.map(|successor| ("successor", successor.into())).into_iter().collect(),
            validate: "The configuration page of the version that ran lists what it reads.",
        });
    }
    faults
}

/// A switch and the settings that only matter when it is on.
struct Group {
    switch: &'static str,
    /// Beginnings of names, or whole names.
    members: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group { switch: "spark.sql.adaptive.enabled", members: &["spark.sql.adaptive."] },
    Group { switch: "spark.sql.adaptive.skewJoin.enabled", members: &["spark.sql.adaptive.skewJoin."] },
    Group {
        switch: "spark.sql.adaptive.coalescePartitions.enabled",
        members: &["spark.sql.adaptive.coalescePartitions."],
    },
    Group { switch: "spark.dynamicAllocation.enabled", members: &["spark.dynamicAllocation."] },
    Group { switch: "spark.speculation", members: &["spark.speculation."] },
    Group { switch: "spark.memory.offHeap.enabled", members: &["spark.memory.offHeap."] },
    Group {
        switch: "spark.excludeOnFailure.enabled",
        members: &[
            "spark.excludeOnFailure.task.",
            "spark.excludeOnFailure.stage.",
            "spark.excludeOnFailure.timeout",
        ],
    },
    Group { switch: "spark.sql.cbo.enabled", members: &["spark.sql.cbo.joinReorder."] },
    Group { switch: "spark.shuffle.push.enabled", members: &["spark.shuffle.push."] },
];

/// Groups of settings that were set while their switch is off.
pub(super) fn dead_groups(ctx: &Context<'_>, conf: &Conf<'_>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for group in GROUPS {
        // Once the outer switch is off the inner ones say nothing new.
        let is_told =
            faults.iter().any(|fault| group.switch.starts_with(fault.subject.trim_end_matches("enabled")));
        if is_told || conf.bool(group.switch).unwrap_or(false) {
            continue;
        }
        let members: Vec<&str> = ctx
            .run
            .environment
            .spark
            .keys()
            .map(String::as_str)
            .filter(|name| *name != group.switch && group.members.iter().any(|part| name.starts_with(part)))
            .filter(|name| conf.exists(name) && matters(conf, name) && !is_of_platform(ctx, conf, name))
            .collect();
        let Some(first) = members.first() else { continue };
        let rest = match members.len() {
            1 => String::new(),
            2 => " and one more".to_owned(),
            n => format!(" and {} more", n - 1),
        };
        faults.push(Fault {
            subject: group.switch.to_owned(),
            title: format!("{first}{rest} do nothing while {} is off", group.switch).replacen(
                " do nothing",
                if members.len() == 1 { " does nothing" } else { " do nothing" },
                1,
            ),
            advice: format!("Turn {} on, or remove what depends on it.", group.switch),
            changes: members.iter().map(|name| unset(conf, name)).collect(),
            evidence: vec![("dead_settings", members.join(", ").into())],
            validate: "A switch that is set for single queries, and not for the application, refutes it.",
        });
    }
    faults
}

/// Whether somebody set a value that differs from the default.
fn matters(conf: &Conf<'_>, name: &str) -> bool {
    let Some(value) = conf.get(name).filter(|value| value.origin != ConfigOrigin::Default) else {
        return false;
    };
    let default = key(name).and_then(|key| key.default_in(conf.version()));
    // A switch that is off in a dead group does no harm; neither does a default repeated.
    !value.value.eq_ignore_ascii_case("false")
        && default.is_none_or(|default| !crate::config::is_same(name, default, &value.value))
}

/// Settings at odds with each other.
pub(super) fn contradictions(ctx: &Context<'_>, conf: &Conf<'_>) -> Vec<Fault> {
    [pools(ctx, conf), off_heap(conf), heartbeat(conf), push(conf), kryo(ctx, conf)]
        .into_iter()
        .flatten()
        .collect()
}

fn pools(ctx: &Context<'_>, conf: &Conf<'_>) -> Option<Fault> {
    let is_fair = conf.text("spark.scheduler.mode").is_some_and(|mode| mode.eq_ignore_ascii_case("FAIR"));
    let named = |pool: &&String| !pool.is_empty() && pool.as_str() != "default";
    let pool = ctx.run.stages.iter().filter_map(|stage| stage.pool.as_ref()).find(named)?;
    if is_fair {
        return None;
    }
    Some(Fault {
        subject: "spark.scheduler.mode".to_owned(),
        title: format!("Jobs ask for the pool `{pool}`, but spark.scheduler.mode is FIFO and has no pools"),
        advice: "Set spark.scheduler.mode to FAIR, or do not set spark.scheduler.pool.".to_owned(),
        changes: conf.propose("spark.scheduler.mode", "FAIR").into_iter().collect(),
        evidence: vec![("pool", pool.as_str().into())],
        validate: "The values as the driver logged them are the evidence.",
    })
}

fn off_heap(conf: &Conf<'_>) -> Option<Fault> {
    let is_on = conf.bool("spark.memory.offHeap.enabled") == Some(true);
    (is_on && conf.bytes("spark.memory.offHeap.size").unwrap_or(0) <= 0).then(|| Fault {
        subject: "spark.memory.offHeap.size".to_owned(),
        title: "spark.memory.offHeap.enabled is on with a size of 0 (spark.memory.offHeap.size)".to_owned(),
        advice: "Give off-heap memory a size, and add it to what the container may take; or turn it off."
            .to_owned(),
        changes: vec![unset(conf, "spark.memory.offHeap.enabled")],
        evidence: Vec::new(),
        validate: "The values as the driver logged them are the evidence.",
    })
}

fn heartbeat(conf: &Conf<'_>) -> Option<Fault> {
    let heartbeat = conf.ms("spark.executor.heartbeatInterval")?;
    let timeout = conf.ms("spark.network.timeout")?;
    (heartbeat >= timeout).then(|| Fault {
        subject: "spark.executor.heartbeatInterval".to_owned(),
        title: format!(
            "spark.executor.heartbeatInterval ({heartbeat} ms) is not below spark.network.timeout ({timeout} ms)"
        ),
        advice: "Executors count as lost before their next heartbeat. Keep the interval at a fraction of the timeout."
            .to_owned(),
        changes: conf.propose("spark.executor.heartbeatInterval", "10s").into_iter().collect(),
        evidence: vec![("heartbeat_ms", heartbeat.into()), ("timeout_ms", timeout.into())],
        validate: "The values as the driver logged them are the evidence.",
    })
}

fn push(conf: &Conf<'_>) -> Option<Fault> {
    let is_on = |name: &str| conf.bool(name) == Some(true);
    (is_on("spark.shuffle.push.enabled") && !is_on("spark.shuffle.service.enabled")).then(|| Fault {
        subject: "spark.shuffle.push.enabled".to_owned(),
        title: "spark.shuffle.push.enabled does nothing without spark.shuffle.service.enabled".to_owned(),
        advice: "Push-based shuffle needs the external shuffle service on YARN. Turn it on, or push off."
            .to_owned(),
        changes: conf.propose("spark.shuffle.push.enabled", "false").into_iter().collect(),
        evidence: Vec::new(),
        validate: "The values as the driver logged them are the evidence.",
    })
}

fn kryo(ctx: &Context<'_>, conf: &Conf<'_>) -> Option<Fault> {
    let is_java = conf.text("spark.serializer")? == "org.apache.spark.serializer.JavaSerializer";
    let names = ["spark.kryo.registrator", "spark.kryo.classesToRegister", "spark.kryo.registrationRequired"];
    let name = names.into_iter().find(|name| {
        ctx.run.spark_property(name).is_some_and(|value| !value.is_empty() && value != "false")
    })?;
    is_java.then(|| Fault {
        subject: "spark.kryo".to_owned(),
        title: format!("{name} does nothing: spark.serializer is Java's"),
        advice: "Set spark.serializer to Kryo, or remove the registration.".to_owned(),
        changes: conf
            .propose("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
            .into_iter()
            .collect(),
        evidence: Vec::new(),
        validate: "The values as the driver logged them are the evidence.",
    })
}

pub(super) fn unset(conf: &Conf<'_>, name: &str) -> Change {
    Change {
        kind: ChangeKind::Conf,
        key: name.to_owned(),
        current: conf.text(name),
        proposed: Some("(remove)".to_owned()),
    }
}

fn set_to(conf: &Conf<'_>, name: &str, value: &str) -> Change {
    Change {
        kind: ChangeKind::Conf,
        key: name.to_owned(),
        current: conf.text(name),
        proposed: Some(value.to_owned()),
    }
}
