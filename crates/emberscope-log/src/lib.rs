//! Spark event logs: bytes in, blocks of parsed events out.
//!
//! ```text
//! path ─► source (layout, members) ─► codec ─► lines ─► blocks ─► parsed blocks
//! ```

pub mod archive;
pub mod block;
pub mod census;
pub mod codec;
pub mod columns;
pub mod cursor;
mod elide;
pub mod event;
pub mod follow;
pub mod input;
pub mod layout;
pub mod scan;
pub mod source;
pub mod strings;
