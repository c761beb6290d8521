//! Listeners over real connections: heads, bodies and ends, slow and silent clients, TLS, workers.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod drain;
mod ends;
mod heads;
mod listener;
mod times;
mod tls;
mod workers;
