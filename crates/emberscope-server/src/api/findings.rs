//! `/runs/{run}/findings`: the whole diagnosis.

use crate::opened::Opened;
use emberscope_analysis::diagnosis::Diagnosis;

pub(super) fn get(opened: &Opened) -> &Diagnosis {
    opened.diagnosis()
}
