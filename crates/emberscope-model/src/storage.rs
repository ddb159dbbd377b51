//! RDDs and their cached blocks.
//!
//! Cached blocks are known only where `spark.eventLog.logBlockUpdates.enabled` was on; the sizes in
//! `RDD Info` are always 0 in a log.

use crate::run::Run;
use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::event::app::{BlockUpdatedInfo, StorageLevel};
use emberscope_log::event::stage::RddInfo;
use emberscope_log::strings::StringTable;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// RDDs and their cached blocks.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Storage {
    /// RDDs by id. A log may have hundreds of thousands.
    pub rdds: BTreeMap<u32, Rdd>,
    /// Those that were persisted, or whose blocks the log mentions, by id.
    pub cached: BTreeMap<u32, CachedRdd>,
    /// Block updates in the log.
    pub block_updates: u64,
    /// Memory and disk that broadcasts occupy at the end, bytes, by executor.
    pub broadcasts: BTreeMap<String, (i64, i64)>,
    /// Blocks held now, by (RDD, partition, executor): memory and disk bytes.
    blocks: FxHashMap<(u32, u32, String), (i64, i64)>,
    /// Copies of every partition held now, by (RDD, partition); 0 = was cached once.
    copies: FxHashMap<(u32, u32), u32>,
    /// Distinct partitions held now, by RDD.
    held: FxHashMap<u32, u32>,
}

/// An RDD. Texts are numbers of the run's string table.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Rdd {
    /// Name.
    pub name: u32,
    /// Operator name from its scope.
    pub scope: Option<u32>,
    /// Parents.
    pub parent_ids: Box<[u32]>,
    /// Number of partitions.
    pub num_partitions: u32,
}

/// What is known of a persisted RDD.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CachedRdd {
    /// Storage level; no flag set = none was logged.
    pub storage_level: StorageLevel,
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
    /// Distinct partitions that were cached at any time.
    pub ever_cached_partitions: u32,
    /// Most partitions that were cached at one time; copies count once.
    pub peak_cached_partitions: u32,
    /// Updates that took a block away although the RDD was not unpersisted: it had to make room.
    pub evictions: u64,
}

/// A block that an executor holds at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBlock<'a> {
    /// RDD.
    pub rdd_id: u32,
    /// Partition.
    pub partition: u32,
    /// Executor.
    pub executor: &'a str,
    /// Memory it occupies, bytes.
    pub memory_bytes: i64,
    /// Disk it occupies, bytes.
    pub disk_bytes: i64,
}

/// Partitions of an RDD after an update.
struct Partitions {
    held: u32,
    is_new: bool,
}

impl Storage {
    pub(crate) fn add_rdd(&mut self, info: &RddInfo, strings: &mut StringTable) {
        let Some(id) = info.id.small_id() else { return };
        self.rdds.entry(id).or_insert_with(|| Rdd {
            name: strings.intern(&info.name),
            scope: info.operator.as_deref().map(|operator| strings.intern(operator)),
            parent_ids: info.parent_ids.as_slice().into(),
            num_partitions: info.num_partitions.small_id().unwrap_or(0),
        });
        // A level once set stays known; later stages may list the RDD after it was unpersisted.
        let level = info.storage_level;
        if level.use_memory || level.use_disk {
            self.cached.entry(id).or_default().storage_level = level;
        }
    }

    pub(crate) fn update_block(&mut self, info: &BlockUpdatedInfo) {
        self.block_updates += 1;
        let Some((rdd_id, partition)) = rdd_block(&info.block_id) else {
            self.update_broadcast(info);
            return;
        };
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
        let partitions = self.count_copies(rdd_id, partition, before.is_some(), held.is_some());
        let rdd = self.cached.entry(rdd_id).or_default();
        rdd.ever_cached_partitions += u32::from(partitions.is_new);
        rdd.peak_cached_partitions = rdd.peak_cached_partitions.max(partitions.held);
        rdd.evictions += u64::from(held.is_none() && before.is_some());
        rdd.memory_bytes += memory - memory_before;
        rdd.disk_bytes += disk - disk_before;
        rdd.peak_memory_bytes = rdd.peak_memory_bytes.max(rdd.memory_bytes);
        rdd.peak_disk_bytes = rdd.peak_disk_bytes.max(rdd.disk_bytes);
    }

