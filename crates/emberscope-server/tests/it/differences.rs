//! Where our answers differ from those of Spark's History Server, and why. Everything else is equal.

/// A difference that is known.
pub(crate) struct Difference {
    /// Part of the log's path; empty = any.
    pub(crate) log: &'static str,
    /// Parts of the path of the value, in their order, set apart by `*`.
    pub(crate) path: &'static str,
    /// Why it is as it is.
    pub(crate) reason: &'static str,
}

const fn any(path: &'static str, reason: &'static str) -> Difference {
    Difference { log: "", path, reason }
}

const UNSUBMITTED: &str = "of a stage that never ran the model keeps name, tasks and first RDD";
const MASKED: &str = "more is masked than Spark masks: keys and values that look like secrets";

const LATE_HEARTBEAT: &str = "a heartbeat told of the stage after its end; the server had closed it by then";

const UNTIL_NOW: &str = "what has no end lasts until now for the server, and until the last event for us";

/// Of values that are equal but for the place of the largest.
pub(crate) const TIES: &str = "of several stages with the largest value of a metric the server names the one that \
                               comes first in its hash set";

pub(crate) const DIFFERENCES: &[Difference] = &[
    any("stages*.rddIds", UNSUBMITTED),
    any("stages*.details", UNSUBMITTED),
    Difference { log: "sql-", path: "stages*.peak", reason: LATE_HEARTBEAT },
    Difference { log: "sql-", path: "stages*eakMemoryMetrics", reason: LATE_HEARTBEAT },
    Difference {
        log: "iceberg",
        path: "sql*.metrics*.value",
        reason: "a connector's class prints its metrics, and the server that was asked lacks it: it says N/A",
    },
    Difference { log: "killed", path: "tasks*.duration", reason: UNTIL_NOW },
    Difference { log: "killed", path: "executors*.totalDuration", reason: UNTIL_NOW },
    Difference {
        log: "application_1713000000000_0001_1",
        path: "xecutors*.totalDuration",
        reason: UNTIL_NOW,
    },
    Difference { log: "eventlog_3nodes", path: "tasks*.duration", reason: UNTIL_NOW },
    Difference { log: "eventlog_3nodes", path: "xecutors*.totalDuration", reason: UNTIL_NOW },
    Difference { log: "eventlog_3nodes", path: "sql*.duration", reason: UNTIL_NOW },
    Difference { log: "truncated", path: "tasks*.duration", reason: UNTIL_NOW },
    Difference { log: "truncated", path: "xecutors*.totalDuration", reason: UNTIL_NOW },
    Difference { log: "truncated", path: "sql*.duration", reason: UNTIL_NOW },
    Difference { log: "xgboost", path: "tasks*.duration", reason: UNTIL_NOW },
    Difference { log: "xgboost", path: "xecutors*.totalDuration", reason: UNTIL_NOW },
    Difference { log: "xgboost", path: "sql*.duration", reason: UNTIL_NOW },
    Difference { log: "join_missing_sql_end", path: "sql*.duration", reason: UNTIL_NOW },
    Difference {
        log: "xgboost",
        path: ".appSparkVersion",
        reason: "the log names its version in an event of its platform, which the server does not know",
    },
    Difference {
        log: "xgboost",
        path: "*metrics*.value",
        reason: "a type of metric that Spark does not know: the server prints it as unknown, and we as a sum",
    },
    Difference {
        log: "tasks_executors_fail",
        path: "xecutors[\"1\"].failedTasks",
        reason: "the server forgets an executor that is removed, and counts no task of it that ends later",
    },
    Difference {
        log: "rdd",
        path: "tasks*.accumulatorUpdates",
        reason: "of user accumulators the model keeps the updates that are integers, and no running values",
    },
    Difference {
        log: "shared",
        path: "jobs[4].num",
        reason: "two jobs share a running stage: the server counts in the second what ends and not what began, \
                 so that it has fewer than no active tasks",
    },
    any("environment*Properties[", MASKED),
    any(
        "dataDistribution*emoryRemaining",
        "what was left when the RDD last changed; ours is what is left at the end",
    ),
];
