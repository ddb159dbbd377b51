//! The kinds of events that are read, by their names.

use crate::metadata::Class;

/// A kind of event of the JDK's recorder or of async-profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EventKind {
    /// `jdk.ExecutionSample`.
    Execution,
    /// `jdk.CPUTimeSample` (JDK 25).
    CpuTime,
    /// `jdk.NativeMethodSample`.
    NativeMethod,
    /// `profiler.WallClockSample`, and that of our own sampler: one sample or a batch of them.
    WallClock,
    /// `jdk.ObjectAllocationInNewTLAB`.
    AllocationInTlab,
    /// `jdk.ObjectAllocationOutsideTLAB`.
    AllocationOutsideTlab,
    /// `jdk.ObjectAllocationSample`.
    AllocationSample,
    /// `jdk.JavaMonitorEnter`.
    MonitorEnter,
    /// `jdk.JavaMonitorWait`.
    MonitorWait,
    /// `jdk.ThreadPark`.
    Park,
    /// `profiler.NativeLock`.
    NativeLock,
    /// `jdk.ThreadSleep`.
    Sleep,
    /// Reads and writes of files and sockets.
    Io,
    /// `profiler.Malloc`.
    Malloc,
    /// `profiler.Free`.
    Free,
    /// `profiler.LiveObject`.
    LiveObject,
    /// `profiler.Span`.
    Span,
    /// Any event with a `taskId`.
    Task,
    /// `jdk.CPULoad`.
    CpuLoad,
    /// `jdk.GarbageCollection`.
    GarbageCollection,
    /// `jdk.ActiveSetting`.
    Setting,
    /// `jdk.JVMInformation`.
    Jvm,
}

impl EventKind {
    /// The kind of a type.
    pub(crate) fn of(class: &Class) -> Option<EventKind> {
        Some(match class.name.as_str() {
            "jdk.ExecutionSample" => EventKind::Execution,
            "jdk.CPUTimeSample" => EventKind::CpuTime,
            "jdk.NativeMethodSample" => EventKind::NativeMethod,
            "profiler.WallClockSample" | "io.emberscope.WallClockSample" => EventKind::WallClock,
            "jdk.ObjectAllocationInNewTLAB" => EventKind::AllocationInTlab,
            "jdk.ObjectAllocationOutsideTLAB" => EventKind::AllocationOutsideTlab,
            "jdk.ObjectAllocationSample" => EventKind::AllocationSample,
            "jdk.JavaMonitorEnter" => EventKind::MonitorEnter,
            "jdk.JavaMonitorWait" => EventKind::MonitorWait,
            "jdk.ThreadPark" => EventKind::Park,
            "profiler.NativeLock" => EventKind::NativeLock,
            "jdk.ThreadSleep" => EventKind::Sleep,
            "jdk.SocketRead" | "jdk.SocketWrite" | "jdk.FileRead" | "jdk.FileWrite" | "jdk.FileForce" => {
                EventKind::Io
            }
            "profiler.Malloc" => EventKind::Malloc,
            "profiler.Free" => EventKind::Free,
            "profiler.LiveObject" => EventKind::LiveObject,
            "profiler.Span" => EventKind::Span,
            "jdk.CPULoad" => EventKind::CpuLoad,
            "jdk.GarbageCollection" => EventKind::GarbageCollection,
            "jdk.ActiveSetting" => EventKind::Setting,
            "jdk.JVMInformation" => EventKind::Jvm,
            _ => {
                let has = |name: &str| class.fields.iter().any(|field| field.name == name);
                return (class.is_event && has("taskId") && has("eventThread")).then_some(EventKind::Task);
            }
        })
    }
}
