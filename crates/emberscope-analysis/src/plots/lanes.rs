//! Rows for spans, so that none hides another.

/// A row for each span, in the order given, which is that of importance; `None` for those that find no
/// room in `lanes` rows.
pub(super) fn lanes(spans: impl Iterator<Item = (i64, i64)>, lanes: usize) -> Vec<Option<usize>> {
    let mut taken: Vec<Vec<(i64, i64)>> = Vec::new();
    spans
        .map(|(from, to)| {
            // What takes no time still shows.
            let to = to.max(from + 1);
            let overlaps = |lane: &Vec<(i64, i64)>| lane.iter().any(|other| from < other.1 && other.0 < to);
            let free = taken.iter().position(|lane| !overlaps(lane)).unwrap_or(taken.len());
            if free >= lanes {
                return None;
            }
            if free == taken.len() {
                taken.push(Vec::new());
            }
            taken[free].push((from, to));
            Some(free)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_share_a_row_where_they_can() {
        let spans = [(0, 10), (10, 20), (5, 15), (6, 7), (0, 0)];
        assert_eq!(lanes(spans.into_iter(), 2), [Some(0), Some(0), Some(1), None, Some(1)]);
    }
}
