//! Small files that the batches of a streaming query write: few in each, many together.

use super::small_files::{
    KIND, MAX_MEAN_BYTES, MIN_FILES, WRITE_HIGH_MS, WRITE_LOW_MS, target_files, worth, writing_stages,
};
use super::{count_text, rounded, scope};
use crate::context::Context;
use crate::detector::{Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature};
use crate::plan::exchange::Place;
use crate::plan::text::last_part;
use crate::plan::write::writes;
use crate::words;
use emberscope_model::sql::SqlExecution;
use std::collections::BTreeMap;

pub(super) const MIN_BATCH_FILES: Threshold = super::threshold(
    "small_files_min_batch_files",
    8.0,
    "Files by batch of a streaming query, beyond one for each partition of the table, from which its batches are looked at together.",
);

/// What the batches of one streaming query wrote to one place.
#[derive(Default)]
struct Written {
    /// The first of them: execution and node.
    first: Option<(u64, u32)>,
    target: String,
    batches: usize,
    files: i64,
    needed: i64,
    bytes: i64,
    places: Vec<Place>,
}

pub(super) fn check(context: &Context<'_>, sink: &mut Sink) {
    let mut written: BTreeMap<(String, String), Written> = BTreeMap::new();
    for execution in context.run.sql_executions.iter().filter(|one| context.queries().contains(&one.id)) {
        if let Some(query) = streaming_query(context, execution) {
            collect(context, execution, query, &mut written);
        }
    }
    for of_query in written.into_values() {
        claim(context, &of_query, sink);
    }
}

/// The streaming query that a batch's execution belongs to.
fn streaming_query<'r>(context: &Context<'r>, execution: &SqlExecution) -> Option<&'r str> {
    execution.job_ids.iter().find_map(|id| context.run.job(*id)?.streaming_query_id.as_deref())
}

fn collect(
    context: &Context<'_>,
    execution: &SqlExecution,
    query: &str,
    written: &mut BTreeMap<(String, String), Written>,
) {
    let Some(view) = context.sql_view(execution.id) else { return };
    for target in writes(&view) {
        let (Some(files), Some(bytes)) = (target.files, target.bytes) else { continue };
        let needed = target_files(context, bytes).max(target.partitions.unwrap_or(0));
        // A batch of many files is told by itself.
        if files <= 0 || files as f64 > context.get(&MIN_FILES) {
            continue;
        }
        let name = target.target.clone().unwrap_or_default();
        let of_query = written.entry((query.to_owned(), name.clone())).or_default();
        of_query.first.get_or_insert((execution.id, target.node));
        of_query.target = name;
        of_query.batches += 1;
        of_query.files += files;
        of_query.needed += needed;
        of_query.bytes += bytes;
        of_query.places.extend(writing_stages(&view, target.node));
    }
}

fn claim(context: &Context<'_>, written: &Written, sink: &mut Sink) {
    let mean = written.bytes as f64 / written.files.max(1) as f64;
    let fewer = written.files - written.needed;
    let is_many = written.files as f64 > context.get(&MIN_FILES)
        && fewer as f64 >= context.get(&MIN_BATCH_FILES) * written.batches as f64;
    if written.batches < 2 || !is_many || mean >= context.get(&MAX_MEAN_BYTES) {
        return;
    }
    let Some((id, node)) = written.first else { return };
    let Some(view) = context.sql_view(id) else { return };
    let name = if written.target.is_empty() { "the output" } else { last_part(&written.target) };
    let by_batch = (written.needed as f64 / written.batches as f64).ceil().max(1.0) as usize;
    let mut claim = Claim::new(
        KIND,
        scope(&view, node),
        format!(
            "{} of a streaming query write {} files of {} on average to {name}",
            words::count(written.batches, "batch"),
            count_text(written.files),
            words::size(mean as i64)
        ),
    )
    .evidence("batches", written.batches)
    .evidence("files", written.files)
    .evidence("mean_file_bytes", mean as i64)
    .evidence("written_bytes", written.bytes)
    .evidence("files_per_batch", rounded(written.files as f64 / written.batches as f64))
    .advice(format!(
        "Write about {} in each batch: coalesce or repartition before the write. A longer trigger interval makes fewer and larger ones, and what is there already needs compacting.",
        words::count(by_batch, "file")
    ))
    .change(Change::code("files", format!("about {} a batch: coalesce or repartition before the write", words::count(by_batch, "file"))));
    claim.variant = Some("write");
    claim.nature = Nature::Code;
    claim.subject = name.to_owned();
    claim.confidence = Confidence::Medium;
    claim.validate = "Write with fewer partitions and compare the batches' writing stages; fewer files must not leave cores idle.".to_owned();
    let mut places = written.places.clone();
    places.sort_unstable();
    places.dedup();
    worth(context, &mut claim, &places, fewer, (context.get(&WRITE_LOW_MS), context.get(&WRITE_HIGH_MS)));
    sink.claim(claim);
}
