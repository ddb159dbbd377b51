//! What a detector is: its definition, thresholds and documentation, all as data.

use crate::context::Context;
use crate::finding::Claim;
use crate::plan::SqlView;
use crate::stage_view::StageView;

/// A number that decides, which a user may set.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Tag of its detector.
    pub tag: &'static str,
    /// Name, ending in its unit where it has one.
    pub name: &'static str,
    /// Value unless set.
    pub default: f64,
    /// What it decides.
    pub doc: &'static str,
}

/// One type of finding.
#[derive(Clone, Copy, Debug)]
pub struct FindingType {
    /// Name in JSON.
    pub name: &'static str,
    /// What it says, one line.
    pub what: &'static str,
}

/// What a detector looks at.
#[derive(Clone, Copy)]
pub enum Check {
    /// Every stage attempt that matters.
    Stage(fn(&Context<'_>, &StageView<'_>, &mut Sink)),
    /// Every SQL execution with a plan.
    Sql(fn(&Context<'_>, &SqlView<'_>, &mut Sink)),
    /// The run.
    App(fn(&Context<'_>, &mut Sink)),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Check::Stage(_) => "stage",
            Check::Sql(_) => "sql",
            Check::App(_) => "app",
        })
    }
}

/// A detector. Its reference page is made from this.
#[derive(Debug)]
pub struct Detector {
    /// Tag, e.g. `SKEW`.
    pub tag: &'static str,
    /// Name of the reference page.
    pub title: &'static str,
    /// Types it emits.
    pub types: &'static [FindingType],
    /// Its thresholds.
    pub thresholds: &'static [Threshold],
    /// What it looks at, one function for each scope it has.
    pub checks: &'static [Check],
    /// What the finding means; Markdown.
    pub what: &'static str,
    /// The rule in words, with the names of its thresholds; Markdown.
    pub rule: &'static str,
    /// Why it costs time; Markdown.
    pub why: &'static str,
    /// How to fix it, with examples in Spark SQL and PySpark; Markdown.
    pub fix: &'static str,
    /// What it cannot see; Markdown.
    pub limits: &'static str,
}

/// A check that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct NotChecked {
    /// Type of finding.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What is missing.
    pub reason: String,
    /// The setting or evidence that would provide it.
    pub enable: Option<String>,
}

/// Takes what detectors say.
#[derive(Debug, Default)]
pub struct Sink {
    pub(crate) claims: Vec<Claim>,
    pub(crate) not_checked: Vec<NotChecked>,
}

impl Sink {
    /// Makes a claim.
    pub fn claim(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Says that a type of finding could not be looked for; said once for each type and reason.
    pub fn not_checked(&mut self, kind: &'static str, reason: impl Into<String>, enable: Option<&str>) {
        let entry = NotChecked { kind, reason: reason.into(), enable: enable.map(str::to_owned) };
        if !self.not_checked.contains(&entry) {
            self.not_checked.push(entry);
        }
    }

    /// What was said so far.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// What could not be looked for.
    pub fn unchecked(&self) -> &[NotChecked] {
        &self.not_checked
    }

    pub(crate) fn extend(&mut self, other: Sink) {
        self.claims.extend(other.claims);
        for entry in other.not_checked {
            if !self.not_checked.contains(&entry) {
                self.not_checked.push(entry);
            }
        }
    }
}
