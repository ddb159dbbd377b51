//! How values are spread over the task attempts of a stage.

use super::metric::{MetricName, TaskMetric};
use emberscope_model::distribution::Distribution;
use emberscope_model::run::StageAttempt;
use schemars::JsonSchema;
use serde::Serialize;

/// Shares below which quantiles are given.
const QUANTILES: &[f64] = &[0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// How a histogram is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Bars of equal width.
    #[default]
    Linear,
    /// Bars of equal ratio; what is below 1 has the first.
    Log,
}

/// Which task attempts are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// Those whose output counted.
    #[default]
    Counted,
    /// All that ended.
    All,
}

/// A value over the task attempts of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The value.
    #[serde(flatten)]
    pub metric: MetricName,
    /// Attempts with the value.
    pub attempts: usize,
    /// Attempts that were looked at and do not have it.
    pub not_measured: usize,
    /// Sum; `None` where nothing was measured.
    pub total: Option<i64>,
    /// Values below which a share lies, interpolated between neighbours.
    pub quantiles: Vec<Quantile>,
    /// Attempts by value.
    pub bars: Vec<Bar>,
}

/// The value below which a share of the attempts lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantile {
    /// Share, 0 to 1.
    pub share: f64,
    /// Value.
    pub value: f64,
}

/// Attempts with values from `from` to below `to`; the last bar includes its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bar {
    /// Least value.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Attempts.
    pub attempts: u64,
}

/// The rows that are looked at.
pub fn rows(stage: &StageAttempt, which: Which) -> Vec<usize> {
    let useful = stage.tasks.useful();
    (0..stage.tasks.rows()).filter(|row| which == Which::All || useful.contains(*row)).collect()
}

/// How a value is spread, in at most `bars` bars.
pub fn spread(stage: &StageAttempt, metric: &TaskMetric, which: Which, scale: Scale, bars: usize) -> Spread {
    let values = metric.values(stage);
    let looked_at = rows(stage, which);
    let measured: Vec<i64> = looked_at.iter().filter_map(|row| values[*row]).collect();
    let attempts = measured.len();
    let spread = Distribution::of(measured.iter().copied());
    let quantile = |share: &f64| Some(Quantile { share: *share, value: spread.quantile(*share)? });
    Spread {
        metric: metric.named(),
        attempts,
        not_measured: looked_at.len() - attempts,
        total: spread.sum(),
        quantiles: QUANTILES.iter().filter_map(quantile).collect(),
        bars: histogram(&measured, scale, bars.max(1)),
    }
}

fn histogram(values: &[i64], scale: Scale, bars: usize) -> Vec<Bar> {
    let (Some(min), Some(max)) = (values.iter().min(), values.iter().max()) else { return Vec::new() };
    let (min, max) = (*min as f64, *max as f64);
    if min == max {
        return vec![Bar { from: min, to: max, attempts: values.len() as u64 }];
    }
    let place = |value: f64| if scale == Scale::Log { value.max(1.0).ln() } else { value };
    let back = |at: f64| if scale == Scale::Log { at.exp() } else { at };
    let (low, high) = (place(min), place(max));
    if low == high {
        return vec![Bar { from: min, to: max, attempts: values.len() as u64 }];
    }
    // No bar is narrower than the whole numbers are apart.
    let bars = if scale == Scale::Linear { bars.min((max - min).ceil() as usize) } else { bars };
    let width = (high - low) / bars as f64;
    let mut counts = vec![0u64; bars];
    for value in values {
        let at = ((place(*value as f64) - low) / width) as usize;
        counts[at.min(bars - 1)] += 1;
    }
    let edge = |n: usize| match n {
        0 => min,
        n if n == bars => max,
        n => back(low + width * n as f64),
    };
    let bar = |(n, attempts): (usize, u64)| Bar { from: edge(n), to: edge(n + 1), attempts };
    counts.into_iter().enumerate().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[i64], scale: Scale, bars: usize) -> Vec<u64> {
        histogram(values, scale, bars).iter().map(|bar| bar.attempts).collect()
    }

    #[test]
    fn every_value_has_one_bar() {
        assert!(counts(&[], Scale::Linear, 4).is_empty());
        assert_eq!(counts(&[7, 7], Scale::Log, 4), [2]);
        assert_eq!(counts(&[0, 1, 2, 3, 4], Scale::Linear, 2), [2, 3]);
        assert_eq!(counts(&[0, 1], Scale::Linear, 48), [2]);
        assert_eq!(counts(&[0, 1, 10, 100, 1000], Scale::Log, 3), [2, 1, 2]);
        assert_eq!(counts(&[0, 1], Scale::Log, 3), [2]);
    }
}
