//! The index held against the truth: recorded chains, forged blocks, random reorganisations.
//!
//! Works on stores and views; no node is asked.

mod fixture;
mod forged;
mod loaded;
mod opening;
mod random;
mod recorded;
mod rig;
mod twins;
