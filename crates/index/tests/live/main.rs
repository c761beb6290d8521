//! The index kept at the tip of live and stub nodes: random walks, reorganisations, outages, kills.
//!
//! Works on `Index` as the explorer does. What a row means is held elsewhere; here it is whether an
//! index that went through all this equals one that did not, and the node's own sums.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod killed;
mod listed;
mod mweb;
mod outage;
mod pool;
mod reorganised;
mod rig;
mod spoilt;
mod truth;
mod walk;
mod whale;
mod zebrad;
