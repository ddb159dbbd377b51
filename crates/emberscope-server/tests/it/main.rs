//! The server, asked in this process, without sockets.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they compared"
)]

mod base;
mod cluster;
mod differences;
mod files;
mod flame;
mod guard;
mod openapi;
mod own_api;
mod page;
mod plans;
mod referee;
mod sql_console;
mod timeline;
mod views;
