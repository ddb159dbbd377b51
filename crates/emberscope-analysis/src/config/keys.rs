//! Spark's settings as data: since when they exist, until when, and their defaults by version.
//!
//! Source: the `ConfigBuilder`s of Spark's `internal/config` and `SQLConf`, and the configuration page
//! of each version.

use super::Version;

/// What is known of a setting.
#[derive(Clone, Copy, Debug)]
pub struct ConfKey {
    /// Name.
    pub name: &'static str,
    /// First version that has it.
    pub since: Version,
    /// First version that has it no more, and its successor there.
    pub removed: Option<(Version, Option<&'static str>)>,
    /// Defaults: version from which each holds. Empty = none, or one that depends on the cluster.
    pub defaults: &'static [(Version, &'static str)],
    /// Bytes of a bare number.
    pub bare_bytes: i64,
    /// Milliseconds of a bare number.
    pub bare_ms: i64,
}

impl ConfKey {
    /// The default in a version.
    pub fn default_in(&self, version: Version) -> Option<&'static str> {
        self.defaults.iter().rev().find(|(since, _)| *since <= version).map(|(_, value)| *value)
    }

    /// Whether a version has it.
    pub fn exists_in(&self, version: Version) -> bool {
        self.since <= version && self.removed.is_none_or(|(removed, _)| version < removed)
    }
}

const V1: Version = Version(1, 0);
const V2: Version = Version(2, 0);
const V30: Version = Version(3, 0);
const V32: Version = Version(3, 2);
const V33: Version = Version(3, 3);
const V40: Version = Version(4, 0);

const fn since(name: &'static str, since: Version, defaults: &'static [(Version, &'static str)]) -> ConfKey {
    ConfKey { name, since, removed: None, defaults, bare_bytes: 1, bare_ms: 1000 }
}

const fn mebibytes(
    name: &'static str,
    first: Version,
    defaults: &'static [(Version, &'static str)],
) -> ConfKey {
    ConfKey { bare_bytes: 1 << 20, ..since(name, first, defaults) }
}

const fn milliseconds(
    name: &'static str,
    first: Version,
    defaults: &'static [(Version, &'static str)],
) -> ConfKey {
    ConfKey { bare_ms: 1, ..since(name, first, defaults) }
}

/// The settings, by name.
pub const KEYS: &[ConfKey] = &[
    mebibytes("spark.driver.memory", V1, &[(V1, "1g")]),
    since("spark.dynamicAllocation.enabled", V1, &[(V1, "false")]),
    mebibytes("spark.executor.memory", V1, &[(V1, "1g")]),
    mebibytes("spark.reducer.maxSizeInFlight", V1, &[(V1, "48m")]),
    since("spark.shuffle.push.enabled", V32, &[(V32, "false")]),
    since("spark.speculation", V1, &[(V1, "false")]),
    milliseconds("spark.speculation.minTaskRuntime", V32, &[(V32, "100ms")]),
    since("spark.speculation.multiplier", V1, &[(V1, "1.5"), (V40, "3")]),
    since("spark.speculation.quantile", V1, &[(V1, "0.75"), (V40, "0.9")]),
    since("spark.sql.adaptive.advisoryPartitionSizeInBytes", V30, &[(V30, "64MB")]),
    since("spark.sql.adaptive.coalescePartitions.enabled", V30, &[(V30, "true")]),
    since("spark.sql.adaptive.coalescePartitions.minPartitionSize", V32, &[(V32, "1MB")]),
    since("spark.sql.adaptive.coalescePartitions.parallelismFirst", V32, &[(V32, "true")]),
    since("spark.sql.adaptive.enabled", V2, &[(V2, "false"), (V32, "true")]),
    since("spark.sql.adaptive.forceOptimizeSkewedJoin", V33, &[(V33, "false")]),
    since("spark.sql.adaptive.skewJoin.enabled", V30, &[(V30, "true")]),
    since("spark.sql.adaptive.skewJoin.skewedPartitionFactor", V30, &[(V30, "5")]),
    since("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", V30, &[(V30, "256MB")]),
    since("spark.sql.autoBroadcastJoinThreshold", V1, &[(V1, "10485760b")]),
    since("spark.sql.files.maxPartitionBytes", V2, &[(V2, "134217728b")]),
    since("spark.sql.shuffle.partitions", V1, &[(V1, "200")]),
];

/// What is known of a setting.
pub fn key(name: &str) -> Option<&'static ConfKey> {
    KEYS.binary_search_by(|key| key.name.cmp(name)).ok().map(|at| &KEYS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_defaults_ascend() {
        assert!(KEYS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for key in KEYS {
            assert!(key.defaults.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", key.name);
        }
        let adaptive = key("spark.sql.adaptive.enabled").unwrap();
        assert_eq!(adaptive.default_in(Version(3, 1)), Some("false"));
        assert_eq!(adaptive.default_in(Version(3, 5)), Some("true"));
    }
}
