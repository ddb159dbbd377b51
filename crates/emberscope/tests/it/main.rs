//! The binary as a user meets it: exit code, standard output, standard error.

mod base;
mod command;
mod contract;
mod doctor;
mod inputs;
mod summary;
