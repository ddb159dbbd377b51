//! Decodes every run found at a path and prints what each member gave and how fast.
//!
//! `cargo run --release -p emberscope-log --example decode -- PATH [REPEAT]`

// An example's output is its purpose.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use emberscope_log::source::discover;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: decode PATH [REPEAT]")?;
    let repeat: u32 = args.next().map_or(Ok(1), |n| n.parse())?;
    let found = discover(&path)?;
    let mut buf = vec![0; 1 << 20];
    for run in &found.runs {
        println!("{} [{}] app {:?} attempt {:?}", run.label, run.kind, run.app_id_hint, run.attempt_hint);
        for member in &run.members {
            let mut best = f64::INFINITY;
            let mut told = String::new();
            for _ in 0..repeat.max(1) {
                let start = Instant::now();
                let mut decoder = member.open()?;
                while decoder.read(&mut buf) > 0 {}
                best = best.min(start.elapsed().as_secs_f64());
                let (raw, decoded) = (decoder.raw_bytes(), decoder.decoded_bytes());
                let rate = decoded as f64 / best / 1e9;
                told = format!(
                    "{}: {raw} -> {decoded} bytes, {rate:.2} GB/s, {:?}",
                    decoder.codec(),
                    decoder.end()
                );
            }
            println!("  {} {told}", member.name);
        }
    }
    for skipped in &found.skipped {
        println!("{skipped:?}");
    }
    Ok(())
}
