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

pub use super::table::KEYS;

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
        for key in KEYS {
            let successor = key.removed.and_then(|(_, successor)| successor);
            assert!(successor.is_none_or(|name| self::key(name).is_some()), "{}", key.name);
            assert!(key.removed.is_none_or(|(removed, _)| key.since < removed), "{}", key.name);
        }
    }
}
