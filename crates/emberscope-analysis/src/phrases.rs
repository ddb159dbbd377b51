//! A finding in words, the same at every door: place, saving, change, evidence.

use crate::attribution::{OperatorShare, OperatorSum, Part, Sum};
use crate::detector::NotChecked;
use crate::detectors::DETECTORS;
use crate::diagnosis::Diagnosis;
use crate::finding::{Change, ChangeKind, Finding, SavingMethod, Savings, Scope};
use crate::profile::{HotFrame, StageProfile};
use crate::verdict::between;
use crate::words::{byte_time, core_time, count, duration, grouped, share, size, times};
use serde_json::Value;

/// Elements of a list in evidence that are told; the rest is counted.
const LISTED: usize = 6;
/// Bytes from which a text in the evidence that the title holds too is not told twice.
const QUOTED: usize = 16;

/// `stage 14.0`, as Spark's own messages name a stage attempt.
pub fn stage(id: u32, attempt: u32) -> String {
    format!("stage {id}.{attempt}")
}

/// Where a finding holds, from the narrowest place to the widest; empty for the whole run.
pub fn place(scope: &Scope) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(id) = scope.stage_id {
        parts.push(match scope.stage_attempt {
            Some(attempt) => stage(id, attempt),
            None => format!("stage {id}"),
        });
    }
    parts.extend(scope.node_id.map(|id| format!("plan node {id}")));
    parts.extend(scope.sql_id.map(|id| format!("SQL {id}")));
    parts.extend(scope.job_id.map(|id| format!("job {id}")));
    parts.extend(scope.executor_id.as_ref().map(|id| format!("executor {id}")));
    parts
}

/// What is saved of the run's wall time: `21 min 00 s to 24 min 00 s`, `up to 3.0 s`; `None` where nothing
/// can be said or nothing is saved.
pub fn wall_saving(savings: &Savings) -> Option<String> {
    savings.wall_ms.filter(|range| range.high > 0).map(between)
}

/// What is saved where nothing else of its place is changed, if that is more than what the finding claims:
/// `6.4 s to 9.8 s alone`.
pub fn alone(finding: &Finding) -> Option<String> {
    finding.alone_ms.filter(|range| range.high > 0).map(|range| format!("{} alone", between(range)))
}

/// What is saved of core-time; `None` where nothing can be said or nothing is saved.
pub fn core_saving(savings: &Savings) -> Option<String> {
    savings.core_ms.filter(|ms| *ms >= 50).map(core_time)
}

/// How a saving was found.
pub fn method(method: SavingMethod) -> Option<&'static str> {
    match method {
        SavingMethod::Replay => Some("replayed"),
        SavingMethod::Measured => Some("measured"),
        SavingMethod::Modelled => Some("estimated"),
        SavingMethod::None => None,
    }
}

/// How sure a finding is, and how its saving was found.
pub fn sureness(finding: &Finding) -> Vec<String> {
    let mut parts = vec![format!("confidence {}", finding.confidence.name())];
    if wall_saving(&finding.savings).is_some()
        && let Some(method) = method(finding.savings.method)
    {
        parts.push(format!("saving {method}"));
    }
    parts
}

/// Where a change is made, if it is no setting.
pub fn change_kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Conf => "setting",
        ChangeKind::Code => "code",
        ChangeKind::Data => "data",
        ChangeKind::Resource => "cluster",
    }
}

/// `key: current → proposed`.
pub fn change(change: &Change) -> String {
    let kind = match change.kind {
        ChangeKind::Conf => String::new(),
        kind => format!("{}: ", change_kind(kind)),
    };
    let values = match (&change.current, &change.proposed) {
        (Some(current), Some(proposed)) => format!(": {current} → {proposed}"),
        (None, Some(proposed)) if change.kind == ChangeKind::Conf => format!(": (not set) → {proposed}"),
        (None, Some(proposed)) => format!(": {proposed}"),
        (Some(current), None) => format!(" (now {current})"),
        (None, None) => String::new(),
    };
    format!("{kind}{}{values}", change.key)
}

/// The settings that a finding proposes, as arguments of `spark-submit`, quoted for a shell.
pub fn submit_arguments(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Conf)
        .filter_map(|change| {
            // `(remove)` and the like say what to do; they are no values.
            let proposed = change.proposed.as_deref().filter(|value| !value.starts_with('('))?;
            let pair = format!("{}={proposed}", change.key);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=:/,+@%".contains(c);
            Some(if pair.chars().all(is_plain) {
                format!("--conf {pair}")
            } else {
                format!("--conf '{}'", pair.replace('\'', r"'\''"))
            })
        })
        .collect()
}

