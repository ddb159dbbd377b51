//! Plans that take long to make because they are huge.

use super::{TAG, count_text, threshold};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::plan::SqlView;
use crate::replay::Edit;
use crate::words;
use emberscope_model::intervals::union_ms;

const KIND: &str = "hugePlan";

const MIN_NODES: Threshold = threshold("huge_plan_min_nodes", 200.0, "Operators from which a plan is huge.");
const MIN_TEXT_BYTES: Threshold = threshold(
    "huge_plan_min_text_bytes",
    1048576.0,
    "Size of the plan's text from which a plan is huge, bytes.",
);
const PER_NODE_MS: Threshold = threshold(
    "huge_plan_normal_ms",
    500.0,
    "Time before a query's first job that is normal for any plan, milliseconds.",
);

/// Plans that take long to make because they are huge.
pub static HUGE_PLAN: Detector = Detector {
    tag: TAG,
    title: "Huge plans",
    types: &[FindingType {
        name: KIND,
        what: "The driver takes long to plan a query of very many operators.",
    }],
    thresholds: &[MIN_NODES, MIN_TEXT_BYTES, PER_NODE_MS],
    checks: &[Check::Sql(check)],
    what: "A query's plan has very many operators, or its text is very long, and time passed in the driver between the query's \
start and its first job, while no job of the application ran.",
    rule: "At least `huge_plan_min_nodes` operators in any version of the plan, or a plan text of `huge_plan_min_text_bytes`, \
and more than `huge_plan_normal_ms` of driver-only time before the first job that matters for the run. A long wait before \
the first job with a plan of normal size has other reasons (listing files, reading schemas) and is not reported here.",
    why: "Analysis, optimisation and code generation walk the whole plan many times, adaptive execution again after every stage; \
columns added in a loop, unions of hundreds of frames and long chains of joins make trees that grow with every step. The \
plan's text is written to the event log with every update.",
    fix: "Add columns in one `select` instead of `withColumn` in a loop: `df.select(\"*\", *[F.col(c).alias(c + \"_x\") for c in cols])` \
or `df.withColumns({...})`. Cut the lineage of iterative algorithms: `df = df.checkpoint()` or `localCheckpoint()`, or write and \
read the intermediate result. Read many files in one `spark.read.parquet(*paths)` instead of a union of frames. In Spark SQL put \
intermediate results into tables.",
    limits: "Driver time before the first job also holds listing of files and reading of footers; the saving ranges from nothing \
to that time beyond `huge_plan_normal_ms`.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    let versions = &view.execution.versions;
    let nodes = versions.iter().map(|version| version.nodes).max().unwrap_or(0).max(view.nodes.len() as u32);
    let text_bytes = versions.iter().map(|version| version.text_bytes).max().unwrap_or(0);
    let is_huge =
        f64::from(nodes) >= context.get(&MIN_NODES) || text_bytes as f64 >= context.get(&MIN_TEXT_BYTES);
    let first = view
        .execution
        .job_ids
        .iter()
        .filter_map(|id| context.run.job(*id))
        .find(|job| job.start_ms.is_some());
    let (true, Some(start), Some(job)) = (is_huge, view.execution.start_ms, first) else { return };
    let idle_ms = driver_only_ms(context, start, job.start_ms.unwrap_or(start));
    let extra_ms = idle_ms - context.get(&PER_NODE_MS) as i64;
    if extra_ms <= 0 || context.is_immaterial(extra_ms) {
        return;
    }
    let all_text: u64 = versions.iter().map(|version| version.text_bytes).sum();
    let scope = Scope { sql_id: Some(view.execution.id), job_id: Some(job.id), ..Scope::default() };
    let mut claim = Claim::new(
        KIND,
        scope,
        format!("A plan of {} operators took {} before its first job", count_text(i64::from(nodes)), words::duration(idle_ms)),
    )
    .evidence("operators", nodes)
    .evidence("plan_text_bytes", text_bytes)
    .evidence("plan_versions", versions.len())
    .evidence("planning_ms", idle_ms)
    .advice(format!(
        "Make the plan smaller: columns in one select instead of a loop, checkpoints in iterations, one read instead of a union of many frames. The plan's versions take {} of the event log.",
        words::size(i64::try_from(all_text).unwrap_or(i64::MAX))
    ))
    .change(Change::code("plan", "fewer operators: one select, checkpoint, one read"));
    claim.nature = Nature::Code;
    claim.confidence = Confidence::Medium;
    claim.validate = "Take thread dumps of the driver in that time: if it lists files or reads schemas instead of planning, the reason is that.".to_owned();
    claim.worth =
        Worth::Replay { low: Vec::new(), high: vec![Edit::JobSooner { job: job.id, by_ms: extra_ms }] };
    sink.claim(claim);
}

/// Time between two moments in which no job ran.
fn driver_only_ms(context: &Context<'_>, from: i64, to: i64) -> i64 {
    let spans = context.run.jobs.iter().filter_map(|job| {
        let (start, end) = (job.start_ms?.max(from), job.end_ms.unwrap_or(context.end_ms).min(to));
        (start < end).then_some((start, end))
    });
    (to - from - union_ms(spans)).max(0)
}
