//! `/runs/{run}/summary`.

use crate::opened::Opened;
use emberscope_model::summary::{Summary, summarize};

pub(super) fn get(opened: &Opened) -> Summary {
    summarize(&opened.run)
}
