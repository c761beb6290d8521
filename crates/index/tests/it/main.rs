//! The index held against the truth: recorded chains, forged blocks, random reorganisations.
//!
//! Works on stores and views; no node is asked.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod fixture;
mod forged;
mod loaded;
mod opening;
mod random;
mod recorded;
mod rig;
mod twins;
