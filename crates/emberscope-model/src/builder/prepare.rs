//! What of a block can be made ready before its turn, on the thread that parsed it: plans and their
//! texts, which are most of some logs, are encoded, masked and compressed here.

use crate::blobs::{BlobPack, BlobRef};
use crate::plan;
use crate::redact;
use crate::sql::IdRanges;
use emberscope_log::block::ParsedBlock;
use emberscope_log::event::Event;
use emberscope_log::event::sql::SqlPlanEvent;

/// A parsed block that is ready to be merged.
#[derive(Debug, Default)]
pub struct PreparedBlock {
    pub(super) block: ParsedBlock,
    /// Of its plan events, in their order.
    pub(super) plans: Vec<PreparedPlan>,
    pub(super) blobs: BlobPack,
}

/// One version of a plan; places are those of the block's blobs.
#[derive(Debug, Default)]
pub(super) struct PreparedPlan {
    pub(super) tree: Option<BlobRef>,
    pub(super) text: Option<BlobRef>,
    pub(super) nodes: u32,
    pub(super) metric_ids: IdRanges,
}

impl PreparedBlock {
    /// Makes a block ready.
    pub fn new(mut block: ParsedBlock) -> Self {
        let (mut plans, mut blobs) = (Vec::new(), BlobPack::default());
        for (_, event) in &mut block.others {
            if let Event::SqlStart(event) | Event::SqlPlanUpdate(event) = event {
                plans.push(PreparedPlan::new(event, &mut blobs));
            }
        }
        blobs.finish();
        PreparedBlock { block, plans, blobs }
    }
}

impl PreparedPlan {
    /// Takes the bulk out of an event.
    fn new(event: &mut SqlPlanEvent, blobs: &mut BlobPack) -> Self {
        let mut prepared = PreparedPlan::default();
        if let Some(tree) = event.plan.take() {
            prepared.tree = Some(blobs.put(&plan::encode(&tree)));
            prepared.nodes = tree.nodes.len() as u32;
            prepared.metric_ids = tree.metrics.iter().map(|metric| metric.accumulator_id).collect();
        }
        prepared.text = event.plan_text.take().map(|text| blobs.put(redact::text(&text).as_bytes()));
        prepared
    }
}
