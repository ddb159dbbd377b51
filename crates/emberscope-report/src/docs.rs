//! Documentation of the tables, made from their definitions.
