//! The gateway over real HTTP: against recorded nodes, against nodes that break, against clients
//! that misbehave.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod batches;
mod bodies;
mod cache;
mod charging;
mod clients;
mod conversations;
mod counting;
mod live;
mod recordings;
mod refusals;
mod rig;
mod strays;
mod trouble;
