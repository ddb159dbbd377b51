//! `/runs/{run}/stages/{stage}/{attempt}` and what is below it.

pub(super) mod distributions;
pub(super) mod failures;
pub(super) mod hosts;
pub(super) mod scatter;
pub(super) mod tasks;

use super::failure::{Failure, number};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::thresholds::Thresholds;
use emberscope_analysis::views::distributions::Which;
use emberscope_analysis::views::metric::{METRICS, TaskMetric, metric};
use emberscope_analysis::views::stage::{StageView, stage};
use emberscope_model::run::StageAttempt;

pub(super) fn get(opened: &Opened, at: &[&str]) -> Result<StageView, Failure> {
    let thresholds = Thresholds::default();
    Ok(stage(opened.subject(), &opened.context(&thresholds), find(opened, at)?))
}

/// The stage attempt that a path names.
pub(super) fn find<'o>(opened: &'o Opened, at: &[&str]) -> Result<&'o StageAttempt, Failure> {
    let (id, attempt): (u32, u32) = (number(at[1])?, number(at[2])?);
    opened.run.stage(id, attempt).ok_or_else(|| {
        Failure::not_found(
            format!("no stage {id}.{attempt}"),
            "the list of stages has those that ran, each attempt with its own number",
        )
    })
}

/// A value by its name.
fn metric_named(name: &str) -> Result<&'static TaskMetric, Failure> {
    metric(name).ok_or_else(|| {
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        Failure::bad(format!("no value `{name}`"), &format!("values are {}", names.join(", ")))
    })
}

/// Which attempts are meant.
fn which(params: &Params) -> Result<Which, Failure> {
    match params.first("attempts").unwrap_or("counted") {
        "counted" => Ok(Which::Counted),
        "all" => Ok(Which::All),
        other => Err(Failure::bad(format!("no attempts `{other}`"), "counted or all")),
    }
}
