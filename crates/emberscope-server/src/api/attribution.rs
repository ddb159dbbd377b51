//! `/runs/{run}/attribution`.

use crate::opened::Opened;
use emberscope_analysis::attribution::Attribution;

pub(super) fn get(opened: &Opened) -> &Attribution {
    &opened.diagnosis().attribution
}
