//! Micro-batches as numbers.

use emberscope_log::event::stream::Progress;
use emberscope_model::distribution::Distribution;
use emberscope_model::streaming::StreamRun;

/// One micro-batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) trigger_ms: i64,
    pub(super) took_ms: i64,
    pub(super) rows: i64,
    pub(super) input_rate: Option<f64>,
    pub(super) processed_rate: Option<f64>,
    pub(super) state_rows: i64,
    pub(super) state_bytes: i64,
    pub(super) watermark_ms: Option<i64>,
    pub(super) max_event_ms: Option<i64>,
}

/// The batches of a query that have a time.
pub(super) fn batches(stream: &StreamRun) -> Vec<Batch> {
    stream.batches.iter().filter_map(batch).collect()
}

fn batch(progress: &Progress) -> Option<Batch> {
    let trigger_ms = epoch_ms(progress.timestamp.as_deref()?)?;
    // Sums over sources: Spark 4 writes no rows of the batch as a whole.
    let of_sources: i64 = progress.sources.iter().filter_map(|source| source.num_input_rows.0).sum();
    let rate = |of: &dyn Fn(&emberscope_log::event::stream::StreamSource) -> Option<f64>| {
        let rates: Vec<f64> = progress.sources.iter().filter_map(of).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    };
    let event_time = |name: &str| progress.event_time.get(name).and_then(|text| epoch_ms(text));
    let states = &progress.state_operators;
    let took = progress.duration_ms.get("triggerExecution").copied().or(progress.batch_duration.0);
    Some(Batch {
        trigger_ms,
        took_ms: took.unwrap_or(0).max(0),
        rows: progress.num_input_rows.0.unwrap_or(of_sources).max(of_sources),
        input_rate: rate(&|source| source.input_rows_per_second),
        processed_rate: rate(&|source| source.processed_rows_per_second),
        state_rows: states.iter().filter_map(|state| state.num_rows_total.0).sum(),
        state_bytes: states.iter().filter_map(|state| state.memory_used_bytes.0).sum(),
        watermark_ms: event_time("watermark"),
        max_event_ms: event_time("max"),
    })
}

/// Pause between two batches from which it is one: what is shorter is the query's own bookkeeping, ms.
const PAUSE_MS: i64 = 100;
/// Pauses that must have been seen, for an interval to be told.
const MIN_PAUSES: usize = 3;

/// The trigger interval, where batches leave pauses: such a batch starts one interval after the last.
pub(super) fn trigger_interval(batches: &[Batch]) -> Option<i64> {
    let paused = batches.windows(2).filter_map(|pair| {
        let between = pair[1].trigger_ms - pair[0].trigger_ms;
        let is_pause = pair[0].took_ms > 0 && between - pair[0].took_ms >= PAUSE_MS;
        is_pause.then_some(between)
    });
    let starts = Distribution::of(paused);
    if starts.count()? < MIN_PAUSES {
        return None;
    }
    // A batch that overran makes the next one start at a multiple: the shortest distances are the interval.
    let interval = starts.min()?;
    let steady = starts.median()?;
    // Without an interval pauses are of any length: polling for data, for instance.
    ((steady / interval).round() * interval - steady).abs().le(&(interval / 10.0)).then_some(interval as i64)
}

/// Whether any batch started a pause after the one before had ended: else nothing tells that a trigger has an
/// interval.
pub(super) fn has_pauses(batches: &[Batch]) -> bool {
    batches.windows(2).any(|pair| pair[1].trigger_ms - pair[0].trigger_ms - pair[0].took_ms >= PAUSE_MS)
}

/// How far from the tick of its trigger a batch may start, ms.
const TICK_MS: i64 = 25;
/// Intervals that are tried: whole seconds up to a quarter of an hour.
const MOST_SECONDS: i64 = 900;

/// The longest trigger interval that fits when batches started, for queries too short to show one. Spark's
/// ticks are multiples of the interval since 1970: a batch after a pause starts at one, and between the
/// starts of two batches without a pause there is one.
pub(super) fn longest_interval(batches: &[Batch]) -> Option<i64> {
    let (mut paused, mut followed) = (Vec::new(), Vec::new());
    for pair in batches.windows(2) {
        let pause = pair[1].trigger_ms - pair[0].trigger_ms - pair[0].took_ms;
        if pause >= PAUSE_MS {
            paused.push(pair[1].trigger_ms);
        } else {
            followed.push((pair[0].trigger_ms, pair[1].trigger_ms));
        }
    }
    if paused.is_empty() || followed.is_empty() {
        return None;
    }
    let fits = |interval: &i64| {
        paused.iter().all(|start| start.rem_euclid(*interval) <= TICK_MS)
            && followed.iter().all(|(from, to)| from.div_euclid(*interval) < to.div_euclid(*interval))
    };
    (1..=MOST_SECONDS).rev().map(|seconds| seconds * 1000).find(fits)
}

/// Milliseconds since 1970 of `2026-01-31T08:15:30.123Z`; other zones and forms give `None`.
pub(super) fn epoch_ms(text: &str) -> Option<i64> {
    let text = text.trim().strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (clock, millis) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let digits: String = millis.chars().chain("000".chars()).take(3).collect();
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && (0..=9999).contains(&year);
    let days = in_range.then(|| days_since_1970(year, month, day))?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + digits.parse::<i64>().ok()?)
}

/// Days of the Gregorian calendar, counted in years that begin in March, so that leap days come last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_progress() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2026-11-30T06:39:05.123Z", Some(1_796_020_745_123)),
            ("2024-02-29T23:59:59Z", Some(1_709_251_199_000)),
            ("2026-11-30T06:39:05+01:00", None),
            ("soon", None),
        ] {
            assert_eq!(epoch_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn interval_from_ticks() {
        let at = |trigger_ms, took_ms| Batch { trigger_ms, took_ms, ..Batch::default() };
        // A pause up to a tick, then batches that overrun ever more.
        let behind = [at(50_301, 684), at(52_004, 2022), at(54_029, 3186), at(57_217, 4641)];
        assert_eq!(longest_interval(&behind), Some(2000));
        // Pauses that end anywhere are no trigger's.
        let polled = [at(50_301, 684), at(51_733, 2022), at(53_758, 3186), at(56_950, 4641)];
        assert_eq!(longest_interval(&polled), None);
        let back_to_back: Vec<Batch> = (0..6).map(|n| at(n * 4010, 4000)).collect();
        assert_eq!(longest_interval(&back_to_back), None);
    }

    #[test]
    fn interval_from_pauses() {
        let at = |trigger_ms, took_ms| Batch { trigger_ms, took_ms, ..Batch::default() };
        let regular: Vec<Batch> = (0..6).map(|n| at(n * 10_000, 4000)).collect();
        assert_eq!(trigger_interval(&regular), Some(10_000));
        let back_to_back: Vec<Batch> = (0..6).map(|n| at(n * 4010, 4000)).collect();
        assert_eq!(trigger_interval(&back_to_back), None);
        assert_eq!(trigger_interval(&[]), None);
    }
}