/// Checks that could not be made for the same want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked<'d> {
    /// Types of findings.
    pub kinds: Vec<&'static str>,
    /// What is missing.
    pub reason: &'d str,
    /// What would provide it.
    pub enable: Option<&'d str>,
}

/// Checks that could not be made, those with the same want together; the largest group first.
pub fn unchecked(entries: &[NotChecked]) -> Vec<Unchecked<'_>> {
    let mut groups: Vec<Unchecked<'_>> = Vec::new();
    for entry in entries {
        let enable = entry.enable.as_deref();
        let is_same = |group: &&mut Unchecked<'_>| group.reason == entry.reason && group.enable == enable;
        match groups.iter_mut().find(is_same) {
            Some(group) if group.kinds.contains(&entry.kind) => {}
            Some(group) => group.kinds.push(entry.kind),
            None => groups.push(Unchecked { kinds: vec![entry.kind], reason: &entry.reason, enable }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.kinds.len()));
    groups
}

/// The tags of checks that found nothing, each once; of a tag whose other checks found something, or could not
/// be made, the types.
pub fn clean_tags(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let unclean: Vec<&str> = diagnosis
        .findings
        .iter()
        .map(|finding| finding.kind)
        .chain(diagnosis.not_checked.iter().map(|entry| entry.kind))
        .collect();
    let is_whole = |tag: &str| {
        let own = DETECTORS.iter().filter(|detector| detector.tag == tag).flat_map(|detector| detector.types);
        own.into_iter().all(|kind| !unclean.contains(&kind.name))
    };
    let mut tags: Vec<&'static str> = Vec::new();
    for check in &diagnosis.clean_checks {
        let name = if is_whole(check.tag) { check.tag } else { check.kind };
        if !tags.contains(&name) {
            tags.push(name);
        }
    }
    tags
}

/// What all fixes save together, where there is more than one: `All fixes together save 3.0 s of 12.0 s.`
pub fn all_fixes(diagnosis: &Diagnosis) -> Option<String> {
    let range = diagnosis.verdict.fix_all.wall_ms.filter(|range| range.high > 0)?;
    let saves = |finding: &&Finding| finding.part_of.is_none() && wall_saving(&finding.savings).is_some();
    let fixes = diagnosis.findings.iter().filter(saves).count();
    let actions =
        diagnosis.verdict.actions.iter().filter(|action| wall_saving(&action.savings).is_some()).count();
    if fixes < 2 || actions == fixes && actions < 2 {
        return None;
    }
    let of = diagnosis.application.duration_ms.map_or_else(String::new, |ms| format!(" of {}", duration(ms)));
    Some(format!("All fixes together save {}{of}.", between(range)))
}

/// Parts of a sum down to `floor` of the whole, and what all others make together.
pub fn main_parts(sum: &Sum, floor: f64, most: usize) -> (Vec<(Part, i64)>, i64) {
    let total = sum.total_ms();
    let mut parts = sum.parts();
    let kept = parts.iter().take(most).take_while(|(_, ms)| *ms as f64 >= floor * total as f64).count();
    // One part alone needs as much room by its name as under another.
    let kept = if parts.len() == kept + 1 { parts.len() } else { kept };
    let rest = parts.drain(kept..).map(|(_, ms)| ms).sum();
    (parts, rest)
}

/// What the operators of queries took, largest first: `scan 41 %`. Empty where nothing is known of them.
pub fn operators(sum: &OperatorSum) -> Vec<String> {
    let share_of = |part: &OperatorShare| part.ms as f64 / sum.total_ms.max(1) as f64;
    let told = sum.parts.iter().filter(|part| share_of(part) >= 0.01);
    told.map(|part| format!("{} {}", operator_class(part.key), share(share_of(part)))).collect()
}

/// A class of operators as people read it.
fn operator_class(key: &str) -> String {
    match key {
        "other" => "projections, filters and other".to_owned(),
        "no_operator" => "stages outside the plan".to_owned(),
        key => key.replace('_', " "),
    }
}

