//! Times as Spark writes and reads them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// A time that is not known, as Spark shows it.
pub(super) const UNKNOWN: i64 = -1;

/// `2026-11-30T06:31:48.895GMT`.
pub(super) fn shown(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fGMT").to_string()
}

/// A time given as a parameter: the form above, or a day.
pub(super) fn parsed(text: &str) -> Option<i64> {
    if text.len() == "2026-11-30".len()
        && let Ok(day) = text.parse::<Date>()
    {
        return utc(day.to_datetime(Time::midnight()));
    }
    let (local, zone) = text.split_at_checked("2026-11-30T06:31:48.895".len())?;
    let local: DateTime = local.parse().ok()?;
    if matches!(zone, "GMT" | "UTC" | "Z") {
        return utc(local);
    }
    format!("{local}{zone}").parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

fn utc(time: DateTime) -> Option<i64> {
    TimeZone::UTC.to_timestamp(time).ok().map(Timestamp::as_millisecond)
}

#[test]
fn as_spark_has_them() {
    let text = "2026-11-30T06:31:48.895GMT";
    assert_eq!(parsed(text), Some(1_796_020_308_895));
    assert_eq!(shown(1_796_020_308_895), text);
    assert_eq!(shown(UNKNOWN), "1969-12-31T23:59:59.999GMT");
    assert_eq!(parsed("1970-01-02"), Some(86_400_000));
    assert_eq!(parsed("1970-01-01T01:00:00.000+01:00"), Some(0));
    for bad in ["yesterday", "", "2026-11-30T06:31:48.895XYZ", "2026-11-30T06"] {
        assert_eq!(parsed(bad), None, "{bad}");
    }
}
