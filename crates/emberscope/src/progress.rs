//! How far reading has come, on standard error, and only for a person who watches.

use emberscope_log::source::RunSource;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar for one source; it is gone when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a bar, or nothing visible when it is not `wanted` or standard error is no terminal.
    pub(crate) fn start(source: &RunSource, wanted: bool) -> Self {
        if !wanted {
            return Progress { bar: ProgressBar::hidden() };
        }
        // A pipe has no length: then the bar only counts.
        let total: Option<u64> = source.members.iter().map(|member| member.len).sum();
        // indicatif hides the bar itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
        let template = if total.is_some() {
            "{spinner} {wide_msg} {binary_bytes:>11} of {binary_total_bytes}  {binary_bytes_per_sec:>13}  {eta:>4}"
        } else {
            "{spinner} {wide_msg} {binary_bytes:>11}  {binary_bytes_per_sec:>13}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(crate::format::plain(&source.label));
        // A log that is read at once needs no bar: the first tick comes late enough.
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar }
    }

    /// Tells how many bytes of the files have been read.
    pub(crate) fn at(&self, bytes: u64) {
        // Threads report out of order.
        if bytes > self.bar.position() {
            self.bar.set_position(bytes);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
