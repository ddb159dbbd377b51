//! Batches that take longer and longer for the same rows.

use super::series::{Batch, has_pauses};
use super::{SHORT_BATCHES, base};
use crate::context::Context;
use crate::detector::Threshold;
use crate::finding::{Change, Claim, Confidence, Nature};
use crate::words::{count, duration, rounded};

pub(super) const SLOWING_RATIO: Threshold = Threshold {
    tag: "STREAM",
    name: "slowing_ratio",
    default: 1.4,
    doc: "Times as long as the first of several batches of about the same rows the last one must take, each longer than the one before.",
};

/// How far rows of batches may lie apart to be about the same, as a share.
const SAME_ROWS: f64 = 0.1;

/// Whether batches that follow each other without a pause take longer and longer although they have as many rows as
/// before: something that every one of them reads or keeps grows.
///
/// The first batch starts the code and does not count, and with it none before the last that was quicker than the
/// one before it.
pub(super) fn slowing(ctx: &Context<'_>, all: &[Batch]) -> Option<Claim> {
    let fed: Vec<&Batch> = all.iter().skip(1).filter(|batch| batch.rows > 0).collect();
    let last = fed.last()?;
    if has_pauses(all.get(1..)?) {
        return None;
    }
    // Of each number of rows the run of growing batches at its end; the longest of these tells.
    let of_rows = |rows: i64| -> Vec<&Batch> {
        let is_same = |batch: &&Batch| (batch.rows - rows).abs() as f64 <= SAME_ROWS * rows as f64;
        let same: Vec<&Batch> = fed.iter().copied().filter(is_same).collect();
        let from =
            same.windows(2).rposition(|pair| pair[1].took_ms <= pair[0].took_ms).map_or(0, |at| at + 1);
        same[from..].to_vec()
    };
    let growing = fed.iter().map(|batch| of_rows(batch.rows)).max_by_key(Vec::len)?;
    let (first, longest) = (growing.first()?, growing.last()?);
    let ratio = longest.took_ms as f64 / first.took_ms.max(1) as f64;
    let is_enough = growing.len() as f64 >= ctx.get(&SHORT_BATCHES) && ratio >= ctx.get(&SLOWING_RATIO);
    // What comes after them took as long at least: it was no passing load.
    if !is_enough || last.took_ms < longest.took_ms {
        return None;
    }
    let title = format!(
        "{} of about {} took longer each time, {} at first and {} at last, and each began when the one before had ended",
        count(growing.len(), "batch"),
        count(usize::try_from(longest.rows).unwrap_or(0), "row"),
        duration(first.took_ms),
        duration(longest.took_ms)
    );
    let mut claim = base("triggerOverrun", title)
        .evidence("batches", fed.len())
        .evidence("batches_alike", growing.len())
        .evidence("rows", longest.rows)
        .evidence("first_batch_ms", first.took_ms)
        .evidence("last_batch_ms", longest.took_ms)
        .evidence("growth_ratio", rounded(ratio))
        .advice(
            "Look for what each batch reads or keeps that grows: a target that it merges into and reads whole, state, a list of \
             files. The jobs of an early and a late batch side by side tell which.",
        )
        .change(Change::code("batch", "read only what the batch touches: partitions of the target, files since the last"));
    claim.variant = Some("slowing");
    claim.nature = Nature::Code;
    claim.confidence = Confidence::Low;
    claim.validate =
        "Later batches of as many rows that are as quick as the first ones refute it.".to_owned();
    Some(claim)
}
