//! Means over pieces of time, in constant time per interval.

/// Sums of weighted intervals over pieces of equal length.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    start: f64,
    length: f64,
    /// Time in the pieces where intervals begin and end.
    partial: Vec<f64>,
    /// Changes of the weight that covers whole pieces.
    whole: Vec<f64>,
}

impl Buckets {
    /// `pieces` of the time from `start` to the later `end`.
    pub(crate) fn new(start: i64, end: i64, pieces: usize) -> Self {
        Buckets {
            start: start as f64,
            length: ((end - start) as f64 / pieces as f64).max(f64::MIN_POSITIVE),
            partial: vec![0.0; pieces],
            whole: vec![0.0; pieces + 1],
        }
    }

    /// Adds an interval; what lies outside is left out.
    pub(crate) fn add(&mut self, from: i64, to: i64, weight: f64) {
        let pieces = self.partial.len() as f64;
        let place = |time: i64| ((time as f64 - self.start) / self.length).clamp(0.0, pieces);
        let (from, to) = (place(from), place(to));
        if to <= from {
            return;
        }
        let last = self.partial.len() - 1;
        let (first, end) = ((from as usize).min(last), (to as usize).min(last));
        if first == end {
            self.partial[first] += (to - from) * weight;
        } else {
            self.partial[first] += (first as f64 + 1.0 - from) * weight;
            self.partial[end] += (to - end as f64) * weight;
            self.whole[first + 1] += weight;
            self.whole[end] -= weight;
        }
    }

    /// The mean weight in each piece.
    pub(crate) fn means(&self) -> Vec<f64> {
        let mut covering = 0.0;
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        (self.partial.iter().zip(&self.whole))
            .map(|(partial, change)| {
                covering += change;
                rounded(partial + covering).max(0.0)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_spread_exactly() {
        let mut buckets = Buckets::new(100, 140, 4);
        buckets.add(105, 135, 2.0);
        buckets.add(0, 110, 1.0);
        buckets.add(139, 500, 1.0);
        assert_eq!(buckets.means(), [2.0, 2.0, 2.0, 1.1]);
    }

    #[test]
    fn what_is_outside_or_empty_counts_nothing() {
        let mut buckets = Buckets::new(100, 140, 4);
        buckets.add(0, 100, 1.0);
        buckets.add(140, 200, 1.0);
        buckets.add(120, 110, 1.0);
        assert_eq!(buckets.means(), [0.0; 4]);
    }
}