/// The evidence of a finding as people read it; what is not known, and texts that the title quotes, are left out.
pub fn evidence_of(finding: &Finding) -> impl Iterator<Item = (String, String)> + '_ {
    let is_in_title = |value: &Value| {
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => return false,
        };
        let [text] = texts[..] else { return false };
        let quoted = text.trim_end_matches('…');
        quoted.len() >= QUOTED && finding.title.contains(quoted)
    };
    let told = finding.evidence.iter().filter(move |(_, value)| !value.is_null() && !is_in_title(value));
    told.map(|(name, value)| evidence(name, value))
}

/// What the frames of a stage are of: `hottest frames of 620 CPU samples`, `hottest frames of 136 samples, 72 % of
/// them waiting`.
pub fn profile_heading(profile: &StageProfile) -> String {
    let noun = if profile.event == "wall" { "sample" } else { "CPU sample" };
    let heading = format!("hottest frames of {}", count(usize::try_from(profile.samples).unwrap_or(0), noun));
    if profile.waiting_samples == 0 {
        return heading;
    }
    let waiting = share(profile.waiting_samples as f64 / profile.samples.max(1) as f64);
    format!("{heading}, {waiting} of them waiting")
}

/// The shares of a frame in which tasks ran: `67 % self, 68 % total`.
pub fn frame_shares(frame: &HotFrame) -> String {
    format!("{} self, {} total", share(frame.own_share), share(frame.total_share))
}

/// The share of a frame in which tasks waited: `67 % waiting`.
pub fn wait_share(frame: &HotFrame) -> String {
    format!("{} waiting", share(frame.own_share))
}

/// How far the frames of a stage can be trusted, a sentence each.
pub fn profile_cautions(profile: &StageProfile) -> Vec<String> {
    let missing = profile.executors_not_recorded;
    let not_recorded = (missing > 0).then(|| match missing {
        1 => "1 executor that ran some of its tasks was not recorded.".to_owned(),
        more => format!("{more} executors that ran some of its tasks were not recorded."),
    });
    not_recorded.into_iter().chain(profile.distortion.clone()).collect()
}

/// A piece of evidence as people read it: what it is, without its unit, and the value with it.
pub fn evidence(name: &str, value: &Value) -> (String, String) {
    let (stem, unit) = split_unit(name);
    (label(stem), shown(value, unit))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EvidenceUnit {
    Ms,
    CoreMs,
    ByteMs,
    Ns,
    Bytes,
    Ratio,
    Share,
    None,
}

fn split_unit(name: &str) -> (&str, EvidenceUnit) {
    use EvidenceUnit as U;
    let units = [("_core_ms", "_ms", U::CoreMs), ("_byte_ms", "_ms", U::ByteMs), ("_ms", "_ms", U::Ms)];
    let more = [
        ("_ns", "_ns", U::Ns),
        ("_bytes", "_bytes", U::Bytes),
        ("_ratio", "", U::Ratio),
        ("_share", "", U::Share),
    ];
    units
        .into_iter()
        .chain(more)
        .find(|(suffix, _, _)| name.ends_with(suffix))
        .map(|(_, cut, unit)| (name.strip_suffix(cut).unwrap_or(name), unit))
        // `bytes_a_task`
        .unwrap_or((name, if name.starts_with("bytes_") { U::Bytes } else { U::None }))
}

fn label(stem: &str) -> String {
    // Shares of the time beyond that of others, which is no share of the data.
    match stem {
        "data_share" => return "excess due to the data".to_owned(),
        "cause_share" => return "excess due to the cause".to_owned(),
        _ => {}
    }
    let mut words = stem.replace('_', " ");
    for (short, long) in
        [(" core", " core-time"), (" byte", " memory"), ("gc ", "GC "), ("cpu ", "CPU "), ("sql ", "SQL ")]
    {
        let applies = if short.starts_with(' ') { words.ends_with(short) } else { words.starts_with(short) };
        if applies {
            words = words.replacen(short, long, 1);
        }
    }
    words
}

fn shown(value: &Value, unit: EvidenceUnit) -> String {
    match value {
        Value::Null => "not measured".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => shown_number(number, unit),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let rest = items.len().saturating_sub(LISTED);
            let mut texts: Vec<String> = items.iter().take(LISTED).map(|item| shown(item, unit)).collect();
            if rest > 0 {
                texts.push(format!("and {} more", grouped(rest as i64)));
            }
            if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
        }
        Value::Object(fields) => {
            let texts: Vec<String> = fields
                .iter()
                .map(|(name, value)| evidence(name, value))
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            texts.join(" · ")
        }
    }
}

