//! An index that could not be opened, in the place of the one that should run.
//!
//! Invariant: it shows nothing but that it is stopped and why.

use chain::{Chain, Network};

use crate::Standing;

/// An index that could not be opened.
pub struct Stopped {
    chain: &'static Chain,
    network: &'static Network,
    why: String,
}

impl Stopped {
    /// An index of that chain that is not there, and why.
    pub fn new(chain: &'static Chain, network: &'static Network, why: String) -> Stopped {
        Stopped { chain, network, why }
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// How it stands: nowhere, and why.
    pub fn standing(&self) -> Standing {
        Standing { stopped: Some(self.why.clone()), ..Standing::default() }
    }
}
