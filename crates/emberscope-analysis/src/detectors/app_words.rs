//! Numbers as a person would say them.

/// `830 ms`, `4.2 s`, `12 min`, `3.4 h`.
pub(crate) fn time(ms: i64) -> String {
    let ms = ms.max(0);
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..120_000 => number(ms as f64 / 1000.0, "s"),
        120_000..7_200_000 => number(ms as f64 / 60_000.0, "min"),
        _ => number(ms as f64 / 3_600_000.0, "h"),
    }
}

/// `4.2 core-s`, `12 core-min`, `3.4 core-h`.
pub(crate) fn core_time(core_ms: i64) -> String {
    let core_ms = core_ms.max(0);
    match core_ms {
        0..120_000 => number(core_ms as f64 / 1000.0, "core-seconds"),
        120_000..7_200_000 => number(core_ms as f64 / 60_000.0, "core-minutes"),
        _ => number(core_ms as f64 / 3_600_000.0, "core-hours"),
    }
}

/// `512 MiB`, `1.5 GiB`.
pub(crate) fn size(bytes: i64) -> String {
    let bytes = bytes.max(0) as f64;
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, bits)| bytes >= (1u64 << bits) as f64) {
        Some((unit, bits)) => number(bytes / (1u64 << bits) as f64, unit),
        None => number(bytes, "B"),
    }
}

/// `42 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// `1 executor`, `8 executors`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// A share to three places, so that evidence does not carry noise.
pub(crate) fn rounded(value: f64) -> f64 {
    if value.is_finite() { (value * 1000.0).round() / 1000.0 } else { 0.0 }
}

fn number(value: f64, unit: &str) -> String {
    if value < 10.0 && (value - value.round()).abs() >= 0.05 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (ms, said) in
            [(-1, "0 ms"), (830, "830 ms"), (4210, "4.2 s"), (83_000, "83 s"), (720_000, "12 min")]
        {
            assert_eq!(time(ms), said);
        }
        assert_eq!((size(1536 << 20), size(3)), ("1.5 GiB".to_owned(), "3 B".to_owned()));
        assert_eq!((percent(0.42), percent(0.004)), ("42 %".to_owned(), "0.4 %".to_owned()));
        assert_eq!(count(1, "stage"), "1 stage");
    }
}
