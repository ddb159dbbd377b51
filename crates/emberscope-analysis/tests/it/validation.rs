//! Detectors against labelled runs of real Spark: `validation/labels.json` and its logs.
//!
//! `docs/validation.md` is what this prints; `EMBERSCOPE_UPDATE=1` writes it.

use crate::made::read_path;
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose};
use emberscope_analysis::finding::{Finding, RangeMs, Severity};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
struct Label {
    name: String,
    log: String,
    split: String,
    role: String,
    pair: Option<String>,
    saves: Option<String>,
    expect: Vec<Expected>,
    allow: Vec<String>,
    /// Wrong causes that the run invites.
    #[serde(default)]
    forbid: Vec<String>,
    wall_ms: Vec<i64>,
    /// From the first job or query to the end, where it is noted: start-up differs more than what is measured.
    #[serde(default)]
    active_ms: Vec<i64>,
}

impl Label {
    fn is_forbidden(&self, finding: &Finding) -> bool {
        self.forbid.iter().any(|text| names(text, finding))
    }
}

impl Label {
    /// Whether repeats are compared from the first job on: start-up differs more between runs than what is
    /// measured, and is left out where it is not what the label is about.
    fn is_about_jobs(&self) -> bool {
        let of_driver = |expected: &Expected| {
            matches!(expected.tag.as_str(), "DRIVER" | "COLD") || expected.kind == "hugePlan"
        };
        self.active_ms.len() == self.wall_ms.len() && !self.expect.iter().any(of_driver)
    }
}

/// Whether `TAG` or `TAG/type` is the finding's.
fn names(text: &str, finding: &Finding) -> bool {
    match text.split_once('/') {
        Some((tag, kind)) => finding.tag == tag && finding.kind == kind,
        None => finding.tag == text,
    }
}

#[derive(Debug, Deserialize)]
struct Expected {
    tag: String,
    #[serde(rename = "type")]
    kind: String,
    min_severity: Severity,
}

/// What became of one label.
struct Judged<'l> {
    label: &'l Label,
    diagnosis: Diagnosis,
    found: Vec<&'l Expected>,
    missed: Vec<&'l Expected>,
    false_findings: Vec<Finding>,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn detectors_keep_their_score_on_labelled_runs() {
    let text = std::fs::read_to_string(project().join("validation/labels.json")).unwrap();
    let labels: Vec<Label> = serde_json::from_str(&text).unwrap();
    let judged: Vec<Judged<'_>> = labels.iter().map(judge).collect();
    for one in &judged {
        assert_eq!(crate::checks::one_value(&one.diagnosis), Vec::<String>::new(), "{}", one.label.name);
        assert_eq!(crate::language::faults(&one.diagnosis), Vec::<String>::new(), "{}", one.label.name);
        for expected in &one.missed {
            println!("MISSED {}: {} {}", one.label.name, expected.tag, expected.kind);
        }
        for finding in &one.false_findings {
            println!(
                "FALSE  {}: {:?} {} {} {:?}",
                one.label.name, finding.severity, finding.kind, finding.title, finding.savings.wall_ms
            );
        }
    }
    let page = page(&judged);
    println!("{page}");
    let path = project().join("docs/validation.md");
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        committed, page,
        "docs/validation.md is not what the labelled runs give; EMBERSCOPE_UPDATE=1 writes it"
    );
    let on_controls: Vec<&str> = judged
        .iter()
        .filter(|one| one.label.role == "control" && !one.label.split.starts_with("blind"))
        .filter(|one| !one.false_findings.is_empty())
        .map(|one| one.label.name.as_str())
        .collect();
    assert!(on_controls.is_empty(), "findings on healthy controls: {on_controls:?}");
}

fn judge(label: &Label) -> Judged<'_> {
    let run = read_path(&project().join("validation").join(&label.log));
    let diagnosis = diagnose(&run, &Options::default());
    let is_found = |expected: &Expected| {
        diagnosis
            .findings
            .iter()
            .any(|finding| finding.kind == expected.kind && finding.severity >= expected.min_severity)
    };
    let (found, missed) = label.expect.iter().partition(|expected| is_found(expected));
    let is_allowed = |finding: &Finding| {
        label.expect.iter().any(|expected| expected.kind == finding.kind)
            || label.allow.iter().any(|allowed| names(allowed, finding))
    };
    let false_findings = diagnosis
        .findings
        .iter()
        .filter(|finding| {
            finding.severity >= Severity::Warning && (!is_allowed(finding) || label.is_forbidden(finding))
        })
        .cloned()
        .collect();
    Judged { label, diagnosis, found, missed, false_findings }
}

#[derive(Default)]
struct Score {
    expected: usize,
    found: usize,
    raised: usize,
    wrong: usize,
}

