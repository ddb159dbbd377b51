//! `/metrics` in Prometheus' text format.

use crate::catalog::Listing;
use crate::opened::Counts;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests by class of status.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    by_class: [AtomicU64; 6],
}

impl Requests {
    pub(crate) fn count(&self, status: u16) {
        let class = usize::from(status / 100).min(self.by_class.len() - 1);
        self.by_class[class].fetch_add(1, Ordering::Relaxed);
    }
}

/// All that is measured.
pub(crate) fn text(requests: &Requests, listing: &Listing, counts: Counts) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
        // Writing to a string cannot fail.
        _ = writeln!(out, "# HELP emberscope_{name} {help}\n# TYPE emberscope_{name} {kind}");
        for (labels, value) in samples {
            _ = writeln!(out, "emberscope_{name}{labels} {value}");
        }
    };
    let one = |value: f64| vec![(String::new(), value)];
    let classes: Vec<(String, f64)> = (1..=5)
        .map(|class| {
            let count = requests.by_class[class].load(Ordering::Relaxed);
            (format!("{{class=\"{class}xx\"}}"), count as f64)
        })
        .collect();
    family("http_requests_total", "counter", "Requests by class of status.", &classes);
    family("logs", "gauge", "Event logs that are known.", &one(listing.entries.len() as f64));
    family("paths_skipped", "gauge", "Paths that gave no run.", &one(listing.skipped as f64));
    family("runs_in_memory", "gauge", "Runs that are in memory.", &one(counts.runs as f64));
    family("runs_bytes", "gauge", "Estimate of the memory they take.", &one(counts.bytes as f64));
    family("reads_total", "counter", "Event logs read.", &one(counts.reads as f64));
    family("reads_saved_total", "counter", "Runs that were on disk already.", &one(counts.found as f64));
    family("read_seconds_total", "counter", "Time it took.", &one(counts.read_time.as_secs_f64()));
    family("evictions_total", "counter", "Runs forgotten to make room.", &one(counts.evictions as f64));
    out
}
