//! Dates and times, in UTC, and Java's patterns for them.

use super::simple::simple;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Int32Array, Int64Array, StringBuilder, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Date32Type, Int32Type, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::fmt::Write;
use std::sync::Arc;

use DataType::{Date32, Int32, Int64, Utf8};

const MICROS: i64 = 1_000_000;
const MICROS_A_DAY: i64 = 86_400 * MICROS;
const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const TAKES_TIME: &str = "a date or timestamp (TIMESTAMP_MILLIS(x) makes one of milliseconds)";

fn is_time(ty: &DataType) -> bool {
    ty.is_string()
        || matches!(ty, DataType::Null | DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

macro_rules! field {
    ($name:literal, $of:expr) => {
        simple(
            $name,
            (|types| (types.len() == 1 && is_time(&types[0])).then(|| vec![TIME]), TAKES_TIME),
            |_| Int32,
            |args, _| {
                let times = args[0].as_primitive::<TimestampMicrosecondType>().iter();
                let of: fn(&Civil) -> i64 = $of;
                Ok(Arc::new(times.map(|time| Some(of(&Civil::of(time?)) as i32)).collect::<Int32Array>()))
            },
        )
    };
}

/// All of them.
pub(super) fn all() -> Vec<ScalarUDF> {
    vec![
        field!("year", |c| c.year),
        field!("quarter", |c| (c.month + 2) / 3),
        field!("month", |c| c.month),
        field!("day", |c| c.day),
        field!("dayofmonth", |c| c.day),
        field!("dayofweek", |c| c.weekday + 1),
        field!("hour", |c| c.micros / (3600 * MICROS)),
        field!("minute", |c| c.micros / (60 * MICROS) % 60),
        field!("second", |c| c.micros / MICROS % 60),
        simple(
            "date_format",
            (
                |types| (types.len() == 2 && is_time(&types[0])).then(|| vec![TIME, Utf8]),
                "a date or timestamp (TIMESTAMP_MILLIS(x) makes one of milliseconds) and a pattern",
            ),
            |_| Utf8,
            date_format,
        ),
        simple(
            super::PARSE_TIME,
            (|types| (types.len() == 2).then(|| vec![Utf8, Utf8]), "a text and a pattern"),
            |_| TIME,
            parse_time,
        ),
        simple(
            "unix_timestamp",
            (|types| (types.len() == 1 && is_time(&types[0])).then(|| vec![TIME]), TAKES_TIME),
            |_| Int64,
            |args, _| {
                let times = args[0].as_primitive::<TimestampMicrosecondType>().iter();
                // As Spark: before 1970, too, what is left is cut off.
                Ok(Arc::new(times.map(|time| Some(time? / MICROS)).collect::<Int64Array>()))
            },
        ),
        simple("date_add", (days, "a date and a number of days"), |_| Date32, |args, _| moved(args, 1)),
        simple("date_sub", (days, "a date and a number of days"), |_| Date32, |args, _| moved(args, -1)),
        simple(
            "datediff",
            (
                |types| (types.len() == 2 && types.iter().all(is_time)).then(|| vec![Date32, Date32]),
                "two dates, the later first",
            ),
            |_| Int32,
            |args, _| {
                let (ends, starts) =
                    (args[0].as_primitive::<Date32Type>(), args[1].as_primitive::<Date32Type>());
                let pairs = ends.iter().zip(starts);
                Ok(Arc::new(
                    pairs.map(|(end, start)| Some(end?.wrapping_sub(start?))).collect::<Int32Array>(),
                ))
            },
        ),
    ]
}

fn days(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [date, days] if is_time(date) && (days.is_integer() || days.is_null()) => Some(vec![Date32, Int32]),
        _ => None,
    }
}

fn moved(args: &[ArrayRef], sign: i32) -> Result<ArrayRef> {
    let (dates, days) = (args[0].as_primitive::<Date32Type>(), args[1].as_primitive::<Int32Type>());
    let pairs = dates.iter().zip(days);
    let moved = pairs.map(|(date, days)| Some(date?.wrapping_add(days?.wrapping_mul(sign))));
    Ok(Arc::new(moved.collect::<Date32Array>()))
}

/// A time by the calendar.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    /// From 0, Sunday.
    weekday: i64,
    /// Of the day.
    micros: i64,
}

