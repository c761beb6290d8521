//! The list of chains.
//!
//! What a chain is stands in its own file of this folder. Invariant: a chain's `ordinal` is its
//! place in [`ALL`], which never changes order, because counters on disk are kept by it.

use crate::Chain;

mod bch;
mod btc;
mod dcr;
mod doge;
mod eth;
mod ltc;
mod xec;
mod xmr;
mod zec;

/// Every chain, in the order of their ordinals.
pub static ALL: [&Chain; 9] = [
    &btc::CHAIN,
    &ltc::CHAIN,
    &doge::CHAIN,
    &bch::CHAIN,
    &xec::CHAIN,
    &zec::CHAIN,
    &dcr::CHAIN,
    &eth::CHAIN,
    &xmr::CHAIN,
];

/// The chain of that exact lower-case slug.
pub fn find(slug: &str) -> Option<&'static Chain> {
    ALL.iter().copied().find(|chain| chain.slug == slug)
}
