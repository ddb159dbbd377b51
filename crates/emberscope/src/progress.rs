//! How far reading has come, on standard error, and only for a person who watches.

use emberscope_log::source::RunSource;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A log that is read sooner than this shows no bar, which would only flicker.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar for one source; it is gone when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Whether the bar is still to be shown.
    waits: AtomicBool,
}

impl Progress {
    /// Starts a bar, or nothing visible when it is not `wanted`.
    pub(crate) fn start(source: &RunSource, wanted: bool) -> Self {
        let total: Option<u64> = source.members.iter().map(|member| member.len).sum();
        Self::of_length(wanted, &source.label, total)
    }

    /// Starts a bar for a text file.
    pub(crate) fn of_bytes(wanted: bool, file: &Path, total: Option<u64>) -> Self {
        Self::of_length(wanted, &file.display().to_string(), total)
    }

    /// A pipe has no length: then the bar only counts.
    fn of_length(wanted: bool, label: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = if total.is_some() {
            "{spinner} {wide_msg} {binary_bytes:>11} of {binary_total_bytes}  {binary_bytes_per_sec:>13}  {eta:>4}"
        } else {
            "{spinner} {wide_msg} {binary_bytes:>11}  {binary_bytes_per_sec:>13}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(crate::format::plain(label));
        Progress { bar, started: Instant::now(), waits: AtomicBool::new(wanted) }
    }

    /// Starts a bar that only counts: bytes of a download, or answers.
    pub(crate) fn of_download(wanted: bool, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = "{spinner} {wide_msg} {human_pos:>11}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Progress { bar, started: Instant::now(), waits: AtomicBool::new(wanted) }
    }

    /// Tells how many bytes of the files have been read.
    pub(crate) fn at(&self, bytes: u64) {
        if self.started.elapsed() >= PATIENCE && self.waits.swap(false, Ordering::Relaxed) {
            // Hidden, still, where standard error is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
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
