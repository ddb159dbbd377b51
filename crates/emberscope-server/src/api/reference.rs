//! `/reference` and `/reference/{tag}`: the tuning pages.

use super::failure::Failure;
use emberscope_analysis::reference::{self, Page};
use schemars::JsonSchema;
use serde::Serialize;

/// All pages of the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ReferenceIndex {
    /// Pages, in the order of the reference.
    pages: Vec<ReferenceEntry>,
    /// The index as Markdown, with what holds for all findings.
    markdown: String,
}

/// A page in the index.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ReferenceEntry {
    /// Tag.
    tag: &'static str,
    /// Title.
    title: &'static str,
    /// Types of findings it explains.
    types: Vec<ReferenceType>,
}

/// A type of finding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ReferenceType {
    /// Name.
    name: &'static str,
    /// What it says.
    what: &'static str,
}

/// A page of the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ReferencePage {
    /// Tag.
    tag: &'static str,
    /// Title.
    title: &'static str,
    /// Types of findings it explains; each is an anchor of the text.
    types: Vec<ReferenceType>,
    /// Text as Markdown, with anchors (`<a id=…>`).
    markdown: String,
}

fn types(page: &Page) -> Vec<ReferenceType> {
    page.types.iter().map(|kind| ReferenceType { name: kind.name, what: kind.what }).collect()
}

pub(super) fn index() -> ReferenceIndex {
    let entry = |page: &Page| ReferenceEntry { tag: page.tag, title: page.title, types: types(page) };
    ReferenceIndex { pages: reference::pages().iter().map(entry).collect(), markdown: reference::index() }
}

pub(super) fn one(tag: &str) -> Result<ReferencePage, Failure> {
    let page = reference::find(tag).ok_or_else(|| {
        Failure::not_found(format!("no page for `{tag}`"), "/api/emberscope/v1/reference lists the pages")
    })?;
    Ok(ReferencePage { tag: page.tag, title: page.title, types: types(&page), markdown: page.markdown })
}
