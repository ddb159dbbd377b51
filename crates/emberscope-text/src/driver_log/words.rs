//! What makes a line worth a closer look: few lines of a log say anything about the run, and all of them are
//! searched at once for the words that do.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::sync::LazyLock;

/// Kinds of things that lines speak of, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Topics(u16);

impl Topics {
    pub(super) const GC: Topics = Topics(1);
    pub(super) const APPLICATION: Topics = Topics(1 << 1);
    pub(super) const ADDRESS: Topics = Topics(1 << 2);
    pub(super) const OUT_OF_MEMORY: Topics = Topics(1 << 3);
    pub(super) const PLAN: Topics = Topics(1 << 4);
    pub(super) const OPERATION: Topics = Topics(1 << 5);
    pub(super) const SCHEDULER: Topics = Topics(1 << 6);
    pub(super) const TASKS: Topics = Topics(1 << 7);
    pub(super) const EXECUTORS: Topics = Topics(1 << 8);

    /// What a text speaks of.
    pub(super) fn of(text: &str) -> Self {
        let mut topics = Topics::default();
        for found in FINDER.iter().flat_map(|finder| finder.find_overlapping_iter(text)) {
            topics.0 |= WORDS[found.pattern().as_usize()].1.0;
        }
        topics
    }

    pub(super) fn has(self, topic: Topics) -> bool {
        self.0 & topic.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

const WORDS: [(&str, Topics); 37] = [
    ("][gc", Topics::GC),
    ("[GC", Topics::GC),
    ("[Full GC", Topics::GC),
    ("application_", Topics::APPLICATION),
    ("app-", Topics::APPLICATION),
    ("local-", Topics::APPLICATION),
    ("spark-", Topics::APPLICATION),
    ("Submitted application: ", Topics::APPLICATION),
    ("Running Spark version ", Topics::APPLICATION),
    ("http://", Topics::ADDRESS),
    ("https://", Topics::ADDRESS),
    ("OutOfMemoryError", Topics::OUT_OF_MEMORY),
    ("Container killed by YARN for exceeding", Topics::OUT_OF_MEMORY),
    ("exceeding physical memory limits", Topics::OUT_OF_MEMORY),
    ("exceeding virtual memory limits", Topics::OUT_OF_MEMORY),
    ("OOMKilled", Topics::OUT_OF_MEMORY),
    ("exit code 137", Topics::OUT_OF_MEMORY),
    ("== Physical Plan ==", Topics::PLAN),
    ("Final plan:", Topics::PLAN),
    ("Plan changed from", Topics::PLAN),
    ("Current plan: ", Topics::PLAN),
    ("query[", Topics::OPERATION),
    ("statement[", Topics::OPERATION),
    ("Submitting query '", Topics::OPERATION),
    ("Got job ", Topics::SCHEDULER),
    ("Got map stage job ", Topics::SCHEDULER),
    ("inal stage: ", Topics::SCHEDULER),
    (": Job ", Topics::SCHEDULER),
    ("MapStage ", Topics::SCHEDULER),
    ("ResultStage ", Topics::SCHEDULER),
    ("Starting task ", Topics::TASKS),
    ("Finished task ", Topics::TASKS),
    ("Lost task ", Topics::TASKS),
    ("BlockManagerId(", Topics::EXECUTORS),
    ("Registered executor ", Topics::EXECUTORS),
    ("Lost executor ", Topics::EXECUTORS),
    ("SparkContext", Topics::EXECUTORS),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(word, _)| word);
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA)).build(words).ok()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_topics() {
        for (line, topic) in WORDS {
            assert!(Topics::of(&format!("x {line} y")).has(topic), "{line}");
        }
        assert!(Topics::of("Lost executor 3 on h: x").has(Topics::EXECUTORS));
        assert!(Topics::of("Parents of final stage: List(ShuffleMapStage 0)").has(Topics::SCHEDULER));
        for line in
            ["", "\tat org.apache.spark.Foo.bar(Foo.scala:12)", "INFO MemoryStore: Block broadcast_1 stored"]
        {
            assert!(Topics::of(line).is_empty(), "{line}");
        }
    }
}
