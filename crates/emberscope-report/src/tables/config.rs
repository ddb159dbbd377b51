//! The `config` table.

use super::{Columns, Emit, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::run::Run;

pub(crate) struct Row<'r> {
    run: &'r Run,
    kind: &'static str,
    sql_id: Option<u64>,
    key: &'r str,
    value: Option<&'r str>,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "kind" Text [""] "spark, hadoop, system, jvm or metrics; query for what an execution changed", "section of the environment update" => |r| r.kind.into();
    "sql_id" Long [""] "Execution that changed it; null for the application's own", "`modifiedConfigs`" => |r| r.sql_id.into();
    "key" Text [""] "Name", "as logged" => |r| r.key.into();
    "value" Text [""] "Value, secrets masked; null where the log has none", "as logged; of several environment updates the last" => |r| r.value.into();
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let environment = &run.environment;
    let sections = [
        ("spark", &environment.spark),
        ("hadoop", &environment.hadoop),
        ("system", &environment.system),
        ("jvm", &environment.jvm),
        ("metrics", &environment.metrics),
    ];
    let of_application = sections.into_iter().flat_map(|(kind, properties)| {
        properties.iter().map(move |(key, value)| Row {
            run,
            kind,
            sql_id: None,
            key,
            value: value.0.as_deref(),
        })
    });
    let of_queries = run.sql_executions.iter().flat_map(|sql| {
        sql.modified_configs.iter().map(|(key, value)| Row {
            run,
            kind: "query",
            sql_id: Some(sql.id),
            key,
            value: Some(value),
        })
    });
    let rows = of_application.chain(of_queries);
    produce_rows(Report::Config, rows, |row, column| (COLUMNS[column].read)(row), emit)
}
