//! Structure and safety of the page.
//!
//! `EMBERSCOPE_PAGE=FILE` keeps the page, to look at.

use crate::made::{HOSTILE, diagnosis};
use crate::plots::plots;
use base64::Engine;
use emberscope_analysis::plots::Plots;
use emberscope_html::{TrustWords, page};
use sha2::{Digest, Sha256};

fn trust() -> TrustWords {
    TrustWords {
        is_good: true,
        verdict: "complete".to_owned(),
        read: vec!["1 file".to_owned(), "zstd 1.2 GiB".to_owned(), "412,887 lines".to_owned()],
        concerns: vec![HOSTILE.to_owned()],
    }
}

fn made() -> String {
    let html = page(&diagnosis(), &plots(), &trust());
    if let Some(path) = std::env::var_os("EMBERSCOPE_PAGE") {
        std::fs::write(path, &html).unwrap();
    }
    html
}

/// What stands between two texts.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    let end = text[start..].find(to).unwrap_or_else(|| panic!("no {to}")) + start;
    &text[start..end]
}

#[test]
fn everything_has_its_place() {
    let html = made();
    let parts = [
        "<title>nightly-orders · Emberscope</title>",
        "fixing it saves <b>about 21 min 00 s to 24 min 00 s of 52 min 14 s</b>",
        "Wall time<span>52 min 14 s</span>",
        "class=\"p-idle_tail\"",
        "Do this first <span>3 of 6 findings. All fixes together save 26 min 00 s to 31 min 00 s of 52 min 14 s.</span>",
        "id=\"SKEW-0123456789ab\"",
        "data-copy=\"--conf spark.dynamicAllocation.minExecutors=4\"",
        "<s>5.0</s> → <b>2.0</b>",
        "Also found",
        "frees 11 core-hours",
        "<h2>Timeline",
        "3 short stage attempts not drawn",
        "<a href=\"#SKEW-0123456789ab\"><g><title>stage 14.0",
        "Longest of 200 tasks: task 3121",
        "<b>3 clean</b>",
        "<code>spark.eventLog.logStageExecutorMetrics=true</code> would tell",
        "SKEW.ratio",
        "412,887 lines",
    ];
    for part in parts {
        assert!(html.contains(part), "{part}");
    }
    let first = html.find("id=\"SKEW-0123456789ab\"").unwrap();
    let other = html.find("id=\"SPILL-00000000000b\"").unwrap();
    assert!(first < other && html.matches("<article").count() == 6);
    assert_eq!(html.matches("The tasks of stage 14.0").count(), 1, "drawn once, with the first finding");
}

#[test]
fn links_lead_somewhere_within_the_page() {
    let html = made();
    for link in html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let id = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leaves the page"));
        assert!(html.contains(&format!("id=\"{id}\"")), "{link}");
    }
}

#[test]
fn only_the_pages_own_style_and_script_may_run() {
    let html = made();
    let policy = between(&html, "Content-Security-Policy\" content=\"", "\"");
    let hash = |content: &str| {
        format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(content)))
    };
    let (style, script) = (between(&html, "<style>", "</style>"), between(&html, "<script>", "</script>"));
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    );
    assert_eq!(policy, expected);
    assert!(!html.contains(" style="), "the policy would drop it");
    assert!(!html.contains("http://") && !html.contains("https://"), "no network");
}

#[test]
fn texts_of_a_log_stay_text() {
    let html = made();
    assert!(!html.contains("<img") && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
    assert_eq!(html.matches("</script>").count(), 2, "the data's and the script's own");
    assert_eq!(html.matches("<script").count(), 2);
    let data = between(&html, "id=\"diagnosis\">", "</script>");
    let back: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(back, serde_json::to_value(diagnosis()).unwrap());
}

#[test]
fn every_part_of_time_has_a_colour() {
    let style = include_str!("../../src/style.css");
    for part in emberscope_analysis::attribution::PARTS {
        assert!(style.contains(&format!(".p-{}{{fill:", part.key)), "{}", part.key);
    }
}

#[test]
fn a_run_of_which_nothing_is_known_has_a_page() {
    let mut bare = diagnosis();
    bare.findings.clear();
    bare.verdict.actions.clear();
    bare.verdict.headline = "No task has ended in this log, so there is nothing to judge".to_owned();
    bare.attribution.wall = Default::default();
    bare.attribution.core = Default::default();
    (bare.attribution.sql, bare.attribution.stages) = (Vec::new(), Vec::new());
    bare.application.name = None;
    bare.application.duration_ms = None;
    let html = page(&bare, &Plots::default(), &TrustWords::default());
    assert!(html.contains("nothing to judge.") && !html.contains("NaN") && !html.contains("Timeline"));
}
