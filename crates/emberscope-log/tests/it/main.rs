//! The two roads of parsing agree: cursor and serde give the same for every line.

mod roads;
