//! Functions that DataFusion lacks, or whose results are not Spark's.

mod json;
mod json_path;
mod lists;
mod percentile;
mod round;
mod simple;
mod strings;
mod text;
mod time;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

/// `percentile` of values that are sorted.
pub(crate) const PERCENTILE: &str = "__percentile";
/// All values of a group: two percentiles of the same share them.
pub(crate) const VALUES: &str = "__values";
/// A value as text, as `CAST(x AS STRING)` gives it.
pub(crate) const TEXT: &str = "__text";

/// `substring` whose places are Spark's.
pub(crate) const SUBSTRING: &str = "__substring";
/// Whether a list contains a value, from whether an element is equal and the list.
pub(crate) const CONTAINS: &str = "__array_contains";
/// The most frequent of a list.
pub(crate) const MODE: &str = "__mode";
/// A text as a timestamp, by a pattern.
pub(crate) const PARSE_TIME: &str = "__parse_time";

/// Registers all.
pub(crate) fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::from(round::Round::new()));
    context.register_udf(ScalarUDF::from(percentile::Percentile::new()));
    context.register_udaf(AggregateUDF::from(percentile::Values::new()));
    context.register_udf(ScalarUDF::from(text::Text::new()));
    context.register_udf(ScalarUDF::from(json::ToJson::new()));
    context.register_udf(ScalarUDF::from(json::FromJson::new()));
    context.register_udf(json_path::get_json_object());
    lists::all().into_iter().chain(strings::all()).chain(time::all()).for_each(|f| context.register_udf(f));
}
