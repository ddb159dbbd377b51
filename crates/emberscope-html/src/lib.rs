//! A diagnosis as one page: a file to mail, to attach, to print.
//!
//! The page needs no network and no server, holds no script but its own (by hash, in a content security
//! policy), and every text of a log in it is text. It reads in dark and light, on a desk and on a phone,
//! and without scripts. All that it shows is in the diagnosis and its [`Plots`]; nothing is computed here
//! but places on the page. The diagnosis itself travels along as JSON.

mod bars;
mod card;
pub mod escape;
mod evidence;
mod flame;
mod frame;
mod histogram;
mod sections;
mod timeline;

use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::plots::Plots;
use emberscope_evidence::sections::Section;
pub use flame::flame_page;
pub use frame::{BASE, policy};
use schemars::JsonSchema;
use serde::Serialize;

/// How far the numbers can be trusted, in words.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct TrustWords {
    /// Whether all is well.
    pub is_good: bool,
    /// That in a word or two.
    pub verdict: String,
    /// What was read.
    pub read: Vec<String>,
    /// Everything that is not as it should be.
    pub concerns: Vec<String>,
}

/// The page.
pub fn page(diagnosis: &Diagnosis, plots: &Plots, trust: &TrustWords) -> String {
    document(diagnosis, plots, trust, &[], String::new())
}

/// The page with the parts of an evidence report before everything else.
pub fn page_with(diagnosis: &Diagnosis, plots: &Plots, trust: &TrustWords, parts: &[Section]) -> String {
    document(diagnosis, plots, trust, parts, String::new())
}

/// The page as a server shows it: with a way back to `back`, which is called `name`.
pub fn page_with_way_back(
    diagnosis: &Diagnosis,
    plots: &Plots,
    trust: &TrustWords,
    back: &str,
    name: &str,
) -> String {
    let link = format!(
        "<nav class=\"back\"><a href=\"{}\">← {}</a></nav>\n",
        escape::text(back),
        escape::text(name)
    );
    document(diagnosis, plots, trust, &[], link)
}

fn document(
    diagnosis: &Diagnosis,
    plots: &Plots,
    trust: &TrustWords,
    parts: &[Section],
    mut body: String,
) -> String {
    sections::top(&mut body, diagnosis, plots);
    evidence::parts(&mut body, parts);
    sections::verdict(&mut body, diagnosis);
    sections::attribution(&mut body, diagnosis);
    sections::findings(&mut body, diagnosis, plots);
    timeline::section(&mut body, &plots.timeline);
    sections::scopes(&mut body, diagnosis, plots);
    sections::checks(&mut body, diagnosis);
    sections::trust(&mut body, trust);
    frame::document(diagnosis, &body)
}
