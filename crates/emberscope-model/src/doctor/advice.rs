//! Settings that would shrink a log or let it hold what it lacks.
//!
//! Names, versions and defaults are those of Spark's own `ConfigEntry` definitions. A setting is
//! advised only where the log's Spark version has it and its value in effect is another one.

use crate::run::Run;
use emberscope_log::census::{Census, LONG_PLAN_BYTES};
use serde::Serialize;

/// What a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The log gets smaller.
    Shrink,
    /// The log holds more.
    Provide,
}

/// How a saving was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counted in this log.
    Measured,
    /// From a part of this log that was compressed.
    Sampled,
    /// What the setting touches; something shorter takes its place.
    AtMost,
}

/// What a saving is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedOf {
    /// The bytes as stored.
    StoredBytes,
    /// The bytes of JSON text.
    DecodedBytes,
}

/// What a setting would save.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saving {
    /// Bytes.
    pub bytes: u64,
    /// Share, 0 to 1.
    pub share: f64,
    /// What it is a share of.
    pub of: SavedOf,
    /// How it was found.
    pub basis: Basis,
}

/// A setting that would help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Spark's name of it.
    pub setting: &'static str,
    /// Value in the log; `None` where it is not set there.
    pub current: Option<String>,
    /// Value to set.
    pub proposed: &'static str,
    /// What it is for.
    pub purpose: Purpose,
    /// What it would save; `None` where it provides instead.
    pub saving: Option<Saving>,
    /// What was seen in this log.
    pub reason: String,
    /// What it costs or takes away.
    pub cost: Option<&'static str>,
}

/// Savings below this share are not worth a setting.
const WORTHWHILE: f64 = 0.01;
/// Savings that cost evidence have to be larger.
const WORTH_LESS_EVIDENCE: f64 = 0.05;
/// A single log file above this size is better rolled.
const LARGE_FILE_BYTES: u64 = 256 << 20;

type Version = (u32, u32);

/// Major and minor version of Spark; `None` where the log does not tell or tells a vendor's runtime.
pub(super) fn version_of(run: &Run) -> Option<Version> {
    let mut parts = run.application.spark_version.as_deref()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

struct Advisor<'a> {
    run: &'a Run,
    census: &'a Census,
    version: Option<Version>,
    decoded_bytes: u64,
    advice: Vec<Advice>,
}

pub(super) fn advise(run: &Run, census: &Census) -> Vec<Advice> {
    let decoded_bytes = census.bytes();
    let mut advisor = Advisor { run, census, version: version_of(run), decoded_bytes, advice: Vec::new() };
    if decoded_bytes > 0 {
        advisor.compression();
        advisor.accumulators();
        advisor.block_updates();
        advisor.plans();
        advisor.call_sites();
        advisor.executor_metrics();
        advisor.rolling();
    }
    let mut advice = advisor.advice;
    advice.sort_by(|a, b| {
        let share = |advice: &Advice| advice.saving.map_or(0.0, |saving| saving.share);
        a.purpose.cmp(&b.purpose).then(share(b).total_cmp(&share(a)))
    });
    advice
}

