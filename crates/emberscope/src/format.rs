//! Numbers and names as people read them.

/// What stands where the log has no value.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// `1.5 GiB`.
pub(crate) fn bytes(bytes: i64) -> String {
    let mut value = bytes as f64;
    if value.abs() < 1024.0 {
        return format!("{bytes} B");
    }
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        // What would round to 1024 belongs to the next unit.
        if value.abs() < 1023.95 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

/// `2 h 03 min 04 s`, `1 min 07 s`, `30.3 s`, `450 ms`.
pub(crate) fn duration(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let ms = ms.unsigned_abs();
    let seconds = (ms + 500) / 1000;
    let (days, hours, minutes, rest) =
        (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    if ms < 1000 {
        format!("{sign}{ms} ms")
    } else if ms < 59_950 {
        let tenths = (ms + 50) / 100;
        format!("{sign}{}.{} s", tenths / 10, tenths % 10)
    } else if seconds < 3600 {
        format!("{sign}{minutes} min {rest:02} s")
    } else if seconds < 86_400 {
        format!("{sign}{hours} h {minutes:02} min {rest:02} s")
    } else {
        format!("{sign}{days} d {hours:02} h {minutes:02} min")
    }
}

/// As [`duration`], from nanoseconds.
pub(crate) fn nanos(ns: i64) -> String {
    match ns {
        0 => duration(0),
        -999_999..=999_999 => format!("{:.2} ms", ns as f64 / 1e6),
        -9_949_999..=9_949_999 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => duration((ns as f64 / 1e6).round() as i64),
    }
}

/// `1,234,567`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// As [`count`], for a sum that the log may hold as a negative number.
pub(crate) fn signed_count(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// `43 %`; something above zero is never shown as `0 %`, and less than all never as `100 %`.
pub(crate) fn share(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "<1 %".to_owned()
    } else if (0.995..1.0).contains(&share) {
        ">99 %".to_owned()
    } else {
        format!("{:.0} %", share * 100.0)
    }
}

/// As [`share`], of a part in a whole; empty where there is no whole.
pub(crate) fn share_of(part: i64, whole: Option<i64>) -> String {
    match whole {
        Some(whole) if whole > 0 => share(part as f64 / whole as f64),
        _ => String::new(),
    }
}

/// `2026-11-30 06:34:05 UTC`.
pub(crate) fn instant(epoch_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(epoch_ms) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        // A damaged log may name a time that no calendar has.
        Err(_) => format!("{epoch_ms} ms"),
    }
}

/// Text from a log or a path, without what could move the cursor or forge a line.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction_mark(c) { '\u{fffd}' } else { c }).collect()
}

/// As [`plain`], and not longer than a reader wants to see: a log may hold names of any length.
pub(crate) fn shown(text: &str, columns: usize) -> String {
    crate::render::page::fit(&plain(text), columns)
}

/// The text, unless it is blank.
pub(crate) fn present(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// Marks that make text run the other way and so can make one name look like another.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sizes() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1.0 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (-2048, "-2.0 KiB"),
            (i64::MAX, "8.0 EiB"),
        ];
        for (value, text) in cases {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn durations() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 00 s"),
            (67_000, "1 min 07 s"),
            (3_599_499, "59 min 59 s"),
            (3_599_500, "1 h 00 min 00 s"),
            (7_384_000, "2 h 03 min 04 s"),
            (266_580_000, "3 d 02 h 03 min"),
            (-1500, "-1.5 s"),
            (i64::MIN, "-106751991167 d 07 h 12 min"),
        ];
        for (ms, text) in cases {
            assert_eq!(duration(ms), text);
        }
        assert_eq!(nanos(0), "0 ms");
        assert_eq!(nanos(2_500_000), "2.5 ms");
        assert_eq!(nanos(93_193_331_000), "1 min 33 s");
        assert_eq!(nanos(40_000), "0.04 ms");
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(signed_count(-1234), "-1,234");
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(1000, "line"), "1,000 lines");
        let shares =
            [(0.0, "0 %"), (0.001, "<1 %"), (0.15, "15 %"), (0.999, ">99 %"), (1.0, "100 %"), (1.2, "120 %")];
        for (value, text) in shares {
            assert_eq!(share(value), text);
        }
        assert_eq!(share_of(1, None), "");
        assert_eq!(share_of(1, Some(0)), "");
    }

    #[test]
    fn instants() {
        assert_eq!(instant(1_796_020_118_068), "2026-11-30 06:28:38 UTC");
        assert_eq!(instant(i64::MAX), "9223372036854775807 ms");
    }

    #[test]
    fn terminals_are_safe_from_names() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
        assert_eq!(plain("täglich 日"), "täglich 日");
    }
}