fn page(judged: &[Judged<'_>]) -> String {
    let mut page = String::from(
        "# Validation\n\nDetectors against labelled runs of real Spark (`validation/`). Made by the test `validation`, which fails \
         when this page is stale. Thresholds were first chosen by looking at the families marked *tune*. **Since then all runs \
         below have been looked at, also those marked *hold-out*, so that these tables say how well the detectors fit what \
         they were made for.** The families marked *blind* were written by somebody who did not know the detectors, and scored \
         once before anything was changed because of them: `validation/first-score.md` keeps that score, which is what to expect \
         on runs that nobody has seen. Those marked *blind-2* were written after that in the same way, and \
         `validation/second-score.md` keeps their first score. The tables below are of today's detectors.\n",
    );
    for split in ["tune", "hold-out", "blind", "blind-2"] {
        scores(&mut page, judged, split);
    }
    controls(&mut page, judged);
    pairs(&mut page, judged);
    page
}

/// Recall: labels that were found. Precision: findings of warning or higher that a label expects or allows,
/// on all runs, twins and controls included.
fn scores(page: &mut String, judged: &[Judged<'_>], split: &str) {
    let mut by_kind: BTreeMap<&str, Score> = BTreeMap::new();
    for one in judged.iter().filter(|one| one.label.split == split) {
        for expected in &one.label.expect {
            by_kind.entry(&expected.kind).or_default().expected += 1;
        }
        for expected in &one.found {
            by_kind.entry(&expected.kind).or_default().found += 1;
        }
        for finding in one.diagnosis.findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
            by_kind.entry(finding.kind).or_default().raised += 1;
        }
        for finding in &one.false_findings {
            by_kind.entry(finding.kind).or_default().wrong += 1;
        }
    }
    let runs = judged.iter().filter(|one| one.label.split == split).count();
    _ = write!(
        page,
        "\n## {split}: {runs} runs\n\n| type | labelled | found | recall | raised | false | precision |\n|---|--:|--:|--:|--:|--:|--:|\n"
    );
    let share = |part: usize, whole: usize| {
        if whole == 0 { "–".to_owned() } else { format!("{:.2}", part as f64 / whole as f64) }
    };
    let mut all = Score::default();
    for (kind, score) in &by_kind {
        all.expected += score.expected;
        all.found += score.found;
        all.raised += score.raised;
        all.wrong += score.wrong;
        _ = writeln!(
            page,
            "| {kind} | {} | {} | {} | {} | {} | {} |",
            score.expected,
            score.found,
            share(score.found, score.expected),
            score.raised,
            score.wrong,
            share(score.raised - score.wrong, score.raised)
        );
    }
    _ = writeln!(
        page,
        "| **all** | {} | {} | {} | {} | {} | {} |",
        all.expected,
        all.found,
        share(all.found, all.expected),
        all.raised,
        all.wrong,
        share(all.raised - all.wrong, all.raised)
    );
}

fn controls(page: &mut String, judged: &[Judged<'_>]) {
    let controls: Vec<&Judged<'_>> = judged.iter().filter(|one| one.label.role == "control").collect();
    let clean = controls.iter().filter(|one| one.false_findings.is_empty()).count();
    _ = write!(
        page,
        "\n## Healthy controls\n\n{clean} of {} have no finding of warning or higher.\n",
        controls.len()
    );
    for one in controls.iter().filter(|one| !one.false_findings.is_empty()) {
        for finding in &one.false_findings {
            _ = writeln!(page, "- {}: {} ({})", one.label.name, finding.title, finding.kind);
        }
    }
}

fn median(values: &[i64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let n = values.len();
    if n == 0 { 0.0 } else { (values[(n - 1) / 2] + values[n / 2]) as f64 / 2.0 }
}

/// Range of repeats over their median.
fn noise(values: &[i64]) -> f64 {
    let (Some(min), Some(max)) = (values.iter().min(), values.iter().max()) else { return 0.0 };
    (max - min) as f64 / median(values).max(1.0)
}

/// Measured and predicted saving of every pair whose repair saves wall time.
fn pairs(page: &mut String, judged: &[Judged<'_>]) {
    page.push_str(
        "\n## Predicted and measured savings\n\nMeasured: difference of the medians of both twins' repeats, from the first job on where start-up is not what the pair is about. Predicted: the range of the expected finding, or of that which it is a part of; where that is a fact without a price (`utilization`, `autoscalingChurn`), of those that the label allows as other words about the same cause. \
         *Hit*: the middle of the range is within 25 % or 1 s of what was measured. *Noise*: spread of the repeats over their median, the larger of both \
         twins; pairs above 10 % or without three repeats do not count.\n\n| pair | split | wall s | measured s | predicted s | noise | hit |\n|---|---|--:|--:|--:|--:|---|\n",
    );
    let (mut counted, mut hits, mut all, mut all_hits, mut more, mut less) = (0, 0, 0, 0, 0, 0);
    let mut errors: BTreeMap<&str, Vec<(f64, bool, bool)>> = BTreeMap::new();
    for bad in
        judged.iter().filter(|one| one.label.role == "bad" && one.label.saves.as_deref() == Some("wall"))
    {
        let Some(good) =
            bad.label.pair.as_ref().and_then(|pair| judged.iter().find(|one| one.label.name == *pair))
        else {
            continue;
        };
        let is_about_jobs = bad.label.is_about_jobs() && !good.label.active_ms.is_empty();
        let of = |label: &Label| if is_about_jobs { label.active_ms.clone() } else { label.wall_ms.clone() };
        let (bad_ms, good_ms) = (of(bad.label), of(good.label));
        let measured = median(&bad_ms) - median(&good_ms);
        let noise = noise(&bad_ms).max(noise(&good_ms));
        let findings = &bad.diagnosis.findings;
        // What is a part of another finding is mended with it.
        let mended = |is_meant: &dyn Fn(&Finding) -> bool| -> BTreeSet<&str> {
            let meant = findings.iter().filter(|finding| is_meant(finding));
            meant.map(|finding| finding.part_of.as_deref().unwrap_or(&finding.id)).collect()
        };
        let ranges_of = |mended: &BTreeSet<&str>| -> Vec<RangeMs> {
            let those = findings.iter().filter(|finding| mended.contains(finding.id.as_str()));
            those.filter_map(|finding| finding.savings.wall_ms).collect()
        };
        let expects =
            |finding: &Finding| bad.label.expect.iter().any(|expected| expected.kind == finding.kind);
        let allows = |finding: &Finding| bad.label.allow.iter().any(|allowed| names(allowed, finding));
        let mut ranges = ranges_of(&mended(&expects));
        if ranges.is_empty() {
            ranges = ranges_of(&mended(&allows));
        }
        // Findings of one type at several places are fixed together.
        let (low, high) = ranges.iter().fold((0, 0), |sum, range| (sum.0 + range.low, sum.1 + range.high));
        let middle = (low + high) as f64 / 2.0;
        let is_hit = (middle - measured).abs() <= (measured.abs() * 0.25).max(1000.0);
        let counts = noise <= 0.1 && bad_ms.len() >= 3 && good_ms.len() >= 3;
        counted += usize::from(counts);
        hits += usize::from(counts && is_hit);
        all += 1;
        all_hits += usize::from(is_hit);
        // The promise is the range: what was measured may lie above it, but should not lie below.
        less += usize::from(measured < low as f64 - 1000.0);
        more += usize::from(measured > high as f64 + 1000.0);
        for expected in &bad.label.expect {
            let error = (middle - measured) / measured.abs().max(1.0);
            errors.entry(&expected.kind).or_default().push((error, is_hit, counts));
        }
        let hit = match (counts, is_hit) {
            (true, true) => "yes",
            (true, false) => "no",
            (false, true) => "(yes)",
            (false, false) => "(no)",
        };
        _ = writeln!(
            page,
            "| {} | {} | {:.1} | {:.1} | {:.1} to {:.1} | {:.0} % | {hit} |",
            bad.label.name.replace("-bad-", " "),
            bad.label.split,
            median(&bad_ms) / 1000.0,
            measured / 1000.0,
            low as f64 / 1000.0,
            high as f64 / 1000.0,
            noise * 100.0
        );
    }
    _ = write!(
        page,
        "\n{hits} of {counted} pairs that count are hit. Of all {all}, whatever their noise and repeats, {all_hits} are; in {} the \
         measured saving lies within the predicted range or 1 s from it, in {more} more was saved and in {less} less.\n",
        all - more - less
    );
    saving_errors(page, &errors);
}

/// How far the middle of the range is from what was measured, by type: (error as a share of it, hit, counts).
fn saving_errors(page: &mut String, errors: &BTreeMap<&str, Vec<(f64, bool, bool)>>) {
    page.push_str(
        "\n## Error of savings by type\n\nMedian error: how far the middle of the predicted range is above (+) or below (-) what was \
         measured, as a share of that. Of the pairs that count, and of all.\n\n| type | count | hit | median error | all | hit | median error |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for (kind, pairs) in errors {
        let of = |only_counting: bool| {
            let chosen: Vec<_> = pairs.iter().filter(|(.., counts)| *counts || !only_counting).collect();
            let hits = chosen.iter().filter(|(_, is_hit, _)| *is_hit).count();
            let mut sorted: Vec<f64> = chosen.iter().map(|(error, ..)| *error).collect();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted.get((sorted.len().max(1) - 1) / 2).zip(sorted.get(sorted.len() / 2));
            let median = middle.map(|(one, other)| f64::midpoint(*one, *other));
            let median = median.map_or_else(|| "–".to_owned(), |error| format!("{:+.0} %", error * 100.0));
            format!("{} | {hits} | {median}", chosen.len())
        };
        _ = writeln!(page, "| {kind} | {} | {} |", of(true), of(false));
    }
}
