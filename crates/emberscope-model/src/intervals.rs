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

#[cfg(test)]
mod tests {
    use super::*;

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
