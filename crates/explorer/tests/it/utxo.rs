//! The explorer over real HTTP, with indexes that follow recorded nodes.

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
