//! From a source to a run.

use crate::builder::{PreparedBlock, RunBuilder};
use crate::run::Run;
use emberscope_log::block::{ParseOptions, parse_block};
use emberscope_log::scan::{ScanOptions, scan};
use emberscope_log::source::RunSource;

/// Reads a whole source. `progress` is told how many bytes of its files have been consumed.
pub fn load(
    source: &RunSource,
    scan_options: ScanOptions,
    parse_options: ParseOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Run {
    let mut builder = RunBuilder::new(source).with_threads(scan_options.threads);
    scan(
        &source.members,
        scan_options,
        progress,
        |block| PreparedBlock::new(parse_block(block, parse_options)),
        |block| builder.add_prepared(block),
    );
    builder.finish()
}
