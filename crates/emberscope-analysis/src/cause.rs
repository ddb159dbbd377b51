//! What makes a task slower than its peers.

/// What makes a task slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// More bytes or records than its peers.
    Data,
    /// Collections.
    Gc,
    /// Waiting for shuffle blocks.
    FetchWait,
    /// Spilling.
    Spill,
    /// First tasks of an executor: classes, generated code, JIT.
    ColdExecutor,
    /// First tasks of a stage on an executor: the stage's own code.
    WarmUp,
    /// Between the driver and the executor.
    Scheduling,
    /// Its partition was not in the cache where those of its peers were.
    CacheMiss,
    /// One machine.
    Host,
    /// Python workers.
    Python,
    /// Nothing in the log.
    Unexplained,
}

/// All causes, in the order in which they are charged.
pub const CAUSES: [Cause; 11] = [
    Cause::Data,
    Cause::Gc,
    Cause::FetchWait,
    Cause::Spill,
    Cause::ColdExecutor,
    Cause::WarmUp,
    Cause::Scheduling,
    Cause::CacheMiss,
    Cause::Host,
    Cause::Python,
    Cause::Unexplained,
];

impl Cause {
    /// Name in evidence.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Data => "data",
            Cause::Gc => "gc",
            Cause::FetchWait => "fetch_wait",
            Cause::Spill => "spill",
            Cause::ColdExecutor => "cold_executor",
            Cause::WarmUp => "warm_up",
            Cause::Scheduling => "scheduling",
            Cause::CacheMiss => "cache_miss",
            Cause::Host => "host",
            Cause::Python => "python",
            Cause::Unexplained => "unexplained",
        }
    }
}

/// Milliseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts([f64; CAUSES.len()]);

impl Parts {
    /// Of a cause.
    pub fn of(&self, cause: Cause) -> f64 {
        self.0[cause as usize]
    }

    pub(crate) fn add(&mut self, cause: Cause, ms: f64) {
        self.0[cause as usize] += ms;
    }

    /// The largest; of equal ones the first.
    pub fn largest(&self) -> Cause {
        let mut largest = Cause::Data;
        for cause in CAUSES {
            if self.of(cause) > self.of(largest) {
                largest = cause;
            }
        }
        largest
    }
}
