//! Cached data: what was persisted, and how much of it was held.

use super::masked;
use emberscope_log::event::app::StorageLevel;
use emberscope_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Cached data of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StorageView {
    /// Whether the log tells of blocks (`spark.eventLog.logBlockUpdates.enabled`); without, no size is known.
    pub has_block_updates: bool,
    /// RDDs that were persisted, by id.
    pub rdds: Vec<CachedRddRow>,
    /// What executors hold at the end, by executor id.
    pub executors: Vec<HeldRow>,
}

/// A persisted RDD. Sizes are `None` where the log tells of no blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CachedRddRow {
    /// RDD id.
    pub id: u32,
    /// Name.
    pub name: Option<String>,
    /// Operator that made it.
    pub operator: Option<String>,
    /// Storage level, as Spark describes it; `None` where none was logged.
    pub level: Option<String>,
    /// Partitions it has.
    pub partitions: Option<u32>,
    /// Whether it was unpersisted.
    pub is_unpersisted: bool,
    /// Partitions cached at the end.
    pub cached_partitions: Option<u32>,
    /// Partitions cached at any time.
    pub ever_cached_partitions: Option<u32>,
    /// Most partitions cached at one time.
    pub peak_cached_partitions: Option<u32>,
    /// Memory at the end.
    pub memory_bytes: Option<i64>,
    /// Disk at the end.
    pub disk_bytes: Option<i64>,
    /// Most memory.
    pub peak_memory_bytes: Option<i64>,
    /// Most disk.
    pub peak_disk_bytes: Option<i64>,
    /// Blocks that had to make room.
    pub evictions: Option<u64>,
}

/// What an executor holds at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldRow {
    /// Executor id.
    pub executor_id: String,
    /// Blocks of RDDs.
    pub blocks: u64,
    /// Memory of them.
    pub memory_bytes: i64,
    /// Disk of them.
    pub disk_bytes: i64,
    /// Memory of broadcasts.
    pub broadcast_memory_bytes: i64,
    /// Disk of broadcasts.
    pub broadcast_disk_bytes: i64,
}

/// Cached data of a run.
pub fn storage(run: &Run) -> StorageView {
    let storage = &run.storage;
    let has_block_updates = storage.block_updates > 0;
    let rdds = storage
        .cached
        .iter()
        .map(|(id, cached)| CachedRddRow {
            id: *id,
            name: run.rdd_name(*id).map(masked),
            operator: run.rdd_operator(*id).map(masked),
            level: described(&cached.storage_level),
            partitions: storage.rdds.get(id).map(|rdd| rdd.num_partitions),
            is_unpersisted: cached.unpersisted,
            cached_partitions: has_block_updates.then_some(cached.cached_partitions),
            ever_cached_partitions: has_block_updates.then_some(cached.ever_cached_partitions),
            peak_cached_partitions: has_block_updates.then_some(cached.peak_cached_partitions),
            memory_bytes: has_block_updates.then_some(cached.memory_bytes),
            disk_bytes: has_block_updates.then_some(cached.disk_bytes),
            peak_memory_bytes: has_block_updates.then_some(cached.peak_memory_bytes),
            peak_disk_bytes: has_block_updates.then_some(cached.peak_disk_bytes),
            evictions: has_block_updates.then_some(cached.evictions),
        })
        .collect();
    let mut held: BTreeMap<&str, HeldRow> = BTreeMap::new();
    for block in storage.blocks() {
        let row = held.entry(block.executor).or_default();
        row.blocks += 1;
        row.memory_bytes += block.memory_bytes;
        row.disk_bytes += block.disk_bytes;
    }
    for (executor, (memory, disk)) in &storage.broadcasts {
        let row = held.entry(executor).or_default();
        row.broadcast_memory_bytes = *memory;
        row.broadcast_disk_bytes = *disk;
    }
    let named = |(id, row): (&str, HeldRow)| HeldRow { executor_id: id.to_owned(), ..row };
    StorageView { has_block_updates, rdds, executors: held.into_iter().map(named).collect() }
}

/// A level in the words of `StorageLevel.description`.
fn described(level: &StorageLevel) -> Option<String> {
    if !level.use_memory && !level.use_disk {
        return None;
    }
    let mut words = Vec::new();
    words.extend(level.use_disk.then_some("Disk"));
    words.extend(level.use_memory.then_some(if level.use_off_heap { "Memory (off heap)" } else { "Memory" }));
    words.push(if level.deserialized { "Deserialized" } else { "Serialized" });
    Some(format!("{} {}x Replicated", words.join(" "), level.replication.0.unwrap_or(1)))
}
