//! What operators are called: wrappers, Python, native engines.

use super::Node;

/// Operators that do no work of their own: they wrap, mark, or pass on what their child does.
const WRAPPERS: &[&str] =
    &["InputAdapter", "AdaptiveSparkPlan", "CollectLimit", "ResultQueryStage", "CommandResult"];

/// Whether an operator only wraps its child: code generation, adaptive stages, adapters.
pub fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || name.starts_with("WholeStageCodegen") || name.ends_with("QueryStage")
}

/// Whether an operator hands on its child's rows, each once: wrappers, and what moves, sorts, converts
/// or projects rows.
pub fn keeps_rows(name: &str) -> bool {
    is_wrapper(name)
        || matches!(
            name,
            "Sort" | "Project" | "ColumnarToRow" | "RowToColumnar" | "AQEShuffleRead" | "WriteFiles"
        )
        || name.contains("CustomShuffleReader")
        || name.contains("Exchange")
}

/// Whether an operator's expressions call code that Spark does not know, so that a row may cost anything.
pub fn calls_foreign_code(detail: &str) -> bool {
    ["UDF(", "reflect(", "java_method("].iter().any(|call| detail.contains(call))
}

/// How Python code is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonKind {
    /// Row by row, pickled: plain UDFs.
    Pickled,
    /// In Arrow batches: pandas UDFs, and plain UDFs with Arrow.
    Arrow,
    /// Whole partitions or groups in Arrow batches: `mapInPandas`, `applyInPandas`, pandas aggregates and windows.
    Grouped,
}

/// What Python operator a name is of; `None` for all others.
pub fn python_kind(name: &str) -> Option<PythonKind> {
    let name = name.trim_start_matches('!');
    match name {
        "BatchEvalPython" | "BatchEvalPythonUDTF" => Some(PythonKind::Pickled),
        "ArrowEvalPython" | "ArrowEvalPythonUDTF" => Some(PythonKind::Arrow),
        _ if name.contains("InPandas") || name.contains("InArrow") || name.contains("PythonMapIn") => {
            Some(PythonKind::Grouped)
        }
        _ => None,
    }
}

/// The native engine that ran an operator, by the operator's name; `None` for Spark's own.
pub fn native_engine(name: &str) -> Option<&'static str> {
    if name.starts_with("Photon") {
        Some("photon")
    } else if name.starts_with("Gpu") {
        Some("rapids")
    } else if name.starts_with("Comet") {
        Some("comet")
    } else if name.ends_with("Transformer")
        || name.starts_with("WholeStageCodegenTransformer")
        || name.starts_with("Velox")
        || name == "ColumnarExchange"
        || name.starts_with("ColumnarBroadcastExchange")
    {
        Some("gluten")
    } else if name.starts_with("Native") {
        Some("auron")
    } else {
        None
    }
}

/// Whether any operator of a plan ran natively, so that the JVM's metrics of it are not all there is.
pub fn has_native(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| native_engine(&node.name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, engine) in [
            ("PhotonScan parquet ", Some("photon")),
            ("GpuHashAggregate", Some("rapids")),
            ("CometExchange", Some("comet")),
            ("ProjectExecTransformer", Some("gluten")),
            ("HashAggregate", None),
            ("NativeParquetScan", Some("auron")),
        ] {
            assert_eq!(native_engine(name), engine, "{name}");
        }
        assert_eq!(python_kind("BatchEvalPython"), Some(PythonKind::Pickled));
        assert_eq!(python_kind("!AggregateInPandas"), Some(PythonKind::Grouped));
        assert_eq!(python_kind("HashAggregate"), None);
        assert!(
            is_wrapper("WholeStageCodegen (12)") && is_wrapper("ShuffleQueryStage") && !is_wrapper("Sort")
        );
    }
}
