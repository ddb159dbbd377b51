//! The JSON schema of the report, made from its types.

use crate::report::EvidenceReport;
use schemars::Schema;
use schemars::generate::SchemaSettings;

/// The schema (draft 2020-12) of what `evidence_report` holds beside a diagnosis.
pub fn json_schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<EvidenceReport>()
}
