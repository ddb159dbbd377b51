//! Questions in SQL, for every door: the process that answers is found, started and asked ([`client`]), logs
//! become Parquet in the cache ([`tables`]), answers are written as asked ([`rows`]), and there are ready-made
//! questions ([`analyses`]) with [`parameters`].

pub mod analyses;
pub mod client;
pub mod parameters;
pub mod rows;
pub mod tables;

use std::borrow::Cow;

/// What cannot be asked, and what to ask instead.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What to do instead.
    pub hint: Cow<'static, str>,
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Refused { message: message.into(), hint: hint.into() }
    }
}

/// A text of the user in a message, without what would change how a terminal works.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
