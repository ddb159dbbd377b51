//! RDDs and their cached blocks.
//!
//! Cached blocks are known only where `spark.eventLog.logBlockUpdates.enabled` was on; the sizes in
//! `RDD Info` are always 0 in a log.

use emberscope_log::event::app::{BlockUpdatedInfo, StorageLevel};
use emberscope_log::event::stage::RddInfo;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// RDDs and their cached blocks.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    /// RDDs by id.
    pub rdds: BTreeMap<u32, Rdd>,
    /// Block updates in the log.
    pub block_updates: u64,
    /// Blocks held now, by (RDD, partition, executor): memory and disk bytes.
    blocks: FxHashMap<(u32, u32, String), (i64, i64)>,
}

/// An RDD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rdd {
    /// Name.
    pub name: String,
    /// Operator name from its scope.
    pub scope: Option<String>,
    /// Parents.
    pub parent_ids: Vec<u32>,
    /// Storage level; no flag set = not cached.
    pub storage_level: StorageLevel,
    /// Number of partitions.
    pub num_partitions: u32,
    /// Whether an `UnpersistRDD` was logged.
    pub unpersisted: bool,
    /// Memory its blocks occupy at the end, bytes.
    pub memory_bytes: i64,
    /// Disk its blocks occupy at the end, bytes.
    pub disk_bytes: i64,
    /// Distinct partitions cached at the end.
    pub cached_partitions: u32,
    /// Most memory its blocks occupied, bytes.
    pub peak_memory_bytes: i64,
    /// Most disk its blocks occupied, bytes.
    pub peak_disk_bytes: i64,
}

impl Storage {
    pub(crate) fn add_rdd(&mut self, info: &RddInfo) {
        let Some(id) = info.id.small_id() else { return };
        let rdd = self.rdds.entry(id).or_default();
        if rdd.name.is_empty() {
            rdd.name.clone_from(&info.name);
            rdd.scope = info.scope_name();
            rdd.parent_ids.clone_from(&info.parent_ids);
            rdd.num_partitions = info.num_partitions.small_id().unwrap_or(0);
        }
        // A level once set stays known; later stages may list the RDD after it was unpersisted.
        let level = info.storage_level;
        if level.use_memory || level.use_disk {
            rdd.storage_level = level;
        }
    }

    pub(crate) fn update_block(&mut self, info: &BlockUpdatedInfo) {
        self.block_updates += 1;
        let Some((rdd_id, partition)) = rdd_block(&info.block_id) else { return };
        let key = (rdd_id, partition, info.manager.executor_id.clone());
        let level = info.storage_level;
        let held = (level.use_memory || level.use_disk)
            .then(|| (info.memory_size.0.unwrap_or(0), info.disk_size.0.unwrap_or(0)));
        let before = match held {
            Some(sizes) => self.blocks.insert(key, sizes),
            None => self.blocks.remove(&key),
        };
        let (memory_before, disk_before) = before.unwrap_or((0, 0));
        let (memory, disk) = held.unwrap_or((0, 0));
        let rdd = self.rdds.entry(rdd_id).or_default();
        rdd.memory_bytes += memory - memory_before;
        rdd.disk_bytes += disk - disk_before;
        rdd.peak_memory_bytes = rdd.peak_memory_bytes.max(rdd.memory_bytes);
        rdd.peak_disk_bytes = rdd.peak_disk_bytes.max(rdd.disk_bytes);
    }

    pub(crate) fn unpersist(&mut self, rdd_id: u32) {
        self.blocks.retain(|(id, _, _), _| *id != rdd_id);
        let rdd = self.rdds.entry(rdd_id).or_default();
        rdd.unpersisted = true;
        rdd.memory_bytes = 0;
        rdd.disk_bytes = 0;
    }

    pub(crate) fn finish(&mut self) {
        let mut partitions: Vec<(u32, u32)> =
            self.blocks.keys().map(|(rdd, part, _)| (*rdd, *part)).collect();
        partitions.sort_unstable();
        partitions.dedup();
        for (rdd_id, _) in partitions {
            if let Some(rdd) = self.rdds.get_mut(&rdd_id) {
                rdd.cached_partitions += 1;
            }
        }
    }
}

/// RDD and partition of a block id like `rdd_12_3`.
fn rdd_block(block_id: &str) -> Option<(u32, u32)> {
    let (rdd, partition) = block_id.strip_prefix("rdd_")?.split_once('_')?;
    Some((rdd.parse().ok()?, partition.parse().ok()?))
}
