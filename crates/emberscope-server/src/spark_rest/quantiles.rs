//! Quantiles as the monitoring API takes them: a value that occurs, at position ⌊share · number⌋.

/// The values at the shares `quantiles` of `values`.
pub(super) fn pick(values: Vec<i64>, quantiles: &[f64]) -> Vec<f64> {
    let count = values.len();
    pick_of_first(values, count, quantiles)
}

/// As [`pick`], at the positions that shares of `count` smallest values have.
pub(super) fn pick_of_first(mut values: Vec<i64>, count: usize, quantiles: &[f64]) -> Vec<f64> {
    values.sort_unstable();
    let at = |share: &f64| {
        let position = (share * count as f64).max(0.0) as usize;
        values.get(position.min(count.saturating_sub(1))).map_or(0.0, |value| *value as f64)
    };
    quantiles.iter().map(at).collect()
}

#[test]
fn values_that_occur() {
    assert_eq!(pick(vec![4, 1, 3, 2], &[0.0, 0.25, 0.5, 0.99, 1.0]), [1.0, 2.0, 3.0, 4.0, 4.0]);
    assert_eq!(pick(vec![], &[0.5]), [0.0]);
    assert_eq!(pick(vec![7], &[-1.0, 2.0]), [7.0, 7.0]);
}
