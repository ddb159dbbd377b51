//! What the driver did in a gap, and what to say of it.

use crate::finding::{Change, Confidence};

/// What the driver did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Startup,
    Planning,
    Listing,
    Broadcast,
    Commit,
    Collect,
    Code,
    End,
}

/// What is said of time after the last job of queries whose results are too small to take it.
pub(super) struct SmallResult {
    pub(super) title: &'static str,
    pub(super) advice: &'static str,
    pub(super) place: &'static str,
    pub(super) change: &'static str,
}

pub(super) const SMALL_RESULT: SmallResult = SmallResult {
    title: "The driver was still busy in queries after their last job",
    advice: "Their results are small: what is left then is what a table format, a catalog or a listener does at the end \
             of a query (commits, checkpoints of a table's log, statistics). Commit larger changes less often.",
    place: "end of queries",
    change: "fewer, larger commits; less work of listeners",
};

impl Kind {
    /// Whether it is cut out of a query's time, before its plan is looked at.
    pub(super) fn is_in_query(self) -> bool {
        !matches!(self, Kind::Startup | Kind::Code | Kind::End | Kind::Collect)
    }

    pub(super) const ALL: [Kind; 8] = [
        Kind::Startup,
        Kind::Planning,
        Kind::Listing,
        Kind::Broadcast,
        Kind::Commit,
        Kind::Collect,
        Kind::Code,
        Kind::End,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Startup => "startup",
            Kind::Planning => "planning",
            Kind::Listing => "listing",
            Kind::Broadcast => "broadcast",
            Kind::Commit => "commit",
            Kind::Collect => "collect",
            Kind::Code => "code",
            Kind::End => "end",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Kind::Startup => "Start-up",
            Kind::Planning => "The driver planned queries",
            Kind::Listing => "The driver listed files",
            Kind::Broadcast => "The driver built broadcasts",
            Kind::Commit => "The driver committed output",
            Kind::Collect => "The driver handled results",
            Kind::Code => "The driver worked outside queries",
            Kind::End => "The run went on after its last job",
        }
    }

    pub(super) fn advice(self) -> &'static str {
        match self {
            Kind::Startup => {
                "Look at what the driver does before its first job: packages it resolves, files it loads, executors it \
                 waits for."
            }
            Kind::Planning => {
                "Plan less: give schemas instead of inferring them, do not grow plans in loops, cut very large plans \
                 with a checkpoint."
            }
            Kind::Listing => {
                "List less: prune partitions early, compact small files, or use a table format that keeps its file list."
            }
            Kind::Broadcast => {
                "Broadcast less: filter the small side before the join, or lower the threshold so that large sides are \
                 shuffled."
            }
            Kind::Commit => {
                "Commit less: write fewer files and partitions, and use a committer made for the storage."
            }
            Kind::Collect => {
                "After their last job queries were still busy in the driver, turning results into rows or frames. Write \
                 large results, aggregate first, or fetch them in parts."
            }
            Kind::Code => {
                "Executors waited for the program itself. Run independent work at the same time, and move work on rows \
                 into Spark."
            }
            Kind::End => "Stop Spark before work that does not need it, so that executors are freed.",
        }
    }

    pub(super) fn change(self) -> Change {
        match self {
            Kind::Startup => Change::code("driver start-up", "less work before the first job"),
            Kind::Planning => Change::code("query planning", "explicit schemas, smaller plans"),
            Kind::Listing => Change::data("input files", "fewer files and partitions to list"),
            Kind::Broadcast => Change::code("broadcast side", "smaller, or shuffled"),
            Kind::Commit => Change::data("output files", "fewer files and partitions"),
            Kind::Collect => Change::code("result", "written by executors instead of collected"),
            Kind::Code => Change::code("driver program", "independent queries at the same time"),
            Kind::End => Change::code("end of the program", "spark.stop() before other work"),
        }
    }

    pub(super) fn confidence(self) -> Confidence {
        match self {
            Kind::Listing | Kind::Broadcast => Confidence::High,
            Kind::Planning | Kind::Commit | Kind::Collect => Confidence::Medium,
            Kind::Startup | Kind::Code | Kind::End => Confidence::Low,
        }
    }

    pub(super) fn validate(self) -> &'static str {
        match self {
            Kind::Code | Kind::End => {
                "The driver's log or a profile of it shows what it did: waiting for somebody else refutes it."
            }
            _ => "A profile of the driver in that time that shows other work refutes it.",
        }
    }
}
