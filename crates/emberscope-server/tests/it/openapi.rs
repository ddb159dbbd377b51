//! The committed OpenAPI document is the one made from the code. `EMBERSCOPE_UPDATE=1` writes it anew.

use crate::base::{fixtures, get, server};
use emberscope_server::openapi;
use serde_json::Value;

#[test]
fn the_document_is_fresh_and_served() {
    let path = fixtures().join("../docs/openapi.json");
    let wanted = format!("{:#}\n", openapi());
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == wanted, "docs/openapi.json is stale: run with EMBERSCOPE_UPDATE=1");
    let log = fixtures().join("logs/rdd-4.3.0");
    assert_eq!(get(&server(&[&log]), "/api/emberscope/v1/openapi.json").json(), openapi());
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(place)) = fields.get("$ref") {
                    assert!(document.pointer(place.trim_start_matches('#')).is_some(), "{place}");
                }
                fields.values().for_each(|field| walk(field, document));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
            _ => {}
        }
    }
    let document = openapi();
    assert!(document["components"]["schemas"]["Diagnosis"].is_object());
    walk(&document, &document);
}
