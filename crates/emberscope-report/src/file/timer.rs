//! A thread that does something every so often.

use crate::sink::lock;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ends its thread when it is dropped.
pub(super) struct Timer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    pub(super) fn start(every: Duration, work: impl Fn() + Send + 'static) -> Timer {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (is_stopped, told) = &*stopped;
            let mut state = lock(is_stopped);
            loop {
                let waited = told.wait_timeout_while(state, every, |is_stopped| !*is_stopped);
                let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                if !timeout.timed_out() {
                    return;
                }
                drop(now);
                work();
                state = lock(is_stopped);
            }
        });
        Timer { stop, thread: Some(thread) }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        *lock(&self.stop.0) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // Its panic has been reported.
            _ = thread.join();
        }
    }
}
