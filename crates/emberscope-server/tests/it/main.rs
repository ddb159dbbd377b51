//! The server, asked in this process, without sockets.

mod base;
mod differences;
mod guard;
mod openapi;
mod own_api;
mod referee;
