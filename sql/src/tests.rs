//! Tests of the whole, without the process.
