//! Everything a run knows, as text that does not depend on how it was read.

use emberscope_log::columns::{TASK_COLUMNS, Unit};
use emberscope_model::run::Run;
use emberscope_model::summary::summarize;
use std::fmt::Write;

pub(crate) fn dump(run: &Run) -> String {
    let mut out = String::new();
    let mut summary = serde_json::to_value(summarize(run)).unwrap();
    // How the bytes came is not part of what they say.
    for key in ["files", "truncated_at"] {
        summary["trust"].as_object_mut().unwrap().remove(key);
    }
    let _ = writeln!(out, "{summary:#}");
    let _ = writeln!(out, "{:#?}", run.jobs);
    let _ = writeln!(out, "{:#?}", run.executors);
    let _ = writeln!(out, "{:#?}", run.unsubmitted_stages);
    let _ = writeln!(out, "{:#?}\n{:#?}\n{:#?}", run.storage.cached, run.streams, run.failures);
    let _ = writeln!(out, "{:?}\n{:#?}", run.storage.blocks(), run.task_errors);
    for (id, rdd) in &run.storage.rdds {
        let texts = (run.rdd_name(*id), run.rdd_operator(*id));
        let _ = writeln!(out, "rdd {id} {texts:?} {:?} {}", rdd.parent_ids, rdd.num_partitions);
    }
    for stage in &run.stages {
        let _ = writeln!(
            out,
            "stage {}.{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} parents {:?} rdds {:?} {:?} {:?} {:?}",
            stage.id,
            stage.attempt,
            stage.status,
            stage.num_tasks,
            stage.submitted_ms,
            stage.completed_ms,
            stage.first_launch_ms,
            stage.last_finish_ms,
            stage.failure_reason,
            stage.executed_parents,
            stage.rdd_ids,
            stage.accumulators,
            stage.sql_metric_values,
            stage.executor_peaks,
        );
        dump_tasks(run, stage, &mut out);
    }
    for execution in &run.sql_executions {
        let _ = writeln!(
            out,
            "sql {} {:?} {:?} {:?} {:?} {:?} jobs {:?} {:?}",
            execution.id,
            execution.root_id,
            execution.description,
            execution.start_ms,
            execution.end_ms,
            execution.status,
            execution.job_ids,
            execution.modified_configs
        );
        for version in &execution.versions {
            let tree = run.plan_tree(version);
            let text = version.text.and_then(|text| run.blob_text(text));
            let _ = writeln!(out, "  plan {tree:?} {text:?}");
            if let Some(tree) = tree {
                let _ = writeln!(out, "  nodes {:?}", run.node_stages(execution, &tree));
            }
        }
        let _ = writeln!(out, "  metrics {:?}", run.sql_metrics(execution));
    }
    out
}

fn dump_tasks(run: &Run, stage: &emberscope_model::run::StageAttempt, out: &mut String) {
    let statuses = stage.tasks.statuses();
    let columns: Vec<_> = TASK_COLUMNS.iter().map(|def| (def, stage.tasks.column(def.column))).collect();
    let mut updates: Vec<Vec<(u64, i64)>> = vec![Vec::new(); stage.tasks.rows()];
    stage.tasks.for_each_accumulator(|id, row, value| updates[row].push((id, value)));
    for row in stage.tasks.canonical_rows() {
        let _ = write!(out, "  task {:?} useful {}", statuses[row], stage.tasks.useful().contains(row));
        for (def, column) in &columns {
            match column[row] {
                Some(text) if def.unit == Unit::Text => {
                    let _ = write!(out, " {}={}", def.name, run.strings.text(text as u32));
                }
                Some(value) => {
                    let _ = write!(out, " {}={value}", def.name);
                }
                None => {}
            }
        }
        updates[row].sort_unstable();
        let _ = writeln!(out, " {:?}", updates[row]);
    }
    let mut lost: Vec<String> = stage.tasks.lost().iter().map(|(_, cause)| cause.name().to_owned()).collect();
    lost.sort_unstable();
    let _ = writeln!(out, "  lost {lost:?}");
}
