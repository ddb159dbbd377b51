//! The reference: one page for each tag, made from the definitions of its detectors.

use crate::detector::{Detector, FindingType, Threshold};
use crate::detectors::DETECTORS;
use crate::{locating, materiality};
use std::fmt::Write;

/// Where the pages are kept in the repository.
pub const DIRECTORY: &str = "docs/reference";

const GENERATED: &str = "<!-- Generated from the detectors' definitions: \
`EMBERSCOPE_UPDATE=1 cargo test -p emberscope-analysis reference`. -->";

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Tag of its detectors.
    pub tag: &'static str,
    /// Title.
    pub title: &'static str,
    /// Types of findings it explains; each is an anchor.
    pub types: Vec<FindingType>,
    /// Markdown.
    pub markdown: String,
}

/// All tags, in the order of the reference.
pub fn tags() -> Vec<&'static str> {
    tags_of(DETECTORS)
}

/// All pages, in the order of the reference.
pub fn pages() -> Vec<Page> {
    pages_of(DETECTORS)
}

/// The page for a tag, a type, the `doc` of a finding (`TAG#type`) or its id (`TAG-0123456789ab`), in whatever case.
pub fn find(name: &str) -> Option<Page> {
    let (tag, kind) = name.split_once('#').map_or((name, None), |(tag, kind)| (tag, Some(kind)));
    let has = |page: &Page, kind: &str| page.types.iter().any(|known| known.name.eq_ignore_ascii_case(kind));
    // An id of a finding is its tag and a hash, with a number where there are several.
    let is_hash = |rest: &str| rest.len() >= 12 && rest.chars().all(|c| c.is_ascii_hexdigit() || c == '.');
    let tag = tag.split_once('-').filter(|(_, rest)| is_hash(rest)).map_or(tag, |(tag, _)| tag);
    pages().into_iter().find(|page| match kind {
        Some(kind) => page.tag.eq_ignore_ascii_case(tag) && has(page, kind),
        None => page.tag.eq_ignore_ascii_case(tag) || has(page, tag),
    })
}

/// The page that lists all others, and what holds for all.
pub fn index() -> String {
    index_of(&pages())
}

