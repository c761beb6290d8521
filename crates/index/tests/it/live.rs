//! The index kept at the tip of live, stub and recorded nodes: random walks, reorganisations,
//! outages, kills.
//!
//! Works on `Index` as the explorer does. What a row means is held elsewhere; here it is whether an
//! index that went through all this equals one that did not, and the node's own sums.

mod half_done;
mod killed;
mod listed;
mod mweb;
mod outage;
mod pool;
mod recorded_nodes;
mod reorganised;
mod rig;
mod spoilt;
mod truth;
mod walk;
mod whale;
mod zebrad;
