//! Plans of scans: files of one form and the same columns are read together.

use crate::catalog::ReportTable;
use crate::reading::InPlace;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::{
    ColumnStatistics, DataFusionError, Result, ScalarValue, Statistics, project_schema,
};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfigBuilder, FileSource, JsonSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::{ObjectMeta, ObjectStore, path::Path as StorePath};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::union::UnionExec;
use emberscope_sql_protocol::{File, Format};
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// Bytes of a first line that are looked at.
const FIRST_LINE_BYTES: u64 = 4 << 20;

/// Files whose columns come from the same places: form, and the table's columns that their directories or their
/// statistics give.
type Group = (Format, BTreeSet<usize>);
/// All files of a table.
pub(crate) type Groups = BTreeMap<Group, Vec<PartitionedFile>>;

/// The plan that reads all files of a table.
pub(crate) async fn plan(
    table: &ReportTable,
    state: &dyn Session,
    projection: Option<&Vec<usize>>,
    limit: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let url = ObjectStoreUrl::local_filesystem();
    let groups = table.groups.get_or_try_init(|| open_all(table, state, &url)).await?;
    let mut plans = Vec::new();
    for (group, files) in groups {
        plans.push(of_group(table, state, &url, group, files.clone(), projection, limit)?);
    }
    match plans.len() {
        0 => Ok(Arc::new(EmptyExec::new(project_schema(&table.schema, projection)?))),
        1 => Ok(plans.remove(0)),
        _ => UnionExec::try_new(plans),
    }
}

/// Looks into all files of a table, which is done once in a session.
async fn open_all(table: &ReportTable, state: &dyn Session, url: &ObjectStoreUrl) -> Result<Groups> {
    let store = state.runtime_env().object_store(url)?;
    let concurrency = state.config_options().execution.meta_fetch_concurrency.get();
    let mut groups = Groups::new();
    // Futures made beforehand, since a closure that borrows a file is not general enough for the trait's own.
    let opening: Vec<_> = table.files.iter().map(|file| open(table, state, &store, file)).collect();
    let mut opened = stream::iter(opening).buffered(concurrency);
    while let Some((group, file)) = opened.try_next().await? {
        groups.entry(group).or_default().push(file);
    }
    Ok(groups)
}

async fn open(
    table: &ReportTable,
    state: &dyn Session,
    store: &Arc<dyn ObjectStore>,
    file: &File,
) -> Result<(Group, PartitionedFile)> {
    let meta = ObjectMeta {
        location: StorePath::from_absolute_path(&file.path)?,
        last_modified: Default::default(),
        size: file.bytes,
        e_tag: None,
        version: None,
    };
    let unread = |error: DataFusionError| error.context(format!("{}: cannot be read", file.path));
    // The columns that directories could give.
    let could = || {
        let columns = table.columns.fields().iter().enumerate();
        columns.filter(|(_, column)| {
            file.directories.iter().any(|(key, _)| key.eq_ignore_ascii_case(column.name()))
        })
    };
    let mut given = BTreeSet::new();
    if !file.is_own && could().next().is_some() {
        let has = columns_of(state, store, &meta, file).await.map_err(unread)?;
        given.extend(could().filter(|(_, column)| !has.contains(column.name())).map(|(n, _)| n));
    }
    let mut values: BTreeMap<usize, ScalarValue> =
        given.iter().map(|n| (*n, ReportTable::directory_value(file, table.columns.field(*n)))).collect();
    let mut statistics = None;
    if file.format == Format::Parquet {
        let schema = file_schema(table, &given);
        let own: Vec<usize> = (0..table.columns.fields().len()).filter(|n| !given.contains(n)).collect();
        let mut read =
            ParquetFormat::default().infer_stats(state, store, schema, &meta).await.map_err(unread)?;
        let same: BTreeMap<usize, ScalarValue> = own
            .iter()
            .zip(&read.column_statistics)
            .filter(|(n, _)| OF_THE_RUN.contains(&table.columns.field(**n).name().as_str()))
            .filter_map(|(n, column)| Some((*n, one_value(&read.num_rows, column)?)))
            .collect();
        let columns = own.iter().zip(std::mem::take(&mut read.column_statistics));
        read.column_statistics =
            columns.filter(|(n, _)| !same.contains_key(n)).map(|(_, column)| column).collect();
        given.extend(same.keys().copied());
        values.extend(same);
        statistics = Some(Arc::new(read));
    }
    let mut values: Vec<ScalarValue> = values.into_values().collect();
    let more = table.schema.fields().iter().skip(table.columns.fields().len());
    values.extend(more.map(|column| ReportTable::directory_value(file, column)));
    let mut opened = PartitionedFile::new_from_meta(meta).with_partition_values(values);
    if let Some(statistics) = statistics {
        opened = opened.with_statistics(statistics);
    }
    Ok(((file.format, given), opened))
}

/// Columns that have one value in all rows of a run. Most files hold one run, and all joins go over these columns:
/// taken from a file's statistics, they are read as if its directory told them, without decoding a row.
const OF_THE_RUN: [&str; 2] = ["applicationId", "applicationAttempt"];

