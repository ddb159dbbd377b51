//! Numbers as a person would say them.

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

/// `4.2 core-seconds`, `12 core-minutes`, `3.4 core-hours`.
pub fn core_time(core_ms: i64) -> String {
    let core_ms = core_ms.max(0) as f64;
    let number = |value: f64| if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    match core_ms {
        ..120_000.0 => format!("{} core-seconds", number(core_ms / 1e3)),
        120_000.0..7_200_000.0 => format!("{} core-minutes", number(core_ms / 60e3)),
        _ => format!("{} core-hours", number(core_ms / 3600e3)),
    }
}

/// Memory held for a time: `3.4 GiB-hours`, `12 GiB-minutes`, `0.5 GiB-minutes`.
pub fn byte_time(byte_ms: f64) -> String {
    let number = |value: f64| if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    let gib_minutes = byte_ms.max(0.0) / f64::from(1 << 30) / 60e3;
    if gib_minutes >= 60.0 {
        format!("{} GiB-hours", number(gib_minutes / 60.0))
    } else {
        format!("{} GiB-minutes", number(gib_minutes))
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

/// A share of 1 as `37 %`, `0.6 %`; something above zero is never `0 %`, and less than all never `100 %`. Rounded from
/// what evidence holds, so that both say the same.
pub fn percent(share: f64) -> String {
    let percent = rounded(share) * 100.0;
    if share > 0.0 && percent == 0.0 {
        "<0.1 %".to_owned()
    } else if share < 1.0 && percent >= 99.5 {
        ">99 %".to_owned()
    } else if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
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

/// `13 times`, `2.4 times`, `9,863 times`.
pub fn times(ratio: f64) -> String {
    if ratio >= 10.0 {
        format!("{} times", grouped(ratio.round() as i64))
    } else {
        format!("{ratio:.1} times")
    }
}

/// A ratio or share with three decimals, for evidence.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// `1 task`, `12 tasks`, `2 batches`, `3 queries`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        return format!("1 {noun}");
    }
    let number = grouped(number as i64);
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with("ch") => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The present of a regular verb for so many of something: `1 task spills`, `2 tasks spill`.
pub fn verb(number: usize, stem: &str) -> String {
    if number == 1 { format!("{stem}s") } else { stem.to_owned() }
}

/// A core-time and the larger one that it is a part of, in one unit: `1.8 of 2.1 core-minutes`, `nearly all of 20
/// core-minutes`.
pub fn core_time_of(part_ms: i64, whole_ms: i64) -> String {
    let whole = core_time(whole_ms);
    let Some((_, unit)) = whole.split_once(' ') else { return whole };
    let ms = match unit {
        "core-seconds" => 1e3,
        "core-minutes" => 60e3,
        _ => 3600e3,
    };
    let value = part_ms.max(0) as f64 / ms;
    let number = if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    if part_ms < whole_ms && whole.starts_with(&format!("{number} ")) {
        return format!("nearly all of {whole}");
    }
    format!("{number} of {whole}")
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

/// A text of at most so many characters, cut between words and marked where it goes on.
pub fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let start = &text[..end];
    // A word that alone is longer than half of what is shown is cut through.
    let whole = start.rfind(char::is_whitespace).filter(|at| at * 2 >= end).map_or(start, |at| &start[..at]);
    format!("{}…", whole.trim_end_matches(|c: char| c.is_whitespace() || ",;:.".contains(c)))
}

/// A quoted text as the end of a sentence: with one mark at its end.
pub fn ended(text: &str) -> String {
    if text.ends_with(['.', '…', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// A size as a value of a setting: gibibytes where it is so many, whole mebibytes where it has some, else kibibytes or
/// bytes.
pub fn setting_size(bytes: i64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{}g", b >> 30),
        b if b >= 1 << 20 => format!("{}m", b >> 20),
        b if b >= 1 << 10 => format!("{}k", b >> 10),
        b => format!("{}b", b.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_with_a_word() {
        for (text, most, expected) in [
            ("short", 5, "short"),
            ("one two three", 9, "one two…"),
            ("one two, three", 9, "one two…"),
            ("a averyveryverylongword", 12, "a averyveryv…"),
            ("ünïcödé wörds", 8, "ünïcödé…"),
        ] {
            assert_eq!(cut(text, most), expected);
        }
    }

    #[test]
    fn numbers_as_said() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (12_345, "12.3 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 00 s"),
            (245_000, "4 min 05 s"),
            (7_380_000, "2 h 03 min"),
            (-1500, "-1.5 s"),
        ] {
            assert_eq!(duration(ms), text);
        }
        for (bytes, text) in [(512, "512 B"), (3_565_158, "3.4 MiB"), (200 << 30, "200 GiB")] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(percent(0.371), "37 %");
        assert_eq!(percent(0.006), "0.6 %");
        assert_eq!([percent(0.0), percent(0.0003), percent(1.0)], ["0 %", "<0.1 %", "100 %"]);
        assert_eq!([percent(0.9994), percent(0.225_06)], [">99 %", "22 %"]);
        assert_eq!(times(9863.3), "9,863 times");
        assert_eq!(times(2.44), "2.4 times");
        assert_eq!((share(0.001), share(0.43)), ("<1 %".to_owned(), "43 %".to_owned()));
        assert_eq!(count(1, "task"), "1 task");
        assert_eq!(count(1234, "task"), "1,234 tasks");
        assert_eq!(grouped(-1_234_567), "-1,234,567");
        assert_eq!(
            [count(1, "task"), count(2, "batch"), count(3, "query")],
            ["1 task", "2 batches", "3 queries"]
        );
        assert_eq!([verb(1, "spill"), verb(2, "spill")], ["spills", "spill"]);
        assert_eq!([listed(&["a"]), listed(&["a", "b", "c"])], ["a", "a, b and c"]);
        assert_eq!(core_time_of(110_000, 126_000), "1.8 of 2.1 core-minutes");
        assert_eq!(core_time_of(37_000, 83_000), "37 of 83 core-seconds");
        assert_eq!(core_time_of(1_223_000, 1_225_000), "nearly all of 20 core-minutes");
        assert_eq!(setting_size(5 << 20), "5m");
        assert_eq!([setting_size(45 << 30), setting_size(1536 << 20)], ["45g", "1536m"]);
        assert_eq!([ended("bad row"), ended("bad row."), ended("bad…")], ["bad row.", "bad row.", "bad…"]);
        assert_eq!(setting_size(300), "300b");
    }
}
