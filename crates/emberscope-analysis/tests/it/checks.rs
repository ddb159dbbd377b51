//! What must hold of every diagnosis of every log, checked by machine.

use crate::made::{Made, every_log, task};
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose};
use emberscope_analysis::finding::{ChangeKind, Finding, Severity};
use emberscope_analysis::phrases;
use emberscope_model::run::Run;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_diagnosis_keeps_the_rules() {
    let mut by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for (name, run) in every_log() {
        let diagnosis = diagnose(&run, &Options::default());
        let mut fault = |what: String| faults.push(format!("{name}: {what}"));
        savings(&run, &diagnosis, &mut fault);
        headlines(&diagnosis, &mut fault);
        changes(&run, &diagnosis, &mut fault);
        one_value(&diagnosis).into_iter().for_each(&mut fault);
        texts(&diagnosis, &mut fault);
        crate::language::faults(&diagnosis).into_iter().for_each(&mut fault);
        checks(&diagnosis, &mut fault);
        println!("== {name} {:?} {}", run.application.duration_ms(), diagnosis.verdict.headline);
        for finding in &diagnosis.findings {
            *by_kind.entry(finding.kind).or_default() += 1;
            println!(
                "   {:?} {} {} {:?} {:?}{}",
                finding.severity,
                finding.id,
                finding.title,
                finding.savings.wall_ms.map(|range| (range.low, range.high)),
                finding.savings.core_ms,
                if finding.part_of.is_some() { " (part)" } else { "" }
            );
        }
    }
    println!("{by_kind:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// No second is claimed twice, and severity follows from what is saved.
fn savings(run: &Run, diagnosis: &Diagnosis, fault: &mut dyn FnMut(String)) {
    let wall = run.application.duration_ms().unwrap_or(i64::MAX);
    let ranges = || diagnosis.findings.iter().filter_map(|finding| finding.savings.wall_ms);
    let sum: i64 = ranges().map(|range| range.high).sum();
    if sum > wall {
        fault(format!("savings of {sum} ms in a run of {wall} ms"));
    }
    if ranges().any(|range| range.low < 0 || range.low > range.high) {
        fault("a saving is no range".to_owned());
    }
    if let Some(all) = diagnosis.verdict.fix_all.wall_ms
        && all.high > wall
    {
        fault(format!("all fixes save {} of {wall} ms", all.high));
    }
    for finding in &diagnosis.findings {
        let is_failure =
            matches!(finding.tag, "FAIL" | "SFAIL" | "RETRY" | "SPEC" | "JOBS" | "INCMP" | "DRIFT");
        let at_most = match finding.savings.wall_ms {
            Some(range) if range.high as f64 >= wall as f64 * 0.02 => Severity::Critical,
            Some(range) if range.high as f64 >= wall as f64 * 0.005 => Severity::Warning,
            _ => Severity::Info,
        };
        if !is_failure && finding.severity > at_most {
            fault(format!("{} is {:?} for {:?}", finding.id, finding.severity, finding.savings.wall_ms));
        }
    }
}

/// One headline for each stage attempt.
fn headlines(diagnosis: &Diagnosis, fault: &mut dyn FnMut(String)) {
    let mut seen: BTreeSet<(Option<u32>, Option<u32>)> = BTreeSet::new();
    for finding in diagnosis.findings.iter().filter(|finding| finding.part_of.is_none()) {
        let place = (finding.scope.stage_id, finding.scope.stage_attempt);
        if place.0.is_some() && !seen.insert(place) {
            fault(format!("two headlines at stage {place:?}: {}", finding.id));
        }
    }
    let ids: BTreeSet<&str> = diagnosis.findings.iter().map(|finding| finding.id.as_str()).collect();
    if ids.len() < diagnosis.findings.len() {
        fault("two findings have one id".to_owned());
    }
    for finding in &diagnosis.findings {
        for other in finding.related.iter().chain(&finding.part_of) {
            if !ids.contains(other.as_str()) || *other == finding.id {
                fault(format!("{} names {other}", finding.id));
            }
        }
    }
}

/// Nothing is proposed that is in force.
fn changes(run: &Run, diagnosis: &Diagnosis, fault: &mut dyn FnMut(String)) {
    for finding in &diagnosis.findings {
        for change in finding.recommendation.changes.iter().filter(|change| change.kind == ChangeKind::Conf) {
            if change.proposed.is_some() && change.proposed == change.current {
                fault(format!("{} proposes {} as it is", finding.id, change.key));
            }
            let of_query =
                finding.scope.sql_id.and_then(|id| run.sql_execution(id)?.modified_configs.get(&change.key));
            let set = of_query.map(String::as_str).or_else(|| run.spark_property(&change.key));
            if set.is_some() && set == change.proposed.as_deref() {
                fault(format!("{} proposes {} as it is set", finding.id, change.key));
            }
        }
    }
}

/// Settings for which a diagnosis proposes two values.
pub(crate) fn one_value(diagnosis: &Diagnosis) -> Vec<String> {
    let mut proposed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let changes = diagnosis.findings.iter().flat_map(|finding| &finding.recommendation.changes);
    for change in changes.filter(|change| change.kind == ChangeKind::Conf) {
        proposed.entry(&change.key).or_default().extend(change.proposed.as_deref());
    }
    proposed.retain(|_, values| values.len() > 1);
    proposed.into_iter().map(|(key, values)| format!("{key} is to be {values:?}")).collect()
}

/// A finding can be read and checked.
fn texts(diagnosis: &Diagnosis, fault: &mut dyn FnMut(String)) {
    let has_text = |finding: &Finding| {
        !finding.title.trim().is_empty()
            && !finding.recommendation.text.trim().is_empty()
            && !finding.validate.trim().is_empty()
            && !finding.evidence.is_empty()
    };
    for finding in diagnosis.findings.iter().filter(|finding| !has_text(finding)) {
        fault(format!("{} lacks title, advice, check or evidence", finding.id));
    }
}

/// A type is found, clean or not checked, and never both clean and something else.
fn checks(diagnosis: &Diagnosis, fault: &mut dyn FnMut(String)) {
    for clean in &diagnosis.clean_checks {
        if diagnosis.findings.iter().any(|finding| finding.kind == clean.kind)
            || diagnosis.not_checked.iter().any(|entry| entry.kind == clean.kind)
        {
            fault(format!("{} is called clean and is not", clean.kind));
        }
    }
}

#[test]
fn a_run_without_tasks_is_not_clean() {
    for name in ["empty-3.5.9", "empty-4.3.0"] {
        let diagnosis = diagnose(&crate::made::fixture(name), &Options::default());
        let clean: BTreeSet<&str> = diagnosis.clean_checks.iter().map(|check| check.tag).collect();
        assert!(clean.is_subset(&BTreeSet::from(["CFG", "DRIFT", "INCMP", "JOBS", "SFAIL"])), "{clean:?}");
    }
}

#[test]
fn one_fix_is_not_all_fixes() {
    let diagnosis = diagnose(&skewed().run(), &Options::default());
    let whole =
        diagnosis.findings.iter().filter(|one| one.part_of.is_none() && one.savings.wall_ms.is_some());
    assert_eq!(whole.count(), 1, "{:?}", diagnosis.findings);
    assert_eq!(phrases::all_fixes(&diagnosis), None);
}

#[test]
fn a_tag_is_clean_as_a_whole_or_by_its_types() {
    let log = "../../validation/logs/plan-missing-pushdown-bad-4.3.0.zst";
    let run = crate::made::read_path(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(log));
    let tags = phrases::clean_tags(&diagnose(&run, &Options::default()));
    assert!(!tags.contains(&"PLAN") && !tags.contains(&"missingPushdown"), "{tags:?}");
    assert!(tags.contains(&"smallFiles") && tags.contains(&"SKEW"), "{tags:?}");
}

/// A stage of 16 tasks with a hot key, after a quiet one.
fn skewed() -> Made {
    let even = |n: usize| (0..n).map(|_| task(500).shuffle_read(1 << 20, 10_000)).collect::<Vec<_>>();
    let mut made = Made::new("3.5.1", 2, 4, &[]);
    made.job(None, &[even(16)]);
    let mut hot = even(15);
    hot.push(task(12_000).shuffle_read(30 << 20, 400_000));
    made.job(None, &[hot]);
    made
}

#[test]
fn what_was_not_looked_at_is_not_called_clean() {
    let run = skewed().run();
    let whole = diagnose(&run, &Options::default());
    assert!(whole.findings.iter().any(|finding| finding.kind == "skew"), "{}", whole.verdict.headline);
    let stage = diagnose(&run, &Options { stage: Some((0, None)), ..Options::default() });
    assert!(stage.verdict.headline.starts_with("Only stage 0: "), "{}", stage.verdict.headline);
    assert!(stage.findings.is_empty() && stage.clean_checks.is_empty());
    let only = diagnose(&run, &Options { only: vec!["gc".to_owned()], ..Options::default() });
    assert!(only.verdict.headline.starts_with("Only the checks GC: "), "{}", only.verdict.headline);
    assert!(only.clean_checks.iter().all(|check| check.tag == "GC"));
}

#[test]
fn a_log_without_its_task_ends_is_not_clean() {
    let run = skewed().cut_after(40).run();
    let coverage = run.trust.coverage.ratio.unwrap();
    let diagnosis = diagnose(&run, &Options::default());
    let said = |kind: &str| diagnosis.not_checked.iter().find(|entry| entry.kind == kind);
    assert!(coverage < 0.99, "{coverage}");
    let skew = said("skew").unwrap();
    assert!(skew.reason.contains("task ends are not in the log"), "{}", skew.reason);
    assert!(diagnosis.clean_checks.iter().all(|check| check.kind != "skew"));
}
