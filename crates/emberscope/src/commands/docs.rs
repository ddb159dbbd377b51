//! `emberscope docs`: the reference of findings, offline.

use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::render;
use emberscope_analysis::reference;

/// Runs the command.
pub(crate) fn run(name: Option<&str>) -> anyhow::Result<Exit> {
    let page = match name {
        None => reference::index(),
        // What holds for all findings, as thresholds call it.
        Some(name) if ["RUN", "LOCATE"].iter().any(|tag| name.eq_ignore_ascii_case(tag)) => {
            reference::index()
        }
        Some(name) => match reference::find(name) {
            Some(page) => page.markdown,
            None => {
                let message = format!("no page is called `{}`", crate::format::plain(name));
                let hint = format!("known are {}", reference::tags().join(", "));
                return Err(UsageError::new(message, hint).into());
            }
        },
    };
    let mut output = Output::open(None)?;
    let text = render::reference::text(&page, output.look());
    output.write(&text)?;
    output.finish()?;
    Ok(Exit::Done)
}
