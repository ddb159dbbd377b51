//! `/version`: of the API that is spoken.

use super::{Answer, json};
use serde_json::json;

/// Spark's version whose API this is.
pub(super) const SPARK: &str = "4.3.0";

pub(super) fn get() -> Answer {
    json(&json!({ "spark": SPARK }))
}
