//! Metrics of SQL operators as Spark displays them, as numbers again, with what rounding hides.

use emberscope_log::event::sql::DisplayedValue;

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
    pub(crate) total: Option<DisplayedValue>,
    /// Of several tasks, their values.
    pub(crate) tasks: Option<OfTasks>,
}

/// Values of tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfTasks {
    /// Smallest, middle, largest.
    pub(crate) values: [DisplayedValue; 3],
    /// Which task has the largest. Spark before 3.0 does not tell it.
    pub(crate) place: Option<TaskPlace>,
}

/// Stage, attempt and task id.
type TaskPlace = (u32, u32, u64);

/// Reads a displayed value: `1,234`, `12.3 MiB`, and with a total the smallest, middle and largest values in brackets
/// (`SQLMetrics.stringValue`).
pub(crate) fn read(text: &str) -> Option<Shown> {
    let (head, line) = match text.trim().rsplit_once('\n') {
        Some((head, line)) => (head, line.trim()),
        None => ("", text.trim()),
    };
    let (total, rest) = match line.strip_prefix('(') {
        Some(rest) => ("", Some(rest)),
        None => line.split_once(" (").map_or((line, None), |(total, rest)| (total, Some(rest))),
    };
    let of_tasks = rest.and_then(of_tasks);
    if total.is_empty() {
        // An average has no total: tenths, as Spark itself keeps them.
        let (values, place) = of_tasks?;
        let tenths =
            |(value, _, _): Number| DisplayedValue { value: (value * 10.0).round() as i64, within: 0 };
        let is_average = !head.contains("total");
        return is_average.then(|| Shown {
            kind: Kind::Average,
            total: None,
            tasks: Some(OfTasks { values: values.map(tenths), place }),
        });
    }
    let (value, within, kind) = number(total)?;
    let tasks = of_tasks.map(|(values, place)| OfTasks {
        values: values.map(|(value, within, _)| displayed(value, within)),
        place,
    });
    Some(Shown { kind, total: Some(displayed(value, within)), tasks })
}

/// What stands in brackets: `1 ms, 2 ms, 1.3 s (stage 4.0: task 8))`, of Spark 2.4 only the three values.
fn of_tasks(text: &str) -> Option<([Number; 3], Option<TaskPlace>)> {
    let (values, place) = match text.rsplit_once("(stage ") {
        Some((values, place)) => (values, Some(place)),
        None => (text.trim_end_matches(')'), None),
    };
    let mut values = values.trim_end().splitn(3, ", ").map(|value| number(value.trim()));
    let values = [values.next()??, values.next()??, values.next()??];
    let place = match place {
        Some(place) => {
            let (stage, task) = place.split_once(": task ")?;
            let (stage, attempt) = stage.split_once('.')?;
            let task = task.trim_end_matches(')').parse().ok()?;
            Some((stage.parse().ok()?, attempt.parse().ok()?, task))
        }
        None => None,
    };
    Some((values, place))
}

fn displayed(value: f64, within: f64) -> DisplayedValue {
    DisplayedValue { value: value.round() as i64, within: within.round() as i64 }
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

/// A value, how far rounding may have moved it, and how it is counted.
type Number = (f64, f64, Kind);

fn number(text: &str) -> Option<Number> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    // Some locales group with other signs; none puts three digits behind the decimal one.
    let plain = digits.replace([',', '\u{a0}', '\u{202f}', '\''], "");
    let value: f64 = plain.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    if unit.is_empty() {
        return Some((value, 0.0, Kind::Sum));
    }
    let (_, factor, kind) = UNITS.iter().find(|(name, ..)| *name == unit)?;
    // Bytes and milliseconds are whole numbers; of larger units half of the last digit is hidden.
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let hidden = if *factor == 1.0 { 0.0 } else { factor * 0.5 * 0.1_f64.powi(decimals as i32) };
    Some((value * factor, hidden, *kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_values() {
        let total = |text: &str| read(text).and_then(|shown| Some((shown.kind, shown.total?.value)));
        assert_eq!(total("400,000"), Some((Kind::Sum, 400_000)));
        assert_eq!(total("1688.0 B"), Some((Kind::Size, 1688)));
        assert_eq!(total("76 ms"), Some((Kind::Timing, 76)));
        assert_eq!(total("1.1 h"), Some((Kind::Timing, 3_960_000)));
        assert_eq!(total("n/a"), None);
        let shown = read(
            "total (min, med, max (stageId: taskId))\n2.1 MiB (1065.4 KiB, 1065.4 KiB, 1065.4 KiB (stage 7.1: task 12))",
        );
        let shown = shown.unwrap();
        let mib = DisplayedValue { value: 2_202_010, within: 52_429 };
        let kib = DisplayedValue { value: 1_090_970, within: 51 };
        assert_eq!((shown.kind, shown.total), (Kind::Size, Some(mib)));
        assert_eq!(shown.tasks, Some(OfTasks { values: [kib; 3], place: Some((7, 1, 12)) }));
        let average = read("(min, med, max (stageId: taskId))\n(1, 1.5, 2.3 (stage 4.0: task 8))").unwrap();
        let tenths = [10, 15, 23].map(|value| DisplayedValue { value, within: 0 });
        assert_eq!(average.kind, Kind::Average);
        assert_eq!(average.tasks, Some(OfTasks { values: tenths, place: Some((4, 0, 8)) }));
        // As Spark 2.4 shows it, without the task.
        let old = read("total (min, med, max)\n1.3 s (1 ms, 200 ms, 1.0 s)").unwrap();
        let seconds = |value| DisplayedValue { value, within: 50 };
        assert_eq!(old.total, Some(seconds(1_300)));
        let exact = |value| DisplayedValue { value, within: 0 };
        assert_eq!(old.tasks, Some(OfTasks { values: [exact(1), exact(200), seconds(1_000)], place: None }));
        // What Spark rounds is within what is told of it (`Utils.bytesToString`, `UIUtils.formatDuration`).
        for (text, true_value) in
            [("2.0 KiB", 2_099), ("1.1 h", 4_139_000), ("1.50 h", 5_417_000), ("7.3 m", 435_000)]
        {
            let total = read(text).and_then(|shown| shown.total).unwrap();
            assert!((true_value - total.value).abs() <= total.within, "{text}: {total:?}");
        }
        for text in ["", "(", "total\n", "1 (", "x (stage 1.0: task 2)", "total\n1 B (2 B (stage 1: task))"] {
            read(text);
        }
    }
}
