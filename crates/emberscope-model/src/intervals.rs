//! Sets of half-open time intervals: concurrent things are measured by their union.

/// Total length of the union of `intervals`, each `start..end`; empty and reversed ones count 0.
pub fn union_ms(intervals: impl IntoIterator<Item = (i64, i64)>) -> i64 {
    merged(intervals).iter().map(|(start, end)| end - start).sum()
}

/// The union of `intervals` as disjoint intervals in order.
pub fn merged(intervals: impl IntoIterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut sorted: Vec<(i64, i64)> = intervals.into_iter().filter(|(start, end)| start < end).collect();
    sorted.sort_unstable();
    let mut union: Vec<(i64, i64)> = Vec::new();
    for (start, end) in sorted {
        match union.last_mut() {
            Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
            _ => union.push((start, end)),
        }
    }
    union
}

/// The most intervals that hold at one time. An interval that ends when another starts does not
/// overlap it.
pub fn peak_overlap(intervals: impl IntoIterator<Item = (i64, i64)>) -> usize {
    let mut edges: Vec<(i64, i32)> = Vec::new();
    for (start, end) in intervals {
        edges.push((start, 1));
        edges.push((end.max(start), -1));
    }
    // Ends sort before starts of the same time.
    edges.sort_unstable_by_key(|(time, change)| (*time, *change));
    let (mut now, mut peak) = (0i64, 0i64);
    for (_, change) in edges {
        now += i64::from(change);
        peak = peak.max(now);
    }
    usize::try_from(peak).unwrap_or(0)
}

/// How much intervals cover, and how many of them hold at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// As [`union_ms`].
    pub union_ms: i64,
    /// As [`peak_overlap`].
    pub peak: usize,
}

/// [`union_ms`] and [`peak_overlap`] of `starts[n]..ends[n]`, none of them empty or reversed, for one sorting.
pub fn overlap(mut starts: Vec<i64>, mut ends: Vec<i64>) -> Overlap {
    starts.sort_unstable();
    ends.sort_unstable();
    let mut overlap = Overlap::default();
    let (mut open_since, mut ended) = (0, 0);
    for (begun, start) in starts.iter().enumerate() {
        while ended < begun && ends[ended] <= *start {
            ended += 1;
            if ended == begun {
                overlap.union_ms += ends[ended - 1] - open_since;
            }
        }
        if ended == begun {
            open_since = *start;
        }
        overlap.peak = overlap.peak.max(begun + 1 - ended);
    }
    if let Some(last) = ends.last().filter(|_| ended < starts.len()) {
        overlap.union_ms += last - open_since;
    }
    overlap
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_sorting_tells_both(spans in prop::collection::vec((0i64..50, 1i64..20), 0..40)) {
            let spans: Vec<(i64, i64)> = spans.into_iter().map(|(start, ms)| (start, start + ms)).collect();
            let both = overlap(spans.iter().map(|span| span.0).collect(), spans.iter().map(|span| span.1).collect());
            prop_assert_eq!(both.union_ms, union_ms(spans.iter().copied()));
            prop_assert_eq!(both.peak, peak_overlap(spans.iter().copied()));
        }
    }

    #[test]
    fn unions() {
        let cases: &[(&[(i64, i64)], i64)] = &[
            (&[], 0),
            (&[(0, 10)], 10),
            (&[(0, 10), (5, 15)], 15),
            (&[(0, 10), (10, 20)], 20),
            (&[(0, 10), (20, 30), (25, 26)], 20),
            (&[(10, 0)], 0),
        ];
        for (intervals, expected) in cases {
            assert_eq!(union_ms(intervals.iter().copied()), *expected, "{intervals:?}");
        }
    }

    #[test]
    fn peaks() {
        assert_eq!(peak_overlap([(0, 10), (5, 15), (10, 20)]), 2);
        assert_eq!(peak_overlap([(0, 10), (10, 20)]), 1);
        assert_eq!(peak_overlap([]), 0);
    }
}
