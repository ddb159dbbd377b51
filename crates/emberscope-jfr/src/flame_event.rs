//! What flame graphs can be of.

use crate::event::EventKind;
use schemars::JsonSchema;
use serde::Serialize;

/// What a flame graph is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlameEvent {
    /// Samples of threads that ran.
    Cpu,
    /// Samples of all threads, whatever they did.
    Wall,
    /// Bytes allocated.
    Alloc,
    /// Time waiting for locks.
    Lock,
    /// Time in `Thread.sleep` and `Object.wait`.
    Sleep,
    /// Time reading and writing files and sockets.
    Io,
    /// Samples of threads in native methods.
    Native,
    /// Native memory that was not given back, bytes.
    Malloc,
    /// Objects that outlived collections, bytes.
    Live,
}

/// What weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Times that a thread was looked at.
    Samples,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Samples => "samples",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "nanoseconds",
        }
    }
}

impl FlameEvent {
    /// All, in the order of their use.
    pub const ALL: &[FlameEvent] = &[
        FlameEvent::Cpu,
        FlameEvent::Wall,
        FlameEvent::Alloc,
        FlameEvent::Lock,
        FlameEvent::Sleep,
        FlameEvent::Io,
        FlameEvent::Native,
        FlameEvent::Malloc,
        FlameEvent::Live,
    ];

    /// Its name on the command line and in outputs.
    pub fn name(self) -> &'static str {
        match self {
            FlameEvent::Cpu => "cpu",
            FlameEvent::Wall => "wall",
            FlameEvent::Alloc => "alloc",
            FlameEvent::Lock => "lock",
            FlameEvent::Sleep => "sleep",
            FlameEvent::Io => "io",
            FlameEvent::Native => "native",
            FlameEvent::Malloc => "malloc",
            FlameEvent::Live => "live",
        }
    }

    /// What weights are.
    pub fn unit(self) -> Unit {
        match self {
            FlameEvent::Cpu | FlameEvent::Wall | FlameEvent::Native => Unit::Samples,
            FlameEvent::Alloc | FlameEvent::Malloc | FlameEvent::Live => Unit::Bytes,
            FlameEvent::Lock | FlameEvent::Sleep | FlameEvent::Io => Unit::Nanoseconds,
        }
    }

    /// The events that count, and which of several ways to measure the same they belong to: in a chunk the
    /// first way that has any event counts, so that nothing counts twice.
    ///
    /// Executions are of interest to two: async-profiler writes them for samples by CPU time, in
    /// `STATE_DEFAULT`, and where it does not write batches for the wall clock, too, in other states.
    pub(crate) fn way_of(self, kind: EventKind) -> Option<usize> {
        Some(match (self, kind) {
            (FlameEvent::Cpu, EventKind::CpuTime) => 0,
            (FlameEvent::Cpu, EventKind::Execution) => 1,
            (FlameEvent::Wall, EventKind::WallClock) => 0,
            (FlameEvent::Wall, EventKind::Execution) => 1,
            (FlameEvent::Alloc, EventKind::AllocationInTlab | EventKind::AllocationOutsideTlab) => 0,
            (FlameEvent::Alloc, EventKind::AllocationSample) => 1,
            (FlameEvent::Lock, EventKind::MonitorEnter | EventKind::Park | EventKind::NativeLock) => 0,
            (FlameEvent::Sleep, EventKind::Sleep | EventKind::MonitorWait) => 0,
            (FlameEvent::Io, EventKind::Io) => 0,
            (FlameEvent::Native, EventKind::NativeMethod) => 0,
            (FlameEvent::Malloc, EventKind::Malloc | EventKind::Free) => 0,
            (FlameEvent::Live, EventKind::LiveObject) => 0,
            _ => return None,
        })
    }
}

/// Ways to measure the same.
pub(crate) const WAYS: usize = 2;
