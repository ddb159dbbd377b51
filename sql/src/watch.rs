//! The last line of defence: a thread that ends the process when it takes too much memory or time.
//!
//! What DataFusion accounts for is refused by its pool with a good error; what it does not, and an operator
//! that does not look up from its work, is stopped here.

use crate::output::Pipe;
use emberscope_sql_protocol::{Failure, FailureKind, Frame, Limits};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(20);
/// How long the thread waits for the pipe before it ends the process without a word.
const PATIENCE: Duration = Duration::from_millis(500);
/// Exit code of a process that ended itself.
const STOPPED: i32 = 9;

/// What is watched.
#[derive(Debug, Default)]
struct Watched {
    /// When the query must have ended, and the milliseconds it had.
    deadline: Option<(Instant, u64)>,
    memory_bytes: Option<u64>,
}

/// Watches the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    watched: Arc<Mutex<Watched>>,
}

impl Watch {
    /// Starts watching.
    pub(crate) fn start(pipe: Arc<Pipe>) -> Watch {
        let watch = Watch::default();
        let watched = Arc::clone(&watch.watched);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(EVERY);
                let failure = {
                    let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
                    excess(&watched)
                };
                if let Some(failure) = failure {
                    stop(&pipe, failure);
                }
            }
        });
        watch
    }

    /// A query begins that must keep to `limits`.
    pub(crate) fn begin(&self, limits: &Limits) {
        let deadline = limits.timeout_ms.map(|ms| (Instant::now() + Duration::from_millis(ms), ms));
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) =
            Watched { deadline, memory_bytes: Some(limits.memory_bytes) };
    }

    /// The query has ended.
    pub(crate) fn end(&self) {
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Watched::default();
    }
}

fn excess(watched: &Watched) -> Option<Failure> {
    if let Some((deadline, ms)) = watched.deadline
        && Instant::now() >= deadline
    {
        return Some(Failure {
            kind: FailureKind::Time,
            message: format!("no answer after {} s", ms as f64 / 1000.0),
            hint: Some("join on applicationId, select less, or raise --timeout".to_owned()),
            position: None,
        });
    }
    let limit = watched.memory_bytes?;
    let used = resident_bytes()?;
    (used > limit).then(|| Failure {
        kind: FailureKind::Memory,
        message: "the query needs more memory than it may use".to_owned(),
        hint: Some("select fewer rows or columns, join on applicationId, or raise --memory".to_owned()),
        position: None,
    })
}

fn stop(pipe: &Pipe, failure: Failure) {
    let began = Instant::now();
    let frame = Frame::Failure(failure);
    while began.elapsed() < PATIENCE && pipe.try_send(&frame).is_none() {
        std::thread::sleep(EVERY);
    }
    std::process::exit(STOPPED);
}

/// Memory of this process that is in use; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_is_told() {
        let calm = Watched { deadline: None, memory_bytes: Some(u64::MAX) };
        assert!(excess(&calm).is_none());
        let late = Watched { deadline: Some((Instant::now(), 1500)), memory_bytes: None };
        assert_eq!(excess(&late).unwrap().message, "no answer after 1.5 s");
        if resident_bytes().is_some() {
            let large = Watched { deadline: None, memory_bytes: Some(1 << 20) };
            assert_eq!(excess(&large).unwrap().kind, FailureKind::Memory);
        }
    }
}