    fn update_broadcast(&mut self, info: &BlockUpdatedInfo) {
        if !info.block_id.starts_with("broadcast_") {
            return;
        }
        let level = info.storage_level;
        let signed = |size: Option<i64>, is_held: bool| size.unwrap_or(0) * if is_held { 1 } else { -1 };
        let (memory, disk) = self.broadcasts.entry(info.manager.executor_id.clone()).or_default();
        *memory = (*memory + signed(info.memory_size.0, level.use_memory)).max(0);
        *disk = (*disk + signed(info.disk_size.0, level.use_disk)).max(0);
    }

    /// Keeps count of the partitions held, of a block that was held before and is held now.
    fn count_copies(&mut self, rdd_id: u32, partition: u32, was: bool, is: bool) -> Partitions {
        let is_new = is && !self.copies.contains_key(&(rdd_id, partition));
        let held = self.held.entry(rdd_id).or_default();
        if was != is {
            let copies = self.copies.entry((rdd_id, partition)).or_default();
            if is {
                *held += u32::from(*copies == 0);
                *copies += 1;
            } else {
                *copies = copies.saturating_sub(1);
                *held = held.saturating_sub(u32::from(*copies == 0));
            }
        }
        Partitions { held: *held, is_new }
    }

    pub(crate) fn unpersist(&mut self, rdd_id: u32) {
        self.blocks.retain(|(id, _, _), _| *id != rdd_id);
        self.held.remove(&rdd_id);
        for (_, copies) in self.copies.iter_mut().filter(|((id, _), _)| *id == rdd_id) {
            *copies = 0;
        }
        let rdd = self.cached.entry(rdd_id).or_default();
        rdd.unpersisted = true;
        rdd.memory_bytes = 0;
        rdd.disk_bytes = 0;
    }

    /// Blocks held at the end: by RDD, partition and executor, in this order.
    pub fn blocks(&self) -> Vec<HeldBlock<'_>> {
        let mut blocks: Vec<HeldBlock<'_>> = self
            .blocks
            .iter()
            .map(|((rdd_id, partition, executor), (memory_bytes, disk_bytes))| HeldBlock {
                rdd_id: *rdd_id,
                partition: *partition,
                executor,
                memory_bytes: *memory_bytes,
                disk_bytes: *disk_bytes,
            })
            .collect();
        blocks.sort_unstable_by_key(|block| (block.rdd_id, block.partition, block.executor));
        blocks
    }

    pub(crate) fn finish(&mut self) {
        let mut partitions: Vec<(u32, u32)> =
            self.blocks.keys().map(|(rdd, part, _)| (*rdd, *part)).collect();
        partitions.sort_unstable();
        partitions.dedup();
        for (rdd_id, _) in partitions {
            if let Some(rdd) = self.cached.get_mut(&rdd_id) {
                rdd.cached_partitions += 1;
            }
        }
    }
}

impl Run {
    /// Name of an RDD.
    pub fn rdd_name(&self, id: u32) -> Option<&str> {
        Some(self.strings.text(self.storage.rdds.get(&id)?.name))
    }

    /// Operator that made an RDD, e.g. `WholeStageCodegen (1)`.
    pub fn rdd_operator(&self, id: u32) -> Option<&str> {
        Some(self.strings.text(self.storage.rdds.get(&id)?.scope?))
    }
}

/// RDD and partition of a block id like `rdd_12_3`.
fn rdd_block(block_id: &str) -> Option<(u32, u32)> {
    let (rdd, partition) = block_id.strip_prefix("rdd_")?.split_once('_')?;
    Some((rdd.parse().ok()?, partition.parse().ok()?))
}
