//! The index of chains whose inputs hide in rings: against recorded nodes, against what a test
//! makes, against nodes that lie, and against a live one.

mod audited;
mod expected;
mod fixture;
mod forge;
mod forged;
mod hostile;
mod killed;
mod later;
mod live;
mod proxy;
mod recorded;
mod rig;
mod stub;
