//! The meter as the services and the commands use it, on stores in folders and in PostgreSQL.
//!
//! What needs a process of its own is a binary beside this one: `crash` kills itself, `at_once`
//! counts what is allocated.

#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod bucket_server;
mod buckets;
mod changes;
mod damage;
mod former;
mod hanging;
mod keys;
mod lying_buckets;
mod model;
mod postgres;
mod quotas;
mod replicas;
mod rig;
