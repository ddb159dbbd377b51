//! `emberscope summary`: what each run was.

use crate::cli::{Format, ShowOptions};
use crate::exit::Exit;
use crate::facts::Facts;
use crate::inputs::for_each_run;
use crate::output::Output;
use crate::render;
use emberscope_log::block::ParseOptions;
use emberscope_model::load::load;
use emberscope_model::summary::summarize_on;

/// Runs the command.
pub(crate) fn run(options: &ShowOptions) -> anyhow::Result<Exit> {
    let mut output = Output::open(options.out.as_deref())?;
    let (look, guard) = (output.look(), output.guard());
    let mut is_first = true;
    let exit = for_each_run(
        &options.reading,
        guard.as_slice(),
        |source, progress| (load(source, options.reading.scan, ParseOptions::default(), progress), ()),
        |run, ()| {
            let summary = summarize_on(&run, options.reading.scan.threads);
            let text = match options.format {
                Format::Json => serde_json::to_string(&summary)? + "\n",
                Format::Text => render::summary::text(&summary, &Facts::of(&run), look, is_first),
            };
            is_first = false;
            output.write(&text)
        },
    )?;
    if exit != Exit::NoInput {
        output.finish()?;
    }
    Ok(exit)
}
