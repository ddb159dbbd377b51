//! Checks JSON against a schema: the words that ours use, and none beside them. A crate that knows them all
//! would switch features of `serde_json` on, and the tests would not test what is shipped.

use serde_json::{Map, Value};

/// Words that say nothing about what is valid.
const SILENT: &[&str] = &["$schema", "$defs", "title", "description", "format"];

/// What is wrong with a value. A field that the schema does not name is wrong, too.
pub(crate) fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else { return };
    for (word, wanted) in words {
        let is_good = match word.as_str() {
            "$ref" => {
                let target = root.pointer(wanted.as_str().unwrap().trim_start_matches('#')).unwrap();
                check(root, target, value, path, found);
                true
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|one| is_a(value, one)),
                one => is_a(value, one),
            },
            "const" => value == wanted,
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "uniqueItems" => value
                .as_array()
                .is_none_or(|items| items.iter().enumerate().all(|(n, item)| !items[..n].contains(item))),
            "anyOf" | "oneOf" => {
                let passes = |one: &&Value| {
                    let mut errors = Vec::new();
                    check(root, one, value, path, &mut errors);
                    errors.is_empty()
                };
                let passing = wanted.as_array().unwrap().iter().filter(passes).count();
                if word == "oneOf" { passing == 1 } else { passing > 0 }
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{path}/{n}"), found);
                }
                true
            }
            "properties" => {
                fields(root, words, value, path, found);
                true
            }
            "required" => value.as_object().is_none_or(|fields| {
                wanted.as_array().unwrap().iter().all(|name| fields.contains_key(name.as_str().unwrap()))
            }),
            "additionalProperties" => {
                if !words.contains_key("properties") {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        check(root, wanted, field, &format!("{path}/{name}"), found);
                    }
                }
                true
            }
            other => SILENT.contains(&other),
        };
        if !is_good {
            found.push(format!("{path}: {word} {wanted}: {value}"));
        }
    }
}

fn fields(root: &Value, words: &Map<String, Value>, value: &Value, path: &str, found: &mut Vec<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        match words["properties"].get(name) {
            Some(schema) => check(root, schema, field, &format!("{path}/{name}"), found),
            None => found.push(format!("{path}: the schema has no `{name}`")),
        }
    }
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn what_is_wrong_is_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": ["integer", "null"], "minimum": 0}},
        "$defs": {"A": {"oneOf": [{"const": "x"}, {"const": "y"}]}}
    });
    let is_good = |value: Value| errors(&schema, &value).is_empty();
    assert!(
        is_good(serde_json::json!({"a": "x", "b": 1})) && is_good(serde_json::json!({"a": "y", "b": null}))
    );
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"a": "z"}),
        serde_json::json!({"a": "x", "b": -1}),
        serde_json::json!({"a": "x", "b": 1.5}),
        serde_json::json!({"a": "x", "c": 1}),
    ] {
        assert!(!is_good(bad.clone()), "{bad}");
    }
}
