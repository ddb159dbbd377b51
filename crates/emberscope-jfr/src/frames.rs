//! The frames of flame graphs: each name once.

use crate::constants::Pools;
use crate::layout::RawFrame;
use crate::names::class_name;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// A method of Java, Scala or Kotlin.
    Java,
    /// A function of the JVM or of a native library.
    Native,
    /// A function of the kernel.
    Kernel,
    /// A class of objects: what was allocated, or whose lock was waited for.
    Class,
    /// None of the program's: `[other]`, `[no stack]`, `[truncated]`.
    Mark,
}

/// The name of what limits cut off.
pub const OTHER: &str = "[other]";
/// The name of samples without a stack.
pub(crate) const NO_STACK: &str = "[no stack]";
/// The name of what the recorder cut off at the root.
pub(crate) const TRUNCATED: &str = "[truncated]";

/// Identifies a frame of a [`Frames`].
pub type FrameId = u32;

/// All frames of a flame graph.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    names: Vec<Box<str>>,
    kinds: Vec<FrameKind>,
    ids: FxHashMap<(FrameKind, Box<str>), FrameId>,
}

impl Frames {
    /// The frame of a kind and a name.
    pub(crate) fn intern(&mut self, kind: FrameKind, name: &str) -> FrameId {
        let key = (kind, Box::from(name));
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        // 4 billion different names do not fit into memory.
        let id = self.names.len() as FrameId;
        self.names.push(key.1.clone());
        self.kinds.push(kind);
        self.ids.insert(key, id);
        id
    }

    /// Estimate of the memory they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        // Each name is there twice: in order, and to be found by.
        self.names.iter().map(|name| 2 * name.len() + 64).sum()
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a frame.
    pub fn name(&self, id: FrameId) -> &str {
        self.names.get(id as usize).map_or("", |name| name)
    }

    /// The kind of a frame.
    pub fn kind(&self, id: FrameId) -> FrameKind {
        self.kinds.get(id as usize).copied().unwrap_or(FrameKind::Mark)
    }

    /// The ids that the frames of `other` have here.
    pub(crate) fn adopt(&mut self, other: &Frames) -> Vec<FrameId> {
        other.names.iter().zip(&other.kinds).map(|(name, kind)| self.intern(*kind, name)).collect()
    }

    /// The frame of a record.
    pub(crate) fn of_record(&mut self, frame: RawFrame, pools: &Pools) -> FrameId {
        let kind = match pools.frame_type(frame.kind) {
            "Native" | "C++" => FrameKind::Native,
            "Kernel" => FrameKind::Kernel,
            _ => FrameKind::Java,
        };
        let (class, method) = pools.method(frame.method);
        let name = match (class, method) {
            ("", "") => "[unknown]".to_owned(),
            ("", method) => method.to_owned(),
            // The class of a native function is its library, whose name is no path of packages.
            (class, method) if kind != FrameKind::Java && class.contains(".so") => {
                format!("{class}.{method}")
            }
            (class, "") => class_name(class).into_owned(),
            (class, method) => format!("{}.{method}", class_name(class)),
        };
        self.intern(kind, &name)
    }
}
