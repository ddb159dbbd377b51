//! How like a SQL text an execution must be to be taken for the one that is meant. Its thresholds are set like those
//! of detectors, under the tag `LOCATE`; what they act on is in `emberscope-evidence`.

use crate::detector::Threshold;

/// Score from which an execution is taken for the one that is meant.
pub const LIKELY_SHARE: Threshold = Threshold {
    tag: "LOCATE",
    name: "likely_share",
    default: 0.6,
    doc: "Likeness to the SQL text, of 1, from which an execution is taken for the one that is meant.",
};

/// Difference in score below which two executions are equally likely.
pub const MARGIN_SHARE: Threshold = Threshold {
    tag: "LOCATE",
    name: "margin_share",
    default: 0.05,
    doc: "Difference in likeness below which two executions are as likely, and time decides.",
};

/// What a likeness of structure counts beside one of text.
pub const STRUCTURE_SHARE: Threshold = Threshold {
    tag: "LOCATE",
    name: "structure_share",
    default: 0.94,
    doc: "What a plan counts that has all tables, columns and clauses of the text: less than 1, which is the very text.",
};

/// Shorter descriptions are call sites.
pub const SHORTEST_TEXT: Threshold = Threshold {
    tag: "LOCATE",
    name: "shortest_text",
    default: 15.0,
    doc: "Characters from which a description is compared with the text: shorter ones are call sites.",
};

/// Candidates that are listed.
pub const LISTED: Threshold = Threshold {
    tag: "LOCATE",
    name: "listed",
    default: 10.0,
    doc: "Candidates that are listed, the likeliest first.",
};

/// All of them.
pub const THRESHOLDS: &[Threshold] = &[LIKELY_SHARE, MARGIN_SHARE, STRUCTURE_SHARE, SHORTEST_TEXT, LISTED];
