//! Folds the wall clock's samples of a recording with the crate `jfrs`, for the benchmark to compare with:
//! `other_reader FILE > FOLDED`. The tests compare with what it reads of every event.

#[path = "other_reader/jfrs.rs"]
mod jfrs;

use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let Some(file) = std::env::args_os().nth(1) else {
        return Err(io::Error::other("name a recording"));
    };
    let read =
        jfrs::read(std::fs::File::open(file)?, "profiler.WallClockSample").map_err(io::Error::other)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for (stack, weight) in &read.stacks {
        writeln!(out, "{stack} {weight}")?;
    }
    out.flush()?;
    writeln!(io::stderr(), "{} events", read.counts.values().sum::<u64>())
}
