//! What must stay the same from run to run, and what links one part of a run to another.

use crate::base::options;
use crate::fixtures::fixture_source;
use emberscope_log::block::ParseOptions;
use emberscope_model::config::ConfigOrigin;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_model::sql::MappingMethod;

fn run(name: &str) -> Run {
    load(
        &fixture_source(name),
        options(),
        ParseOptions { keep_plan_text: true, ..ParseOptions::default() },
        &|_| {},
    )
}

#[test]
fn stage_keys_of_the_same_program_agree() {
    // The same program, run twice with other codecs and ids.
    let keys =
        |name: &str| -> Vec<String> { run(name).stage_keys().values().map(ToString::to_string).collect() };
    let first = keys("codec-none-3.5.9");
    assert_eq!(first.len(), 3);
    for other in ["codec-zstd-3.5.9", "codec-lz4-3.5.9", "codec-snappy-3.5.9"] {
        assert_eq!(keys(other), first, "{other}");
    }
    let mut distinct = first.clone();
    distinct.dedup();
    assert_eq!(distinct, first);
}

#[test]
fn stages_of_adaptive_jobs_are_linked() {
    // Each query stage is a job of its own; a parent that was skipped there is the stage that ran before.
    for name in ["sql-aqe-3.5.9", "sql-aqe-4.3.0", "nested-sql-4.3.0"] {
        let run = run(name);
        let with_parents = run.stages.iter().filter(|stage| !stage.parent_ids.is_empty());
        let unlinked: Vec<u32> = with_parents
            .filter(|stage| stage.executed_parents.len() < stage.parent_ids.len())
            .map(|stage| stage.id)
            .collect();
        assert!(unlinked.is_empty(), "{name} {unlinked:?}");
        for stage in &run.stages {
            for parent in &stage.executed_parents {
                let ended = run.attempts(*parent).iter().filter_map(|attempt| attempt.completed_ms).min();
                assert!(ended <= stage.submitted_ms, "{name} stage {} before its parent {parent}", stage.id);
            }
        }
    }
}

#[test]
fn nodes_are_mapped_to_stages_of_their_own_query() {
    for name in ["sql-aqe-3.4.4", "sql-noaqe-3.5.9", "python-udf-4.3.0"] {
        let run = run(name);
        let (mut by_accumulators, mut all) = (0, 0);
        for execution in &run.sql_executions {
            let Some(plan) = run.final_plan(execution) else { continue };
            let own: Vec<(u32, u32)> =
                run.stages_of_sql(execution).iter().map(|stage| (stage.id, stage.attempt)).collect();
            for node in run.node_stages(execution, &plan) {
                all += 1;
                by_accumulators += usize::from(node.method == Some(MappingMethod::Accumulators));
                assert!(node.stages.iter().all(|stage| own.contains(stage)), "{name}");
            }
        }
        assert!(by_accumulators * 2 > all, "{name}: {by_accumulators} of {all}");
    }
}

#[test]
fn a_query_has_its_own_configuration() {
    let run = run("sql-aqe-3.5.9");
    let execution =
        run.sql_executions.iter().find(|execution| !execution.modified_configs.is_empty()).unwrap();
    let (key, value) = execution.modified_configs.iter().next().unwrap();
    let of_query = run.effective_config(Some(execution), key, |_| None).unwrap();
    assert_eq!((&of_query.value, of_query.origin), (value, ConfigOrigin::Query));
    let master = run.effective_config(Some(execution), "spark.master", |_| None).unwrap();
    assert_eq!(master.origin, ConfigOrigin::Application);
    let unset = run.effective_config(None, "spark.no.such.key", |_| Some("7".to_owned())).unwrap();
    assert_eq!((unset.value.as_str(), unset.origin), ("7", ConfigOrigin::Default));
}

#[test]
fn cached_blocks_are_seen_where_they_are_logged() {
    let run = run("cache-3.5.9");
    assert!(run.storage.block_updates > 0);
    assert!(run.storage.cached.values().any(|rdd| rdd.peak_memory_bytes > 0));
    let silent = self::run("cache-silent-3.4.4");
    assert_eq!(silent.storage.block_updates, 0);
    assert!(silent.storage.cached.values().all(|rdd| rdd.peak_memory_bytes == 0));
}

#[test]
fn streams_have_batches() {
    for name in ["streaming-3.5.9", "streaming-4.3.0"] {
        let run = run(name);
        assert!(run.streams.iter().any(|stream| stream.batches.len() > 1), "{name}");
        assert!(run.streams.iter().any(|stream| stream.exception.is_some()), "{name}");
        let batch =
            run.streams.iter().flat_map(|stream| &stream.batches).find(|batch| !batch.sources.is_empty());
        assert!(batch.is_some_and(|batch| batch.sources[0].num_input_rows.0.is_some()), "{name}");
    }
}

#[test]
fn a_connect_operation_meets_its_query() {
    let run = run("connect-4.3.0");
    let tags: Vec<&String> = run.connect.iter().filter_map(|event| event.job_tag.as_ref()).collect();
    assert!(!tags.is_empty());
    assert!(
        run.sql_executions.iter().any(|execution| tags.iter().any(|tag| execution.job_tags.contains(*tag)))
    );
}
