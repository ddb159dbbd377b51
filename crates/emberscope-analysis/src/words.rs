//! Numbers in sentences.

/// `2 h 03 min`, `1 min 07 s`, `30.3 s`, `450 ms`.
pub fn duration(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let ms = ms.unsigned_abs();
    let seconds = (ms + 500) / 1000;
    match ms {
        0..=999 => format!("{sign}{ms} ms"),
        1000..=59_949 => format!("{sign}{}.{} s", (ms + 50) / 1000, (ms + 50) / 100 % 10),
        _ if seconds < 3600 => format!("{sign}{} min {:02} s", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{sign}{} h {:02} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{sign}{} d {:02} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// `1.5 GiB`.
pub fn bytes(bytes: i64) -> String {
    let mut value = bytes as f64;
    if value.abs() < 1024.0 {
        return format!("{bytes} B");
    }
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value.abs() < 1023.95 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

/// `1,234,567`.
pub fn count(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        grouped.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `3.4 times`, `13 times`.
pub fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1} times") } else { format!("{} times", count(ratio.round() as i64)) }
}

/// `43 %`; something above zero is never `0 %`, and less than all never `100 %`.
pub fn share(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "<1 %".to_owned()
    } else if (0.995..1.0).contains(&share) {
        ">99 %".to_owned()
    } else {
        format!("{:.0} %", share * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(duration(999), "999 ms");
        assert_eq!(duration(59_949), "59.9 s");
        assert_eq!(duration(59_950), "1 min 00 s");
        assert_eq!(duration(7_384_000), "2 h 03 min");
        assert_eq!(bytes(1_610_612_736), "1.5 GiB");
        assert_eq!(count(-1_234_567), "-1,234,567");
        assert_eq!(times(3.44), "3.4 times");
        assert_eq!(times(1234.0), "1,234 times");
        assert_eq!(share(0.001), "<1 %");
    }
}
