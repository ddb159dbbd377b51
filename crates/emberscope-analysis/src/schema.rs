//! The JSON schema of a diagnosis, made from its types.

use crate::diagnosis::Diagnosis;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema (draft 2020-12) of what is written: fields that may be left out are not required.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<Diagnosis>().to_value()
}