impl Civil {
    fn of(time: i64) -> Civil {
        let days = time.div_euclid(MICROS_A_DAY);
        // Years begin in March, so that the leap day is the last.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Civil { year, month, day, weekday: (days + 4).rem_euclid(7), micros: time.rem_euclid(MICROS_A_DAY) }
    }

    /// Days since 1970; `None` for a day that is not in the calendar.
    fn days(year: i64, month: i64, day: i64) -> Option<i64> {
        let shifted = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
        let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        let days = era * 146_097 + of_era - 719_468;
        let back = Civil::of(days.checked_mul(MICROS_A_DAY)?);
        ((back.year, back.month, back.day) == (year, month, day)).then_some(days)
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(char, usize),
}

fn pieces(pattern: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            let mut text = String::new();
            loop {
                match chars.next() {
                    Some('\'') if chars.peek() == Some(&'\'') => {
                        chars.next();
                        text.push('\'');
                    }
                    Some('\'') => break,
                    Some(c) => text.push(c),
                    None => return exec_err!("the pattern `{pattern}` has a quote without its end"),
                }
            }
            // Two quotes are one.
            pieces.push(Piece::Text(if text.is_empty() { "'".to_owned() } else { text }));
        } else if c.is_ascii_alphabetic() {
            let mut count = 1;
            while chars.next_if_eq(&c).is_some() {
                count += 1;
            }
            let is_known = match c {
                'y' => matches!(count, 1 | 2 | 4),
                'M' => count <= 4,
                'd' | 'H' | 'h' | 'm' | 's' => count <= 2,
                'S' => count <= 9,
                'E' => count <= 4,
                'a' => count == 1,
                _ => false,
            };
            if !is_known {
                let letters = c.to_string().repeat(count);
                return exec_err!(
                    "`{letters}` in a pattern of dates is not known: use yyyy, MM, dd, HH, hh, mm, ss, SSS, a, E, MMM"
                );
            }
            pieces.push(Piece::Field(c, count));
        } else if matches!(c, '#' | '{' | '}' | '[' | ']') {
            return exec_err!("`{c}` in a pattern of dates is not known: put it in single quotes");
        } else {
            pieces.push(Piece::Text(c.to_string()));
        }
    }
    Ok(pieces)
}

/// Patterns are few and rows are many.
#[derive(Default)]
struct Patterns {
    last: Option<(String, Vec<Piece>)>,
}

impl Patterns {
    fn get(&mut self, pattern: &str) -> Result<&[Piece]> {
        if self.last.as_ref().is_none_or(|(last, _)| last != pattern) {
            self.last = Some((pattern.to_owned(), pieces(pattern)?));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, pieces)| pieces))
    }
}

fn date_format(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (times, patterns) = (args[0].as_primitive::<TimestampMicrosecondType>(), args[1].as_string::<i32>());
    let mut known = Patterns::default();
    let mut builder = StringBuilder::new();
    for row in 0..rows {
        if patterns.is_null(row) {
            builder.append_null();
            continue;
        }
        let pieces = known.get(patterns.value(row))?;
        builder.append_option(times.is_valid(row).then(|| formatted(times.value(row), pieces)));
    }
    Ok(Arc::new(builder.finish()))
}