/// The value that all rows of a column have, by statistics; `None` where they may differ, or there are no rows.
fn one_value(rows: &Precision<usize>, column: &ColumnStatistics) -> Option<ScalarValue> {
    let (Precision::Exact(rows), Precision::Exact(nulls)) = (rows, &column.null_count) else { return None };
    let (Precision::Exact(least), Precision::Exact(most)) = (&column.min_value, &column.max_value) else {
        return (*rows > 0 && nulls == rows).then_some(ScalarValue::Utf8(None));
    };
    if *rows > 0 && nulls == rows {
        return Some(ScalarValue::Utf8(None));
    }
    (*nulls == 0 && least == most && matches!(least, ScalarValue::Utf8(Some(_)))).then(|| least.clone())
}

/// The names of the columns that a file has itself.
async fn columns_of(
    state: &dyn Session,
    store: &Arc<dyn ObjectStore>,
    meta: &ObjectMeta,
    file: &File,
) -> Result<BTreeSet<String>> {
    match file.format {
        Format::Parquet => {
            let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
            let read = DFParquetMetadata::new(store.as_ref(), meta).with_file_metadata_cache(Some(cache));
            let schema = read.fetch_schema().await?;
            Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
        }
        Format::Ndjson => {
            let mut line = String::new();
            let opened = std::fs::File::open(&file.path)?;
            BufReader::new(opened.take(FIRST_LINE_BYTES)).read_line(&mut line)?;
            // A damaged line is told when the rows are read.
            let row: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(&line).unwrap_or_default();
            Ok(row.into_iter().map(|(key, _)| key).collect())
        }
    }
}

/// The columns that are read from the files of a group.
fn file_schema(table: &ReportTable, given: &BTreeSet<usize>) -> SchemaRef {
    let fields = table.columns.fields().iter().enumerate().filter(|(n, _)| !given.contains(n));
    Arc::new(Schema::new(fields.map(|(_, field)| Arc::clone(field)).collect::<Vec<FieldRef>>()))
}

fn of_group(
    table: &ReportTable,
    state: &dyn Session,
    url: &ObjectStoreUrl,
    (format, given): &Group,
    files: Vec<PartitionedFile>,
    projection: Option<&Vec<usize>>,
    limit: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let own = file_schema(table, given);
    let all = table.schema.fields();
    let count = table.columns.fields().len();
    let mut directory_fields: Vec<FieldRef> = given.iter().map(|n| Arc::clone(&all[*n])).collect();
    directory_fields.extend(all.iter().skip(count).cloned());
    let schema = TableSchema::builder(own).with_table_partition_cols(directory_fields).build();

    // From the table's order of columns to the group's.
    let index = |n: usize| schema.table_schema().index_of(all[n].name());
    let wanted: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..all.len()).collect());
    let wanted = wanted.into_iter().map(index).collect::<Result<Vec<_>, _>>()?;

    let statistics = statistics(schema.table_schema(), schema.file_schema().fields().len(), &files);
    let source: Arc<dyn FileSource> = match format {
        Format::Parquet => {
            let footers = state.runtime_env().cache_manager.get_file_metadata_cache();
            let reader = Arc::new(InPlace::new(state.runtime_env().object_store(url)?, footers));
            let source = ParquetSource::new(schema).with_parquet_file_reader_factory(reader);
            Arc::new(source)
        }
        Format::Ndjson => Arc::new(JsonSource::new(schema)),
    };
    let groups = FileGroup::new(files).split_files(state.config().target_partitions());
    let config = FileScanConfigBuilder::new(url.clone(), source)
        .with_file_groups(groups)
        .with_statistics(statistics)
        .with_projection_indices(Some(wanted))?
        .with_limit(limit)
        .build();
    Ok(DataSourceExec::from_data_source(config))
}

/// What is known of all files together: enough to know which side of a join is the small one.
fn statistics(schema: &Schema, own: usize, files: &[PartitionedFile]) -> Statistics {
    let mut of_files = files.iter().map(|file| file.statistics.as_deref());
    let Some(mut sum) = of_files.next().flatten().cloned() else {
        return Statistics::new_unknown(schema);
    };
    for of_file in of_files {
        let Some(of_file) = of_file else { return Statistics::new_unknown(schema) };
        sum.num_rows = sum.num_rows.add(&of_file.num_rows);
        sum.total_byte_size = sum.total_byte_size.add(&of_file.total_byte_size);
    }
    let mut all = Statistics::new_unknown(schema);
    debug_assert!(own <= all.column_statistics.len());
    all.num_rows = sum.num_rows;
    all.total_byte_size = match sum.total_byte_size {
        Precision::Absent => Precision::Absent,
        known => known.to_inexact(),
    };
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Field;

    #[test]
    fn columns_that_directories_give_are_not_read() {
        let columns = Arc::new(Schema::new(vec![
            Field::new("a", datafusion::arrow::datatypes::DataType::Int32, true),
            Field::new("b", datafusion::arrow::datatypes::DataType::Int32, true),
        ]));
        let table = ReportTable::of(Arc::clone(&columns), columns, Vec::new());
        let schema = file_schema(&table, &BTreeSet::from([0]));
        assert_eq!(schema.fields().len(), 1);
        assert_eq!(schema.field(0).name(), "b");
    }
}
