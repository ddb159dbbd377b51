//! A session: tables, limits, and answers.

use crate::catalog::Catalog;
use crate::describe;
use crate::dialect::{self, lateral::LateralViews, pivot::Pivots};
use crate::failure::Problem;
use crate::functions;
use crate::output::Writer;
use crate::run_keys::RunKeys;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::catalog::{CatalogProvider, SchemaProvider};
use datafusion::common::Result;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use emberscope_sql_protocol::{Done, Limits, QUALIFIED_NAME, Table};
use futures::StreamExt;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Memory the process takes beside what queries are granted: code, metadata of files, batches on their way.
const OVERHEAD_BYTES: u64 = 320 << 20;
/// Most rows of an answer that is planned as its first rows; a longer one is cut as it is told.
const MOST_FIRST_ROWS: u64 = 100_000;
/// Consumers of memory that an error names.
const NAMED_CONSUMERS: usize = 3;

/// Tables and what may be spent on queries of them.
pub(crate) struct Session {
    context: SessionContext,
    names: Vec<String>,
    tables: Vec<String>,
    catalog: Arc<Catalog>,
}

impl Session {
    pub(crate) fn open(tables: Vec<Table>, limits: &Limits) -> std::result::Result<Session, Problem> {
        let catalog = Catalog::new(tables)?;
        let names = catalog.names();
        let tables = catalog.table_names();
        let context = context(limits)?;
        let catalog = Arc::new(catalog);
        let schemas = Schemas(Arc::clone(&catalog));
        let root = context.state().config_options().catalog.default_catalog.clone();
        context.register_catalog(root, Arc::new(schemas));
        context.register_relation_planner(Arc::new(LateralViews))?;
        context.register_relation_planner(Arc::new(Pivots))?;
        functions::register(&context);
        Ok(Session { context, names, tables, catalog })
    }

    /// Answers one statement.
    pub(crate) async fn answer(
        &self,
        sql: &str,
        max_rows: Option<u64>,
        writer: &mut Writer<'_>,
    ) -> std::result::Result<Done, Problem> {
        let answered = match describe::statement(sql, &self.catalog) {
            Some(of_tables) => self.answer_query(&of_tables?, max_rows, writer).await,
            None => self.answer_query(sql, max_rows, writer).await,
        };
        answered.map_err(|problem| problem.placed_in(sql))
    }

    async fn answer_query(
        &self,
        sql: &str,
        max_rows: Option<u64>,
        writer: &mut Writer<'_>,
    ) -> std::result::Result<Done, Problem> {
        let statement = dialect::parse(sql, &self.names)?;
        let state = self.context.state();
        let plan = state.statement_to_plan(Statement::Statement(Box::new(statement))).await;
        let plan = plan.map_err(|error| Problem::from(error).with_tables(&self.tables))?;
        let reads_only =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        reads_only.verify_plan(&plan).map_err(|_| Problem::read_only())?;
        let metadata = qualified_names(&plan);
        let is_query = !matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
        let mut frame = DataFrame::new(state, plan);
        // The first of very many rows are kept in memory, where a sort of all of them can go to disk.
        if let (Some(max_rows @ ..=MOST_FIRST_ROWS), true) = (max_rows, is_query) {
            let one_more = usize::try_from(max_rows).unwrap_or(usize::MAX).saturating_add(1);
            frame = frame.limit(0, Some(one_more))?;
        }
        let mut stream = frame.execute_stream().await?;
        let schema = stream.schema();
        let fields = schema.fields().iter().zip(metadata);
        let fields: Vec<Field> =
            fields.map(|(field, metadata)| field.as_ref().clone().with_metadata(metadata)).collect();
        let mut writing = writer.begin(&Schema::new(fields))?;
        let mut left = max_rows.unwrap_or(u64::MAX);
        let (mut rows, mut is_cut) = (0, false);
        while let Some(batch) = stream.next().await {
            let mut batch = batch?;
            if batch.num_rows() as u64 > left {
                batch = batch.slice(0, left as usize);
                is_cut = true;
            }
            left -= batch.num_rows() as u64;
            rows += batch.num_rows() as u64;
            writing.batch(&batch)?;
            if is_cut {
                break;
            }
        }
        writing.finish()?;
        Ok(Done { rows, is_cut })
    }
}

/// The one schema there is.
#[derive(Debug)]
struct Schemas(Arc<Catalog>);

impl CatalogProvider for Schemas {
    fn schema_names(&self) -> Vec<String> {
        vec!["public".to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == "public").then(|| Arc::clone(&self.0) as Arc<dyn SchemaProvider>)
    }
}

fn context(limits: &Limits) -> Result<SessionContext> {
    let mut config = SessionConfig::new();
    if limits.threads > 0 {
        config = config.with_target_partitions(limits.threads);
    }
    let options = config.options_mut();
    // Names are spelled by `dialect::names`.
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.collect_spans = true;
    options.sql_parser.default_null_ordering = "nulls_min".to_owned();
    options.execution.parquet.schema_force_view_types = false;
    let granted = limits.memory_bytes.saturating_sub(OVERHEAD_BYTES).max(limits.memory_bytes / 2);
    let granted = usize::try_from(granted).unwrap_or(usize::MAX);
    let named = NonZeroUsize::new(NAMED_CONSUMERS).unwrap_or(NonZeroUsize::MIN);
    let pool = TrackConsumersPool::new(FairSpillPool::new(granted), named);
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::OsTmpDirectory)
        .with_max_temp_directory_size(limits.spill_bytes);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    let mut rules = PhysicalOptimizer::new().rules;
    // After all that moves columns, and before the filters that joins give to scans.
    let at = rules.iter().rposition(|rule| rule.name() == "ProjectionPushdown").map_or(0, |at| at + 1);
    rules.insert(at, Arc::new(RunKeys));
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_physical_optimizer_rules(rules);
    Ok(SessionContext::new_with_state(state.build()))
}

/// For each column of a plan, the name that its table is called by.
fn qualified_names(plan: &LogicalPlan) -> Vec<HashMap<String, String>> {
    let columns = plan.schema().iter();
    columns
        .map(|(table, field)| {
            let name = table.map(|table| format!("{}.{}", table.table(), field.name()));
            name.map(|name| (QUALIFIED_NAME.to_owned(), name)).into_iter().collect()
        })
        .collect()
}
