//! What tables and columns are.

use crate::tables;
use std::sync::LazyLock;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
    /// Floating point.
    Double,
    /// True or false.
    Boolean,
    /// Text.
    Text,
    /// List of 32-bit integers.
    IntList,
    /// List of texts.
    TextList,
    /// Text by name.
    TextMap,
    /// Number by name.
    LongMap,
    /// The plan nodes of an execution.
    SqlNodes,
}

impl Type {
    /// As Spark SQL writes it.
    pub fn sql(self) -> &'static str {
        match self {
            Type::Int => "INT",
            Type::Long => "BIGINT",
            Type::Double => "DOUBLE",
            Type::Boolean => "BOOLEAN",
            Type::Text => "STRING",
            Type::IntList => "ARRAY<INT>",
            Type::TextList => "ARRAY<STRING>",
            Type::TextMap => "MAP<STRING, STRING>",
            Type::LongMap => "MAP<STRING, BIGINT>",
            Type::SqlNodes => {
                "ARRAY<STRUCT<sqlId: BIGINT, jobName: STRING, nodeName: STRING, coordinates: STRING, metrics: MAP<STRING, STRING>, isLeaf: BOOLEAN, parentNodeName: STRING>>"
            }
        }
    }
}

/// What a column is.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub ty: Type,
    /// Unit, empty where the values have none.
    pub unit: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// How it comes from Spark's events.
    pub source: &'static str,
}

/// A column of a table with one row per thing: what it is and how to read it from the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<F> {
    pub(crate) def: ColumnDef,
    pub(crate) read: F,
}

/// Declares columns, one a line.
macro_rules! columns {
    ($($name:literal $ty:ident [$unit:literal] $doc:literal, $source:literal => $read:expr;)*) => {
        &[$(crate::schema::Column {
            def: crate::schema::ColumnDef {
                name: $name,
                ty: crate::schema::Type::$ty,
                unit: $unit,
                doc: $doc,
                source: $source,
            },
            read: $read,
        },)*]
    };
}
pub(crate) use columns;

/// The fields of [`Type::SqlNodes`], for documentation.
pub const SQL_NODE_FIELDS: &[ColumnDef] = &[
    ColumnDef {
        name: "sqlId",
        ty: Type::Long,
        unit: "",
        doc: "SQL execution this node belongs to",
        source: "`executionId`",
    },
    ColumnDef {
        name: "jobName",
        ty: Type::Text,
        unit: "",
        doc: "Name of the job that triggered this SQL",
        source: "description of the execution's first job that has one, else `description` of the execution",
    },
    ColumnDef {
        name: "nodeName",
        ty: Type::Text,
        unit: "",
        doc: "Spark physical plan operator name",
        source: "`nodeName` of the final plan, as logged: a trailing blank included, no prefix",
    },
    ColumnDef {
        name: "coordinates",
        ty: Type::Text,
        unit: "",
        doc: "Dot-separated position in the plan tree, e.g. '0.1.2'",
        source: "position in the final plan's tree as logged, in which AdaptiveSparkPlan and query stages are nodes of their own",
    },
    ColumnDef {
        name: "metrics",
        ty: Type::TextMap,
        unit: "",
        doc: "Operator metrics as key-value pairs",
        source: "display name to the raw sum over task attempts that counted and driver updates, as text, by accumulator id; never-updated metrics are left out; a second metric of the same name gets ` (2)`",
    },
    ColumnDef {
        name: "isLeaf",
        ty: Type::Boolean,
        unit: "",
        doc: "True if this node has no children in the plan tree",
        source: "`children` is empty",
    },
    ColumnDef {
        name: "parentNodeName",
        ty: Type::Text,
        unit: "",
        doc: "Name of the parent operator in the plan tree",
        source: "`nodeName` of the parent; null for the root",
    },
];

macro_rules! reports {
    ($($variant:ident $name:literal $module:ident seed $seed:literal default $default:literal: $doc:literal;)*) => {
        /// A table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Report {
            $(#[doc = $doc] $variant,)*
        }

        impl Report {
            /// All tables, in the order of the documentation.
            pub const ALL: &[Report] = &[$(Report::$variant,)*];

            /// Name, as in file names and views.
            pub fn name(self) -> &'static str {
                match self { $(Report::$variant => $name,)* }
            }

            /// What a row is.
            pub fn doc(self) -> &'static str {
                match self { $(Report::$variant => $doc,)* }
            }

            /// How many of its first columns are PerfGazer's.
            pub fn seed_columns(self) -> usize {
                match self { $(Report::$variant => $seed,)* }
            }

            /// Whether it is written when nothing else is said.
            pub fn is_default(self) -> bool {
                match self { $(Report::$variant => $default,)* }
            }

            /// Its columns.
            pub fn columns(self) -> &'static [&'static ColumnDef] {
                match self {
                    $(Report::$variant => {
                        static DEFS: LazyLock<Vec<&'static ColumnDef>> =
                            LazyLock::new(|| tables::$module::COLUMNS.iter().map(|column| &column.def).collect());
                        &DEFS
                    })*
                }
            }
        }
    };
}

reports! {
    Job "job" job seed 7 default true:
        "Job-level execution report. One row per completed Spark job, and one per job without an end, whose end is null.";
    Sql "sql" sql seed 4 default true:
        "SQL query execution report with the final physical plan and its node metrics. One row per completed SQL execution, and one per execution without an end.";
    Stage "stage" stage seed 13 default true:
        "Stage-level execution report. One row per stage attempt that was submitted; skipped stages have none. Values are sums over all task attempts of the stage attempt: all work, failed and killed attempts included.";
    Task "task" task seed 30 default false:
        "Task-level execution metrics. One row per task attempt: failed, killed and still running ones included.";
    Application "application" application seed 0 default true:
        "The run itself: identity, times, outcome and totals. One row.";
    Executor "executor" executor seed 0 default true:
        "Executors. One row per executor, the driver included in local mode.";
    StageAttempt "stage_attempt" stage_attempt seed 0 default true:
        "Stage attempts in full: all work, useful work, lineage. One row per stage attempt that was submitted.";
    PlanNode "plan_node" plan_node seed 0 default true:
        "Operators of the final physical plans with their stages and metrics. One row per node of each SQL execution.";
    Failure "failure" failure seed 0 default true:
        "Failed and killed task attempts, grouped by cause. One row per group.";
    Config "config" config seed 0 default true:
        "Configuration as the driver logged it, secrets masked, and what single queries changed. One row per property.";
    StreamingBatch "streaming_batch" streaming_batch seed 0 default true:
        "Micro-batches of structured streaming queries. One row per progress event.";
    DataQuality "data_quality" data_quality seed 0 default true:
        "How far the numbers can be trusted: what was read, what could not be, what was estimated. One row.";
}

impl Report {
    /// By name.
    pub fn from_name(name: &str) -> Option<Report> {
        Report::ALL.iter().copied().find(|report| report.name() == name)
    }
}
