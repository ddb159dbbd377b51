//! Metrics of SQL operators as Spark displays them, as numbers again.

/// How a value was displayed, and so how it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sum,
    Size,
    Timing,
    Average,
}

impl Kind {
    /// `metricType` of an event.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Size => "size",
            Self::Timing => "timing",
            Self::Average => "average",
        }
    }
}

/// A metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) kind: Kind,
    /// Total over all tasks: a count, bytes or milliseconds.
    pub(crate) total: Option<i64>,
    /// The largest value of a task, and where: stage, attempt, task id.
    pub(crate) max: Option<(i64, (u32, u32, u64))>,
}

/// Reads a displayed value: `1,234`, `12.3 MiB`, and with a total the smallest, middle and largest values in brackets.
pub(crate) fn read(text: &str) -> Option<Shown> {
    let (head, line) = match text.trim().rsplit_once('\n') {
        Some((head, line)) => (head, line.trim()),
        None => ("", text.trim()),
    };
    let (total, rest) = match line.strip_prefix('(') {
        Some(rest) => ("", Some(rest)),
        None => line.split_once(" (").map_or((line, None), |(total, rest)| (total, Some(rest))),
    };
    let max = rest.and_then(|rest| {
        let (values, place) = rest.rsplit_once("(stage ")?;
        let largest = values.trim_end().rsplit(", ").next()?;
        let (stage, task) = place.split_once(": task ")?;
        let (stage, attempt) = stage.split_once('.')?;
        let task = task.trim_end_matches(')').parse().ok()?;
        Some((number(largest.trim())?, (stage.parse().ok()?, attempt.parse().ok()?, task)))
    });
    if total.is_empty() {
        // An average has no total: tenths, as Spark itself keeps them.
        let ((value, _), place) = max?;
        let is_average = !head.contains("total");
        return is_average.then(|| Shown {
            kind: Kind::Average,
            total: None,
            max: Some(((value * 10.0).round() as i64, place)),
        });
    }
    let (value, kind) = number(total)?;
    let rounded = |value: f64| value.round() as i64;
    Some(Shown {
        kind,
        total: Some(rounded(value)),
        max: max.map(|((value, _), place)| (rounded(value), place)),
    })
}

const UNITS: [(&str, f64, Kind); 13] = [
    ("KiB", 1024.0, Kind::Size),
    ("MiB", 1_048_576.0, Kind::Size),
    ("GiB", 1_073_741_824.0, Kind::Size),
    ("TiB", 1_099_511_627_776.0, Kind::Size),
    ("PiB", 1_125_899_906_842_624.0, Kind::Size),
    ("KB", 1024.0, Kind::Size),
    ("MB", 1_048_576.0, Kind::Size),
    ("GB", 1_073_741_824.0, Kind::Size),
    ("B", 1.0, Kind::Size),
    ("ms", 1.0, Kind::Timing),
    ("s", 1000.0, Kind::Timing),
    ("m", 60_000.0, Kind::Timing),
    ("h", 3_600_000.0, Kind::Timing),
];

fn number(text: &str) -> Option<(f64, Kind)> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    // Some locales group with other signs; none puts three digits behind the decimal one.
    let value: f64 = digits.replace([',', '\u{a0}', '\u{202f}', '\''], "").parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    if unit.is_empty() {
        return Some((value, Kind::Sum));
    }
    let (_, factor, kind) = UNITS.iter().find(|(name, ..)| *name == unit)?;
    Some((value * factor, *kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_values() {
        let total = |text: &str| read(text).and_then(|shown| Some((shown.kind, shown.total?)));
        assert_eq!(total("400,000"), Some((Kind::Sum, 400_000)));
        assert_eq!(total("1688.0 B"), Some((Kind::Size, 1688)));
        assert_eq!(total("76 ms"), Some((Kind::Timing, 76)));
        assert_eq!(total("1.1 h"), Some((Kind::Timing, 3_960_000)));
        assert_eq!(total("n/a"), None);
        let shown = read(
            "total (min, med, max (stageId: taskId))\n2.1 MiB (1065.4 KiB, 1065.4 KiB, 1065.4 KiB (stage 7.1: task 12))",
        );
        let shown = shown.unwrap();
        assert_eq!((shown.kind, shown.total), (Kind::Size, Some(2_202_010)));
        assert_eq!(shown.max, Some((1_090_970, (7, 1, 12))));
        let average = read("(min, med, max (stageId: taskId))\n(1, 1.5, 2.3 (stage 4.0: task 8))").unwrap();
        assert_eq!((average.kind, average.max), (Kind::Average, Some((23, (4, 0, 8)))));
        for text in ["", "(", "total\n", "1 (", "x (stage 1.0: task 2)", "total\n1 B (2 B (stage 1: task))"] {
            read(text);
        }
    }
}
