//! What is asked of the recordings of a run, and how large answers become.

use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::view::ViewLimits;

/// A flame graph that is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What the graph is of; `None` = the first that was recorded.
    pub event: Option<FlameEvent>,
    /// Which samples count.
    pub wanted: Selection,
    /// Which samples they are compared with.
    pub against: Option<Selection>,
    /// Whether stacks start at their leaves, with callers below.
    pub is_inverted: bool,
    /// How much is shown.
    pub limits: ViewLimits,
}

/// Nodes that a page shows unless asked otherwise, and the most it gets.
pub const PAGE_NODES: usize = 5_000;
/// See [`PAGE_NODES`].
pub const MOST_NODES: usize = 50_000;
/// Frames below the root that are shown at most.
pub const MOST_DEPTH: usize = 1_024;

/// Sets one part of a selection by its name, as addresses and command lines write it. `clock_ms` is when the run
/// started, from which `from_ms` and `to_ms` count.
///
/// # Errors
/// In words, what is wrong with the value or the name.
pub fn set(wanted: &mut Selection, key: &str, value: &str, clock_ms: i64) -> Result<(), String> {
    let time = |text: &str| {
        let ms: i64 = text.parse().map_err(|_| format!("`{text}` is no number of milliseconds"))?;
        Ok::<i64, String>(clock_ms.saturating_add(ms).saturating_mul(1_000_000))
    };
    match key {
        "executor" => wanted.executors = value.split(',').map(str::to_owned).collect(),
        "stage" => wanted.tasks.stage = Some(stage(value)?),
        "partition" => wanted.tasks.partition = Some(number(value)?),
        "task" => wanted.tasks.task = Some(number(value)?),
        "thread_id" => wanted.thread = Some(ThreadPattern::Id(number(value)?)),
        "thread" => wanted.thread = Some(ThreadPattern::Name(value.to_owned())),
        "state" => wanted.state = Some(value.to_owned()),
        "from_ms" => wanted.from_ns = Some(time(value)?),
        "to_ms" => wanted.to_ns = Some(time(value)?),
        _ => return Err(format!("no `{key}` to choose by: known are {}", KEYS.join(", "))),
    }
    Ok(())
}

/// The names of [`set`].
pub const KEYS: &[&str] =
    &["executor", "stage", "partition", "task", "thread_id", "thread", "state", "from_ms", "to_ms"];

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// `14`, `14.1`.
fn stage(text: &str) -> Result<(u32, Option<u32>), String> {
    let parsed = match text.split_once('.') {
        Some((id, attempt)) => id.parse().ok().zip(attempt.parse().ok().map(Some)),
        None => text.parse().ok().map(|id| (id, None)),
    };
    parsed.ok_or_else(|| format!("`{text}` is no stage: write 14, or 14.1 for an attempt"))
}

/// The selection that differs from `wanted` in what `pairs` say: `stage=12.0;executor=3`.
///
/// # Errors
/// In words, what cannot be understood.
pub fn against(wanted: &Selection, pairs: &str, clock_ms: i64) -> Result<Selection, String> {
    let mut other = wanted.clone();
    for pair in pairs.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match value.trim() {
            // What the other graph has chosen by, this one does not.
            "" => clear(&mut other, key.trim())?,
            value => set(&mut other, key.trim(), value, clock_ms)?,
        }
    }
    Ok(other)
}

fn clear(wanted: &mut Selection, key: &str) -> Result<(), String> {
    match key {
        "executor" => wanted.executors.clear(),
        "stage" => wanted.tasks.stage = None,
        "partition" => wanted.tasks.partition = None,
        "task" => wanted.tasks.task = None,
        "thread_id" | "thread" => wanted.thread = None,
        "state" => wanted.state = None,
        "from_ms" => wanted.from_ns = None,
        "to_ms" => wanted.to_ns = None,
        _ => return Err(format!("no `{key}` to choose by: known are {}", KEYS.join(", "))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_keep_what_they_do_not_name() {
        let mut wanted = Selection::default();
        for (key, value) in [("executor", "1,2"), ("stage", "3"), ("from_ms", "5"), ("state", "runnable")] {
            set(&mut wanted, key, value, 1000).unwrap();
        }
        assert_eq!(wanted.from_ns, Some(1_005_000_000));
        let other = against(&wanted, "stage=4.1; state= ;executor=7", 1000).unwrap();
        assert_eq!(other.tasks.stage, Some((4, Some(1))));
        assert_eq!((other.executors, other.state), (vec!["7".to_owned()], None));
        assert_eq!(other.from_ns, wanted.from_ns);
    }

    #[test]
    fn what_cannot_be_understood_is_told() {
        let mut wanted = Selection::default();
        for (key, value) in [("stage", "x"), ("task", "-1"), ("from_ms", "soon"), ("colour", "red")] {
            assert!(set(&mut wanted, key, value, 0).is_err(), "{key}");
        }
        assert!(against(&wanted, "colour", 0).is_err());
        assert!(set(&mut wanted, "to_ms", "9223372036854775807", i64::MAX).is_ok());
    }
}
