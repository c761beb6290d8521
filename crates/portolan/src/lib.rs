//! The program: its command line, its configuration, its start and its end.
//!
//! Puts the crates below together and leaves the work to them. Invariant: results go to standard
//! output, logs and errors to standard error.

pub mod config;
