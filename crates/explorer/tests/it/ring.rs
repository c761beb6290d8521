//! The explorer of the ring family over real HTTP, with an index that follows recorded and stub
//! nodes.

mod forged;
mod later;
mod live;
mod outage;
mod outputs;
mod recorded;
mod reorganised;
mod requests;
mod rig;
mod said;
mod stub;
mod walk;
