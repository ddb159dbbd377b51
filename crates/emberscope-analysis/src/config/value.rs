//! Values of settings as Spark reads them (`JavaUtils.byteStringAs`, `JavaUtils.timeStringAs`).

use super::key;
pub use emberscope_model::memory::parse_bytes;

/// `true`, `false`.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// `10s`, `500ms`, `2min`, `1h`; a bare number is in units of `bare` milliseconds.
pub fn parse_ms(text: &str, bare: i64) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" => bare,
        "us" => return Some(number / 1000),
        "ms" => 1,
        "s" | "sec" | "secs" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Whether two values of a setting mean the same: `64m` and `64MB`, `TRUE` and `true`.
pub(crate) fn is_same(name: &str, one: &str, other: &str) -> bool {
    if one.trim().eq_ignore_ascii_case(other.trim()) {
        return true;
    }
    let (bare_bytes, bare_ms) = key(name).map_or((1, 1000), |key| (key.bare_bytes, key.bare_ms));
    let same = |one: Option<i64>, other: Option<i64>| one.is_some() && one == other;
    let number = |text: &str| text.trim().parse::<f64>().ok();
    same(parse_bytes(one, bare_bytes), parse_bytes(other, bare_bytes))
        || same(parse_ms(one, bare_ms), parse_ms(other, bare_ms))
        || number(one).zip(number(other)).is_some_and(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        for (text, bare, bytes) in [
            ("64m", 1, 64 << 20),
            ("64MB", 1, 64 << 20),
            ("10485760b", 1, 10 << 20),
            ("512", 1 << 20, 512 << 20),
            ("-1", 1, -1),
        ] {
            assert_eq!(parse_bytes(text, bare), Some(bytes), "{text}");
        }
        assert_eq!(parse_bytes("much", 1), None);
        for (text, bare, ms) in
            [("3s", 1000, 3000), ("60", 1000, 60_000), ("100ms", 1000, 100), ("2min", 1, 120_000)]
        {
            assert_eq!(parse_ms(text, bare), Some(ms), "{text}");
        }
        assert!(is_same("spark.sql.autoBroadcastJoinThreshold", "10485760b", "10MB"));
        assert!(!is_same("spark.sql.shuffle.partitions", "200", "400"));
        assert!(is_same("spark.locality.wait", "3s", "3000"));
        assert!(is_same("spark.speculation.multiplier", "3", "3.0"));
        assert!(!is_same("spark.locality.wait", "3s", "0"));
    }
}
