//! The explorer over real HTTP, with indexes that follow recorded nodes.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod addresses;
mod caching;
mod fat;
mod forged;
mod metering;
mod phases;
mod requests;
mod rig;
mod search;
mod silence;
mod trial;
