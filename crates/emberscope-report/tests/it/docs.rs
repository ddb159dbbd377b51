//! Committed documentation is what the definitions say, and the seed's schema is kept.

use crate::base::root;
use emberscope_report::{Report, docs};
use serde_json::Value;

#[test]
fn docs_are_fresh() {
    let files = [
        ("docs/data_model.md", docs::data_model()),
        ("docs/schema/emberscope-schema.json", docs::schema_json()),
        ("llms.txt", docs::llms_txt()),
    ];
    for (name, text) in files {
        let path = root().join(name);
        if std::env::var_os("EMBERSCOPE_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{name} is stale: run with EMBERSCOPE_BLESS=1");
    }
    serde_json::from_str::<Value>(&docs::schema_json()).unwrap();
}

/// The first columns of the four tables are PerfGazer's, with its types and units, in its order.
#[test]
fn perfgazer_columns() {
    let theirs: Value = serde_json::from_str(include_str!("perfgazer-schema.json")).unwrap();
    let views = theirs["views"].as_array().unwrap();
    assert_eq!(views.len(), 4);
    for view in views {
        let report = Report::from_name(view["name"].as_str().unwrap()).unwrap();
        let fields = view["fields"].as_array().unwrap();
        assert_eq!(fields.len(), report.seed_columns());
        for (field, def) in fields.iter().zip(report.columns()) {
            assert_eq!(field["name"], def.name);
            assert_eq!(field["type"], def.ty.sql(), "{}", def.name);
            assert_eq!(field["unit"].as_str().unwrap_or(""), def.unit, "{}", def.name);
            assert_eq!(field["description"], def.doc, "{}", def.name);
        }
    }
}

#[test]
fn names_are_told_apart() {
    for report in Report::ALL {
        let mut names: Vec<String> =
            report.columns().iter().map(|def| def.name.to_ascii_lowercase()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "Spark does not tell names apart by case: {}", report.name());
        for def in report.columns() {
            assert!(!def.doc.is_empty() && !def.source.is_empty(), "{}", def.name);
        }
    }
}
