//! What is known of a set of values, and how exactly.
//!
//! Evidence from event logs is exact; evidence from the monitoring API is rounded, summarised or cut
//! by retention. Detectors take these types, so that they cannot forget the difference.

/// How far a value can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// As measured.
    #[default]
    Exact,
    /// Rounded for display by whoever reported it.
    Rounded {
        /// How far the true value can lie from the one told, in its unit.
        within: i64,
    },
}

impl Fidelity {
    /// Of a value that can be off by so much.
    pub fn of(within: i64) -> Self {
        if within == 0 { Self::Exact } else { Self::Rounded { within } }
    }

    /// How far the true value can lie from the one told, in its unit.
    pub fn within(self) -> i64 {
        match self {
            Self::Exact => 0,
            Self::Rounded { within } => within,
        }
    }
}

/// What is known of how a metric is spread over tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every value, sorted.
    Exact(Vec<i64>),
    /// Some quantiles: pairs of the share below (0 to 1) and the value, ascending.
    Quantiles(Vec<(f64, f64)>),
    /// Nothing.
    #[default]
    Absent,
}

impl Distribution {
    /// From values in any order; none at all is `Absent`.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Self {
        let mut values: Vec<i64> = values.into_iter().collect();
        if values.is_empty() {
            return Self::Absent;
        }
        values.sort_unstable();
        Self::Exact(values)
    }

    /// Number of values; `None` where only quantiles are known.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Exact(values) => Some(values.len()),
            Self::Quantiles(_) => None,
            Self::Absent => Some(0),
        }
    }

    /// Smallest value.
    pub fn min(&self) -> Option<f64> {
        self.quantile(0.0)
    }

    /// Largest value.
    pub fn max(&self) -> Option<f64> {
        self.quantile(1.0)
    }

    /// Middle value; of an even number of values the mean of the middle two.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The value below which a share `q` (0 to 1) of the values lies, interpolated linearly between
    /// neighbours (as Spark SQL's `PERCENTILE`). Of a summary only the quantiles it holds are known.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        match self {
            Self::Absent => None,
            Self::Quantiles(known) => {
                known.iter().find(|(share, _)| (share - q).abs() < 1e-9).map(|(_, value)| *value)
            }
            Self::Exact(values) => {
                let position = q.clamp(0.0, 1.0) * (values.len().checked_sub(1)?) as f64;
                let (low, high) = (position.floor() as usize, position.ceil() as usize);
                let (low_value, high_value) = (values[low] as f64, values[high] as f64);
                Some(low_value + (high_value - low_value) * (position - low as f64))
            }
        }
    }

    /// Sum of all values; `None` where only quantiles are known.
    pub fn sum(&self) -> Option<i64> {
        match self {
            Self::Exact(values) => Some(values.iter().fold(0, |sum: i64, value| sum.saturating_add(*value))),
            Self::Quantiles(_) | Self::Absent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_and_empty_is_none() {
        let even = Distribution::of([4, 1, 3, 2]);
        assert_eq!(even.median(), Some(2.5));
        assert_eq!((even.min(), even.max(), even.sum()), (Some(1.0), Some(4.0), Some(10)));
        assert_eq!(Distribution::of([]).min(), None);
        assert_eq!(Distribution::of([0]).min(), Some(0.0));
        let summary = Distribution::Quantiles(vec![(0.0, 1.0), (0.5, 2.0)]);
        assert_eq!((summary.median(), summary.max(), summary.count()), (Some(2.0), None, None));
    }
}
