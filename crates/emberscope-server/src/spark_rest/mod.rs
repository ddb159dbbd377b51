//! Spark's monitoring API, version 1, as Spark 4.3.0 answers it.
//!
//! A projection of the model. What only this API counts in its own way (attempts whose success was taken
//! back, quantiles, printed SQL metrics) is in [`figures`], [`quantiles`] and [`sql_values`], and nowhere else.

mod figures;
mod params;
mod quantiles;
mod refusal;
mod sql_values;
mod task_rows;
mod time;
pub(crate) mod v1;

pub(crate) use figures::Figures;
pub(crate) use params::Params;
pub(crate) use refusal::Refusal;
