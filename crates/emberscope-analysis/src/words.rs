//! Numbers as a person would say them.

/// `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`.
pub fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..99_950 => format!("{:.1} s", ms as f64 / 1e3),
        99_950..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `512 B`, `3.4 MiB`, `1.2 GiB`.
pub fn size(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes.max(0) as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value >= 100.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// A share of 1 as `37 %`, `0.6 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// `13 times`, `2.4 times`.
pub fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} times") } else { format!("{ratio:.1} times") }
}

/// A ratio or share with three decimals, for evidence.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// `1 task`, `12 tasks`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number as i64)) }
}

/// `1,234,567`.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

/// A size as a value of a setting: whole mebibytes where it has some, else kibibytes or bytes.
pub fn setting_size(bytes: i64) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{}m", b >> 20),
        b if b >= 1 << 10 => format!("{}k", b >> 10),
        b => format!("{}b", b.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_said() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (12_345, "12.3 s"),
            (99_949, "99.9 s"),
            (245_000, "4 min 5 s"),
            (7_380_000, "2 h 3 min"),
        ] {
            assert_eq!(duration(ms), text);
        }
        for (bytes, text) in [(512, "512 B"), (3_565_158, "3.4 MiB"), (200 << 30, "200 GiB")] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(percent(0.371), "37 %");
        assert_eq!(percent(0.006), "0.6 %");
        assert_eq!(times(2.44), "2.4 times");
        assert_eq!(count(1, "task"), "1 task");
        assert_eq!(count(1234, "task"), "1,234 tasks");
        assert_eq!(grouped(-1_234_567), "-1,234,567");
        assert_eq!(setting_size(5 << 20), "5m");
        assert_eq!(setting_size(300), "300b");
    }
}
