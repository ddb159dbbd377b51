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
    #[error("{tag}.{name}: {value} is not a number of 0 or more")]
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
                    return Err(ThresholdError::Name { tag: tag.clone(), name: name.clone(), known });
                };
                let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
                let Some(number) = number.filter(|number| number.is_finite() && *number >= 0.0) else {
                    let value = value.to_string();
                    return Err(ThresholdError::Value { tag: tag.clone(), name: name.clone(), value });
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

/// The thresholds behind a tag; `RUN` are those of all.
fn thresholds_of(tag: &str) -> Result<Vec<&'static Threshold>, ThresholdError> {
    if tag == "RUN" {
        return Ok(crate::materiality::THRESHOLDS.iter().collect());
    }
    let mut found = DETECTORS.iter().filter(|detector| detector.tag == tag).peekable();
    if found.peek().is_none() {
        return Err(ThresholdError::Tag(tag.to_owned()));
    }
    Ok(found.flat_map(|detector| detector.thresholds).collect())
}
