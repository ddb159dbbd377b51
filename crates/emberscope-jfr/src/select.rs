//! Which samples count.

use crate::tasks::TaskQuery;

/// What a flame graph is about. What is empty or `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Executors, as the names of files tell them.
    pub executors: Vec<String>,
    /// Threads.
    pub thread: Option<ThreadPattern>,
    /// State of the thread, with or without `STATE_`, in any case.
    pub state: Option<String>,
    /// Start, epoch nanoseconds.
    pub from_ns: Option<i64>,
    /// End, epoch nanoseconds, not included.
    pub to_ns: Option<i64>,
    /// Tasks.
    pub tasks: TaskQuery,
}

/// Threads by what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadPattern {
    /// `javaThreadId`.
    Id(u64),
    /// A part of the name; with `*`, the whole name with anything for each.
    Name(String),
}

impl ThreadPattern {
    /// A number is an id, all else a pattern of names.
    pub fn parse(text: &str) -> ThreadPattern {
        text.parse().map_or_else(|_| ThreadPattern::Name(text.to_owned()), ThreadPattern::Id)
    }

    /// Whether a thread is meant, by its `javaThreadId` and name.
    pub fn matches(&self, java_id: u64, name: &str) -> bool {
        match self {
            ThreadPattern::Id(id) => java_id == *id,
            ThreadPattern::Name(pattern) if pattern.contains('*') => matches_glob(pattern, name),
            ThreadPattern::Name(part) => name.contains(part.as_str()),
        }
    }
}

/// Whether `text` is `pattern` with anything for each `*`.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Selection {
    /// Whether the samples of an executor can count.
    pub fn has_executor(&self, executor: &str) -> bool {
        self.executors.is_empty() || self.executors.iter().any(|wanted| wanted == executor)
    }

    pub(crate) fn has_state(&self, state: &str) -> bool {
        let short = |text: &str| text.trim_start_matches("STATE_").to_ascii_lowercase();
        self.state.as_deref().is_none_or(|wanted| {
            let wanted = wanted.to_ascii_uppercase();
            short(state) == short(&wanted)
        })
    }

    /// The range of time, epoch nanoseconds.
    pub(crate) fn range(&self) -> (i64, i64) {
        (self.from_ns.unwrap_or(i64::MIN), self.to_ns.unwrap_or(i64::MAX))
    }
}

/// Of `count` samples taken at even distances from `start` on over `span`, how many lie in [from, to).
pub(crate) fn samples_inside(start: i64, span: i64, count: i64, (from, to): (i64, i64)) -> i64 {
    if count <= 1 || span <= 0 {
        return if (from..to).contains(&start) { count.max(0) } else { 0 };
    }
    // How many of them lie before a point: those n with start + n * span / (count - 1) < point.
    let before = |point: i64| {
        let distance = i128::from(point) - i128::from(start);
        let steps = i128::from(count - 1);
        let n = (distance * steps + i128::from(span) - 1).div_euclid(i128::from(span));
        n.clamp(0, i128::from(count)) as i64
    };
    (before(to) - before(from)).max(0)
}

/// How much of `start` + `span` lies in [from, to).
pub(crate) fn time_inside(start: i64, span: i64, (from, to): (i64, i64)) -> i64 {
    let end = start.saturating_add(span.max(0));
    end.min(to).saturating_sub(start.max(from)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_shared_out_exactly() {
        // Samples at 0, 10, .., 90.
        let inside = |range| samples_inside(0, 90, 10, range);
        assert_eq!(inside((0, 91)), 10);
        assert_eq!(inside((0, 90)), 9);
        assert_eq!(inside((1, 11)), 1);
        assert_eq!(inside((10, 20)), 1);
        assert_eq!(inside((11, 20)), 0);
        assert_eq!(inside((i64::MIN, i64::MAX)), 10);
        assert_eq!(inside((50, 40)), 0);
        for cut in -5..100 {
            assert_eq!(inside((i64::MIN, cut)) + inside((cut, i64::MAX)), 10, "{cut}");
        }
        assert_eq!(samples_inside(5, 0, 3, (5, 6)), 3);
        assert_eq!(samples_inside(5, 0, 3, (6, 7)), 0);
    }

    #[test]
    fn spans_are_clipped() {
        assert_eq!(time_inside(10, 20, (0, 100)), 20);
        assert_eq!(time_inside(10, 20, (15, 20)), 5);
        assert_eq!(time_inside(10, 20, (30, 40)), 0);
        assert_eq!(time_inside(10, -5, (0, 100)), 0);
    }

    #[test]
    fn patterns_of_threads() {
        for (pattern, is_match) in [
            ("38", true),
            ("3", false),
            ("task launch", true),
            ("Executor task launch worker*", true),
            ("*worker-3", true),
            ("Exec*launch*3", true),
            ("task*", false),
            ("*4", false),
        ] {
            assert_eq!(
                ThreadPattern::parse(pattern).matches(38, "Executor task launch worker-3"),
                is_match,
                "{pattern}"
            );
        }
    }

    #[test]
    fn states() {
        let selection = Selection { state: Some("runnable".to_owned()), ..Selection::default() };
        assert!(selection.has_state("STATE_RUNNABLE") && !selection.has_state("STATE_SLEEPING"));
        assert!(Selection::default().has_state("anything"));
    }
}