/// Tags of some detectors, each once.
fn tags_of(detectors: &[&'static Detector]) -> Vec<&'static str> {
    let mut tags: Vec<&'static str> = Vec::new();
    for detector in detectors {
        if !tags.contains(&detector.tag) {
            tags.push(detector.tag);
        }
    }
    tags
}

fn pages_of(detectors: &[&'static Detector]) -> Vec<Page> {
    tags_of(detectors)
        .into_iter()
        .map(|tag| {
            let own: Vec<&Detector> =
                detectors.iter().filter(|detector| detector.tag == tag).copied().collect();
            Page {
                tag,
                title: title_of(&own),
                types: own.iter().flat_map(|detector| detector.types).copied().collect(),
                markdown: page(&own),
            }
        })
        .collect()
}

/// Titles of pages that several detectors share.
const SHARED_TITLES: [(&str, &str); 1] = [("PLAN", "What the plans of queries show")];

fn title_of(detectors: &[&Detector]) -> &'static str {
    let first = detectors[0];
    let shared = SHARED_TITLES.iter().find(|(tag, _)| *tag == first.tag && detectors.len() > 1);
    shared.map_or(first.title, |(_, title)| title)
}

fn page(detectors: &[&Detector]) -> String {
    let first = detectors[0];
    let mut out = format!("# {}: {}\n\n{GENERATED}\n", first.tag, title_of(detectors));
    if detectors.len() > 1 {
        out.push('\n');
        for detector in detectors {
            let anchor = detector.types.first().map_or("", |kind| kind.name);
            let _ = writeln!(out, "- [{}]({}.md#{anchor})", detector.title, detector.tag);
        }
    }
    for detector in detectors {
        if detectors.len() > 1 {
            let _ = write!(out, "\n# {}\n", detector.title);
        }
        for kind in detector.types {
            // GitHub makes small letters of a heading's anchor, so that one is written out.
            let _ = write!(out, "\n<a id=\"{}\"></a>\n\n**`{}`**: {}\n", kind.name, kind.name, kind.what);
        }
        section(&mut out, "What it means", detector.what);
        section(&mut out, "When it is said", detector.rule);
        thresholds(&mut out, detector.thresholds);
        section(&mut out, "Why it costs time", detector.why);
        section(&mut out, "What to do", detector.fix);
        section(&mut out, "What it cannot see", detector.limits);
    }
    out
}

fn section(out: &mut String, title: &str, body: &str) {
    if !body.trim().is_empty() {
        let _ = write!(out, "\n## {title}\n\n{}\n", body.trim());
    }
}

fn thresholds(out: &mut String, thresholds: &[Threshold]) {
    let Some(first) = thresholds.first() else { return };
    out.push_str("\n## Thresholds\n\n| name | default | |\n|---|---:|---|\n");
    for threshold in thresholds {
        let doc = threshold.doc.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} | {doc} |", threshold.name, threshold.default);
    }
    let example = format!("[{}]\n{} = {}", first.tag, first.name, first.default);
    let _ = write!(out, "\nSet them in a file for `--thresholds FILE`:\n\n```toml\n{example}\n```\n");
}

fn index_of(pages: &[Page]) -> String {
    let mut out = format!(
        "# Findings\n\n{GENERATED}\n\n\
         What `emberscope diagnose` can find. `emberscope docs TAG` prints a page on the terminal.\n\n\
         | tag | finding | says |\n|---|---|---|\n"
    );
    for page in pages {
        for kind in &page.types {
            let (tag, name, what) = (page.tag, kind.name, kind.what.replace('|', "\\|"));
            let _ = writeln!(out, "| [{tag}]({tag}.md) | [`{name}`]({tag}.md#{name}) | {what} |");
        }
    }
    out.push_str(
        "\n## What holds for all\n\n\
         A finding is *critical* where its fix saves at least `RUN.critical_share` of the run's wall time, a \
         *warning* from `RUN.floor_share` on, else *info*. What claims less than that, or less than `RUN.floor_ms`, \
         is not said. Failures have a severity of their own: a failed job or stage is critical, one that was made \
         good a warning. Facts about resources, which would not make the run shorter, are info.\n\n\
         Savings come from replaying the run task by task with the fix applied, pessimistically for the low end \
         and optimistically for the high one. Replayed without a change, the run must come out as it was: where \
         it is more than 15 % off, savings are only estimates and their low end is 0.\n",
    );
    thresholds(&mut out, materiality::THRESHOLDS);
    out.push_str(
        "\n## Which execution is meant\n\n\
         `diagnose --sql-file FILE [--submitted-at TIME]` looks for the execution whose description is the text, or \
         else whose plan has its tables, columns and clauses. Of several that are as likely the nearest in time is \
         taken, or the newest with this very text; else they are listed.\n",
    );
    thresholds(&mut out, locating::THRESHOLDS);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIRST: Detector = Detector {
        tag: "TEST",
        title: "A test",
        types: &[FindingType { name: "firstThing", what: "A | B." }],
        thresholds: &[Threshold { tag: "TEST", name: "ratio", default: 2.5, doc: "Times." }],
        checks: &[],
        what: "What.",
        rule: "Rule.",
        why: "Why.",
        fix: "Fix.",
        limits: "",
    };
    static SECOND: Detector = Detector {
        tag: "TEST",
        title: "Another test",
        types: &[FindingType { name: "secondThing", what: "C." }],
        thresholds: &[],
        checks: &[],
        what: "More.",
        rule: "",
        why: "",
        fix: "",
        limits: "",
    };

    #[test]
    fn detectors_of_one_tag_share_a_page() {
        let pages = pages_of(&[&FIRST, &SECOND]);
        assert_eq!(pages.len(), 1);
        let text = &pages[0].markdown;
        assert!(text.starts_with("# TEST: A test\n"), "{text}");
        for part in [
            "<a id=\"firstThing\"></a>",
            "<a id=\"secondThing\"></a>",
            "## When it is said\n\nRule.",
            "| `ratio` | 2.5 | Times. |",
            "[TEST]\nratio = 2.5",
            "- [Another test](TEST.md#secondThing)",
            "# A test",
            "# Another test",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("cannot see"), "a section without text is left out: {text}");
        let index = index_of(&pages);
        assert!(
            index.contains("| [TEST](TEST.md) | [`firstThing`](TEST.md#firstThing) | A \\| B. |"),
            "{index}"
        );
        assert!(index.contains("| `floor_share` | 0.005 |"), "{index}");
    }

    #[test]
    fn every_finding_leads_to_a_page() {
        for detector in DETECTORS {
            for kind in detector.types {
                let doc = format!("{}#{}", detector.tag, kind.name);
                let page = find(&doc).unwrap_or_else(|| panic!("{doc} leads nowhere"));
                assert!(page.markdown.contains(&format!("<a id=\"{}\"></a>", kind.name)), "{doc}");
                assert!(find(kind.name).is_some() && find(&detector.tag.to_lowercase()).is_some());
            }
        }
        assert!(find("NOSUCH").is_none() && find("RUN#nosuch").is_none());
    }
}