fn formatted(time: i64, pieces: &[Piece]) -> String {
    let civil = Civil::of(time);
    let (hour, name) =
        (civil.micros / (3600 * MICROS), |names: &[&str], at: i64| names[at as usize].to_owned());
    let mut out = String::new();
    for piece in pieces {
        let (value, width) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Field('y', 2) => (civil.year.rem_euclid(100), 2),
            Piece::Field('M', count @ 3..) => {
                let name = name(&MONTHS, civil.month - 1);
                out.push_str(if *count == 3 { &name[..3] } else { &name });
                continue;
            }
            Piece::Field('E', count) => {
                let name = name(&WEEKDAYS, civil.weekday);
                out.push_str(if *count < 4 { &name[..3] } else { &name });
                continue;
            }
            Piece::Field('a', _) => {
                out.push_str(if hour < 12 { "AM" } else { "PM" });
                continue;
            }
            Piece::Field('S', count) => {
                let digits = format!("{:06}000", civil.micros % MICROS);
                out.push_str(&digits[..*count]);
                continue;
            }
            Piece::Field(letter, count) => {
                let value = match letter {
                    'y' => civil.year,
                    'M' => civil.month,
                    'd' => civil.day,
                    'H' => hour,
                    'h' => (hour + 11) % 12 + 1,
                    'm' => civil.micros / (60 * MICROS) % 60,
                    _ => civil.micros / MICROS % 60,
                };
                (value, *count)
            }
        };
        _ = write!(out, "{value:0width$}");
    }
    out
}

fn parse_time(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let mut known = Patterns::default();
    let mut times = Vec::with_capacity(rows);
    for row in 0..rows {
        if patterns.is_null(row) {
            times.push(None);
            continue;
        }
        let pieces = known.get(patterns.value(row))?;
        let is_known = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::Field(letter, count) => {
                "yMdHmsS".contains(*letter)
                    && (*letter != 'M' || *count <= 2)
                    && (*letter != 'y' || *count == 4)
            }
        };
        if !pieces.iter().all(is_known) {
            return exec_err!("a pattern to read dates by has yyyy, MM, dd, HH, mm, ss and SSS only");
        }
        times.push(if texts.is_null(row) { None } else { parsed(texts.value(row), pieces) });
    }
    Ok(Arc::new(TimestampMicrosecondArray::from(times)))
}

fn parsed(text: &str, pieces: &[Piece]) -> Option<i64> {
    let (mut rest, mut year, mut month, mut day, mut micros) = (text, 1970, 1, 1, 0);
    for piece in pieces {
        let (letter, count) = match piece {
            Piece::Text(text) => {
                rest = rest.strip_prefix(text.as_str())?;
                continue;
            }
            Piece::Field(letter, count) => (*letter, *count),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let width = if count == 1 && letter != 'S' { digits.min(2) } else { count };
        if digits < width || width == 0 {
            return None;
        }
        let value: i64 = rest[..width].parse().ok()?;
        rest = &rest[width..];
        let (unit, limit) = match letter {
            'y' => {
                year = value;
                continue;
            }
            'M' => {
                month = value;
                continue;
            }
            'd' => {
                day = value;
                continue;
            }
            'S' => {
                micros += format!("{value:0count$}000000")[..6].parse::<i64>().ok()?;
                continue;
            }
            'H' => (3600 * MICROS, 24),
            'm' => (60 * MICROS, 60),
            _ => (MICROS, 60),
        };
        if value >= limit {
            return None;
        }
        micros += value * unit;
    }
    if !rest.is_empty() || !(1..=12).contains(&month) {
        return None;
    }
    Civil::days(year, month, day)?.checked_mul(MICROS_A_DAY)?.checked_add(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_back() {
        for days in (-800_000..800_000).step_by(37) {
            let civil = Civil::of(days * MICROS_A_DAY);
            assert_eq!(Civil::days(civil.year, civil.month, civil.day), Some(days));
        }
        assert_eq!(Civil::days(2023, 2, 29), None);
    }

    #[test]
    fn odd_patterns() {
        for odd in ["YYYY", "yyyyy", "'", "D", "[HH]", "z", "MMMMM"] {
            assert!(pieces(odd).is_err(), "{odd}");
        }
        for text in ["é", "2024", "2024-13-01", "2024-02-30", "2024-01-02x", ""] {
            assert_eq!(parsed(text, &pieces("yyyy-MM-dd").unwrap()), None, "{text}");
        }
    }
}