fn shown_number(number: &serde_json::Number, unit: EvidenceUnit) -> String {
    let float = number.as_f64().unwrap_or(0.0);
    let whole = number.as_i64().unwrap_or(float.round() as i64);
    match unit {
        EvidenceUnit::Ms => duration(whole),
        EvidenceUnit::CoreMs => core_time(whole),
        EvidenceUnit::ByteMs => byte_time(float),
        EvidenceUnit::Ns => duration((float / 1e6).round() as i64),
        EvidenceUnit::Bytes => size(whole),
        EvidenceUnit::Ratio => times(float),
        EvidenceUnit::Share => share(float),
        EvidenceUnit::None if number.is_f64() && float.fract() != 0.0 && float.abs() < 1000.0 => {
            format!("{float:.2}")
        }
        EvidenceUnit::None => grouped(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::RangeMs;
    use serde_json::json;

    #[test]
    fn evidence_reads_with_its_unit() {
        let cases = [
            ("longest_ms", json!(61_000), "longest", "1 min 01 s"),
            ("idle_core_ms", json!(1500), "idle core-time", "1.5 core-seconds"),
            ("held_byte_ms", json!(3.6e6 * 1073741824.0), "held memory", "1.0 GiB-hours"),
            ("read_bytes", json!(2048), "read", "2.0 KiB"),
            ("bytes_a_task", json!(503_060), "bytes a task", "491 KiB"),
            ("data_share", json!(1.0), "excess due to the data", "100 %"),
            ("bytes_ratio", json!(9863.3), "bytes ratio", "9,863 times"),
            ("records_ratio", json!(3.44), "records ratio", "3.4 times"),
            ("gc_share", json!(0.25), "GC share", "25 %"),
            ("write_ns", json!(2_000_000), "write", "2 ms"),
            ("tasks", json!(12_345), "tasks", "12,345"),
            ("pairs", json!(46_240_000.0), "pairs", "46,240,000"),
            ("mean_tasks", json!(2.345), "mean tasks", "2.35"),
            ("keys", json!(["a", "b"]), "keys", "a, b"),
            ("files", json!(null), "files", "not measured"),
            ("is_local", json!(true), "is local", "yes"),
            ("slowest", json!({"run_ms": 5, "host": "h"}), "slowest", "host h · run 5 ms"),
        ];
        for (name, value, label, text) in cases {
            assert_eq!(evidence(name, &value), (label.to_owned(), text.to_owned()), "{name}");
        }
        let many = json!([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(evidence("stages", &many).1, "1, 2, 3, 4, 5, 6, and 2 more");
    }

    #[test]
    fn changes() {
        let conf = |current: Option<&str>, proposed: &str| Change {
            kind: ChangeKind::Conf,
            key: "spark.x".to_owned(),
            current: current.map(str::to_owned),
            proposed: Some(proposed.to_owned()),
        };
        assert_eq!(change(&conf(Some("1"), "2")), "spark.x: 1 → 2");
        assert_eq!(change(&conf(None, "2")), "spark.x: (not set) → 2");
        assert_eq!(change(&Change::code("join", "salt the key")), "code: join: salt the key");
        let changes =
            [conf(None, "2g"), conf(Some("1"), "(remove)"), conf(None, "it's $x"), Change::code("a", "b")];
        assert_eq!(
            submit_arguments(&changes),
            ["--conf spark.x=2g".to_owned(), r"--conf 'spark.x=it'\''s $x'".to_owned()]
        );
    }

    #[test]
    fn places_and_savings() {
        let scope = Scope { stage_id: Some(14), stage_attempt: Some(1), sql_id: Some(4), ..Scope::default() };
        assert_eq!(place(&scope), ["stage 14.1", "SQL 4"]);
        assert!(place(&Scope::default()).is_empty());
        let of = |low, high| Savings {
            wall_ms: Some(RangeMs { low, high }),
            core_ms: Some(0),
            method: SavingMethod::Replay,
        };
        assert_eq!(wall_saving(&of(1000, 2000)).as_deref(), Some("1.0 s to 2.0 s"));
        assert_eq!(wall_saving(&of(0, 2000)).as_deref(), Some("up to 2.0 s"));
        assert_eq!(wall_saving(&of(0, 0)), None);
        assert_eq!(core_saving(&of(0, 0)), None);
    }
}
