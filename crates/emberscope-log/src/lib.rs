//! Spark event logs: bytes in, blocks of parsed events out.
//!
//! ```text
//! path ─► source (layout, members) ─► codec ─► lines ─► blocks ─► parsed blocks
//! ```

pub mod archive;
pub mod codec;
pub mod input;
pub mod layout;
pub mod source;
