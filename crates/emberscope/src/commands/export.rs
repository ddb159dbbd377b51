//! `emberscope export`: a run as a file of other tools.

use crate::cli::{ExportFormat, ExportOptions};
use crate::exit::{Exit, UsageError};
use crate::facts::Facts;
use crate::inputs::for_all_runs;
use crate::output::Output;
use crate::render::Words;
use emberscope_analysis::context::Digests;
use emberscope_analysis::diagnosis::{Options, diagnose};
use emberscope_analysis::plots::plots;
use emberscope_analysis::views::timeline::TimelineIndex;
use emberscope_export::perfetto;
use emberscope_log::block::ParseOptions;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use std::io::BufWriter;

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Runs the command.
pub(crate) fn run(options: &ExportOptions) -> anyhow::Result<Exit> {
    let mut output = Output::open(options.out.as_deref())?;
    let guard = output.guard();
    let read = for_all_runs(
        &options.reading,
        guard.as_slice(),
        |source, progress| (load(source, options.reading.scan, ParseOptions::default(), progress), ()),
        |run, (), several| {
            if several {
                let message = "an export holds one run, and there are several";
                return Err(UsageError::new(message, "name one of them").into());
            }
            match options.format {
                ExportFormat::Html => output.write(&page(&run)),
                ExportFormat::Perfetto => {
                    let index = TimelineIndex::of(&run, &Digests::of(&run));
                    let pieces = BufWriter::with_capacity(PIECE_BYTES, &mut output);
                    Ok(perfetto::write(&run, &index, pieces)?)
                }
            }
        },
    )?;
    if read.exit != Exit::NoInput {
        output.finish()?;
    }
    Ok(read.exit)
}

fn page(run: &Run) -> String {
    let diagnosis = diagnose(run, &Options::default());
    let trust = Words::of(&diagnosis.trust, &Facts::of(run)).into_html();
    emberscope_html::page(&diagnosis, &plots(run, &diagnosis), &trust)
}
