//! Times at the beginning of lines, in the forms that loggers write them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// How far into a line a time is looked for: behind what collectors of logs put before it.
const SEARCHED_BYTES: usize = 120;

/// The time of a line, epoch milliseconds, and what follows it. Times without a zone are taken as UTC.
pub(super) fn of(line: &str) -> Option<(i64, &str)> {
    let head = &line.as_bytes()[..line.len().min(SEARCHED_BYTES)];
    // A time has colons; most lines without one, those of traces, have none so far to the left.
    memchr::memchr(b':', head)?;
    let is_start = |at: &usize| head[*at].is_ascii_digit() && (*at == 0 || !head[*at - 1].is_ascii_digit());
    (0..head.len()).filter(is_start).find_map(|at| at_start(&line[at..]))
}

/// `26/11/30 19:49:42`, `2026-11-30 19:49:42,123`, `2026-11-30T19:49:42.123Z`, `2026/11/30 19:49:42`.
fn at_start(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    let year_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !matches!(year_digits, 2 | 4) {
        return None;
    }
    let number = |from: usize, len: usize| -> Option<i16> {
        let digits = text.get(from..from + len)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let sign = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    let y = year_digits;
    let is_shaped =
        sign(y, b"/-") && sign(y + 3, b"/-") && sign(y + 6, b" T") && sign(y + 9, b":") && sign(y + 12, b":");
    if !is_shaped {
        return None;
    }
    let year = number(0, y)?;
    let year = if y == 2 { 2000 + year } else { year };
    let small = |from: usize| number(from, 2).and_then(|value| i8::try_from(value).ok());
    let mut rest = text.get(y + 15..)?;
    let mut millis = 0i64;
    if let Some(fraction) = rest.strip_prefix([',', '.']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let padded: String = fraction[..digits].chars().chain("000".chars()).take(3).collect();
        millis = padded.parse().ok()?;
        rest = &fraction[digits..];
    }
    let (offset_ms, rest) = zone(rest);
    let time =
        DateTime::new(year, small(y + 1)?, small(y + 4)?, small(y + 7)?, small(y + 10)?, small(y + 13)?, 0)
            .ok()?;
    let epoch = TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond();
    Some((epoch + millis - offset_ms, rest))
}

/// `Z`, `+0100`, `+01:00`.
fn zone(rest: &str) -> (i64, &str) {
    if let Some(after) = rest.strip_prefix('Z') {
        return (0, after);
    }
    let sign = match rest.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return (0, rest),
    };
    let compact = |at: usize| rest.get(at..at + 2).and_then(|digits| digits.parse::<i64>().ok());
    let colon = usize::from(rest.as_bytes().get(3) == Some(&b':'));
    match (compact(1), compact(3 + colon)) {
        (Some(hours), Some(minutes)) => (sign * (hours * 60 + minutes) * 60_000, &rest[5 + colon..]),
        _ => (0, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let at = 1_796_068_182_000;
        for (line, expected, rest) in [
            ("26/11/30 19:49:42 INFO X: y", at, " INFO X: y"),
            ("2026-11-30 19:49:42,123 INFO", at + 123, " INFO"),
            ("2026-11-30T19:49:42.123Z INFO", at + 123, " INFO"),
            ("2026-11-30T19:49:42.5+01:00 INFO", at + 500 - 3_600_000, " INFO"),
            ("[container_1_2] 2026/11/30 19:49:42 WARN", at, " WARN"),
            ("stderr: 26/11/30 19:49:42 INFO", at, " INFO"),
        ] {
            assert_eq!(of(line), Some((expected, rest)), "{line}");
        }
        for line in ["", "java.lang.X: 1", "2026-13-30 19:49:42", "26/11/30", "at a.b(C.java:12)", "ä 1é2/"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
