//! `emberscope doctor`: what fills each log and what it lacks.

use crate::cli::{Format, ShowOptions};
use crate::exit::Exit;
use crate::facts::Facts;
use crate::inputs::for_each_run;
use crate::output::Output;
use crate::render;
use emberscope_model::doctor::{diagnose_log, examine};

/// Runs the command.
pub(crate) fn run(options: &ShowOptions) -> anyhow::Result<Exit> {
    let mut output = Output::open(options.out.as_deref())?;
    let (look, guard) = (output.look(), output.guard());
    let mut is_first = true;
    let exit = for_each_run(
        &options.reading,
        guard.as_slice(),
        |source, progress| examine(source, options.reading.scan, progress),
        |run, census| {
            let doctor = diagnose_log(&run, &census);
            let text = match options.format {
                Format::Json => serde_json::to_string(&doctor)? + "\n",
                Format::Text => render::doctor::text(&doctor, &Facts::of(&run), look, is_first),
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