impl Advisor<'_> {
    /// Whether the log's Spark is known to be at least this version.
    fn is_since(&self, version: Version) -> bool {
        self.version.is_some_and(|known| known >= version)
    }

    /// The value a setting had in the log. Sessions may change SQL settings, so the last query that
    /// changed it counts before the application's.
    fn logged(&self, setting: &str) -> Option<&str> {
        let by_query =
            self.run.sql_executions.iter().rev().find_map(|query| query.modified_configs.get(setting));
        by_query.map(String::as_str).or_else(|| self.run.spark_property(setting))
    }

    fn is_on(&self, setting: &str, default: bool) -> bool {
        self.logged(setting).map_or(default, |value| value.trim().eq_ignore_ascii_case("true"))
    }

    fn saving(&self, bytes: u64, basis: Basis) -> Option<Saving> {
        let share = bytes as f64 / self.decoded_bytes as f64;
        (share >= WORTHWHILE).then_some(Saving { bytes, share, of: SavedOf::DecodedBytes, basis })
    }

    fn shrink(
        &mut self,
        setting: &'static str,
        proposed: &'static str,
        saving: Option<Saving>,
        reason: String,
        cost: Option<&'static str>,
    ) {
        // Without a saving there is nothing to advise; and what is set is set.
        let current = self.logged(setting).map(str::to_owned);
        if saving.is_some() && current.as_deref() != Some(proposed) {
            let purpose = Purpose::Shrink;
            self.advice.push(Advice { setting, current, proposed, purpose, saving, reason, cost });
        }
    }

    fn provide(&mut self, setting: &'static str, reason: String, cost: Option<&'static str>) {
        let current = self.logged(setting).map(str::to_owned);
        self.advice.push(Advice {
            setting,
            current,
            proposed: "true",
            purpose: Purpose::Provide,
            saving: None,
            reason,
            cost,
        });
    }

    fn compression(&mut self) {
        let files = &self.run.trust.files;
        // gzip is the work of whoever archived the log, not of Spark.
        let is_weak = |codec: &str| matches!(codec, "plain" | "lz4" | "lzf" | "snappy");
        let stored: u64 = files.iter().map(|file| file.bytes).sum();
        let weak = files.iter().filter(|file| is_weak(&file.codec));
        let (bytes, decoded) =
            weak.fold((0, 0), |(bytes, decoded), file| (bytes + file.bytes, decoded + file.decoded_bytes));
        let sample = self.census.sample;
        if decoded == 0 || sample.plain_bytes == 0 {
            return;
        }
        let rate = sample.zstd_bytes as f64 / sample.plain_bytes as f64;
        let packed = (decoded as f64 * rate) as u64;
        let saved = bytes.saturating_sub(packed);
        let share = saved as f64 / stored.max(1) as f64;
        let saving = Saving { bytes: saved, share, of: SavedOf::StoredBytes, basis: Basis::Sampled };
        let saving = (share >= WORTHWHILE).then_some(saving);
        let ratio = 1.0 / rate.max(f64::EPSILON);
        let is_compressed = !files.iter().any(|file| file.codec == "plain");
        // With compression on, Spark before 3.0 takes the codec of shuffles, which defaults to lz4.
        let codec = if self.is_since((3, 0)) {
            "spark.eventLog.compression.codec"
        } else {
            "spark.io.compression.codec"
        };
        if !is_compressed {
            if !self.is_on("spark.eventLog.compress", self.is_since((4, 0))) {
                let mut reason = format!("the log is not compressed; zstd packs it {ratio:.0} : 1");
                let codec_in_effect = self.logged(codec).unwrap_or("zstd");
                if !self.is_since((3, 0)) || codec_in_effect != "zstd" {
                    reason.push_str(&format!(", with {codec}=zstd"));
                }
                self.shrink("spark.eventLog.compress", "true", saving, reason, None);
            }
        } else {
            let codecs: Vec<&str> = files.iter().map(|file| file.codec.as_str()).collect();
            let reason = format!("the log is packed with {}; zstd packs it {ratio:.0} : 1", codecs[0]);
            let cost = (!self.is_since((3, 0))).then_some("changes the codec of shuffle files, too");
            self.shrink(codec, "zstd", saving, reason, cost);
        }
    }

    fn accumulators(&mut self) {
        let internal = self.census.internal_accumulables;
        if self.is_since((4, 0)) && self.is_on("spark.eventLog.includeTaskMetricsAccumulators", true) {
            self.shrink(
                "spark.eventLog.includeTaskMetricsAccumulators",
                "false",
                self.saving(internal.bytes, Basis::Measured),
                format!("{} accumulables repeat what the task metrics say", internal.count),
                None,
            );
        }
        let updated = self.census.field_bytes("SparkListenerTaskEnd", "Task Metrics.Updated Blocks");
        if self.is_on("spark.taskMetrics.trackUpdatedBlockStatuses", false) {
            self.shrink(
                "spark.taskMetrics.trackUpdatedBlockStatuses",
                "false",
                self.saving(updated, Basis::Measured),
                "task ends list the blocks they updated, which nothing in Spark uses".to_owned(),
                None,
            );
        }
    }

    fn block_updates(&mut self) {
        const SETTING: &str = "spark.eventLog.logBlockUpdates.enabled";
        let updates = self.census.events.get("SparkListenerBlockUpdated");
        let is_on = self.is_on(SETTING, false);
        if let Some(updates) = updates.filter(|_| is_on) {
            let cached = self.run.storage.cached.values().any(is_cached);
            let cost = if cached { "cached blocks can no longer be followed" } else { "nothing was cached" };
            let saving = self.saving(updates.lines.bytes, Basis::Measured);
            self.shrink(
                SETTING,
                "false",
                // Somebody wanted to follow the cache; only a log full of updates says otherwise.
                saving.filter(|saving| !cached || saving.share >= WORTH_LESS_EVIDENCE),
                format!("{} block updates are logged", updates.lines.count),
                Some(cost),
            );
        } else if !is_on && updates.is_none() {
            let cached = self.run.storage.cached.values().filter(|rdd| is_cached(rdd)).count();
            if cached > 0 {
                let rdds = if cached == 1 { "1 RDD is".to_owned() } else { format!("{cached} RDDs are") };
                let reason = format!("{rdds} cached, and the log does not tell what stayed in the cache");
                self.provide(SETTING, reason, Some("one event for each block stored or dropped"));
            }
        }
    }

    fn plans(&mut self) {
        let plans = self.census.plan_texts;
        let mode = self.logged("spark.sql.ui.explainMode").unwrap_or("formatted").to_ascii_lowercase();
        let saving = self.saving(plans.details.bytes, Basis::AtMost);
        if self.is_since((3, 1)) && mode == "formatted" {
            self.shrink(
                "spark.sql.ui.explainMode",
                "simple",
                saving.filter(|saving| saving.share >= WORTH_LESS_EVIDENCE),
                format!("{} plan texts list the details of every operator", plans.all.count),
                Some("plan texts no longer list inputs and arguments of operators one by one"),
            );
        }
        let limit = self.logged("spark.sql.maxPlanStringLength");
        if self.is_since((3, 0)) && limit.is_none() {
            self.shrink(
                "spark.sql.maxPlanStringLength",
                "64k",
                self.saving(plans.excess.bytes, Basis::Measured),
                format!("{} plan texts are longer than {} KiB", plans.excess.count, LONG_PLAN_BYTES >> 10),
                Some("longer plan texts end early; the plan tree with its metrics stays whole"),
            );
        }
    }

    fn call_sites(&mut self) {
        if self.is_since((2, 4)) && self.is_on("spark.eventLog.longForm.enabled", false) {
            let details: u64 = [
                ("SparkListenerJobStart", "Stage Infos.Details"),
                ("SparkListenerStageSubmitted", "Stage Info.Details"),
                ("SparkListenerStageCompleted", "Stage Info.Details"),
            ]
            .iter()
            .map(|(event, field)| self.census.field_bytes(event, field))
            .sum();
            self.shrink(
                "spark.eventLog.longForm.enabled",
                "false",
                self.saving(details, Basis::AtMost),
                "call sites are logged with their whole stack".to_owned(),
                Some("call sites name one line instead of a stack"),
            );
        }
    }

    fn executor_metrics(&mut self) {
        const SETTING: &str = "spark.eventLog.logStageExecutorMetrics";
        let logged = self.census.events_of("SparkListenerStageExecutorMetrics");
        let has_stages = self.census.events_of("SparkListenerStageCompleted") > 0;
        if logged == 0 && has_stages && self.is_since((3, 0)) && !self.is_on(SETTING, false) {
            let reason = "the log does not tell how much memory executors needed in each stage".to_owned();
            self.provide(SETTING, reason, Some("one small event for each executor and stage"));
        }
    }

    fn rolling(&mut self) {
        const SETTING: &str = "spark.eventLog.rolling.enabled";
        let [file] = self.run.trust.files.as_slice() else { return };
        let is_on = self.is_on(SETTING, self.is_since((4, 0)));
        if self.is_since((3, 0)) && !is_on && file.bytes >= LARGE_FILE_BYTES {
            let size = file.bytes >> 20;
            let reason =
                format!("one file holds {size} MiB; the parts of a rolled log can be read and kept apart");
            self.provide(SETTING, reason, None);
        }
    }
}

fn is_cached(rdd: &crate::storage::CachedRdd) -> bool {
    rdd.storage_level.use_memory || rdd.storage_level.use_disk
}
