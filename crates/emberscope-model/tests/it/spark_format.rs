//! Values as Spark's History Server prints them, so that its answers can be compared as they are.

use emberscope_log::event::plan::MetricKind;
use emberscope_model::distribution::Distribution;
use emberscope_model::sql::SqlMetric;

/// `Utils.bytesToString`.
pub(crate) fn bytes(size: i64) -> String {
    const UNITS: [(&str, u32); 7] =
        [("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
    let (unit, shift) = *UNITS
        .iter()
        .find(|(unit, shift)| *unit == "B" || i128::from(size) >= 2i128 << shift)
        .unwrap_or(&("B", 0));
    // Java's %.1f rounds half up.
    let tenths = ((size as f64 / (1i64 << shift) as f64) * 10.0 + 0.5).floor() / 10.0;
    format!("{tenths:.1} {unit}")
}

/// `Utils.msDurationToString`.
pub(crate) fn duration(ms: i64) -> String {
    let half_up = |value: f64, scale: f64, unit: &str| {
        let scaled = (value * scale + 0.5).floor() / scale;
        if scale > 10.0 { format!("{scaled:.2} {unit}") } else { format!("{scaled:.1} {unit}") }
    };
    let ms_f = ms as f64;
    match ms {
        ms if ms < 1000 => format!("{ms} ms"),
        ms if ms < 60_000 => half_up(ms_f / 1000.0, 10.0, "s"),
        ms if ms < 3_600_000 => half_up(ms_f / 60_000.0, 10.0, "m"),
        _ => half_up(ms_f / 3_600_000.0, 100.0, "h"),
    }
}

/// An integer with commas.
pub(crate) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0 { format!("-{out}") } else { out }
}

/// One value of a SQL metric (`SQLMetrics.stringValue`).
pub(crate) fn metric(kind: MetricKind, value: i64) -> String {
    match kind {
        MetricKind::Sum | MetricKind::Other => grouped(value),
        MetricKind::Size => bytes(value),
        MetricKind::Timing => duration(value),
        MetricKind::NsTiming => duration(value / 1_000_000),
        MetricKind::Average => {
            let tenths = grouped(value / 10);
            if value % 10 == 0 { tenths } else { format!("{tenths}.{}", value % 10) }
        }
    }
}

/// A SQL metric as the server prints it, without its first line (`SQLMetrics.stringValue`).
pub(crate) fn sql_metric(kind: MetricKind, values: &SqlMetric) -> Option<String> {
    let total = values.total?;
    if matches!(kind, MetricKind::Sum | MetricKind::Other) {
        return Some(metric(kind, total));
    }
    let mut sorted: Vec<i64> = Vec::new();
    for part in [&values.tasks, &values.driver] {
        if let Distribution::Exact(values) = part {
            sorted.extend(values);
        }
    }
    if kind == MetricKind::Average {
        sorted.retain(|value| *value > 0);
    }
    sorted.sort_unstable();
    if sorted.len() <= 1 {
        return Some(metric(kind, sorted.first().copied().unwrap_or(0)));
    }
    let spread = [0, sorted.len() / 2, sorted.len() - 1].map(|nth| metric(kind, sorted[nth])).join(", ");
    Some(if kind == MetricKind::Average {
        format!("({spread})")
    } else {
        format!("{} ({spread})", metric(kind, total))
    })
}

#[test]
fn as_spark_prints_them() {
    assert_eq!(bytes(1500), "1500.0 B");
    assert_eq!(bytes(2048), "2.0 KiB");
    assert_eq!(bytes(12_900_000), "12.3 MiB");
    assert_eq!(
        (duration(999), duration(1500), duration(90_000)),
        ("999 ms".into(), "1.5 s".into(), "1.5 m".into())
    );
    assert_eq!((grouped(1_234_567), grouped(12)), ("1,234,567".into(), "12".into()));
}
