//! What holds for all detectors of stages, on real logs.

use crate::made::{fixture, said};
use emberscope_analysis::detectors::DETECTORS;
use emberscope_analysis::finding::Claim;

/// Tags of the detectors of stages.
const TAGS: [&str; 14] = [
    "SKEW", "STRAG", "SHAPE", "SHFL", "PART", "SPILL", "GC", "SLOW", "HOST", "TINY", "FAIL", "SFAIL",
    "RETRY", "SPEC",
];

#[test]
fn healthy_logs_are_left_alone() {
    for name in [
        "cache-3.5.9",
        "cache-4.3.0",
        "codec-zstd-3.5.9",
        "empty-4.3.0",
        "killed-plain-3.5.9",
        "lean-4.3.0",
        "nested-sql-4.3.0",
        "python-udf-4.3.0",
        "rdd-4.3.0",
        "resource-profiles-4.3.0",
        "rolled-compacted-4.3.0",
        "shared-4.3.0",
        "sql-aqe-3.4.4",
        "sql-aqe-3.5.9",
        "sql-aqe-4.3.0",
        "sql-noaqe-3.4.4",
        "sql-noaqe-4.3.0",
    ] {
        let run = fixture(name);
        for tag in TAGS {
            let sink = said(&run, tag);
            assert!(sink.claims().is_empty(), "{name}: {tag}: {:?}", sink.claims());
        }
    }
}

#[test]
fn claims_are_whole() {
    for name in ["executor-loss-3.5.9", "failures-4.3.0", "spill-4.3.0", "streaming-4.3.0", "barrier-4.3.0"] {
        let run = fixture(name);
        for tag in TAGS {
            for claim in said(&run, tag).claims() {
                assert!(is_whole(claim), "{name}: {claim:?}");
                let detector = DETECTORS.iter().find(|detector| detector.tag == tag).unwrap();
                assert!(detector.types.iter().any(|kind| kind.name == claim.kind), "{name}: {claim:?}");
            }
        }
    }
}

fn is_whole(claim: &Claim) -> bool {
    let is_line = !claim.title.is_empty() && !claim.title.contains('\n');
    is_line
        && !claim.evidence.is_empty()
        && !claim.recommendation.text.is_empty()
        && !claim.validate.is_empty()
}

#[test]
fn detectors_are_documented() {
    for detector in DETECTORS.iter().filter(|detector| TAGS.contains(&detector.tag)) {
        for (part, text) in [
            ("what", detector.what),
            ("rule", detector.rule),
            ("why", detector.why),
            ("fix", detector.fix),
            ("limits", detector.limits),
        ] {
            assert!(text.len() > 60, "{}: {part}", detector.tag);
        }
        assert!(
            detector.fix.contains("```sql") && detector.fix.contains("```python"),
            "{}: examples",
            detector.tag
        );
        for threshold in detector.thresholds {
            assert_eq!(threshold.tag, detector.tag, "{}", threshold.name);
        }
    }
}
