//! From a log that is still being written to a run that grows.

use crate::builder::{PreparedBlock, RunBuilder};
use emberscope_log::block::{ParseOptions, ParsedBlock, parse_block};
use emberscope_log::event::Event;
use emberscope_log::follow::{Followed, Stop};
use emberscope_log::scan::ScanOptions;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Blocks that may wait for the builder. When it is busy the writer of a pipe waits, and nothing piles up.
const WAITING: usize = 4;

/// Reads a log to its end, however long that takes. `turn` is called at least once in `every`, with all that has come
/// so far; it may end reading, and then what came by then is the run.
///
/// The run is the one that a reader of the finished log gets.
pub fn follow(
    followed: &Followed,
    options: ScanOptions,
    parse: ParseOptions,
    every: Duration,
    mut turn: impl FnMut(&RunBuilder) -> ControlFlow<()>,
) -> RunBuilder {
    let mut builder = RunBuilder::new(followed.source()).with_threads(options.threads);
    let stop = followed.stop();
    let mut blocks = followed.blocks(options);
    let (send, received) = sync_channel(WAITING);
    // Not joined: a pipe that nobody writes to any more and nobody closes would be waited for.
    std::thread::spawn(move || {
        let mut spare = Vec::new();
        while let Some((block, begun)) = blocks.next(spare) {
            let parsed = parse_block(&block, parse);
            if !pass_on(parsed, begun, &stop, &send) {
                return;
            }
            spare = block.buffer;
        }
    });
    loop {
        match received.recv_timeout(every) {
            Ok((begun, block)) => {
                begun.into_iter().for_each(|name| builder.add_member(name));
                builder.add_prepared(block);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if turn(&builder).is_break() {
            break;
        }
    }
    if let Some(source) = followed.found_again() {
        builder.rename_source(&source);
    }
    builder
}

/// Whether somebody still listens.
fn pass_on(
    parsed: ParsedBlock,
    begun: Vec<String>,
    stop: &Stop,
    send: &SyncSender<(Vec<String>, PreparedBlock)>,
) -> bool {
    if parsed.others.iter().any(|(_, event)| matches!(event, Event::ApplicationEnd(_))) {
        stop.application_ended();
    }
    send.send((begun, PreparedBlock::new(parsed))).is_ok()
}
