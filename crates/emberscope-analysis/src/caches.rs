//! What persisted data held, as far as block updates tell.

use crate::context::Context;
use emberscope_model::run::StageAttempt;

/// A persisted RDD that a stage attempt read, of which partitions were missing: its tasks computed them again.
/// `None` where all were there, or the log has no block updates.
pub(crate) fn partly_cached(context: &Context<'_>, stage: &StageAttempt) -> Option<u32> {
    let storage = &context.run.storage;
    if storage.block_updates == 0 {
        return None;
    }
    stage.rdd_ids.iter().copied().find(|id| {
        let partitions = storage.rdds.get(id).map_or(0, |rdd| rdd.num_partitions);
        storage.cached.get(id).is_some_and(|cached| {
            cached.ever_cached_partitions > 0
                && (cached.peak_cached_partitions < partitions || cached.evictions > 0)
        })
    })
}
