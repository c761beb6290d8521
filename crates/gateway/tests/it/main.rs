//! The gateway over real HTTP: against recorded nodes, against nodes that break, against clients
//! that misbehave.

mod batches;
mod charging;
mod clients;
mod recordings;
mod refusals;
mod rig;
mod trouble;
