//! Thresholds as a user sets them: TOML with one table for each tag.
//!
//! ```toml
//! [SKEW]
//! ratio = 4
//! ```

use crate::detector::Threshold;
use crate::detectors::DETECTORS;
use std::collections::BTreeMap;

/// Why a thresholds file cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ThresholdError {
    /// It is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// No detector has the tag.
    #[error("no detector has the tag `{0}`")]
    Tag(String),
    /// The detector has no such threshold.
    #[error("{tag} has no threshold `{name}`; it has {known}")]
    Name {
        /// Tag.
        tag: String,
        /// Name.
        name: String,
        /// Those it has.
        known: String,
    },
    /// The value is no number that makes sense.
    #[error("{tag}.{name}: {value} is not a number {}", range(.name))]
    Value {
        /// Tag.
        tag: String,
        /// Name.
        name: String,
        /// What stands there.
        value: String,
    },
}

/// Set thresholds; all others have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    set: BTreeMap<(&'static str, &'static str), f64>,
}

impl Thresholds {
    /// From the text of a file.
    pub fn from_toml(text: &str) -> Result<Self, ThresholdError> {
        let tables: toml::Table =
            text.parse().map_err(|error: toml::de::Error| ThresholdError::Syntax(error.to_string()))?;
        let mut set = BTreeMap::new();
        for (tag, table) in &tables {
            let known: Vec<&Threshold> = thresholds_of(tag)?;
            let Some(table) = table.as_table() else {
                return Err(ThresholdError::Syntax(format!(
                    "`{tag}` is not a table: write [{tag}] above its thresholds"
                )));
            };
            for (name, value) in table {
                let Some(threshold) = known.iter().find(|threshold| threshold.name == name) else {
                    let known: Vec<&str> = known.iter().map(|threshold| threshold.name).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    return Err(ThresholdError::Name {
                        tag: tag.to_ascii_uppercase(),
                        name: name.clone(),
                        known,
                    });
                };
                let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
                let most = if threshold.is_share() { 1.0 } else { f64::MAX };
                let Some(number) = number.filter(|number| (0.0..=most).contains(number)) else {
                    let (value, tag) = (value.to_string(), threshold.tag.to_owned());
                    return Err(ThresholdError::Value { tag, name: name.clone(), value });
                };
                set.insert((threshold.tag, threshold.name), number);
            }
        }
        Ok(Thresholds { set })
    }

    /// The value of a threshold.
    pub fn get(&self, threshold: &Threshold) -> f64 {
        self.set.get(&(threshold.tag, threshold.name)).copied().unwrap_or(threshold.default)
    }

    /// Those that differ from their defaults, as `TAG.name`.
    pub fn tuned(&self) -> Vec<String> {
        self.set.keys().map(|(tag, name)| format!("{tag}.{name}")).collect()
    }
}

/// What a threshold of that name may be.
fn range(name: &str) -> &'static str {
    if is_share(name) { "from 0 to 1: it is a share" } else { "of 0 or more" }
}

fn is_share(name: &str) -> bool {
    name.ends_with("_share") || name == "share"
}

impl Threshold {
    /// Whether it is a share of a whole, which no value above 1 can be.
    pub fn is_share(&self) -> bool {
        is_share(self.name)
    }
}

/// The thresholds behind a tag; `RUN` are those of all, `LOCATE` those of finding the execution of a text.
fn thresholds_of(tag: &str) -> Result<Vec<&'static Threshold>, ThresholdError> {
    if tag.eq_ignore_ascii_case("RUN") {
        return Ok(crate::materiality::THRESHOLDS.iter().collect());
    }
    if tag.eq_ignore_ascii_case("LOCATE") {
        return Ok(crate::locating::THRESHOLDS.iter().collect());
    }
    let mut found = DETECTORS.iter().filter(|detector| detector.tag.eq_ignore_ascii_case(tag)).peekable();
    if found.peek().is_none() {
        return Err(ThresholdError::Tag(tag.to_owned()));
    }
    Ok(found.flat_map(|detector| detector.thresholds).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_any_case_and_shares_up_to_one() {
        let lower = Thresholds::from_toml("[fail]\nwarning_share = 1\n[Run]\nfloor_ms = 5\n").unwrap();
        assert_eq!(lower.tuned(), ["FAIL.warning_share", "RUN.floor_ms"]);
        for value in ["1.5", "30", "-0.1", "nan", "inf", "\"much\""] {
            let error = Thresholds::from_toml(&format!("[fail]\nwarning_share = {value}")).unwrap_err();
            assert!(error.to_string().ends_with("is not a number from 0 to 1: it is a share"), "{error}");
        }
        let error = Thresholds::from_toml("[RUN]\nfloor_ms = -5").unwrap_err();
        assert_eq!(error.to_string(), "RUN.floor_ms: -5 is not a number of 0 or more");
    }

    #[test]
    fn shares_have_defaults_that_are_shares() {
        let all = DETECTORS
            .iter()
            .flat_map(|detector| detector.thresholds)
            .chain(crate::materiality::THRESHOLDS)
            .chain(crate::locating::THRESHOLDS);
        let wrong: Vec<&str> =
            all.filter(|one| one.is_share() && one.default > 1.0).map(|one| one.name).collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }
}
