//! The OpenAPI document, made from the table of addresses and the types of their answers.

use super::Param;
use super::endpoints::{ENDPOINTS, FILES, LONG};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The document.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let answers = ENDPOINTS.iter().map(|one| (one.path, one.name, one.doc, one.params, one.schema));
    let long = LONG.iter().map(|one| (one.path, one.name, one.doc, one.params, one.schema));
    let paths: Map<String, Value> = answers
        .chain(long)
        .map(|(path, name, doc, params, schema)| {
            let schema = schema(&mut generator);
            let content = json!({ "application/json": { "schema": schema } });
            (path.to_owned(), json!({ "get": operation(path, name, doc, params, &content) }))
        })
        .chain(FILES.iter().map(|file| {
            let binary = json!({ "schema": { "type": "string", "format": "binary" } });
            let content: Map<String, Value> =
                file.media.iter().map(|media| ((*media).to_owned(), binary.clone())).collect();
            let get = operation(file.path, file.name, file.doc, file.params, &content.into());
            (file.path.to_owned(), json!({ "get": get }))
        }))
        .collect();
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    schemas.insert("Failure".to_owned(), failure());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Emberscope",
            "version": "1",
            "description": "What runs of Apache Spark were and where their time went. Spark's own monitoring API is beside it, at /api/v1. `null` = not measured.",
        },
        "servers": [{ "url": "/api/emberscope/v1" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(path: &str, name: &str, doc: &str, params: &[Param], content: &Value) -> Value {
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| {
            let kind = if ["run", "tag", "version"].contains(&name) { "string" } else { "integer" };
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": kind } })
        })
        .collect();
    parameters.extend(params.iter().map(|Param { name, kind, doc }| {
        json!({ "name": name, "in": "query", "description": doc, "schema": { "type": kind } })
    }));
    let failed = json!({
        "description": "No answer, and why.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } },
    });
    json!({
        "operationId": name,
        "summary": doc,
        "parameters": parameters,
        "responses": {
            "200": { "description": "The answer.", "content": content },
            "default": failed,
        },
    })
}

fn failure() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {
                    "code": text,
                    "message": text,
                    "hint": text,
                    "position": {
                        "description": "Where in a statement, from 1.",
                        "type": "object",
                        "required": ["line", "column"],
                        "properties": { "line": { "type": "integer" }, "column": { "type": "integer" } },
                    },
                },
            },
        },
    })
}
