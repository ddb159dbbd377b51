//! What one run of a program cost.

use anyhow::{Context, Result};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// What one run of a program cost.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// From start to answer.
    pub(crate) wall_s: f64,
    /// User and system time of the process and its children.
    pub(crate) cpu_s: f64,
    /// Largest resident set.
    pub(crate) peak_bytes: u64,
    /// Bytes that task attempts occupy, where the program tells.
    pub(crate) task_bytes: Option<u64>,
}

/// Waits for the end of `child`. `wall` is for a program whose answer came before its end.
pub(crate) fn finish(
    child: &mut Child,
    started: Instant,
    wall: Option<Duration>,
) -> Result<(Usage, ExitStatus)> {
    let used = child.wait4().context("waiting for a process")?;
    let wall = wall.unwrap_or_else(|| started.elapsed());
    let usage = Usage {
        wall_s: wall.as_secs_f64(),
        cpu_s: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
        task_bytes: None,
    };
    Ok((usage, used.status))
}
