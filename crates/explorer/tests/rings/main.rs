//! The explorer of the ring family over real HTTP, with an index that follows recorded and stub
//! nodes.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod forged;
mod live;
mod outage;
mod outputs;
mod recorded;
mod reorganised;
mod requests;
mod rig;
mod said;
mod stub;
