//! Findings of a run that still goes on.

use crate::detectors::incmp::INCMP;
use crate::diagnosis::{Options, diagnose};
use crate::finding::{Finding, Severity};
use emberscope_model::run::Run;
use std::collections::BTreeSet;

/// A run younger than this is mostly its own start, which any finding would be about.
const YOUNGEST_MS: i64 = 10_000;

/// Tells each finding of a growing run once. What one look sees and the next does not was chance; so a finding is told
/// when two looks in a row saw it, or the last one.
#[derive(Debug, Default)]
pub struct LiveFindings {
    options: Options,
    told: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl LiveFindings {
    /// Looks for findings as `options` ask.
    pub fn new(options: Options) -> Self {
        LiveFindings { options, ..LiveFindings::default() }
    }

    /// What is to be told now, most important first: warnings and worse.
    pub fn news(&mut self, run: &Run, is_last: bool) -> Vec<Finding> {
        if !is_last && run.application.duration_ms().unwrap_or(0) < YOUNGEST_MS {
            return Vec::new();
        }
        let mut findings = diagnose(run, &self.options).findings;
        // That the log has no end is no news while it is written.
        let is_news = |finding: &Finding| is_last || finding.tag != INCMP.tag;
        findings.retain(|finding| finding.severity >= Severity::Warning && is_news(finding));
        let before = std::mem::take(&mut self.seen);
        self.seen = findings.iter().map(|finding| finding.id.clone()).collect();
        findings.retain(|finding| {
            (is_last || before.contains(&finding.id)) && self.told.insert(finding.id.clone())
        });
        findings
    }
}
