//! `/storage/rdd`: RDDs with blocks that are still cached, where the log tells of blocks.

use super::executors::{Held, host_port};
use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::Refusal;
use emberscope_log::event::app::StorageLevel;
use emberscope_model::run::Run;
use emberscope_model::storage::{CachedRdd, HeldBlock};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn list(opened: &Opened) -> Answer {
    let run = &opened.run;
    let cached = run.storage.cached.iter().filter(|(_, rdd)| rdd.cached_partitions > 0);
    json(&cached.map(|(id, rdd)| info(run, *id, rdd)).collect::<Vec<_>>())
}

pub(super) fn one(opened: &Opened, id: u32) -> Answer {
    let run = &opened.run;
    match run.storage.cached.get(&id).filter(|rdd| !rdd.unpersisted) {
        Some(rdd) => json(&info(run, id, rdd)),
        None => Err(Refusal::not_found(format!("no rdd found w/ id {id}"))),
    }
}

fn info(run: &Run, id: u32, rdd: &CachedRdd) -> Value {
    let level = level_name(rdd.storage_level);
    let all = run.storage.blocks();
    let blocks: Vec<&HeldBlock<'_>> = all.iter().filter(|block| block.rdd_id == id).collect();
    json!({
        "id": id,
        "name": run.rdd_name(id).unwrap_or_default(),
        "numPartitions": run.storage.rdds.get(&id).map_or(0, |rdd| rdd.num_partitions),
        "numCachedPartitions": rdd.cached_partitions,
        "storageLevel": level,
        "memoryUsed": rdd.memory_bytes,
        "diskUsed": rdd.disk_bytes,
        "dataDistribution": distribution(run, &blocks),
        "partitions": partitions(id, &level, &blocks),
    })
}

/// `StorageLevel.description`.
fn level_name(level: StorageLevel) -> String {
    let mut name = String::new();
    if level.use_disk {
        name.push_str("Disk ");
    }
    if level.use_memory {
        name.push_str(if level.use_off_heap { "Memory (off heap) " } else { "Memory " });
    }
    let kind = if level.deserialized { "Deserialized" } else { "Serialized" };
    format!("{name}{kind} {}x Replicated", level.replication.0.unwrap_or(1))
}

fn distribution(run: &Run, blocks: &[&HeldBlock<'_>]) -> Vec<Value> {
    let mut by_executor: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for block in blocks {
        let (memory, disk) = by_executor.entry(block.executor).or_default();
        *memory += block.memory_bytes;
        *disk += block.disk_bytes;
    }
    let shown = by_executor.into_iter().map(|(id, (memory, disk))| {
        let executor = run.executors.iter().find(|executor| executor.id == id);
        let total = executor.and_then(|executor| executor.maximum_memory_bytes).unwrap_or(0);
        let remaining = (total - Held::of(run, id).memory).max(0);
        json!({
            "address": executor.map(host_port).unwrap_or_default(),
            "memoryUsed": memory,
            "memoryRemaining": remaining,
            "diskUsed": disk,
            "onHeapMemoryUsed": memory,
            "offHeapMemoryUsed": 0,
            "onHeapMemoryRemaining": remaining,
            "offHeapMemoryRemaining": 0,
        })
    });
    shown.collect()
}

fn partitions(id: u32, level: &str, blocks: &[&HeldBlock<'_>]) -> Vec<Value> {
    let copies = blocks.chunk_by(|one, next| one.partition == next.partition);
    let shown = copies.map(|copies| {
        json!({
            "blockName": format!("rdd_{id}_{}", copies[0].partition),
            "storageLevel": level,
            "memoryUsed": copies.iter().map(|block| block.memory_bytes).sum::<i64>(),
            "diskUsed": copies.iter().map(|block| block.disk_bytes).sum::<i64>(),
            "executors": copies.iter().map(|block| block.executor).collect::<Vec<_>>(),
        })
    });
    shown.collect()
}
