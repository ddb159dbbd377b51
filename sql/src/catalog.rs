//! The tables of a session: which there are, and how their files are read.

use crate::scan::{self, Groups};
use crate::types;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use emberscope_sql_protocol as protocol;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// All tables by name.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    tables: BTreeMap<String, Arc<ReportTable>>,
}

impl Catalog {
    pub(crate) fn new(tables: Vec<protocol::Table>) -> Result<Self> {
        let tables =
            tables.into_iter().map(|table| Ok((table.name.clone(), Arc::new(ReportTable::new(table)?))));
        Ok(Catalog { tables: tables.collect::<Result<_>>()? })
    }

    /// Every table with its columns.
    pub(crate) fn table_columns(&self) -> impl Iterator<Item = (&str, &SchemaRef)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), &table.schema))
    }

    /// Names of tables and of their columns, fields of structs included.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tables.keys().cloned().collect();
        for table in self.tables.values() {
            table.schema.fields().iter().for_each(|field| collect_names(field, &mut names));
        }
        names
    }
}

fn collect_names(field: &Field, names: &mut Vec<String>) {
    names.push(field.name().clone());
    collect_inner(field.data_type(), names);
}

fn collect_inner(ty: &DataType, names: &mut Vec<String>) {
    match ty {
        DataType::Struct(fields) => fields.iter().for_each(|field| collect_names(field, names)),
        DataType::List(item) => collect_inner(item.data_type(), names),
        _ => {}
    }
}

#[async_trait]
impl SchemaProvider for Catalog {
    fn table_names(&self) -> Vec<String> {
        self.tables.keys().cloned().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let name = name.to_ascii_lowercase();
        Ok(self.tables.get(&name).map(|table| Arc::clone(table) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.contains_key(&name.to_ascii_lowercase())
    }
}

/// A table over files of many runs. Its columns are the table's own and, after them, the `key=value`
/// directories that are none of them.
#[derive(Debug)]
pub(crate) struct ReportTable {
    /// The table's own columns.
    pub(crate) columns: SchemaRef,
    /// All columns.
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<protocol::File>,
    /// What the files are, once that was looked at.
    pub(crate) groups: OnceCell<Groups>,
}

impl ReportTable {
    fn new(table: protocol::Table) -> Result<Self> {
        let mut fields = Vec::new();
        for column in &table.columns {
            match types::parse(&column.ty) {
                Ok(ty) => fields.push(Field::new(&column.name, ty, true)),
                Err(reason) => return plan_err!("type of {}.{}: {reason}", table.name, column.name),
            }
        }
        let columns = Arc::new(Schema::new(fields.clone()));
        fields.extend(directory_columns(&columns, &table.files));
        Ok(ReportTable::of(columns, Arc::new(Schema::new(fields)), table.files))
    }

    /// Of these columns.
    pub(crate) fn of(columns: SchemaRef, schema: SchemaRef, files: Vec<protocol::File>) -> Self {
        ReportTable { columns, schema, files, groups: OnceCell::new() }
    }

    /// The value that the directories of `file` give for a column.
    pub(crate) fn directory_value(file: &protocol::File, column: &Field) -> ScalarValue {
        let null = || ScalarValue::try_from(column.data_type()).unwrap_or(ScalarValue::Null);
        let found = file.directories.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(column.name()));
        match found {
            Some((_, value)) if value != HIVE_NULL => {
                ScalarValue::try_from_string(value.clone(), column.data_type()).unwrap_or_else(|_| null())
            }
            _ => null(),
        }
    }
}

/// What Hive calls a directory of no value.
const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Columns that only directories have, with the type that all their values allow.
fn directory_columns(columns: &Schema, files: &[protocol::File]) -> Vec<Field> {
    let is_column = |key: &str| columns.fields().iter().any(|field| field.name().eq_ignore_ascii_case(key));
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for file in files {
        for (key, value) in &file.directories {
            // Where Emberscope put a run is said by its columns `applicationId` and `applicationAttempt`.
            if is_column(key) || (file.is_own && ["applicationId", "attempt"].contains(&key.as_str())) {
                continue;
            }
            match found.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
                Some((_, values)) => values.push(value),
                None => found.push((key, vec![value])),
            }
        }
    }
    found.into_iter().map(|(key, values)| Field::new(key, type_of(&values), true)).collect()
}

/// As Spark infers it: `INT`, `BIGINT`, `DATE` or `STRING`.
fn type_of(values: &[&str]) -> DataType {
    let are = |ty: &DataType| {
        let mut values = values.iter().filter(|value| **value != HIVE_NULL);
        values.all(|value| {
            ScalarValue::try_from_string((*value).to_owned(), ty).is_ok_and(|value| !value.is_null())
        })
    };
    let is_day = |value: &&str| value.len() == 10 && value.as_bytes()[4] == b'-';
    if are(&DataType::Int32) {
        DataType::Int32
    } else if are(&DataType::Int64) {
        DataType::Int64
    } else if values.iter().filter(|value| **value != HIVE_NULL).all(is_day) && are(&DataType::Date32) {
        DataType::Date32
    } else {
        DataType::Utf8
    }
}

#[async_trait]
impl TableProvider for ReportTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // With a filter, more rows may have to be read than are wanted.
        let limit = if filters.is_empty() { limit } else { None };
        scan::plan(self, state, projection, limit).await
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Row groups and files are left out by their bounds; rows are filtered again.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
