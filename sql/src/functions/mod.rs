//! Functions that DataFusion lacks, or whose results are not Spark's.

mod json;
mod percentile;
mod round;
mod text;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

/// `percentile` of values that are sorted.
pub(crate) const PERCENTILE: &str = "__percentile";
/// All values of a group, sorted: two percentiles of the same share them.
pub(crate) const SORTED_VALUES: &str = "__sorted_values";
/// A value as text, as `CAST(x AS STRING)` gives it.
pub(crate) const TEXT: &str = "__text";

/// Registers all.
pub(crate) fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::from(round::Round::new()));
    context.register_udf(ScalarUDF::from(percentile::Percentile::new()));
    context.register_udaf(AggregateUDF::from(percentile::SortedValues::new()));
    context.register_udf(ScalarUDF::from(text::Text::new()));
    context.register_udf(ScalarUDF::from(json::ToJson::new()));
    context.register_udf(ScalarUDF::from(json::FromJson::new()));
}
