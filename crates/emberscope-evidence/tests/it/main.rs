//! Reports of real evidence.
