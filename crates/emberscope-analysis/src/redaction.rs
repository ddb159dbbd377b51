//! No secret of a log leaves in a diagnosis: every text that may quote the log is masked, once, for all
//! doors. Settings and plans are masked when a log is read; messages of failures, names and descriptions
//! are quoted by findings as they stand.

use crate::diagnosis::Diagnosis;
use crate::finding::{Change, Finding};
use emberscope_model::redact;
use serde_json::Value;
use std::borrow::Cow;

/// Masks all texts of a diagnosis.
pub(crate) fn mask(diagnosis: &mut Diagnosis) {
    let verdict = &mut diagnosis.verdict;
    text(&mut verdict.headline);
    verdict.actions.iter_mut().for_each(|action| text(&mut action.text));
    verdict.notes.iter_mut().for_each(text);
    diagnosis.findings.iter_mut().for_each(finding);
    for entry in &mut diagnosis.not_checked {
        text(&mut entry.reason);
    }
    diagnosis.attribution.groups.iter_mut().for_each(|group| text(&mut group.id));
}

fn finding(finding: &mut Finding) {
    text(&mut finding.title);
    text(&mut finding.recommendation.text);
    text(&mut finding.validate);
    finding.recommendation.changes.iter_mut().for_each(change);
    finding.evidence.values_mut().for_each(value);
}

fn change(change: &mut Change) {
    for value in [&mut change.current, &mut change.proposed].into_iter().flatten() {
        let masked = match redact::value(&change.key, value) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(kept) if kept != value.as_str() => kept.to_owned(),
            Cow::Borrowed(_) => continue,
        };
        *value = masked;
    }
}

fn value(evidence: &mut Value) {
    match evidence {
        Value::String(one) => text(one),
        Value::Array(items) => items.iter_mut().for_each(value),
        Value::Object(fields) => fields.values_mut().for_each(value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn text(text: &mut String) {
    if let Cow::Owned(masked) = redact::text(text) {
        *text = masked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{ChangeKind, Claim, Scope};

    #[test]
    fn secrets_are_masked_wherever_a_text_quotes_them() {
        let mut evidence = serde_json::json!({
            "reasons": ["spark.x.password=hunter2", 1], "more": {"deep": "s3://u:hunter2@b"}
        });
        value(&mut evidence);
        assert!(!evidence.to_string().contains("hunter2"), "{evidence}");
        let mut claim = Claim::new("failures", Scope::default(), "jdbc://a:hunter2@h failed");
        text(&mut claim.title);
        assert!(!claim.title.contains("hunter2"), "{}", claim.title);
        let mut secret = Change {
            kind: ChangeKind::Conf,
            key: "spark.ssl.keyPassword".to_owned(),
            current: Some("hunter2".to_owned()),
            proposed: None,
        };
        change(&mut secret);
        assert_ne!(secret.current.as_deref(), Some("hunter2"));
    }
}
