//! The program: its command line, its configuration, its start and its end.
//!
//! Puts the crates below together and leaves the work to them. Invariant: results go to standard
//! output, logs and errors to standard error, and no secret to any of them but a new key.

#![warn(unreachable_pub)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod config;
mod demo;
mod failure;
mod log;
mod run;
mod serve;
mod variables;

pub use run::run;
